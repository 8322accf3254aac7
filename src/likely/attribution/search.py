"""The adaptive engine of one place: candidates are thinned while the suffix is read. Unit: nats.

A candidate token is a hypothesis and the tokens after it are observations. Reading the suffix a
block at a time, the posterior over candidates narrows; each one is kept with a chance that follows
its current posterior, and counts one over that chance, so that what is dropped is made up for by
what is kept (`likely.attribution.thinning`). Every candidate has one random number for good, and
stays while that is below its chance: a larger round holds a smaller one and adds to it, and what
was read once is not read again.

Sources:
    Horvitz and Thompson (1952) for the estimate; Fearnhead and Clifford (2003) for keeping the
    likely particles and thinning the others; Ohlsson (1995), "Coordination of samples using
    permanent random numbers"; the chances follow Neyman allocation.
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

_BY_PRIOR = 32.0
"""Least size of the draws that follow the prior alone, to the end of the response. They are for the
interventional score, an average over the prior: candidates that the rest of the prompt rules out
weigh in it, and thinned by the posterior few of them would be left (docs)."""

_PRIOR_POWER, _TOPIC_POWER, _SLOPE_POWER = 0.5, 0.8, 0.5
_SLOPE_SHARE = 0.25  # of the first draws that follow the slope, where there is one (docs)

_PASS = 64  # new tokens of a pass below which it takes as long as one of this many
AT_ONCE = 4096  # branches that grow together: more only take memory
_MOST_ASIDE = 1e-3  # prior mass that may be left out because the model tells no more than bounds
_LEAST_LEFT = 1e-3  # of an even share: rounding may leave less than nothing to what was not told


def guide(
    log_prior: Float[np.ndarray, "*rows V"],
    log_topic: Float[np.ndarray, "V"],
    log_slope: Float[np.ndarray, "V"] | None = None,
) -> Float[np.ndarray, "*rows V"]:
    """Return how to allot the first draws: by the prior, what the text is about, and the slope.

    A word that the text before makes unlikely may fit what comes after so well that it takes
    much of the posterior (after "visit" the word "moon" is rare, before "Mars" it is not). The
    model itself tells what the later text is about: by what it would expect to read next there;
    and which words would make it likelier: by the slope of its log-probability.

    Args:
        log_prior: Shape ``(..., V)``: of each candidate, nats.
        log_topic: Shape ``(V,)``: the largest log-probability of each at any later position;
            ``-inf`` if there is none.
        log_slope: Shape ``(V,)``: what the later text gains with each, to the first order, nats
            (`likely.attribution.slopes`); None where the model does not tell.

    Returns:
        Shape ``(..., V)``: log of the chances, up to a constant, in sum 1.
    """
    by_prior = _law(TEMPER * log_prior)
    by_topic = _law(_PRIOR_POWER * log_prior + _TOPIC_POWER * log_topic)
    both = np.logaddexp(by_prior, by_topic) - np.log(2.0)
    # Where nothing that may stand there is what the text is about, the prior alone says.
    told = np.where(np.any(by_topic > -np.inf, axis=-1, keepdims=True), both, by_prior)
    if log_slope is None:
        return np.asarray(told)
    by_slope = _law(_PRIOR_POWER * log_prior + _SLOPE_POWER * log_slope)
    parts = np.log1p(-_SLOPE_SHARE) + told, np.log(_SLOPE_SHARE) + by_slope
    return np.asarray(np.logaddexp(*parts))


def _law(log_weights: Float[np.ndarray, "*rows V"]) -> Float[np.ndarray, "*rows V"]:
    """Return weights that sum to 1 in each row; a row of impossible ones stays as it is."""
    return np.asarray(log_weights - _total(log_weights))


def _total(log_weights: Float[np.ndarray, "*rows V"]) -> Float[np.ndarray, "*rows 1"]:
    """Return the log of the sum of each row, 0 for a row of impossible ones."""
    total = logsumexp(log_weights)[..., None]
    return np.asarray(np.where(np.isneginf(total), 0.0, total))


def by_prior(log_prior: Float[np.ndarray, "*rows V"], size: float) -> Float[np.ndarray, "*rows V"]:
    """Return the least chance of each candidate in a stage of this size, after its prior."""
    return np.asarray(min(_BY_PRIOR, size) * np.exp(log_prior))


def later_share(n_after: int) -> float:
    """Return the size of the later stages to that of the first, for a suffix of this length."""
    return min(1.0, _LATER / math.sqrt(max(1, n_after)))


def whole_cost(stem: Stem, length: int, n_after: int) -> int:
    """Return the token evaluations of one candidate that is read to the end.

    Args:
        stem: That it goes on from.
        length: Tokens before the place.
        n_after: Tokens that are read after the candidate's first.
    """
    return n_after + (length + 1 if stem.reads_anew else 0)


def step_size(n_rows: int, n_read: int, n_left: int) -> int:
    """Return how many tokens to read before the next thinning: more, the fewer rows there are."""
    return min(n_left, max(1, -(-_PASS // n_rows), n_read // 2))


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
    # Whose prior was told at first, and is known by now; what the others had together at first;
    # and how far the latest round's estimate of that was off.
    was_told: Bool[np.ndarray, "V"] = field(init=False)
    is_told: Bool[np.ndarray, "V"] = field(init=False)
    untold_mass: float = field(init=False)
    unaccounted: float = field(init=False, default=0.0)
    # Of every candidate: its random number, and bounds from what was read.
    lot: Float[np.ndarray, "V"] = field(init=False)
    log_x_bound: Float[np.ndarray, "V"] = field(init=False)
    log_y_bound: Float[np.ndarray, "V"] = field(init=False)
    log_b_bound: Float[np.ndarray, "V"] = field(init=False)
    # Of those evaluated to the end, in any round: places in `allowed`, and the log-probability of
    # each suffix token; and for each candidate its row there, or -1.
    done: Int[np.ndarray, "n"] = field(init=False)
    read: Float[np.ndarray, "n T"] = field(init=False)
    row: Int[np.ndarray, "V"] = field(init=False)
    # The latest round: its size, those that it kept to the end, and those that it kept to the end
    # of the prompt and no further.
    size: float = np.inf
    kept: "Kept" = field(init=False)
    part: "Kept" = field(init=False)

    def __post_init__(self, told: Bool[np.ndarray, "V"] | None) -> None:
        self.log_prior = self.log_prior.copy()
        if self.log_prior[self.allowed == self.actual].max(initial=-np.inf) == -np.inf:
            raise InputError(
                f"the prompt is impossible at position {self.place}: the model gives token "
                f"{self.actual}, which stands there, no probability"
            )
        n_vocab = len(self.allowed)
        self.was_told = np.ones(n_vocab, dtype=bool) if told is None else told.copy()
        self.is_told = self.was_told.copy()
        self.untold_mass = float(np.exp(self.log_prior[~self.was_told]).sum())
        self.log_guide = self.log_guide - float(logsumexp(self.log_guide))
        self.lot = self.rng.random(n_vocab)
        self.log_x_bound = self.log_prior.copy()
        self.log_y_bound = self.log_prior.copy()
        self.log_b_bound = np.zeros(n_vocab)
        self.done = np.empty(0, dtype=np.int64)
        self.read = np.empty((0, len(self.suffix)))
        self.row = np.full(n_vocab, -1, dtype=np.int64)
        self.kept = self.part = NONE_KEPT

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
        return 1.0 + later_share(n_after) * whole_cost(self.stem, self.length, n_after)

    @property
    def cost_left(self) -> int:
        """How many token evaluations it would take to evaluate them."""
        return self.n_left * whole_cost(self.stem, self.length, len(self.suffix))

    def exhaust(self) -> None:
        """Evaluate every candidate to the end."""
        rest = np.flatnonzero((self.log_prior > -np.inf) & (self.row < 0))
        for start in range(0, len(rest), AT_ONCE):
            part = rest[start : start + AT_ONCE]
            self._run(Kept.sure(part), size=np.inf)
        self._take_all()

    def draw(self, size: float) -> None:
        """Run a round, which holds every smaller one.

        Args:
            size: How many candidates would be read if the posterior were flat; the more it is
                peaked, the fewer are.
        """
        self.size = size
        chance = np.minimum(1.0, size * np.exp(self.log_guide))
        chance[self.allowed == self.actual] = 1.0
        drawn = np.flatnonzero((self.lot < chance) & (self.log_prior > -np.inf))
        self._run(
            Kept(index=drawn, chance=chance[drawn], prompt_chance=chance[drawn]),
            size=later_share(len(self.suffix)) * size,
        )
        if not self.n_left:  # all were drawn, so none of them is there by chance
            self._take_all()

    def evidence(self) -> Evidence:
        """Return what is known now."""
        is_rest = self.log_prior > -np.inf
        is_rest[self.kept.index] = False
        part = self.part
        if self.n_prompt == 0:  # nothing of the prompt is left to read: known once the prior is
            late = part.take(~self.was_told[part.index])
            part = Kept.sure(np.flatnonzero(is_rest & self.was_told)).plus(late)
        first = np.argsort(self.allowed[self.kept.index] != self.actual, kind="stable")
        final = self.kept.take(first)
        read = self.read[self.row[final.index]]
        both = final.plus(part)
        unread = np.full((len(part.index), len(self.suffix) - self.n_prompt), -np.inf)
        # What was read to the end of the prompt has its bound as its value.
        log_prompt = self.log_x_bound[both.index] - self.log_prior[both.index]
        return Evidence(
            places=(self.place,),
            tokens=self.allowed[both.index][:, None],
            log_prior=self.log_prior[both.index],
            log_prompt=log_prompt,
            log_response=np.concatenate([read[:, self.n_prompt :], unread]),
            inclusion=np.concatenate([final.chance, np.zeros(len(part.index))]),
            prompt_inclusion=both.prompt_chance,
            resolution=0.0 if not is_rest.any() else 1.0 / self.size + self.unaccounted,
            omitted=Omitted(
                log_prior=self.log_prior[is_rest],
                log_prompt_bound=self.log_x_bound[is_rest],
                log_response_bound=self.log_y_bound[is_rest],
                log_b_bound=self.log_b_bound[is_rest],
            ),
        )

    def _take_all(self) -> None:
        self.kept, self.part, self.unaccounted = Kept.sure(self.done), NONE_KEPT, 0.0

    def _run(self, live: "Kept", *, size: float) -> None:
        """Read the suffix after candidates that were not read before, thinning all on the way."""
        self.kept = self.part = NONE_KEPT
        n_all = len(self.suffix)
        live, read, branches = self._begin(live, is_whole=size == np.inf)
        if not self.n_prompt:
            live = live.at_prompt(np.where(self.was_told[live.index], 1.0, live.chance))
        while len(live.index):
            self._note(live.index, read)
            n_read = read.shape[1]
            if n_read == n_all:
                break
            if size < np.inf:
                live, read = self._thin(live, read, branches, size)
            if n_read < self.n_prompt:
                live = live.at_prompt(live.chance)
            read = self._read_on(live, read, branches, is_whole=size == np.inf)
        self._finish(live, read)

    def _begin(
        self, live: "Kept", *, is_whole: bool
    ) -> tuple["Kept", Float[np.ndarray, "c t"], "Branches | None"]:
        """Read new candidates with the first tokens after them; return those that are possible."""
        is_new = self.row[live.index] < 0
        fresh = live.index[is_new]
        step = self._step(len(live.index), 0, is_whole=is_whole)
        read = np.zeros((len(live.index), step))
        read[~is_new] = self.read[self.row[live.index[~is_new]], :step]
        if not len(fresh):
            return live, read, None
        branches = self.stem.branches(self.length, len(fresh))
        after = np.broadcast_to(self.suffix[:step], (len(fresh), step))
        tokens = np.concatenate([self.allowed[fresh][:, None], after], axis=1)
        is_last = step == len(self.suffix)
        going = np.ones(len(fresh), dtype=bool)
        try:
            found = branches.grow(tokens, last=is_last)
        except UntoldError as error:
            going = self._set_aside(fresh, error)
            branches.keep(np.flatnonzero(going))
            found = branches.grow(tokens[going], last=is_last)
        self._learn(fresh[going], found[:, 0], live)
        possible = self.log_prior[fresh[going]] > -np.inf
        if not possible.all():
            branches.keep(np.flatnonzero(possible))
        going[going] = possible
        read[np.flatnonzero(is_new)[going]] = found[possible, 1:]
        stays = np.ones(len(live.index), dtype=bool)
        stays[is_new] = going
        return live.take(stays), read[stays], branches

    def _set_aside(self, fresh: Int[np.ndarray, "b"], error: UntoldError) -> Bool[np.ndarray, "b"]:
        """Leave out the candidates whose prior is not told; return which ones go on."""
        going = ~error.is_bound[:, 0]
        self.aside += float(np.exp(error.log_bounds[~going, 0] - self.log_mass).sum())
        lost = self.allowed[fresh[~going]]
        if error.is_bound[going].any() or self.aside > _MOST_ASIDE or self.actual in lost:
            raise error
        self.log_prior[fresh[~going]] = -np.inf
        return going

    def _learn(
        self, fresh: Int[np.ndarray, "b"], log_prior: Float[np.ndarray, "b"], live: "Kept"
    ) -> None:
        """Take the priors that were not told before, and leave the rest of the mass to others."""
        new = ~self.is_told[fresh]
        if not new.any():
            return
        self.log_prior[fresh[new]] = log_prior[new] - self.log_mass
        self.is_told[fresh[new]] = True
        named = live.take(self.is_told[live.index] & ~self.was_told[live.index])
        prior = np.exp(self.log_prior[named.index])
        self.unaccounted = abs(self.untold_mass - float(np.sum(prior / named.chance)))
        rest = np.flatnonzero(~self.is_told & (self.log_prior > -np.inf))
        if len(rest):
            all_named = self.is_told & ~self.was_told
            told_now = float(np.exp(self.log_prior[all_named]).sum())
            least = _LEAST_LEFT * self.untold_mass * len(rest) / int((~self.was_told).sum())
            share = self.log_prior[rest] - float(logsumexp(self.log_prior[rest]))
            self.log_prior[rest] = share + np.log(max(self.untold_mass - told_now, least))
            self.log_x_bound[rest] = self.log_y_bound[rest] = self.log_prior[rest]

    def _step(self, n_rows: int, n_read: int, *, is_whole: bool) -> int:
        """Return how many tokens to read before the next thinning."""
        left = len(self.suffix) - n_read
        if is_whole or not n_rows:
            return left
        again = self.length + n_read if self.stem.reads_anew else 0
        return step_size(n_rows, max(n_read, again), left)

    def _note(self, live: Int[np.ndarray, "b"], read: Float[np.ndarray, "b t"]) -> None:
        """Keep what a partial reading says: nothing can weigh more than that."""
        known = self.row[live] >= 0
        live, read = live[~known], read[~known]
        self.log_y_bound[live] = self.log_prior[live] + read.sum(axis=1)
        self.log_x_bound[live] = self.log_prior[live] + read[:, : self.n_prompt].sum(axis=1)
        self.log_b_bound[live] = read[:, self.n_prompt :].sum(axis=1)

    def _thin(
        self,
        live: "Kept",
        read: Float[np.ndarray, "b t"],
        branches: "Branches | None",
        size: float,
    ) -> tuple["Kept", Float[np.ndarray, "c t"]]:
        """Return those that are kept, with everyone's chance of being kept up to now."""
        log_weight = -np.log(live.chance)
        log_share = self._log_share(self.log_prior[live.index], read, log_weight)
        log_total = float(logsumexp(TEMPER * log_share + log_weight))
        wanted = size * np.exp(TEMPER * log_share - log_total)
        least = by_prior(self.log_prior[live.index], size)
        after = np.minimum(live.chance, np.maximum(wanted, least))
        after[self.allowed[live.index] == self.actual] = 1.0
        stays = self.lot[live.index] < after
        stays |= self.allowed[live.index] == self.actual
        if read.shape[1] >= self.n_prompt:
            self.part = self.part.plus(live.take(~stays))
        if branches is not None:
            is_new = self.row[live.index] < 0
            branches.keep(np.flatnonzero(stays[is_new]))
        live = Kept(index=live.index, chance=after, prompt_chance=live.prompt_chance)
        return live.take(stays), read[stays]

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

    def _read_on(
        self,
        live: "Kept",
        read: Float[np.ndarray, "b t"],
        branches: "Branches | None",
        *,
        is_whole: bool,
    ) -> Float[np.ndarray, "b u"]:
        """Return what was read with the next tokens: of new candidates from the model."""
        is_new = self.row[live.index] < 0
        n_new, n_read = int(is_new.sum()), read.shape[1]
        # By all that live, not by the new ones: which are new is up to the draws before.
        step = self._step(len(live.index), n_read, is_whole=is_whole)
        upto = n_read + step
        more = np.empty((len(live.index), step))
        more[~is_new] = self.read[self.row[live.index[~is_new]], n_read:upto]
        if n_new and branches is not None:
            block = np.broadcast_to(self.suffix[n_read:upto], (n_new, step))
            more[is_new] = branches.grow(block, last=upto == len(self.suffix))
        return np.concatenate([read, more], axis=1)

    def _finish(self, live: "Kept", read: Float[np.ndarray, "b T"]) -> None:
        is_new = self.row[live.index] < 0
        fresh = live.index[is_new]
        self.row[fresh] = np.arange(len(self.done), len(self.done) + len(fresh))
        self.done = np.concatenate([self.done, fresh])
        self.read = np.concatenate([self.read, read[is_new]])
        self.kept = live


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """Candidates that a round kept up to some point.

    Attributes:
        index: Shape ``(n,)``: places among all candidates.
        chance: Shape ``(n,)``: of each, of being kept up to there.
        prompt_chance: Shape ``(n,)``: of being kept to the end of the prompt.
    """

    index: Int[np.ndarray, "n"]
    chance: Float[np.ndarray, "n"]
    prompt_chance: Float[np.ndarray, "n"]

    @classmethod
    def sure(cls, index: Int[np.ndarray, "n"]) -> "Kept":
        """Return candidates that were sure to be kept."""
        ones = np.ones(len(index))
        return cls(index=index, chance=ones, prompt_chance=ones)

    def take(self, chosen: Bool[np.ndarray, "n"] | Int[np.ndarray, "m"]) -> "Kept":
        """Return some of them."""
        return Kept(
            index=self.index[chosen],
            chance=self.chance[chosen],
            prompt_chance=self.prompt_chance[chosen],
        )

    def plus(self, others: "Kept") -> "Kept":
        """Return these, then others."""
        return Kept(
            index=np.concatenate([self.index, others.index]),
            chance=np.concatenate([self.chance, others.chance]),
            prompt_chance=np.concatenate([self.prompt_chance, others.prompt_chance]),
        )

    def at_prompt(self, chance: Float[np.ndarray, "n"]) -> "Kept":
        """Return them with this chance of being kept to the end of the prompt."""
        return Kept(index=self.index, chance=self.chance, prompt_chance=chance)


NONE_KEPT = Kept.sure(np.empty(0, dtype=np.int64))
