"""The same prompts over a series of models: what training changes about them. Unit: nats.

Means over all attributed positions of all prompts, with intervals over prompts: positions of one
prompt are not independent of one another.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from likely.attribution.adaptive import Method
from likely.attribution.case import Prompt, frame_case
from likely.attribution.mismatch import Gap, calibration_gap, gap_of
from likely.attribution.question import attribute_case
from likely.attribution.replacing import MASS, replacement
from likely.attribution.result import Attribution, ModelFacts
from likely.core.engine import Meter
from likely.core.estimate import Cost, Estimate
from likely.core.model import LanguageModel, Settings
from likely.core.stored import Stored
from likely.core.text.encode import Context
from likely.errors import InputError
from likely.stats.few_clusters import cluster_t

if TYPE_CHECKING:
    import pandas as pd

    from likely.attribution.replaced import Replacements


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One position of one prompt as one model reads it.

    Attributes:
        prompt: Which of the prompts, from 0.
        position: In its tokens: other tokenizers have others.
        text: Of the token.
        score: Attribution score.
        context_entropy: Of q, given the rest of the prompt.
        response_entropy: Of q^r, given the response too.
        surprisal: -log q of the actual token.
        count_entropy: Of the responses to its substitutes, each counted once; None if not asked.
        weighted_entropy: The same weighted by q.
        stability: How likely a substitute leads to the same response.
    """

    prompt: int
    position: int
    text: str
    score: float
    context_entropy: float
    response_entropy: float
    surprisal: float
    count_entropy: float | None
    weighted_entropy: float | None
    stability: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """What one model of a series makes of the prompts.

    Attributes:
        name: As given.
        model: Which it is.
        score: Mean attribution score.
        context_entropy: Mean entropy of what may stand at a position, given the rest.
        response_entropy: The same given the response too.
        surprisal: Mean two-sided surprisal of what stands there.
        gap: Mean of surprisal less entropy on the prompts.
        own_gap: The same on texts drawn from the model, where it is 0 but for chance; None if not
            asked.
        count_entropy: Mean replacement entropy, each substitute counted once; None if not asked.
        weighted_entropy: The same weighted by q.
        stability: Mean probability that a substitute leads to the same response.
        converged: Share of positions whose score is known to the tolerance.
        n_reached: Positions whose substitutes have the mass asked for; None if not asked.
        readings: Every position.
        cost: Of everything.
    """

    name: str
    model: ModelFacts
    score: Estimate
    context_entropy: Estimate
    response_entropy: Estimate
    surprisal: Estimate
    gap: Gap
    own_gap: Gap | None
    count_entropy: Estimate | None
    weighted_entropy: Estimate | None
    stability: Estimate | None
    converged: float
    n_reached: int | None
    readings: tuple[Reading, ...]
    cost: Cost

    def estimates(self) -> dict[str, Estimate]:
        """Return the means that were asked for, by name."""
        found = {f.name: getattr(self, f.name) for f in fields(self)}
        named = {name: value for name, value in found.items() if isinstance(value, Estimate)}
        named["gap"] = self.gap.gap
        if self.own_gap is not None:
            named["own_gap"] = self.own_gap.gap
        return named


@dataclass(frozen=True, slots=True, kw_only=True)
class Series(Stored):
    """The prompts over all models, in the order given.

    Attributes:
        checkpoints: A model each.
        n_prompts: How many prompts there were.
        mass: Of the posterior that substitutes have; None where none were tried.
        level: Of the intervals, over prompts.
        seed: Of the draws.
    """

    checkpoints: tuple[Checkpoint, ...]
    n_prompts: int
    mass: float | None
    level: float
    seed: int

    def __getitem__(self, index: int) -> Checkpoint:
        return self.checkpoints[index]

    def __len__(self) -> int:
        return len(self.checkpoints)

    def __iter__(self) -> Iterator[Checkpoint]:
        return iter(self.checkpoints)

    def to_frame(self) -> "pd.DataFrame":
        """Return a row a model: each mean with the ends of its interval."""
        import pandas as pd

        rows = []
        for one in self.checkpoints:
            row: dict[str, object] = {"name": one.name, "n_positions": len(one.readings)}
            for name, mean in one.estimates().items():
                row |= mean.to_columns(name)
            row |= {"converged": one.converged, "n_reached": one.n_reached}
            rows.append(row | {"token_evaluations": one.cost.token_evaluations})
        return pd.DataFrame(rows)

    def readings_frame(self) -> "pd.DataFrame":
        """Return a row a model, prompt and position."""
        import pandas as pd

        return pd.DataFrame(
            [{"name": one.name, **asdict(r)} for one in self.checkpoints for r in one.readings]
        )

    def summary(self) -> str:
        """Return a block of lines a model for a person."""
        lines = [f"means over the positions of {self.n_prompts} prompts, intervals over prompts"]
        for one in self.checkpoints:
            lines.append(f"{one.name} ({len(one.readings)} positions)")
            lines += [
                f"  {name.replace('_', ' ')}: {mean.summary()}"
                for name, mean in one.estimates().items()
            ]
            if one.converged < 1.0:
                lines.append(f"  note: {1.0 - one.converged:.0%} of the scores did not converge")
            if one.n_reached is not None and one.n_reached < len(one.readings):
                short = len(one.readings) - one.n_reached
                lines.append(f"  note: at {short} positions the substitutes lack the mass")
        return "\n".join(lines)


def series(
    models: Iterable[tuple[str, LanguageModel]],
    prompts: Sequence[Prompt],
    *,
    responses: Sequence[Context] | None = None,
    generate: int = 20,
    method: Method = "adaptive",
    tolerance: float = 0.02,
    budget: float | None = None,
    mass: float | None = MASS,
    most: int = 64,
    n_own: int = 0,
    own_length: int = 8,
    level: float = 0.95,
    seed: int = 0,
    context: Context | None = None,
    settings: Settings | None = None,
    meter: Meter | None = None,
) -> Series:
    """Return what each model of a series makes of the same prompts.

    Args:
        models: Names and models, such as the checkpoints of a training run; of an iterator that
            loads each when asked, one is in memory at a time.
        prompts: At least 2.
        responses: One a prompt; by default each model writes its own likeliest ones.
        generate: Tokens of these.
        method: As in `likely.attribution.attribute`.
        tolerance: As there.
        budget: As there, for each prompt.
        mass: Of the substitutes whose responses are written; None for no replacement entropies.
        most: Substitutes tried at a position.
        n_own: Texts drawn from each model for the check that must come out as 0; 0 for no check.
        own_length: Tokens of each.
        level: Coverage of the intervals, over prompts.
        seed: Of all draws.
        context: As `likely.attribution.frame_case`.
        settings: How to evaluate.
        meter: Is told of progress, in token evaluations.

    Raises:
        InputError: No models, fewer than 2 prompts, not as many responses, two models of one name.
    """
    if len(prompts) < 2:
        raise InputError(f"an interval over prompts needs at least 2 of them, got {len(prompts)}")
    if responses is not None and len(responses) != len(prompts):
        raise InputError(
            f"each prompt has a response: got {len(prompts)} prompts, {len(responses)} responses"
        )
    plan = _Plan(
        prompts=prompts, responses=responses, generate=generate, method=method,
        tolerance=tolerance, budget=budget, mass=mass, most=most, n_own=n_own,
        own_length=own_length, level=level, seed=seed, context=context, settings=settings,
        meter=meter,
    )  # fmt: skip
    found: list[Checkpoint] = []
    for name, model in models:
        if name in {one.name for one in found}:
            raise InputError(f"two models are named {name!r}; give each a name of its own")
        found.append(plan.checkpoint(name, model))
        del model  # so that it is gone before the next one is loaded
    if not found:
        raise InputError("a series needs at least 1 model, got none")
    return Series(
        checkpoints=tuple(found), n_prompts=len(prompts), mass=mass, level=level, seed=seed
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    """What is done with each model; see `series`."""

    prompts: Sequence[Prompt]
    responses: Sequence[Context] | None
    generate: int
    method: Method
    tolerance: float
    budget: float | None
    mass: float | None
    most: int
    n_own: int
    own_length: int
    level: float
    seed: int
    context: Context | None
    settings: Settings | None
    meter: Meter | None

    def checkpoint(self, name: str, model: LanguageModel) -> Checkpoint:
        """Return what a model makes of the prompts."""
        attributions = [self._attribute(model, i) for i in range(len(self.prompts))]
        replaced = [self._replace(model, found) for found in attributions]
        own = self._own_gap(model)
        readings = [
            reading
            for i, (found, substitutes) in enumerate(zip(attributions, replaced, strict=True))
            for reading in _iter_readings(i, found, substitutes)
        ]
        places = [place for found in attributions for place in found.places]
        costs = [found.cost for found in (*attributions, *replaced) if found is not None]
        tried = [place for made in replaced if made is not None for place in made]
        return Checkpoint(
            name=name,
            model=ModelFacts.of(model),
            score=self._mean(readings, "score"),
            context_entropy=self._mean(readings, "context_entropy"),
            response_entropy=self._mean(readings, "response_entropy"),
            surprisal=self._mean(readings, "surprisal"),
            gap=gap_of(attributions, level=self.level),
            own_gap=own,
            count_entropy=self._mean(readings, "count_entropy") if tried else None,
            weighted_entropy=self._mean(readings, "weighted_entropy") if tried else None,
            stability=self._mean(readings, "stability") if tried else None,
            converged=sum(place.converged for place in places) / len(places),
            n_reached=sum(place.reached for place in tried) if tried else None,
            readings=tuple(readings),
            cost=sum(costs, Cost() if own is None else own.cost),
        )

    def _attribute(self, model: LanguageModel, i: int) -> Attribution:
        given = None if self.responses is None else self.responses[i]
        case = frame_case(
            model, self.prompts[i], given, generate=self.generate if given is None else None,
            context=self.context,
        )  # fmt: skip
        return attribute_case(
            model, case, method=self.method, tolerance=self.tolerance, budget=self.budget,
            level=self.level, seed=self.seed + i, settings=self.settings, meter=self.meter,
        )  # fmt: skip

    def _replace(self, model: LanguageModel, found: Attribution) -> "Replacements | None":
        if self.mass is None:
            return None
        return replacement(
            model, found, mass=self.mass, most=self.most, level=self.level, seed=found.seed,
            settings=self.settings, meter=self.meter,
        )  # fmt: skip

    def _own_gap(self, model: LanguageModel) -> Gap | None:
        if not self.n_own:
            return None
        return calibration_gap(
            model, n=self.n_own, length=self.own_length, method=self.method, budget=self.budget,
            level=self.level, seed=self.seed, context=self.context, settings=self.settings,
            meter=self.meter,
        )  # fmt: skip

    def _mean(self, readings: Sequence[Reading], name: str) -> Estimate:
        """Return the mean of a number over all positions, with its interval over prompts."""
        return cluster_t(
            np.array([getattr(reading, name) for reading in readings], dtype=np.float64),
            np.array([reading.prompt for reading in readings]),
            level=self.level,
            unit="prob" if name == "stability" else "nats",
        )


def _iter_readings(
    prompt: int, found: Attribution, replaced: "Replacements | None"
) -> Iterator[Reading]:
    for i, place in enumerate(found.places):
        measures = place.measures
        substitutes = None if replaced is None else replaced[i]
        yield Reading(
            prompt=prompt,
            position=place.positions[0],
            text=place.text,
            score=measures.score.value,
            context_entropy=measures.context_entropy.value,
            response_entropy=measures.response_entropy.value,
            surprisal=measures.surprisal.value,
            count_entropy=None if substitutes is None else substitutes.count_entropy.value,
            weighted_entropy=None if substitutes is None else substitutes.weighted_entropy.value,
            stability=None if substitutes is None else substitutes.stability.value,
        )
