"""One call for every baseline. Unit: nats."""

from collections.abc import Sequence
from dataclasses import asdict, fields, is_dataclass

from likely.attribution.baselines.method import Method, Task
from likely.attribution.baselines.record import BaselineScores
from likely.attribution.baselines.registry import BASELINES
from likely.attribution.case import Case, Prompt, frame_case
from likely.attribution.result import ModelFacts
from likely.core.engine import Meter
from likely.core.model import LanguageModel, Settings
from likely.core.text.encode import Context
from likely.errors import InputError


def baseline(
    model: LanguageModel,
    prompt: Case | Prompt,
    response: Context | None = None,
    *,
    name: str,
    generate: int | None = None,
    positions: Sequence[int] | None = None,
    level: float = 0.95,
    seed: int = 0,
    settings: Settings | None = None,
    meter: Meter | None = None,
    **options: float | int | str | None,
) -> BaselineScores:
    """Return what a baseline says of the tokens of a prompt, for the same case as `attribute`.

    Args:
        model: Any model that scores continuations; for the gradient methods one with gradients.
        prompt: A case from `likely.attribution.frame_case`, or what that takes.
        response: Text or ids; None with a case, or with ``generate``.
        name: As in `likely.attribution.baselines.BASELINES`: ``deletion``, ``replacement``,
            ``context_cite``, ``shapley``, ``gradient_x_input``, ``integrated_gradients``.
        generate: Tokens of the likeliest response to take where none is given.
        positions: Prompt positions to score; by default all words, as `frame_case` has it.
        level: Coverage of the intervals of what is sampled.
        seed: Of the draws.
        settings: How to evaluate.
        meter: Is told of progress.
        options: Of the method: fields of its class in the registry.

    Raises:
        InputError: Unusable prompt, response or options; no position; a response that is
            impossible after the prompt.
        UnknownNameError: No such baseline.
        CapabilityError: The model lacks what the method takes.

    >>> import likely
    >>> law = {"a": {"a": .7, "b": .3}, "b": {"a": .2, "b": .8}, "<s>": {"a": .5, "b": .5}}
    >>> chain = likely.TableModel(["a", "b"], lambda before: law[before[-1]])
    >>> baseline(chain, "ba", "a", name="deletion").scores.round(4).tolist()
    [0.0, 1.2528]
    """
    if not 0.0 < level < 1.0 or seed < 0:
        raise InputError(
            f"a level lies in (0, 1) and a seed is at least 0, got {level!r} and {seed!r}"
        )
    method = _method(name, options)
    case = _case(model, prompt, response, generate=generate, positions=positions)
    if not case.positions:
        raise InputError(
            f"no token of the prompt is to be scored: its tokens are {set(case.roles)!r}; "
            "choose roles or positions"
        )
    found = method.run(
        Task(model=model, case=case, level=level, seed=seed, settings=settings, meter=meter)
    )
    used = asdict(method) if is_dataclass(method) and not isinstance(method, type) else options
    return BaselineScores(
        name=name,
        options=used,
        case=case,
        estimates=found.estimates,
        log_response=found.log_response,
        removal=found.removal,
        diagnostics=found.diagnostics,
        flags=found.flags,
        model=ModelFacts.of(model),
        level=level,
        seed=seed,
        cost=found.cost,
    )


def _method(name: str, options: dict[str, float | int | str | None]) -> Method:
    make = BASELINES.load(name)
    if is_dataclass(make):
        known = [option.name for option in fields(make)]
        unknown = sorted(set(options) - set(known))
        if unknown:
            raise InputError(f"{name!r} has the options {known}, got {unknown[0]!r}")
    try:
        return make(**options)
    except TypeError as error:
        reason = str(error).strip().splitlines()[0]
        raise InputError(f"{name!r} cannot be run with {options!r}: {reason}") from error


def _case(
    model: LanguageModel,
    prompt: Case | Prompt,
    response: Context | None,
    *,
    generate: int | None,
    positions: Sequence[int] | None,
) -> Case:
    if not isinstance(prompt, Case):
        return frame_case(model, prompt, response, generate=generate, positions=positions)
    if response is not None or generate is not None or positions is not None:
        raise InputError("a case has its response and positions; give these to frame_case")
    return prompt
