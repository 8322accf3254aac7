"""What ``likely attribute`` asks, put to the library, and what it may cost. Unit: nats."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from likely.attribution.adaptive import Method
from likely.attribution.case import Case, Prompt, frame_case
from likely.attribution.contrasts import Contrast, contrast_cases
from likely.attribution.eligible import Rule
from likely.attribution.gathering import default_budget
from likely.attribution.groups import Group, Unit, split_case
from likely.attribution.question import attribute_case
from likely.attribution.result import Attribution
from likely.core.engine import Meter
from likely.core.model import LanguageModel
from likely.core.text.encode import Boundary


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked of a prompt; the names are those of `likely.attribution.attribute`.

    Attributes:
        other: The response that the first one is contrasted with, or None.
    """

    response: str | None
    generate: int | None
    other: str | None
    positions: tuple[int, ...] | None
    roles: tuple[str, ...] | None
    context: str | None
    boundary: Boundary
    groups: Unit | tuple[Group, ...]
    method: Method
    tolerance: float
    level: float
    seed: int
    budget: float | None
    candidates: Rule
    exclude: tuple[int, ...]
    kept: int | None


def frame(model: LanguageModel, prompt: Prompt, question: Question) -> tuple[Case, ...]:
    """Return a case for each response that is asked about, one of them generated if so asked.

    Raises:
        InputError: As `likely.attribution.frame_case`.
    """

    def framed(response: str | None, generate: int | None) -> Case:
        return frame_case(
            model, prompt, response, generate=generate, positions=question.positions,
            roles=question.roles, context=question.context, boundary=question.boundary,
        )  # fmt: skip

    first = framed(question.response, question.generate)
    return (first,) if question.other is None else (first, framed(question.other, None))


def most_tokens(model: LanguageModel, cases: Sequence[Case], question: Question) -> int:
    """Return how many token evaluations it takes at most of a model that keeps what it read.

    Raises:
        InputError: Groups that the prompt does not have.
    """
    n = model.info.n_tokens
    split = [split_case(case, question.groups) for case in cases]
    cases = [case for case, _ in split]
    whole = len(cases[0].stem) + sum(_exhausted(n, cases, group) for group in split[0][1])
    if question.method == "exact":
        return whole
    default = sum(default_budget(n, case) for case in cases)
    return min(whole, int(default if question.budget is None else question.budget))


def _exhausted(n_vocab: int, cases: Sequence[Case], group: Sequence[int]) -> int:
    """Return what all that may stand at some positions takes, with the responses after it."""
    ahead = sum(
        n_vocab**k * (later - here) for k, (here, later) in enumerate(pairwise(group), start=1)
    )
    after = len(cases[0].prompt) - group[-1] + sum(len(case.response) for case in cases)
    # Of a lone token with one response the last token of the text is a target alone.
    is_target = len(cases) == len(group) == 1
    return int(ahead + n_vocab ** len(group) * max(1, after - is_target))


def answer(
    model: LanguageModel, cases: Sequence[Case], question: Question, meter: Meter
) -> Attribution | Contrast:
    """Return what the library finds.

    Raises:
        InputError: As `likely.attribution.attribute` and `likely.attribution.contrast`.
        CapabilityError: Likewise.
    """
    ask = attribute_case if question.other is None else contrast_cases
    return ask(
        model, *cases, groups=question.groups, method=question.method,
        tolerance=question.tolerance, level=question.level, seed=question.seed,
        budget=question.budget, candidates=question.candidates, exclude=question.exclude,
        kept=question.kept, meter=meter,
    )  # fmt: skip
