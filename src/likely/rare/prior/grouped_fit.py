"""Fitting of a law of states given their group: centres, and a few shapes for all. Unit: nats."""

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from scipy.linalg import solve_triangular

from likely.core.streams import generator
from likely.errors import InputError
from likely.rare.prior.grouped import GroupedPrior
from likely.rare.prior.mixture_fit import spread_cells
from likely.rare.prior.options import FitOptions
from likely.rare.prior.protocol import FitRecord
from likely.rare.prior.student import fit_tail, student_log_density
from likely.rare.prior.whitening import check_states, cholesky_whitening

LEAST = 2
"""States of a group, at least: one is its centre, the next says how far others lie from it."""
_FIRST_TAIL = 10.0
_N_ROUNDS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shapes:
    """Scale matrices and tails, and which group has which."""

    factors: Float[np.ndarray, "K D D"]
    tails: Float[np.ndarray, " K"]
    of: Int[np.ndarray, " G"]


def fit_grouped(
    states: Float[np.ndarray, "n D"],
    groups: Int[np.ndarray, " n"],
    log_weights: Float[np.ndarray, " G"],
    options: FitOptions,
) -> GroupedPrior:
    """Return a law of states given their group.

    A centre is the mean of its group. What is left, widened by what the means have taken out of
    it, is a t law of one of a few shapes: a group has the shape under which its states are
    likeliest, and a shape is fitted to the states of its groups, drawn towards the shape of all by
    as many states as there are coordinates and two more.

    Args:
        states: Shape ``(n, D)``.
        groups: Shape ``(n,)``, numbers from 0.
        log_weights: Shape ``(G,)``, the law of the groups, nats; it need not be that of ``groups``.
        options: ``ridge``, ``n_components`` (shapes, at most) and ``max_iterations``.

    Raises:
        InputError: The states cannot be fitted, or a group has fewer than `LEAST` of them.
    """
    rows = check_states(states)
    counts = np.bincount(groups, minlength=len(log_weights))
    if len(counts) != len(log_weights) or counts.min() < LEAST:
        raise InputError(
            f"a law by group needs {LEAST} states of each of {len(log_weights)} groups, got "
            f"{int(counts.min())} of one; give more states"
        )
    centres = group_sums(rows, groups, len(counts)) / counts[:, None]
    left = (rows - centres[groups]) * np.sqrt(counts / (counts - 1.0))[groups, None]
    shapes, n_rounds, settled = _iterate(left, groups, len(counts), options)
    return GroupedPrior(
        centres=centres,
        log_weights=log_weights,
        log_drawn=flattened(log_weights),
        shapes=shapes.of,
        factors=shapes.factors,
        tails=shapes.tails,
        record=FitRecord(
            kind="last_place", n_states=len(rows), n_dims=rows.shape[1], n_dropped=0,
            ridge=options.ridge, n_iterations=n_rounds, converged=settled,
            mean_log_likelihood=float(_likelihoods(left, shapes)[range(len(rows)),
                                                                 shapes.of[groups]].mean()),
            tails=tuple(float(tail) for tail in shapes.tails),
            weights=tuple(
                float(np.exp(log_weights[shapes.of == k]).sum()) for k in range(len(shapes.tails))
            ),
        ),
    )  # fmt: skip


def flattened(log_weights: Float[np.ndarray, " G"]) -> Float[np.ndarray, " G"]:
    """Return the law that is a half of this one and a half of the uniform one, nats.

    >>> np.exp(flattened(np.log(np.array([0.9, 0.1])))).round(6).tolist()
    [0.7, 0.3]
    """
    return np.asarray(np.logaddexp(log_weights, -math.log(len(log_weights))) - math.log(2.0))


def group_sums(
    rows: Float[np.ndarray, "n D"], groups: Int[np.ndarray, " n"], n_groups: int
) -> Float[np.ndarray, "G D"]:
    """Return the sum of the rows of each group.

    >>> group_sums(np.array([[1.0], [2.0], [4.0]]), np.array([1, 0, 1]), 2).tolist()
    [[2.0], [5.0]]
    """
    return np.stack(
        [np.bincount(groups, weights=column, minlength=n_groups) for column in rows.T], axis=1
    )


def _iterate(
    left: Float[np.ndarray, "n D"],
    groups: Int[np.ndarray, " n"],
    n_groups: int,
    options: FitOptions,
) -> tuple[_Shapes, int, bool]:
    """Return the shapes, the rounds they took, and whether no group wanted another at the end."""
    one = np.zeros(n_groups, dtype=np.int64)
    base = _fitted(left, one[groups], one, None, options)
    if options.n_components == 1 or n_groups == 1:
        return base, 1, True
    inverse = solve_triangular(base.factors[0], np.eye(left.shape[1]), lower=True)
    counts = np.bincount(groups, minlength=n_groups)
    spreads = group_sums(np.square(left @ inverse.T), groups, n_groups) / counts[:, None]
    rng = generator(0, "rare", "shapes")
    of = spread_cells(np.log(spreads + 1e-3), min(options.n_components, n_groups), rng=rng)
    shapes, n_rounds = base, 0
    while n_rounds < min(_N_ROUNDS, options.max_iterations):
        n_rounds += 1
        _, of = np.unique(of, return_inverse=True)
        shapes = _fitted(left, of[groups], of, base, options)
        likely = group_sums(_likelihoods(left, shapes), groups, n_groups)
        of = likely.argmax(axis=1)
        if np.array_equal(of, shapes.of):
            break
    return shapes, n_rounds, bool(np.array_equal(of, shapes.of))


def _fitted(
    left: Float[np.ndarray, "n D"],
    cell: Int[np.ndarray, " n"],
    of: Int[np.ndarray, " G"],
    base: _Shapes | None,
    options: FitOptions,
) -> _Shapes:
    """Return the t law of the rows of each cell, in a few passes of ECME."""
    dim = left.shape[1]
    common = None if base is None else base.factors[0] @ base.factors[0].T
    factors, tails = [], []
    for k in range(int(of.max()) + 1):
        rows = left[cell == k]
        tail = _FIRST_TAIL if base is None else float(base.tails[0])
        scale = rows.T @ rows / len(rows) if common is None else common
        for _ in range(6 if common is None else 3):
            factor = cholesky_whitening(np.zeros(dim), scale, ridge=options.ridge).factor
            squared = _squared(rows, factor)
            tail = fit_tail(squared, dim)
            weights = (tail + dim) / (tail + squared)
            pulled = (rows * weights[:, None]).T @ rows
            total = float(weights.sum())
            if common is not None:
                pulled += (dim + 2.0) * common
                total += dim + 2.0
            scale = pulled / total
        factors.append(cholesky_whitening(np.zeros(dim), scale, ridge=options.ridge).factor)
        tails.append(fit_tail(_squared(rows, factors[-1]), dim))
    return _Shapes(factors=np.stack(factors), tails=np.array(tails), of=of)


def _squared(
    rows: Float[np.ndarray, "n D"], factor: Float[np.ndarray, "D D"]
) -> Float[np.ndarray, " n"]:
    """Return squared lengths in the coordinates of a factor."""
    u = solve_triangular(factor, rows.T, lower=True)
    return np.asarray(np.einsum("dn,dn->n", u, u))


def _likelihoods(left: Float[np.ndarray, "n D"], shapes: _Shapes) -> Float[np.ndarray, "n K"]:
    """Return the log-density of each row under each shape."""
    dim = left.shape[1]
    return np.stack(
        [
            student_log_density(_squared(left, factor), dim, float(tail))
            - float(np.log(np.diagonal(factor)).sum())
            for factor, tail in zip(shapes.factors, shapes.tails, strict=True)
        ],
        axis=1,
    )
