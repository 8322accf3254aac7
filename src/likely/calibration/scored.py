"""What scoring returns: masses of options with their spellings, in batches and as a whole. Nats."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped

from likely.calibration.chats import Chat
from likely.calibration.tables import Masses, PartialRow
from likely.core.answer_events import WordEnd
from likely.core.estimate import Cost
from likely.core.text.encode import Bos
from likely.core.text.surfaces import Level


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """How items were put to a model; part of every result.

    Attributes:
        level: Which spellings an option has.
        word_end: When an option counts only as far as its word then ends.
        chat: ``none``, ``answer`` or ``prefill``.
        wrapper: Name of the instruction, None for the bare text.
        bos: As in `likely.score`.
    """

    level: Level = "paper"
    word_end: WordEnd = "auto"
    chat: Chat = "none"
    wrapper: str | None = None
    bos: Bos = "auto"

    @property
    def label(self) -> str:
        """How items were put, in a few words.

        >>> Policy().label, Policy(chat="prefill", wrapper="finish", level="wide").label
        ('bare text', 'chat prefill (finish), spellings wide')
        """
        parts = ["bare text" if self.chat == "none" else f"chat {self.chat} ({self.wrapper})"]
        usual = Policy(chat=self.chat, wrapper=self.wrapper)
        if self.level != usual.level:
            parts.append(f"spellings {self.level}")
        if self.word_end != usual.word_end:
            parts.append(f"word end {self.word_end}")
        if self.bos != usual.bos:
            parts.append(f"BOS {self.bos}")
        return ", ".join(parts)

    def to_dict(self) -> dict[str, str | None]:
        """Return the fields as a mapping for strict JSON."""
        return {
            "level": self.level,
            "word_end": self.word_end,
            "chat": self.chat,
            "wrapper": self.wrapper,
            "bos": self.bos,
        }


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scored:
    """What a model gives items, in the order of the items.

    Attributes:
        policy: How the items were put to it.
        masses: Of their options.
        log_other: Shape ``(N,)``, nats: of no option; a lower bound where masses are bounds.
        shares: Shape ``(N, K)``: the part of the options' mass that each of `KINDS` has; NaN where
            there is none, and where masses are bounds.
        n_surfaces: Shape ``(N,)``: how many spellings were added up.
        has_word_ends: Shape ``(N,)``: whether options include that their word ends.
        flags: Of each item; see `likely.core.answer_scores`, and ``template_trims`` of a chat.
        partial: By place: what is known of items of which a model lists only the likeliest tokens.
        cost: What it took.
    """

    policy: Policy
    masses: Masses
    log_other: Float[np.ndarray, "N"]
    shares: Float[np.ndarray, "N K"]
    n_surfaces: Int[np.ndarray, "N"]
    has_word_ends: Bool[np.ndarray, "N"]
    flags: tuple[frozenset[str], ...]
    partial: Mapping[int, PartialRow]
    cost: Cost

    def __len__(self) -> int:
        return len(self.flags)

    def take(self, places: Int[np.ndarray, "n"]) -> "Scored":
        """Return what is known of some items, in the order of ``places``; the cost stays whole."""
        return replace(
            self,
            masses=self.masses.take(places),
            log_other=self.log_other[places],
            shares=self.shares[places],
            n_surfaces=self.n_surfaces[places],
            has_word_ends=self.has_word_ends[places],
            flags=tuple(self.flags[i] for i in places),
            partial={
                new: self.partial[old]
                for new, old in enumerate(places.tolist())
                if old in self.partial
            },
        )

    def rows(self) -> tuple[PartialRow, ...]:
        """Return what is known of each item, for metrics between two ends.

        An item without a list has the whole way between its two masses as slack: none, if exact.
        """
        return tuple(
            self.partial[i]
            if i in self.partial
            else self._row(slice(*self.masses.offsets[i : i + 2]))
            for i in range(len(self))
        )

    def _row(self, own: slice) -> PartialRow:
        low, high = np.exp(self.masses.log_mass_low[own]), np.exp(self.masses.log_mass[own])
        none = np.zeros(len(low), dtype=np.int64)
        return PartialRow(listed=low, n_unlisted=none, cap=0.0, rest=0.0, slack=high - low)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ScoredBatch:
    """What a model gives a few of the items.

    Attributes:
        places: Shape ``(N,)``: of these among all items.
        scored: What the model gives them, in the order of ``places``.
    """

    places: Int[np.ndarray, "N"]
    scored: Scored


def in_order(batches: Sequence[ScoredBatch]) -> Scored:
    """Return batches end to end, in the order of the items.

    Args:
        batches: Of one policy, whose places together are all of ``0 .. N - 1``.
    """
    parts = [batch.scored for batch in batches]
    starts = np.cumsum([0, *(len(part) for part in parts)]).tolist()

    def joined(values: Callable[[Scored], Shaped[np.ndarray, "n *k"]]) -> np.ndarray:
        return np.concatenate([values(part) for part in parts])

    n_options = joined(lambda part: np.diff(part.masses.offsets))
    whole = Scored(
        policy=parts[0].policy,
        masses=Masses(
            offsets=np.concatenate([[0], np.cumsum(n_options)]),
            log_mass=joined(lambda part: part.masses.log_mass),
            log_mass_low=joined(lambda part: part.masses.log_mass_low),
        ),
        log_other=joined(lambda part: part.log_other),
        shares=joined(lambda part: part.shares),
        n_surfaces=joined(lambda part: part.n_surfaces),
        has_word_ends=joined(lambda part: part.has_word_ends),
        flags=tuple(flags for part in parts for flags in part.flags),
        partial={
            start + i: row
            for start, part in zip(starts, parts, strict=False)
            for i, row in part.partial.items()
        },
        cost=sum((part.cost for part in parts), Cost()),
    )
    return whole.take(np.argsort(np.concatenate([batch.places for batch in batches])))
