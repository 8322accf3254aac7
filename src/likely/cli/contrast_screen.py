"""What a contrast of two responses looks like on a screen. Unit: nats."""

from collections.abc import Sequence

from likely.attribution.cells import farthest, scored_cells
from likely.attribution.contrasts import Contrast
from likely.attribution.summary import reach
from likely.cli.attribution_screen import (
    name_text,
    show_interval,
    show_matrix,
    show_response,
    show_score,
    show_shared,
    show_totals,
    theirs,
)
from likely.cli.claims import hung
from likely.cli.deliver import show_model
from likely.cli.heat_map import Wording, heat_map, legend
from likely.cli.screen import Column, show_cut, table
from likely.core.model import LanguageModel
from likely.core.text.spans import name_positions
from likely.report.display import factor, visible

_WORDING = Wording(
    number="difference", above="for the response", below="for the other one"
)  # fmt: skip


def contrast_lines(
    model: LanguageModel, found: Contrast, *, limit: int, is_coloured: bool, has_matrix: bool
) -> list[str]:
    """Return a contrast as the lines of a screen.

    Args:
        model: That was asked.
        found: What was found.
        limit: Rows of tables, those of the largest differences; 0 for all.
        is_coloured: Whether to use colours.
        has_matrix: Whether to show the share of each token of either response in its scores.
    """
    parts = scored_cells(found.first.case, found.places, found.differences.tolist())
    chosen = farthest(found.differences.tolist(), limit)
    lines = [
        show_model(model),
        "",
        *heat_map(parts, is_coloured=is_coloured),
        "",
        *legend(parts, is_coloured=is_coloured, wording=_WORDING),
        *show_shared(found.places),
        *show_response(found.first, "response"),
        *show_response(found.second, "the other"),
        *hung([show_odds(found.log_odds)]),
        "",
        *_table(found, chosen),
        *show_cut(len(chosen), len(found.places)),
    ]
    if has_matrix:
        for name, one in (("response", found.first), ("the other", found.second)):
            places = [one.places[i] for i in chosen]
            lines += ["", f"{name}: {visible(one.case.response_text)}"]
            lines += show_matrix(one, places, is_coloured=is_coloured)
    return [*lines, "", *_totals(model, found)]


def show_odds(log_odds: float) -> str:
    """Return in a line how much likelier one response is than another.

    >>> print(show_odds(0.8473))
    log-odds +.847: the response is 2.3 times as likely as the other
    """
    lead = f"log-odds {show_score(log_odds)}: "
    if abs(log_odds) < 1e-12:
        return f"{lead}both responses are alike likely"
    one, other = ("the response", "the other")[:: 1 if log_odds > 0.0 else -1]
    return f"{lead}{one} is {factor(abs(log_odds))} times as likely as {other}"


def _table(found: Contrast, chosen: Sequence[int]) -> list[str]:
    columns = [
        Column(title="#", is_number=True),
        Column(title=name_text(found.places), gives_way=True),
        Column(title="difference", is_number=True),
        Column(title="interval", is_number=True),
        Column(title=""),
        Column(title="score", is_number=True),
        Column(title="of the other", is_number=True),
        Column(title="log-odds without", is_number=True),
    ]
    return table(columns, [_row(found, i) for i in chosen])


def _row(found: Contrast, i: int) -> list[str]:
    place = found.places[i]
    return [
        name_positions(place.positions),
        visible(place.text),
        show_score(place.difference.value),
        show_interval(place.difference),
        "" if place.converged else "~",
        show_score(found.first.places[i].measures.score.value),
        show_score(found.second.places[i].measures.score.value),
        show_score(place.log_odds_rest.value),
    ]


def _totals(model: LanguageModel, found: Contrast) -> list[str]:
    cases = (found.first.case, found.second.case)
    return show_totals(
        reach(found, what="differences"),
        found.cost,
        theirs(model, found.places, cases),
        is_known=found.converged,
        flags=cases[0].flags | cases[1].flags,
    )
