"""The adaptive engine of one place: candidates are thinned while the suffix is read. Unit: nats.

A candidate token is a hypothesis and the tokens after it are observations. Reading the suffix a
block at a time, the posterior over candidates narrows; each one is kept with a chance that follows
its current posterior, and counts one over that chance, so that what is dropped is made up for by
what is kept (`likely.attribution.thinning`). A round leaves some candidates evaluated to the end.
The next round takes those as certain and draws afresh from all others, with what is known of them
by now: each round's estimate is unbiased given the rounds before it.

Sources:
    Horvitz and Thompson (1952) for the estimate; Fearnhead and Clifford (2003) for keeping the
    likely particles and thinning the others; the chances follow Neyman allocation.
"""

import math
from dataclasses import InitVar, dataclass, field

import numpy as np
from jaxtyping import Bool, Float, Int

from likely.attribution.evidence import Evidence, Omitted
from likely.core.branches import Branches, Stem, UntoldError
from likely.core.logspace import logsumexp
from likely.errors import InputError

TEMPER = 0.8
"""Power of the posterior that the chances follow: below 1, so that what only looks unlikely so far
is drawn more often than its share. Of 0.5 to 1 it is near the best on SmolLM2 (docs)."""

_LATER = 0.6
"""Size of the later stages to that of the first, times the root of the suffix's length. In the
first stage a candidate costs one evaluation and nearly all of the variance arises; after it a
candidate that stays costs as many as there are tokens to read."""

_PRIOR_POWER, _TOPIC_POWER = 0.5, 0.8

_PASS = 64  # new tokens of a pass below which it takes as long as one of this many
_AT_ONCE = 4096  # branches that grow together: more only take memory
_MOST_ASIDE = 1e-3  # prior mass that may be left out because the model tells no more than bounds
_LEAST_LEFT = 1e-3  # of an even share: rounding may leave less than nothing to what was not told


def guide(
    log_prior: Float[np.ndarray, "*rows V"], log_topic: Float[np.ndarray, "V"]
) -> Float[np.ndarray, "*rows V"]:
    """Return how to allot the first draws: half by the prior, half by what the text is about.

    A word that the text before makes unlikely may fit what comes after so well that it takes
    much of the posterior (after "visit" the word "moon" is rare, before "Mars" it is not). The
    model itself tells what the later text is about: by what it would expect to read next there.

    Args:
        log_prior: Shape ``(..., V)``: of each candidate, nats.
        log_topic: Shape ``(V,)``: the largest log-probability of each at any later position;
            ``-inf`` if there is none.

    Returns:
        Shape ``(..., V)``: log of the chances, up to a constant, in sum 1.
    """
    by_prior = TEMPER * log_prior
    by_prior = by_prior - _total(by_prior)
    by_topic = _PRIOR_POWER * log_prior + _TOPIC_POWER * log_topic
    by_topic = by_topic - _total(by_topic)
    both = np.logaddexp(by_prior, by_topic) - np.log(2.0)
    # Where nothing that may stand there is what the text is about, the prior alone says.
    return np.asarray(np.where(np.any(by_topic > -np.inf, axis=-1, keepdims=True), both, by_prior))


def _total(log_weights: Float[np.ndarray, "*rows V"]) -> Float[np.ndarray, "*rows 1"]:
    """Return the log of the sum of each row, 0 for a row of impossible ones."""
    total = logsumexp(log_weights)[..., None]
    return np.asarray(np.where(np.isneginf(total), 0.0, total))


def later_share(n_after: int) -> float:
    """Return the size of the later stages to that of the first, for a suffix of this length."""
    return min(1.0, _LATER / math.sqrt(max(1, n_after)))


@dataclass(kw_only=True)
class Search:
    """What is known so far about the candidates of one place.

    Attributes:
        stem: Context and prompt.
        length: Tokens before the place.
        place: The prompt position.
        actual: The token that stands there.
        allowed: Shape ``(V,)``: ids that may stand there, sorted.
        log_prior: Shape ``(V,)``: of each, nats, summing to 1; of those whose own was not told, a
            share of what they have together, until they are evaluated.
        suffix: Shape ``(T,)``: what comes after: n_prompt tokens of the prompt, then the response.
        n_prompt: How many of the suffix belong to the prompt.
        rng: Of the draws.
        log_guide: Shape ``(V,)``: log of how the first draws are allotted; the prior is one such.
        told: Shape ``(V,)``: whose prior is told before they are evaluated; None for all.
        log_mass: Log of the prior mass of all of them in the model, by which theirs was divided.
        aside: Bound on the prior mass of those that were left out, because the model tells no more
            than a bound on their prior.
    """

    stem: Stem
    length: int
    place: int
    actual: int
    allowed: Int[np.ndarray, "V"]
    log_prior: Float[np.ndarray, "V"]
    suffix: Int[np.ndarray, "T"]
    n_prompt: int
    rng: np.random.Generator
    log_guide: Float[np.ndarray, "V"]
    told: InitVar[Bool[np.ndarray, "V"] | None] = None
    log_mass: float = 0.0
    aside: float = field(init=False, default=0.0)
    # Whose prior is told, now and when the round began; what the others have together; and how far
    # the latest round's estimate of that was off.
    is_told: Bool[np.ndarray, "V"] = field(init=False)
    was_told: Bool[np.ndarray, "V"] = field(init=False)
    untold_mass: float = field(init=False)
    unaccounted: float = field(init=False, default=0.0)
    # Of every candidate: the log of its chance in a round of size 1, and bounds from what was read.
    log_allotted: Float[np.ndarray, "V"] = field(init=False)
    log_x_bound: Float[np.ndarray, "V"] = field(init=False)
    log_y_bound: Float[np.ndarray, "V"] = field(init=False)
    log_b_bound: Float[np.ndarray, "V"] = field(init=False)
    size: float = np.inf
    # Of those evaluated to the end: places in `allowed`, and the log-probability of each suffix
    # token, for sure in earlier rounds or with a chance in the latest one.
    done: Int[np.ndarray, "n"] = field(init=False)
    read: Float[np.ndarray, "n T"] = field(init=False)
    chance: Float[np.ndarray, "n"] = field(init=False)
    # Of those that the latest round read to the end of the prompt and no further.
    part: Int[np.ndarray, "p"] = field(init=False)
    part_read: Float[np.ndarray, "p t"] = field(init=False)
    part_chance: Float[np.ndarray, "p"] = field(init=False)
    prompt_chance: Float[np.ndarray, "n"] = field(init=False)

    def __post_init__(self, told: Bool[np.ndarray, "V"] | None) -> None:
        self.log_prior = self.log_prior.copy()
        if self.log_prior[self.allowed == self.actual].max(initial=-np.inf) == -np.inf:
            raise InputError(
                f"the prompt is impossible at position {self.place}: the model gives token "
                f"{self.actual}, which stands there, no probability"
            )
        self.is_told = np.ones(len(self.allowed), dtype=bool) if told is None else told.copy()
        self.untold_mass = float(np.exp(self.log_prior[~self.is_told]).sum())
        self.log_allotted = self.log_guide - logsumexp(self.log_guide)
        self.log_x_bound = self.log_prior.copy()
        self.log_y_bound = self.log_prior.copy()
        self.log_b_bound = np.zeros(len(self.allowed))
        self.done = np.empty(0, dtype=np.int64)
        self.read = np.empty((0, len(self.suffix)))
        self._settle()

    @property
    def n_candidates(self) -> int:
        """How many candidates there are: those that the prior does not rule out."""
        return int((self.log_prior > -np.inf).sum())

    @property
    def n_left(self) -> int:
        """How many of them were not evaluated to the end."""
        return self.n_candidates - len(self.done)

    @property
    def most_cost(self) -> float:
        """How many token evaluations a round takes at most for each candidate of its size."""
        n_after = len(self.suffix)
        each = n_after + (self.length + 1 if self.stem.reads_anew else 0)
        return 1.0 + later_share(n_after) * each

    @property
    def cost_left(self) -> int:
        """How many token evaluations it would take to evaluate them."""
        each = len(self.suffix) + (self.length + 1 if self.stem.reads_anew else 0)
        return self.n_left * each

    def exhaust(self) -> None:
        """Evaluate every candidate to the end."""
        self._settle()
        rest = self._rest()
        for start in range(0, len(rest), _AT_ONCE):
            part = rest[start : start + _AT_ONCE]
            self._run(part, np.ones(len(part)), size=np.inf)

    def draw(self, size: float) -> None:
        """Run a round: draw from all that were not evaluated to the end.

        Args:
            size: How many candidates would be read if the posterior were flat; the more it is
                peaked, the fewer are.
        """
        self._settle()
        self.size = size
        rest = self._rest()
        chance = np.minimum(1.0, size * np.exp(self.log_allotted[rest]))
        chance[self.allowed[rest] == self.actual] = 1.0
        drawn = self.rng.random(len(rest)) < chance
        self._run(rest[drawn], chance[drawn], size=later_share(len(self.suffix)) * size)
        if not self.n_left:  # all were drawn, so none of them is there by chance
            self._settle()

    def evidence(self) -> Evidence:
        """Return what is known now."""
        is_rest = self.log_prior > -np.inf
        is_rest[self.done] = False
        part, part_read, part_chance = self.part, self.part_read, self.part_chance
        if self.n_prompt == 0:  # nothing of the prompt is left to read: known once the prior is
            sure, late = np.flatnonzero(is_rest & self.was_told), ~self.was_told[part]
            part_chance = np.concatenate([np.ones(len(sure)), part_chance[late]])
            part = np.concatenate([sure, part[late]])
            part_read = np.empty((len(part), 0))
        first = np.argsort(self.allowed[self.done] != self.actual, kind="stable")
        done, read = self.done[first], self.read[first]
        order = np.concatenate([done, part])
        unread = np.full((len(part), len(self.suffix) - self.n_prompt), -np.inf)
        return Evidence(
            places=(self.place,),
            tokens=self.allowed[order][:, None],
            log_prior=self.log_prior[order],
            log_prompt=np.concatenate([read[:, : self.n_prompt], part_read]).sum(axis=1),
            log_response=np.concatenate([read[:, self.n_prompt :], unread]),
            inclusion=np.concatenate([self.chance[first], np.zeros(len(part))]),
            prompt_inclusion=np.concatenate([self.prompt_chance[first], part_chance]),
            resolution=0.0 if not is_rest.any() else 1.0 / self.size + self.unaccounted,
            omitted=Omitted(
                log_prior=self.log_prior[is_rest],
                log_prompt_bound=self.log_x_bound[is_rest],
                log_response_bound=self.log_y_bound[is_rest],
                log_b_bound=self.log_b_bound[is_rest],
            ),
        )

    def _rest(self) -> Int[np.ndarray, "r"]:
        is_rest = self.log_prior > -np.inf
        is_rest[self.done] = False
        return np.flatnonzero(is_rest)

    def _settle(self) -> None:
        """Take what was evaluated to the end as certain from now on."""
        self.was_told = self.is_told.copy()
        self.unaccounted = 0.0
        self.chance = np.ones(len(self.done))
        self.prompt_chance = np.ones(len(self.done))
        self._forget_part()

    def _forget_part(self) -> None:
        self.part = np.empty(0, dtype=np.int64)
        self.part_read = np.empty((0, self.n_prompt))
        self.part_chance = np.empty(0)

    def _run(
        self, chosen: Int[np.ndarray, "b"], chance: Float[np.ndarray, "b"], *, size: float
    ) -> None:
        """Read the suffix after each chosen candidate, thinning them on the way."""
        if not len(chosen):
            return
        branches = self.stem.branches(self.length, len(chosen))
        chosen, chance, read = self._begin(branches, chosen, chance, size=size)
        n_all = len(self.suffix)
        prompt_chance = chance
        if not self.n_prompt:
            prompt_chance = np.where(self.was_told[chosen], 1.0, chance)
        while len(chosen):
            self._note(chosen, read)
            n_read = read.shape[1]
            if n_read == n_all:
                break
            if size < np.inf:
                kept, chance_after = self._thin(chosen, read, chance, size)
                self._keep_part(chosen, read, prompt_chance, ~kept)
                chosen, read = chosen[kept], read[kept]
                chance, prompt_chance = chance_after[kept], prompt_chance[kept]
                if not len(chosen):
                    break
                branches.keep(np.flatnonzero(kept))
            step = self._step(len(chosen), n_read, is_whole=size == np.inf)
            block = np.broadcast_to(self.suffix[n_read : n_read + step], (len(chosen), step))
            new = branches.grow(block, last=n_read + step == n_all)
            read = np.concatenate([read, new], axis=1)
            if n_read < self.n_prompt:
                prompt_chance = chance
        self._finish(chosen, read, chance, prompt_chance)

    def _begin(
        self,
        branches: Branches,
        chosen: Int[np.ndarray, "b"],
        chance: Float[np.ndarray, "b"],
        *,
        size: float,
    ) -> tuple[Int[np.ndarray, "c"], Float[np.ndarray, "c"], Float[np.ndarray, "c t"]]:
        """Read candidates with the first tokens after them; return those that are possible."""
        step = self._step(len(chosen), 0, is_whole=size == np.inf)
        after = np.broadcast_to(self.suffix[:step], (len(chosen), step))
        tokens = np.concatenate([self.allowed[chosen][:, None], after], axis=1)
        is_last = step == len(self.suffix)
        try:
            found = branches.grow(tokens, last=is_last)
        except UntoldError as error:
            going = self._set_aside(chosen, error)
            branches.keep(np.flatnonzero(going))
            chosen, chance = chosen[going], chance[going]
            found = branches.grow(tokens[going], last=is_last)
        self._learn(chosen, chance, found[:, 0])
        going = self.log_prior[chosen] > -np.inf
        if not going.all():
            branches.keep(np.flatnonzero(going))
        return chosen[going], chance[going], found[going, 1:]

    def _set_aside(self, chosen: Int[np.ndarray, "b"], error: UntoldError) -> Bool[np.ndarray, "b"]:
        """Leave out the candidates whose prior is not told; return which ones go on."""
        going = ~error.is_bound[:, 0]
        self.aside += float(np.exp(error.log_bounds[~going, 0] - self.log_mass).sum())
        lost = self.allowed[chosen[~going]]
        if error.is_bound[going].any() or self.aside > _MOST_ASIDE or self.actual in lost:
            raise error
        self.log_prior[chosen[~going]] = -np.inf
        return going

    def _learn(
        self,
        chosen: Int[np.ndarray, "b"],
        chance: Float[np.ndarray, "b"],
        log_prior: Float[np.ndarray, "b"],
    ) -> None:
        """Take the priors that were not told before, and leave the rest of the mass to others."""
        new = ~self.is_told[chosen]
        if not new.any():
            return
        named, prior = chosen[new], np.exp(log_prior[new] - self.log_mass)
        self.unaccounted = abs(self.untold_mass - float(np.sum(prior / chance[new])))
        self.log_prior[named] = log_prior[new] - self.log_mass
        self.is_told[named] = True
        rest = np.flatnonzero(~self.is_told & (self.log_prior > -np.inf))
        least = _LEAST_LEFT * self.untold_mass * len(rest) / (len(rest) + len(named))
        self.untold_mass = max(self.untold_mass - float(prior.sum()), least)
        if len(rest):
            share = self.log_prior[rest] - float(logsumexp(self.log_prior[rest]))
            self.log_prior[rest] = share + np.log(self.untold_mass)
            self.log_x_bound[rest] = self.log_y_bound[rest] = self.log_prior[rest]

    def _step(self, n_rows: int, n_read: int, *, is_whole: bool) -> int:
        """Return how many tokens to read before the next thinning."""
        left = len(self.suffix) - n_read
        if is_whole:
            return left
        again = self.length + n_read if self.stem.reads_anew else 0
        return min(left, max(1, -(-_PASS // n_rows), n_read // 2, again // 2))

    def _note(self, chosen: Int[np.ndarray, "b"], read: Float[np.ndarray, "b t"]) -> None:
        """Keep what a partial reading says: nothing can weigh more than that."""
        in_response = read[:, self.n_prompt :].sum(axis=1)
        self.log_y_bound[chosen] = self.log_prior[chosen] + read.sum(axis=1)
        self.log_x_bound[chosen] = self.log_prior[chosen] + read[:, : self.n_prompt].sum(axis=1)
        self.log_b_bound[chosen] = in_response

    def _thin(
        self,
        chosen: Int[np.ndarray, "b"],
        read: Float[np.ndarray, "b t"],
        chance: Float[np.ndarray, "b"],
        size: float,
    ) -> tuple[Bool[np.ndarray, "b"], Float[np.ndarray, "b"]]:
        """Return who is kept, and everyone's chance of being kept up to now."""
        every = np.concatenate([self.done, chosen])
        log_weight = np.concatenate([np.zeros(len(self.done)), -np.log(chance)])
        known = np.concatenate([self.read[:, : read.shape[1]], read])
        log_share = self._log_share(self.log_prior[every], known, log_weight)
        log_total = float(logsumexp(TEMPER * log_share + log_weight))
        self.log_allotted[chosen] = TEMPER * log_share[len(self.done) :] - log_total
        after = np.minimum(chance, size * np.exp(self.log_allotted[chosen]))
        after[self.allowed[chosen] == self.actual] = 1.0
        return self.rng.random(len(chosen)) * chance < after, after

    def _log_share(
        self,
        log_prior: Float[np.ndarray, "n"],
        read: Float[np.ndarray, "n t"],
        log_weight: Float[np.ndarray, "n"],
    ) -> Float[np.ndarray, "n"]:
        """Return the log of each candidate's share of the posterior after t tokens.

        While the response is read, half of it is the share before the response: candidates that
        the response rules out still make up the law that it is compared with.
        """
        shares = []
        for n_read in {min(read.shape[1], self.n_prompt), read.shape[1]}:
            log_y = log_prior + read[:, :n_read].sum(axis=1)
            shares.append(log_y - float(logsumexp(log_y + log_weight)) - math.log(2.0))
        return np.asarray(np.logaddexp(shares[0], shares[-1]))

    def _keep_part(
        self,
        chosen: Int[np.ndarray, "b"],
        read: Float[np.ndarray, "b t"],
        prompt_chance: Float[np.ndarray, "b"],
        dropped: Bool[np.ndarray, "b"],
    ) -> None:
        if read.shape[1] < self.n_prompt or not dropped.any():
            return
        self.part = np.concatenate([self.part, chosen[dropped]])
        self.part_read = np.concatenate([self.part_read, read[dropped, : self.n_prompt]])
        self.part_chance = np.concatenate([self.part_chance, prompt_chance[dropped]])

    def _finish(
        self,
        chosen: Int[np.ndarray, "b"],
        read: Float[np.ndarray, "b T"],
        chance: Float[np.ndarray, "b"],
        prompt_chance: Float[np.ndarray, "b"],
    ) -> None:
        if not len(chosen):
            return
        self.done = np.concatenate([self.done, chosen])
        self.read = np.concatenate([self.read, read])
        self.chance = np.concatenate([self.chance, chance])
        self.prompt_chance = np.concatenate([self.prompt_chance, prompt_chance])
