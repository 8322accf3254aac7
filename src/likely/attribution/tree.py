"""The engine of groups and of contrasts: candidates that begin alike are drawn as one. Unit: nats.

A candidate of a group is a tuple of tokens, one for each of its positions; any tuple of as many
tokens may stand there. There are V to the power of their number, so a tuple is drawn token by
token: the first from its prior row, each next one from the model's own law after what stands before
it, the prompt's own tokens between the positions included. What is read at any point (tokens
between, the rest of the prompt, the response) narrows the posterior over what was drawn, and at
each step a node of the tree goes on with a chance that follows its share of it, as in
`likely.attribution.search`. A tuple that is read to the end counts one over its chance, which makes
the sums N and D unbiased. Tuples with the same beginning share the draws of that beginning:
`likely.attribution.thinning` says what that does to the variance, and how it is estimated.

Two responses are one more branching: after the rest of the prompt, which is read once, a candidate
goes on to each of them, and is kept or dropped for each on its own.

Unlike in a search of single tokens, a round takes as certain what earlier rounds read to the end,
and draws afresh from all else.

Sources:
    Horvitz and Thompson (1952); Fearnhead and Clifford (2003); Lew and others (2023),
    arXiv 2306.03081, for sequential Monte Carlo over tokens with the model's own proposals.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Bool, Float, Int

from likely.attribution.evidence import NOTHING_OMITTED, Evidence, Omitted
from likely.attribution.readings import Answers, Children, Front, Line, Nodes, Readings
from likely.attribution.search import (
    AT_ONCE,
    TEMPER,
    guide,
    later_share,
    step_size,
    whole_cost,
)
from likely.attribution.thinning import Lineage, Thinned
from likely.core.branches import Stem
from likely.core.logspace import logsumexp
from likely.errors import InputError

MOST = 1 << 20
"""Tuples that can be evaluated one by one: beyond this they do not fit into memory."""

_BEFORE_LAST = 0.25
"""Size of the draws of all tokens of a tuple but the last, to that of the last. Each of them costs
a whole next-token row; on the laws of the tests four times as many gain nothing (docs)."""

_SLACK = 1e-12  # share of a node's mass that rounding may hide

Tokens = tuple[int, ...]


@dataclass(kw_only=True)
class TreeSearch:
    """What is known so far about the tuples that might stand at a place.

    Attributes:
        stem: Context and prompt.
        line: What is read.
        allowed: For each position the ids that may stand there, sorted.
        log_first: Log-probability of each at the first position, nats.
        log_topic: Shape ``(V,)``, of all ids: what the later text is about, as `guide` takes it;
            ``-inf`` for nothing known.
        rng: Of the draws.
    """

    stem: Stem
    line: Line
    allowed: Sequence[Int[np.ndarray, "_"]]
    log_first: Float[np.ndarray, "v"]
    log_topic: Float[np.ndarray, "V"]
    rng: np.random.Generator
    size: float = np.inf
    is_whole: bool = False
    aside: float = 0.0  # mass of tuples that hold an id not allowed at a later position
    # By first token: the log of its chance in a round of size 1; the share of the posterior that
    # the latest round did not read to the end, when last seen; and the log-probability of the
    # prompt's tokens up to the next position.
    log_allotted: Float[np.ndarray, "v"] = field(init=False)
    log_seen: Float[np.ndarray, "v"] = field(init=False)
    log_left: Float[np.ndarray, "v"] = field(init=False)
    # By response: read to its end; and to the end of the prompt alone, which of these in earlier
    # rounds, so that what they weigh in D is certain.
    done: list[Readings] = field(init=False)
    part: list[Readings] = field(init=False)
    seen: list[set[Tokens]] = field(init=False)
    # Tuples that were read to an end: to which, a bit a response; and of those that were read to
    # every end, by what comes before it, where the last token stands among the allowed.
    known: dict[Tokens, int] = field(default_factory=dict)
    closed: dict[Tokens, list[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.log_allotted = guide(self.log_first, self.log_topic[self.allowed[0]])
        self.log_seen = np.zeros(len(self.log_first))
        self.done = [self._nothing(len(response)) for response in self.line.responses]
        self.part = [self._nothing(1) for _ in self.line.responses]
        self._settle()

    @property
    def n_candidates(self) -> int:
        """How many tuples there are, as far as the first token does not rule them out."""
        first = int((self.log_first > -np.inf).sum())
        return first * math.prod(len(ids) for ids in self.allowed[1:])

    @property
    def n_left(self) -> int:
        """How many of them were not read to the end."""
        n_done = min(len(done.node) for done in self.done)
        return 0 if self.is_whole else self.n_candidates - n_done

    @property
    def most_cost(self) -> float:
        """How many token evaluations a round takes at most for each unit of its size."""
        n_after, n_before = len(self.suffix), self.line.n_places - 1
        each = whole_cost(self.stem, self.line.length, n_after)
        return 1.0 + _BEFORE_LAST * n_before + later_share(n_after) * each

    @property
    def cost_left(self) -> int:
        """How many token evaluations it would take to evaluate them."""
        return self.n_left * whole_cost(self.stem, self.line.length, len(self.suffix))

    @property
    def suffix(self) -> Int[np.ndarray, "T"]:
        """The tokens that are read after the first of a tuple."""
        return np.concatenate([self.line.tokens[1:], *self.line.responses])

    def exhaust(self) -> None:
        """Read every tuple to the end.

        Raises:
            InputError: There are more than `MOST`.
        """
        if self.n_candidates > MOST:
            raise InputError(
                f"{self.line.n_places} positions may hold {self.n_candidates} tuples of tokens, "
                f"more than the {MOST} that can be evaluated one by one: take method='adaptive' "
                "with a budget"
            )
        self._settle()
        roots = np.flatnonzero(self.log_allotted > -np.inf)
        size = max(1, AT_ONCE // math.prod(len(ids) for ids in self.allowed[1:]))
        for start in range(0, len(roots), size):
            part = roots[start : start + size]
            self._run(self._front(part, np.ones(len(part))), np.inf)
        self.is_whole = True

    def draw(self, size: float) -> None:
        """Run a round: draw from all that were not read to the end.

        Args:
            size: How many last tokens would be drawn if the posterior were flat; the more it is
                peaked, the fewer are.
        """
        self._settle()
        self.size = size
        first = size if self.line.n_places == 1 else _BEFORE_LAST * size
        chance = np.minimum(1.0, first * np.exp(self.log_allotted))
        is_open = self.log_allotted > -np.inf
        chance[is_open & (self.allowed[0] == self.line.actual[0])] = 1.0
        drawn = np.flatnonzero(is_open & (self.rng.random(len(chance)) < chance))
        self.is_whole = len(drawn) == int(is_open.sum())  # until something else is left out
        if len(drawn):
            self._run(self._front(drawn, chance[drawn]), size)
        self._allot(drawn, chance[drawn])

    def evidence(self, kind: int = 0) -> Evidence:
        """Return what is known now, with one of the responses.

        Raises:
            InputError: What stands at the positions has no probability.
        """
        done, part, free = self.done[kind], self.part[kind], self.line.free
        is_other = np.any(done.nodes.tokens != self.line.actual, axis=1)
        if is_other.all():
            raise InputError(
                f"the prompt is impossible at positions {self.line.places!r}: the model gives what "
                "stands there no probability"
            )
        first = np.argsort(is_other, kind="stable")
        nodes = done.nodes.take(first).joined(part.nodes)
        n_response = len(self.line.responses[kind])
        unread = np.full((len(part.chance), n_response), -np.inf)
        is_seen = [tokens in self.seen[kind] for tokens in map(tuple, nodes.tokens.tolist())]
        return Evidence(
            places=self.line.places,
            tokens=nodes.tokens,
            log_prior=nodes.read[:, free].sum(axis=1),
            log_prompt=nodes.read[:, ~free].sum(axis=1),
            log_response=np.concatenate([done.said[first], unread]),
            inclusion=np.concatenate([done.chance[first], np.zeros(len(unread))]),
            prompt_inclusion=np.where(is_seen, 1.0, nodes.chance),
            resolution=0.0 if self.is_whole else 1.0 / self.size,
            omitted=NOTHING_OMITTED if self.is_whole else self._omitted(kind),
            lineage=nodes.lineage,
        )

    def thinned(self) -> Thinned:
        """Return the chances of all that was read to an end, one response after the other.

        A tuple that was read to the end of two responses shares with itself the draws up to the
        end of the prompt.
        """
        chance = np.concatenate([done.chance for done in self.done])
        lineages = [done.nodes.lineage.below(done.node, done.nodes.chance) for done in self.done]
        return Thinned(
            chance, chance, 0.0 if self.is_whole else 1.0 / self.size, Lineage.joined(lineages)
        )

    def _allot(self, roots: Int[np.ndarray, "b"], chance: Float[np.ndarray, "b"]) -> None:
        """Let the next round draw first tokens by the share that is left under each."""
        log_whole = self.log_left.copy()
        for done in self.done:
            log_y = done.nodes.read.sum(axis=1) + done.said.sum(axis=1)
            log_share = log_y - logsumexp(log_y - np.log(done.chance)) - np.log(len(self.done))
            np.logaddexp.at(
                log_whole, np.searchsorted(self.allowed[0], done.nodes.tokens[:, 0]), log_share
            )
        log_all = logsumexp(TEMPER * log_whole[roots] - np.log(chance))
        self.log_allotted[roots] = TEMPER * self.log_left[roots] - log_all

    def _omitted(self, kind: int) -> Omitted:
        """Return bounds for tuples dropped in a response, and for all others by first token."""
        part, free = self.part[kind], self.line.free
        log_x, said = part.nodes.read.sum(axis=1), part.said.sum(axis=1)
        seen = self.done[kind].nodes.joined(part.nodes)
        prior = np.exp(self.log_first)
        left = prior - np.bincount(
            np.searchsorted(self.allowed[0], seen.tokens[:, 0]),
            weights=np.exp(seen.read[:, free].sum(axis=1)),
            minlength=len(prior),
        )
        if self.line.n_places == 1:
            prior[np.searchsorted(self.allowed[0], seen.tokens[:, 0])] = 0.0
            left = prior
        blocks = np.flatnonzero(prior > 0.0)
        log_left = np.log(np.maximum(left, _SLACK * prior)[blocks])
        log_bound = log_left + self.log_seen[blocks]
        return Omitted(
            log_prior=np.concatenate([part.nodes.read[:, free].sum(axis=1), log_left]),
            log_prompt_bound=np.concatenate([log_x, log_bound]),
            log_response_bound=np.concatenate([log_x + said, log_bound]),
            log_b_bound=np.concatenate([said, np.zeros(len(blocks))]),
        )

    def _nothing(self, n_said: int) -> Readings:
        n_places, n_tokens = self.line.n_places, len(self.line.tokens)
        lineage = Lineage(
            label=np.empty((0, n_places - 1), dtype=np.int64), chance=np.empty((0, n_places - 1))
        )
        nodes = Nodes(
            tokens=np.empty((0, n_places), dtype=np.int64), read=np.empty((0, n_tokens)),
            chance=np.empty(0), lineage=lineage,
        )  # fmt: skip
        return Readings(
            nodes=nodes, node=np.empty(0, dtype=np.int64), said=np.empty((0, n_said)),
            chance=np.empty(0),
        )  # fmt: skip

    def _settle(self) -> None:
        """Take what was read to the end as certain from now on."""
        self.done = [readings.settled() for readings in self.done]
        self.part = [readings.settled() for readings in self.part]
        self.seen = [set(map(tuple, one.nodes.tokens.tolist())) for one in self.part]
        self.log_left = np.full(len(self.log_first), -np.inf)
        self.aside = 0.0
        self.known, self.closed = {}, {}
        for kind, readings in enumerate(self.done):
            for tokens in map(tuple, readings.nodes.tokens.tolist()):
                self.known[tokens] = self.known.get(tokens, 0) | 1 << kind
        for tokens, bits in self.known.items():
            if bits == self._every_kind:
                place = int(np.searchsorted(self.allowed[-1], tokens[-1]))
                self.closed.setdefault(tokens[:-1], []).append(place)

    @property
    def _every_kind(self) -> int:
        return (1 << len(self.line.responses)) - 1

    def _closed(self) -> Float[np.ndarray, "n L"]:
        """Return what was read of the line by each tuple that was read to every end."""
        nodes = self.done[0].nodes
        bits = [self.known.get(tokens, 0) for tokens in map(tuple, nodes.tokens.tolist())]
        return np.asarray(nodes.read[np.array(bits, dtype=np.int64) == self._every_kind])

    def _front(self, roots: Int[np.ndarray, "b"], chance: Float[np.ndarray, "b"]) -> Front:
        tokens = self.allowed[0][roots][:, None]
        branches = self.stem.branches(self.line.length, len(roots))
        branches.append(tokens)
        lineage = Lineage(
            label=np.empty((len(roots), 0), dtype=np.int64), chance=np.empty((len(roots), 0))
        )
        return Front(
            root=roots, tokens=tokens, read=self.log_first[roots][:, None], chance=chance,
            is_actual=tokens[:, 0] == self.line.actual[0], lineage=lineage, branches=branches,
        )  # fmt: skip

    def _run(self, front: Front, size: float) -> None:
        """Read the line after each first token, drawing later tokens and thinning on the way."""
        at, n_slots = 1, 1
        later = size * later_share(len(self.suffix))
        while at < len(self.line.tokens) and len(front):
            if self.line.free[at]:
                n_slots += 1
                is_last = n_slots == self.line.n_places
                self._expand(front, size if is_last else _BEFORE_LAST * size, is_last=is_last)
                at += 1
            else:
                at = self._read(front, at, later, is_last=n_slots == self.line.n_places)
        if len(front):
            self._answer(front, later)

    def _read(self, front: Front, at: int, size: float, *, is_last: bool) -> int:
        """Read the prompt's tokens up to the next position, and return where that is.

        What is left at the end of the prompt is not thinned before `_answer` has noted it.
        """
        end = at + self.line.run(at)
        start = at
        closed = self._closed() if is_last else np.empty((0, len(self.line.tokens)))
        while at < end and len(front):
            n = end - at if size == np.inf else step_size(len(front), at - start, end - at)
            block = np.broadcast_to(self.line.tokens[at : at + n], (len(front), n))
            is_end = at + n == len(self.line.tokens)
            has_more = not is_end or any(len(response) for response in self.line.responses)
            front.read = np.concatenate(
                [front.read, front.branches.grow(block, last=not has_more)], axis=1
            )
            at += n
            if front.tokens.shape[1] == 1:
                self.log_seen[front.root] = front.read[:, 1:].sum(axis=1)
            if size < np.inf and not is_end:
                self._thin_front(front, closed[:, :at].sum(axis=1), size)
        return end

    def _thin_front(self, front: Front, log_closed: Float[np.ndarray, "c"], size: float) -> None:
        log_share, after = thin(front.log_y[None], front.chance, log_closed[None], size)
        after[front.is_actual] = 1.0
        kept = self.rng.random(len(front)) * front.chance < after
        self._leave(front.root[~kept], log_share[~kept])
        front.chance = after
        front.keep(np.flatnonzero(kept))

    def _leave(self, roots: Int[np.ndarray, "d"], log_share: Float[np.ndarray, "d"]) -> None:
        """Note what is not read on, by its first token."""
        if len(roots):
            self.is_whole = False
            np.logaddexp.at(self.log_left, roots, log_share)

    def _expand(self, front: Front, size: float, *, is_last: bool) -> None:
        """Draw the next token of each node from all that the model may go on with."""
        n_slots = front.tokens.shape[1]
        log_weight = -np.log(front.chance)
        log_share = front.log_y - float(logsumexp(front.log_y + log_weight))
        drawn = self._draw_children(front, log_share, size, is_last=is_last)
        parent, token = drawn.parent, self.allowed[n_slots][drawn.child]
        is_actual = front.is_actual[parent] & (token == self.line.actual[n_slots])
        chance, kept = np.ones(len(parent)), np.ones(len(parent), dtype=bool)
        if size < np.inf:
            log_all = float(logsumexp(TEMPER * log_share + log_weight + drawn.log_tempered))
            chance = np.minimum(front.chance[parent], size * np.exp(drawn.log_chance - log_all))
            chance[is_actual] = 1.0
            kept = drawn.lot < chance
        self._leave_children(front, log_share, drawn, kept)
        parent = parent[kept]
        label, parent_chance = parent, front.chance[parent]
        front.keep(parent)
        front.chance, front.is_actual = chance[kept], is_actual[kept]
        front.tokens = np.column_stack([front.tokens, token[kept]])
        front.read = np.column_stack([front.read, drawn.log_prob[kept]])
        front.lineage = front.lineage.below(label, parent_chance)
        if len(front):
            front.branches.append(front.tokens[:, -1:])

    def _draw_children(
        self, front: Front, log_share: Float[np.ndarray, "b"], size: float, *, is_last: bool
    ) -> Children:
        """Return children drawn with at least the chance they are to have, and their lots.

        Chances are allotted to a node by its share and by how flat its row is, and among its
        children as `guide` says. What they sum to is known once all rows were seen; until then it
        is taken for as little as it can be: no row counts less than one that is sure.
        """
        least = float(logsumexp(TEMPER * log_share - np.log(front.chance)))
        allowed = self.allowed[front.tokens.shape[1]]
        actual = int(np.searchsorted(allowed, self.line.actual[front.tokens.shape[1]]))
        chunks = []
        at = 0
        for whole_rows in front.branches.iter_rows():
            part = slice(at, at + len(whole_rows))
            rows = whole_rows[:, allowed]
            log_allowed = logsumexp(rows)
            log_tempered = np.maximum(0.0, logsumexp(TEMPER * rows))
            log_chance, lot = np.zeros(rows.shape), np.zeros(rows.shape)
            most = np.ones(rows.shape)
            if size < np.inf:
                log_node = TEMPER * log_share[part] + log_tempered
                log_chance = log_node[:, None] + guide(rows, self.log_topic[allowed])
                most = np.minimum(front.chance[part, None], size * np.exp(log_chance - least))
                lot = self.rng.random(rows.shape) * front.chance[part, None]
                lot[front.is_actual[part], actual] = 0.0
                most[front.is_actual[part], actual] = 1.0
            if is_last:
                for i, tokens in enumerate(front.tokens[part].tolist()):
                    rows[i, self.closed.get(tuple(tokens), [])] = -np.inf
            is_open = rows > -np.inf
            parent, child = np.nonzero(is_open & (lot < most))
            chunk = Children(
                parent=parent + at, child=child, log_prob=rows[parent, child],
                lot=lot[parent, child], log_chance=log_chance[parent, child],
                n_open=is_open.sum(axis=1), log_open=logsumexp(rows), log_allowed=log_allowed,
                log_tempered=log_tempered,
            )  # fmt: skip
            chunks.append(chunk)
            at += len(whole_rows)
        return Children.joined(chunks)

    def _leave_children(
        self,
        front: Front,
        log_share: Float[np.ndarray, "b"],
        drawn: Children,
        kept: Bool[np.ndarray, "c"],
    ) -> None:
        """Note the children that were not drawn, and the mass of ids that are not allowed."""
        n_nodes, parent = len(front), drawn.parent[kept]
        is_short = np.bincount(parent, minlength=n_nodes) < drawn.n_open
        taken = np.bincount(parent, weights=np.exp(drawn.log_prob[kept]), minlength=n_nodes)
        mass = np.exp(drawn.log_open[is_short])
        left = np.maximum(mass - taken[is_short], _SLACK * mass)
        self._leave(front.root[is_short], log_share[is_short] + np.log(left))
        log_prior = front.read[:, self.line.free[: front.read.shape[1]]].sum(axis=1)
        excluded = np.maximum(0.0, -np.expm1(np.minimum(0.0, drawn.log_allowed)))
        self.aside += float(np.sum(np.exp(log_prior) / front.chance * excluded))

    def _answer(self, front: Front, size: float) -> None:
        """Read the responses after each tuple, thinning them on the way."""
        nodes = Nodes(
            tokens=front.tokens, read=front.read, chance=front.chance, lineage=front.lineage
        )
        n_kinds = len(self.line.responses)
        known = [self.known.get(tokens, 0) for tokens in map(tuple, front.tokens.tolist())]
        is_open = (np.array(known)[:, None] >> np.arange(n_kinds) & 1) == 0
        kept, chance = np.ones(len(front), dtype=bool), front.chance
        n_read = self.line.n_last
        if size < np.inf and n_read and any(map(len, self.line.responses)):
            log_closed = self._closed().sum(axis=1)
            log_share, chance = thin(front.log_y[None], front.chance, log_closed[None], size)
            chance[front.is_actual] = 1.0
            kept = self.rng.random(len(front)) * front.chance < chance
            self._leave(front.root[~kept], log_share[~kept])
        node, kind = np.nonzero((is_open & kept[:, None]).T)[::-1]
        if len(node):
            front.branches.keep(node)
        answers = Answers(
            node=node, kind=kind, said=np.empty((len(node), 0)), chance=chance[node],
            branches=front.branches,
        )  # fmt: skip
        said = np.zeros((len(front), n_kinds))
        is_done = self._hear(answers, nodes, front, said, size)
        for one in range(n_kinds):
            self._set_aside(one, nodes, is_open[:, one], is_done[:, one], said[:, one])

    def _set_aside(
        self,
        kind: int,
        nodes: Nodes,
        is_open: Bool[np.ndarray, "n"],
        is_done: Bool[np.ndarray, "n"],
        said: Float[np.ndarray, "n"],
    ) -> None:
        """Keep what was read to the end of the prompt and not to that of a response."""
        before, names = self.part[kind], list(map(tuple, nodes.tokens.tolist()))
        finished = {name for name, done in zip(names, is_done.tolist(), strict=True) if done}
        stays = [name not in finished for name in map(tuple, before.nodes.tokens.tolist())]
        is_new = [name not in self.seen[kind] for name in names]
        index = np.flatnonzero(is_open & ~is_done & np.array(is_new))
        new = Readings(
            nodes=nodes.take(index), node=index, said=said[index, None],
            chance=nodes.chance[index],
        )  # fmt: skip
        self.part[kind] = before.take(np.flatnonzero(stays)).joined(new)

    def _hear(
        self,
        answers: Answers,
        nodes: Nodes,
        front: Front,
        said: Float[np.ndarray, "n K"],
        size: float,
    ) -> Bool[np.ndarray, "n K"]:
        """Read all responses, and return which node was read to the end of which."""
        lengths = np.array([len(response) for response in self.line.responses])
        is_done = np.zeros(said.shape, dtype=bool)
        t = 0
        while True:
            ended = lengths[answers.kind] == t
            for kind in np.unique(answers.kind[ended]).tolist():
                self._finish(answers, nodes, ended & (answers.kind == kind), kind)
            is_done[answers.node[ended], answers.kind[ended]] = True
            answers.keep(np.flatnonzero(~ended))
            if not len(answers):
                return is_done
            left = int(lengths[answers.kind].min()) - t
            n = left if size == np.inf else step_size(len(answers), self.line.n_last + t, left)
            texts = [response[t : t + n] for response in self.line.responses]
            block = np.array([texts[kind] for kind in answers.kind.tolist()])
            is_end = bool(np.all(lengths[answers.kind] == t + n))
            heard = answers.branches.grow(block, last=is_end)
            answers.said = np.concatenate([answers.said, heard], axis=1)
            t += n
            said[answers.node, answers.kind] = answers.said.sum(axis=1)
            if size < np.inf:
                self._thin_answers(answers, nodes, front, lengths, size)

    def _thin_answers(
        self,
        answers: Answers,
        nodes: Nodes,
        front: Front,
        lengths: Int[np.ndarray, "K"],
        size: float,
    ) -> None:
        """Drop some of those whose response goes on, each response for itself."""
        t = answers.said.shape[1]
        chance = answers.chance.copy()
        said = answers.said.sum(axis=1)
        log_y = nodes.read[answers.node].sum(axis=1) + said
        log_share = np.full(len(answers), -np.inf)
        for kind in np.unique(answers.kind[lengths[answers.kind] > t]).tolist():
            own = np.flatnonzero(answers.kind == kind)
            done = self.done[kind]
            log_x, log_sure = log_y[own] - said[own], done.nodes.read.sum(axis=1)
            log_share[own], chance[own] = thin(
                np.array([log_x, log_y[own]]), chance[own],
                np.array([log_sure, log_sure + done.said[:, :t].sum(axis=1)]), size,
            )  # fmt: skip
        chance[front.is_actual[answers.node]] = 1.0
        kept = self.rng.random(len(answers)) * answers.chance < chance
        dropped = front.root[answers.node[~kept]]
        self._leave(dropped, log_share[~kept] - np.log(len(lengths)))
        answers.chance = chance
        answers.keep(np.flatnonzero(kept))

    def _finish(
        self, answers: Answers, nodes: Nodes, ended: Bool[np.ndarray, "b"], kind: int
    ) -> None:
        node = answers.node[ended]
        read = Readings(
            nodes=nodes.take(node), node=node, said=answers.said[ended],
            chance=answers.chance[ended],
        )  # fmt: skip
        self.done[kind] = self.done[kind].joined(read)


def thin(
    log_y: Float[np.ndarray, "k b"],
    chance: Float[np.ndarray, "b"],
    log_sure: Float[np.ndarray, "k c"],
    size: float,
) -> tuple[Float[np.ndarray, "b"], Float[np.ndarray, "b"]]:
    """Return each node's share of the posterior, and the chance to have come so far and go on.

    Args:
        log_y: Shape ``(k, b)``: log weight of what was read, nats; at several points, of which each
            counts alike: what the response rules out still makes up the law that it is compared
            with.
        chance: Shape ``(b,)``: of having come so far.
        log_sure: Shape ``(k, c)``: log weight of what is certain, read as far.
        size: How many would go on if the posterior were flat.
    """
    log_weight = np.concatenate([np.zeros(log_sure.shape[1]), -np.log(chance)])
    log_every = np.concatenate([log_sure, log_y], axis=1)
    log_shares = log_every - logsumexp(log_every + log_weight)[:, None]
    log_share = logsumexp(log_shares, axis=0) - np.log(len(log_every))
    log_all = float(logsumexp(TEMPER * log_share + log_weight))
    own = np.asarray(log_share[log_sure.shape[1] :])
    return own, np.minimum(chance, size * np.exp(TEMPER * own - log_all))
