"""Every remedy before and after, on the same items, by the same metrics. Unit: as in `UNITS`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import pandas as pd
from jaxtyping import Float

from likely.calibration.analyses.units import sampling_units
from likely.calibration.data_sets.items import Item
from likely.calibration.metrics import measure_known
from likely.calibration.remedies.evidence import Evidence, known_masses
from likely.calibration.remedies.extras import gather_evidence
from likely.calibration.remedies.folds import FOLDS, FoldFit, Repaired, cross_validate
from likely.calibration.remedies.remedy import REMEDIES, Remedy
from likely.calibration.scored import Scored
from likely.calibration.scoring import score_items
from likely.core.engine import Meter, Store
from likely.core.estimate import Cost, Estimate, Unit
from likely.core.jsonio import dumps
from likely.core.model import LanguageModel, Settings
from likely.errors import InputError
from likely.stats.pigeonhole import pigeonhole_bootstrap_many

UNITS: dict[str, Unit] = {
    "wd01": "prob",
    "wd_paper": "none",
    "wd_line_norm": "none",
    "entropy_gap": "bits",
    "kl": "bits",
    "kl_floor": "bits",
    "brier_excess": "none",
    "pm": "prob",
}
"""The metrics that are reported before and after, and their units."""

_OF_MASSES = ("pm",)

_ROUNDING = 1e-12
"""An error of less than this is none, so nothing of it can be removed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A metric before and after a remedy, over the items where it is defined both times.

    Attributes:
        before: Mean before.
        after: Mean after.
        difference: After less before, item by item.
    """

    before: Estimate
    after: Estimate
    difference: Estimate

    def to_dict(self) -> dict[str, object]:
        """Return the fields as plain values."""
        return {
            "before": self.before.to_dict(),
            "after": self.after.to_dict(),
            "difference": self.difference.to_dict(),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class RemedyResult:
    """What one remedy does.

    Attributes:
        name: Of the remedy.
        what: In one line.
        changes: By metric; one that has no meaning or no items is left out. Intervals are for the
            drawing of wordings, options and number pairs, with what was fitted held as it is.
        removed: The share of the mean ``wd01`` that is gone after the remedy; for ``temperature``
            it is how much of the error was mere sharpness. None where there is no error before.
        fits: What it was fitted on and what it found, one a fold.
        n_items: Items that have shares before and after.
        n_undefined: Items that have shares before and none after.
        n_infinite: Of ``n_items``, those with infinite ``kl`` before and after; ``kl`` is over the
            others, ``kl_floor`` over all.
        passes: Contexts that the model reads for one item in use, its own included.
        cost: What was asked of the model besides the masses of the items; remedies that need the
            same share it.
        note: Why there are no intervals, or empty.
    """

    name: str
    what: str
    changes: Mapping[str, Change]
    removed: Estimate | None
    fits: tuple[FoldFit, ...]
    n_items: int
    n_undefined: int
    n_infinite: tuple[int, int]
    passes: float
    cost: Cost
    note: str = ""

    @property
    def status(self) -> str:
        """``ok``, or what went wrong in the fits."""
        reasons = sorted({fit.status for fit in self.fits} - {"ok"})
        return "; ".join([*reasons, *([self.note] if self.note else [])]) or "ok"

    def to_dict(self) -> dict[str, object]:
        """Return the fields as plain values."""
        return {
            "name": self.name,
            "what": self.what,
            "changes": {metric: change.to_dict() for metric, change in self.changes.items()},
            "removed": None if self.removed is None else self.removed.to_dict(),
            "fits": [fit.to_dict() for fit in self.fits],
            "n_items": self.n_items,
            "n_undefined": self.n_undefined,
            "n_infinite_before": self.n_infinite[0],
            "n_infinite_after": self.n_infinite[1],
            "passes": self.passes,
            "cost": self.cost.to_dict(),
            "status": self.status,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class RemedyReport:
    """Remedies on the same items.

    Attributes:
        results: One a remedy.
        n_items: Items in all.
        n_unscored: Items without shares before, which no remedy is tried on.
        n_folds: Into which number pairs were parted.
        seed: Of folds and resamples.
        cost: Of all that was asked besides the masses of the items, each once.
    """

    results: tuple[RemedyResult, ...]
    n_items: int
    n_unscored: int
    n_folds: int
    seed: int
    cost: Cost

    def __getitem__(self, name: str) -> RemedyResult:
        """Return the result of a remedy.

        Raises:
            InputError: It was not tried.
        """
        for result in self.results:
            if result.name == name:
                return result
        raise InputError(f"no remedy {name!r} was tried; got {[r.name for r in self.results]}")

    def table(self) -> pd.DataFrame:
        """Return one row for each remedy and metric; a remedy without any has one of its own.

        Columns ``remedy, metric, unit, before, after, difference, low, high`` (of the difference),
        ``n_items, n_undefined, n_infinite`` (after), ``passes, token_evaluations, status``.
        """
        rows = []
        for result in self.results:
            shared = {
                "n_items": result.n_items,
                "n_undefined": result.n_undefined,
                "n_infinite": result.n_infinite[1],
                "passes": result.passes,
                "token_evaluations": result.cost.token_evaluations,
                "status": result.status,
            }
            for metric, change in result.changes.items():
                rows.append(
                    {
                        "remedy": result.name, "metric": metric, "unit": UNITS[metric],
                        "before": change.before.value, "after": change.after.value,
                        "difference": change.difference.value, "low": change.difference.low,
                        "high": change.difference.high, **shared,
                    }
                )  # fmt: skip
            if not result.changes:
                rows.append({"remedy": result.name, "metric": None, **shared})
        return pd.DataFrame(rows, columns=_COLUMNS)

    def to_frame(self) -> pd.DataFrame:
        """Return `table`."""
        return self.table()

    def to_dict(self) -> dict[str, object]:
        """Return the fields as plain values."""
        return {
            "results": [result.to_dict() for result in self.results],
            "n_items": self.n_items,
            "n_unscored": self.n_unscored,
            "n_folds": self.n_folds,
            "seed": self.seed,
            "cost": self.cost.to_dict(),
        }

    def to_json(self) -> str:
        """Return `to_dict` as strict JSON."""
        return dumps(self.to_dict())

    def summary(self) -> str:
        """Return a line a remedy for a person: ``wd01`` before and after."""
        lines = [f"{self.n_items} items, {self.n_unscored} without shares; wd01 before -> after"]
        for result in self.results:
            change = result.changes.get("wd01")
            what = f"not measured: {result.status}"
            if change is not None:
                moved = change.difference
                what = (
                    f"{change.before.value:.4f} -> {change.after.value:.4f}  "
                    f"({moved.value:+.4f} [{moved.low:+.4f}, {moved.high:+.4f}])"
                )
            counts = f"{result.n_items} items, {result.n_undefined} undefined"
            lines.append(f"{result.name:<19} {what}  {counts}, {result.passes:.2f} passes")
        return "\n".join(lines)


_COLUMNS = [
    "remedy", "metric", "unit", "before", "after", "difference", "low", "high", "n_items",
    "n_undefined", "n_infinite", "passes", "token_evaluations", "status",
]  # fmt: skip


def try_remedies(
    model: LanguageModel,
    items: Sequence[Item],
    *,
    scored: Scored | None = None,
    names: Sequence[str] | None = None,
    n_folds: int = FOLDS,
    n_resamples: int = 2000,
    level: float = 0.95,
    seed: int = 0,
    settings: Settings | None = None,
    cache: Store | None = None,
    meter: Meter | None = None,
) -> RemedyReport:
    """Ask the model for what remedies need, and report each before and after.

    Args:
        model: Any model; temperatures need whole rows.
        items: Of one family, with both orders of mention if order is to be averaged.
        scored: Their masses, if they are known; else they are scored with default policies.
        names: Of `REMEDIES`; all by default.
        n_folds: Into which number pairs are parted, for remedies that learn.
        n_resamples: Of the pigeonhole bootstrap.
        level: Coverage of the intervals.
        seed: Of folds and resamples.
        settings: How to evaluate; changes no number beyond rounding.
        cache: A `ScoreCache`.
        meter: A progress meter, in tokens.

    Raises:
        UnknownNameError: No such remedy.
        InputError: Unusable items, or fewer number pairs than folds.
        CapabilityError: Temperatures are asked for and the model gives no whole rows.
    """
    remedies = _load(names)
    if scored is None:
        scored = score_items(model, items, settings=settings, cache=cache, meter=meter)
    needs = {need for remedy in remedies for need in remedy.needs}
    evidence = gather_evidence(
        model, items, scored, needs=needs, settings=settings, cache=cache, meter=meter
    )
    return compare_remedies(
        evidence, names=names, n_folds=n_folds, n_resamples=n_resamples, level=level, seed=seed
    )


def compare_remedies(
    evidence: Evidence,
    *,
    names: Sequence[str] | None = None,
    n_folds: int = FOLDS,
    n_resamples: int = 2000,
    level: float = 0.95,
    seed: int = 0,
) -> RemedyReport:
    """Report each remedy before and after, from what is known of the items.

    Args:
        evidence: Of the items, with all that the remedies need.
        names: Of `REMEDIES`; all by default.
        n_folds: As in `try_remedies`.
        n_resamples: As in `try_remedies`.
        level: As in `try_remedies`.
        seed: As in `try_remedies`.

    Raises:
        UnknownNameError: No such remedy.
        InputError: As `cross_validate`.
    """
    before = measure_known(evidence.targets, known_masses(evidence.masses))
    results = []
    for remedy in _load(names):
        repaired = cross_validate(evidence, remedy, n_folds=n_folds, seed=seed)
        results.append(
            _result(
                evidence, remedy, repaired, before, n_resamples=n_resamples, level=level, seed=seed
            )
        )
    return RemedyReport(
        results=tuple(results),
        n_items=evidence.n_items,
        n_unscored=int(np.isnan(before["wd01"]).sum()),
        n_folds=n_folds,
        seed=seed,
        cost=_cost(evidence, ("tempered", "prior", "stem")),
    )


def _load(names: Sequence[str] | None) -> list[Remedy]:
    return [REMEDIES.load(name) for name in (REMEDIES.names() if names is None else names)]


def _result(
    evidence: Evidence,
    remedy: Remedy,
    repaired: Repaired,
    before: Mapping[str, Float[np.ndarray, "N"]],
    *,
    n_resamples: int,
    level: float,
    seed: int,
) -> RemedyResult:
    after = measure_known(evidence.targets, repaired.log_probs)
    if not remedy.gives_masses:
        after |= {name: np.full(evidence.n_items, np.nan) for name in _OF_MASSES}
    was = ~np.isnan(before["wd01"])
    both = np.flatnonzero(was & ~np.isnan(after["wd01"]))
    pairs = {name: (before[name][both], after[name][both]) for name in UNITS}
    n_infinite = tuple(int(np.isinf(values).sum()) for values in pairs["kl"])
    changes: dict[str, Change] = {}
    removed, note = None, ""
    if len(both):
        factors = sampling_units(evidence.units.iloc[both])
        changes, removed = _changes(pairs, factors, n_resamples=n_resamples, level=level, seed=seed)
        if not changes:
            note = f"{len(both)} items are too few, or share too much, for an interval"
    return RemedyResult(
        name=remedy.name,
        what=remedy.what,
        changes=MappingProxyType(changes),
        removed=removed,
        fits=repaired.fits,
        n_items=len(both),
        n_undefined=int(was.sum()) - len(both),
        n_infinite=(n_infinite[0], n_infinite[1]),
        passes=remedy.passes(evidence),
        cost=_cost(evidence, remedy.needs),
        note=note,
    )


def _changes(
    pairs: Mapping[str, tuple[Float[np.ndarray, "n"], Float[np.ndarray, "n"]]],
    factors: Mapping[str, np.ndarray],
    *,
    n_resamples: int,
    level: float,
    seed: int,
) -> tuple[dict[str, Change], Estimate | None]:
    """Return what each metric does, and the share of ``wd01`` that is removed."""
    columns, below, units = [], [], []
    for name, (before, after) in pairs.items():
        known = np.isfinite(before) & np.isfinite(after)
        first, second = np.where(known, before, np.nan), np.where(known, after, np.nan)
        columns += [first, second, second - first]
        below += [np.ones(len(before))] * 3
        units += [UNITS[name]] * 3
    before, after = pairs["wd01"]
    columns.append(before - after)
    below.append(np.where(before > _ROUNDING, before, 0.0))
    units.append("none")
    found = pigeonhole_bootstrap_many(
        np.stack(columns, axis=1), factors, denominators=np.stack(below, axis=1),
        n_resamples=n_resamples, level=level, units=units, seed=seed,
    )  # fmt: skip
    changes = {}
    for k, name in enumerate(pairs):
        before_mean, after_mean, difference = found[3 * k : 3 * k + 3]
        if before_mean is not None and after_mean is not None and difference is not None:
            changes[name] = Change(before=before_mean, after=after_mean, difference=difference)
    return changes, found[-1]


def _cost(evidence: Evidence, needs: Sequence[str]) -> Cost:
    extras = [getattr(evidence, need) for need in needs]
    return sum((extra.cost for extra in extras if extra is not None), Cost())
