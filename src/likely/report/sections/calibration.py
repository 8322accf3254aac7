"""Whether a model's probabilities follow the numbers in the context. Units: distances, bits."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from likely.calibration.data_sets.family import build
from likely.calibration.data_sets.items import Item
from likely.calibration.evaluation import evaluate
from likely.calibration.metrics import MASS_GATE
from likely.core.estimate import Estimate
from likely.core.model import LanguageModel
from likely.errors import CapabilityError, InputError
from likely.report.dots import Mark, Scale, marks
from likely.report.evaluated import baseline_rows, cells_of
from likely.report.numeracy import (
    BASELINES,
    BEHAVIOURS,
    FamilyLook,
    Look,
    Measured,
    look_at,
    meaning,
)
from likely.report.render import render
from likely.report.section import Job, Section
from likely.report.squares import Dots, dots

_FAMILIES = {
    "smoke": ("colors", "distributions"),
    "full": ("colors", "wordproblems", "distributions"),
}
_N_SETS = 6
_EVERY = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """An upright line that the model is compared with.

    Attributes:
        name: A class of the page's style.
        label: What the key calls it.
        value: Where it stands.
    """

    name: str
    label: str
    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One family in a strip.

    Attributes:
        name: Of the family.
        unit: Of its numbers, where families differ.
        estimate: Its value.
        marks: The value as paths.
        lines: What it is compared with.
    """

    name: str
    unit: str
    estimate: Estimate
    marks: tuple[Mark, ...]
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Strips:
    """Families one under the other on one scale.

    Attributes:
        scale: Of all.
        rows: A family each.
    """

    scale: Scale
    rows: tuple[Row, ...]

    @property
    def keys(self) -> tuple[tuple[str, str], ...]:
        """Class and label of each kind of line, in order."""
        found = {line.name: line.label for row in self.rows for line in row.lines}
        return tuple(found.items())


@dataclass(frozen=True, slots=True, kw_only=True)
class Squares:
    """The two square plots of a family with two options.

    Attributes:
        family: Its look.
        reliability: Model against ideal probability.
        plane: Cells by ``a`` and ``b``.
    """

    family: FamilyLook
    reliability: tuple[Dots, ...]
    plane: tuple[Dots, ...]


def choose_items(job: Job) -> tuple[Item, ...]:
    """Return the items that a report asks: a few dozen of two families, or the preset ``lite``.

    The few are whole mirrored pairs, so that every cell stays balanced.
    """
    chosen: list[Item] = []
    for name in _FAMILIES[job.preset]:
        preset = "smoke" if job.preset == "smoke" else "lite"
        items: Sequence[Item] = build(name, preset=preset, seed=job.seed)
        if job.preset == "smoke":
            items = _few(items)
        chosen += items
    return tuple(chosen)


def look(
    model: LanguageModel,
    job: Job,
    *,
    measure: Callable[[LanguageModel, Sequence[Item], Job], Measured],
) -> Look:
    """Return what the section shows of a model.

    Args:
        model: Any model.
        job: With preset, seed, cache and meter.
        measure: Asks the model for its items.

    Raises:
        CapabilityError: The model gives nothing that options could be read from.
        InputError: Its tokenizer cannot spell them.
    """
    return look_at(measure(model, choose_items(job), job))


def measure_items(model: LanguageModel, items: Sequence[Item], job: Job) -> Measured:
    """Return what a model does on items that it reads as bare text, without a chat template.

    Raises:
        CapabilityError: The model gives nothing that options could be read from, or some masses
            only between bounds: means over the others would be of chosen items.
        InputError: Its tokenizer cannot spell the items.
    """
    found = evaluate(model, items, cache=job.cache, meter=job.meter, seed=job.seed)
    exact = found.scored.masses.is_exact
    if not exact.all():
        raise CapabilityError(
            f"this section needs probabilities that are known exactly, got {int((~exact).sum())} "
            f"of {len(items)} items between bounds, from a model that tells only its likeliest "
            "tokens; likely.calibration.evaluate gives the bounds"
        )
    return Measured(
        items=items,
        frame=found.frame,
        options=found.option_frame,
        estimates={
            (line.family, line.metric): line.estimate
            for line in found.lines
            if line.estimate is not None and not line.scale
        },
        baselines=baseline_rows(found),
        cells=cells_of(found, by=("template",)),
        cost=found.cost,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationSection:
    """Items of colours and of integers, against simple policies.

    Attributes:
        measure: Asks a model for items, and gives everything that is measured on them.
    """

    measure: Callable[[LanguageModel, Sequence[Item], Job], Measured] = measure_items
    name: str = "calibration"
    title: str = "Do its probabilities follow the numbers?"
    order: int = 120

    def build(self, model: LanguageModel, job: Job) -> Section:
        """Return the section; what the model cannot give is said in its place."""
        try:
            seen = look(model, job, measure=self.measure)
        except (CapabilityError, InputError) as error:
            body = render("calibration.html", problem=str(error))
            data = {"problem": str(error)}
            return Section(name=self.name, title=self.title, body=body, data=data)
        return Section(
            name=self.name, title=self.title, body=show(seen), data=seen.to_dict(), cost=seen.cost
        )


def show(seen: Look) -> str:
    """Return the HTML of a look."""
    return render(
        "calibration.html",
        problem=None,
        look=seen,
        meanings={family.name: meaning(family) for family in seen.families},
        mass=_mass(seen),
        distance=_distance(seen),
        entropy=_entropy(seen),
        squares=[_squares(family) for family in seen.families if family.dots],
        baseline_names=BASELINES,
        behaviour_names=BEHAVIOURS,
    )


def _few(items: Sequence[Item]) -> list[Item]:
    """Return the items of the first sets of numbers, or every fourth where each has its own."""
    if items[0].order == "none":
        return list(items)[::_EVERY]
    sets = list(dict.fromkeys(item.number_pair_id for item in items))[:_N_SETS]
    return [item for item in items if item.number_pair_id in sets]


def _row(
    family: FamilyLook, estimate: Estimate, scale: Scale, lines: Mapping[str, Line], unit: str = ""
) -> Row:
    return Row(
        name=family.name,
        unit=unit,
        estimate=estimate,
        marks=marks([("opened", _within(estimate, scale))], scale),
        lines=tuple(lines.values()),
    )


def _within(estimate: Estimate, scale: Scale) -> Estimate:
    """Return what is drawn: an interval that leaves the scale ends at its edge."""
    low, high = max(estimate.low, scale.low), min(estimate.high, scale.high)
    return replace(
        estimate, value=min(max(estimate.value, scale.low), scale.high),
        low=min(low, scale.high), high=max(high, scale.low),
    )  # fmt: skip


def _mass(seen: Look) -> Strips:
    scale = Scale(low=0.0, high=1.0, step=0.25)
    gate = {"gate": Line(name="gate", label="0.75, the gate", value=MASS_GATE)}
    return Strips(
        scale=scale, rows=tuple(_row(family, family.mass, scale, gate) for family in seen.families)
    )


def _distance(seen: Look) -> Strips:
    known = [(family, family.distance) for family in seen.families if family.distance is not None]
    ends = [end for family, e in known for end in (e.high, *family.baselines.values())]
    scale = Scale.around(ends or [1.0])
    rows = []
    for family, estimate in known:
        lines = {
            name: Line(name=name.replace("_", "-").replace(".", ""), label=BASELINES[name], value=x)
            for name, x in family.baselines.items()
        }
        rows.append(_row(family, estimate, scale, lines, family.metric))
    return Strips(scale=scale, rows=tuple(rows))


def _entropy(seen: Look) -> Strips:
    known = [(f, f.entropy_gap) for f in seen.families if f.entropy_gap is not None]
    ends = [end for family, e in known for end in (e.low, e.high, family.entropy_floor)]
    scale = Scale.around(ends or [1.0])
    rows = []
    for family, estimate in known:
        floor = Line(name="floor", label="certain each time", value=family.entropy_floor)
        rows.append(_row(family, estimate, scale, {"floor": floor}))
    return Strips(scale=scale, rows=tuple(rows))


def _squares(family: FamilyLook) -> Squares:
    cells: dict[tuple[float, float], int] = {}
    for spot in family.spots:
        if spot.a is None or spot.b is None:
            continue
        place = (round(spot.a, 2), round(spot.b, 2))
        cells[place] = cells.get(place, 0) + 1
    return Squares(
        family=family,
        reliability=dots([(dot.ideal, dot.prob, dot.n) for dot in family.dots]),
        plane=dots([(a, b, n) for (a, b), n in sorted(cells.items())]),
    )


CALIBRATION = CalibrationSection()
