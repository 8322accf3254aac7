"""How far scores hang on the circumstances: temperature, wording, number type. Unit: nats.

A score is a property of a model's law and of one text. How much of it is due to the particular
temperature, to these very words, or to the precision of the weights is asked by attributing again
with one of them changed, and by comparing token by token: words that both prompts have are matched,
and each difference has the interval of both scores.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from likely.attribution.adaptive import Method
from likely.attribution.case import Case, Prompt, frame_case
from likely.attribution.comparison import ComparedText, Comparison, compare
from likely.attribution.faithfulness.ranks import rank_scores
from likely.attribution.question import attribute_case
from likely.attribution.result import Attribution
from likely.core.engine import Meter
from likely.core.estimate import Estimate
from likely.core.model import LOCAL_MODELS, LanguageModel, Settings, Tempering
from likely.core.stored import Stored
from likely.core.text.encode import Context
from likely.errors import CapabilityError, InputError

if TYPE_CHECKING:
    import pandas as pd

Kind: TypeAlias = Literal["temperature", "paraphrase", "model"]

_SIDES = ("first", "second")


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """The same question with one circumstance changed.

    Attributes:
        name: The temperature, the number of the paraphrase, or the name of the model.
        kind: Which circumstance it is.
        attribution: What was found.
        comparison: Of the reference (first) with it (second), over the words that both have.
        rank_correlation: Spearman's, of both sides' scores of these words, its interval about the
            scores alone; None of fewer than two, or where one side is constant.
    """

    name: str
    kind: Kind
    attribution: Attribution
    comparison: Comparison
    rank_correlation: Estimate | None

    @property
    def shared(self) -> tuple[ComparedText, ...]:
        """The stretches with a score on both sides."""
        return self.comparison.shared

    @property
    def largest(self) -> ComparedText | None:
        """The stretch whose score moved most for certain; None if the prompts share none.

        For certain is what the interval of the difference leaves; where that is nothing for all,
        the estimates decide.
        """
        moves = [(one.difference, one) for one in self.shared if one.difference]
        if not moves:
            return None
        return max(moves, key=lambda move: (_at_least(move[0]), abs(move[0].value)))[1]

    @property
    def n_turned(self) -> int:
        """How many scores are surely of the other sign than they were."""
        return sum(
            one.first is not None
            and one.second is not None
            and (one.first.low > 0.0 > one.second.high or one.first.high < 0.0 < one.second.low)
            for one in self.shared
        )


def _at_least(difference: Estimate) -> float:
    """Return how far a difference is from 0 at its interval's nearer end."""
    return max(0.0, difference.low, -difference.high)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sensitivity(Stored):
    """An attribution, and the same under other circumstances.

    Attributes:
        reference: As things are.
        variants: One for each circumstance that was changed.
    """

    reference: Attribution
    variants: tuple[Variant, ...]

    def to_frame(self) -> "pd.DataFrame":
        """Return a row for each stretch of each variant, numbers with the ends of intervals."""
        import pandas as pd

        parts = []
        for variant in self.variants:
            part = variant.comparison.to_frame()
            part.insert(0, "variant", variant.name)
            part.insert(0, "kind", variant.kind)
            parts.append(part)
        return pd.concat(parts, ignore_index=True)

    def summary(self) -> str:
        """Return a line a variant, for a person."""
        lines = [f"response: {self.reference.log_response:.4f} nats ({self.reference.model.name})"]
        for variant in self.variants:
            rank, moved = variant.rank_correlation, variant.largest
            told = f"{len(variant.shared)} shared words"
            if rank is not None:
                told += f", rank correlation {rank.value:+z.3f}"
            if moved is not None and moved.difference is not None:
                by = moved.difference  # of the reference less the variant: it moved the other way
                ends = "" if by.is_exact else f" [{-by.high:+z.4f}, {-by.low:+z.4f}]"
                told += f", most moved {moved.text!r} by {-by.value:+z.4f}{ends}"
            if variant.n_turned:
                told += f", {variant.n_turned} of the other sign"
            log_prob = variant.attribution.log_response
            lines.append(f"{variant.kind} {variant.name}: response {log_prob:.4f} nats, {told}")
        return "\n".join(lines)


def sensitivity(
    model: LanguageModel,
    prompt: Prompt,
    response: Context | None = None,
    *,
    generate: int | None = None,
    temperatures: Sequence[float] = (),
    paraphrases: Sequence[Prompt] = (),
    models: Mapping[str, LanguageModel] | None = None,
    method: Method = "adaptive",
    tolerance: float = 0.02,
    level: float = 0.95,
    seed: int = 0,
    budget: float | None = None,
    context: Context | None = None,
    settings: Settings | None = None,
    meter: Meter | None = None,
) -> Sensitivity:
    """Return how scores move with temperature, wording and model.

    The response is the same in all: its ids where the tokens of prompt and response are, else its
    text. Each costs an attribution of its own, and draws by itself.

    Args:
        model: As `likely.attribution.attribute`, as all that is not named here.
        prompt: Text, ids, a rendered chat, or messages of a chat.
        response: Text or ids; or None with ``generate``.
        generate: Tokens of the likeliest response to take where none is given.
        temperatures: At each the model's laws are taken to the power 1/temperature.
        paraphrases: Prompts that say the same in other words.
        models: Others by name, such as the same weights in another dtype.
        method: ``exact`` or ``adaptive``.
        tolerance: Half the width that a score's interval may have, nats.
        level: Coverage of the intervals.
        seed: Of the reference's draws; each variant has a seed of its own.
        budget: Token evaluations of each attribution.
        context: What stands before every prompt.
        settings: How to evaluate.
        meter: Is told of progress, in token evaluations.

    Raises:
        InputError: Nothing is changed, or as `likely.attribution.attribute`.
        CapabilityError: Temperatures, and the model has none.

    >>> import likely
    >>> law = {"a": {"a": .7, "b": .3}, "b": {"a": .2, "b": .8}, "<s>": {"a": .5, "b": .5}}
    >>> chain = likely.TableModel(["a", "b"], lambda before: law[before[-1]])
    >>> found = sensitivity(chain, "aa", "a", temperatures=[2.0], method="exact")
    >>> both = found.reference, found.variants[0].attribution
    >>> [float(one.scores[1].round(4)) for one in both]
    [0.2412, 0.1953]
    """
    others = dict(models or {})
    if not (temperatures or paraphrases or others):
        raise InputError("name something to change: temperatures, paraphrases or models")

    def run(one: LanguageModel, case: Case, run_seed: int) -> Attribution:
        return attribute_case(
            one, case, method=method, tolerance=tolerance, level=level, seed=run_seed,
            budget=budget, settings=settings, meter=meter,
        )  # fmt: skip

    def framed(one: LanguageModel, text: Prompt, answer: Context) -> Case:
        return frame_case(one, text, answer, context=context)

    case = frame_case(model, prompt, response, generate=generate, context=context)
    asked: list[tuple[Kind, str, LanguageModel, Case]] = [
        ("temperature", f"{t:g}", tempered, framed(tempered, prompt, case.response))
        for t, tempered in ((t, _at(model, t)) for t in temperatures)
    ]
    asked += [
        ("paraphrase", str(i), model, framed(model, text, case.response))
        for i, text in enumerate(paraphrases)
    ]
    for name, one in others.items():
        alike = all(
            one.tokenizer.encode(text).tokens == model.tokenizer.encode(text).tokens
            for text in (case.prompt_text, case.response_text)
        )
        answer = case.response if alike else case.response_text
        asked.append(("model", name, one, framed(one, prompt, answer)))
    reference = run(model, case, seed)
    variants = []
    for i, (kind, name, one, changed) in enumerate(asked, start=1):
        found = run(one, changed, seed + i)
        names = ("as it is", f"{kind} {name}")
        comparison = compare(reference, found, names=names)
        sides = [[getattr(word, side) for word in comparison.shared] for side in _SIDES]
        variant = Variant(
            name=name, kind=kind, attribution=found, comparison=comparison,
            rank_correlation=rank_scores(*sides, level=level, seed=seed + i),
        )  # fmt: skip
        variants.append(variant)
    return Sensitivity(reference=reference, variants=tuple(variants))


def _at(model: LanguageModel, temperature: float) -> LanguageModel:
    if not isinstance(model, Tempering):
        raise CapabilityError(
            f"{model.info.name!r} has no temperature; those that have: {LOCAL_MODELS}"
        )
    return model.at_temperature(temperature)
