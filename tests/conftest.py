"""Hypothesis profiles, and the small models saved to folders that tests share."""

import os

if "PYTEST_XDIST_WORKER" in os.environ:
    # Workers that each take all cores slow one another down several times.
    os.environ.setdefault("OMP_NUM_THREADS", "1")

from fixtures import (
    connect,
    gpt2,
    loopback,
    random_gpt2_folder,
    random_window_folder,
    toy_bpe,
    toy_bpe_folder,
    toy_bytes,
    toy_bytes_folder,
    window,
)
from hypothesis import settings

__all__ = [
    "connect",
    "gpt2",
    "loopback",
    "random_gpt2_folder",
    "random_window_folder",
    "toy_bpe",
    "toy_bpe_folder",
    "toy_bytes",
    "toy_bytes_folder",
    "window",
]

settings.register_profile("dev", max_examples=25, deadline=None)
settings.register_profile("ci", max_examples=50, deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "dev")
