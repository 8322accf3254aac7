"""Coordinates in which activations have zero mean and unit variance. Unit: that of activations.

The released code of the method writes ``a - mu A^-T`` where ``(a - mu) A^-T`` is meant, so that it
whitens nothing; here the mean comes off first. Its ridge is an absolute number, which may outweigh
the variance of small activations; here it is a share of the mean variance.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from likely.errors import InputError

NULL = 1e-10
"""Directions of less variance than this share of the mean are dropped; rounding gives 1e-14."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Whitening:
    """The map ``activation = centre + factor u`` and its inverse on the span of activations.

    Attributes:
        centre: Shape ``(D,)``.
        factor: Shape ``(D, d)``; its product with its transpose is covariance plus ridge.
        inverse: Shape ``(d, D)``, a left inverse of ``factor``.
    """

    centre: Float[np.ndarray, "D"]
    factor: Float[np.ndarray, "D d"]
    inverse: Float[np.ndarray, "d D"]

    def to_whitened(self, activations: Float[np.ndarray, "n D"]) -> Float[np.ndarray, "n d"]:
        """Return the coordinates of activations."""
        return np.asarray((activations - self.centre) @ self.inverse.T)


def fit_whitening(activations: Float[np.ndarray, "n D"], *, ridge: float = 1e-5) -> Whitening:
    """Return the whitening of a sample; directions in which it does not vary drop out.

    Activations after a layer norm have no variance along the vector of ones, and a sample of fewer
    inputs than dimensions has none along others.

    Args:
        activations: Shape ``(n, D)``, float64, at least 2 rows.
        ridge: Added to the variance in every direction that is kept, as a share of the mean
            variance of those; at 0 any affine map of the activations gives the same coordinates
            but for a rotation.

    Raises:
        InputError: There are fewer than 2 activations, or they do not vary.

    >>> whitening = fit_whitening(np.array([[0.0, 1.0], [2.0, 1.0]]), ridge=0.0)
    >>> np.abs(whitening.to_whitened(np.array([[0.0, 1.0], [2.0, 1.0]]))).round(6).tolist()
    [[1.0], [1.0]]
    """
    if len(activations) < 2:
        raise InputError(f"whitening needs at least 2 activations, got {len(activations)}")
    centre = activations.mean(axis=0)
    centred = activations - centre
    values, vectors = np.linalg.eigh(centred.T @ centred / len(activations))
    floor = NULL * values.mean() + (64.0 * np.finfo(np.float64).eps * np.abs(centre).max()) ** 2
    kept = values > floor
    if not kept.any():
        raise InputError("all activations are the same; there is nothing to whiten")
    values, vectors = values[kept], vectors[:, kept]
    scale = np.sqrt(values + ridge * values.mean())
    return Whitening(centre=centre, factor=vectors * scale, inverse=(vectors / scale).T)
