"""What a tree of candidates reads, and what was read of it. Unit: nats."""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import TypeAlias

import numpy as np
from jaxtyping import Bool, Float, Int

from likely.attribution.thinning import Lineage
from likely.core.branches import Branches

Tokens: TypeAlias = tuple[int, ...]


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
    """Tuples that a round read to the end of the prompt.

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

    @classmethod
    def sure(cls, tokens: Int[np.ndarray, "n g"], read: Float[np.ndarray, "n L"]) -> "Nodes":
        """Return tuples that were sure to be read."""
        shape = (len(tokens), tokens.shape[1] - 1)
        lineage = Lineage(label=np.full(shape, -1), chance=np.ones(shape))
        return cls(tokens=tokens, read=read, chance=np.ones(len(tokens)), lineage=lineage)

    @property
    def log_x(self) -> Float[np.ndarray, "n"]:
        """Log of w a."""
        return np.asarray(self.read.sum(axis=1))


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """What the tuples of a round read of one response.

    Attributes:
        said: Shape ``(n, R)``: log-probability of each token; 0 for those not read.
        chance: Shape ``(n,)``: that the tuple was read to the end of the response; 0 for one that
            was not.
    """

    said: Float[np.ndarray, "n R"]
    chance: Float[np.ndarray, "n"]

    @property
    def done(self) -> Int[np.ndarray, "m"]:
        """Which tuples were read to the end."""
        return np.flatnonzero(self.chance > 0.0)

    @property
    def log_b(self) -> Float[np.ndarray, "n"]:
        """Log-probability of what was read."""
        return np.asarray(self.said.sum(axis=1))


@dataclass(kw_only=True)
class Memo:
    """Tuples that were read to the end of a response, in any round.

    Attributes:
        read: Shape ``(n, L)``: log-probability of each token of the line.
        said: For each response, shape ``(n, R)``: of each of its tokens.
        is_heard: Shape ``(n, K)``: which responses were read to the end.
        rows: Where each tuple stands.
    """

    read: Float[np.ndarray, "n L"]
    said: list[Float[np.ndarray, "n _"]]
    is_heard: Bool[np.ndarray, "n K"]
    rows: dict[Tokens, int] = field(default_factory=dict)

    @classmethod
    def of(cls, line: Line) -> "Memo":
        """Return the memo of a line of which nothing was read."""
        return cls(
            read=np.empty((0, len(line.tokens))),
            said=[np.empty((0, len(response))) for response in line.responses],
            is_heard=np.empty((0, len(line.responses)), dtype=bool),
        )

    @property
    def n_whole(self) -> int:
        """How many tuples were read to the end of every response."""
        return int(self.is_heard.all(axis=1).sum())

    def find(self, tokens: Int[np.ndarray, "b g"]) -> Int[np.ndarray, "b"]:
        """Return the row of each tuple; -1 for one that was not read to any end."""
        found = [self.rows.get(one, -1) for one in map(tuple, tokens.tolist())]
        return np.array(found, dtype=np.int64)

    def find_whole(self, tokens: Int[np.ndarray, "b g"]) -> Int[np.ndarray, "b"]:
        """Return the row of each tuple; -1 for one that was not read to every end."""
        row = self.find(tokens)
        is_known = row >= 0
        row[is_known] = np.where(self.is_heard[row[is_known]].all(axis=1), row[is_known], -1)
        return row

    def recall(
        self, row: Int[np.ndarray, "b"], start: int, stop: int, *, kind: int | None = None
    ) -> Float[np.ndarray, "b k"]:
        """Return what was read of the line, or of a response, from one token to another.

        Args:
            row: Shape ``(b,)``: of the tuples; where it is -1 what is returned is 0.
            start: First token.
            stop: The one after the last.
            kind: Which response; None for the line.
        """
        found = np.zeros((len(row), stop - start))
        is_known = row >= 0
        source = self.read if kind is None else self.said[kind]
        found[is_known] = source[row[is_known], start:stop]
        return found

    def note(self, nodes: Nodes, heard: Sequence[Heard]) -> None:
        """Keep what a round read to an end."""
        done = np.stack([one.chance > 0.0 for one in heard], axis=1)
        row = self.find(nodes.tokens)
        new = np.flatnonzero(done.any(axis=1) & (row < 0))
        row[new] = np.arange(len(self.read), len(self.read) + len(new))
        names = map(tuple, nodes.tokens[new].tolist())
        self.rows.update(zip(names, row[new].tolist(), strict=True))
        self.read = np.concatenate([self.read, nodes.read[new]])
        is_heard = np.zeros((len(new), len(heard)), dtype=bool)
        self.is_heard = np.concatenate([self.is_heard, is_heard])
        for kind, one in enumerate(heard):
            said = np.concatenate([self.said[kind], np.zeros((len(new), one.said.shape[1]))])
            said[row[done[:, kind]]] = one.said[done[:, kind]]
            self.said[kind] = said
            self.is_heard[row[done[:, kind]], kind] = True


@dataclass(kw_only=True)
class Shoots:
    """Rows of which some grow as branches of the stem, and others were read in an earlier round.

    Attributes:
        at: Shape ``(b,)``: the branch of each row; -1 for one that has none.
        branches: Of the stem; None if there are none.
    """

    at: Int[np.ndarray, "b"]
    branches: Branches | None

    def take(self, index: Int[np.ndarray, "k"]) -> "Shoots":
        """Return some of the rows; the branches are the same, and grow with the new rows alone."""
        return Shoots(at=self.at[index], branches=self.branches)

    def without(self, rows: Bool[np.ndarray, "b"]) -> "Shoots":
        """Return the same where some rows have no branch any more."""
        return Shoots(at=np.where(rows, -1, self.at), branches=self.branches)

    def grow(
        self, tokens: Int[np.ndarray, "b k"], known: Float[np.ndarray, "b k"], *, last: bool
    ) -> Float[np.ndarray, "b k"]:
        """Return the log-probability of tokens after each row, of those without a branch as known.

        Args:
            tokens: Shape ``(b, k)``.
            known: Shape ``(b, k)``, used for rows that have no branch.
            last: As `Branches.grow`.
        """
        branches = self.live()
        if branches is None:
            return known
        found = known.copy()
        found[self.at >= 0] = branches.grow(tokens[self.at >= 0], last=last)
        return found

    def append(self, tokens: Int[np.ndarray, "b k"]) -> None:
        """Append tokens to the rows that have a branch."""
        branches = self.live()
        if branches is not None:
            branches.append(tokens[self.at >= 0])

    def live(self) -> Branches | None:
        """Return the branches of the rows that have one, in their order, others being let go."""
        held = self.at[self.at >= 0]
        if self.branches is None or not len(held):
            return None
        if not np.array_equal(held, np.arange(len(self.branches))):
            self.branches.keep(held)
            self.at = np.where(self.at >= 0, np.cumsum(self.at >= 0) - 1, -1)
        return self.branches


@dataclass(kw_only=True)
class Front:
    """Tuples, or beginnings of them, that read the prompt, all to the same point.

    Attributes:
        root: Shape ``(b,)``: place of the first token among the allowed ids.
        tokens: Shape ``(b, g)``: drawn so far.
        read: Shape ``(b, t)``: log-probability of each token of the line so far.
        chance: Shape ``(b,)``: of having come so far.
        mark: Shape ``(b,)``: the node's lot times the chance of its parent: it is there while
            this lies below its chance.
        is_actual: Shape ``(b,)``: whether it is what stands there, which is never dropped.
        lineage: Its beginnings.
        row: Shape ``(b,)``: where the memo has it; -1 for what is read from the model.
        shoots: What reads it.
    """

    root: Int[np.ndarray, "b"]
    tokens: Int[np.ndarray, "b g"]
    read: Float[np.ndarray, "b t"]
    chance: Float[np.ndarray, "b"]
    mark: Float[np.ndarray, "b"]
    is_actual: Bool[np.ndarray, "b"]
    lineage: Lineage
    row: Int[np.ndarray, "b"]
    shoots: Shoots

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
        self.chance, self.mark = self.chance[index], self.mark[index]
        self.is_actual, self.row = self.is_actual[index], self.row[index]
        self.lineage, self.shoots = self.lineage.take(index), self.shoots.take(index)


@dataclass(kw_only=True)
class Answers:
    """Tuples that read a response each, all to the same number of tokens.

    Attributes:
        node: Shape ``(b,)``: which tuple.
        kind: Shape ``(b,)``: which response.
        chance: Shape ``(b,)``: of having come so far.
        mark: Shape ``(b,)``: it goes on while this lies below its chance.
        row: Shape ``(b,)``: where the memo has the tuple with this response, or -1.
        shoots: What reads it.
    """

    node: Int[np.ndarray, "b"]
    kind: Int[np.ndarray, "b"]
    chance: Float[np.ndarray, "b"]
    mark: Float[np.ndarray, "b"]
    row: Int[np.ndarray, "b"]
    shoots: Shoots

    def __len__(self) -> int:
        """Return b."""
        return len(self.node)

    def keep(self, index: Int[np.ndarray, "k"]) -> None:
        """Go on with these alone, in this order."""
        self.node, self.kind, self.row = self.node[index], self.kind[index], self.row[index]
        self.chance, self.mark = self.chance[index], self.mark[index]
        self.shoots = self.shoots.take(index)


@dataclass(frozen=True, slots=True, kw_only=True)
class Children:
    """Next tokens drawn after some nodes.

    Attributes:
        parent: Shape ``(c,)``: which node each goes on from.
        child: Shape ``(c,)``: its place among the allowed ids.
        log_prob: Shape ``(c,)``: given what stands before it, nats.
        mark: Shape ``(c,)``: it is there while this lies below its chance.
        log_chance: Shape ``(c,)``: log of that chance, up to a constant.
        n_open: Shape ``(b,)``: how many might have been drawn after each node.
        log_allowed: Shape ``(b,)``: log-probability of these together.
        log_tempered: Shape ``(b,)``: log of the sum of powers of their probabilities, 0 at least.
    """

    parent: Int[np.ndarray, "c"]
    child: Int[np.ndarray, "c"]
    log_prob: Float[np.ndarray, "c"]
    mark: Float[np.ndarray, "c"]
    log_chance: Float[np.ndarray, "c"]
    n_open: Int[np.ndarray, "b"]
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
