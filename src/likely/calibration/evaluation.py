"""A model on items: every metric with its interval, and the tables that analyses start from.

Unit: probabilities and bits, as the metrics say.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np
from jaxtyping import Bool, Float

from likely.calibration.access.partial import Metrics, partial_metrics
from likely.calibration.analyses.units import sampling_units
from likely.calibration.baselines import baseline_table
from likely.calibration.chats import Chat
from likely.calibration.data_sets.items import Item
from likely.calibration.frame import option_frame, tidy_frame
from likely.calibration.metrics import measure
from likely.calibration.scored import Scored
from likely.calibration.scoring import BATCH, score_items
from likely.calibration.surface_kinds import KINDS
from likely.calibration.tables import Targets, targets
from likely.core.answer_events import WordEnd
from likely.core.engine import Meter, Store
from likely.core.estimate import Cost, Estimate, Unit
from likely.core.jsonio import dumps
from likely.core.model import LanguageModel, Settings
from likely.core.text.encode import Bos
from likely.core.text.surfaces import Level
from likely.errors import InputError, UnknownNameError
from likely.stats.pigeonhole import pigeonhole_bootstrap_many

if TYPE_CHECKING:
    import pandas as pd

Aggregation = Literal["items", "dedup"]
"""How items make a mean: each counts 1, or its weight, so that numbers drawn twice count once."""

ESTIMATED: dict[str, Unit] = {
    "pm": "prob",
    "is_gated": "prob",
    "wd01": "prob",
    "wd01_gated": "prob",
    "wd_paper": "none",
    "wd_line_norm": "none",
    "wd_n": "none",
    "wd_raw": "prob",
    "entropy_gap": "bits",
    "entropy_gap_gated": "bits",
    "entropy_kept": "none",
    "kl": "bits",
    "kl_floor": "bits",
    "brier_excess": "none",
    "rps_excess": "none",
    "is_direction_right": "prob",
}
"""What is averaged over items, with its unit. ``..._gated``: over items of enough mass alone.
``entropy_kept`` is a ratio of means, not a mean of ratios."""


_HIGHEST = {
    "wd_paper": math.sqrt(2.0), "entropy_kept": math.inf, "kl": math.inf,
    "kl_floor": math.inf, "brier_excess": 2.0, "rps_excess": math.inf,
}  # fmt: skip
"""What metrics are at most, those that are not between 0 and 1. The mean of ``entropy_gap`` lies
between that of -H(P) and that of log2 n - H(P), over the same items."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One metric of one group of items.

    Attributes:
        family: Of the items.
        scale: Of the items, empty for all scales of the family together.
        metric: A name of `ESTIMATED`.
        estimate: Its mean with an interval over templates, option sets and sets of numbers, cut
            at the ends of the metric's range, beyond which it cannot be; None where it is defined
            for too few items for an interval, or infinite for some.
        n_items: Of the group.
        n_undefined: Items without a value.
        n_infinite: Items whose value is infinite, which leave no mean.
    """

    family: str
    scale: str
    metric: str
    estimate: Estimate | None
    n_items: int
    n_undefined: int
    n_infinite: int

    def to_dict(self) -> dict[str, object]:
        """Return the fields as a mapping for strict JSON."""
        return {
            "family": self.family,
            "scale": self.scale,
            "metric": self.metric,
            "estimate": None if self.estimate is None else self.estimate.to_dict(),
            "n_items": self.n_items,
            "n_undefined": self.n_undefined,
            "n_infinite": self.n_infinite,
        }


@dataclass(frozen=True, kw_only=True, eq=False)  # no slots: cached properties need a __dict__
class Evaluation:
    """What a model gave for items.

    Attributes:
        model: Its name.
        items: As asked.
        targets: Their ideal laws.
        scored: Masses, shares of spellings, flags, policy and cost.
        metrics: Of every item, by name; see `likely.calibration.metrics.METRICS`, and, where some
            items are known only in part, `likely.calibration.access.partial.partial_metrics`.
        aggregation: How items make a mean.
        n_resamples: Of the bootstrap.
        level: Of the intervals.
        seed: Of the bootstrap, and of baselines that draw.
    """

    model: str
    items: Sequence[Item] = field(repr=False)
    targets: Targets = field(repr=False)
    scored: Scored = field(repr=False)
    metrics: Metrics = field(repr=False)
    aggregation: Aggregation = "items"
    n_resamples: int
    level: float
    seed: int

    def __len__(self) -> int:
        return len(self.scored)

    @property
    def cost(self) -> Cost:
        """What scoring took."""
        return self.scored.cost

    @property
    def n_flagged(self) -> dict[str, int]:
        """How many items have each flag."""
        flags = sorted({flag for own in self.scored.flags for flag in own})
        return {flag: sum(flag in own for own in self.scored.flags) for flag in flags}

    @property
    def surface_shares(self) -> dict[str, float]:
        """Mean part of the options' mass that each kind of spelling has, over items with any."""
        known = self.scored.shares[~np.isnan(self.scored.shares).any(axis=1)]
        if not len(known):
            return {}
        return dict(zip(KINDS, known.mean(axis=0).tolist(), strict=True))

    @cached_property
    def frame(self) -> "pd.DataFrame":
        """A row an item; see `likely.calibration.frame.tidy_frame`."""
        return tidy_frame(self.model, self.items, self.targets, self.scored.masses, self.metrics)

    @cached_property
    def option_frame(self) -> "pd.DataFrame":
        """A row an option; see `likely.calibration.frame.option_frame`."""
        labels = [option.label for item in self.items for option in item.options]
        return option_frame(self.frame, labels, self.targets, self.scored.masses)

    @cached_property
    def lines(self) -> tuple[Line, ...]:
        """Each metric of each family, and of each of its scales where there are several."""
        return tuple(
            line
            for family, scale in self.groups()
            for line in estimate_lines(
                self.frame, family=family, scale=scale, aggregation=self.aggregation,
                n_resamples=self.n_resamples, level=self.level, seed=self.seed,
            )
        )  # fmt: skip

    @cached_property
    def baselines(self) -> "pd.DataFrame":
        """Every baseline on the same items.

        Columns ``family`` and ``scale``, and those of `likely.calibration.baseline_table`.
        """
        import pandas as pd

        parts = []
        for family, scale in self.groups():
            wanted = np.flatnonzero(_members(self.frame, family, scale))
            weights = None
            if self.aggregation == "dedup":
                weights = self.frame["weight"].to_numpy(dtype=np.float64)[wanted]
            table = baseline_table(self.targets.take(wanted), seed=self.seed, weights=weights)
            table.insert(0, "family", family)
            table.insert(1, "scale", scale)
            parts.append(table)
        return pd.concat(parts, ignore_index=True)

    def groups(self) -> Iterator[tuple[str, str]]:
        """Yield each family with an empty scale, then with each of its scales if it has several."""
        frame = self.frame
        for family in dict.fromkeys(frame["family"]):
            yield family, ""
            scales = list(dict.fromkeys(frame.loc[frame["family"] == family, "scale"]))
            if len(scales) > 1:
                yield from ((family, scale) for scale in scales)

    def line(self, family: str, metric: str, *, scale: str = "") -> Line:
        """Return one metric of one group.

        Raises:
            UnknownNameError: No such line.
        """
        for line in self.lines:
            if (line.family, line.metric, line.scale) == (family, metric, scale):
                return line
        raise UnknownNameError.among(
            "line", f"{family}/{metric}/{scale}",
            [f"{line.family}/{line.metric}/{line.scale}" for line in self.lines],
        )  # fmt: skip

    def baseline(self, family: str, name: str, metric: str) -> float | None:
        """Return what a baseline scores on a whole family; None where it is not defined."""
        known = self.baselines
        is_own = (known["family"] == family) & (known["scale"] == "") & (known["baseline"] == name)
        values = known.loc[is_own, metric].dropna()
        return float(values.iloc[0]) if len(values) else None

    def to_frame(self) -> "pd.DataFrame":
        """Return `frame`."""
        return self.frame

    def summary(self) -> str:
        """Return a few lines a family for a person, with the best constant beside the model."""
        out = [f"{self.model}: {len(self)} items"]
        for family in dict.fromkeys(self.frame["family"]):
            for metric in ("pm", "wd01", "wd_line_norm", "entropy_gap"):
                line = self.line(family, metric)
                if line.estimate is not None:
                    out.append(f"  {family} {metric}: {line.estimate.summary()}")
            best = self.baseline(family, "best_constant", "wd01")
            if best is not None:
                out.append(f"  {family} wd01 of the best constant: {best:.4f}")
        return "\n".join(out)

    def to_dict(self) -> dict[str, object]:
        """Return everything but the items as a mapping for strict JSON; undefined is null."""
        return {
            "model": self.model,
            "n_items": len(self),
            "policy": self.scored.policy.to_dict(),
            "flags": self.n_flagged,
            "surface_shares": self.surface_shares,
            "lines": [line.to_dict() for line in self.lines],
            "baselines": records(self.baselines),
            "aggregation": self.aggregation,
            "n_resamples": self.n_resamples,
            "level": self.level,
            "seed": self.seed,
            "cost": self.cost.to_dict(),
        }

    def to_json(self) -> str:
        """Return `to_dict` as strict JSON."""
        return dumps(self.to_dict())


def evaluate(
    model: LanguageModel,
    items: Sequence[Item],
    *,
    level: Level = "paper",
    word_end: WordEnd = "auto",
    chat: Chat = "none",
    wrapper: str | None = None,
    bos: Bos = "auto",
    settings: Settings | None = None,
    cache: Store | None = None,
    meter: Meter | None = None,
    batch: int = BATCH,
    aggregation: Aggregation = "items",
    n_resamples: int = 2000,
    confidence: float = 0.95,
    seed: int = 0,
) -> Evaluation:
    """Score items on a model and measure how far it follows their numbers.

    Args:
        model: Any model; one that lists only its likeliest tokens gives intervals for each item.
        items: From `build`, of one family or of several.
        level: Which spellings an option has.
        word_end: When an option counts only as far as its word then ends.
        chat: ``answer`` or ``prefill`` for a chat model; ``none`` for the bare text.
        wrapper: Name of the instruction to a chat model.
        bos: As in `likely.score`.
        settings: How to evaluate; changes no number beyond rounding.
        cache: A `ScoreCache`: each batch is kept as it comes, so that a run can be broken off.
        meter: A progress meter, in tokens.
        batch: Items that are evaluated together.
        aggregation: ``items``: each item counts 1; ``dedup``: each its weight, which is 1/2 for
            numbers that a small scale has drawn twice.
        n_resamples: Of the bootstrap.
        confidence: Of the intervals.
        seed: Of the bootstrap, and of baselines that draw.

    Raises:
        InputError, CapabilityError, NumericalError: As `likely.calibration.scoring.score_items`.

    Sources:
        Lovering et al. (2025), "Language Model Probabilities are Not Calibrated in Numeric
        Contexts", for the question, the masses and the metrics PM, WD and RE.
    """
    scored = score_items(
        model, items, level=level, word_end=word_end, chat=chat, wrapper=wrapper, bos=bos,
        settings=settings, cache=cache, meter=meter, batch=batch,
    )  # fmt: skip
    asked = targets(items)
    return Evaluation(
        model=model.info.name, items=items, targets=asked, scored=scored,
        metrics=item_metrics(asked, scored), aggregation=aggregation, n_resamples=n_resamples,
        level=confidence, seed=seed,
    )  # fmt: skip


def estimate_lines(
    frame: "pd.DataFrame",
    *,
    family: str,
    scale: str = "",
    aggregation: Aggregation = "items",
    n_resamples: int = 2000,
    level: float = 0.95,
    seed: int = 0,
) -> tuple[Line, ...]:
    """Return each metric of `ESTIMATED` over the items of a family, or of one scale of it.

    Args:
        frame: A row an item, of one model.
        family: Whose items.
        scale: Of which scale; all if empty.
        aggregation: As in `evaluate`.
        n_resamples: Of the pigeonhole bootstrap over templates, option sets and number sets.
        level: Of the intervals.
        seed: Of its stream.

    Raises:
        InputError: The table has no such items.
    """
    own = frame[_members(frame, family, scale)]
    if not len(own):
        raise InputError(
            f"the table has no items of the family {family!r} and the scale {scale!r}; it has "
            f"{sorted(set(zip(frame['family'], frame['scale'], strict=True)))}"
        )
    columns = np.stack([_values(own, metric) for metric in ESTIMATED], axis=1)
    below = np.ones_like(columns)
    kept = list(ESTIMATED).index("entropy_kept")
    below[:, kept] = own["entropy_ideal"].to_numpy(dtype=np.float64)
    weight = np.ones(len(own))
    if aggregation == "dedup":
        weight = own["weight"].to_numpy(dtype=np.float64)
        columns, below = columns * weight[:, None], below * weight[:, None]
    infinite = np.isinf(columns).sum(axis=0)
    undefined = np.isnan(columns).sum(axis=0)
    is_usable = infinite == 0
    found = iter(
        pigeonhole_bootstrap_many(
            columns[:, is_usable], sampling_units(own), denominators=below[:, is_usable],
            units=[unit for unit, ok in zip(ESTIMATED.values(), is_usable, strict=True) if ok],
            n_resamples=n_resamples, level=level, seed=seed,
        )
    )  # fmt: skip
    return tuple(
        Line(
            family=family,
            scale=scale,
            metric=metric,
            estimate=_cut(next(found), *_range(metric, own, weight)) if is_usable[k] else None,
            n_items=len(own),
            n_undefined=int(undefined[k]),
            n_infinite=int(infinite[k]),
        )
        for k, metric in enumerate(ESTIMATED)
    )


def item_metrics(asked: Targets, scored: Scored) -> Metrics:
    """Return the metrics of each item; where some are known only in part, between which ends too.

    Args:
        asked: Of the items.
        scored: What a model gave them.

    Raises:
        NumericalError: As `measure`.
    """
    metrics = measure(asked, scored.masses)
    if scored.masses.is_exact.all():
        return metrics
    return metrics | partial_metrics(asked, scored.rows())


def records(frame: "pd.DataFrame") -> list[dict[str, object]]:
    """Return the rows of a table for strict JSON: what is not defined is null."""
    return [
        {str(name): None if isinstance(x, float) and np.isnan(x) else x for name, x in row.items()}
        for row in frame.to_dict("records")
    ]


def _values(frame: "pd.DataFrame", metric: str) -> Float[np.ndarray, "N"]:
    name = metric.removesuffix("_gated") if metric != "is_gated" else metric
    if metric == "entropy_kept":
        name = "entropy_model"
    values = frame[name].to_numpy(dtype=np.float64)
    if name != metric and metric.endswith("_gated"):
        return np.where(frame["is_gated"].to_numpy(dtype=np.float64) == 1.0, values, np.nan)
    return values


def _range(
    metric: str, frame: "pd.DataFrame", weight: Float[np.ndarray, "N"]
) -> tuple[float, float]:
    """Return what the mean of a metric over these items is at least and at most."""
    if not metric.startswith("entropy_gap"):
        return 0.0, _HIGHEST.get(metric, 1.0)
    is_defined = ~np.isnan(_values(frame, metric))
    if not is_defined.any():
        return -math.inf, math.inf
    ideal, n_options = (
        frame.loc[is_defined, name].to_numpy(dtype=np.float64)
        for name in ("entropy_ideal", "n_options")
    )
    ends = np.stack([-ideal, np.log2(n_options) - ideal], axis=1)
    low, high = np.average(ends, axis=0, weights=weight[is_defined])
    return float(low), float(high)


def _cut(estimate: Estimate | None, lowest: float, highest: float) -> Estimate | None:
    # A mean that is at an end may lie beyond it by rounding; the interval still holds it.
    return None if estimate is None else estimate.within(lowest, highest)


def _members(frame: "pd.DataFrame", family: str, scale: str) -> Bool[np.ndarray, "N"]:
    own = (frame["family"] == family).to_numpy(dtype=bool)
    return own & (frame["scale"] == scale).to_numpy(dtype=bool) if scale else own
