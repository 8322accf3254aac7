"""A multivariate Student t law of states, fitted by ECME. Unit: nats."""

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.optimize import minimize_scalar
from scipy.special import gammaln

from likely.rare.prior.options import FitOptions, coarse_rows, prepared
from likely.rare.prior.protocol import FitRecord
from likely.rare.prior.whitened import WhitenedPrior
from likely.rare.prior.whitening import Whitening, cholesky_whitening, covariance

TAIL_BOUNDS = (2.1, 200.0)
"""Degrees of freedom that a fit may choose: a finite variance, and as good as a Gaussian."""
_FIRST_TAIL = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class StudentPrior(WhitenedPrior):
    """States ``centre + factor z / sqrt(lambda)``, lambda of mean 1.

    ``z`` is standard normal and ``lambda`` a chi-squared number over its degrees of freedom.

    Attributes:
        tail: Degrees of freedom, positive.
    """

    tail: float

    def log_density(self, u: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " n"]:
        """Return the normalised log-density of whitened coordinates."""
        return student_log_density(np.einsum("nd,nd->n", u, u), self.dim, self.tail)

    def gradient(self, u: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n d"]:
        """Return the gradient of `log_density`."""
        pull = (self.tail + self.dim) / (self.tail + np.einsum("nd,nd->n", u, u))
        return np.asarray(-pull[:, None] * u)

    def sample(self, n: int, *, rng: np.random.Generator) -> Float[np.ndarray, "n d"]:
        """Return independent draws, whitened."""
        z = rng.standard_normal((n, self.dim))
        return np.asarray(z * np.exp(-0.5 * draw_log_scales(n, 1, self.tail, rng=rng)))

    def draw_gaussian(self, n: int, *, rng: np.random.Generator) -> Float[np.ndarray, "n D"]:
        """Return draws of the Gaussian part: states less their centre, were lambda 1."""
        return np.asarray(rng.standard_normal((n, self.dim)) @ self.whitening.factor.T)

    def draw_mixing(self, n: int, *, rng: np.random.Generator) -> Float[np.ndarray, "n 1"]:
        """Return draws of log lambda."""
        return draw_log_scales(n, 1, self.tail, rng=rng)

    def move_mixing(
        self, mixing: Float[np.ndarray, "n 1"], *, step: float, rng: np.random.Generator
    ) -> tuple[Float[np.ndarray, "n 1"], Float[np.ndarray, " n"]]:
        """Return a random-walk step of log lambda and the log of its Metropolis ratio.

        A step of 1 is about the spread of log lambda.
        """
        moved = mixing + step * math.sqrt(2.0 / self.tail) * rng.standard_normal(mixing.shape)
        return moved, log_scale_ratio(mixing, moved, self.tail)[:, 0]

    def assemble(
        self, gaussian: Float[np.ndarray, "n D"], mixing: Float[np.ndarray, "n 1"]
    ) -> Float[np.ndarray, "n D"]:
        """Return the states of a Gaussian part and log lambda."""
        states = gaussian * np.exp(-0.5 * mixing)
        states += self.whitening.centre
        return states


def student_log_density(
    squared: Float[np.ndarray, "..."], dim: int, tail: float
) -> Float[np.ndarray, "..."]:
    """Return the log-density of a spherical t vector from its squared length.

    Args:
        squared: Squared Euclidean length.
        dim: Of the vector.
        tail: Degrees of freedom.

    >>> student_log_density(np.zeros(1), 1, 1.0).round(6).tolist()  # Cauchy: -log pi
    [-1.14473]
    """
    constant = gammaln(0.5 * (tail + dim)) - gammaln(0.5 * tail)
    constant -= 0.5 * dim * math.log(math.pi * tail)
    return np.asarray(constant - 0.5 * (tail + dim) * np.log1p(squared / tail))


def draw_log_scales(
    n: int, m: int, tail: float | Float[np.ndarray, " m"], *, rng: np.random.Generator
) -> Float[np.ndarray, "n m"]:
    """Return logs of chi-squared numbers over their degrees of freedom."""
    half = 0.5 * np.asarray(tail, dtype=np.float64)
    return np.asarray(np.log(rng.standard_gamma(half, size=(n, m)) / half))


def log_scale_ratio(
    old: Float[np.ndarray, "*any"], new: Float[np.ndarray, "*any"], tail: float | np.ndarray
) -> Float[np.ndarray, "*any"]:
    """Return the log-density of new log-scales less that of old ones.

    The density is that of ``log lambda``, so a symmetric step needs no further factor.
    """
    return np.asarray(0.5 * tail * ((new - old) - (np.exp(new) - np.exp(old))))


def fit_tail(
    squared: Float[np.ndarray, " n"],
    dim: int,
    *,
    weights: Float[np.ndarray, " n"] | None = None,
) -> float:
    """Return the degrees of freedom that maximise the t likelihood of squared lengths.

    Args:
        squared: Squared whitened lengths.
        dim: Whitened coordinates.
        weights: Of the rows; None for equal ones.
    """
    total = float(len(squared)) if weights is None else float(weights.sum())

    def loss(log_tail: float) -> float:
        tail = math.exp(log_tail)
        logs = np.log1p(squared / tail)
        rest = float(logs.sum() if weights is None else weights @ logs) / total
        at_centre = float(student_log_density(np.zeros(1), dim, tail)[0])
        return 0.5 * (tail + dim) * rest - at_centre

    bounds = (math.log(TAIL_BOUNDS[0]), math.log(TAIL_BOUNDS[1]))
    found = minimize_scalar(loss, bounds=bounds, method="bounded", options={"xatol": 1e-6})
    ends = [(loss(end), end) for end in bounds]
    return math.exp(min([(float(found.fun), float(found.x)), *ends])[1])


def fit_student(states: Float[np.ndarray, "n D"], options: FitOptions) -> StudentPrior:
    """Return the t law of largest likelihood, its scale matrix ridged.

    One pass finds the tail that maximises the likelihood itself, then the centre and the scale
    matrix of the rows weighted by ``(tail + d) / (tail + squared length)``. The scale matrix is
    divided by the sum of the weights and not by the number of rows: both have the same fixed
    point, and this one is reached in far fewer passes. The first passes see a part of the rows.

    Args:
        states: Shape ``(n, D)``.
        options: ``ridge``, ``drop_null``, ``tolerance`` and ``max_iterations``.

    Raises:
        InputError: The states cannot be fitted.

    Sources:
        Liu and Rubin (1995), "ML estimation of the t distribution using EM and its extensions,
        ECM and ECME". Liu, Rubin and Wu (1998), "Parameter expansion to accelerate EM: the PX-EM
        algorithm": the divisor.
    """
    rows, frame = prepared(states, options)
    few = coarse_rows(rows, n_components=1)
    start = cholesky_whitening(few.mean(axis=0), covariance(few), ridge=options.ridge)
    fit = _Fit(whitening=start, tail=_FIRST_TAIL, log_likelihood=-math.inf, n_passes=0, gain=0.0)
    if len(few) < len(rows):
        fit = _iterate(few, fit, options)
    fit = _iterate(rows, fit, options)
    return StudentPrior(
        whitening=frame.lift(fit.whitening) if frame is not None else fit.whitening,
        tail=fit.tail,
        record=FitRecord(
            kind="student",
            n_states=len(states),
            n_dims=states.shape[1],
            n_dropped=states.shape[1] - fit.whitening.dim,
            ridge=options.ridge,
            n_iterations=fit.n_passes,
            converged=abs(fit.gain) < options.tolerance,
            mean_log_likelihood=fit.log_likelihood,
            tails=(fit.tail,),
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fit:
    """Where an iteration stands: the law, its mean log-likelihood, and what the pass gained."""

    whitening: Whitening
    tail: float
    log_likelihood: float
    n_passes: int
    gain: float


def _iterate(rows: Float[np.ndarray, "n d"], fit: _Fit, options: FitOptions) -> _Fit:
    """Return the fit after passes over these rows, until one gains less than the tolerance."""
    whitening, dim = fit.whitening, rows.shape[1]
    last = -math.inf
    for n_passes in range(1, options.max_iterations + 1):
        u = whitening.to_whitened(rows)
        squared = np.einsum("nd,nd->n", u, u)
        tail = fit_tail(squared, dim)
        found = float(student_log_density(squared, dim, tail).mean()) - whitening.log_det
        fit = _Fit(
            whitening=whitening, tail=tail, log_likelihood=found, n_passes=n_passes,
            gain=found - last,
        )  # fmt: skip
        if abs(fit.gain) < options.tolerance:
            break
        last = found
        weights = (tail + dim) / (tail + squared)
        weights /= weights.sum()
        centre = weights @ rows
        scaled = (rows - centre) * np.sqrt(weights)[:, None]
        whitening = cholesky_whitening(centre, scaled.T @ scaled, ridge=options.ridge)
    return fit
