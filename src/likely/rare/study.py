"""The study of rare events as a run of records: laws and events in, an estimate each out. Nats."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from likely.core.estimate import Estimate
from likely.core.model import LanguageModel
from likely.errors import InputError
from likely.rare.estimation import estimate_many
from likely.rare.event import Event, Target
from likely.rare.inputs import InputDistribution
from likely.rare.method import make_method
from likely.rare.named import distribution
from likely.rare.result import RareEstimate

Record: TypeAlias = Mapping[str, object]

_SHOWN = 8  # characters of a law's fingerprint


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyConfig:
    """How rare events are estimated.

    Attributes:
        method: A name of `likely.rare.METHODS`.
        options: Of the method, by name.
        budget: Model calls for each event.
        level: Coverage of the intervals, in (0, 1).
    """

    method: str = "ga-amls"
    options: Mapping[str, object] = field(default_factory=dict)
    budget: int = 65536
    level: float = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Events under one law of inputs, which share all work that can be shared.

    Attributes:
        law: A law of inputs, or the name of one, such as ``hex``.
        targets: What may happen; as for `likely.rare.estimate`.
    """

    law: InputDistribution | str
    targets: tuple[Target, ...]


class RareStudy:
    """How likely is an output that nobody has seen?"""

    name = "rare"

    def iter_records(
        self,
        model: LanguageModel,
        items: Sequence[object],
        config: object,
        *,
        rng: np.random.Generator,
    ) -> Iterator[Record]:
        """Yield a record an event: its `RareEstimate` as a mapping, ready for strict JSON.

        Args:
            model: Any local model; most methods need one with hidden states.
            items: Each a `Question`.
            config: A `StudyConfig`.
            rng: One seed is drawn from it, on which all else hangs: the records of a question do
                not depend on the others.

        Raises:
            InputError: An item is no question, or the config is of another study.
            CapabilityError, UnknownNameError: As `likely.rare.estimate_many`.
        """
        if not isinstance(config, StudyConfig):
            raise InputError(f"the study 'rare' takes a StudyConfig, got {config!r}")
        method = make_method(config.method, config.options)
        questions = [_question(item) for item in items]
        seed = int(rng.integers(2**31))
        for one in questions:
            law = distribution(one.law, model) if isinstance(one.law, str) else one.law
            for found in estimate_many(
                model, law, one.targets, method=method, budget=config.budget, seed=seed,
                level=config.level,
            ):  # fmt: skip
                yield found.to_dict()

    def summarise(self, records: Iterable[Record]) -> Mapping[str, Estimate]:
        """Return by ``law/event`` the probability of each event, with its interval and cost.

        Of laws with one name the key has the beginning of the fingerprint too, of events with one
        name the ids: several tokens may read alike.

        Raises:
            InputError: There is no record, one is none of this study, they are of several models,
                or two are of one event.
        """
        estimates = [RareEstimate.from_dict(record) for record in records]
        models = sorted({one.model for one in estimates})
        if len(models) != 1:
            raise InputError(
                f"a summary needs records of one model, got {len(estimates)} of {models!r}"
            )
        laws = _told_apart([(one.distribution, one.law[:_SHOWN]) for one in estimates])
        events = _told_apart([(one.event.name, _ids(one.event)) for one in estimates])
        found: dict[str, Estimate] = {}
        for law, event, one in zip(laws, events, estimates, strict=True):
            key = f"{law}/{event}"
            if key in found:
                raise InputError(f"the records have {key!r} twice; sum up one run at a time")
            found[key] = one.prob
        return found


def _told_apart(names: Sequence[tuple[str, str]]) -> list[str]:
    """Return names, each with its second part where the first does not tell it apart.

    >>> _told_apart([("a", "1"), ("b", "2"), ("b", "3"), ("a", "1")])
    ['a', 'b (2)', 'b (3)', 'a']
    """
    parts: dict[str, set[str]] = {}
    for name, part in names:
        parts.setdefault(name, set()).add(part)
    return [f"{name} ({part})" if len(parts[name]) > 1 else name for name, part in names]


def _ids(event: Event) -> str:
    """Return the ids of an event, and the margin if it asks for one."""
    steps = " ".join("|".join(map(str, step)) for step in event.steps)
    return steps if event.above == 0.0 else f"{steps} by {event.above!r} nats"


def _question(item: object) -> Question:
    if not isinstance(item, Question):
        raise InputError(f"the study 'rare' takes Questions (a law and targets), got {item!r}")
    return item


STUDY = RareStudy()
"""What the registry of studies loads."""
