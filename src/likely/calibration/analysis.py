"""Everything that is asked of one evaluation: behaviours, order, names, variance, frequency.

Unit: as each part says.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import numpy as np
import pandas as pd

from likely.calibration.analyses.choices import Choices, choice_regression
from likely.calibration.analyses.frequencies import NumberCounts, zipf_counts
from likely.calibration.analyses.frequency_effects import FrequencyEffects, frequency_effect
from likely.calibration.analyses.identities import Identities, option_strengths
from likely.calibration.analyses.orders import OrderEffect, order_effect
from likely.calibration.analyses.units import codes
from likely.calibration.analyses.variance import VarianceTable, variance_table
from likely.calibration.assigners import Assigner, Rules
from likely.calibration.behaviours import Plane, classify_cells, plane
from likely.calibration.frame import are_named_pairs
from likely.calibration.regression import CalibrationRegression, calibration_regression
from likely.errors import InputError
from likely.stats.reliability import Reliability, calibration_error

LABELLINGS: dict[str, tuple[Assigner, Rules]] = {
    "rates": ("rates", Rules()),
    "nearest": ("nearest", Rules()),
    "likelihood": ("likelihood", Rules()),
    "rates, any mass": ("rates", Rules(null_pm=0.0)),
}
"""Ways to label cells. The last looks at shares alone, however little the options have: what a
model would do if it were held to them."""

_Found = TypeVar("_Found")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FamilyAnalysis:
    """What moves a model on the items of one family that have two named options.

    Attributes:
        family: Its name.
        n_items: Items with two named options.
        behaviours: By way of labelling, how many cells (template and ordered option pair) are
            labelled what.
        plane: How often the first option is picked where it is likelier (a) and where not (b),
            over items with mass enough.
        plane_any_mass: The same over all items.
        regression: The line of the model's log-odds against the ideal ones, clusters by template.
        reliability: Calibration error over the first option as an event.
        order: What an option gains by being mentioned first.
        strengths: Of every option, whatever the numbers.
        variance: Shares of the variance of log-odds.
        choices: Which option has the larger share, as a logistic regression.
        frequency: Of the numbers, beside its null.
        skipped: By part, why it is not there.
    """

    family: str
    n_items: int
    behaviours: Mapping[str, Mapping[str, int]]
    plane: Plane | None
    plane_any_mass: Plane | None
    regression: CalibrationRegression | None
    reliability: Reliability | None
    order: OrderEffect | None
    strengths: Identities | None
    variance: VarianceTable | None
    choices: Choices | None
    frequency: FrequencyEffects | None
    skipped: Mapping[str, str]

    def to_dict(self) -> dict[str, object]:
        """Return the fields as a mapping for strict JSON."""
        parts = {
            "regression": self.regression, "reliability": self.reliability, "order": self.order,
            "strengths": self.strengths, "variance": self.variance, "choices": self.choices,
            "frequency": self.frequency,
        }  # fmt: skip
        planes = {"plane": self.plane, "plane_any_mass": self.plane_any_mass}
        return {
            "family": self.family,
            "n_items": self.n_items,
            "behaviours": {name: dict(found) for name, found in self.behaviours.items()},
            **{
                name: None if found is None else {"a": found.a, "b": found.b}
                for name, found in planes.items()
            },
            **{name: None if part is None else part.to_dict() for name, part in parts.items()},
            "skipped": dict(self.skipped),
        }


def analyse(
    frame: pd.DataFrame,
    *,
    counts: NumberCounts | None = None,
    n_resamples: int = 2000,
    level: float = 0.95,
    seed: int = 0,
) -> tuple[FamilyAnalysis, ...]:
    """Return every analysis of every family that has items with two named options.

    Args:
        frame: A row an item, of one model.
        counts: How often numbers occur in a text; by default the law 1/n, which makes of the
            frequency analysis its own null.
        n_resamples: Of the bootstraps.
        level: Of the intervals.
        seed: Of the random streams.
    """
    named = frame[are_named_pairs(frame)]
    return tuple(
        _analyse_family(
            str(family), own, counts=counts, n_resamples=n_resamples, level=level, seed=seed
        )
        for family, own in named.groupby("family", sort=False)
    )


def _analyse_family(
    family: str,
    own: pd.DataFrame,
    *,
    counts: NumberCounts | None,
    n_resamples: int,
    level: float,
    seed: int,
) -> FamilyAnalysis:
    skipped: dict[str, str] = {}

    def attempt(name: str, make: Callable[[], _Found]) -> _Found | None:
        try:
            return make()
        except InputError as error:  # an analysis that these items do not allow
            skipped[name] = str(error)
            return None

    pi1, pm = (own[name].to_numpy(dtype=np.float64) for name in ("pi1", "pm"))
    told = own[own["pi1"].notna()]  # a behaviour can be to say nothing; the rest takes shares
    shares, ideal = (told[name].to_numpy(dtype=np.float64) for name in ("pi1", "p1"))
    behaviours = {
        name: attempt(f"behaviours/{name}", partial(_labels, own, name)) for name in LABELLINGS
    }
    return FamilyAnalysis(
        family=family,
        n_items=len(own),
        behaviours={name: found for name, found in behaviours.items() if found is not None},
        plane=attempt("plane", lambda: plane(pi1, pm, own["higher"].tolist())),
        plane_any_mass=attempt(
            "plane_any_mass", lambda: plane(pi1, pm, own["higher"].tolist(), null_pm=0.0)
        ),
        regression=attempt(
            "regression",
            lambda: calibration_regression(
                ideal, shares, groups=codes(told, ["template"]), level=level
            ),
        ),
        reliability=attempt("reliability", lambda: calibration_error(shares, ideal)),
        order=attempt(
            "order",
            lambda: order_effect(told, n_resamples=n_resamples, level=level, seed=seed),
        ),
        strengths=attempt("strengths", lambda: option_strengths(told, level=level)),
        variance=attempt("variance", lambda: variance_table(told, level=level, seed=seed)),
        choices=attempt("choices", lambda: choice_regression(told, level=level)),
        frequency=attempt("frequency", lambda: _frequency(told, counts, level=level, seed=seed)),
        skipped=skipped,
    )


def _labels(own: pd.DataFrame, labelling: str) -> dict[str, int]:
    assigner, rules = LABELLINGS[labelling]
    cells = classify_cells(own, by=("template",), assigner=assigner, rules=rules)
    return {str(name): int(n) for name, n in cells["dominant"].value_counts().items()}


def _frequency(
    own: pd.DataFrame, counts: NumberCounts | None, *, level: float, seed: int
) -> FrequencyEffects:
    numbers = own[["n1", "n2"]].to_numpy(dtype=np.float64)
    if np.isnan(numbers).any() or (numbers < 1).any() or (numbers % 1).any():
        raise InputError("frequencies are of items whose two numbers are whole and at least 1")
    if counts is None:
        counts = zipf_counts(sorted({int(n) for n in numbers.ravel()}))
    return frequency_effect(own, counts, level=level, seed=seed)
