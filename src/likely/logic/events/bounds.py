"""What a list of the likeliest tokens tells of a row: each statistic between two ends. Unit: nats.

The tokens that are not listed have some total mass, each of them at most some probability. At its
*worst* for the event that mass lies in tokens as likely as they may be; at its *best* it is spread
so thin that no token of it counts.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from likely.core.logspace import log1mexp, log_sum
from likely.core.model import TopTokens
from likely.errors import CapabilityError

OF_TARGET = ("log_prob", "log_rest")
"""Statistics that the event's own log-probability gives without any list."""

OF_LIST = ("log_top", "log_above", "log_below", "n_above", "win", "lose")
"""Statistics that a list bounds; ``win`` and ``lose`` at any tau."""


def is_bounded(need: str, *, has_lists: bool) -> bool:
    """Return whether a statistic can be had without the whole row."""
    return need in OF_TARGET or (has_lists and need.partition(" ")[0] in OF_LIST)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Case:
    """One end of what may be true.

    Attributes:
        log_prob: Of the event, merged.
        listed: Log-probabilities of the listed competitors.
        log_first: Of the likeliest listed token, competitor or not.
        log_mass: Of all tokens not listed that may count against the event.
        log_each: The most that one of them may have.
        n_vocab: V.
    """

    log_prob: float
    listed: tuple[float, ...]
    log_first: float
    log_mass: float
    log_each: float
    n_vocab: int


def statistics_of_target(log_prob: float) -> dict[str, float]:
    """Return the statistics that need no list.

    >>> statistics_of_target(-math.inf)
    {'log_prob': -inf, 'log_rest': 0.0}
    """
    return {"log_prob": log_prob, "log_rest": _complement(log_prob)}


def bound_statistics(
    top: TopTokens,
    members: Sequence[int],
    low: float,
    high: float,
    needs: Sequence[str],
    *,
    n_vocab: int,
) -> tuple[dict[str, float], dict[str, float]]:
    """Return the statistics at their worst and at their best for the event.

    Args:
        top: The list after the event's prefix.
        members: The event's tokens.
        low: Lower end of the event's log-probability, merged; equal to ``high`` if it is told.
        high: Upper end.
        needs: Names of statistics for which `is_bounded` holds.
        n_vocab: V.

    Raises:
        CapabilityError: A list that names tokens by text only, where competitors must be told
            apart.
    """
    is_named = None not in top.tokens
    if not is_named and any(need not in (*OF_TARGET, "log_top") for need in needs):
        raise CapabilityError(
            "the server lists its likeliest tokens by text only, so the event's own cannot be told "
            "from its competitors; rescalings that work: identity, closed, pmi, "
            "epsilon, ratio, ratio_soft, minp"
        )
    own = set(members)
    listed = tuple(
        value
        for token, value in zip(top.tokens, top.log_probs, strict=True)
        if is_named and token not in own
    )
    first = max(top.log_probs, default=-math.inf)
    each = min(top.log_prob_elsewhere, top.log_mass_elsewhere)
    worst = _Case(
        log_prob=low, listed=listed, log_first=max(first, each), n_vocab=n_vocab,
        log_mass=top.log_mass_elsewhere, log_each=each,
    )  # fmt: skip
    best = _Case(
        log_prob=high, listed=listed, log_first=first, n_vocab=n_vocab,
        log_mass=-math.inf, log_each=-math.inf,
    )  # fmt: skip
    return _measure(worst, needs), _measure(best, needs)


def _measure(case: _Case, needs: Sequence[str]) -> dict[str, float]:
    found = statistics_of_target(case.log_prob)
    for need in needs:
        name, _, parameter = need.partition(" ")
        if name in _OF_CASE:
            found[need] = _OF_CASE[name](case)
        elif name in ("win", "lose"):
            losing = _losing(case, float(parameter))
            found[need] = losing if name == "lose" else _winning(case, float(parameter), losing)
    return found


def _log_top(case: _Case) -> float:
    # If the likeliest token is one of the event's own, the merged event is likelier still.
    return max(case.log_prob, case.log_first)


def _log_above(case: _Case) -> float:
    unlisted = [case.log_mass] if case.log_each > case.log_prob else []
    above = log_sum([v for v in case.listed if v > case.log_prob] + unlisted)
    return min(above, _complement(case.log_prob))


def _log_below(case: _Case) -> float:
    return max(case.log_prob, _complement(_log_above(case)))


def _n_above(case: _Case) -> float:
    n_listed = sum(v > case.log_prob for v in case.listed)
    if not case.log_each > case.log_prob:
        return float(n_listed)
    # So many tokens, each likelier than the event, fit into the mass.
    most = math.log(case.n_vocab)
    n_more = math.floor(math.exp(min(most, case.log_mass - case.log_prob)))
    return float(min(n_listed + n_more, case.n_vocab - 1))


def _losing(case: _Case, tau: float) -> float:
    terms = [v + _log_sigmoid((v - case.log_prob) / tau) for v in case.listed if v > -math.inf]
    if case.log_mass > -math.inf:
        terms.append(case.log_mass + _log_sigmoid((case.log_each - case.log_prob) / tau))
    return min(log_sum(terms), _complement(case.log_prob))


def _winning(case: _Case, tau: float, losing: float) -> float:
    told = [v + _log_sigmoid((case.log_prob - v) / tau) for v in case.listed if v > -math.inf]
    return max(log_sum([case.log_prob, *told]), _complement(losing))


_OF_CASE: dict[str, Callable[[_Case], float]] = {
    "log_top": _log_top,
    "log_above": _log_above,
    "log_below": _log_below,
    "n_above": _n_above,
}


def _log_sigmoid(x: float) -> float:
    return -float(np.logaddexp(0.0, -x))


def _complement(log_prob: float) -> float:
    return float(log1mexp(np.array(min(0.0, log_prob)))) + 0.0  # -0.0 reads as a negative
