"""Many draws in one reply: are they a law's, and is each free of the ones before it?

Draws of one reply are not independent samples: the model sees those that it has written. So they
are tested for order as well as for frequency, and never added to independent samples. Unit: none.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from math import comb
from typing import TypeAlias

import numpy as np
from jaxtyping import Float, Int

from likely.calibration.data_sets.items import Item
from likely.core.generation import Sampler
from likely.core.streams import generator
from likely.errors import InputError
from likely.stats.multinomial import Fit, multinomial_fit

Draws: TypeAlias = Int[np.ndarray, "S n"] | Float[np.ndarray, "S n"]
One: TypeAlias = Int[np.ndarray, "n"] | Float[np.ndarray, "n"]
Statistic: TypeAlias = Callable[..., Float[np.ndarray, "S"]]

_TIE = 1e-9  # relative: statistics that differ by rounding alone count as equal

OTHER = -1
"""Stands for a draw that is no option."""

_WORD = re.compile(r"[^\W_]+(?:['\u2019-][^\W_]+)*")
_ROOM = 6  # tokens for a draw with its comma
_LAGS = (1, 2, 3)


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderTest:
    """A test of the order of draws.

    Attributes:
        seen: The statistic.
        expected: Its mean where the order tells nothing.
        p_value: Two-sided.
    """

    seen: float
    expected: float
    p_value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchTests:
    """What one reply's draws say.

    Attributes:
        n_draws: Draws that are options.
        n_other: Words that are none.
        fit: The frequencies against the ideal.
        runs: Stretches of equal draws, given the frequencies: fewer where draws stick, more where
            they alternate.
        repeats: Share of draws equal to the one before, against independent draws of the ideal.
        correlations: At each lag of 1, 2 and 3: of the values, or of equality where options are
            names, given the frequencies.
    """

    n_draws: int
    n_other: int
    fit: Fit
    runs: OrderTest
    repeats: OrderTest
    correlations: tuple[OrderTest, ...]


def batch_prompt(item: Item, n: int) -> str:
    """Return a text that asks for ``n`` draws of an item in one reply.

    >>> from likely.calibration.data_sets.family import build
    >>> batch_prompt(build("colors", preset="smoke")[0], 5).splitlines()[-1]
    'Do this 5 times, each time anew. The 5 outcomes in order, separated by commas:'
    """
    if n < 2:
        raise InputError(f"a batch has at least 2 draws, got {n!r}")
    task = f"Do this {n} times, each time anew. The {n} outcomes in order, separated by commas:"
    return f"{item.context} ...\n\n{task}"


def draw_batches(
    sampler: Sampler, items: Sequence[Item], n: int, *, seed: int = 0
) -> tuple[tuple[int, ...], ...]:
    """Return for each item the draws of one reply: places of options, `OTHER` for none."""
    replies = [
        sampler.sample_texts(batch_prompt(item, n), 1, max_tokens=_ROOM * n, seed=seed)[0]
        for item in items
    ]
    return tuple(read_draws(reply, item)[:n] for reply, item in zip(replies, items, strict=True))


def read_draws(text: str, item: Item) -> tuple[int, ...]:
    """Return the draws that a reply lists, in order.

    Words are compared without regard to case. Numbers are skipped where no option is a number:
    they count the lines.

    >>> from likely.calibration.data_sets.family import build
    >>> read_draws("1. Green, 2. black, 3. red", build("colors", preset="smoke")[0])
    (1, 0, -1)
    """
    places = {
        word.casefold(): place
        for place, option in enumerate(item.options)
        for word in (option.label, *option.words)
    }
    has_numbers = any(word.isdigit() for word in places)
    words = [word.casefold() for word in _WORD.findall(text)]
    kept = [word for word in words if has_numbers or not word.isdigit()]
    return tuple(places.get(word, OTHER) for word in kept)


def batch_tests(
    draws: Sequence[int],
    ideal: Float[np.ndarray, "n"],
    *,
    values: Float[np.ndarray, "n"] | None = None,
    n_shuffles: int = 1999,
    seed: int = 0,
) -> BatchTests:
    """Return the tests of one reply.

    Args:
        draws: Places of options, `OTHER` for words that are none; those are left out and counted.
        ideal: Law over the options.
        values: Places of the options on the line of numbers; None or NaN for names.
        n_shuffles: Orders, and independent series, that are simulated; two options need none for
            their runs.
        seed: Of their stream.

    Raises:
        InputError: Fewer than 2 draws that are options.
    """
    kept = np.array([draw for draw in draws if draw != OTHER], dtype=np.int64)
    if len(kept) < 2 or kept.min() < 0 or kept.max() >= len(ideal):
        raise InputError(
            f"at least 2 draws are needed, places of {len(ideal)} options, got {draws!r}"
        )
    rng = generator(seed, "calibration", "batches")
    shuffled = rng.permuted(np.tile(kept, (n_shuffles, 1)), axis=1)
    law = ideal / ideal.sum()
    fresh = np.searchsorted(np.cumsum(law)[:-1], rng.random((n_shuffles, len(kept))), side="right")
    counts = np.bincount(kept, minlength=len(ideal))
    fit = multinomial_fit(counts, ideal, seed=seed)
    runs = _runs_of_two(kept, counts) if len(ideal) == 2 else _simulated(_runs, kept, shuffled)
    correlations = []
    for lag in _LAGS[: len(kept) - 1]:
        if values is not None and not np.isnan(values).any():
            at_lag = partial(_correlation, lag=lag)
            correlations.append(_simulated(at_lag, values[kept], values[shuffled]))
        else:
            correlations.append(_simulated(partial(_repeats, lag=lag), kept, shuffled))
    return BatchTests(
        n_draws=len(kept),
        n_other=len(draws) - len(kept),
        fit=fit,
        runs=runs,
        repeats=_simulated(_repeats, kept, fresh),
        correlations=tuple(correlations),
    )


def _runs(draws: Int[np.ndarray, "S n"]) -> Float[np.ndarray, "S"]:
    return np.asarray(1.0 + (draws[:, 1:] != draws[:, :-1]).sum(axis=1))


def _repeats(draws: Int[np.ndarray, "S n"], *, lag: int = 1) -> Float[np.ndarray, "S"]:
    return np.asarray((draws[:, lag:] == draws[:, :-lag]).mean(axis=1))


def _correlation(draws: Float[np.ndarray, "S n"], *, lag: int) -> Float[np.ndarray, "S"]:
    """Return the autocorrelation at a lag, 0 where all draws are equal."""
    centred = draws - draws.mean(axis=1, keepdims=True)
    spread = (centred**2).sum(axis=1)
    joint = (centred[:, lag:] * centred[:, :-lag]).sum(axis=1)
    return np.asarray(np.where(spread > 0, joint / np.where(spread > 0, spread, 1.0), 0.0))


def _simulated(statistic: Statistic, seen: One, others: Draws) -> OrderTest:
    """Return the two-sided test of a statistic among its values on simulated series."""
    own = float(statistic(seen[None])[0])
    drawn = statistic(others)
    slack = _TIE * max(1.0, abs(own))
    tails = [(drawn <= own + slack).sum(), (drawn >= own - slack).sum()]
    p_value = min(1.0, 2.0 * (1 + int(min(tails))) / (1 + len(drawn)))
    return OrderTest(seen=own, expected=float(drawn.mean()), p_value=p_value)


def _runs_of_two(draws: Int[np.ndarray, "n"], counts: Int[np.ndarray, "2"]) -> OrderTest:
    """Return the exact test of Wald and Wolfowitz: each order of the draws is as likely."""
    seen = int(_runs(draws[None])[0])
    first, second = int(counts[0]), int(counts[1])
    law = runs_law(first, second)
    tails = [
        sum(p for runs, p in law.items() if runs <= seen),
        sum(p for runs, p in law.items() if runs >= seen),
    ]
    expected = sum(runs * p for runs, p in law.items())
    return OrderTest(
        seen=float(seen), expected=float(expected), p_value=min(1.0, 2.0 * float(min(tails)))
    )


def runs_law(first: int, second: int) -> dict[int, Fraction]:
    """Return the probability of each number of runs of two kinds of draws in random order.

    Args:
        first: Draws of one kind.
        second: Draws of the other.

    Sources:
        Wald and Wolfowitz (1940), "On a test whether two samples are from the same population".

    >>> runs_law(2, 1)
    {2: Fraction(2, 3), 3: Fraction(1, 3)}
    """
    if first == 0 or second == 0:
        return {1: Fraction(1)}
    ways = {}
    for runs in range(2, 2 * min(first, second) + 2):
        small, large = runs // 2, (runs + 1) // 2
        one = comb(first - 1, small - 1) * comb(second - 1, large - 1)
        two = comb(first - 1, large - 1) * comb(second - 1, small - 1)
        if one + two:
            ways[runs] = Fraction(one + two, comb(first + second, first))
    return ways
