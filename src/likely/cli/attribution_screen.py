"""What an attribution looks like on a screen: heat map, table, matrix, totals. Unit: nats."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from likely.attribution.cells import cells, strongest
from likely.attribution.gathering import reference_cost
from likely.attribution.summary import reach
from likely.cli.claims import PAGE, hung
from likely.cli.deliver import show_model
from likely.cli.heat_map import heat_map, legend, number_cell
from likely.cli.intervals import show, show_ends
from likely.cli.screen import Column, screen_width, show_cost, show_cut, table, width
from likely.core.model import LanguageModel
from likely.report.display import flowing, visible

if TYPE_CHECKING:
    from likely.attribution.result import Attribution, Place

_CELL = 6  # columns of a number in a matrix
_NAME = 16  # and of the token before it
_OTHERS = 3  # substitutes of a place


def screen_lines(
    model: LanguageModel,
    found: "Attribution",
    *,
    limit: int,
    is_coloured: bool,
    has_matrix: bool,
) -> list[str]:
    """Return an attribution as the lines of a screen.

    Args:
        model: That was asked.
        found: What was found.
        limit: Rows of tables, those of the strongest tokens; 0 for all.
        is_coloured: Whether to use colours.
        has_matrix: Whether to show the share of each response token.
    """
    case, parts = found.case, cells(found)
    n_response = len(case.response)
    places = strongest(found, limit)
    lines = [
        show_model(model),
        "",
        *heat_map(parts, is_coloured=is_coloured),
        "",
        *legend(parts, is_coloured=is_coloured),
        f"response: {found.log_response:.4f} nats over {n_response} "
        f"token{'s' if n_response != 1 else ''}",
        *(f"  {line}" for line in flowing(case.response_text).splitlines()),
        "",
        *_table(places),
        *show_cut(len(places), len(found.places)),
    ]
    if has_matrix:
        lines += ["", *_matrix(found, places, is_coloured=is_coloured)]
    return [*lines, "", *_totals(model, found)]


def _table(places: Sequence["Place"]) -> list[str]:
    columns = [
        Column(title="#", is_number=True),
        Column(title="token", gives_way=True),
        Column(title="score", is_number=True),
        Column(title="interval", is_number=True),
        Column(title=""),
        Column(title="entropy", is_number=True),
        Column(title="surprisal", is_number=True),
        Column(title="what else might stand there", gives_way=True),
    ]
    return table(columns, [_row(place) for place in places])


def _row(place: "Place") -> list[str]:
    measures, score = place.measures, place.measures.score
    # Of an exact score what is far below a rounding error is 0, of whatever sign.
    value = 0.0 if abs(score.value) < 1e-12 else score.value
    return [
        ",".join(map(str, place.positions)),
        visible(place.text),
        show(value, sign=True),
        "exact" if score.is_exact else show_ends(score.low, score.high, sign=True),
        "" if place.converged else "~",
        show(measures.context_entropy.value),
        show(measures.surprisal.value),
        _others(place),
    ]


def _others(place: "Place") -> str:
    """Return the likeliest substitutes with their probabilities, the token itself left out."""
    found = [one for one in place.substitutes(_OTHERS + 1) if one.tokens != place.tokens]
    return "  ".join(f"{visible(one.text)} {_percent(one.prob)}" for one in found[:_OTHERS])


def _percent(prob: float) -> str:
    """Return a probability as a percentage that is 0 only where it is impossible."""
    return "<0.1%" if 0.0 < prob < 0.001 else f"{prob:.1%}"


def _matrix(found: "Attribution", places: Sequence["Place"], *, is_coloured: bool) -> list[str]:
    """Return the share of each response token in the scores, in as many blocks as it takes."""
    case = found.case
    names = [_cut(visible(place.text), _NAME) for place in places]
    heads = [_cut(visible(case.response_text[slice(*span)]), _CELL) for span in case.response_spans]
    if not heads:
        return ["the response has no tokens, so the matrix has no columns"]
    lead = max([width(name) for name in names] or [0])
    room = screen_width() or PAGE
    n_columns = max(1, (room - lead - 2) // (_CELL + 1))
    lines = ["share of each response token (across) in the score of each prompt token, nats"]
    for start in range(0, len(heads), n_columns):
        shown = range(start, min(start + n_columns, len(heads)))
        lines.append(" " * lead + "  " + " ".join(_right(heads[t]) for t in shown))
        for name, place in zip(names, places, strict=True):
            numbers = [
                number_cell(float(place.measures.matrix[t]), room=_CELL, is_coloured=is_coloured)
                for t in shown
            ]
            lines.append(f"{name}{' ' * (lead - width(name))}  {' '.join(numbers)}".rstrip())
        lines.append("")
    return lines[:-1]


def _right(text: str) -> str:
    return " " * (_CELL - width(text)) + text


def _cut(text: str, room: int) -> str:
    if width(text) <= room:
        return text
    while width(text) > room - 1:
        text = text[:-1]
    return text + "…"


def _totals(model: LanguageModel, found: "Attribution") -> list[str]:
    case, cost = found.case, found.cost
    lines = [reach(found)]
    if not found.converged:
        lines.append("~ is not known to the tolerance: raise --budget, or --tolerance")
    if case.flags:
        lines.append(f"flags: {', '.join(sorted(case.flags))}")
    lines.append(show_cost(cost))
    theirs = reference_cost(model.info.n_tokens, case)
    if cost.token_evaluations:
        ratio = theirs / cost.token_evaluations
        shown = f"{ratio:,.0f}" if ratio >= 100.0 else f"{ratio:.3g}"
        lines.append(f"the authors' procedure: {theirs:,} token evaluations, {shown} times as many")
    return hung(lines)
