"""A page that shows one contrast: the prompt coloured by differences, both responses, tables."""

import numpy as np

from likely.attribution.cells import EDGES_NATS
from likely.attribution.contrasts import Contrast
from likely.attribution.result import Attribution
from likely.errors import InputError
from likely.report.attributed import (
    NEAR,
    RULES,
    lay_out_prompt,
    lay_out_response,
    score_shade,
    windows,
)
from likely.report.attribution_page import WINDOW, blocks, lean, read_script
from likely.report.contrasted import (
    HEADS,
    contrast_remarks,
    contrast_row,
    contrast_warnings,
    instead,
    look_at_contrast,
)
from likely.report.render import render

_SAYS = {
    "difference": "Coloured by the difference: orange spoke for the response, blue for the other.",
    "first": "Coloured by the score for the response alone: orange made it likelier, blue less "
    "likely.",
    "second": "Coloured by the score for the other response alone: orange made it likelier, blue "
    "less likely.",
}


def contrast_page(found: Contrast, *, k: int = 5) -> str:
    """Return a page in one file that shows a contrast, with nothing loaded from elsewhere.

    Args:
        found: At least one place.
        k: How many substitutes of a place it lists.

    Raises:
        InputError: No place, or ``k`` below 1.
    """
    if not found.places:
        raise InputError("the contrast has no places, so that there is nothing to show")
    if k < 1:
        raise InputError(f"k is a number of substitutes, at least 1, got {k!r}")
    first, second = found.first, found.second
    prompt = lay_out_prompt(first)
    shades = [score_shade(x) for x in found.differences.tolist()]
    columns = {name: _columns(one) for name, one in (("first", first), ("second", second))}
    script, script_hash = read_script()
    n = len(found.places)
    return str(
        render(
            "contrast_page.html",
            found=found,
            prompt=prompt,
            prompt_windows=windows(prompt, WINDOW),
            sides=[
                {
                    "name": name, "found": one, "laid": lay_out_response(one),
                    "pieces": [one.case.response_text[a:b] for a, b in one.case.response_spans],
                    "shades": columns[key], "blocks": blocks(len(columns[key])),
                }
                for key, name, one in (
                    ("first", "the response", first), ("second", "the other", second),
                )
            ],
            shades=shades,
            seen=look_at_contrast(found),
            near=NEAR,
            n_exact=sum(place.method == "exact" for place in found.places),
            n_converged=sum(place.converged for place in found.places),
            n_single=sum(token.place is not None for token in prompt.tokens),
            n_grey=sum(token.place is None for token in prompt.tokens),
            warnings=contrast_warnings(found),
            remarks=contrast_remarks(found),
            rules=RULES,
            edges=EDGES_NATS,
            heads=HEADS,
            rows=[contrast_row(found, i) for i in range(n)],
            instead=[instead(found, i, k) for i in range(n)],
            views={
                "views": {
                    "difference": lean(shades),
                    "first": _scores(first),
                    "second": _scores(second),
                },
                "view": "difference",
                "deep": [],
                "columns": [lean(column) for side in columns.values() for column in side],
                "says": _SAYS,
                "lists": [["Given the rest of the prompt", "token", "q", "score", "other"]],
            },
            largest_error=max(
                float(np.max(place.measures.matrix_error, initial=0.0))
                for one in (first, second)
                for place in one.places
            ),
            script=script,
            script_hash=script_hash,
        )
    )  # fmt: skip


def _columns(found: Attribution) -> list[list[str]]:
    """Return for each token of the response the shades of its shares, a place each."""
    return [[score_shade(x) for x in column] for column in found.matrix.T.tolist()]


def _scores(found: Attribution) -> str:
    return lean([score_shade(x) for x in found.scores.tolist()])
