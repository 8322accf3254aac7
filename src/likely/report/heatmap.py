"""A text as pieces to be coloured by surprisal. Unit: bits, from nats."""

from bisect import bisect_right
from dataclasses import dataclass

from likely.core.results import TextScore
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


def cut_pieces(text: TextScore) -> tuple[tuple[Piece, ...], str]:
    """Return one piece for each token, and the characters after the last one (mostly none)."""
    pieces = []
    done = 0
    for i, (_, stop) in enumerate(text.spans):
        shown = text.text[done:stop]
        body = shown.lstrip(" ") or shown
        surprisal = surprisal_bits(text.token_log_probs[i])
        entropy = None if text.entropies is None else text.entropies[i]
        pieces.append(
            Piece(
                index=i,
                lead=shown[: len(shown) - len(body)],
                shown=body,
                token_text=text.pieces[i],
                surprisal_bits=surprisal,
                entropy_bits=None if entropy is None else to_bits(entropy),
                is_bound=text.censored[i],
                shade=None if surprisal is None else shade(surprisal),
            )
        )
        done = max(done, stop)
    return tuple(pieces), text.text[done:]
