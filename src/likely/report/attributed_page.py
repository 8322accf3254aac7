"""What the pages of attributions and of contrasts have in common."""

import base64
import hashlib
from collections.abc import Iterable, Sequence
from importlib.resources import files

import numpy as np
from markupsafe import Markup

from likely.attribution.cells import EDGES_NATS
from likely.attribution.contrasts import Contrast
from likely.attribution.result import Attribution
from likely.errors import InputError
from likely.report.attributed import NEAR, RULES, lay_out_prompt, score_shade, windows
from likely.report.render import render

_WINDOW = 250  # tokens of a prompt that are laid out together
_BLOCK = 40  # columns of the table of shares

_CODES = {"": "0"} | {
    f"{side}{i + 1}": codes[i]
    for side, codes in (("up", "1234"), ("down", "abcd"))
    for i in range(len(EDGES_NATS))
}  # fmt: skip


def render_page(
    template: str, found: Attribution | Contrast, shades: Sequence[str], **values: object
) -> str:
    """Return a page of one prompt, in one file, from a template that fills in its base.

    Args:
        template: File name of the template.
        found: At least one place.
        shades: A place each: what colours the prompt.
        values: What else the template shows.
    """
    places = found.places
    sides = (found.first, found.second) if isinstance(found, Contrast) else (found,)
    prompt = lay_out_prompt(sides[0])
    script = files("likely.report").joinpath("templates/attribution.js").read_text("utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return str(
        render(
            template,
            found=found,
            one=sides[0],
            prompt=prompt,
            prompt_windows=windows(prompt, _WINDOW),
            shades=shades,
            near=NEAR,
            n_exact=sum(place.method == "exact" for place in places),
            n_converged=sum(place.converged for place in places),
            n_single=sum(token.place is not None for token in prompt.tokens),
            n_grey=sum(token.place is None for token in prompt.tokens),
            rules=RULES,
            edges=EDGES_NATS,
            largest_error=max(
                float(np.max(place.measures.matrix_error, initial=0.0))
                for side in sides
                for place in side.places
            ),
            script=Markup(script),
            script_hash=f"sha256-{digest}",
            **values,
        )
    )


def check_page(n_places: int, k: int, what: str) -> None:
    """Raise InputError where there is no place, or less than one substitute asked for."""
    if not n_places:
        raise InputError(f"the {what} has no places, so that there is nothing to show")
    if k < 1:
        raise InputError(f"k is a number of substitutes, at least 1, got {k!r}")


def blocks(n_columns: int) -> list[range]:
    """Return the columns of a table of shares in blocks that a page can show."""
    return [range(i, min(i + _BLOCK, n_columns)) for i in range(0, n_columns, _BLOCK)]


def score_shades(scores: Iterable[float]) -> list[str]:
    """Return the shade of each score."""
    return [score_shade(score) for score in scores]


def lean(shades: Sequence[str]) -> str:
    """Return one character for the shade of each place."""
    return "".join(_CODES[shade] for shade in shades)
