"""What ``likely rare-bench`` shows: tables for each budget that was equal. Unit: see columns."""

import math
from collections.abc import Sequence

from likely.cli.screen import Column, table
from likely.rare.bench.plan import BenchConfig
from likely.rare.bench.running import Row
from likely.rare.bench.summary import (
    DecadeSummary,
    MethodSummary,
    summarise_decades,
    targets_of,
    truth_noise,
)

_COLUMNS = (
    Column(title="method"),
    Column(title="zeros", is_number=True),
    Column(title="bias", is_number=True),
    Column(title="spread", is_number=True),
    Column(title="covers", is_number=True),
    Column(title="logMSE", is_number=True),
    Column(title="SPB 1.5", is_number=True),
    Column(title="SPB 2", is_number=True),
    Column(title="IS", is_number=True),
    Column(title="fitted", is_number=True),
    Column(title="calls", is_number=True),
    Column(title="s", is_number=True),
    Column(title="s a run", is_number=True),
)
_READS = (
    "bias: decades, median over targets of the mean estimate over the truth; spread: decades, "
    "median of the standard deviation of log10 of the estimates above 0; covers: intervals at 95 % "
    "that hold the truth.",
    "Losses are means over all estimates, inf where one is 0; methods in the order of SPB 1.5, "
    "which weighs half and twice the truth alike; SPB 2 and IS weigh the half more; fitted: IS "
    "after an affine fit that has each target left out.",
    "calls, s: of one target, what targets share divided among them; s a run: of all targets of a "
    "model and law together.",
)


def bench_lines(
    rows: Sequence[Row], summaries: Sequence[MethodSummary], config: BenchConfig
) -> list[str]:
    """Return the tables of a comparison, all models together.

    Args:
        rows: Of the comparison.
        summaries: As `likely.rare.bench.summary.summarise` made them of these rows.
        config: What was compared.
    """
    if not summaries:
        return ["no target of the wanted decades: nothing was compared"]
    decades = summarise_decades(rows, config.decades)
    lines = _heading(rows, config)
    for arm in config.arms:
        chosen = [one for one in summaries if one.arm == arm]
        whole = [one for one in chosen if one.models == chosen[0].models]
        whole.sort(key=lambda one: one.losses["SPB 1.5"].mean)
        lines += [
            "",
            _told(arm, config),
            "",
            *table(_COLUMNS, [_cells(one) for one in whole]),
            "",
            *_decade_table([one for one in decades if one.arm == arm], whole),
        ]
    return [*lines, "", *_READS]


def _heading(rows: Sequence[Row], config: BenchConfig) -> list[str]:
    models = ", ".join(dict.fromkeys(str(row["model"]) for row in rows))
    laws = ", ".join(dict.fromkeys(str(row["distribution"]) for row in rows))
    n = len(targets_of(rows))
    lines = [
        f"{n:,} targets of {models} under {laws}, {config.seeds} seeds each",
        f"truths rest on {config.n_stems} beginnings of inputs with a hit or more; what they are "
        f"off alone makes a logMSE of {truth_noise(rows):.2g}",
    ]
    if config.options:
        told = (f"{method} {name}={value}" for method, name, value in config.options)
        lines.append(f"options: {', '.join(told)}")
    return lines


def _told(arm: str, config: BenchConfig) -> str:
    if arm == "calls":
        return f"equal calls: {config.budget:,} model calls a target"
    return f"equal seconds: the time that {config.reference} takes for {config.budget:,} calls"


def _cells(one: MethodSummary) -> list[str]:
    return [
        one.method,
        f"{one.zero_rate:.0%}",
        _signed(one.bias),
        "-" if one.spread is None else f"{one.spread:.2f}",
        f"{one.coverage:.0%}",
        _number(one.losses["logMSE"].mean),
        *(_number(one.losses[name].mean) for name in ("SPB 1.5", "SPB 2", "IS")),
        "-" if one.left_out_is is None else _number(one.left_out_is),
        f"{one.calls:,.0f}",
        f"{one.seconds:.2f}",
        f"{one.run_seconds:.1f}",
    ]


def _decade_table(decades: Sequence[DecadeSummary], whole: Sequence[MethodSummary]) -> list[str]:
    """Return bias and zeros of each method, a column a decade."""
    edges = sorted({(one.low, one.high) for one in decades})
    found = {(one.method, one.low): one for one in decades}
    counts = {one.low: one.n_targets for one in decades}
    columns = [Column(title="bias (zeros) by decade (targets)")] + [
        Column(title=f"{_edge(low)}..{_edge(high)} ({counts[low]})", is_number=True)
        for low, high in edges
    ]
    rows = []
    for method in (one.method for one in whole):
        own = [found.get((method, low)) for low, _ in edges]
        told = ["-" if one is None else f"{_signed(one.bias)} ({one.zero_rate:.0%})" for one in own]
        rows.append([method, *told])
    return table(columns, rows)


def _edge(prob: float) -> str:
    """Return a power of ten as people write it.

    >>> _edge(1e-9)
    '1e-9'
    """
    return f"1e{round(math.log10(prob))}"


def _signed(decades: float) -> str:
    return "-inf" if decades == -math.inf else f"{decades:+.2f}"


def _number(value: float) -> str:
    """Return a loss in three figures.

    >>> _number(0.0123456), _number(1234.5), _number(math.inf)
    ('0.0123', '1.23e+03', 'inf')
    """
    return f"{value:.3g}"
