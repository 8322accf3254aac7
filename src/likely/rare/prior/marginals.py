"""Independent Student t laws along the principal axes of the states. Unit: nats."""

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.optimize import minimize
from scipy.special import digamma, gammaln

from likely.errors import NumericalError
from likely.rare.prior.options import FitOptions, prepared
from likely.rare.prior.protocol import FitRecord
from likely.rare.prior.student import TAIL_BOUNDS, draw_log_scales, log_scale_ratio
from likely.rare.prior.whitened import WhitenedPrior
from likely.rare.prior.whitening import Whitening, covariance, with_ridge


@dataclass(frozen=True, slots=True, kw_only=True)
class MarginalsPrior(WhitenedPrior):
    """States ``centre + factor u``; coordinate j of ``u`` is t with ``tails[j]`` degrees.

    Unlike an elliptical law it can hold a few coordinates of heavy tails among many of light ones.

    Attributes:
        tails: Shape ``(d,)``, degrees of freedom.
    """

    tails: Float[np.ndarray, " d"]

    def log_density(self, u: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " n"]:
        """Return the normalised log-density of whitened coordinates."""
        logs = np.log1p(np.square(u) / self.tails)
        return np.asarray(_at_centre(self.tails).sum() - logs @ (0.5 * (self.tails + 1.0)))

    def gradient(self, u: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n d"]:
        """Return the gradient of `log_density`."""
        return np.asarray(-(self.tails + 1.0) * u / (self.tails + np.square(u)))

    def sample(self, n: int, *, rng: np.random.Generator) -> Float[np.ndarray, "n d"]:
        """Return independent draws, whitened."""
        z = rng.standard_normal((n, self.dim))
        return np.asarray(z * np.exp(-0.5 * self.draw_mixing(n, rng=rng)))

    def draw_gaussian(self, n: int, *, rng: np.random.Generator) -> Float[np.ndarray, "n d"]:
        """Return draws of the Gaussian part: ``u``, were every lambda 1."""
        return rng.standard_normal((n, self.dim))

    def draw_mixing(self, n: int, *, rng: np.random.Generator) -> Float[np.ndarray, "n d"]:
        """Return draws of the logs of the lambdas, one a coordinate."""
        return draw_log_scales(n, self.dim, self.tails, rng=rng)

    def move_mixing(
        self, mixing: Float[np.ndarray, "n d"], *, step: float, rng: np.random.Generator
    ) -> tuple[Float[np.ndarray, "n d"], Float[np.ndarray, " n"]]:
        """Return a random-walk step of all logs together and the log of its Metropolis ratio.

        Each log moves in proportion to its own spread, divided by the root of their number.
        """
        spread = np.sqrt(2.0 / (self.tails * self.dim))
        moved = mixing + step * spread * rng.standard_normal(mixing.shape)
        return moved, log_scale_ratio(mixing, moved, self.tails).sum(axis=1)

    def assemble(
        self, gaussian: Float[np.ndarray, "n d"], mixing: Float[np.ndarray, "n d"]
    ) -> Float[np.ndarray, "n D"]:
        """Return the states of a Gaussian part and the logs of the lambdas."""
        return self.whitening.to_states(gaussian * np.exp(-0.5 * mixing))


def _at_centre(tails: Float[np.ndarray, "*any"]) -> Float[np.ndarray, "*any"]:
    """Return the log-density of one-dimensional t laws at 0."""
    return np.asarray(
        gammaln(0.5 * (tails + 1.0)) - gammaln(0.5 * tails) - 0.5 * np.log(math.pi * tails)
    )


def fit_marginals(states: Float[np.ndarray, "n D"], options: FitOptions) -> MarginalsPrior:
    """Return t laws along the principal axes, each of largest likelihood.

    Args:
        states: Shape ``(n, D)``.
        options: ``ridge`` (added to the variance of every axis before its law is fitted: the
            scale found is widened by it), ``drop_null`` and ``max_iterations``.

    Raises:
        InputError: The states cannot be fitted.
        NumericalError: An axis has no variance and the ridge is 0.
    """
    rows, frame = prepared(states, options)
    ridged = with_ridge(covariance(rows), options.ridge)
    variances, axes = np.linalg.eigh(ridged)
    if not variances[0] > 0.0:
        raise NumericalError(
            f"an axis has the variance {float(variances[0])!r} with a ridge of {options.ridge!r}; "
            "give a larger ridge, or drop the directions without variance (drop_null=True)"
        )
    mean, spreads = rows.mean(axis=0), np.sqrt(variances)
    added = options.ridge * np.trace(ridged) / (len(ridged) * (1.0 + options.ridge) * variances)
    scores = (rows - mean) @ axes / spreads
    fits = [
        _fit_axis(np.ascontiguousarray(scores[:, axis]), float(added[axis]), options)
        for axis in range(len(variances))
    ]
    centres, scales, tails = (np.array([getattr(fit, key) for fit in fits]) for key in _KEYS)
    widths = spreads * scales
    inner = Whitening(
        centre=mean + axes @ (spreads * centres),
        factor=axes * widths,
        inverse=(axes / widths).T,
        log_det=float(np.log(widths).sum()),
    )
    prior = MarginalsPrior(whitening=inner, tails=tails)
    found = float(prior.log_density(inner.to_whitened(rows)).mean()) - inner.log_det
    whitening = frame.lift(inner) if frame is not None else inner
    return MarginalsPrior(
        whitening=whitening,
        tails=tails,
        record=FitRecord(
            kind="marginals",
            n_states=len(states),
            n_dims=states.shape[1],
            n_dropped=states.shape[1] - whitening.dim,
            ridge=options.ridge,
            n_iterations=max(fit.n_passes for fit in fits),
            converged=all(fit.converged for fit in fits),
            mean_log_likelihood=found,
            tails=tuple(float(tail) for tail in tails),
        ),
    )


_KEYS = ("centre", "scale", "tail")


@dataclass(frozen=True, slots=True, kw_only=True)
class _AxisFit:
    """The t law of one axis, and how it was found."""

    centre: float
    scale: float
    tail: float
    n_passes: int
    converged: bool


def _fit_axis(values: Float[np.ndarray, " n"], added: float, options: FitOptions) -> _AxisFit:
    """Return the t law of largest likelihood of numbers of mean 0 and variance about 1.

    Args:
        values: The numbers.
        added: Variance that the ridge adds; the scale found is widened by it.
        options: ``max_iterations``.
    """

    def loss(free: Float[np.ndarray, "3"]) -> tuple[float, Float[np.ndarray, "3"]]:
        centre, scale, tail = float(free[0]), math.exp(float(free[1])), math.exp(float(free[2]))
        z = (values - centre) / scale
        logs = np.log1p(z * z / tail)
        weights = (tail + 1.0) / (tail + z * z)
        pulled = float((weights * z * z).mean())
        mean_log = float(logs.mean())
        value = 0.5 * (tail + 1.0) * mean_log + math.log(scale)
        by_tail = 0.5 * (digamma(0.5 * (tail + 1.0)) - digamma(0.5 * tail) - 1.0 / tail - mean_log)
        by_tail += 0.5 * pulled / tail
        slopes = [-float((weights * z).mean()) / scale, 1.0 - pulled, -tail * float(by_tail)]
        return value - float(_at_centre(np.array([tail]))[0]), np.array(slopes)

    found = minimize(
        loss,
        np.array([0.0, -0.1, math.log(10.0)]),
        jac=True,
        method="L-BFGS-B",
        bounds=[(-3.0, 3.0), (-12.0, 3.0), tuple(math.log(end) for end in TAIL_BOUNDS)],
        options={"maxiter": options.max_iterations, "ftol": 1e-10, "gtol": 1e-6},
    )
    return _AxisFit(
        centre=float(found.x[0]),
        scale=math.hypot(math.exp(float(found.x[1])), math.sqrt(added)),
        tail=math.exp(float(found.x[2])),
        n_passes=int(found.nit),
        converged=bool(found.success),
    )
