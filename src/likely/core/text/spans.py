"""Where tokens lie in a text: byte spans, character spans, and words. Unit: nats."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

Span = tuple[int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """A word (or words that one token joins) with its log-probability.

    Attributes:
        text: The characters of its span.
        span: (start, stop) in characters; leading white space belongs to the word.
        tokens: Places of its tokens in the text's token list.
        log_prob: Sum over its scored tokens, nats; None if none of them is scored.
        n_scored: How many of its tokens are scored.
    """

    text: str
    span: Span
    tokens: tuple[int, ...]
    log_prob: float | None
    n_scored: int


def char_spans(text: str, byte_spans: Sequence[Span]) -> tuple[Span, ...]:
    """Return character spans: every character that a token has at least one byte of.

    Tokens of one character share its span. A token of no bytes gets an empty span.

    >>> char_spans("é!", [(0, 1), (1, 2), (2, 3)])
    ((0, 1), (0, 1), (1, 2))
    """
    starts = list(accumulate((len(char.encode()) for char in text), initial=0))
    owner = [char for char in range(len(text)) for _ in range(starts[char + 1] - starts[char])]
    owner.append(len(text))
    spans = []
    for start, stop in byte_spans:
        first = owner[min(start, len(owner) - 1)]
        last = owner[stop - 1] + 1 if stop > start else first
        spans.append((first, last))
    return tuple(spans)


def group_words(
    text: str, spans: Sequence[Span], log_probs: Sequence[float | None]
) -> tuple[Word, ...]:
    """Return the words of ``text`` with the tokens that make them up; no token is lost or doubled.

    A word is a run of characters without white space, and owns the white space before it. Words
    that one token touches together become one.

    Args:
        text: The text.
        spans: Character span of each token, in order.
        log_probs: Of each token, nats; None where it is not scored.
    """
    bounds = _word_bounds(text)
    words: list[tuple[int, int, list[int]]] = []
    at = 0
    for i, (start, stop) in enumerate(spans):
        while at + 1 < len(bounds) and bounds[at][1] <= start:
            at += 1
        last = at
        while last + 1 < len(bounds) and bounds[last][1] < stop:
            last += 1
        low, high = (bounds[at][0], bounds[last][1]) if bounds else (0, len(text))
        if words and words[-1][1] > low:
            words[-1] = (words[-1][0], max(words[-1][1], high), [*words[-1][2], i])
        else:
            words.append((low, high, [i]))
    return tuple(_word(text, low, high, tokens, log_probs) for low, high, tokens in words)


def _word(
    text: str, low: int, high: int, tokens: list[int], log_probs: Sequence[float | None]
) -> Word:
    scored = [x for x in (log_probs[i] for i in tokens) if x is not None]
    return Word(
        text=text[low:high],
        span=(low, high),
        tokens=tuple(tokens),
        log_prob=float(sum(scored)) if scored else None,
        n_scored=len(scored),
    )


def _word_bounds(text: str) -> list[Span]:
    """Return spans that cover the text: each begins with white space, if any, and ends a word."""
    bounds: list[Span] = []
    start = 0
    for i in range(1, len(text) + 1):
        ends_word = not text[i - 1].isspace() and (i == len(text) or text[i].isspace())
        if ends_word:
            bounds.append((start, i))
            start = i
    if start < len(text):
        bounds.append((start, len(text)))
    return bounds
