"""What an attribution looks like on a screen: heat map, table, matrix, totals. Unit: nats."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING

from likely.attribution.case import Case
from likely.attribution.cells import Marked, cells, n_shared, strongest
from likely.attribution.gathering import reference_cost
from likely.attribution.summary import reach
from likely.cli.claims import PAGE, hung
from likely.cli.deliver import show_model
from likely.cli.heat_map import heat_map, legend, number_cell
from likely.cli.intervals import show, show_ends
from likely.cli.screen import Column, screen_width, show_cost, show_cut, table, width
from likely.core.estimate import Cost, Estimate
from likely.core.model import LanguageModel
from likely.core.text.spans import name_positions
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
    parts = cells(found)
    places = strongest(found, limit)
    lines = [
        show_model(model),
        "",
        *heat_map(parts, is_coloured=is_coloured),
        "",
        *legend(parts, is_coloured=is_coloured),
        *show_shared(found.places),
        *show_response(found, "response"),
        "",
        *_table(places),
        *show_cut(len(places), len(found.places)),
    ]
    if has_matrix:
        lines += ["", *show_matrix(found, places, is_coloured=is_coloured)]
    return [*lines, "", *_totals(model, found)]


def show_shared(places: Sequence[Marked]) -> list[str]:
    """Return the line that says how many tokens are in several groups, if any are."""
    n = n_shared(places)
    if not n:
        return []
    which = "1 token is" if n == 1 else f"{n} tokens are"
    return hung([f"groups overlap: {which} in more than one, and shown with the first of them"])


def show_response(found: "Attribution", name: str) -> list[str]:
    """Return a response under its name, with its log-probability."""
    n = len(found.case.response)
    return [
        f"{name}: {found.log_response:.4f} nats over {n} token{'s' if n != 1 else ''}",
        *(f"  {line}" for line in flowing(found.case.response_text).splitlines()),
    ]


def _table(places: Sequence["Place"]) -> list[str]:
    columns = [
        Column(title="#", is_number=True),
        Column(title=name_text(places), gives_way=True),
        Column(title="score", is_number=True),
        Column(title="interval", is_number=True),
        Column(title=""),
        Column(title="entropy", is_number=True),
        Column(title="surprisal", is_number=True),
        Column(title="what else might stand there", gives_way=True),
    ]
    return table(columns, [_row(place) for place in places])


def name_text(places: Sequence[Marked]) -> str:
    """Return the title of the column of texts."""
    return "token" if all(len(place.positions) == 1 for place in places) else "text"


def _row(place: "Place") -> list[str]:
    measures, score = place.measures, place.measures.score
    return [
        name_positions(place.positions),
        visible(place.text),
        show_score(score.value),
        show_interval(score),
        "" if place.converged else "~",
        show(measures.context_entropy.value),
        show(measures.surprisal.value),
        _others(place),
    ]


def show_score(value: float) -> str:
    """Return a score; what is far below a rounding error is 0, of whatever sign."""
    return show(0.0 if abs(value) < 1e-12 else value, sign=True)


def show_interval(score: Estimate) -> str:
    """Return the interval of a score."""
    return "exact" if score.is_exact else show_ends(score.low, score.high, sign=True)


def _others(place: "Place") -> str:
    """Return the likeliest substitutes with their probabilities, the token itself left out."""
    found = [one for one in place.substitutes(_OTHERS + 1) if one.tokens != place.tokens]
    return "  ".join(f"{visible(one.text)} {_percent(one.prob)}" for one in found[:_OTHERS])


def _percent(prob: float) -> str:
    """Return a probability as a percentage that is 0 only where it is impossible."""
    return "<0.1%" if 0.0 < prob < 0.001 else f"{prob:.1%}"


def show_matrix(found: "Attribution", places: Sequence["Place"], *, is_coloured: bool) -> list[str]:
    """Return the share of each response token in the scores, in as many blocks as it takes."""
    case = found.case
    names = [_cut(visible(place.text), _NAME) for place in places]
    heads = [_cut(visible(piece), _CELL) for piece in case.response_pieces]
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
    return show_totals(
        reach(found),
        found.cost,
        theirs(model, found.places, [found.case]),
        is_known=found.converged,
        flags=found.case.flags,
    )


def theirs(model: LanguageModel, places: Sequence[Marked], cases: Sequence[Case]) -> int | None:
    """Return what the authors' procedure takes for the same, which has no groups: None of these."""
    if any(len(place.positions) > 1 for place in places):
        return None
    return sum(reference_cost(model.info.n_tokens, case) for case in cases)


def show_totals(
    known: str, cost: Cost, reference: int | None, *, is_known: bool, flags: AbstractSet[str]
) -> list[str]:
    """Return the last lines of a screen.

    Args:
        known: How much is known, and how well.
        cost: Of everything.
        reference: Token evaluations of the authors' procedure, as `theirs` gives them.
        is_known: Whether every number is known to the tolerance.
        flags: Of the texts.
    """
    lines = [known]
    if not is_known:
        lines.append("~ is not known to the tolerance: raise --budget, or --tolerance")
    if flags:
        lines.append(f"flags: {', '.join(sorted(flags))}")
    lines.append(show_cost(cost))
    if cost.token_evaluations and reference is not None:
        ratio = reference / cost.token_evaluations
        shown = f"{ratio:,.0f}" if ratio >= 100.0 else f"{ratio:.3g}"
        lines.append(
            f"the authors' procedure: {reference:,} token evaluations, {shown} times as many"
        )
    return hung(lines)
