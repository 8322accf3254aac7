"""Fitting of mixtures by EM, with tails by ECME. Unit: nats."""

import math
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Int

from likely.core.logspace import logsumexp
from likely.core.streams import generator
from likely.rare.prior.mixture import MixturePrior, component_log_density
from likely.rare.prior.options import FitOptions, coarse_rows, prepared
from likely.rare.prior.protocol import FitRecord
from likely.rare.prior.student import fit_tail
from likely.rare.prior.whitening import Whitening, cholesky_whitening, covariance

_FIRST_TAIL = 10.0
_N_ROUNDS = 10
"""Of nearest-centre assignment before the first pass of EM."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Mixture:
    """Where an iteration stands: the law, its mean log-likelihood, and what the pass gained."""

    log_weights: Float[np.ndarray, " k"]
    parts: tuple[Whitening, ...]
    tails: Float[np.ndarray, " k"]
    log_likelihood: float = -math.inf
    n_passes: int = 0
    gain: float = math.inf
    n_starved: int = 0


def fit_student_mixture(states: Float[np.ndarray, "n D"], options: FitOptions) -> MixturePrior:
    """Return a mixture of t laws, of locally largest likelihood; see `fit_gaussian_mixture`."""
    return _fit_mixture(states, options, kind="student_mixture", tail=_FIRST_TAIL)


def fit_gaussian_mixture(states: Float[np.ndarray, "n D"], options: FitOptions) -> MixturePrior:
    """Return a mixture of Gaussians, of locally largest likelihood.

    The states are whitened by their mean and covariance, centres are spread over them, and EM
    runs: first over a part of the rows, then over all. The ridge that the whole sample gets is
    added to the scale matrix of each component. A component left with fewer states than it
    has coordinates, and one, cannot have a scale matrix of its own; it is given up, and the record
    counts it.

    Args:
        states: Shape ``(n, D)``.
        options: All of them.

    Raises:
        InputError: The states cannot be fitted.

    Sources:
        Peel and McLachlan (2000), "Robust mixture modelling using the t distribution". Arthur and
        Vassilvitskii (2007), "k-means++: the advantages of careful seeding": the first centres.
    """
    return _fit_mixture(states, options, kind="gaussian_mixture", tail=math.inf)


def _fit_mixture(
    states: Float[np.ndarray, "n D"], options: FitOptions, *, kind: str, tail: float
) -> MixturePrior:
    """Return the mixture whose first tails are all ``tail``; an infinite one stays so."""
    rows, frame = prepared(states, options)
    outer = cholesky_whitening(rows.mean(axis=0), covariance(rows), ridge=options.ridge)
    u = outer.to_whitened(rows)
    few = coarse_rows(u, n_components=options.n_components)
    mean_variance = float(rows.var(axis=0).mean())
    floor = options.ridge * mean_variance * outer.inverse @ outer.inverse.T
    fit = _start(few, options, floor=floor, tail=tail)
    if len(few) < len(u):
        fit = _iterate(few, fit, options, floor=floor)
    fit = _iterate(u, fit, options, floor=floor)
    order = np.argsort(-fit.log_weights, kind="stable")
    whitening = frame.lift(outer) if frame is not None else outer
    return MixturePrior(
        whitening=whitening,
        log_weights=fit.log_weights[order],
        components=tuple(fit.parts[k] for k in order),
        tails=fit.tails[order],
        record=FitRecord(
            kind=kind,
            n_states=len(states),
            n_dims=states.shape[1],
            n_dropped=states.shape[1] - whitening.dim,
            ridge=options.ridge,
            n_iterations=fit.n_passes,
            converged=abs(fit.gain) < options.tolerance,
            mean_log_likelihood=fit.log_likelihood - outer.log_det,
            tails=tuple(float(one) for one in fit.tails[order] if math.isfinite(one)),
            weights=tuple(float(one) for one in np.exp(fit.log_weights[order])),
            n_starved=fit.n_starved,
        ),
    )


def _start(
    u: Float[np.ndarray, "n d"],
    options: FitOptions,
    *,
    floor: Float[np.ndarray, "d d"],
    tail: float,
) -> _Mixture:
    """Return components around spread centres, all with the scatter within their cells."""
    rng = generator(0, "rare", "mixture")
    centres, nearest = _cells(u, options.n_components, rng=rng)
    counts = np.bincount(nearest, minlength=len(centres))
    within = covariance(u - centres[nearest])
    base = cholesky_whitening(np.zeros(u.shape[1]), within + floor, ridge=0.0)
    kept = counts > 0
    return _Mixture(
        log_weights=np.log(counts[kept] / counts.sum()),
        parts=tuple(replace(base, centre=centre) for centre in centres[kept]),
        tails=np.full(int(kept.sum()), tail),
    )


def spread_cells(
    u: Float[np.ndarray, "n d"], k: int, *, rng: np.random.Generator
) -> Int[np.ndarray, " n"]:
    """Return the cell of each row, of at most ``k`` around centres spread over the rows."""
    return _cells(u, k, rng=rng)[1]


def _cells(
    u: Float[np.ndarray, "n d"], k: int, *, rng: np.random.Generator
) -> tuple[Float[np.ndarray, "k d"], Int[np.ndarray, " n"]]:
    """Return centres after some rounds of nearest-centre assignment, and each row's nearest."""
    centres = _spread_centres(u, k, rng=rng)
    nearest = _nearest(u, centres)
    for _ in range(_N_ROUNDS):
        held = [np.flatnonzero(nearest == one) for one in range(len(centres))]
        centres = np.stack([u[rows].mean(axis=0) for rows in held if len(rows)])
        nearest = _nearest(u, centres)
    return centres, nearest


def _spread_centres(
    u: Float[np.ndarray, "n d"], k: int, *, rng: np.random.Generator
) -> Float[np.ndarray, "k d"]:
    """Return rows drawn far from one another: the best of a few draws for each centre."""
    centres = [u[rng.integers(len(u))]]
    nearest = np.square(u - centres[0]).sum(axis=1)
    for _ in range(1, k):
        if not nearest.sum() > 0.0:
            break
        tried = rng.choice(len(u), size=2 + int(math.log(k)), p=nearest / nearest.sum())
        left = [np.minimum(nearest, np.square(u - u[one]).sum(axis=1)) for one in tried]
        best = int(np.argmin([one.sum() for one in left]))
        centres.append(u[tried[best]])
        nearest = left[best]
    return np.stack(centres)


def _nearest(
    u: Float[np.ndarray, "n d"], centres: Float[np.ndarray, "k d"]
) -> Int[np.ndarray, " n"]:
    """Return the number of the nearest centre of each row."""
    return np.asarray(np.argmin(np.square(centres).sum(axis=1) - 2.0 * (u @ centres.T), axis=1))


def _iterate(
    u: Float[np.ndarray, "n d"],
    fit: _Mixture,
    options: FitOptions,
    *,
    floor: Float[np.ndarray, "d d"],
) -> _Mixture:
    """Return the fit after passes over these rows, until one gains less than the tolerance."""
    last = -math.inf
    for n_passes in range(1, options.max_iterations + 1):
        joint, squared = _evaluate(u, fit)
        if np.isfinite(fit.tails).all():
            shares = np.exp(joint - logsumexp(joint)[:, None])
            tails = [
                fit_tail(squared[:, k], u.shape[1], weights=shares[:, k])
                for k in range(len(fit.tails))
            ]
            fit = replace(fit, tails=np.array(tails))
            joint = _joint(squared, fit)
        total = logsumexp(joint)
        found = float(total.mean())
        fit = replace(fit, log_likelihood=found, n_passes=n_passes, gain=found - last)
        if abs(fit.gain) < options.tolerance or n_passes == options.max_iterations:
            break
        last = found
        fit = _maximise(u, fit, np.exp(joint - total[:, None]), squared, floor=floor)
    return fit


def _evaluate(
    u: Float[np.ndarray, "n d"], fit: _Mixture
) -> tuple[Float[np.ndarray, "n k"], Float[np.ndarray, "n k"]]:
    """Return the logs of weight times density, and the squared lengths in each component."""
    inner = (part.to_whitened(u) for part in fit.parts)
    squared = np.stack([np.einsum("nd,nd->n", z, z) for z in inner], axis=1)
    return _joint(squared, fit), squared


def _joint(squared: Float[np.ndarray, "n k"], fit: _Mixture) -> Float[np.ndarray, "n k"]:
    """Return the logs of weight times density from the squared lengths."""
    logs = [
        log_weight + component_log_density(squared[:, k], part, float(tail))
        for k, (log_weight, part, tail) in enumerate(
            zip(fit.log_weights, fit.parts, fit.tails, strict=True)
        )
    ]
    return np.stack(logs, axis=1)


def _maximise(
    u: Float[np.ndarray, "n d"],
    fit: _Mixture,
    shares: Float[np.ndarray, "n k"],
    squared: Float[np.ndarray, "n k"],
    *,
    floor: Float[np.ndarray, "d d"],
) -> _Mixture:
    """Return the weights, centres and scale matrices that the shares of the rows give."""
    dim = u.shape[1]
    held = shares.sum(axis=0)
    alive = np.flatnonzero(held > dim + 1)
    if not len(alive):
        alive = np.array([int(np.argmax(held))])
    parts = []
    for k in alive:
        weights = shares[:, k]
        if np.isfinite(fit.tails[k]):
            weights = weights * (fit.tails[k] + dim) / (fit.tails[k] + squared[:, k])
        weights = weights / weights.sum()
        centre = weights @ u
        scaled = (u - centre) * np.sqrt(weights)[:, None]
        parts.append(cholesky_whitening(centre, scaled.T @ scaled + floor, ridge=0.0))
    return replace(
        fit,
        log_weights=np.log(held[alive] / held[alive].sum()),
        parts=tuple(parts),
        tails=fit.tails[alive],
        n_starved=fit.n_starved + len(held) - len(alive),
    )
