"""What a method is: from a task (model, law of inputs, events, budget) to one answer an event.

A method is a frozen dataclass whose fields are its options; `METHODS` names them all. To add one:
one file, one line here, one test against full enumeration.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from itertools import pairwise
from numbers import Integral, Real
from types import UnionType
from typing import Literal, Protocol, Union, cast, get_args, get_origin, runtime_checkable

import numpy as np
from jaxtyping import Int

from likely.core.engine import Meter
from likely.core.model import LanguageModel, Settings
from likely.core.registry import Registry
from likely.core.streams import generator
from likely.errors import InputError
from likely.rare.event import Event
from likely.rare.inputs import IndependentDistribution, InputDistribution, iter_sample
from likely.rare.result import Found, Quantity


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """What is to be estimated, and with how much.

    Attributes:
        model: Any local model.
        distribution: The law of inputs.
        events: What may happen; one answer is wanted for each.
        budget: Model calls that each event may take, one for each of its steps after an input.
            Calls that several events share are made once, whatever their number.
        seed: Of the run.
        level: Coverage of the intervals, in (0, 1).
        settings: How the engine evaluates, for models without tensors.
        progress: Is told the token positions as they are read.
    """

    model: LanguageModel
    distribution: InputDistribution
    events: tuple[Event, ...]
    budget: int
    seed: int = 0
    level: float = 0.95
    settings: Settings | None = None
    progress: Meter | None = None

    def stream(self, event: Event | None, *names: str | int) -> np.random.Generator:
        """Return the random stream of an event and further names: the same in any company.

        Args:
            event: None for what all events share.
            names: Such as the method and a replicate.
        """
        return generator(self.seed, *self.path(event, *names))

    def n_inputs(self, event: Event) -> int:
        """Return how many inputs the budget has for an event, each read once for every step.

        Raises:
            InputError: It has none.
        """
        found = self.budget // len(event.steps)
        if found < 1:
            raise InputError(
                f"{event.name!r} takes {len(event.steps)} model calls for each input, got a budget "
                f"of {self.budget!r}; raise it"
            )
        return found

    def path(self, event: Event | None, *names: str | int) -> tuple[str | int, ...]:
        """Return the names of that stream."""
        own = "every event" if event is None else repr((event.steps, event.above))
        return ("rare", own, *names)


def iter_shared(
    task: Task, law: InputDistribution, *names: str | int
) -> Iterator[tuple[Int[np.ndarray, "b T"], list[int]]]:
    """Yield inputs from one stream, and the numbers of the events that each batch still serves.

    Events have the same inputs, those of more steps fewer of them.

    Args:
        task: Its events and budget.
        law: That inputs are drawn from.
        names: Of the stream.

    Raises:
        InputError: The budget has no input for some event.
    """
    numbers = [task.n_inputs(event) for event in task.events]
    path, start = task.path(None, *names), 0
    for inputs in iter_sample(law, max(numbers), seed=task.seed, names=path):
        end = start + len(inputs)
        cuts = sorted({start, end, *(n for n in numbers if start < n < end)})
        for first, last in pairwise(cuts):
            served = [place for place, n in enumerate(numbers) if n >= last]
            yield inputs[first - start : last - start], served
        start = end


@runtime_checkable
class Method(Protocol):
    """A way to estimate rare events."""

    @property
    def name(self) -> str:
        """As in `METHODS`."""
        ...

    @property
    def quantity(self) -> Quantity:
        """What it estimates: the probability under the law of inputs, or of fitted activations."""
        ...

    def run(self, task: Task) -> Sequence[Found]:
        """Return what it finds of each event of the task, in their order."""
        ...


METHODS: Registry[type[Method]] = Registry(
    "method of estimating rare events",
    {
        "itgis": "likely.rare.itgis:Itgis",
        "mhis": "likely.rare.mhis:Mhis",
        "naive": "likely.rare.naive:Naive",
        "qld": "likely.rare.qld.method:Qld",
        "gld": "likely.rare.gld:Gld",
        "forecast": "likely.rare.extremes:Forecast",
        "proposal": "likely.rare.proposal:ProposalImportance",
        "ga-amls": "likely.rare.ga_amls:GaAmls",
        "amls-inputs": "likely.rare.amls_inputs:AmlsInputs",
    },
)
"""Name to class of method."""


def make_method(name: str, options: Mapping[str, object]) -> Method:
    """Return a method with its options.

    Raises:
        UnknownNameError: No method has that name.
        InputError: It has no such option, or none with such a value, or one that it cannot do
            without is not given.
    """
    kind = METHODS.load(name)
    own = [one for one in fields(kind) if one.init]  # type: ignore[arg-type]
    known = [one.name for one in own]
    for one in own:
        has_default = one.default is not MISSING or one.default_factory is not MISSING
        if not has_default and one.name not in options:
            raise InputError(f"method {name!r} needs its option {one.name!r}; give it")
    for option in options:
        if option not in known:
            raise InputError(f"method {name!r} has no option {option!r}; it has {known}")
    made = {}
    for one in own:
        if one.name not in options:
            continue
        try:
            made[one.name] = _as(options[one.name], one.type)
        except (TypeError, OverflowError):
            raise InputError(
                f"option {one.name!r} of method {name!r} is {_words_for(one.type)}, got "
                f"{options[one.name]!r}"
            ) from None
    return kind(**made)


_WORDS = {
    int: "a whole number", float: "a number", str: "a text", bool: "true or false",
    type(None): "None (null)",
}  # fmt: skip


def _alternatives(kind: object) -> tuple[object, ...]:
    """Return the types that a union is made of, or the one type."""
    return get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)


def _as(value: object, kind: object) -> object:
    """Return a value as the type of a field; types of objects are the method's matter.

    Raises:
        TypeError: It is of another type: a whole number is a number too, but true is none.
        OverflowError: It is a whole number that no float is near.
    """
    for one in _alternatives(kind):
        if get_origin(one) is Literal:
            if any(type(value) is type(known) and value == known for known in get_args(one)):
                return value
        elif one in (int, float):
            if one is int and isinstance(value, Integral) and not isinstance(value, bool):
                return int(value)
            if one is float and isinstance(value, Real) and not isinstance(value, bool):
                return float(value)
        elif one not in _WORDS or isinstance(value, one):
            return value
    raise TypeError


def _words_for(kind: object) -> str:
    """Return what a type asks for, in words."""
    found: list[str] = []
    for one in _alternatives(kind):
        if get_origin(one) is Literal:
            found += map(repr, get_args(one))
        else:
            found.append(_WORDS[cast("type", one)])
    return " or ".join(found)


def require_independent(task: Task, method: str) -> IndependentDistribution:
    """Return the law of inputs as one of independent places.

    Raises:
        InputError: It is another.
    """
    if not isinstance(task.distribution, IndependentDistribution):
        raise InputError(
            f"method {method!r} needs a distribution of independent places, "
            f"{task.distribution.name!r} is none; use naive, forecast, proposal, qld, gld or "
            "ga-amls"
        )
    return task.distribution


def require_one_step(task: Task) -> None:
    """Raise unless every event is decided by the law of the next token alone.

    Raises:
        InputError: One has several steps.
    """
    for event in task.events:
        if not event.is_one_step:
            raise InputError(
                f"methods over activations take events of one token, {event.name!r} has "
                f"{len(event.steps)}; use naive, forecast, proposal, itgis, mhis or amls-inputs"
            )
