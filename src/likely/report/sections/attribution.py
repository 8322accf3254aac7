"""Which tokens of two worked prompts made the response likely. Unit: nats."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from likely.attribution.case import Case, frame_case
from likely.attribution.cells import EDGES_NATS
from likely.attribution.question import attribute_case
from likely.attribution.result import Attribution
from likely.core.estimate import Cost
from likely.core.model import LanguageModel
from likely.errors import CapabilityError, InputError
from likely.report.attributed import (
    NEAR,
    Laid,
    Seen,
    lay_out_prompt,
    lay_out_response,
    look,
    score_shade,
    warnings_of,
)
from likely.report.attribution_table import to_record
from likely.report.render import render
from likely.report.section import Job, Section

_TOLERANCE = {"smoke": 0.1, "full": 0.02}
_BUDGET = {"smoke": 3500.0, "full": None}  # token evaluations of a prompt


@dataclass(frozen=True, slots=True, kw_only=True)
class Worked:
    """A prompt that the section looks into.

    Attributes:
        why: What it is there to show.
        prompt: Text.
        response: Text; None for the model's own likeliest continuation.
        generate: Tokens of that.
        focus: The end of the prompt whose tokens the preset ``smoke`` attributes; ``full`` does
            all.
    """

    why: str
    prompt: str
    response: str | None
    generate: int | None
    focus: str

    def __post_init__(self) -> None:
        if not self.prompt.endswith(self.focus) or not self.focus:
            raise InputError(
                f"the focus is how the prompt ends, got {self.focus!r} for {self.prompt!r}"
            )


WORKED = (
    Worked(
        why="A question with a false premise: did the model’s own answer take it up?",
        prompt="What year did Albert Einstein visit Mars?", response=None, generate=8,
        focus=" Mars?",
    ),
    Worked(
        why="A sentence and its end: does the end hang on the last word before it?",
        prompt="He made a note to check it more", response=" closely.", generate=None,
        focus=" more",
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A worked prompt as the page shows it.

    Attributes:
        why: What it is there to show.
        found: Its attribution.
        prompt: Its tokens.
        response: Those of its response.
        shades: Of each place.
        seen: What is seen.
        warnings: What to know first.
    """

    why: str
    found: Attribution
    prompt: Laid
    response: Laid
    shades: tuple[str, ...]
    seen: Seen
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AttributionSection:
    """Scores of the tokens of worked prompts.

    Attributes:
        worked: Which prompts.
    """

    worked: Sequence[Worked] = WORKED
    name: str = "attribution"
    title: str = "Which words of a prompt does it answer to?"
    order: int = 130

    def build(self, model: LanguageModel, job: Job) -> Section:
        """Return the section; what the model cannot give is said in its place."""
        try:
            examples = [_example(model, worked, job) for worked in self.worked]
        except (CapabilityError, InputError) as error:
            body = render("attribution_section.html", problem=str(error))
            data: dict[str, object] = {"problem": str(error)}
            return Section(name=self.name, title=self.title, body=body, data=data)
        body = render(
            "attribution_section.html",
            problem=None,
            examples=examples,
            edges=EDGES_NATS,
            near=NEAR,
            is_part=job.preset == "smoke",
        )
        return Section(
            name=self.name,
            title=self.title,
            body=body,
            data={"prompts": [to_record(example.found) for example in examples]},
            cost=sum((example.found.cost for example in examples), start=Cost()),
        )


def _example(model: LanguageModel, worked: Worked, job: Job) -> Example:
    case = frame_case(model, worked.prompt, worked.response, generate=worked.generate)
    if job.preset == "smoke":
        case = replace(case, positions=_in_focus(case, len(worked.focus)))
    found = attribute_case(
        model,
        case,
        tolerance=_TOLERANCE[job.preset],
        budget=_BUDGET[job.preset],
        seed=job.seed,
        meter=job.meter,
    )
    return Example(
        why=worked.why,
        found=found,
        prompt=lay_out_prompt(found),
        response=lay_out_response(found),
        shades=tuple(score_shade(place.measures.score.value) for place in found.places),
        seen=look(found),
        warnings=warnings_of(found),
    )


def _in_focus(case: Case, n_chars: int) -> tuple[int, ...]:
    """Return the positions of the tokens of the last characters of a prompt."""
    start = len(case.prompt_text) - n_chars
    return tuple(i for i in case.positions if case.spans[i][1] > start)


ATTRIBUTION = AttributionSection()
