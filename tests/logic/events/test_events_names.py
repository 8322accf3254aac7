"""The public names of the package: lazy, and all there."""

import subprocess
import sys

import pytest

from likely.logic import events


def test_names_load_when_asked_for_and_no_sooner():
    code = (
        "import sys; from likely.logic.events import RESCALINGS; "
        "print(list(RESCALINGS)[4], 'torch' in sys.modules)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.split() == ["duel", "False"]


def test_every_name_is_there():
    assert events.__all__ == sorted(events.__all__) == dir(events)
    assert all(getattr(events, name) is not None for name in events.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = events.nothing
