"""A page that shows how likely some rare events are, with their intervals and what to doubt."""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from likely._version import __version__
from likely.core.logspace import prob_text
from likely.rare.ground_truth import Truth
from likely.rare.result import RareEstimate, Spent
from likely.report.level_charts import LevelCharts, chart_levels
from likely.report.rarity import Shown, look_at_rare
from likely.report.render import render

T = TypeVar("T", bound=Hashable)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """The levels of one estimate.

    Attributes:
        shown: The estimate.
        charts: Its first run, level by level.
    """

    shown: Shown
    charts: LevelCharts


def rare_page(found: Sequence[RareEstimate], known: Truth | None) -> str:
    """Return a page in one file that shows estimates, with nothing loaded from elsewhere.

    Args:
        found: One or more, of one model under one law of inputs; methods may differ.
        known: The truth of that model under that law, or None.

    Raises:
        InputError: There is none, or they or the truth are of different models or laws.
    """
    look = look_at_rare(found, known)
    first = found[0]
    return str(
        render(
            "rare_page.html",
            version=__version__,
            first=first,
            look=look,
            n_events=len({one.event for one in found}),
            known=known,
            levels=_only(100.0 * one.log_prob.level for one in found),
            methods=_only(one.log_prob.method for one in found),
            budgets=_only(one.budget for one in found),
            seeds=_only(one.seed for one in found),
            quantities=_only(one.quantity for one in found),
            spent=sum((one.spent for one in found), start=Spent()),
            runs=[
                Run(shown=one, charts=chart_levels(one.found.levels))
                for one in look.shown
                if one.found.levels
            ],
            figures=[(one, _diagnostics(one.found)) for one in look.shown],
            data={"estimates": [one.to_dict() for one in found]},
        )
    )


def _only(values: Iterable[T]) -> list[T]:
    """Return the distinct values in their order."""
    return list(dict.fromkeys(values))


def _diagnostics(one: RareEstimate) -> list[tuple[str, str]]:
    """Return the named figures of an estimate as text, those of its runs last."""
    found = [(name.replace("_", " "), _text(x)) for name, x in one.log_prob.diagnostics.items()]
    if one.replicates:
        found.append(("runs", ", ".join(prob_text(x) for x in one.replicates)))
    return found


def _text(value: float | int | str) -> str:
    if isinstance(value, str):
        return value
    return f"{value:,d}" if isinstance(value, int) else f"{value:.4g}"
