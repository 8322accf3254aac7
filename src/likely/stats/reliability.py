"""Do events happen as often as they are said to? Bins of forecasts, and the calibration error.

The forecast is the probability of the *event*, not of the likelier of two outcomes. What happened
is 0 or 1, or the event's true probability where that is known: then nothing has to be drawn. Unit:
prob.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from jaxtyping import Float, Int

from likely.errors import InputError, ShapeError

if TYPE_CHECKING:
    import pandas as pd

Binning = Literal["width", "mass"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Reliability:
    """The bins of a reliability diagram; an empty bin has means of NaN.

    Attributes:
        edges: Shape ``(b + 1,)``: bin ``i`` is ``[edges[i], edges[i + 1])``; the last is closed.
        counts: Shape ``(b,)``, events.
        mean_forecast: Shape ``(b,)``.
        mean_outcome: Shape ``(b,)``.
        ece: Expected calibration error: the mean of |forecast - outcome| between the means of
            bins, each weighted by its events.
        mce: The largest such gap of a bin.
    """

    edges: Float[np.ndarray, "b1"]
    counts: Int[np.ndarray, "b"]
    mean_forecast: Float[np.ndarray, "b"]
    mean_outcome: Float[np.ndarray, "b"]
    ece: float
    mce: float

    def to_dict(self) -> dict[str, object]:
        """Return the fields as a mapping for strict JSON; the means of an empty bin are null."""
        means = {"mean_forecast": self.mean_forecast, "mean_outcome": self.mean_outcome}
        return {
            "edges": self.edges,
            "counts": self.counts,
            **{
                name: [None if np.isnan(x) else x for x in values.tolist()]
                for name, values in means.items()
            },
            "ece": self.ece,
            "mce": self.mce,
        }

    def to_frame(self) -> "pd.DataFrame":
        """Return a row a bin: low, high, n, mean_forecast, mean_outcome, gap."""
        import pandas as pd

        return pd.DataFrame(
            {
                "low": self.edges[:-1],
                "high": self.edges[1:],
                "n": self.counts,
                "mean_forecast": self.mean_forecast,
                "mean_outcome": self.mean_outcome,
                "gap": self.mean_forecast - self.mean_outcome,
            }
        )


def calibration_error(
    forecast: Float[np.ndarray, "E"],
    outcome: Float[np.ndarray, "K"],
    *,
    n_bins: int = 10,
    binning: Binning = "width",
) -> Reliability:
    """Return the reliability of forecasts of events, and their expected calibration error.

    Args:
        forecast: Probability given to each event, in [0, 1].
        outcome: 1 where it happened and 0 where not, or its true probability.
        n_bins: At least 1.
        binning: ``width``: bins of equal width; ``mass``: as many events in each, as far as equal
            forecasts, which are never parted, allow. A forecast on an edge falls in the upper bin;
            1 falls in the last.

    Raises:
        ShapeError: Arrays of different lengths, or empty.
        InputError: A number outside [0, 1], NaN among them, or fewer than 1 bin.

    >>> calibration_error(np.array([0.95, 1.0]), np.array([1.0, 0.0])).ece
    0.475
    """
    _check(forecast, outcome, n_bins)
    edges = np.arange(n_bins + 1) / n_bins
    if binning == "mass":
        edges = _equal_mass(forecast, n_bins)
    elif binning != "width":
        raise InputError(f"the binning is 'width' or 'mass', got {binning!r}")
    last = len(edges) - 2
    bin_of = np.minimum(np.searchsorted(edges, forecast, side="right") - 1, last)
    counts = np.bincount(bin_of, minlength=last + 1)
    means = [
        np.divide(
            np.bincount(bin_of, numbers, last + 1),
            counts,
            out=np.full(last + 1, np.nan),
            where=counts > 0,
        )
        for numbers in (forecast, outcome)
    ]
    gaps = np.abs(means[0] - means[1])[counts > 0]
    return Reliability(
        edges=edges,
        counts=counts,
        mean_forecast=means[0],
        mean_outcome=means[1],
        ece=float(gaps @ counts[counts > 0] / len(forecast)),
        mce=float(gaps.max()),
    )


def _equal_mass(forecast: Float[np.ndarray, "E"], n_bins: int) -> Float[np.ndarray, "b1"]:
    """Return edges from 0 to 1 that begin a bin at every ``E / n_bins``-th forecast in order."""
    first = np.arange(1, n_bins) * len(forecast) // n_bins
    inner = np.sort(forecast)[first]
    return np.unique(np.concatenate([[0.0], inner[(inner > 0.0) & (inner < 1.0)], [1.0]]))


def _check(forecast: Float[np.ndarray, "E"], outcome: Float[np.ndarray, "K"], n_bins: int) -> None:
    if len(forecast) != len(outcome) or not len(forecast):
        raise ShapeError(
            f"each event has a forecast and an outcome, got {len(forecast)} and {len(outcome)}"
        )
    for name, numbers in (("forecast", forecast), ("outcome", outcome)):
        wrong = ~((numbers >= 0.0) & (numbers <= 1.0))
        if wrong.any():
            raise InputError(f"each {name} lies in [0, 1], got {float(numbers[wrong][0])!r}")
    if n_bins < 1:
        raise InputError(f"at least 1 bin is needed, got {n_bins!r}")
