"""Probabilities of formulas over independent literals that have a closed form, in nats.

Each kernel takes the log-odds of its literals, shape (n, B), and returns ``log P`` of shape (B,)
together with a function that returns its slope: ``d log P / d log_odds``, shape (n, B). Where
``log P`` is ``-inf`` the slope means nothing (it may be NaN), and the caller replaces it.
"""

import math
from collections.abc import Callable
from functools import partial

import torch
from jaxtyping import Float
from torch import Tensor

from likely.logic.circuits.literals import FLOOR, log1mexp, log_literals

Slope = Callable[[], Float[Tensor, "n B"]]
Kernel = Callable[[Float[Tensor, "n B"]], tuple[Float[Tensor, "B"], Slope]]
"""From the log-odds of independent literals to the log-probability of a formula of them."""

_LOG_TWO = math.log(2.0)


def conjunction(log_odds: Float[Tensor, "n B"]) -> tuple[Float[Tensor, "B"], Slope]:
    """Return log P that all literals hold: the sum of their log-probabilities."""
    log_true, _ = log_literals(log_odds)
    return log_true.sum(0), lambda: torch.sigmoid(-log_odds)


def clause(log_odds: Float[Tensor, "n B"]) -> tuple[Float[Tensor, "B"], Slope]:
    """Return log P that some literal holds, accurate near 0 and near 1."""
    log_true, log_false = log_literals(log_odds)
    log_none = log_false.sum(0)
    value = log1mexp(log_none)
    return value, lambda: torch.exp(log_none - value + log_true)


def all_equal(log_odds: Float[Tensor, "n B"]) -> tuple[Float[Tensor, "B"], Slope]:
    """Return log P that all literals hold or none does."""
    log_true, log_false = log_literals(log_odds)
    log_all, log_none = log_true.sum(0), log_false.sum(0)
    value = torch.logaddexp(log_all, log_none)

    def slope() -> Float[Tensor, "n B"]:
        share_all, share_none = torch.exp(log_all - value), torch.exp(log_none - value)
        return share_all * torch.sigmoid(-log_odds) - share_none * torch.sigmoid(log_odds)

    return value, slope


def parity(log_odds: Float[Tensor, "n B"], *, is_odd: bool) -> tuple[Float[Tensor, "B"], Slope]:
    """Return log P that an odd (or even) number of literals holds.

    With ``t = prod(1 - 2 p)`` that is ``(1 - t) / 2`` (or ``(1 + t) / 2``); ``log|t|`` is summed
    apart from its sign, so that nothing cancels where ``|t|`` is near 1.
    """
    gap = torch.exp(-log_odds.abs())
    # |1 - 2p| = (1 - e) / (1 + e) with e = exp(-|log odds|).
    log_size = (torch.log1p(-gap) - torch.log1p(gap)).sum(0)
    is_minus = (log_odds > 0).sum(0) % 2 == 1
    grows = is_minus == is_odd
    value = torch.where(grows, torch.log1p(torch.exp(log_size)), log1mexp(log_size)) - _LOG_TWO

    def slope() -> Float[Tensor, "n B"]:
        others = _product_of_others(-torch.tanh(log_odds / 2.0))
        log_true, log_false = log_literals(log_odds)
        size = torch.exp(log_true + log_false - value)
        return size * others if is_odd else -size * others

    return value, slope


def exactly_one(log_odds: Float[Tensor, "n B"]) -> tuple[Float[Tensor, "B"], Slope]:
    """Return log P that exactly one literal holds.

    The log-probability that all others fail is a sum over the others, not a difference, so that
    certain literals (log-odds ``+inf``) need no case of their own.
    """
    log_true, log_false = log_literals(log_odds)
    log_only = log_true + _sum_of_others(log_false)
    value = torch.logsumexp(log_only, 0)

    def slope() -> Float[Tensor, "n B"]:
        only = torch.exp(log_only - value)
        return only * torch.sigmoid(-log_odds) - (1.0 - only) * torch.sigmoid(log_odds)

    return value, slope


def cardinality(
    log_odds: Float[Tensor, "n B"], *, low: int, high: int
) -> tuple[Float[Tensor, "B"], Slope]:
    """Return log P that ``low`` to ``high`` of the literals hold: a Poisson-binomial sum.

    Literals that hold are counted one literal at a time, or those that fail, whichever needs fewer
    counts: ``O(n * n_counts)`` steps, as `n_counts` says.
    """
    n = len(log_odds)
    if _n_counts(n, n - high, n - low) < _n_counts(n, low, high):
        mirrored, turned = cardinality(-log_odds, low=n - high, high=n - low)
        return mirrored, lambda: -turned()
    is_open = high == n
    log_true, log_false = (x.clamp(min=FLOOR) for x in log_literals(log_odds))
    counts = log_odds.new_full((n + 1, _n_counts(n, low, high), log_odds.shape[1]), FLOOR)
    counts[0, 0] = 0.0
    for i in range(n):
        before, after = counts[i], counts[i + 1]
        torch.add(before, log_false[i], out=after)
        if is_open:  # at least `low` hold, whatever comes
            after[-1] = before[-1]
        torch.logaddexp(after[1:], before[:-1] + log_true[i], out=after[1:])
    accepted = counts[n, low:]
    value = torch.logsumexp(accepted, 0)
    value = value.masked_fill(value < FLOOR / 2, -math.inf)

    def slope() -> Float[Tensor, "n B"]:
        prob_true, prob_false = torch.sigmoid(log_odds), torch.sigmoid(-log_odds)
        result = torch.empty_like(log_odds)
        passing = torch.zeros_like(counts[n])
        passing[low:] = torch.exp(accepted - value)
        for i in range(n - 1, -1, -1):
            before, after = counts[i], counts[i + 1]
            stays = passing * torch.exp(before + log_false[i] - after)
            rises = passing[1:] * torch.exp(before[:-1] + log_true[i] - after[1:])
            failing = stays.sum(0)
            if is_open:
                stays[-1] = passing[-1] * torch.exp(before[-1] - after[-1])
                failing = stays[:-1].sum(0)
            result[i] = rises.sum(0) * prob_false[i] - failing * prob_true[i]
            stays[:-1] += rises
            passing = stays
        return result

    return value, slope


def _n_counts(n: int, low: int, high: int) -> int:
    """Return how many counts the sum keeps: up to ``high``, or ``low`` where that is enough."""
    return low + 1 if high == n else high + 1


def _sum_of_others(terms: Float[Tensor, "n B"]) -> Float[Tensor, "n B"]:
    """Return for each row the sum of all other rows; ``-inf`` may be among them."""
    before = torch.zeros_like(terms)
    torch.cumsum(terms[:-1], 0, out=before[1:])
    after = torch.zeros_like(terms)
    after[:-1] = terms[1:].flip(0).cumsum(0).flip(0)
    return before + after


def _product_of_others(factors: Float[Tensor, "n B"]) -> Float[Tensor, "n B"]:
    """Return for each row the product of all other rows; zeros may be among them."""
    before, after = torch.ones_like(factors), torch.ones_like(factors)
    torch.cumprod(factors[:-1], 0, out=before[1:])
    after[:-1] = factors[1:].flip(0).cumprod(0).flip(0)
    return before * after


def closed_form(op: str, *, n: int, low: int = 0, high: int = 0) -> tuple[Kernel, int]:
    """Return the kernel of a formula over ``n`` literals, and how many numbers an item takes.

    Args:
        op: ``and``, ``or``, ``all_equal``, ``xor`` (odd), ``even`` or ``card``.
        n: How many literals there are.
        low: ``card``: the least number that hold.
        high: ``card``: the largest, at most ``n``.

    >>> kernel, width = closed_form("card", n=3, low=2, high=3)
    >>> value, slope = kernel(torch.zeros((3, 1), dtype=torch.float64))
    >>> round(float(value.exp()), 6)
    0.5
    """
    simple: dict[str, Kernel] = {"and": conjunction, "or": clause, "all_equal": all_equal}
    if op in simple:
        return simple[op], 4 * n
    if op in ("xor", "even"):
        return partial(parity, is_odd=op == "xor"), 8 * n
    if low == high == 1:
        return exactly_one, 8 * n
    n_counts = min(_n_counts(n, low, high), _n_counts(n, n - high, n - low))
    return partial(cardinality, low=low, high=high), (n + 1) * n_counts
