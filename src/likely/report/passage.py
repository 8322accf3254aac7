"""The text that the report reads: a passage in the public domain, shipped with the package."""

from dataclasses import dataclass
from importlib.resources import files

_PARAGRAPHS = {"smoke": 2, "full": 5}


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """A text and where it comes from.

    Attributes:
        text: What the model reads, not empty.
        source: Author, title, year, and why it may be printed here.
    """

    text: str
    source: str


def load_passage(preset: str) -> Passage:
    """Return the passage of a preset.

    >>> load_passage("smoke").text[:19]
    'Alice was beginning'
    """
    whole = files("likely.report").joinpath("passages/alice.txt").read_text(encoding="utf-8")
    paragraphs = whole.strip().split("\n\n")[: _PARAGRAPHS[preset]]
    return Passage(
        text="\n\n".join(paragraphs),
        source="Lewis Carroll, Alice’s Adventures in Wonderland (1865), the opening; public domain",
    )
