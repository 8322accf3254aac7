"""What the model expected at chosen positions of a text, and what came. Unit: nats."""

import math
from dataclasses import dataclass
from string import ascii_uppercase

import numpy as np

from likely.core.logspace import logsumexp
from likely.core.model import TopTokens
from likely.core.results import NextToken, TextScore

_BEFORE = 64  # characters of context that are shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One token that could have come.

    Attributes:
        token: Its id; None where a server names only text.
        piece: Its text; None for a row of the output layer that no token uses.
        log_prob: Nats.
        came: Whether it is the one that came.
    """

    token: int | None
    piece: str | None
    log_prob: float
    came: bool

    @property
    def prob(self) -> float:
        """The same, linear."""
        return math.exp(self.log_prob)


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A position worth a look, and why.

    Attributes:
        letter: Links the table to the figure.
        index: Place of the token in the text, from 0.
        reason: Such as ``most surprising``.
        log_prob: Of the token that came there, nats.
        is_bound: Whether that is only an upper bound.
    """

    letter: str
    index: int
    reason: str
    log_prob: float
    is_bound: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """The likeliest next tokens at one position, beside the token that came.

    Attributes:
        choice: Which position, and why.
        before: The end of the text before it.
        came: Text of the token that came.
        log_prob: Of that token, nats; an upper bound where ``choice.is_bound``.
        rank: Its rank, 1 for the likeliest; None if a server did not tell enough.
        n_tied: How many other tokens (of those told, for a server) have exactly its probability.
        candidates: Likeliest first.
        n_others: How many tokens are neither candidates nor came; those of a server's answer
            that are no candidates.
        log_mass_others: Log of their total probability, nats.
        entropy: Nats, or None if a server did not tell enough.
    """

    choice: Choice
    before: str
    came: str
    log_prob: float
    rank: int | None
    n_tied: int
    candidates: tuple[Candidate, ...]
    n_others: int
    log_mass_others: float
    entropy: float | None

    @property
    def is_listed(self) -> bool:
        """Whether the token that came is among the candidates."""
        return any(candidate.came for candidate in self.candidates)

    @property
    def prob(self) -> float:
        """Probability of the token that came."""
        return math.exp(self.log_prob)

    @property
    def prob_others(self) -> float:
        """Total probability of ``n_others``."""
        return math.exp(self.log_mass_others)

    def to_dict(self) -> dict[str, object]:
        """Return the fields as a mapping for strict JSON."""
        return {
            "letter": self.choice.letter,
            "index": self.choice.index,
            "reason": self.choice.reason,
            "before": self.before,
            "came": self.came,
            "log_prob": self.log_prob,
            "is_bound": self.choice.is_bound,
            "rank": self.rank,
            "n_tied": self.n_tied,
            "candidates": [
                {"token": c.token, "piece": c.piece, "log_prob": c.log_prob, "came": c.came}
                for c in self.candidates
            ],
            "n_others": self.n_others,
            "log_mass_others": self.log_mass_others,
            "entropy": self.entropy,
        }


def choose_positions(text: TextScore, *, n_each: int) -> tuple[Choice, ...]:
    """Return the most surprising, the middle and the least surprising positions, in text order.

    A token that a server told only a bound for has no place in that ranking; such tokens are
    chosen apart, and the ranking then says that it is of those told.

    Args:
        text: A scored text; of one read in windows only the first window is looked at, so that
            what stood before a token is what the reader sees.
        n_each: How many of the most surprising; half as many of the other two.
    """
    n_before = len(text.context_tokens)
    known = [
        (log_prob, i)
        for i, log_prob in enumerate(text.token_log_probs)
        if log_prob is not None and (text.window is None or n_before + i <= text.window)
    ]
    bounded = [i for _, i in sorted(known) if text.censored[i]]
    ranked = [i for _, i in sorted(known) if not text.censored[i]]
    half = max(1, n_each // 2)
    middle = max(0, (len(ranked) - half) // 2)
    of_which = " of those told" if bounded else ""
    wanted = [
        *((i, "most surprising" + of_which) for i in ranked[:n_each]),
        *((i, "middling" + of_which) for i in ranked[middle : middle + half]),
        *((i, "least surprising") for i in ranked[::-1][:half]),
        *((i, "not told, only bounded") for i in bounded[:half]),
    ]
    reasons: dict[int, str] = {}
    for i, reason in wanted:
        reasons.setdefault(i, reason)
    return tuple(
        Choice(
            letter=ascii_uppercase[place],
            index=i,
            reason=reasons[i],
            log_prob=log_prob,
            is_bound=text.censored[i],
        )
        for place, (i, log_prob) in enumerate(sorted((i, x) for x, i in known if i in reasons))
    )


def prefix_of(text: TextScore, choice: Choice) -> tuple[int, ...]:
    """Return the ids that stood before the token of a position."""
    return (*text.context_tokens, *text.tokens[: choice.index])


def from_row(text: TextScore, choice: Choice, row: NextToken, *, k: int) -> Expectation:
    """Return the expectation at a position from the whole next-token row."""
    token = text.tokens[choice.index]
    own = float(row.log_probs[token])
    top = row.top(k)
    others = np.ones(len(row.log_probs), dtype=bool)
    others[[token, *(t.token for t in top)]] = False
    return Expectation(
        choice=choice,
        before=_before(text, choice),
        came=text.pieces[choice.index],
        log_prob=own,
        rank=1 + int(np.sum(row.log_probs > own)),
        n_tied=int(np.sum(row.log_probs == own)) - 1,
        candidates=tuple(
            Candidate(
                token=t.token,
                piece=t.piece if t.token < row.n_tokens else None,
                log_prob=t.log_prob,
                came=t.token == token,
            )
            for t in top
        ),
        n_others=int(np.sum(others)),
        log_mass_others=float(logsumexp(row.log_probs[others])),
        entropy=row.entropy,
    )


def from_top(text: TextScore, choice: Choice, top: TopTokens, *, n_vocab: int) -> Expectation:
    """Return the expectation at a position from the tokens that a server told."""
    token = text.tokens[choice.index]
    listed = [x for i, x in zip(top.tokens, top.log_probs, strict=True) if i == token]
    return Expectation(
        choice=choice,
        before=_before(text, choice),
        came=text.pieces[choice.index],
        log_prob=choice.log_prob,
        rank=1 + sum(x > listed[0] for x in top.log_probs) if listed else None,
        n_tied=sum(x == listed[0] for x in top.log_probs) - 1 if listed else 0,
        candidates=tuple(
            Candidate(token=i, piece=piece, log_prob=log_prob, came=i == token)
            for i, piece, log_prob in zip(top.tokens, top.pieces, top.log_probs, strict=True)
        ),
        n_others=n_vocab - len(top.tokens),
        log_mass_others=top.log_mass_elsewhere,
        entropy=None,
    )


def _before(text: TextScore, choice: Choice) -> str:
    before = text.text[: text.spans[choice.index][0]]
    if len(before) <= _BEFORE:
        return before
    end = before[-_BEFORE:]
    return "…" + end[end.find(" ") + 1 :]
