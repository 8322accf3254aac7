"""A page that shows one attribution: coloured tokens, their numbers, and all of it as tables."""

import numpy as np
from jaxtyping import Float

from likely.attribution.result import Attribution
from likely.report.attributed import (
    ENTROPY_EDGES,
    HIGH_ENTROPY,
    HIGH_SCORE,
    entropy_shade,
    lay_out_response,
    look,
    quarters,
    remarks_of,
    warnings_of,
)
from likely.report.attributed_page import blocks, check_page, lean, render_page, score_shades
from likely.report.attribution_table import COLUMNS

_BUTTONS = (
    ("score", "score"), ("entropy", "context entropy"), ("surprisal", "surprisal"),
)  # fmt: skip

_SAYS = {
    "score": "Coloured by the score.",
    "entropy": "Coloured by the context entropy: how much else might stand there, given the rest "
    "of the prompt.",
    "surprisal": "Coloured by the two-sided surprisal: how unexpected the token is, given the "
    "rest of the prompt. No score is above it.",
}


def attribution_page(found: Attribution, *, k: int = 5) -> str:
    """Return a page in one file that shows an attribution, with nothing loaded from elsewhere.

    Args:
        found: At least one place.
        k: How many substitutes of a place it lists under each posterior.

    Raises:
        InputError: No place, or ``k`` below 1.
    """
    places = found.places
    check_page(len(places), k, "attribution")
    response = lay_out_response(found)
    cases = quarters(found)
    shades = score_shades(found.scores.tolist())
    columns = [score_shades(column) for column in found.matrix.T.tolist()]
    return render_page(
        "attribution_page.html",
        found,
        shades,
        kind="attribution",
        response=response,
        response_pieces=found.case.response_pieces,
        seen=look(found),
        warnings=warnings_of(found),
        remarks=remarks_of(found),
        quarters=cases,
        is_sure=all(all(quarter.is_sure) for quarter in cases),
        high_score=HIGH_SCORE,
        high_entropy=HIGH_ENTROPY,
        n_against=sum(place.measures.score.value <= -HIGH_SCORE for place in places),
        entropy_edges=ENTROPY_EDGES,
        matrix_shades=columns,
        blocks=blocks(len(response.tokens)),
        heads=[(column.label, column.unit, column.is_brief) for column in COLUMNS],
        rows=[[column.write(place) for column in COLUMNS] for place in places],
        k=k,
        buttons=_BUTTONS,
        views={
            "views": {
                "score": lean(shades),
                "entropy": _depth(found.context_entropy),
                "surprisal": _depth(np.array([place.measures.surprisal.value for place in places])),
            },
            "view": "score",
            "deep": ["entropy", "surprisal"],
            "columns": [lean(column) for column in columns],
            "says": _SAYS,
            "lists": [
                ["Given the rest of the prompt", "token", "q", "qʳ", "score"],
                ["Given the response too", "token", "q", "qʳ", "score"],
            ],
        },
    )


def _depth(nats: Float[np.ndarray, "n"]) -> str:
    return "".join(entropy_shade(x)[1:] for x in nats.tolist())
