"""Items on a model: the log-probability of each option, streamed in batches. Unit: nats.

Items are sorted by their context within a large window, so that a batch shares its prefixes and
hardly any prefix is evaluated in two batches; results go back to the order of the items. With a
score cache each batch is durable as soon as it comes: a run that was broken off picks up there.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

import numpy as np
from jaxtyping import Float

from likely.calibration.chats import Chat, prompt, wrapper_name
from likely.calibration.data_sets.items import Item
from likely.calibration.forecast import Forecast
from likely.calibration.partial_rows import partial_row
from likely.calibration.scored import Policy, Scored, ScoredBatch, in_order
from likely.calibration.surface_kinds import KINDS, SurfaceKind, option_surfaces, surface_kind
from likely.calibration.tables import Masses
from likely.core.answer_events import WordEnd
from likely.core.answer_scores import AnswerScore, ContextAnswers
from likely.core.answers import AnswerPlan, plan_answers
from likely.core.engine import Answers, Meter, Reduction, Request, Row, Store, Top, evaluate
from likely.core.estimate import Cost
from likely.core.logspace import log_union
from likely.core.model import Capability, LanguageModel, Settings, TopTokens, most_listed
from likely.core.text.chat import chat_flags
from likely.core.text.encode import Bos, Context
from likely.core.text.surfaces import Level
from likely.errors import InputError, NumericalError

WINDOW = 8192
"""Items whose contexts are sorted together: over the full set of colours 0.7 % more tokens than its
distinct prefixes, over the small one 0.2 %."""

BATCH = 256
"""Items that are evaluated together."""

Forms: TypeAlias = tuple[str, ...]

_ENOUGH_EQUAL = 16  # equal log-probs in a row that no model gives by chance
_SAME = 1e-12  # nats: rounding of a mean over tokens


def score_items(
    model: LanguageModel,
    items: Sequence[Item],
    *,
    level: Level = "paper",
    word_end: WordEnd = "auto",
    chat: Chat = "none",
    wrapper: str | None = None,
    bos: Bos = "auto",
    settings: Settings | None = None,
    cache: Store | None = None,
    meter: Meter | None = None,
    batch: int = BATCH,
) -> Scored:
    """Return the log-probability of each option of each item.

    Args:
        model: Any model that gives continuations; options that are numbers need whole rows.
        items: In any order.
        level: Which spellings an option has; see `option_surfaces`.
        word_end: ``auto`` counts an option only as far as its word then ends where an option of the
            item begins another, and where all its options are numbers.
        chat: How items are put to a chat model; see `likely.calibration.chats`.
        wrapper: Name of the instruction to a chat model.
        bos: As in `likely.score`.
        settings: How to evaluate; changes no number beyond rounding.
        cache: A `ScoreCache`: each batch is kept as it comes.
        meter: A progress meter, in tokens; its total is a forecast from the batches done.
        batch: Items that are evaluated together.

    Raises:
        InputError: Unusable items, named by their id, or policies.
        CapabilityError: No chat template, or word ends on a model without whole rows.
        NumericalError: NaN, more than all the probability, or one value for everything.
    """
    if not items:
        raise InputError("there is nothing to score: got no items")
    policy = Policy(level=level, word_end=word_end, chat=chat, wrapper=wrapper, bos=bos)
    batches = iter_scored(
        model, items, policy=policy, settings=settings, cache=cache, meter=meter, batch=batch
    )
    return in_order(list(batches))


def iter_scored(
    model: LanguageModel,
    items: Sequence[Item],
    *,
    policy: Policy | None = None,
    settings: Settings | None = None,
    cache: Store | None = None,
    meter: Meter | None = None,
    batch: int = BATCH,
) -> Iterator[ScoredBatch]:
    """Yield the results of `score_items` in batches, in an order that shares prefixes.

    Memory does not grow with the number of items: those of one batch are held at a time, and the
    contexts of a window.

    Args:
        model: As in `score_items`.
        items: As there.
        policy: How items are put to the model.
        settings: As there.
        cache: As there.
        meter: As there.
        batch: As there.

    Raises:
        InputError: As `score_items`.
        CapabilityError: As `score_items`.
        NumericalError: As `score_items`.
    """
    if batch < 1:
        raise InputError(f"a batch holds at least 1 item, got {batch!r}")
    policy = policy or Policy()
    policy = replace(policy, wrapper=wrapper_name(policy.chat, policy.wrapper))
    forecast = None if meter is None else Forecast(meter=meter, n_items=len(items))
    scorer = _Scorer(model=model, policy=policy, settings=settings, cache=cache, meter=forecast)
    for start in range(0, len(items), WINDOW):
        contexts = [item.context for item in items[start : start + WINDOW]]
        order = sorted(range(len(contexts)), key=contexts.__getitem__)
        for at in range(0, len(order), batch):
            part = [start + place for place in order[at : at + batch]]
            scored = scorer.score([items[place] for place in part])
            yield ScoredBatch(places=np.array(part, dtype=np.int64), scored=scored)
            if forecast is not None:
                forecast.settle(len(part))


def plan_items(
    model: LanguageModel, items: Sequence[Item], policy: Policy
) -> tuple[AnswerPlan, list[Context]]:
    """Return what scoring asks of a model, and the context of each item as it is put to it.

    Raises:
        InputError: An item cannot be used.
        CapabilityError: No chat template, or word ends on a model without whole rows.
    """
    contexts: list[Context] = []
    declared: list[dict[str, Forms]] = []
    for item in items:
        context, lead = prompt(model, item, chat=policy.chat, wrapper=policy.wrapper)
        forms = {o.label: option_surfaces(o, lead, policy.level) for o in item.options}
        contexts.append(context)
        declared.append(forms)
    plan = plan_answers(model, contexts, declared, word_end=policy.word_end, bos=policy.bos)
    return plan, contexts


@dataclass(kw_only=True)
class _Scorer:
    """Scores one batch after another.

    Attributes:
        model: That is asked.
        policy: How.
        settings: Of the engine.
        cache: Of scores, or None.
        meter: Or None.
        is_bounded: Whether the batch before had bounds, so that lists are asked for at once.
    """

    model: LanguageModel
    policy: Policy
    settings: Settings | None
    cache: Store | None
    meter: Meter | None
    is_bounded: bool = field(default=False, init=False)

    def score(self, items: Sequence[Item]) -> Scored:
        """Return the results of these items.

        Raises:
            InputError: An item cannot be used; the message begins with its id.
            NumericalError: An item's numbers are none; the message begins with its id.
        """
        try:
            return self._score(items)
        except (InputError, NumericalError) as error:
            kind = InputError if isinstance(error, InputError) else NumericalError
            raise kind(self._explain(items, error)) from error

    def _explain(self, items: Sequence[Item], error: Exception) -> str:
        """Return the error's message behind the id of the item that alone makes it."""
        apart = replace(self, cache=None, meter=None)
        for item in items:
            try:
                apart._score([item])
            except (InputError, NumericalError) as own:
                return f"item {item.id!r}: {own}"
        return f"items {items[0].id!r} to {items[-1].id!r} together: {error}"

    def _score(self, items: Sequence[Item]) -> Scored:
        plan, contexts = plan_items(self.model, items, self.policy)
        read, lists, cost = self._ask(plan)
        self._check_not_constant(read)
        return Scored(
            policy=self.policy,
            masses=_masses(read),
            log_other=np.array([answers.log_other for answers in read]),
            shares=np.array(
                [_shares(item, answers) for item, answers in zip(items, read, strict=True)]
            ),
            n_surfaces=np.array([sum(len(a.parts) for a in answers) for answers in read]),
            has_word_ends=np.array([answers.has_word_ends for answers in read]),
            flags=tuple(
                answers.flags | chat_flags(context)
                for answers, context in zip(read, contexts, strict=True)
            ),
            partial={i: partial_row(read[i], top) for i, top in lists.items()},
            cost=cost,
        )

    def _ask(
        self, plan: AnswerPlan
    ) -> tuple[tuple[ContextAnswers, ...], dict[int, TopTokens], Cost]:
        """Return the answers, lists of the likeliest tokens where they are bounds, and the cost.

        A list after a context costs no call of its own if it is asked for along with the answers,
        and a call each if they are exact; so the batch before decides.
        """
        asked = plan.requests
        ahead = range(len(plan.contexts)) if self.is_bounded else range(0)
        answered = self._evaluate([*asked, *self._tops(plan, ahead)])
        read = plan.read(answered.answers[: len(asked)])
        tops = dict(zip(ahead, answered.answers[len(asked) :], strict=False))
        bounded = [i for i, answers in enumerate(read) if "censored" in answers.flags]
        late = [i for i in bounded if i not in tops]
        more = self._evaluate(self._tops(plan, late))
        tops |= dict(zip(late, more.answers, strict=False))
        self.is_bounded = bool(bounded)
        lists = {i: tops[i].top for i in bounded if i in tops}
        known = {i: top for i, top in lists.items() if top is not None}
        return read, known, answered.cost + more.cost

    def _tops(self, plan: AnswerPlan, places: Sequence[int]) -> list[Request]:
        """Return requests for the likeliest tokens after contexts, of a model that lists them."""
        if Capability.TOP_TOKENS not in self.model.info.capabilities:
            return []
        k = most_listed(self.model)
        return [Top(prefix=plan.contexts[i].events[0].context, k=k) for i in places]

    def _evaluate(self, requests: Sequence[Request]) -> Answers:
        return evaluate(
            self.model, requests, settings=self.settings, cache=self.cache, meter=self.meter
        )

    def _check_not_constant(self, read: Sequence[ContextAnswers]) -> None:
        """Raise if all spellings of all items have one value and that is no law of the model's."""
        values = [
            part.log_prob / len(part.tokens)
            for answers in read
            for answer in answers
            for part in answer.parts
            if not part.is_bound
        ]
        if len(values) < _ENOUGH_EQUAL or -np.inf in values or np.ptp(values) > _SAME:
            return
        if Capability.NEXT_TOKEN in self.model.info.capabilities:
            asked = self._evaluate([Row(prefix=read[0].context_tokens, reduction=_SPREAD)])
            if float(asked[0].values) > 0:
                return
        raise NumericalError(
            f"each of {len(values)} spellings has the log-probability {values[0]!r} a token, "
            f"whatever stands before it: {self.model.info.name!r} has not read the texts; check it "
            "(likely self-check)"
        )


def _spread(rows: Float[np.ndarray, "r V"]) -> Float[np.ndarray, "r"]:
    return np.asarray(np.exp(rows.max(axis=-1)) - np.exp(rows.min(axis=-1)))


_SPREAD = Reduction(name="spread", apply=_spread)


def _masses(read: Sequence[ContextAnswers]) -> Masses:
    high = [answer.log_prob for answers in read for answer in answers]
    low = [
        answer.log_prob if "censored" not in answer.flags else _known(answer)
        for answers in read
        for answer in answers
    ]
    return Masses(
        offsets=np.cumsum([0, *(len(answers) for answers in read)]),
        log_mass=np.array(high),
        log_mass_low=np.array(low),
    )


def _known(answer: AnswerScore) -> float:
    """Return the log of the mass of the spellings that are known exactly."""
    return log_union([part.log_total for part in answer.parts if not part.is_bound])


def _shares(item: Item, answers: ContextAnswers) -> list[float]:
    """Return the part of the options' mass that each of `KINDS` has."""
    found: dict[SurfaceKind, list[float]] = {kind: [] for kind in KINDS}
    for option, answer in zip(item.options, answers, strict=True):
        for part in answer.parts:
            found[surface_kind(part.surface, option.words)].append(part.log_total)
    log_mass = log_union([value for values in found.values() for value in values])
    if log_mass == -np.inf or "censored" in answers.flags:
        return [float("nan")] * len(KINDS)
    return [float(np.exp(log_union(values) - log_mass)) for values in found.values()]
