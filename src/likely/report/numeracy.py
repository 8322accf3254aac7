"""Whether a model's probabilities follow the numbers in the context, as a report shows it.

Units: probabilities and shares; entropies in bits.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import pandas as pd
from jaxtyping import Float

from likely.calibration.data_sets.items import Item
from likely.calibration.metrics import MASS_GATE
from likely.core.estimate import Cost, Estimate
from likely.report.display import probability

BASELINES = {
    "best_constant": "best constant",
    "higher_0.7": "Higher_0.7",
    "uniform": "Uniform",
    "pick_higher": "Pick Higher",
    "pick_first": "Pick First",
}
"""Policies that stand beside the model, and what the page calls them."""

BEHAVIOURS = {
    "calibrated": "Calibrated",
    "pick_higher": "Pick Higher",
    "pick_lower": "Pick Lower",
    "pick_first": "Pick First",
    "pick_second": "Pick Second",
    "uniform": "Uniform",
    "null": "Null",
    "mixed": "mixed",
    "other": "other",
}
"""Names of behaviours, and what the page calls them."""

_OF_NAMES = ("best_constant", "higher_0.7", "uniform", "pick_higher")

N_CASES = 2
N_OPTIONS = 5


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Measured:
    """What one model did on some items: all that the section is made from.

    Attributes:
        items: Of one or more families.
        frame: A row an item, as `likely.calibration` measures it, of one model.
        options: ``id, label, pi``: a row an option of the items with more than two options.
        estimates: By family and metric: ``pm``, the family's distance, ``entropy_gap``, and
            ``is_direction_right`` where items have two options. A metric that is not defined for
            any item has none.
        baselines: ``baseline, family, scale, metric, value``; an empty scale is the family's.
        cells: ``family, option_pair, dominant, a, b``, a row a cell of items with two options.
        cost: Of the pass over the model.
    """

    items: Sequence[Item]
    frame: pd.DataFrame
    options: pd.DataFrame
    estimates: Mapping[tuple[str, str], Estimate]
    baselines: pd.DataFrame
    cells: pd.DataFrame
    cost: Cost = field(default_factory=Cost)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """One option of a case.

    Attributes:
        label: How the context names it.
        ideal: What the numbers say.
        prob: What the model gives it, among the options.
    """

    label: str
    ideal: Fraction
    prob: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """An item as the page shows it.

    Attributes:
        id: Of the item.
        context: Its text.
        outcomes: Its options in their order; of many, those where the model is furthest off.
        n_options: How many it has.
        mass: Of all options together.
        distance: In the family's metric.
    """

    id: str
    context: str
    outcomes: tuple[Outcome, ...]
    n_options: int
    mass: float
    distance: float

    def to_dict(self) -> dict[str, object]:
        """Return the fields as a mapping for strict JSON."""
        return {
            "id": self.id,
            "context": self.context,
            "outcomes": [
                {"label": o.label, "ideal": str(o.ideal), "prob": o.prob} for o in self.outcomes
            ],
            "n_options": self.n_options,
            "mass": self.mass,
            "distance": self.distance,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Dot:
    """Items with two options that are at one place, to 0.01.

    Attributes:
        ideal: Of the option mentioned first.
        prob: What the model gives it.
        n: How many items.
    """

    ideal: float
    prob: float
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Spot:
    """A cell: the items of a template and an ordered pair of options.

    Attributes:
        options: In the order of mention.
        a: Share of items in which the first is picked, where it is the likelier one; None where
            there are none with mass enough.
        b: The same where the second is the likelier one.
        behaviour: A name of `BEHAVIOURS`.
    """

    options: str
    a: float | None
    b: float | None
    behaviour: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FamilyLook:
    """One family of items on a model.

    Attributes:
        name: Of the family.
        n_items: How many were asked.
        n_undefined: Items without mass on any option: they have no distance.
        mass: Mean probability of the options together.
        share_gated: Share of items whose mass is 0.75 or above.
        metric: Of the distance: ``wd01`` for names, ``wd_line_norm`` for numbers.
        distance: Mean; None where no item has any mass, or too few for an interval.
        baselines: What policies score on the same items.
        entropy_gap: Mean, bits.
        entropy_floor: What it would be if the model were certain each time, bits.
        right: Share of items of which the likelier option is preferred; None with more options.
        dots: Model against ideal probability; none where options are numbers, which no context
            puts in an order of mention.
        spots: Cells; none where options are numbers.
        cases: Where the model is furthest off.
    """

    name: str
    n_items: int
    n_undefined: int
    mass: Estimate
    share_gated: float
    metric: str
    distance: Estimate | None
    baselines: Mapping[str, float]
    entropy_gap: Estimate | None
    entropy_floor: float
    right: Estimate | None
    dots: tuple[Dot, ...]
    spots: tuple[Spot, ...]
    cases: tuple[Case, ...]

    @property
    def behaviours(self) -> Mapping[str, int]:
        """How many cells show each behaviour, the most frequent first."""
        found = [spot.behaviour for spot in self.spots]
        names = sorted(set(found), key=lambda name: (-found.count(name), [*BEHAVIOURS].index(name)))
        return {name: found.count(name) for name in names}

    def to_dict(self) -> dict[str, object]:
        """Return what the page shows as a mapping for strict JSON."""
        return {
            "name": self.name,
            "n_items": self.n_items,
            "n_undefined": self.n_undefined,
            "mass": self.mass.to_dict(),
            "share_gated": self.share_gated,
            "metric": self.metric,
            "distance": None if self.distance is None else self.distance.to_dict(),
            "baselines": dict(self.baselines),
            "entropy_gap_bits": None if self.entropy_gap is None else self.entropy_gap.to_dict(),
            "entropy_floor_bits": self.entropy_floor,
            "right": None if self.right is None else self.right.to_dict(),
            "dots": [{"ideal": d.ideal, "prob": d.prob, "n": d.n} for d in self.dots],
            "cells": [
                {"options": s.options, "a": s.a, "b": s.b, "behaviour": s.behaviour}
                for s in self.spots
            ],
            "worst": [case.to_dict() for case in self.cases],
            "meaning": meaning(self),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What a report shows of calibration.

    Attributes:
        families: In the order of the items.
        cost: Of the pass over the model.
    """

    families: tuple[FamilyLook, ...]
    cost: Cost

    def to_dict(self) -> dict[str, object]:
        """Return what the page shows as a mapping for strict JSON."""
        return {"families": [family.to_dict() for family in self.families]}


def look_at(measured: Measured) -> Look:
    """Return what a report shows of one model on some items."""
    families = dict.fromkeys(item.family for item in measured.items)
    return Look(families=tuple(_family(measured, name) for name in families), cost=measured.cost)


def meaning(family: FamilyLook) -> str:
    """Return in a sentence what a family's numbers mean.

    A verdict that the interval does not bear is not given.
    """
    if family.n_undefined == family.n_items:
        return "It gives these options no probability at all, so there is no distance to speak of."
    if family.distance is None:
        return "Too few of these items have a distance to say how far off it is."
    if family.mass.value < MASS_GATE:
        share = probability(math.log(family.mass.value))
        return (
            f"Only {share} of its probability falls on the options, so that the distance speaks of "
            "little."
        )
    return _against(family.distance, family.baselines)


_FURTHER = {
    "pick_first": "Always naming the smallest number would be nearer to the law.",
    "pick_higher": "Always picking the option with the larger number would be nearer to the law.",
    "uniform": "Equal shares, which know nothing of the numbers, would be nearer to the law.",
    "best_constant": (
        "It goes by the numbers more than not at all, but one and the same probability for "
        "whichever is larger would be nearer to the law."
    ),
}
_NEARER = {
    "best_constant": (
        "It follows the numbers: no answer that knows only which of them is larger is nearer to "
        "the law."
    ),
    "pick_first": "It is nearer to the law than always naming the smallest number would be.",
}


def _against(distance: Estimate, baselines: Mapping[str, float]) -> str:
    """Return the strongest thing that the interval says of these baselines."""
    for name, text in _NEARER.items():
        if name in baselines and distance.high < baselines[name]:
            return text
    for name, text in _FURTHER.items():
        if name in baselines and distance.low > baselines[name]:
            return text
    return "Whether it does better than simple rules cannot be told from these items."


def _family(measured: Measured, name: str) -> FamilyLook:
    frame = measured.frame[measured.frame["family"] == name]
    items = {item.id: item for item in measured.items if item.family == name}
    metric = "wd_line_norm" if frame["wd_line_norm"].notna().any() else "wd01"
    defined = frame[frame[metric].notna()]
    estimates = {m: e for (family, m), e in measured.estimates.items() if family == name}
    return FamilyLook(
        name=name,
        n_items=len(frame),
        n_undefined=len(frame) - len(defined),
        mass=estimates["pm"],
        share_gated=float(np.mean(frame["pm"].to_numpy(dtype=np.float64) >= MASS_GATE)),
        metric=metric,
        distance=estimates.get(metric),
        baselines=_baselines(measured.baselines, name, metric),
        entropy_gap=estimates.get("entropy_gap"),
        entropy_floor=0.0 - float(defined["entropy_ideal"].mean()) if len(defined) else 0.0,
        right=estimates.get("is_direction_right") if metric == "wd01" else None,
        dots=_dots(frame) if metric == "wd01" else (),
        spots=_spots(measured.cells, name) if metric == "wd01" else (),
        cases=_cases(defined, metric, items, measured.options),
    )


def _baselines(table: pd.DataFrame, family: str, metric: str) -> dict[str, float]:
    own = table[(table["family"] == family) & (table["metric"] == metric)]
    own = own[(own["scale"] == "") & own["value"].notna()]
    given = {str(k): float(v) for k, v in zip(own["baseline"], own["value"], strict=True)}
    shown = ("pick_first",) if metric == "wd_line_norm" else _OF_NAMES
    return {name: given[name] for name in shown if name in given}


def _dots(frame: pd.DataFrame) -> tuple[Dot, ...]:
    own = frame[frame["p1"].notna() & frame["pi1"].notna()]
    places: Float[np.ndarray, "K 2"] = own[["p1", "pi1"]].to_numpy(dtype=np.float64)
    if not len(places):
        return ()
    found, counts = np.unique(places.round(2), axis=0, return_counts=True)
    return tuple(
        Dot(ideal=float(p), prob=float(q), n=int(n))
        for (p, q), n in zip(found, counts, strict=True)
    )


def _spots(cells: pd.DataFrame, family: str) -> tuple[Spot, ...]:
    own = cells[cells["family"] == family]
    return tuple(
        Spot(options=str(pair), a=_known(a), b=_known(b), behaviour=str(dominant))
        for pair, a, b, dominant in zip(
            own["option_pair"], own["a"], own["b"], own["dominant"], strict=True
        )
    )


def _known(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _cases(
    defined: pd.DataFrame, metric: str, items: Mapping[str, Item], options: pd.DataFrame
) -> tuple[Case, ...]:
    """Return the items that are furthest off, no two with the same set of options."""
    ordered = defined.sort_values([metric, "id"], ascending=[False, True])
    worst = ordered.drop_duplicates("option_set").head(N_CASES)
    return tuple(_case(row, metric, items[str(row["id"])], options) for _, row in worst.iterrows())


def _case(row: pd.Series, metric: str, item: Item, options: pd.DataFrame) -> Case:
    if len(item.options) == 2 and not np.isnan(row["pi1"]):
        probs = [float(row["pi1"]), 1.0 - float(row["pi1"])]
    else:
        own = options[options["id"] == item.id]
        by_label = dict(zip(own["label"].astype(str), own["pi"].astype(float), strict=True))
        probs = [by_label[option.label] for option in item.options]
    outcomes = [
        Outcome(label=option.label, ideal=ideal, prob=prob)
        for option, ideal, prob in zip(item.options, item.ideal, probs, strict=True)
    ]
    off = sorted(range(len(outcomes)), key=lambda i: -abs(outcomes[i].prob - outcomes[i].ideal))
    return Case(
        id=item.id,
        context=item.context,
        outcomes=tuple(outcomes[i] for i in sorted(off[:N_OPTIONS])),
        n_options=len(outcomes),
        mass=float(row["pm"]),
        distance=float(row[metric]),
    )
