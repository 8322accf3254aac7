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

Every node has one random number for good, its lot, and is there while its lot times the chance that
its parent had when it branched lies below its own chance: given the parent, it is there with its
chance over that of the parent. A larger round so holds a smaller one, where chances grow. A tuple
that was read to its end once is not read again; beginnings are, for their next-token rows.

Two responses are one more branching: after the rest of the prompt, which is read once, a candidate
goes on to each of them, and is kept or dropped for each on its own: for the first by the lot that
it has, for each other by a lot of its own.

Sources:
    Horvitz and Thompson (1952); Fearnhead and Clifford (2003); Ohlsson (1995) for permanent random
    numbers; Lew and others (2023), arXiv 2306.03081, for sequential Monte Carlo over tokens with
    the model's own proposals.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Bool, Float, Int

from likely.attribution.evidence import NOTHING_OMITTED, Evidence, Omitted
from likely.attribution.readings import (
    Answers,
    Children,
    Front,
    Heard,
    Line,
    Memo,
    Nodes,
    Shoots,
)
from likely.attribution.search import (
    AT_ONCE,
    TEMPER,
    by_prior,
    guide,
    later_share,
    step_size,
    whole_cost,
)
from likely.attribution.thinning import Lineage, Thinned
from likely.core.branches import Stem
from likely.core.logspace import logsumexp
from likely.core.streams import generator
from likely.errors import InputError

MOST = 1 << 20
"""Tuples that can be evaluated one by one: beyond this they do not fit into memory."""

_BEFORE_LAST = 0.25
"""Size of the draws of all tokens of a tuple but the last, to that of the last. Each of them costs
a whole next-token row; on the laws of the tests four times as many gain nothing (docs)."""

_SLACK = 1e-12  # share of a node's mass that rounding may hide


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
    is_whole: bool = False  # whether nothing was left out
    aside: float = 0.0  # mass of tuples that hold an id not allowed at a later position
    key: int = field(init=False)  # of all lots
    # By first token: the log of its chance in a round of size 1, and a bound on the log-probability
    # of the prompt's tokens up to the next position.
    log_guide: Float[np.ndarray, "v"] = field(init=False)
    log_seen: Float[np.ndarray, "v"] = field(init=False)
    memo: Memo = field(init=False)
    # The latest round: tuples that it read to the end of the prompt, and what of each response.
    nodes: Nodes = field(init=False)
    heard: list[Heard] = field(init=False)

    def __post_init__(self) -> None:
        self.key = int(self.rng.integers(1 << 62))
        self.log_guide = guide(self.log_first, self.log_topic[self.allowed[0]])
        self.log_seen = np.zeros(len(self.log_first))
        self.memo = Memo.of(self.line)
        self._take_all()

    @property
    def n_candidates(self) -> int:
        """How many tuples there are, as far as the first token does not rule them out."""
        first = int((self.log_first > -np.inf).sum())
        return first * math.prod(len(ids) for ids in self.allowed[1:])

    @property
    def n_left(self) -> int:
        """How many of them were not read to the end of every response, in any round."""
        return 0 if self.is_whole else self.n_candidates - self.memo.n_whole

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
        self.aside = 0.0
        roots = np.flatnonzero(self.log_first > -np.inf)
        size = max(1, AT_ONCE // math.prod(len(ids) for ids in self.allowed[1:]))
        for start in range(0, len(roots), size):
            part = roots[start : start + size]
            self._run(self._front(part, np.ones(len(part)), np.zeros(len(part))), np.inf)
        self.is_whole = True
        self._take_all()

    def draw(self, size: float) -> None:
        """Run a round, which holds every smaller one as far as chances have grown.

        Args:
            size: How many last tokens would be drawn if the posterior were flat; the more it is
                peaked, the fewer are.
        """
        self.size, self.aside = size, 0.0
        first = size if self.line.n_places == 1 else _BEFORE_LAST * size
        chance = np.minimum(1.0, first * np.exp(self.log_guide))
        chance[self.allowed[0] == self.line.actual[0]] = 1.0
        lot = self.lots(())
        is_open = self.log_first > -np.inf
        drawn = np.flatnonzero(is_open & (lot < chance))
        self.is_whole = len(drawn) == int(is_open.sum())  # until something else is left out
        self._run(self._front(drawn, chance[drawn], lot[drawn]), size)
        if self.is_whole:  # none of them is there by chance
            self._take_all()

    def evidence(self, kind: int = 0) -> Evidence:
        """Return what is known now, with one of the responses.

        Raises:
            InputError: What stands at the positions has no probability.
        """
        nodes, heard, free = self.nodes, self.heard[kind], self.line.free
        is_actual = np.all(nodes.tokens == self.line.actual, axis=1)
        if not is_actual.any():
            raise InputError(
                f"the prompt is impossible at positions {self.line.places!r}: the model gives what "
                "stands there no probability"
            )
        is_done = heard.chance > 0.0
        order = np.lexsort((~is_done, ~is_actual))
        tokens, read, lineage = nodes.tokens[order], nodes.read[order], nodes.lineage.take(order)
        chance, done_chance = nodes.chance[order], heard.chance[order]
        said = np.where(is_done[order, None], heard.said[order], -np.inf)
        if self._is_told:
            rest = self._unseen()
            others = Nodes.sure(self.allowed[0][rest][:, None], self.log_first[rest][:, None])
            tokens = np.concatenate([tokens, others.tokens])
            read = np.concatenate([read, others.read])
            lineage = Lineage.joined([lineage, others.lineage])
            chance = np.ones(len(tokens))
            done_chance = np.concatenate([done_chance, np.zeros(len(rest))])
            said = np.concatenate([said, np.full((len(rest), said.shape[1]), -np.inf)])
        return Evidence(
            places=self.line.places,
            tokens=tokens,
            log_prior=read[:, free].sum(axis=1),
            log_prompt=read[:, ~free].sum(axis=1),
            log_response=said,
            inclusion=done_chance,
            prompt_inclusion=chance,
            resolution=self._resolution,
            omitted=NOTHING_OMITTED if self.is_whole else self._omitted(heard),
            lineage=lineage,
        )

    def thinned(self) -> Thinned:
        """Return the chances of all that was read to an end, one response after the other.

        A tuple that was read to the end of two responses shares with itself the draws up to the
        end of the prompt.
        """
        nodes, done = self.nodes, [heard.done for heard in self.heard]
        chance = np.concatenate([heard.chance[heard.done] for heard in self.heard])
        lineages = [nodes.lineage.take(one).below(one, nodes.chance[one]) for one in done]
        return Thinned(chance, chance, self._resolution, Lineage.joined(lineages))

    @property
    def _resolution(self) -> float:
        return 0.0 if self.is_whole else 1.0 / self.size

    @property
    def _is_told(self) -> bool:
        """Whether D is known once the prior is: one position, which is the prompt's last."""
        return self.line.n_places == 1 and self.line.n_last == 0

    def lots(self, before: tuple[int, ...]) -> Float[np.ndarray, "v"]:
        """Return the lots of all tokens after some: the same whenever they are asked for."""
        return generator(self.key, *before).random(len(self.allowed[len(before)]))

    def _log_prior(self, read: Float[np.ndarray, "n t"]) -> Float[np.ndarray, "n"]:
        """Return the log-probability of what was drawn, of all that was read so far."""
        return np.asarray(read[:, self.line.free[: read.shape[1]]].sum(axis=1))

    def _roots(self) -> Int[np.ndarray, "n"]:
        """Return the place of the first token of what the latest round read."""
        return np.asarray(np.searchsorted(self.allowed[0], self.nodes.tokens[:, 0]))

    def _unseen(self) -> Int[np.ndarray, "r"]:
        """Return the first tokens under which the latest round read no tuple."""
        return np.setdiff1d(np.flatnonzero(self.log_first > -np.inf), self._roots())

    def _omitted(self, heard: Heard) -> Omitted:
        """Return bounds for tuples dropped in a response, and for all others by first token."""
        nodes, part = self.nodes, np.flatnonzero(heard.chance == 0.0)
        log_prior, log_b = self._log_prior(nodes.read), heard.log_b[part]
        if self.line.n_places == 1:
            blocks = self._unseen()
            log_left = self.log_first[blocks]
        else:
            whole = np.exp(self.log_first)
            seen = np.bincount(self._roots(), weights=np.exp(log_prior), minlength=len(whole))
            blocks = np.flatnonzero(whole > 0.0)
            log_left = np.log(np.maximum(whole - seen, _SLACK * whole)[blocks])
        log_bound = log_left + self.log_seen[blocks]
        return Omitted(
            log_prior=np.concatenate([log_prior[part], log_left]),
            log_prompt_bound=np.concatenate([nodes.log_x[part], log_bound]),
            log_response_bound=np.concatenate([nodes.log_x[part] + log_b, log_bound]),
            log_b_bound=np.concatenate([log_b, np.zeros(len(blocks))]),
        )

    def _take(self, n: int) -> None:
        """Take the first of what the memo has, read to every end, as certain."""
        tokens = np.array(list(self.memo.rows), dtype=np.int64).reshape(-1, self.line.n_places)
        self.nodes = Nodes.sure(tokens[:n], self.memo.read[:n])
        self.heard = [Heard(said=said[:n], chance=np.ones(n)) for said in self.memo.said]

    def _take_all(self) -> None:
        self._take(len(self.memo.read))

    def _front(
        self,
        roots: Int[np.ndarray, "b"],
        chance: Float[np.ndarray, "b"],
        lot: Float[np.ndarray, "b"],
    ) -> Front:
        tokens = self.allowed[0][roots][:, None]
        row = self._known(tokens)
        at = np.where(row < 0, np.cumsum(row < 0) - 1, -1)
        n_new = int((row < 0).sum())
        shoots = Shoots(
            at=at, branches=self.stem.branches(self.line.length, n_new) if n_new else None
        )
        shoots.append(tokens)
        return Front(
            root=roots, tokens=tokens, read=self.log_first[roots][:, None], chance=chance, mark=lot,
            is_actual=tokens[:, 0] == self.line.actual[0],
            lineage=Nodes.sure(tokens, tokens.astype(np.float64)).lineage, row=row, shoots=shoots,
        )  # fmt: skip

    def _known(self, tokens: Int[np.ndarray, "b g"]) -> Int[np.ndarray, "b"]:
        """Return where the memo has what was read to every end; -1 for all else."""
        if tokens.shape[1] < self.line.n_places:
            return np.full(len(tokens), -1)
        return self.memo.find_whole(tokens)

    def _run(self, front: Front, size: float) -> None:
        """Read the line after each first token, drawing later tokens and thinning on the way."""
        at = 1
        later = size * later_share(len(self.suffix))
        while at < len(self.line.tokens) and len(front):
            if self.line.free[at]:
                is_last = front.tokens.shape[1] + 1 == self.line.n_places
                self._expand(front, size if is_last else _BEFORE_LAST * size)
                at += 1
            else:
                at = self._read(front, at, later)
        if len(front):
            self._answer(front, later)
            self.memo.note(self.nodes, self.heard)
        else:  # what stands there is impossible, and so was all else that was drawn
            self._take(0)

    def _step(self, n_rows: int, n_read: int, n_all: int, n_left: int) -> int:
        """Return how many tokens to read before the next thinning, of a run and of all read."""
        again = self.line.length + n_all if self.stem.reads_anew else 0
        return step_size(n_rows, max(n_read, again), n_left)

    def _read(self, front: Front, at: int, size: float) -> int:
        """Read the prompt's tokens up to the next position, and return where that is.

        What is left at the end of the prompt is not thinned before `_answer` has noted it.
        """
        start, end = at, at + self.line.run(at)
        while at < end and len(front):
            n = end - at if size == np.inf else self._step(len(front), at - start, at, end - at)
            block = np.broadcast_to(self.line.tokens[at : at + n], (len(front), n))
            is_end = at + n == len(self.line.tokens)
            has_more = not is_end or any(len(response) for response in self.line.responses)
            known = self.memo.recall(front.row, at, at + n)
            found = front.shoots.grow(block, known, last=not has_more)
            front.read = np.concatenate([front.read, found], axis=1)
            at += n
            if front.tokens.shape[1] == 1:
                log_seen = np.minimum(self.log_seen[front.root], front.read[:, 1:].sum(axis=1))
                self.log_seen[front.root] = log_seen
            if size < np.inf and not is_end:
                log_prior = self._log_prior(front.read)
                front.chance = thin(front.log_y[None], front.chance, size, log_prior=log_prior)
                front.chance[front.is_actual] = 1.0
                self._keep(front)
        return end

    def _keep(self, rows: Front | Answers) -> None:
        """Go on with those that their lot lets go on."""
        kept = np.flatnonzero(rows.mark < rows.chance)
        if len(kept) < len(rows):
            self.is_whole = False
            rows.keep(kept)

    def _expand(self, front: Front, size: float) -> None:
        """Draw the next token of each node from all that the model may go on with."""
        n_slots = front.tokens.shape[1]
        log_weight = -np.log(front.chance)
        log_share = _shares(front.log_y, log_weight)
        drawn = self._draw_children(front, log_share, size)
        parent, token = drawn.parent, self.allowed[n_slots][drawn.child]
        self._count_aside(front, drawn)
        if len(parent) < int(drawn.n_open.sum()):
            self.is_whole = False
        chance = np.ones(len(parent))
        is_actual = front.is_actual[parent] & (token == self.line.actual[n_slots])
        if size < np.inf:
            log_all = _total(TEMPER * log_share + log_weight + drawn.log_tempered)
            wanted = size * np.exp(drawn.log_chance - log_all)
            log_prior = self._log_prior(front.read)[parent] + drawn.log_prob
            chance = np.minimum(front.chance[parent], np.maximum(wanted, by_prior(log_prior, size)))
            chance[is_actual] = 1.0
        parent_chance = front.chance[parent]
        front.keep(parent)
        front.chance, front.mark, front.is_actual = chance, drawn.mark, is_actual
        front.tokens = np.column_stack([front.tokens, token])
        front.read = np.column_stack([front.read, drawn.log_prob])
        front.lineage = front.lineage.below(parent, parent_chance)
        self._keep(front)
        front.row = self._known(front.tokens)
        front.shoots = front.shoots.without(front.row >= 0)
        front.shoots.append(front.tokens[:, -1:])

    def _draw_children(
        self, front: Front, log_share: Float[np.ndarray, "b"], size: float
    ) -> Children:
        """Return children drawn with at least the chance they are to have.

        Chances are allotted to a node by its share and by how flat its row is, and among its
        children as `guide` says. What they sum to is known once all rows were seen; until then it
        is taken for as little as it can be: no row counts less than one that is sure.
        """
        least = _total(TEMPER * log_share - np.log(front.chance))
        allowed = self.allowed[front.tokens.shape[1]]
        actual = allowed == self.line.actual[front.tokens.shape[1]]
        branches, chunks, at = front.shoots.live(), [], 0
        for whole_rows in branches.iter_rows() if branches is not None else ():
            part = slice(at, at + len(whole_rows))
            rows = whole_rows[:, allowed]
            log_tempered = np.maximum(0.0, logsumexp(TEMPER * rows))
            log_chance, mark, most = np.zeros(rows.shape), np.zeros(rows.shape), np.ones(rows.shape)
            if size < np.inf:
                log_node = TEMPER * log_share[part] + log_tempered
                log_chance = log_node[:, None] + guide(rows, self.log_topic[allowed])
                log_prior = self._log_prior(front.read[part])[:, None] + rows
                most = np.maximum(size * np.exp(log_chance - least), by_prior(log_prior, size))
                most = np.minimum(front.chance[part, None], most)
                most[np.ix_(front.is_actual[part], actual)] = 1.0
                names = map(tuple, front.tokens[part].tolist())
                mark = np.stack([self.lots(name) for name in names]) * front.chance[part, None]
            parent, child = np.nonzero((rows > -np.inf) & (mark < most))
            chunk = Children(
                parent=parent + at, child=child, log_prob=rows[parent, child],
                mark=mark[parent, child], log_chance=log_chance[parent, child],
                n_open=(rows > -np.inf).sum(axis=1), log_allowed=logsumexp(rows),
                log_tempered=log_tempered,
            )  # fmt: skip
            chunks.append(chunk)
            at += len(whole_rows)
        return Children.joined(chunks)

    def _count_aside(self, front: Front, drawn: Children) -> None:
        """Count the mass of ids that are not allowed at the next position."""
        log_prior = self._log_prior(front.read)
        excluded = np.maximum(0.0, -np.expm1(np.minimum(0.0, drawn.log_allowed)))
        self.aside += float(np.sum(np.exp(log_prior) / front.chance * excluded))

    def _answer(self, front: Front, size: float) -> None:
        """Read the responses after each tuple, thinning them on the way."""
        self.nodes = Nodes(
            tokens=front.tokens, read=front.read, chance=front.chance, lineage=front.lineage
        )
        n, responses = len(front), self.line.responses
        self.heard = [Heard(said=np.zeros((n, len(r))), chance=np.zeros(n)) for r in responses]
        answers = self._answers(front)
        t, lengths = 0, np.array([len(response) for response in responses])
        while True:
            if size < np.inf and (t or self.line.n_last):
                self._thin_answers(answers, front.is_actual, t, size)
            for kind in np.flatnonzero(lengths == t).tolist():
                ended = answers.kind == kind
                self.heard[kind].chance[answers.node[ended]] = answers.chance[ended]
            answers.keep(np.flatnonzero(lengths[answers.kind] > t))
            if not len(answers):
                return
            left = int(lengths[answers.kind].min()) - t
            n_all = len(self.line.tokens) + t
            n_read = self.line.n_last + t
            step = left if size == np.inf else self._step(len(answers), n_read, n_all, left)
            self._hear(answers, t, t + step)
            t += step

    def _answers(self, front: Front) -> Answers:
        """Return every tuple with every response, nothing of it read."""
        n, n_kinds = len(front), len(self.line.responses)
        node, kind = np.tile(np.arange(n), n_kinds), np.repeat(np.arange(n_kinds), n)
        names = list(map(tuple, front.tokens.tolist()))
        lots = [
            generator(self.key, *name, "response", other).random()
            for other in range(1, n_kinds)
            for name in names
        ]
        row = self.memo.find(front.tokens)[node]
        known = row >= 0
        known[known] = self.memo.is_heard[row[known], kind[known]]
        return Answers(
            node=node, kind=kind, chance=front.chance[node],
            mark=np.concatenate([front.mark, np.array(lots) * np.tile(front.chance, n_kinds - 1)]),
            row=np.where(known, row, -1), shoots=front.shoots.take(node).without(known),
        )  # fmt: skip

    def _thin_answers(
        self, answers: Answers, is_actual: Bool[np.ndarray, "n"], t: int, size: float
    ) -> None:
        """Drop some of those whose response goes on, each response for itself."""
        for kind, response in enumerate(self.line.responses):
            own = np.flatnonzero(answers.kind == kind)
            if len(response) > t and len(own):
                node = answers.node[own]
                log_x = self.nodes.log_x[node]
                log_ys = np.array([log_x, log_x + self.heard[kind].log_b[node]])
                log_prior = self._log_prior(self.nodes.read)[node]
                answers.chance[own] = thin(log_ys, answers.chance[own], size, log_prior=log_prior)
        answers.chance[is_actual[answers.node]] = 1.0
        self._keep(answers)

    def _hear(self, answers: Answers, start: int, stop: int) -> None:
        """Read some tokens of the responses."""
        block = np.empty((len(answers), stop - start), dtype=np.int64)
        known = np.empty(block.shape)
        kinds = np.unique(answers.kind).tolist()
        for kind in kinds:
            own = answers.kind == kind
            block[own] = self.line.responses[kind][start:stop]
            known[own] = self.memo.recall(answers.row[own], start, stop, kind=kind)
        is_end = all(len(self.line.responses[kind]) == stop for kind in kinds)
        found = answers.shoots.grow(block, known, last=is_end)
        for kind in kinds:
            own = answers.kind == kind
            self.heard[kind].said[answers.node[own], start:stop] = found[own]


def thin(
    log_y: Float[np.ndarray, "k b"],
    chance: Float[np.ndarray, "b"],
    size: float,
    *,
    log_prior: Float[np.ndarray, "b"],
) -> Float[np.ndarray, "b"]:
    """Return each node's chance to have come so far and go on.

    Args:
        log_y: Shape ``(k, b)``: log weight of what was read, nats; at several points, of which each
            counts alike: what the response rules out still makes up the law that it is compared
            with.
        chance: Shape ``(b,)``: of having come so far.
        size: How many would go on if the posterior were flat.
        log_prior: Shape ``(b,)``: log-probability of what was drawn, which some draws follow.
    """
    log_weight = -np.log(chance)
    log_share = logsumexp(_shares(log_y, log_weight), axis=0)
    most = size * np.exp(_shares(TEMPER * log_share, log_weight))
    return np.asarray(np.minimum(chance, np.maximum(most, by_prior(log_prior, size))))


def _shares(
    log_y: Float[np.ndarray, "*k b"], log_weight: Float[np.ndarray, "b"]
) -> Float[np.ndarray, "*k b"]:
    """Return the log of each one's share in the weighted sum, ``-inf`` for all if that is 0."""
    return np.asarray(log_y - _total(log_y + log_weight))


def _total(log_weights: Float[np.ndarray, "*k b"]) -> Float[np.ndarray, "*k 1"]:
    """Return the log of the sum, 0 where nothing has any weight."""
    total = logsumexp(log_weights)[..., None]
    return np.asarray(np.where(np.isneginf(total), 0.0, total))
