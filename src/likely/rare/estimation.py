"""Estimates how likely a model's output is under a law of inputs. Unit: nats."""

from collections.abc import Sequence

from likely.core.engine import Meter
from likely.core.estimate import Estimate
from likely.core.model import LanguageModel, Settings
from likely.errors import InputError
from likely.rare.event import Event, Target, read_event
from likely.rare.inputs import InputDistribution, check_fits, sentence_of
from likely.rare.method import Method, Task, make_method
from likely.rare.result import Found, RareEstimate
from likely.rare.threads import few_threads
from likely.stats.intervals import check_level


def estimate(
    model: LanguageModel,
    distribution: InputDistribution,
    target: Target,
    *,
    method: str | Method = "ga-amls",
    budget: int = 65536,
    seed: int = 0,
    level: float = 0.95,
    settings: Settings | None = None,
    progress: Meter | None = None,
    **options: object,
) -> RareEstimate:
    """Return how likely it is that a model's argmax is a token, over a law of inputs.

    Args:
        model: Any local model; most methods need one with hidden states.
        distribution: The law of inputs, as `distribution`, `independent` or `listed` make it.
        target: An id, a text that is exactly one token, or an `Event`.
        method: A name of `METHODS`, or a method with its options set.
        budget: Model calls; an input takes one for each step of the event, and at least one input
            must be read.
        seed: The same seed gives the same numbers.
        level: Coverage of the interval, in (0, 1).
        settings: How the engine evaluates, for models without tensors.
        progress: Is told the token positions as they are read.
        options: Of the method, by name.

    Raises:
        InputError: The target, the budget, the level or an option is unusable, or the method does
            not take this kind of event or distribution.
        CapabilityError: The model lacks what the method needs.

    Sources:
        arXiv 2607.18454 and 2410.13211; each method's own page says what it corrects.
    """
    return estimate_many(
        model, distribution, [target], method=method, budget=budget, seed=seed, level=level,
        settings=settings, progress=progress, **options,
    )[0]  # fmt: skip


def estimate_many(
    model: LanguageModel,
    distribution: InputDistribution,
    targets: Sequence[Target],
    *,
    method: str | Method = "ga-amls",
    budget: int = 65536,
    seed: int = 0,
    level: float = 0.95,
    settings: Settings | None = None,
    progress: Meter | None = None,
    **options: object,
) -> tuple[RareEstimate, ...]:
    """Return `estimate` of many events, with the work that they share done once.

    Args:
        model: As there.
        distribution: As there.
        targets: One or more.
        method: As there.
        budget: Model calls for each event; those that all events share are made once.
        seed: As there. An event's own random numbers do not depend on the others.
        level: As there.
        settings: As there.
        progress: As there.
        options: As there.

    Raises:
        InputError, CapabilityError: As there.
    """
    if budget < 1:
        raise InputError(f"a budget is at least one model call, got {budget!r}")
    if not targets:
        raise InputError("there is nothing to estimate: give at least one target")
    check_level(level)
    events = tuple(read_event(target, model) for target in targets)
    check_fits(distribution, model, events=events)
    if not isinstance(method, str) and options:
        raise InputError(f"options {sorted(options)} belong to a method's name; set them on it")
    chosen = make_method(method, options) if isinstance(method, str) else method
    task = Task(
        model=model, distribution=distribution, events=events, budget=budget, seed=seed,
        level=level, settings=settings, progress=progress,
    )  # fmt: skip
    with few_threads(model):
        found = chosen.run(task)
    return tuple(
        _framed(task, chosen, event, one) for event, one in zip(task.events, found, strict=True)
    )


def _framed(task: Task, method: Method, event: Event, found: Found) -> RareEstimate:
    log_prob = Estimate(
        value=found.log_prob, low=found.low, high=found.high, level=task.level, unit="nats",
        method=method.name, cost=found.spent.cost, diagnostics=found.diagnostics,
    )  # fmt: skip
    return RareEstimate(
        event=event,
        model=task.model.info.name,
        fingerprint=task.model.info.fingerprint,
        distribution=task.distribution.name,
        law=task.distribution.fingerprint,
        inputs=sentence_of(task.distribution),
        quantity=method.quantity,
        log_prob=log_prob,
        spent=found.spent,
        warnings=found.warnings,
        replicates=found.replicates,
        levels=found.levels,
        seed=task.seed,
        budget=task.budget,
    )
