"""A page that shows one contrast: the prompt coloured by differences, both responses, tables."""

from likely.attribution.contrasts import Contrast
from likely.attribution.result import Attribution
from likely.report.attributed import lay_out_response
from likely.report.attributed_page import blocks, check_page, lean, render_page, score_shades
from likely.report.contrasted import (
    HEADS,
    contrast_remarks,
    contrast_row,
    contrast_warnings,
    instead,
    look_at_contrast,
)

_BUTTONS = (
    ("difference", "difference"),
    ("first", "score for the response"),
    ("second", "score for the other"),
)

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
    n = len(found.places)
    check_page(n, k, "contrast")
    shades = score_shades(found.differences.tolist())
    columns = [
        [score_shades(column) for column in one.matrix.T.tolist()]
        for one in (found.first, found.second)
    ]
    return render_page(
        "contrast_page.html",
        found,
        shades,
        kind="contrast",
        sides=[
            _side("the response", found.first, columns[0]),
            _side("the other", found.second, columns[1]),
        ],
        seen=look_at_contrast(found),
        warnings=contrast_warnings(found),
        remarks=contrast_remarks(found),
        heads=HEADS,
        rows=[contrast_row(found, i) for i in range(n)],
        instead=[instead(found, i, k) for i in range(n)],
        buttons=_BUTTONS,
        views={
            "views": {
                "difference": lean(shades),
                "first": lean(score_shades(found.first.scores.tolist())),
                "second": lean(score_shades(found.second.scores.tolist())),
            },
            "view": "difference",
            "deep": [],
            "columns": [lean(column) for side in columns for column in side],
            "says": _SAYS,
            "lists": [["Given the rest of the prompt", "token", "q", "score", "other"]],
        },
    )


def _side(name: str, found: Attribution, shades: list[list[str]]) -> dict[str, object]:
    return {
        "name": name,
        "found": found,
        "laid": lay_out_response(found),
        "pieces": found.case.response_pieces,
        "shades": shades,
        "blocks": blocks(len(shades)),
    }
