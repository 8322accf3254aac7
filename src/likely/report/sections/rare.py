"""How likely outputs are that come seldom or never among some inputs. Unit: nats."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from likely.core.estimate import Cost
from likely.core.model import LanguageModel
from likely.errors import CapabilityError, InputError, NumericalError
from likely.rare.estimation import estimate_many
from likely.rare.inputs import IndependentDistribution, iter_sample
from likely.rare.method import METHODS, make_method
from likely.rare.named import distribution
from likely.rare.reading import Reader
from likely.rare.result import RareEstimate
from likely.rare.stored_truths import stored_truth
from likely.report.display import power_of_ten
from likely.report.rarity import Look, look_at_rare
from likely.report.render import render
from likely.report.section import Job, Section


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """A method and what it is asked for.

    Attributes:
        method: Its name.
        unseen_only: Whether it is asked for tokens alone that never won.
        options: Of the method.
    """

    method: str
    unseen_only: bool = True
    options: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a preset estimates.

    Attributes:
        length: Tokens of an input after BOS; None for as many as the law has by itself.
        n_choice: Inputs by which tokens are chosen.
        n_seen: Tokens that win most often among these.
        n_unseen: Tokens of the law that never win there, the most frequent ones.
        budget: Inputs of each method.
        askings: What each method is asked for.
    """

    length: int | None
    n_choice: int
    n_seen: int
    n_unseen: int
    budget: int
    askings: tuple[Asking, ...]


_COUNT = Asking(method="naive", unseen_only=False)
_SPLIT = Asking(method="ga-amls", options={"n_particles": 500, "n_replicates": 4})

PLANS = {
    "smoke": Plan(
        length=15, n_choice=32, n_seen=2, n_unseen=2, budget=64,
        askings=(_COUNT, Asking(method="forecast")),
    ),
    "full": Plan(
        length=None, n_choice=256, n_seen=3, n_unseen=3, budget=2048,
        askings=(_COUNT, Asking(method="forecast"), _SPLIT),
    ),
}  # fmt: skip
"""Preset to plan: 2,560 token evaluations with ``smoke``, 211,200 with ``full``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """What was found under one law.

    Attributes:
        law: Of the inputs.
        seen: Tokens that won most often when tokens were chosen.
        unseen: Tokens that never won then.
        found: An estimate for each token and method, token by token.
        left_out: Methods that this model cannot be asked by, and why.
        cost: Of it all.
    """

    law: IndependentDistribution
    seen: tuple[int, ...]
    unseen: tuple[int, ...]
    found: tuple[RareEstimate, ...]
    left_out: tuple[tuple[str, str], ...]
    cost: Cost


@dataclass(frozen=True, slots=True, kw_only=True)
class RareSection:
    """A few tokens under the law of random hexadecimal strings.

    Attributes:
        law: Name of the law of inputs.
        plans: What each preset estimates.
    """

    law: str = "hex"
    plans: Mapping[str, Plan] = field(default_factory=lambda: PLANS)
    name: str = "rare"
    title: str = "How likely is an output nobody has seen?"
    order: int = 140

    def build(self, model: LanguageModel, job: Job) -> Section:
        """Return the section; what the model cannot give is said in its place."""
        plan = self.plans[job.preset]
        try:
            law = _law(self.law, model, plan)
            answers = _ask(model, law, plan, job)
            look = look_at_rare(answers.found, stored_truth(model, law))
        except (CapabilityError, InputError) as error:
            body = render("rare_section.html", problem=str(error))
            data: dict[str, object] = {"problem": str(error)}
            return Section(name=self.name, title=self.title, body=body, data=data)
        return Section(
            name=self.name,
            title=self.title,
            body=_show(answers, look, plan),
            data={
                "law": law.fingerprint,
                "estimates": [one.to_dict() for one in answers.found],
                "left_out": dict(answers.left_out),
            },
            cost=answers.cost,
        )


def _law(name: str, model: LanguageModel, plan: Plan) -> IndependentDistribution:
    """Return the law of inputs.

    Raises:
        InputError: The model's tokenizer allows none.
    """
    try:
        return distribution(name, model, length=plan.length)
    except NumericalError as error:
        raise InputError(f"the law {name!r} cannot be made of these tokens: {error}") from error


def _ask(model: LanguageModel, law: IndependentDistribution, plan: Plan, job: Job) -> Answers:
    """Return what the methods of a plan say of the tokens that it chooses.

    Raises:
        CapabilityError: The model gives no next-token rows.
    """
    seen, unseen, cost = _choose(model, law, plan, job)
    found: dict[int, list[RareEstimate]] = {token: [] for token in (*seen, *unseen)}
    left_out = []
    for one in plan.askings:
        tokens = unseen if one.unseen_only else tuple(found)
        if not tokens or one.method not in METHODS.names():
            continue
        if job.meter is not None:
            job.meter.expect(plan.budget * law.length)
        try:
            answers = estimate_many(
                model, law, tokens, method=make_method(one.method, one.options),
                budget=plan.budget, seed=job.seed, progress=job.meter,
            )  # fmt: skip
        except (CapabilityError, InputError) as error:
            left_out.append((one.method, str(error)))
            continue
        for token, answer in zip(tokens, answers, strict=True):
            found[token].append(answer)
            cost += answer.log_prob.cost
    return Answers(
        law=law,
        seen=seen,
        unseen=unseen,
        found=tuple(answer for row in found.values() for answer in row),
        left_out=tuple(left_out),
        cost=cost,
    )


def _choose(
    model: LanguageModel, law: IndependentDistribution, plan: Plan, job: Job
) -> tuple[tuple[int, ...], tuple[int, ...], Cost]:
    """Return tokens that win often, tokens of the law that never win, and what finding out cost."""
    reader = Reader(model, progress=job.meter)
    if job.meter is not None:
        job.meter.expect(plan.n_choice * law.length)
    drawn = iter_sample(law, plan.n_choice, seed=job.seed, names=("report", "rare"))
    winners = np.concatenate([reader.winners(inputs) for inputs in drawn]).tolist()
    counts = Counter(token for token in winners if token >= 0)
    seen = [token for token, _ in sorted(counts.items(), key=lambda x: (-x[1], x[0]))]
    support = law.supports[law.varying[0]] if law.varying else law.supports[-1]
    by_frequency = support.tokens[np.argsort(-support.log_probs, kind="stable")].tolist()
    unseen = [token for token in by_frequency if token not in counts]
    cost = reader.meter.spent.cost
    return tuple(seen[: plan.n_seen]), tuple(unseen[: plan.n_unseen]), cost


def _show(answers: Answers, look: Look, plan: Plan) -> str:
    law = answers.law
    fitted = {one.log_prob.method for one in answers.found if one.quantity == "activations"}
    return render(
        "rare_section.html",
        problem=None,
        look=look,
        law=law,
        has_bos=len(law.supports[0]) == 1,
        n_inputs=_about(law.n_inputs),
        n_chosen_by=plan.n_choice,
        seen=answers.seen,
        unseen=answers.unseen,
        budget=plan.budget,
        left_out=answers.left_out,
        fitted=sorted(fitted),
        has_fit=bool(fitted),
    )


def _about(n: int) -> str:
    """Return a count in full up to a million, and as a power of ten beyond it."""
    return f"{n:,}" if n <= 10**6 else f"about {power_of_ten(len(str(n)) - 1)}"


RARE = RareSection()
