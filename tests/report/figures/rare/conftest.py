"""Summaries without affine fits, which no figure shows and which take long."""

import pytest

from likely.rare.bench import summary


@pytest.fixture(autouse=True)
def without_fits(monkeypatch):
    monkeypatch.setattr(summary, "_fitted", lambda rows: (None, None))
