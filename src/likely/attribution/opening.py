"""How the search of a place begins: what may stand there, and what is read after it. Unit: nats."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int

from likely.attribution.case import Case, Ids
from likely.attribution.eligible import Eligible
from likely.attribution.groups import Group
from likely.attribution.prior import NextLaws
from likely.attribution.readings import Line
from likely.attribution.search import Search, guide
from likely.attribution.slopes import Slopes, open_slopes
from likely.attribution.tree import TreeSearch
from likely.core.branches import Stem
from likely.core.model import Capability, Settings, require
from likely.core.streams import generator
from likely.errors import InputError


class Topic:
    """What a text is about, as its model sees it: what it expects to read at later positions."""

    def __init__(self, laws: NextLaws) -> None:
        self.laws = laws
        self._from = len(laws.stem.tokens) + 1
        self._log_topic = np.full(laws.model.info.n_vocab, -np.inf)

    def after(self, length: int) -> Float[np.ndarray, "V"]:
        """Return the largest log-probability of each id after more than ``length`` tokens.

        Lengths come from the largest to the least; after a smaller one what was found then stays.
        """
        for later in range(length + 1, self._from):
            self._log_topic = np.maximum(self._log_topic, self.laws.law(later)[0])
        self._from = min(self._from, length + 1)
        return self._log_topic


@dataclass(kw_only=True)
class Opening:
    """What the searches of one case have in common.

    Attributes:
        laws: The next-token laws along context, prompt and response.
        case: Prompt and response.
        eligible: What may stand at each position.
        seed: Of the draws, of which each group has a stream of its own.
        settings: How to evaluate.
    """

    laws: NextLaws
    case: Case
    eligible: Eligible
    seed: int
    settings: Settings | None = None
    topic: Topic = field(init=False)

    def __post_init__(self) -> None:
        self.topic = Topic(self.laws)

    @cached_property
    def slopes(self) -> Slopes | None:
        """What the model tells of the slopes of the text, at the cost of reading it once more."""
        return open_slopes(
            self.laws.model, (*self.case.stem, *self.case.response), settings=self.settings,
            spending=self.stem.spending,
        )  # fmt: skip

    @property
    def stem(self) -> Stem:
        """Context, prompt and response."""
        return self.laws.stem

    @property
    def n_candidates(self) -> int:
        """How many ids may stand at a position, as far as no rule says more."""
        return len(self.eligible.ids)

    def left_of(self, budget: float, *, has_slopes: bool) -> float:
        """Return what a budget leaves for the places: the text is read before them, and after.

        Args:
            budget: Token evaluations for all.
            has_slopes: Whether slopes will be asked for.
        """
        if has_slopes:
            _ = self.slopes
        again = len(self.case.stem) + len(self.case.response) - 1  # by `measure_noise`
        return max(0.0, budget - self.stem.spending.cost.token_evaluations - again)

    def search(self, group: Group, *, is_guided: bool) -> tuple[Search | TreeSearch, float]:
        """Return the search of a group, and the probability of ids not allowed at its start.

        Args:
            group: Prompt positions, sorted.
            is_guided: Whether draws are made, for which it helps to know what the text is about.

        Raises:
            InputError: A token that stands there is no candidate; or a rule that is not there for
                groups of several positions.
            CapabilityError: Several positions, and the model gives no next-token rows.
        """
        if len(group) > 1:
            return self.tree(group, (self.case.response,), is_guided=is_guided)
        topic, slopes = (self.topic, self.slopes) if is_guided else (None, None)
        allowed = self.eligible.at(group[0])
        return open_search(self.laws, self.case, group[0], allowed, self.seed, topic, slopes)

    def tree(
        self, group: Group, responses: Sequence[Ids], *, is_guided: bool
    ) -> tuple[TreeSearch, float]:
        """Return the search of a group for one response or more; see `search`.

        The law of a lone token is that of the candidates. A tuple keeps the model's own
        probability where ids are excluded: a factor that all have in common moves no score.
        """
        require(self.laws.model, Capability.NEXT_TOKEN)
        if len(group) > 1 and self.eligible.rule == "round_trip":
            raise InputError(
                f"candidates='round_trip' tries one token at a time, and positions {group!r} go "
                "together: take candidates='all' or 'word_start'"
            )
        first = group[0]
        allowed = [self.eligible.at(position) for position in group]
        length = len(self.case.context) + first
        prior = self.laws.prior(length, allowed[0])
        line = Line(
            length=length, places=group,
            tokens=np.array(self.case.prompt[first:], dtype=np.int64),
            free=np.isin(np.arange(first, len(self.case.prompt)), group),
            responses=tuple(np.array(response, dtype=np.int64) for response in responses),
        )  # fmt: skip
        nothing = np.full(self.laws.model.info.n_vocab, -np.inf)
        search = TreeSearch(
            stem=self.stem, line=line, allowed=allowed,
            log_first=prior.log_probs + (prior.log_mass if len(group) > 1 else 0.0),
            log_topic=self._topic(group) if is_guided else nothing,
            rng=generator(self.seed, "attribution", *group),
        )  # fmt: skip
        return search, prior.excluded

    def _topic(self, group: Group) -> Float[np.ndarray, "V"]:
        return self.topic.after(len(self.case.context) + group[-1])


def open_search(
    laws: NextLaws,
    case: Case,
    position: int,
    allowed: Int[np.ndarray, "V"],
    seed: int,
    topic: Topic | None = None,
    slopes: Slopes | None = None,
) -> tuple[Search, float]:
    """Return the search of a position, and the prior mass of what is no candidate there."""
    length = len(case.context) + position
    prior = laws.prior(length, allowed)
    log_prior = prior.log_probs
    actual = case.prompt[position]
    log_guide = log_prior
    if topic is not None:
        log_slope = None if slopes is None else slopes.at(length, allowed, actual)
        log_guide = guide(log_prior, topic.after(length)[allowed], log_slope)
    search = Search(
        stem=laws.stem, length=length, place=position, actual=actual,
        allowed=allowed, log_prior=log_prior, told=prior.told, log_mass=prior.log_mass,
        suffix=np.array(case.suffix(position), dtype=np.int64),
        n_prompt=len(case.prompt) - 1 - position, rng=generator(seed, "attribution", position),
        log_guide=log_guide,
    )  # fmt: skip
    return search, prior.excluded
