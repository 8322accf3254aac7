"""Attributions of parts of one prompt, made one: for runs that were split over machines."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from likely.attribution.case import Case
from likely.attribution.result import Attribution
from likely.core.estimate import Cost
from likely.errors import InputError

_SHARED = ("model", "method", "tolerance", "level", "seed", "kappa")


def merge(attributions: Sequence[Attribution]) -> Attribution:
    """Return attributions of different places of one prompt as one.

    Each place draws from a stream of its own, so that with the same seed and enough budget the
    whole has the numbers that one run would have.

    Args:
        attributions: Of the same prompt and response, by the same model with the same options.

    Returns:
        All places in order of the prompt; the costs are added up.

    Raises:
        InputError: None are given, they differ in what they must share, or a place is in two.
    """
    if not attributions:
        raise InputError("at least one attribution is needed to merge, got none")
    first = attributions[0]
    for i, other in enumerate(attributions[1:], start=1):
        _check_same(first, other, i)
    order = sorted(
        ((place.positions, i, j) for i, one in enumerate(attributions)
         for j, place in enumerate(one.places)),
    )  # fmt: skip
    for (before, i, _), (after, k, _) in pairwise(order):
        if before == after:
            raise InputError(
                f"position {list(before)} is in attributions {i} and {k}; each place may be in one "
                "of them: leave it out of the other with select(...)"
            )
    own = attributions[order[0][1]] if order else first
    return replace(
        first,
        case=_merged_case([one.case for one in attributions]),
        places=tuple(attributions[i].places[j] for _, i, j in order),
        # A run takes these from its first position's candidates, as one run of all would.
        log_response=own.log_response,
        response_log_probs=own.response_log_probs,
        excluded_mass=np.array(
            [attributions[i].excluded_mass[j] for _, i, j in order], dtype=np.float64
        ),
        cost=sum((one.cost for one in attributions), start=Cost()),
    )


def _merged_case(cases: Sequence[Case]) -> Case:
    return replace(
        cases[0],
        positions=tuple(sorted({i for case in cases for i in case.positions})),
        flags=frozenset().union(*(case.flags for case in cases)),
    )


def _check_same(first: Attribution, other: Attribution, i: int) -> None:
    """Raise unless two attributions are parts of one."""
    for name in ("context", "prompt", "response", "roles"):
        ours, theirs = getattr(first.case, name), getattr(other.case, name)
        if ours != theirs:
            raise InputError(
                f"attributions of one prompt and response can be merged; number {i} has another "
                f"{name}: {str(theirs)[:60]!r}, not {str(ours)[:60]!r}"
            )
    for name in _SHARED:
        ours, theirs = getattr(first, name), getattr(other, name)
        if ours != theirs:
            raise InputError(
                f"attributions by one model with the same options can be merged; number {i} has "
                f"{name} {theirs!r}, not {ours!r}"
            )
