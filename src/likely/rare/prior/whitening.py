"""Affine maps between states and whitened coordinates. Unit: that of the states."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.linalg import solve_triangular

from likely.errors import InputError, NumericalError


@dataclass(frozen=True, slots=True, kw_only=True)
class Whitening:
    """The map ``state = centre + factor u`` and its inverse.

    Attributes:
        centre: Shape ``(D,)``.
        factor: Shape ``(D, d)``, of full column rank.
        inverse: Shape ``(d, D)``, a left inverse of ``factor``.
        log_det: Log of the volume that one unit of whitened volume becomes.
    """

    centre: Float[np.ndarray, " D"]
    factor: Float[np.ndarray, "D d"]
    inverse: Float[np.ndarray, "d D"]
    log_det: float

    @property
    def dim(self) -> int:
        """Return the number of whitened coordinates."""
        return int(self.factor.shape[1])

    def to_states(self, u: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n D"]:
        """Return the states of whitened coordinates."""
        states = np.asarray(u @ self.factor.T)
        states += self.centre
        return states

    def to_whitened(self, states: Float[np.ndarray, "n D"]) -> Float[np.ndarray, "n d"]:
        """Return the whitened coordinates of states; what lies off the image is projected away."""
        return np.asarray(states @ self.inverse.T - self.centre @ self.inverse.T)


@dataclass(frozen=True, slots=True, kw_only=True)
class Subspace:
    """The directions along which states vary, around a point.

    Attributes:
        origin: Shape ``(D,)``.
        basis: Shape ``(D, r)``, orthonormal columns.
    """

    origin: Float[np.ndarray, " D"]
    basis: Float[np.ndarray, "D r"]

    def project(self, states: Float[np.ndarray, "n D"]) -> Float[np.ndarray, "n r"]:
        """Return the coordinates of states along the basis."""
        return np.asarray(states @ self.basis - self.origin @ self.basis)

    def lift(self, whitening: Whitening) -> Whitening:
        """Return the map into states of a map into coordinates along the basis."""
        return Whitening(
            centre=self.origin + self.basis @ whitening.centre,
            factor=self.basis @ whitening.factor,
            inverse=whitening.inverse @ self.basis.T,
            log_det=whitening.log_det,
        )


def check_states(states: Float[np.ndarray, "n D"]) -> Float[np.ndarray, "n D"]:
    """Return states as float64, or raise unless a law can be fitted to them.

    Raises:
        InputError: Fewer than two rows, no column, or a number that is not finite.
    """
    if states.shape[0] < 2 or states.shape[1] < 1:
        raise InputError(
            "a prior is fitted to two states or more, of one coordinate or more, got the shape "
            f"{states.shape!r}; give more states, or a larger budget"
        )
    rows = np.asarray(states, dtype=np.float64)
    if not np.isfinite(rows).all():
        raise InputError("a prior is fitted to finite states, got NaN or an infinity among them")
    return rows


def covariance(states: Float[np.ndarray, "n D"]) -> Float[np.ndarray, "D D"]:
    """Return the covariance matrix of rows, divided by their number."""
    centred = states - states.mean(axis=0)
    return np.asarray(centred.T @ centred / len(states))


def with_ridge(matrix: Float[np.ndarray, "D D"], ridge: float) -> Float[np.ndarray, "D D"]:
    """Return a matrix with a share of its mean diagonal added to the diagonal.

    Raises:
        InputError: The matrix has no variance at all, or the ridge is negative.

    >>> with_ridge(np.diag([1.0, 3.0]), 0.5).tolist()
    [[2.0, 0.0], [0.0, 4.0]]
    """
    mean = float(np.trace(matrix)) / len(matrix)
    if not mean > 0.0:
        raise InputError("a prior needs states that vary, got states that are all alike")
    if not ridge >= 0.0:
        raise InputError(f"a ridge is a share of the mean variance, at least 0, got {ridge!r}")
    return np.asarray(matrix + ridge * mean * np.eye(len(matrix)))


def cholesky_whitening(
    centre: Float[np.ndarray, " D"], matrix: Float[np.ndarray, "D D"], *, ridge: float
) -> Whitening:
    """Return the whitening whose factor is the lower Cholesky factor of a ridged matrix.

    Args:
        centre: Shape ``(D,)``.
        matrix: Shape ``(D, D)``, positive semidefinite.
        ridge: Share of the mean diagonal that is added to the diagonal.

    Raises:
        NumericalError: The ridged matrix is not positive definite.
    """
    try:
        factor = np.linalg.cholesky(with_ridge(matrix, ridge))
    except np.linalg.LinAlgError as error:
        raise NumericalError(
            f"the scale matrix is singular with a ridge of {ridge!r}; "
            "give a larger ridge, or drop the directions without variance (drop_null=True)"
        ) from error
    inverse = solve_triangular(factor, np.eye(len(factor)), lower=True)
    return Whitening(
        centre=centre,
        factor=factor,
        inverse=inverse,
        log_det=float(np.log(np.diagonal(factor)).sum()),
    )


def varying_subspace(states: Float[np.ndarray, "n D"], *, tolerance: float = 1e-8) -> Subspace:
    """Return the directions along which states vary.

    Args:
        states: Shape ``(n, D)``.
        tolerance: A direction is dropped whose variance is below this share of the mean variance.
            Rounding to float32 alone gives about 1e-14.

    Raises:
        InputError: The states do not vary.

    >>> varying_subspace(np.array([[0.0, 0.0], [1.0, 1.0], [3.0, 3.0]])).basis.shape
    (2, 1)
    """
    values, vectors = np.linalg.eigh(with_ridge(covariance(states), 0.0))
    kept = values > tolerance * values.mean()
    return Subspace(origin=states.mean(axis=0), basis=vectors[:, kept])
