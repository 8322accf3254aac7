"""What ``likely rare-bench`` shows: a table for each budget that was equal. Unit: see columns."""

import math
from collections.abc import Sequence

from likely.cli.screen import Column, table
from likely.rare.bench.plan import BenchConfig
from likely.rare.bench.summary import MethodSummary

_COLUMNS = (
    Column(title="method"),
    Column(title="targets", is_number=True),
    Column(title="zeros", is_number=True),
    Column(title="bias", is_number=True),
    Column(title="spread", is_number=True),
    Column(title="covers", is_number=True),
    Column(title="logMSE", is_number=True),
    Column(title="IS", is_number=True),
    Column(title="SPB 1.5", is_number=True),
    Column(title="SPB 2", is_number=True),
    Column(title="calls", is_number=True),
    Column(title="s", is_number=True),
)
_READS = (
    "bias: decades, median over targets of the mean estimate over the truth; spread: decades, "
    "median of the standard deviation of estimates above 0; covers: share of intervals that hold "
    "the truth; losses: means over all estimates, inf where one is 0"
)


def bench_lines(summaries: Sequence[MethodSummary], config: BenchConfig) -> list[str]:
    """Return the tables of a comparison, all models together.

    Args:
        summaries: As `likely.rare.bench.summary.summarise` made them.
        config: What was compared.
    """
    if not summaries:
        return ["no target of the wanted decades: nothing was compared"]
    lines: list[str] = []
    for arm in config.arms:
        chosen = [one for one in summaries if one.arm == arm]
        whole = [one for one in chosen if one.models == chosen[0].models]
        lines += [
            f"equal {arm}: {', '.join(whole[0].models)} under {', '.join(config.distributions)}; "
            f"{config.budget:,} calls a target, {config.seeds} seeds",
            "",
            *table(_COLUMNS, [_cells(one) for one in whole]),
            "",
        ]
    return [*lines, _READS]


def _cells(one: MethodSummary) -> list[str]:
    return [
        one.method,
        str(one.n_targets),
        f"{one.zero_rate:.0%}",
        _signed(one.bias),
        "-" if one.spread is None else f"{one.spread:.2f}",
        f"{one.coverage:.0%}",
        *(_number(one.losses[name].mean) for name in ("logMSE", "IS", "SPB 1.5", "SPB 2")),
        f"{one.calls:,.0f}",
        f"{one.seconds:.1f}",
    ]


def _signed(decades: float) -> str:
    return "-inf" if decades == -math.inf else f"{decades:+.2f}"


def _number(value: float) -> str:
    """Return a loss in three figures.

    >>> _number(0.0123456), _number(1234.5), _number(math.inf)
    ('0.0123', '1.23e+03', 'inf')
    """
    return f"{value:.3g}"
