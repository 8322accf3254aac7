"""The likeliest next tokens as a server lists them, and what they bound. Unit: nats."""

import math
from dataclasses import dataclass

from likely.core.model import TopTokens
from likely.models.server.transport import AnswerError

NOT_TOLD = -9999.0
"""Servers write this, or float32's lowest, for a log-probability that they do not tell."""

ROUNDING = 5e-6
"""How far rounding may move the sum of a float32 softmax that is summed in blocks."""

_EXCESS = 1e-3  # a list that passes 1 by more than this is no list of probabilities


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A listed token; ``token`` is None where the server names only its text."""

    token: int | None
    piece: str
    log_prob: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """A server's list of next tokens after one prefix.

    Attributes:
        entries: Likeliest first; a sampled token outside the ``k`` likeliest may be among them.
        k: How many were asked for.
        is_greedy: Whether the sampled token is surely one of the ``k`` likeliest.
        rounding: How far rounding may have moved the sum of all probabilities; what is left by
            the listed ones is taken to be that much more.
    """

    entries: tuple[Entry, ...]
    k: int
    is_greedy: bool
    rounding: float = ROUNDING

    @property
    def log_mass_elsewhere(self) -> float:
        """Upper bound on the log of the total probability of all tokens that are not listed."""
        return self._log_rest(self.entries)

    @property
    def log_prob_elsewhere(self) -> float:
        """Upper bound on the log-probability of any token that is not listed."""
        # Fewer than k: texts coincided, or values were kept back, so a likely one may be missing.
        is_full = len(self.entries) >= self.k
        smallest = self.entries[self.k - 1].log_prob if is_full else 0.0
        return min(self.log_mass_elsewhere, smallest)

    def value(self, token: int) -> float | None:
        """Return the log-probability listed for an id, None if it is not listed."""
        return next((e.log_prob for e in self.entries if e.token == token), None)

    def value_of_piece(self, piece: str | None, *, is_canonical: bool) -> tuple[float, bool]:
        """Return the value of a token known by its text, and whether it is only a bound.

        A list keyed by text keeps one of several tokens of the same text, the least likely. A
        value is taken only if no other token can have hidden behind its text.

        Args:
            piece: The token's text; None if its bytes are no text, so its key is unknown.
            is_canonical: Whether that text alone is split into that token.
        """
        if piece is None:
            return self._log_rest(self.entries[1:]), True
        found = next((e.log_prob for e in self.entries if e.piece == piece), None)
        if found is None:
            return self._bound_of_distinct(), True
        is_alone = (
            len(self.entries) >= self.k  # no two texts coincided
            or len(piece.strip().encode()) > 1  # byte tokens double single bytes and spaces only
            or found > self.log_mass_elsewhere  # a likelier twin would not fit in what is left
        )
        if is_canonical and is_alone:
            return found, False
        return self._log_rest(tuple(e for e in self.entries if e.piece != piece)), True

    def top(self, k: int) -> TopTokens:
        """Return the ``k`` likeliest with the bounds on the rest."""
        is_full = len(self.entries) >= self.k
        kept = Listing(
            entries=self.entries[:k],
            k=min(k, self.k) if is_full else self.k,
            is_greedy=False,
            rounding=self.rounding,
        )
        return TopTokens(
            tokens=tuple(e.token for e in kept.entries),
            pieces=tuple(e.piece for e in kept.entries),
            log_probs=tuple(e.log_prob for e in kept.entries),
            log_prob_elsewhere=kept.log_prob_elsewhere,
            log_mass_elsewhere=kept.log_mass_elsewhere,
        )

    def _bound_of_distinct(self) -> float:
        """Return the bound on a token that would be listed, were it among the ``k`` likeliest."""
        smallest = self.entries[-1].log_prob if self.is_greedy and self.entries else 0.0
        return min(self.log_prob_elsewhere, smallest)

    def _log_rest(self, entries: tuple[Entry, ...]) -> float:
        rest = 1.0 - math.fsum(math.exp(e.log_prob) for e in entries)
        return math.log(min(1.0, max(rest, 0.0) + self.rounding))


def make_listing(
    entries: list[tuple[int | None, str, float]],
    *,
    k: int,
    greedy: bool,
    rounding: float = ROUNDING,
) -> Listing:
    """Return a listing, likeliest first, without the entries whose value the server kept back.

    Args:
        entries: Id (or None), text and log-prob of each, nats.
        k: How many were asked for.
        greedy: Whether the sampled token is surely one of the ``k`` likeliest.
        rounding: How far rounding may have moved the sum of all probabilities.

    Raises:
        AnswerError: A value that is no log-probability, or more than 1 in total.
    """
    told = [
        Entry(token=token, piece=piece, log_prob=value)
        for token, piece, raw in entries
        if (value := read_log_prob(raw)) is not None
    ]
    total = math.fsum(math.exp(e.log_prob) for e in told)
    if total > 1.0 + rounding + _EXCESS:
        raise AnswerError(f"the listed probabilities add up to {total!r}; they must not pass 1")
    told.sort(key=lambda e: (-e.log_prob, -1 if e.token is None else e.token, e.piece))
    is_whole = len(told) == len(entries)  # else the k-th value is one that was kept back
    return Listing(entries=tuple(told), k=k, is_greedy=greedy and is_whole, rounding=rounding)


def read_log_prob(value: float | None) -> float | None:
    """Return a log-probability as told by a server; None for null and for a placeholder.

    Raises:
        AnswerError: NaN, or a value above 0.

    >>> read_log_prob(-1.5), read_log_prob(-9999.0)
    (-1.5, None)
    """
    if value is None or value <= NOT_TOLD:
        return None
    if not value <= 1e-9:
        raise AnswerError(f"the server gave {value!r} as a log-probability; it must not pass 0")
    return value
