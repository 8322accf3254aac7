"""The LASSO under many weightings of the same rows at once, by coordinate descent. Unit: none.

Written here so that the study needs no further library: a bootstrap fits hundreds of weightings,
which share one pass over the coordinates. Tests compare it with scikit-learn.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from likely.errors import InputError, NumericalError

_SWEEPS = 20_000
_TOLERANCE = 1e-9  # of what the gradient may miss its optimum by, beside the largest at zero


@dataclass(frozen=True, slots=True, kw_only=True)
class Lasso:
    """Fitted coefficients.

    Attributes:
        coefficients: Shape ``(S, m)``, on the scale of the columns as given.
        intercepts: Shape ``(S,)``.
    """

    coefficients: Float[np.ndarray, "S m"]
    intercepts: Float[np.ndarray, "S"]

    def predict(self, x: Float[np.ndarray, "n m"]) -> Float[np.ndarray, "S n"]:
        """Return what each fit says of each row."""
        return np.asarray(self.intercepts[:, None] + self.coefficients @ x.T)


def fit_lasso(
    x: Float[np.ndarray, "n m"],
    y: Float[np.ndarray, "n"],
    weights: Float[np.ndarray, "S n"],
    *,
    alpha: float,
) -> Lasso:
    """Fit ``mean((y - b - x w)**2) / 2 + alpha * sum(sd * abs(w))`` for each row of weights.

    Args:
        x: Rows to fit on, finite.
        y: Of each row, finite.
        weights: At least 0, each row with a positive sum; means and the standard deviations ``sd``
            of columns are taken under them.
        alpha: Of the penalty, at least 0; 0 is least squares.

    Raises:
        InputError: A column that does not vary under some weights.
        NumericalError: No convergence.

    Sources:
        Tibshirani (1996); Friedman, Hastie and Tibshirani (2010), section 2, for the descent.

    >>> one = fit_lasso(np.array([[0.0], [1.0]]), np.array([1.0, 3.0]), np.ones((1, 2)), alpha=0.0)
    >>> one.coefficients.tolist(), one.intercepts.tolist()
    ([[2.0]], [1.0])
    """
    share = weights / weights.sum(axis=1, keepdims=True)
    centre, level = share @ x, share @ y
    second = np.einsum("sn,ni,nj->sij", share, x, x, optimize=True)
    covariance = second - centre[:, :, None] * centre[:, None, :]
    spread = np.sqrt(np.maximum(0.0, np.diagonal(covariance, axis1=1, axis2=2)))
    if not (spread > 1e-9 * np.abs(x).max(initial=1.0)).all():
        fixed = int(np.argwhere(~(spread > 1e-9 * np.abs(x).max(initial=1.0)))[0, 1])
        raise InputError(f"column {fixed!r} does not vary, so it has no coefficient; add rows")
    gram = covariance / (spread[:, :, None] * spread[:, None, :])
    response = (share * (y - level[:, None])) @ x / spread
    scaled = _descend(gram, response, alpha)
    coefficients = scaled / spread
    return Lasso(coefficients=coefficients, intercepts=level - (coefficients * centre).sum(axis=1))


def _descend(
    gram: Float[np.ndarray, "S m m"], response: Float[np.ndarray, "S m"], alpha: float
) -> Float[np.ndarray, "S m"]:
    """Return the minimum of ``w G w / 2 - c w + alpha |w|`` for each G and c."""
    w = np.zeros_like(response)
    left = response.copy()
    limit = _TOLERANCE * max(float(np.abs(response).max(initial=0.0)), 1e-300)
    for _ in range(_SWEEPS):
        for j in range(w.shape[1]):
            pull = left[:, j] + w[:, j]
            new = np.sign(pull) * np.maximum(0.0, np.abs(pull) - alpha)
            step = new - w[:, j]
            if step.any():
                left -= gram[:, :, j] * step[:, None]
                w[:, j] = new
        missed = np.where(w == 0.0, np.abs(left) - alpha, np.abs(left - alpha * np.sign(w)))
        if missed.max(initial=0.0) <= limit:
            return w
    raise NumericalError(
        f"the LASSO with alpha={alpha!r} did not converge in {_SWEEPS} sweeps; raise alpha"
    )
