"""The generalised Pareto law of what exceeds a high level. Unit: that of the excesses; nats."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.optimize import brentq, minimize_scalar
from scipy.stats import chi2

from likely.errors import InputError

SHAPES = (-0.5, 5.0)
"""Shapes that are looked at: below the first, maximum likelihood is not regular."""
FAINTEST = -1e4
"""Nats: a log-survival below this that the data allow counts as one without a lower end."""
_GRID = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Pareto:
    """A generalised Pareto law.

    Attributes:
        shape: 0 for an exponential tail, above for a heavier one, below for one that ends.
        scale: Positive, in the unit of the excesses.
    """

    shape: float
    scale: float

    def log_survival(self, excess: Float[np.ndarray, "m"]) -> Float[np.ndarray, "m"]:
        """Return the log-probability of more than each excess, at least 0; ``-inf`` past the end.

        >>> law = Pareto(shape=1.0, scale=2.0)
        >>> np.exp(law.log_survival(np.array([0.0, 2.0]))).round(4).tolist()
        [1.0, 0.5]
        """
        if self.shape == 0.0:
            return -excess / self.scale
        with np.errstate(divide="ignore"):
            logs = np.log1p(np.maximum(self.shape * excess / self.scale, -1.0))
        return np.asarray(-logs / self.shape)


def is_tied(values: Float[np.ndarray, "k"]) -> bool:
    """Return whether fewer than half of some values are distinct, or all are equal.

    Then a law of few values was drawn from over and over, which has no smooth tail; values of a
    continuous law are equal by rounding alone, and few of them.

    Args:
        values: Shape ``(k,)``, one or more.

    >>> is_tied(np.array([1.0, 1.0, 2.0])), is_tied(np.array([1.0, 1.0, 1.0]))
    (False, True)
    """
    n_distinct = len(np.unique(values))
    return n_distinct == 1 or 2 * n_distinct < len(values)


def fit_exponential(excesses: Float[np.ndarray, "k"]) -> Pareto:
    """Return the exponential law of maximum likelihood.

    Raises:
        InputError: There is no excess, one is negative or not finite, or all are 0.
    """
    _check(excesses)
    return Pareto(shape=0.0, scale=float(excesses.mean()))


def fit_pareto(excesses: Float[np.ndarray, "k"]) -> Pareto:
    """Return the law of maximum likelihood with a shape of at least -1/2.

    Args:
        excesses: Shape ``(k,)``, at least 0 and not all 0.

    Raises:
        InputError: There is none, one is negative or not finite, or all are 0.

    Sources:
        Grimshaw (1993), "Computing maximum likelihood estimates for the generalized Pareto
        distribution": the likelihood as a function of shape over scale alone.

    >>> law = fit_pareto(-np.log(1.0 - (np.arange(1000) + 0.5) / 1000))
    >>> round(law.shape, 2) + 0.0, round(law.scale, 2)
    (0.0, 1.0)
    """
    _check(excesses)
    mean = float(excesses.mean())
    scaled = excesses / mean
    first, last = (_ratio_of(scaled, shape) for shape in SHAPES)
    ratios = np.unique([*np.linspace(first, 0.0, _GRID), *np.geomspace(1e-4, last, _GRID)])
    losses = _losses(scaled, ratios)
    best = int(np.argmin(losses))
    around = ratios[max(best - 1, 0)], ratios[min(best + 1, len(ratios) - 1)]
    found = minimize_scalar(
        lambda ratio: float(_losses(scaled, np.array([ratio]))[0]), bounds=around, method="bounded",
        options={"xatol": 1e-10},
    )  # fmt: skip
    ratio = float(found.x) if found.fun < losses[best] else float(ratios[best])
    shape = _shape_of(scaled, ratio)
    return Pareto(shape=shape, scale=mean * (shape / ratio if ratio != 0.0 else 1.0))


def survival_interval(
    excesses: Float[np.ndarray, "k"], at: float, *, level: float
) -> tuple[float, float]:
    """Return the interval of profile likelihood for the log-probability of an excess above ``at``.

    Args:
        excesses: As in `fit_pareto`.
        at: Positive.
        level: Coverage for many excesses, in (0, 1).

    Returns:
        Both ends, nats; the lower is ``-inf`` where the data allow a law that ends before.

    Sources:
        Coles (2001), "An introduction to statistical modeling of extreme values", section 4.3.3.
    """
    mean = float(excesses.mean())
    scaled, scaled_at = excesses / mean, at / mean
    fitted = fit_pareto(scaled)
    shape = fitted.shape if abs(fitted.shape) > 1e-9 else 1e-9
    most = float(_log_likelihoods(scaled, np.array([shape]), np.array([fitted.scale]))[0])
    allowed = most - 0.5 * float(chi2.ppf(level, 1))

    def spare(log_prob: float) -> float:
        return _profile(scaled, scaled_at, log_prob) - allowed

    value = max(float(fitted.log_survival(np.array([scaled_at]))[0]), FAINTEST)
    value = min(value, -1e-12)
    low = -math.inf
    if spare(FAINTEST) < 0.0:
        low = _crossing(spare, FAINTEST, value)
    return low, _crossing(spare, -1e-12, value)


def _crossing(spare: Callable[[float], float], outside: float, inside: float) -> float:
    """Return where spare likelihood becomes 0 between a point outside and one inside."""
    if spare(outside) >= 0.0 or spare(inside) <= 0.0:
        return outside if spare(outside) >= 0.0 else inside
    return float(brentq(spare, outside, inside, xtol=1e-6))


def _profile(scaled: Float[np.ndarray, "k"], at: float, log_prob: float) -> float:
    """Return the largest log-likelihood of laws whose log-survival at a point is given."""
    shapes, highest = np.linspace(*SHAPES, _GRID), -math.inf
    for _ in range(3):
        shapes = np.where(np.abs(shapes) < 1e-9, 1e-9, shapes)  # near enough to exponential
        scales = at * shapes / np.expm1(np.minimum(-shapes * log_prob, 600.0))
        found = _log_likelihoods(scaled, shapes, scales)
        best = int(found.argmax())
        highest = max(highest, float(found[best]))
        shapes = np.linspace(shapes[max(best - 1, 0)], shapes[min(best + 1, _GRID - 1)], _GRID)
    return highest


def _log_likelihoods(
    scaled: Float[np.ndarray, "k"], shapes: Float[np.ndarray, "r"], scales: Float[np.ndarray, "r"]
) -> Float[np.ndarray, "r"]:
    """Return the log-likelihood of laws; no shape is 0."""
    inner = (shapes / scales)[:, None] * scaled
    impossible = inner.min(axis=1) <= -1.0
    logs = np.log1p(np.where(impossible[:, None], 0.0, inner)).sum(axis=1)
    found = -len(scaled) * np.log(scales) - (1.0 + 1.0 / shapes) * logs
    return np.where(impossible, -np.inf, found)


def _losses(
    scaled: Float[np.ndarray, "k"], ratios: Float[np.ndarray, "r"]
) -> Float[np.ndarray, "r"]:
    """Return minus the mean log-likelihood at ratios of shape to scale; excesses have mean 1."""
    shapes = np.log1p(ratios[:, None] * scaled).mean(axis=1)
    scales = np.divide(shapes, ratios, out=np.ones(len(ratios)), where=ratios != 0.0)
    return np.asarray(np.log(scales) + shapes + 1.0)


def _shape_of(scaled: Float[np.ndarray, "k"], ratio: float) -> float:
    """Return the best shape at a ratio of shape to scale; it grows with the ratio."""
    return float(np.log1p(ratio * scaled).mean())


def _ratio_of(scaled: Float[np.ndarray, "k"], shape: float) -> float:
    """Return the ratio whose best shape is this."""
    if shape > 0.0:
        last = 1.0
        while _shape_of(scaled, last) < shape:
            last *= 2.0
        return float(brentq(lambda ratio: _shape_of(scaled, ratio) - shape, 0.0, last))
    edge = -(1.0 - 1e-12) / float(scaled.max())
    if _shape_of(scaled, edge) > shape:
        return edge
    return float(brentq(lambda ratio: _shape_of(scaled, ratio) - shape, edge, 0.0))


def _check(excesses: Float[np.ndarray, "k"]) -> None:
    usable = len(excesses) > 0 and bool(np.isfinite(excesses).all())
    if not usable or excesses.min() < 0.0 or excesses.max() <= 0.0:
        raise InputError(
            f"a tail is fitted to excesses >= 0 of which one is positive, got {len(excesses)} from "
            f"{float(excesses.min(initial=0.0))!r} to {float(excesses.max(initial=0.0))!r}"
        )
