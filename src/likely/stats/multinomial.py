"""Counts of independent draws against a known law: tests, bands and intervals. Unit: probability.

The plug-in distance between counts and a law is never 0, even where the law is right: it is off by
about ``sqrt(2 p (1 - p) / (pi n))`` for two outcomes. Its expectation is known exactly, which is
what the corrections here use.

Sources: the mean deviation of a binomial count in closed form goes back to de Moivre (1730).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
from jaxtyping import Float, Int
from scipy.special import gammaln
from scipy.stats import beta, binom

from likely.core.streams import generator
from likely.errors import InputError
from likely.stats.intervals import clopper_pearson

Method = Literal["auto", "exact", "monte_carlo"]
Statistic = Callable[[Int[np.ndarray, "S k"]], Float[np.ndarray, "S"]]

MOST_OUTCOMES = 20_000
"""Outcomes of a multinomial up to which ``auto`` counts all of them."""

_TIE = 1e-9  # relative: outcomes whose statistics differ by rounding alone count as equal


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """A test of counts against a law.

    Attributes:
        statistic: Larger for a worse fit.
        p_value: Chance of a fit as bad or worse under the law; exact, or a Monte Carlo one that
            counts the observed outcome among the draws, which makes it valid at any number.
        method: ``exact`` or ``monte_carlo``.
        n_outcomes: That were counted or drawn.
    """

    statistic: float
    p_value: float
    method: Literal["exact", "monte_carlo"]
    n_outcomes: int


def expected_total_variation(
    law: Float[np.ndarray, "k"], ideal: Float[np.ndarray, "k"], n: int
) -> float:
    """Return the mean distance of the frequencies of ``n`` draws of ``law`` from ``ideal``.

    Each frequency is binomial, so the mean is an exact sum of mean deviations.

    >>> round(expected_total_variation(np.array([0.5, 0.5]), np.array([0.5, 0.5]), 4), 6)
    0.1875
    """
    _check(ideal, n)
    centres = n * ideal
    below = np.floor(centres)
    # E|X - c| = E(X - c) + 2 E(c - X)+, and X P(X) of n draws is n p P(X - 1) of n - 1 draws.
    short = centres * binom.cdf(below, n, law) - n * law * binom.cdf(below - 1, n - 1, law)
    deviations = n * law - centres + 2.0 * short
    return float(0.5 * deviations.sum() / n)


def corrected_total_variation(counts: Int[np.ndarray, "k"], ideal: Float[np.ndarray, "k"]) -> float:
    """Return the total variation distance of counts from a law, less its estimated bias.

    The bias is that of the frequencies themselves taken for the law. Away from the law the result
    is unbiased up to terms that vanish faster than ``1 / sqrt(n)``; at the law itself, where no
    estimator can be, it keeps about 0.59 of the plug-in's bias. It may be below 0, which a mean
    over many items needs.

    Raises:
        InputError: No draws, negative counts, or a law that does not sum to 1.
    """
    n = _n_draws(counts, ideal)
    seen = counts / n
    plug_in = float(0.5 * np.abs(seen - ideal).sum())
    return 2.0 * plug_in - expected_total_variation(seen, ideal, n)


def total_variation_band(
    ideal: Float[np.ndarray, "k"],
    n: int,
    *,
    level: float = 0.95,
    n_draws: int = 4000,
    seed: int = 0,
) -> tuple[float, float]:
    """Return the mean plug-in distance where the law is right, and its quantile at ``level``.

    Args:
        ideal: The law.
        n: Draws, at least 1.
        level: In (0, 1).
        n_draws: Simulated multinomials for the quantile; the mean is exact.
        seed: Of their stream.
    """
    _check(ideal, n)
    _check_level(level)
    drawn = generator(seed, "multinomial band").multinomial(n, _normal(ideal), size=n_draws)
    distances = 0.5 * np.abs(drawn / n - ideal).sum(axis=1)
    # The order statistic that has at least this level, so that a small simulation is not short.
    rank = min(n_draws, math.ceil(level * (n_draws + 1)))
    return expected_total_variation(ideal, ideal, n), float(np.sort(distances)[rank - 1])


def distance_interval(
    counts: Int[np.ndarray, "k"],
    ideal: Float[np.ndarray, "k"],
    *,
    level: float = 0.95,
    n_draws: int = 2000,
    seed: int = 0,
) -> tuple[float, float]:
    """Return an interval for the total variation distance of the law behind counts from another.

    The frequencies lie within some distance of their law at this level, by parametric bootstrap
    from the posterior mean under half a count each; by the triangle inequality so does the
    distance. With two outcomes it is the image of the exact interval of the first's probability.
    """
    n = _n_draws(counts, ideal)
    _check_level(level)
    if len(counts) == 2:
        low, high = clopper_pearson(int(counts[0]), n, level=level)
        p = float(ideal[0])
        return max(low - p, p - high, 0.0), max(abs(low - p), abs(high - p))
    plug_in = float(0.5 * np.abs(counts / n - ideal).sum())
    law = (counts + 0.5) / (n + 0.5 * len(counts))
    _, radius = total_variation_band(law, n, level=level, n_draws=n_draws, seed=seed)
    return max(0.0, plug_in - radius), min(1.0, plug_in + radius)


def dirichlet_intervals(
    counts: Int[np.ndarray, "k"], *, level: float = 0.95, prior: float = 0.5
) -> Float[np.ndarray, "k 2"]:
    """Return the equal-tailed posterior interval of each probability.

    Args:
        counts: Of each outcome.
        level: In (0, 1), of each interval by itself.
        prior: Added to each count; a half is Jeffreys' choice.

    >>> dirichlet_intervals(np.array([3, 7])).round(3).tolist()
    [[0.093, 0.606], [0.394, 0.907]]
    """
    _check_level(level)
    if len(counts) < 2 or counts.min() < 0 or not prior > 0:
        raise InputError(
            f"2 or more counts and a positive prior are needed, got {counts!r} and {prior!r}"
        )
    own = counts + prior
    others = own.sum() - own
    tail = 0.5 * (1.0 - level)
    return np.stack([beta.ppf(tail, own, others), beta.isf(tail, own, others)], axis=1)


def multinomial_fit(
    counts: Int[np.ndarray, "k"],
    ideal: Float[np.ndarray, "k"],
    *,
    method: Method = "auto",
    n_draws: int = 9999,
    seed: int = 0,
) -> Fit:
    """Return the test whose statistic is how improbable the counts are under the law.

    Args:
        counts: Of each outcome.
        ideal: The law.
        method: ``exact`` adds up all outcomes that are as improbable, ``monte_carlo`` draws some,
            ``auto`` takes the exact way up to `MOST_OUTCOMES`.
        n_draws: For ``monte_carlo``.
        seed: For ``monte_carlo``.

    Returns:
        The fit; the statistic is the negated log-probability, nats, ``inf`` for counts that the law
        rules out.

    >>> round(multinomial_fit(np.array([0, 3]), np.array([0.5, 0.5])).p_value, 6)
    0.25
    """
    return _test(counts, ideal, lambda some: -_log_prob(some, ideal), method, n_draws, seed)


def kolmogorov_smirnov_fit(
    counts: Int[np.ndarray, "k"],
    ideal: Float[np.ndarray, "k"],
    *,
    method: Method = "auto",
    n_draws: int = 9999,
    seed: int = 0,
) -> Fit:
    """Return the test by the largest gap between cumulated frequencies and law.

    Args:
        counts: Of outcomes in ascending order, such as integers.
        ideal: In the same order.
        method: As in `multinomial_fit`; the law of the gap is that of these outcomes, ties and all.
        n_draws: For ``monte_carlo``.
        seed: For ``monte_carlo``.
    """
    wanted = np.cumsum(ideal)

    def gap(some: Int[np.ndarray, "S k"]) -> Float[np.ndarray, "S"]:
        seen = np.cumsum(some, axis=1) / some.sum(axis=1, keepdims=True)
        return np.asarray(np.abs(seen - wanted).max(axis=1))

    return _test(counts, ideal, gap, method, n_draws, seed)


def _test(
    counts: Int[np.ndarray, "k"],
    ideal: Float[np.ndarray, "k"],
    statistic: Statistic,
    method: Method,
    n_draws: int,
    seed: int,
) -> Fit:
    n = _n_draws(counts, ideal)
    if method not in ("auto", "exact", "monte_carlo"):
        raise InputError(f"method is 'auto', 'exact' or 'monte_carlo', got {method!r}")
    n_outcomes = math.comb(n + len(counts) - 1, n)
    seen = float(statistic(counts[None])[0])
    least = seen - _TIE * abs(seen) if math.isfinite(seen) else seen
    if method == "exact" or (method == "auto" and n_outcomes <= MOST_OUTCOMES):
        outcomes = _all_outcomes(n, len(counts))
        bad = statistic(outcomes) >= least
        total = float(np.exp(_log_prob(outcomes[bad], ideal)).sum())
        return Fit(
            statistic=seen, p_value=min(1.0, total), method="exact", n_outcomes=len(outcomes)
        )
    drawn = generator(seed, "multinomial fit").multinomial(n, _normal(ideal), size=n_draws)
    n_bad = int((statistic(drawn) >= least).sum())
    return Fit(
        statistic=seen,
        p_value=(1 + n_bad) / (1 + n_draws),
        method="monte_carlo",
        n_outcomes=n_draws,
    )


def _all_outcomes(n: int, k: int) -> Int[np.ndarray, "S k"]:
    """Return all counts of ``n`` draws over ``k`` outcomes: places of bars among stars."""
    bars = np.array(list(combinations(range(n + k - 1), k - 1)), dtype=np.int64)
    bars = bars.reshape(-1, k - 1)
    edges = np.hstack([np.full((len(bars), 1), -1), bars, np.full((len(bars), 1), n + k - 1)])
    return np.asarray(np.diff(edges, axis=1) - 1)


def _log_prob(
    counts: Int[np.ndarray, "S k"], ideal: Float[np.ndarray, "k"]
) -> Float[np.ndarray, "S"]:
    logs = np.log(ideal, where=ideal > 0, out=np.zeros_like(ideal))
    ways = gammaln(counts.sum(axis=1) + 1.0) - gammaln(counts + 1.0).sum(axis=1)
    ruled_out = (counts[:, ideal == 0] > 0).any(axis=1)
    return np.asarray(np.where(ruled_out, -np.inf, ways + counts @ logs))


def _normal(law: Float[np.ndarray, "k"]) -> Float[np.ndarray, "k"]:
    return np.asarray(law / law.sum())


def _n_draws(counts: Int[np.ndarray, "k"], ideal: Float[np.ndarray, "k"]) -> int:
    if counts.min(initial=0) < 0:
        raise InputError(f"each outcome has a count of 0 or more, got {counts!r} for {ideal!r}")
    _check(ideal, int(counts.sum()))
    return int(counts.sum())


def _check(ideal: Float[np.ndarray, "k"], n: int) -> None:
    if n < 1:
        raise InputError(f"at least 1 draw is needed, got {n!r}")
    if len(ideal) < 2 or not abs(float(ideal.sum()) - 1.0) <= 1e-9 or ideal.min() < 0:
        raise InputError(f"a law has 2 or more probabilities that sum to 1, got {ideal!r}")


def _check_level(level: float) -> None:
    if not 0.0 < level < 1.0:
        raise InputError(f"the level lies in (0, 1), got {level!r}")
