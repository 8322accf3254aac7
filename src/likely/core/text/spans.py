"""Where tokens lie in a text: byte spans, character spans, and words. Unit: nats."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

Span = tuple[int, int]

_CLOSING = "[\"'\\)\\]\u201d\u2019\u00bb]*"
_SENTENCE_END = re.compile(
    rf"[.!?\u2026]+{_CLOSING}(?=\s)|[\u3002\uff01\uff1f]+{_CLOSING}|(?<=\S)(?=[ \t]*[\r\n])"
)


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
    joined = group_spans(spans, word_bounds(text) or [(0, len(text))])
    return tuple(_word(text, low, high, tokens, log_probs) for low, high, tokens in joined)


def group_spans(
    spans: Sequence[Span], bounds: Sequence[Span]
) -> tuple[tuple[int, int, tuple[int, ...]], ...]:
    """Return which tokens lie in which stretch of a text; no token is lost or doubled.

    Stretches that one token touches together become one.

    Args:
        spans: Character span of each token, in order.
        bounds: Stretches that cover the text, in order, at least one.

    Returns:
        First and last character of each stretch that has tokens, and the places of its tokens.

    >>> group_spans([(0, 1), (1, 3), (3, 4)], [(0, 1), (1, 4)])
    ((0, 1, (0,)), (1, 4, (1, 2)))
    """
    found: list[tuple[int, int, tuple[int, ...]]] = []
    at = 0
    for i, (start, stop) in enumerate(spans):
        while at + 1 < len(bounds) and bounds[at][1] <= start:
            at += 1
        last = at
        while last + 1 < len(bounds) and bounds[last][1] < stop:
            last += 1
        low, high = bounds[at][0], bounds[last][1]
        if found and found[-1][1] > low:
            found[-1] = (found[-1][0], max(found[-1][1], high), (*found[-1][2], i))
        else:
            found.append((low, high, (i,)))
    return tuple(found)


def _word(
    text: str, low: int, high: int, tokens: tuple[int, ...], log_probs: Sequence[float | None]
) -> Word:
    scored = [x for x in (log_probs[i] for i in tokens) if x is not None]
    return Word(
        text=text[low:high],
        span=(low, high),
        tokens=tokens,
        log_prob=float(sum(scored)) if scored else None,
        n_scored=len(scored),
    )


def word_bounds(text: str) -> list[Span]:
    """Return spans that cover the text: each begins with white space, if any, and ends a word.

    >>> word_bounds("a bc ")
    [(0, 1), (1, 4), (4, 5)]
    """
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


def sentence_bounds(text: str) -> list[Span]:
    """Return spans that cover the text: each begins with white space, if any, and is a sentence.

    A sentence ends after one of ``. ! ? …``, with the quotes and brackets that close after it,
    where white space follows; after a full-width mark whatever follows; and at a line break. No
    list of abbreviations is used: "Dr. Chang" is cut after "Dr.".

    >>> [text[a:b] for text in ["One. Two?"] for a, b in sentence_bounds(text)]
    ['One.', ' Two?']
    """
    ends = [found.end() for found in _SENTENCE_END.finditer(text)]
    starts = [0, *ends]
    bounds = [(a, b) for a, b in zip(starts, [*ends, len(text)], strict=True) if a < b]
    if len(bounds) > 1 and not text[slice(*bounds[-1])].strip():  # white space ends no sentence
        bounds[-2:] = [(bounds[-2][0], len(text))]
    return bounds


def name_positions(positions: Sequence[int]) -> str:
    """Return sorted positions in a few characters, runs of three and more by their ends.

    >>> name_positions((3,)), name_positions((0, 1)), name_positions((0, 1, 2, 7))
    ('3', '0,1', '0-2,7')
    """
    runs: list[list[int]] = []
    for position in positions:
        if runs and position == runs[-1][-1] + 1:
            runs[-1].append(position)
        else:
            runs.append([position])
    parts = [f"{run[0]}-{run[-1]}" if len(run) > 2 else ",".join(map(str, run)) for run in runs]
    return ",".join(parts)
