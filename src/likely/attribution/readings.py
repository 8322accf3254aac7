"""What a tree of candidates reads, and what was read of it. Unit: nats."""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from jaxtyping import Bool, Float, Int

from likely.attribution.thinning import Lineage
from likely.core.branches import Branches


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """What is read at a place: its own tokens, the rest of the prompt, and one response or more.

    Attributes:
        length: Tokens of the stem before the first position.
        places: Prompt positions of the group, sorted.
        tokens: Shape ``(L,)``: of the prompt from the first position on.
        free: Shape ``(L,)``: which of them are the group's.
        responses: One or more.
    """

    length: int
    places: tuple[int, ...]
    tokens: Int[np.ndarray, "L"]
    free: Bool[np.ndarray, "L"]
    responses: tuple[Int[np.ndarray, "_"], ...]

    @property
    def actual(self) -> Int[np.ndarray, "g"]:
        """The tokens that stand at the positions."""
        return np.asarray(self.tokens[self.free])

    @property
    def n_places(self) -> int:
        """How many positions the group has."""
        return len(self.places)

    @property
    def n_last(self) -> int:
        """How many tokens of the prompt stand after the last position."""
        return len(self.tokens) - 1 - int(np.flatnonzero(self.free)[-1])

    def run(self, at: int) -> int:
        """Return how many tokens stand from ``at`` to the next position of the group."""
        ahead = np.flatnonzero(self.free[at:])
        return int(ahead[0]) if len(ahead) else len(self.tokens) - at


@dataclass(frozen=True, slots=True, kw_only=True)
class Nodes:
    """Tuples that were read to the end of the prompt.

    Attributes:
        tokens: Shape ``(n, g)``.
        read: Shape ``(n, L)``: log-probability of each token of the line.
        chance: Shape ``(n,)``: that the tuple was read so far.
        lineage: Its beginnings.
    """

    tokens: Int[np.ndarray, "n g"]
    read: Float[np.ndarray, "n L"]
    chance: Float[np.ndarray, "n"]
    lineage: Lineage

    def take(self, index: Int[np.ndarray, "k"]) -> "Nodes":
        """Return some of them."""
        return Nodes(
            tokens=self.tokens[index], read=self.read[index], chance=self.chance[index],
            lineage=self.lineage.take(index),
        )  # fmt: skip

    def settled(self) -> "Nodes":
        """Return them as certain."""
        lineage = Lineage(
            label=np.full_like(self.lineage.label, -1), chance=np.ones_like(self.lineage.chance)
        )
        return Nodes(
            tokens=self.tokens, read=self.read, chance=np.ones(len(self.tokens)), lineage=lineage
        )

    def joined(self, other: "Nodes") -> "Nodes":
        """Return these and others."""
        return Nodes(
            tokens=np.concatenate([self.tokens, other.tokens]),
            read=np.concatenate([self.read, other.read]),
            chance=np.concatenate([self.chance, other.chance]),
            lineage=Lineage.joined([self.lineage, other.lineage]),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Readings:
    """Tuples whose reading of one response has come to an end.

    Attributes:
        nodes: The tuples, as they were at the end of the prompt.
        node: Shape ``(n,)``: names each of them in the latest round; -1 for earlier rounds.
        said: Shape ``(n, R)``: log-probability of each token of the response; of those that were
            dropped before its end, shape ``(n, 1)``, the sum so far.
        chance: Shape ``(n,)``: that the tuple was read so far.
    """

    nodes: Nodes
    node: Int[np.ndarray, "n"]
    said: Float[np.ndarray, "n R"]
    chance: Float[np.ndarray, "n"]

    def take(self, index: Int[np.ndarray, "k"]) -> "Readings":
        """Return some of them."""
        return Readings(
            nodes=self.nodes.take(index), node=self.node[index], said=self.said[index],
            chance=self.chance[index],
        )  # fmt: skip

    def settled(self) -> "Readings":
        """Return them as certain."""
        n = len(self.chance)
        return Readings(
            nodes=self.nodes.settled(), node=np.full(n, -1), said=self.said, chance=np.ones(n)
        )

    def joined(self, other: "Readings") -> "Readings":
        """Return these and others."""
        return Readings(
            nodes=self.nodes.joined(other.nodes),
            node=np.concatenate([self.node, other.node]),
            said=np.concatenate([self.said, other.said]),
            chance=np.concatenate([self.chance, other.chance]),
        )


@dataclass(kw_only=True)
class Front:
    """Tuples, or beginnings of them, that read the prompt, all to the same point.

    Attributes:
        root: Shape ``(b,)``: place of the first token among the allowed ids.
        tokens: Shape ``(b, g)``: drawn so far.
        read: Shape ``(b, t)``: log-probability of each token of the line so far.
        chance: Shape ``(b,)``: of having come so far.
        is_actual: Shape ``(b,)``: whether it is what stands there, which is never dropped.
        lineage: Its beginnings.
        branches: Of the stem.
    """

    root: Int[np.ndarray, "b"]
    tokens: Int[np.ndarray, "b g"]
    read: Float[np.ndarray, "b t"]
    chance: Float[np.ndarray, "b"]
    is_actual: Bool[np.ndarray, "b"]
    lineage: Lineage
    branches: Branches

    def __len__(self) -> int:
        """Return b."""
        return len(self.root)

    @property
    def log_y(self) -> Float[np.ndarray, "b"]:
        """Log weight of what was read."""
        return np.asarray(self.read.sum(axis=1))

    def keep(self, index: Int[np.ndarray, "k"]) -> None:
        """Go on with these alone, in this order; one may come several times."""
        self.root, self.tokens, self.read = self.root[index], self.tokens[index], self.read[index]
        self.chance, self.is_actual = self.chance[index], self.is_actual[index]
        self.lineage = self.lineage.take(index)
        if len(index):
            self.branches.keep(index)


@dataclass(kw_only=True)
class Answers:
    """Tuples that read a response each, all to the same number of tokens.

    Attributes:
        node: Shape ``(b,)``: which tuple.
        kind: Shape ``(b,)``: which response.
        said: Shape ``(b, t)``: log-probability of each of its tokens so far.
        chance: Shape ``(b,)``: of having come so far.
        branches: Of the stem.
    """

    node: Int[np.ndarray, "b"]
    kind: Int[np.ndarray, "b"]
    said: Float[np.ndarray, "b t"]
    chance: Float[np.ndarray, "b"]
    branches: Branches

    def __len__(self) -> int:
        """Return b."""
        return len(self.node)

    def keep(self, index: Int[np.ndarray, "k"]) -> None:
        """Go on with these alone, in this order."""
        self.node, self.kind, self.said = self.node[index], self.kind[index], self.said[index]
        self.chance = self.chance[index]
        if len(index):
            self.branches.keep(index)


@dataclass(frozen=True, slots=True, kw_only=True)
class Children:
    """Next tokens drawn after some nodes.

    Attributes:
        parent: Shape ``(c,)``: which node each goes on from.
        child: Shape ``(c,)``: its place among the allowed ids.
        log_prob: Shape ``(c,)``: given what stands before it, nats.
        lot: Shape ``(c,)``: it is drawn if this lies below its chance.
        log_chance: Shape ``(c,)``: log of that chance, up to a constant.
        n_open: Shape ``(b,)``: how many might have been drawn after each node.
        log_open: Shape ``(b,)``: log-probability of these together.
        log_allowed: Shape ``(b,)``: of all allowed ids together.
        log_tempered: Shape ``(b,)``: log of the sum of powers of their probabilities, 0 at least.
    """

    parent: Int[np.ndarray, "c"]
    child: Int[np.ndarray, "c"]
    log_prob: Float[np.ndarray, "c"]
    lot: Float[np.ndarray, "c"]
    log_chance: Float[np.ndarray, "c"]
    n_open: Int[np.ndarray, "b"]
    log_open: Float[np.ndarray, "b"]
    log_allowed: Float[np.ndarray, "b"]
    log_tempered: Float[np.ndarray, "b"]

    @classmethod
    def joined(cls, chunks: Sequence["Children"]) -> "Children":
        """Return the children of several chunks of nodes."""
        return cls(
            **{
                field.name: np.concatenate([getattr(chunk, field.name) for chunk in chunks])
                for field in fields(cls)
            }
        )
