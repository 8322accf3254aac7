"""A text as pieces to be coloured by surprisal. Unit: bits, from nats."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from likely.core.results import TextScore
from likely.core.text.spans import Span
from likely.report.display import surprisal_bits, to_bits

EDGES_BITS = (1, 2, 4, 6, 8, 12)
"""Where one shade ends and the next begins: at probabilities of 1 in 2, 4, 16, 64, 256, 4096."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """One token as it is shown.

    Attributes:
        index: Its place in the text, from 0.
        lead: The spaces it begins with, if more follows; they are not shaded.
        shown: The other characters of the text that it shows; empty for the later tokens of one
            character. All pieces together, and the tail, are the text.
        token_text: The token's own text.
        surprisal_bits: None where it is not scored; a lower bound where ``is_bound``.
        entropy_bits: Of the distribution it came from, or None.
        is_bound: Whether a server told only a bound.
        shade: 0 to 6, or None where it is not scored.
    """

    index: int
    lead: str
    shown: str
    token_text: str
    surprisal_bits: float | None
    entropy_bits: float | None
    is_bound: bool
    shade: int | None


def shade(bits: float) -> int:
    """Return the shade of a surprisal: 0 is expected, 6 is 12 bits and above.

    >>> [shade(b) for b in (0.0, 0.99, 1.0, 11.9, 12.0, float("inf"))]
    [0, 0, 1, 5, 6, 6]
    """
    return bisect_right(EDGES_BITS, bits)


def cut(text: str, spans: Sequence[Span]) -> tuple[tuple[tuple[str, str], ...], str]:
    """Return for each token the spaces it begins with and what else it shows, and the tail.

    All parts together, and the tail after them (mostly empty), are the text.

    Args:
        text: The text.
        spans: Character span of each token, in order; tokens of one character share it, and the
            first of them shows it.

    >>> cut("a é!", [(0, 1), (1, 3), (2, 3)])
    ((('', 'a'), (' ', 'é'), ('', '')), '!')
    """
    parts = []
    done = 0
    for _, stop in spans:
        shown = text[done:stop]
        body = shown.lstrip(" ") or shown
        parts.append((shown[: len(shown) - len(body)], body))
        done = max(done, stop)
    return tuple(parts), text[done:]


def cut_pieces(text: TextScore) -> tuple[tuple[Piece, ...], str]:
    """Return one piece for each token, and the characters after the last one (mostly none)."""
    parts, tail = cut(text.text, text.spans)
    pieces = []
    for i, (lead, body) in enumerate(parts):
        surprisal = surprisal_bits(text.token_log_probs[i])
        entropy = None if text.entropies is None else text.entropies[i]
        pieces.append(
            Piece(
                index=i,
                lead=lead,
                shown=body,
                token_text=text.pieces[i],
                surprisal_bits=surprisal,
                entropy_bits=None if entropy is None else to_bits(entropy),
                is_bound=text.censored[i],
                shade=None if surprisal is None else shade(surprisal),
            )
        )
    return tuple(pieces), tail
