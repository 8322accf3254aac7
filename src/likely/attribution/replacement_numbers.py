"""The numbers of a place from the substitutes that were tried there. Unit: nats.

Of the posterior a part is known: that of the substitutes that were tried, each with its response.
What was not tried may lead to any response, and the bounds hold wherever it goes. Where so many
substitutes have the mass asked for that some were drawn from them, what was drawn narrows these
bounds at a level.

Sources:
    McDiarmid (1989), Hoeffding (1963), Clopper and Pearson (1934) for the intervals of draws;
    Hansen and Hurwitz (1943) for how many substitutes a draw stands for.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from jaxtyping import Float, Int

from likely.core.estimate import Estimate, Unit
from likely.stats.edit_distance import edit_distance
from likely.stats.intervals import clopper_pearson
from likely.stats.partial_laws import entropy_bounds, entropy_of_counts

Ids: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SubstituteSet:
    """The likeliest substitutes of a place, likeliest first.

    Attributes:
        tokens: Shape ``(n, g)``.
        pieces: Their text.
        prob: Shape ``(n,)``: under the posterior, as estimated.
        shrink: Factor by which every one of them may be smaller, at the level of the attribution.
        swell: Factor by which they may be larger.
        reached: Whether they have the mass asked for.
        is_smallest: Whether it is certain that no smaller set has it.
    """

    tokens: Int[np.ndarray, "n g"]
    pieces: tuple[str, ...]
    prob: Float[np.ndarray, "n"]
    shrink: float
    swell: float
    reached: bool
    is_smallest: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """Substitutes with the response to each.

    Attributes:
        of: The set that they are from.
        index: Shape ``(e,)``: their places in the set.
        responses: To each.
        n_sure: How many of the set were tried for sure: its likeliest.
        draws: Shape ``(e,)``: how often each was drawn from the others; 0 for those.
    """

    of: SubstituteSet
    index: Int[np.ndarray, "e"]
    responses: tuple[Ids, ...]
    n_sure: int
    draws: Int[np.ndarray, "e"]

    @property
    def is_whole(self) -> bool:
        """Whether every substitute of the set was tried."""
        return len(self.index) == len(self.of.prob)


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbers:
    """What is known about the responses at a place.

    Attributes:
        tried: The substitutes.
        original: The response that theirs are compared with.
        horizon: Tokens up to which they are compared.
        n_candidates: How many candidates there are at most, tried or not.
        level: Coverage where substitutes were drawn.
    """

    tried: Tried
    original: Ids
    horizon: int
    n_candidates: int
    level: float

    @property
    def groups(self) -> Mapping[Ids, list[int]]:
        """Places in the list of those tried, by response, in order of first appearance."""
        found: dict[Ids, list[int]] = {}
        for i, response in enumerate(self.tried.responses):
            found.setdefault(response, []).append(i)
        return found

    def by_group(self, values: Float[np.ndarray, "e"]) -> Float[np.ndarray, "c"]:
        """Return the sum of values over the substitutes with each response."""
        return np.array([float(values[members].sum()) for members in self.groups.values()])

    @property
    def prob(self) -> Float[np.ndarray, "e"]:
        """Posterior of each substitute that was tried."""
        return np.asarray(self.tried.of.prob[self.tried.index])

    @property
    def mass(self) -> float:
        """Of the set."""
        return min(1.0, float(self.tried.of.prob.sum()))

    @property
    def sure_mass(self) -> float:
        """Of those that were tried for sure."""
        return min(self.mass, float(self.tried.of.prob[: self.tried.n_sure].sum()))

    @property
    def share(self) -> Float[np.ndarray, "e"]:
        """What each one tried stands for in the law of the set."""
        n_draws = int(self.tried.draws.sum())
        drawn = np.where(self.tried.draws > 0, 0.0, self.prob)
        if n_draws:
            drawn = drawn + (self.mass - self.sure_mass) * self.tried.draws / n_draws
        return np.asarray(drawn / drawn.sum())

    @property
    def least_known(self) -> Float[np.ndarray, "e"]:
        """What each one tried has at least."""
        return self.prob * self.tried.of.shrink

    @property
    def most_unknown(self) -> float:
        """Mass of all that was not tried, at most."""
        return max(0.0, 1.0 - float(self.least_known.sum()))

    def is_original(self, response: Ids) -> bool:
        """Return whether a response is the original one, up to the horizon."""
        return response[: self.horizon] == self.original[: self.horizon]

    @property
    def reproduces(self) -> Float[np.ndarray, "e"]:
        """1 for those with the original response, else 0."""
        return np.array([float(self.is_original(one)) for one in self.tried.responses])

    def distance_of(self, response: Ids) -> int:
        """Return the edit distance of a response from the original one, in tokens."""
        return edit_distance(response[: self.horizon], self.original[: self.horizon])

    def set_mass(self, level: float) -> Estimate:
        """Return the mass of the set."""
        chosen = self.tried.of
        return self.estimate(
            self.mass, self.mass * chosen.shrink, min(1.0, self.mass * chosen.swell), level, "prob"
        )

    def count_entropy(self) -> Estimate:
        """Return the entropy of responses where every substitute of the set counts once."""
        tried, n_set = self.tried, len(self.tried.of.prob)
        if tried.is_whole:
            value = entropy_of_counts(self.by_group(np.ones(n_set)))
            return self.estimate(value, value, value, 1.0, "nats")
        low, high = entropy_bounds(
            self.by_group(np.ones(len(tried.index))) / n_set,
            rest=1.0 - len(tried.index) / n_set,
            n_more=n_set - len(tried.index),
        )
        value = entropy_of_counts(self.by_group(self.counts))
        return self.estimate(min(high, max(low, value)), low, high, 1.0, "nats")

    @property
    def counts(self) -> Float[np.ndarray, "e"]:
        """How many of the set each one tried stands for (Hansen and Hurwitz 1943)."""
        n_draws = max(1, int(self.tried.draws.sum()))
        rest = float(self.tried.of.prob[self.tried.n_sure :].sum())
        drawn = self.tried.draws > 0
        weights = np.ones(len(drawn))
        weights[drawn] = self.tried.draws[drawn] * rest / (n_draws * self.prob[drawn])
        return weights

    def n_reproducing(self) -> Estimate:
        """Return how many of the set lead to the original response."""
        tried, n_set = self.tried, len(self.tried.of.prob)
        known = float(self.reproduces.sum())
        high = known + n_set - len(tried.index)
        value = n_set * float((self.counts * self.reproduces).sum() / self.counts.sum())
        return self.estimate(min(high, max(known, value)), known, high, 1.0, "none")

    def weighted_entropy(self, most: float, level: float) -> Estimate:
        """Return the entropy of the response to a substitute drawn from the posterior.

        The value is that of the set alone; the interval holds for the whole posterior.

        Args:
            most: Entropy of the posterior, at most.
            level: Of the attribution's intervals.
        """
        shares = self.by_group(self.share)
        value = entropy_of_counts(shares)
        known = self.by_group(self.least_known)
        n_more = max(0, self.n_candidates - len(self.tried.index))
        rest = self.most_unknown if n_more else 0.0
        low, high = entropy_bounds(known / (known.sum() + rest), rest=rest, n_more=n_more)
        n_draws = int(self.tried.draws.sum())
        if n_draws > 1:
            # By concavity the entropy of frequencies is on average no more than that of their law,
            # and of the whole no less than the set's part of it. One draw moves 1 / n of the drawn
            # mass and the entropy by twice the term of that at most (McDiarmid 1989).
            moved = (self.mass - self.sure_mass) / (self.mass * n_draws)
            step = -2.0 * moved * math.log(moved)
            slack = step * math.sqrt(n_draws * math.log(1.0 / (1.0 - self.level)) / 2.0)
            low = max(low, self.mass * self.tried.of.shrink * (value - slack))
        return self.estimate(value, low, min(high, most), self._level(level), "nats")

    def stability(self, level: float) -> Estimate:
        """Return how likely a substitute drawn from the posterior leads to the original response.

        Value and interval as of `weighted_entropy`.
        """
        value = float((self.share * self.reproduces).sum())
        known = float((self.least_known * self.reproduces).sum())
        low, high = known, known + self.most_unknown
        draws, chosen = self.tried.draws, self.tried.of
        n_draws = int(draws.sum())
        if n_draws:
            hits = int(draws[self.reproduces > 0].sum())
            ends = clopper_pearson(hits, n_draws, level=self.level)
            sure = float((self.prob * self.reproduces)[: self.tried.n_sure].sum())
            from_draws = [sure + (self.mass - self.sure_mass) * end for end in ends]
            low = max(low, chosen.shrink * from_draws[0])
            high = min(high, 1.0 - chosen.shrink * (self.mass - from_draws[1]))
        return self.estimate(value, low, min(1.0, high), self._level(level), "prob")

    def distance(self, level: float) -> Estimate:
        """Return the expected edit distance from the original response.

        Value and interval as of `weighted_entropy`.
        """
        away = np.array([float(self.distance_of(one)) for one in self.tried.responses])
        farthest = float(self.horizon)
        low = float((self.least_known * away).sum())
        high = low + farthest * self.most_unknown
        value = float((self.share * away).sum())
        draws, chosen = self.tried.draws, self.tried.of
        n_draws = int(draws.sum())
        if n_draws:
            mean = float((draws * away).sum()) / n_draws
            # A mean of draws in [0, farthest] (Hoeffding 1963).
            slack = farthest * math.sqrt(math.log(2.0 / (1.0 - self.level)) / (2.0 * n_draws))
            sure = float((self.prob * away)[: self.tried.n_sure].sum())
            rest = self.mass - self.sure_mass
            low = max(low, chosen.shrink * (sure + rest * (mean - slack)))
            outside = farthest * (1.0 - chosen.shrink * self.mass)
            high = min(high, chosen.shrink * (sure + rest * (mean + slack)) + outside)
        return self.estimate(value, low, high, self._level(level), "none")

    def _level(self, level: float) -> float:
        """Return how surely an interval holds that rests on the attribution and on draws."""
        known = 1.0 if self.tried.of.shrink == 1.0 else level
        return known - (1.0 - self.level) if self.tried.draws.any() else known

    def estimate(self, value: float, low: float, high: float, level: float, unit: Unit) -> Estimate:
        """Return an estimate; rounding must not put its value outside."""
        method = "substitutes" if self.tried.is_whole else "drawn-substitutes"
        return Estimate(
            value=value, low=max(0.0, min(value, low)), high=max(value, high), level=level,
            unit=unit, method=method,
            diagnostics={"n_set": len(self.tried.of.prob), "n_tried": len(self.tried.index)},
        )  # fmt: skip
