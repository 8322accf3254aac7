"""A page that shows one attribution: coloured tokens, their numbers, and all of it as tables."""

import base64
import hashlib
from collections.abc import Sequence
from importlib.resources import files

import numpy as np
from jaxtyping import Float
from markupsafe import Markup

from likely.attribution.cells import EDGES_NATS
from likely.attribution.result import Attribution
from likely.errors import InputError
from likely.report.attributed import (
    ENTROPY_EDGES,
    HIGH_ENTROPY,
    HIGH_SCORE,
    NEAR,
    RULES,
    entropy_shade,
    lay_out_prompt,
    lay_out_response,
    look,
    quarters,
    remarks_of,
    score_shade,
    warnings_of,
    windows,
)
from likely.report.attribution_table import COLUMNS
from likely.report.render import render

WINDOW = 250  # tokens of a prompt that are laid out together
_BLOCK = 40  # columns of the table of shares

_CODES = {"": "0"} | {
    f"{side}{i + 1}": codes[i]
    for side, codes in (("up", "1234"), ("down", "abcd"))
    for i in range(len(EDGES_NATS))
}  # fmt: skip

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
    if not found.places:
        raise InputError("the attribution has no places, so that there is nothing to show")
    if k < 1:
        raise InputError(f"k is a number of substitutes, at least 1, got {k!r}")
    prompt, response = lay_out_prompt(found), lay_out_response(found)
    places = found.places
    shades = [score_shade(place.measures.score.value) for place in places]
    columns = [[score_shade(x) for x in column] for column in found.matrix.T.tolist()]
    n_response = len(response.tokens)
    script, script_hash = read_script()
    case = found.case
    return str(
        render(
            "attribution_page.html",
            found=found,
            prompt=prompt,
            prompt_windows=windows(prompt, WINDOW),
            response=response,
            response_pieces=[case.response_text[a:b] for a, b in case.response_spans],
            shades=shades,
            seen=look(found),
            near=NEAR,
            quarters=quarters(found),
            high_score=HIGH_SCORE,
            high_entropy=HIGH_ENTROPY,
            n_against=sum(place.measures.score.value <= -HIGH_SCORE for place in places),
            n_exact=sum(place.method == "exact" for place in places),
            n_converged=sum(place.converged for place in places),
            n_single=sum(token.place is not None for token in prompt.tokens),
            n_grey=sum(token.place is None for token in prompt.tokens),
            warnings=warnings_of(found),
            remarks=remarks_of(found),
            rules=RULES,
            edges=EDGES_NATS,
            entropy_edges=ENTROPY_EDGES,
            matrix_shades=columns,
            blocks=blocks(n_response),
            largest_error=max(float(np.max(p.measures.matrix_error, initial=0.0)) for p in places),
            columns=COLUMNS,
            k=k,
            views={
                "views": {
                    "score": lean(shades),
                    "entropy": _depth(found.context_entropy),
                    "surprisal": _depth(
                        np.array([place.measures.surprisal.value for place in places])
                    ),
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
            script=script,
            script_hash=script_hash,
        )
    )


def read_script() -> tuple[Markup, str]:
    """Return the script of pages of attributions, and the hash by which a page allows it."""
    script = files("likely.report").joinpath("templates/attribution.js").read_text("utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return Markup(script), f"sha256-{digest}"


def blocks(n_columns: int) -> list[range]:
    """Return the columns of a table of shares in blocks that a page can show."""
    return [range(i, min(i + _BLOCK, n_columns)) for i in range(0, n_columns, _BLOCK)]


def lean(shades: Sequence[str]) -> str:
    """Return one character for the shade of each place."""
    return "".join(_CODES[shade] for shade in shades)


def _depth(nats: Float[np.ndarray, "n"]) -> str:
    return "".join(entropy_shade(x)[1:] for x in nats.tolist())
