"""A page that compares estimators of rare events: tables of errors and losses, and figures."""

import base64
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from likely._version import __version__
from likely.core.logspace import log_sum
from likely.rare.bench.plan import BenchConfig
from likely.rare.bench.running import Row
from likely.rare.bench.summary import (
    DecadeSummary,
    MethodSummary,
    constant_left_out,
    constant_losses,
    losses,
    summarise_decades,
    targets_of,
    truth_noise,
)
from likely.rare.loss.pointwise import EPSILON
from likely.report.display import fixed, power_of_ten, signed, small, visible
from likely.report.render import render

if TYPE_CHECKING:
    from likely.report.figures.drawing import Drawing, Missing

Number = float | None

_LEAST_COVERAGE = 0.9  # of intervals at 95 %
ORDER = "SPB 1.5"
"""The loss by which methods are put in order."""

_OVER = 1.25  # times the time given, from which a method counts as over it


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One column of a table of methods.

    Attributes:
        label: What stands there.
        unit: Of its numbers, or what is averaged.
        read: From a summary to the number; None where there is none.
        write: The number as text.
        rank: From a number to what is least for the best; None where no method is best.
        is_off: Whether a number calls for a doubt.
    """

    label: str
    unit: str
    read: Callable[[MethodSummary], Number]
    write: Callable[[float], str]
    rank: Callable[[float], float] | None = None
    is_off: Callable[[float], bool] = lambda _: False


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A number as it is shown.

    Attributes:
        text: The number.
        look: A class of the page's style: ``best`` of its column, ``doubt``, or empty.
    """

    text: str
    look: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Methods, a row each.

    Attributes:
        caption: What the table tells.
        columns: Label and unit of each.
        rows: Name of the method, whether it estimates under a fitted law, and its cells.
        last: A row that is no method: its name and cells; or None.
    """

    caption: str
    columns: tuple[tuple[str, str], ...]
    rows: tuple[tuple[str, bool, tuple[Cell, ...]], ...]
    last: tuple[str, tuple[str, ...]] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The tables of one arm for some models.

    Attributes:
        models: Their names.
        n_targets: The least and the most targets of a method.
        tables: Errors and losses.
    """

    models: tuple[str, ...]
    n_targets: tuple[int, int]
    tables: tuple[Table, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A figure on the page.

    Attributes:
        title: Its heading, or its name if it is missing.
        reason: Why it is missing; empty if it is there.
        address: Of the image, which is in the page itself.
        flips: Premium, alpha, and the methods that change places there, the better one first.
    """

    title: str
    reason: str
    address: str
    flips: tuple[tuple[str, str, str, str], ...]


def bench_page(rows: Sequence[Row], summaries: Sequence[MethodSummary], config: BenchConfig) -> str:
    """Return a page in one file that shows a comparison, with nothing loaded from elsewhere.

    Args:
        rows: Of the comparison; none if no target was found.
        summaries: As `likely.rare.bench.summary.summarise` made them of these rows.
        config: What was compared.
    """
    fitted = {str(row["method"]) for row in rows if row["quantity"] == "activations"}
    decades = summarise_decades(rows, config.decades)
    arms = []
    for arm in config.arms:
        own = [one for one in summaries if one.arm == arm]
        sets = list(dict.fromkeys(one.models for one in own))
        groups = [
            _group([one for one in own if one.models == models], rows, fitted) for models in sets
        ]
        if groups:
            order = [one.method for one in _in_order(own) if one.models == sets[0]]
            by_decade = _decade_table([x for x in decades if x.arm == arm], order, fitted)
            winners = _winners([[x for x in own if x.models == m] for m in sets], rows, fitted)
            over = _over(arm, own, config)
            arms.append((arm, groups, winners, by_decade, over, _figures(rows, arm)))
    return str(
        render(
            "rare_bench_page.html",
            version=__version__,
            config=config,
            decades=[_edge(x) for x in _reach(decades, config)],
            n_estimates=len(rows),
            n_seeds=len({row["seed"] for row in rows}),
            laws=list(dict.fromkeys(str(row["distribution"]) for row in rows)),
            models=list(dict.fromkeys(str(row["model"]) for row in rows)),
            arms=arms,
            methods=list(dict.fromkeys(str(row["method"]) for row in rows)),
            targets=_targets(rows),
            fitted=sorted(fitted),
            noise=_number(truth_noise(rows)),
            stems=_stems(rows),
            run=_levels(rows),
            epsilon=EPSILON,
            data={
                "summaries": [asdict(one) for one in summaries],
                "decades": [asdict(one) for one in decades],
            },
        )
    )


def _number(value: float) -> str:
    """Return a loss in three figures.

    >>> [_number(x) for x in (0.01234, 1.5, 12345.6, 1.5e6, math.inf, 0.0)]
    ['0.0123', '1.50', '12,300', '1.5e+06', '∞', '0']
    """
    if math.isinf(value):
        return "∞"
    if value == 0.0:
        return "0"
    if not 1e-4 <= value < 1e6:
        return f"{value:.2g}"
    return f"{float(f'{value:.3g}'):,.{max(0, 2 - math.floor(math.log10(value)))}f}"


def _share(value: float) -> str:
    """Return a share as a percentage that reads 0 or 100 only where it is.

    >>> [_share(x) for x in (0.0, 0.001, 0.5, 0.999, 1.0)]
    ['0 %', '<1 %', '50 %', '>99 %', '100 %']
    """
    text = f"{100.0 * value:.0f}"
    if text == "0" and value > 0.0:
        return "<1 %"
    return ">99 %" if text == "100" and value < 1.0 else f"{text} %"


def _mean(name: str) -> Callable[[MethodSummary], Number]:
    return lambda one: one.losses[name].mean


def _median(name: str) -> Callable[[MethodSummary], Number]:
    return lambda one: one.losses[name].median


def _without_zeros(name: str) -> Callable[[MethodSummary], Number]:
    return lambda one: one.losses[name].mean_without_zeros


def _itself(value: float) -> float:
    return value


def _is_too_low(coverage: float) -> bool:
    return coverage < _LEAST_COVERAGE


_ERRORS = (
    Column(label="Zeros", unit="estimates", read=lambda one: one.zero_rate, write=_share,
           rank=_itself),
    Column(label="Bias", unit="decades", read=lambda one: one.bias, write=signed, rank=abs),
    Column(label="Spread", unit="decades, zeros left out", read=lambda one: one.spread,
           write=fixed),
    Column(label="Interval holds the truth", unit="should be 95 %",
           read=lambda one: one.coverage, write=_share, is_off=_is_too_low),
    Column(label="Meets the truth’s interval", unit="95 % or more",
           read=lambda one: one.coverage_overlap, write=_share, is_off=_is_too_low),
    Column(label="Model calls", unit="a target", read=lambda one: one.calls,
           write=lambda x: f"{x:,.0f}"),
    Column(label="Time", unit="s, a target", read=lambda one: one.seconds, write=_number),
    Column(label="Model calls", unit="a run", read=lambda one: one.run_calls,
           write=lambda x: f"{x:,.0f}"),
    Column(label="Time", unit="s, a run", read=lambda one: one.run_seconds, write=_number),
)  # fmt: skip
_LOGS_AND_IS = (
    Column(label="logMSE", unit="nats²", read=_mean("logMSE"), write=_number, rank=_itself),
    Column(label="± logMSE", unit="standard error", read=lambda one: one.log_error, write=_number),
    Column(label="logMSE", unit="median", read=_median("logMSE"), write=_number, rank=_itself),
    Column(label="logMSE", unit="zeros left out", read=_without_zeros("logMSE"), write=_number),
    Column(label="IS", unit="mean", read=_mean("IS"), write=_number, rank=_itself),
    Column(label="IS", unit="median", read=_median("IS"), write=_number, rank=_itself),
    Column(label="IS", unit="zeros left out", read=_without_zeros("IS"), write=_number),
    Column(label="IS fitted", unit="knows the truth", read=lambda one: one.fitted_is,
           write=_number),
    Column(label="IS fitted", unit="each left out", read=lambda one: one.left_out_is,
           write=_number, rank=_itself),
)  # fmt: skip


def _spb_columns() -> tuple[Column, ...]:
    """Return the columns of shifted power Bregman losses, which stand a zero."""
    found = []
    for name in losses():
        if name.startswith("SPB"):
            alpha, _, gamma = name.removeprefix("SPB ").partition(" premium ")
            unit = f"gamma {gamma}" if gamma else "gamma 0"
            found.append(
                Column(
                    label=f"SPB {alpha}", unit=unit, read=_mean(name), write=_number,
                    rank=_itself,
                )
            )  # fmt: skip
    return tuple(found)


def _in_order(found: Sequence[MethodSummary]) -> list[MethodSummary]:
    """Return summaries by the loss that treats half and twice the truth alike, the best first."""
    return sorted(found, key=lambda one: one.losses[ORDER].mean)


_WINNERS: tuple[tuple[str, str, str | None, Callable[[MethodSummary], Number]], ...] = (
    ("logMSE", "nats²", "logMSE", _mean("logMSE")),
    ("SPB 1", "gamma 0", "SPB 1", _mean("SPB 1")),
    ("SPB 1.5", "gamma 0", "SPB 1.5", _mean("SPB 1.5")),
    ("SPB 2", "gamma 0", "SPB 2", _mean("SPB 2")),
    ("SPB 2.5", "gamma 0", "SPB 2.5", _mean("SPB 2.5")),
    ("IS fitted", "each left out", None, lambda one: one.left_out_is),
)


def _winners(
    groups: Sequence[Sequence[MethodSummary]], rows: Sequence[Row], fitted: set[str]
) -> Table:
    """Return the method of the least loss beside the best constant, of all models and of each.

    Beside a loss of maps that leave each target out stand constants that do so too. One that is
    above the best constant is in doubt: it has told nothing.
    """
    lines = []
    for group in groups:
        models = group[0].models
        own = [x for x in rows if x["arm"] == group[0].arm and x["model"] in models]
        constant = constant_losses(own)
        cells = []
        for _, _, name, read in _WINNERS:
            known = [(value, one.method) for one in group if (value := read(one)) is not None]
            least, method = min(known, default=(math.inf, ""))
            runs = [row for row in own if row["method"] == method]
            best = constant_left_out(runs) if name is None else constant[name]
            if math.isinf(least) or best is None:
                cells.append(Cell(text="–", look=""))
                continue
            mark = " *" if method in fitted else ""
            text = f"{method}{mark} {_number(least)} ({_number(best)})"
            cells.append(Cell(text=text, look="doubt" if least > best else ""))
        lines.append((", ".join(models), False, tuple(cells)))
    return Table(
        caption="The method of the least loss, and that loss (the best constant’s)",
        columns=tuple((label, unit) for label, unit, _, _ in _WINNERS), rows=tuple(lines),
        last=None,
    )  # fmt: skip


def _group(found: Sequence[MethodSummary], rows: Sequence[Row], fitted: set[str]) -> Group:
    found = _in_order(found)
    counts = [one.n_targets for one in found]
    arm, models = found[0].arm, found[0].models
    constant = constant_losses([x for x in rows if x["arm"] == arm and x["model"] in models])
    spb = _spb_columns()
    return Group(
        models=models,
        n_targets=(min(counts), max(counts)),
        tables=(
            _table("Errors and cost", _ERRORS, found, fitted, {}),
            _table("Losses that a zero makes infinite", _LOGS_AND_IS, found, fitted, constant),
            _table("Losses that stand a zero", spb, found, fitted, constant),
        ),
    )


def _table(
    caption: str,
    columns: Sequence[Column],
    found: Sequence[MethodSummary],
    fitted: set[str],
    constant: dict[str, float],
) -> Table:
    """Return a table in which the best of a column is marked where all methods are comparable.

    They are where they have the same number of targets; a column that leaves zeros out, one that
    knows the truth and one that only has to be near its nominal value have no best.
    """
    values = [[column.read(one) for one in found] for column in columns]
    is_same = len({(one.n_targets, one.n_estimates) for one in found}) == 1 and len(found) > 1
    best = [
        _best(column, own) if is_same else frozenset()
        for column, own in zip(columns, values, strict=True)
    ]
    rows = tuple(
        (
            one.method,
            one.method in fitted,
            tuple(
                _cell(column, own[i], is_best=i in chosen)
                for column, own, chosen in zip(columns, values, best, strict=True)
            ),
        )
        for i, one in enumerate(found)
    )
    last = ("best constant", tuple(_of_constant(column, constant) for column in columns))
    return Table(
        caption=caption,
        columns=tuple((column.label, column.unit) for column in columns),
        rows=rows,
        last=last if constant else None,
    )


def _decade_table(
    decades: Sequence[DecadeSummary], order: Sequence[str], fitted: set[str]
) -> Table:
    """Return bias and zeros of each method, a column a decade that has targets."""
    edges = sorted({(one.low, one.high) for one in decades})
    found = {(one.method, one.low): one for one in decades}
    counts = {one.low: one.n_targets for one in decades}
    rows = []
    for method in order:
        own = [found.get((method, low)) for low, _ in edges]
        cells = tuple(
            Cell(
                text="–" if one is None else f"{signed(one.bias)} ({_share(one.zero_rate)})",
                look="doubt" if one is not None and one.coverage < _LEAST_COVERAGE else "",
            )
            for one in own
        )
        rows.append((method, method in fitted, cells))
    return Table(
        caption="Decade by decade: bias in decades (share of zeros)",
        columns=tuple(
            (
                f"{_edge(low)} to {_edge(high)}",
                f"{counts[low]:,} {'target' if counts[low] == 1 else 'targets'}",
            )
            for low, high in edges
        ),
        rows=tuple(rows),
        last=None,
    )  # fmt: skip


def _reach(decades: Sequence[DecadeSummary], config: BenchConfig) -> list[float]:
    """Return the edges of the decades that have a target, or of all if none has."""
    edges = {edge for one in decades for edge in (one.low, one.high)}
    return sorted(edges or config.decades)


def _edge(prob: float) -> str:
    return power_of_ten(round(math.log10(prob)))


def _over(
    arm: str, summaries: Sequence[MethodSummary], config: BenchConfig
) -> tuple[tuple[str, str], ...]:
    """Return the methods that took longer than the arm of equal seconds gives, and how long."""
    whole = [one for one in summaries if one.models == summaries[0].models]
    given = [one.seconds for one in whole if one.method == config.reference]
    if arm != "seconds" or not given:
        return ()
    return tuple(
        (one.method, _number(one.seconds / given[0]))
        for one in whole
        if one.seconds > _OVER * given[0]
    )


def _stems(rows: Sequence[Row]) -> tuple[int, int]:
    """Return the least and the most beginnings with a hit that the truth of a target rests on."""
    found = [int(own[0]["stems"]) for own in targets_of(rows).values()]
    return (min(found), max(found)) if found else (0, 0)


def _cell(column: Column, value: Number, *, is_best: bool) -> Cell:
    if value is None:
        return Cell(text="–", look="")
    look = "doubt" if column.is_off(value) else "best" if is_best else ""
    return Cell(text=column.write(value), look=look)


def _best(column: Column, values: Sequence[Number]) -> frozenset[int]:
    """Return which of the values are the best of a column, if any can be."""
    known = [x for x in values if x is not None]
    if column.rank is None or len(known) < len(values):
        return frozenset()
    ranks = [column.rank(x) for x in known]
    least = min(ranks)
    if math.isinf(least) or least == max(ranks):
        return frozenset()
    return frozenset(i for i, rank in enumerate(ranks) if rank == least)


def _of_constant(column: Column, constant: dict[str, float]) -> str:
    """Return what the best constant has in a column: a loss, or nothing."""
    if "gamma" in column.unit:
        gamma = column.unit.removeprefix("gamma ")
        name = column.label if gamma == "0" else f"{column.label} premium {gamma}"
    else:
        name = column.label if column.rank is not None else ""
    return _number(constant[name]) if name in constant else ""


def _figures(rows: Sequence[Row], arm: str) -> tuple[Picture, ...]:
    """Return the figures of an arm."""
    from likely.report.figures.rare.gallery import FIGURES

    return tuple(_picture(FIGURES.load(name)(rows, arm)) for name in FIGURES.names())


def _levels(rows: Sequence[Row]) -> Picture | None:
    """Return the figure of the run whose levels are kept, if there is one."""
    if not any(row["levels"] for row in rows):
        return None
    from likely.report.figures.rare.levels import levels_of_rows

    return _picture(levels_of_rows(rows))


def _picture(drawn: "Drawing | Missing") -> Picture:
    """Return a figure as an image in the page itself."""
    from likely.report.figures.drawing import Missing, image

    if isinstance(drawn, Missing):
        return Picture(title=drawn.name, reason=drawn.reason, address="", flips=())
    code = base64.b64encode(image(drawn, "svg")).decode()
    data = drawn.data
    flips = data[data["kind"] == "flip"] if "kind" in data else data.iloc[:0]
    return Picture(
        title=drawn.title,
        reason="",
        address=f"data:image/svg+xml;base64,{code}",
        flips=tuple(
            (f"{one.gamma:g}", f"{one.alpha:.2f}", str(one.method), str(one.other))
            for one in flips.itertuples()
        ),
    )


def _targets(rows: Sequence[Row]) -> tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]:
    """Return for each target what it is, and the mean estimate of each method in the first arm."""
    arm = rows[0]["arm"] if rows else ""
    methods = list(dict.fromkeys(str(row["method"]) for row in rows))
    by_target: dict[tuple[object, ...], list[Row]] = {}
    for row in rows:
        if row["arm"] == arm:
            by_target.setdefault((row["model"], row["distribution"], row["token"]), []).append(row)
    found = []
    for own in by_target.values():
        one = own[0]
        ends = " to ".join(small(_log(float(one[name]))) for name in ("low", "high"))
        about = (str(one["model"]), str(one["distribution"]), visible(str(one["text"])))
        truth = (small(_log(float(one["truth"]))), ends, f"{one['stems']:,}")
        logs = [[float(x["log_prob"]) for x in own if x["method"] == name] for name in methods]
        means = tuple(small(log_sum(x) - math.log(len(x))) if x else "–" for x in logs)
        found.append(((*about, *truth), means))
    return tuple(found)


def _log(prob: float) -> float:
    return math.log(prob) if prob > 0.0 else -math.inf
