"""Parallel chains over inputs that go through the places in turn. Unit: nats.

Rows belong to groups of equal size, and the rows of a group walk at the inverse temperatures of a
ladder, one each; neighbours on the ladder exchange theirs by the usual ratio after every step. With
a ladder of one rung the rows are plain chains.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from likely.rare.gradient.landscape import Landscape, Reading
from likely.rare.gradient.places import draw_rows
from likely.rare.walk.tilting import log_acceptance, new_choices, proposal


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Step:
    """What one step of all rows gave.

    Attributes:
        scores: Shape ``(G, R)``: of each rung of each group, nats.
        hits: Shape ``(G, R)``: whether the event happens there.
        n_accepted: Rows whose proposal was accepted.
        exchanged: Shape ``(G, R - 1)``: whether neighbours exchanged; False too where they were
            not asked, which is every other step.
        n_arrived: Rows that came to the last rung and have been at the first since they were last
            there; 0 without a ladder.
    """

    scores: Float[np.ndarray, "G R"]
    hits: Bool[np.ndarray, "G R"]
    n_accepted: int
    exchanged: Bool[np.ndarray, "G r"]
    n_arrived: int


class Walkers:
    """Chains that start from inputs drawn from the law.

    Args:
        landscape: Reads inputs.
        ladder: Shape ``(R,)``, inverse temperatures, rising.
        n_groups: Groups of R rows.
        rng: Draws starts and steps.

    Attributes:
        ladder: The inverse temperatures now.
        n_calls: Inputs that were read, a row at a time.
    """

    def __init__(
        self,
        landscape: Landscape,
        ladder: Float[np.ndarray, "R"],
        n_groups: int,
        *,
        rng: np.random.Generator,
    ) -> None:
        self.landscape = landscape
        self.ladder = ladder
        self.rng = rng
        n_rungs, places = len(ladder), landscape.places
        self.rows = np.arange(n_groups * n_rungs).reshape(n_groups, n_rungs)  # at each rung
        self.choices = places.draw(places.log_probs, rng.random((self.rows.size, len(places))))
        self._is_fresh = np.zeros(self.rows.size, dtype=bool)  # was first since it was last
        self._place = 0
        self.n_calls = 0
        self._n_steps = 0
        self.read_current()

    def read_current(self) -> None:
        """Read the current inputs whole."""
        found = self.landscape.read(self.choices)
        self.scores, self.hits, self.slopes = found.scores, found.hits, found.slopes
        self.n_calls += len(self.choices)

    def set_ladder(self, ladder: Float[np.ndarray, "R"]) -> None:
        """Walk at other inverse temperatures from now on; no row has been at the first of them.

        Args:
            ladder: As many as before, rising.
        """
        self.ladder = ladder
        self._is_fresh[:] = False

    @property
    def betas(self) -> Float[np.ndarray, "n"]:
        """The inverse temperature of each row."""
        found = np.empty(self.rows.size)
        found[self.rows] = self.ladder
        return found

    def walk(self, n_calls: int) -> Iterator[Step]:
        """Yield steps for as long as the calls suffice for one more.

        Args:
            n_calls: How many inputs may have been read in all, with those so far.
        """
        while self.n_calls + self.next_cost <= n_calls:
            yield self.step()

    @property
    def next_cost(self) -> int:
        """How many inputs the next step reads: the current ones too, where slopes are forgotten."""
        again = self.landscape.forgets and self._place == 0 and self._n_steps > 0
        return self.rows.size * (2 if again else 1)

    def step(self) -> Step:
        """Return what one step of all rows gives: a token of the next place, then exchanges."""
        if self.next_cost > self.rows.size:
            self.read_current()
        n_accepted = self._move(self._place)
        self._place = (self._place + 1) % len(self.landscape.places)
        exchanged = self._exchange()
        self._n_steps += 1
        return Step(
            scores=self.scores[self.rows], hits=self.hits[self.rows], n_accepted=n_accepted,
            exchanged=exchanged, n_arrived=self._count_arrivals(),
        )  # fmt: skip

    def proposals(self, place: int) -> Float[np.ndarray, "n k"]:
        """Return how likely each token of a place is to be proposed, row by row, nats."""
        return self._leaning(place, self.slopes)

    def weigh(
        self, place: int, new: Int[np.ndarray, "n"], there: Float[np.ndarray, "n k"]
    ) -> tuple[Reading, Float[np.ndarray, "n"]]:
        """Return what rows are with one token changed, and by what ratio that is accepted.

        Args:
            place: Where it changes.
            new: What it changes to, row by row.
            there: As `proposals` gives it.

        Returns:
            What they are, and the log of the ratio.
        """
        places, betas, each = self.landscape.places, self.betas, np.arange(self.rows.size)
        old, law = self.choices[:, place], places.log_probs[place]
        found = self.landscape.propose(new_choices(self.choices, place, new), place)
        self.n_calls += len(new)
        back = self._leaning(place, found.slopes)
        return found, log_acceptance(
            betas, found.scores - self.scores, (law[old], law[new]),
            (there[each, new], back[each, old]),
        )  # fmt: skip

    def _leaning(self, place: int, slopes: Float[np.ndarray, "n P D"]) -> Float[np.ndarray, "n k"]:
        places = self.landscape.places
        tilts = self.landscape.tilts_at(place, slopes[:, place])
        return proposal(places.log_probs[place, : places.sizes[place]], tilts, self.betas)

    def _move(self, place: int) -> int:
        uniforms = self.rng.random((2, self.rows.size))
        there = self.proposals(place)
        new = draw_rows(there, uniforms[0])
        found, log_ratio = self.weigh(place, new, there)
        accepted = np.log1p(-uniforms[1]) < log_ratio  # of 1 - u, which is never 0
        self.landscape.accept(accepted)
        self.choices[accepted, place] = new[accepted]
        self.scores = np.where(accepted, found.scores, self.scores)
        self.hits = np.where(accepted, found.hits, self.hits)
        self.slopes[accepted, place:] = found.slopes[accepted, place:]
        if not self.landscape.forgets:
            self.slopes[accepted, :place] = found.slopes[accepted, :place]
        return int(accepted.sum())

    def _exchange(self) -> Bool[np.ndarray, "G r"]:
        """Exchange the tilts of neighbours, odd pairs and even pairs in turn."""
        exchanged = np.zeros((len(self.rows), len(self.ladder) - 1), dtype=bool)
        if not exchanged.size:
            return exchanged
        log_uniforms = np.log1p(-self.rng.random(exchanged.shape))
        rises = np.diff(self.scores[self.rows], axis=1)  # along the ladder
        exchanged = log_uniforms < -np.diff(self.ladder) * rises
        exchanged[:, (self._n_steps + 1) % 2 :: 2] = False
        for group, rung in np.argwhere(exchanged):
            pair = self.rows[group, rung : rung + 2]
            self.rows[group, rung : rung + 2] = pair[::-1].copy()
        return exchanged

    def _count_arrivals(self) -> int:
        if len(self.ladder) == 1:
            return 0
        first, last = self.rows[:, 0], self.rows[:, -1]
        self._is_fresh[first] = True
        n_arrived = int(self._is_fresh[last].sum())
        self._is_fresh[last] = False
        return n_arrived


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Trace:
    """What chains went through.

    Attributes:
        scores: Shape ``(S, G, R)``: S steps of R rungs of G groups, nats.
        hits: Shape ``(S, G, R)``.
        acceptance: Share of proposals that were accepted.
        exchange: The smallest share of exchanges between two neighbours of the ladder; 1 without
            neighbours.
        n_arrived: Rows that came to the last rung from the first.
    """

    scores: Float[np.ndarray, "S G R"]
    hits: Bool[np.ndarray, "S G R"]
    acceptance: float
    exchange: float
    n_arrived: int

    @classmethod
    def of(cls, steps: Iterator[Step]) -> "Trace":
        """Return all steps as one."""
        found = list(steps)
        exchanged = np.stack([step.exchanged for step in found])
        rates = 2.0 * exchanged.mean(axis=(0, 1))  # each pair is asked every other step
        return cls(
            scores=np.stack([step.scores for step in found]),
            hits=np.stack([step.hits for step in found]),
            acceptance=sum(step.n_accepted for step in found) / found[0].scores.size / len(found),
            exchange=float(rates.min()) if rates.size else 1.0,
            n_arrived=sum(step.n_arrived for step in found),
        )

    def __len__(self) -> int:
        return len(self.scores)
