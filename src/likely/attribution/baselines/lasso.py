"""The LASSO as ContextCite has it: standardised columns, weighted rows. Unit: none."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from likely.errors import InputError, MissingExtraError

try:
    from sklearn.linear_model import Lasso as Penalised
    from sklearn.linear_model import LinearRegression
except ImportError as error:
    raise MissingExtraError(
        "ContextCite needs scikit-learn: pip install 'likely[attrib]'"
    ) from error

_SWEEPS = 100_000
_TOLERANCE = 1e-10  # of the duality gap, beside the sum of squares


@dataclass(frozen=True, slots=True, kw_only=True)
class Lasso:
    """Fitted coefficients.

    Attributes:
        coefficients: Shape ``(m,)``, on the scale of the columns as given.
        intercept: Of the line.
    """

    coefficients: Float[np.ndarray, "m"]
    intercept: float

    def predict(self, x: Float[np.ndarray, "n m"]) -> Float[np.ndarray, "n"]:
        """Return what the line says of each row."""
        return np.asarray(self.intercept + x @ self.coefficients)


def fit_lasso(
    x: Float[np.ndarray, "n m"],
    y: Float[np.ndarray, "n"],
    weights: Float[np.ndarray, "n"],
    *,
    alpha: float,
) -> Lasso:
    """Fit ``mean((y - b - x w)**2) / 2 + alpha * sum(sd * abs(w))``.

    Args:
        x: Rows to fit on, finite.
        y: Of each row, finite.
        weights: Of each row, at least 0, with a positive sum; the mean and the standard deviations
            ``sd`` of columns are taken under them.
        alpha: Of the penalty, at least 0; 0 is least squares.

    Raises:
        InputError: A column that does not vary under the weights.

    Sources:
        Tibshirani (1996); scikit-learn's coordinate descent.

    >>> fit = fit_lasso(np.array([[0.0], [1.0]]), np.array([1.0, 3.0]), np.ones(2), alpha=0.0)
    >>> fit.coefficients.round(6).tolist(), round(fit.intercept, 6)
    ([2.0], 1.0)
    """
    share = weights / weights.sum()
    centre = share @ x
    spread = np.sqrt(share @ (x - centre) ** 2)
    floor = 1e-9 * np.abs(x).max(initial=1.0)
    if not (spread > floor).all():
        fixed = int(np.flatnonzero(~(spread > floor))[0])
        raise InputError(f"column {fixed!r} does not vary, so it has no coefficient; add rows")
    kind = Penalised(alpha=alpha, tol=_TOLERANCE, max_iter=_SWEEPS) if alpha else LinearRegression()
    used = weights > 0.0
    kind.fit(((x - centre) / spread)[used], y[used], sample_weight=weights[used])
    coefficients = np.asarray(kind.coef_) / spread
    return Lasso(
        coefficients=coefficients,
        intercept=float(kind.intercept_) - float(coefficients @ centre),
    )
