"""Pairs of laws that tests of divergences share."""

import numpy as np
from hypothesis import strategies as st


@st.composite
def pairs(draw, *, min_size=2, max_size=6, zeros=True):
    """Two laws over the same outcomes, some outcomes impossible under one of them."""
    n = draw(st.integers(min_size, max_size))
    smallest = 0.0 if zeros else 1e-6
    weight = st.floats(smallest, 1.0, allow_subnormal=False)
    made = []
    for _ in range(2):
        weights = np.array(draw(st.lists(weight, min_size=n, max_size=n)))
        if weights.sum() < 1e-3:
            weights = np.ones(n)
        made.append(weights / weights.sum())
    return made[0], made[1]


def logs(*laws):
    with np.errstate(divide="ignore"):
        return tuple(np.log(law) for law in laws)
