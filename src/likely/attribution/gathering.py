"""What an attribution is made of: its terms, and what was found about each place. Unit: nats."""

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from likely.attribution.adaptive import Found, Hunt, Method, run_hunts
from likely.attribution.case import Case
from likely.attribution.eligible import Eligible, Rule
from likely.attribution.groups import Group
from likely.attribution.intervals import assumed, entropy_intervals, score_interval, truncated
from likely.attribution.measures import final_sample
from likely.attribution.opening import Opening
from likely.attribution.prior import NextLaws, check_scores
from likely.attribution.result import Attribution, Candidates, ModelFacts, Place
from likely.core.branches import open_stem
from likely.core.engine import Continuation, Meter, evaluate
from likely.core.estimate import Cost
from likely.core.model import LanguageModel, Settings
from likely.errors import CapabilityError, InputError, LikelyWarning, UnknownNameError
from likely.stats.intervals import check_level

BUDGET_SHARE = 400
"""By default a prompt may cost this part of what it costs the authors' procedure,"""

LEAST_BUDGET = 5000
"""or so many token evaluations a place, if that is more: what a first round takes, or about."""

_TOGETHER = 64  # groups: for each of a vocabulary of 50,000 some 4 MB are held

KAPPA = float(np.e)
KEPT = 1024

_METHODS: tuple[Method, ...] = ("adaptive", "exact")


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """How an attribution was asked for; see `attribute`."""

    method: Method
    tolerance: float
    level: float
    seed: int
    rule: Rule
    kappa: float
    kept: int | None
    budget: float | None

    def __post_init__(self) -> None:
        if self.method not in _METHODS:
            raise UnknownNameError.among("method", self.method, _METHODS)
        if not self.tolerance > 0.0:
            raise InputError(f"the tolerance is a positive number of nats, got {self.tolerance!r}")
        check_level(self.level)
        if not self.kappa >= 1.0:
            raise InputError(f"kappa is a factor of at least 1, got {self.kappa!r}")
        if self.budget is not None and not self.budget > 0.0:
            raise InputError(
                f"the budget is a positive number of token evaluations, got {self.budget!r}"
            )
        if self.kept is not None and self.kept < 1:
            raise InputError(
                f"kept is a number of candidates, at least 1, or None, got {self.kept!r}"
            )
        if self.seed < 0:
            raise InputError(f"a seed is at least 0, got {self.seed!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered:
    """What was found about one place, what it cost, and the mass of what was no candidate."""

    found: Found
    cost: Cost
    excluded_mass: float


def open_case(
    model: LanguageModel,
    case: Case,
    terms: Terms,
    *,
    exclude: Sequence[int],
    settings: Settings | None,
) -> Opening:
    """Return what the searches of a case have in common: its text is read once."""
    check_scores(model)
    stem = open_stem(
        model, (case.stem + case.response)[: -1 if case.response else None], settings=settings
    )
    eligible = Eligible(model, case, rule=terms.rule, exclude=exclude)
    return Opening(
        laws=NextLaws(model, stem), case=case, eligible=eligible, seed=terms.seed,
        settings=settings,
    )  # fmt: skip


def measure_noise(
    opening: Opening,
    case: Case,
    answered: Sequence[Answered],
    terms: Terms,
    settings: Settings | None,
) -> float:
    """Return how far log b of the actual tokens is from what the plain forward alone gives.

    Warns where that is more than the tolerance.
    """
    if not case.response:
        return 0.0
    model = opening.laws.model
    plain = replace(settings or Settings(), method="full")
    request = Continuation(prefix=case.stem, target=case.response)
    answers = evaluate(model, [request], settings=plain)
    opening.stem.spending.cost += answers.cost
    log_b = [float(one.found.evidence.log_response[0].sum()) for one in answered]
    noise = float(np.abs(np.array(log_b) - answers[0].values.sum()).max())
    if noise > terms.tolerance:
        warnings.warn(
            f"the response's log-probability moved by {noise!r} nats with the texts that were "
            f"evaluated beside it, more than the tolerance {terms.tolerance!r}: "
            f"{model.info.name!r} computes in {model.info.dtype}; load it in a wider dtype, or "
            "take the noise as it is",
            LikelyWarning,
            stacklevel=3,
        )
    return noise


def gather(
    model: LanguageModel,
    case: Case,
    answered: Sequence[Answered],
    terms: Terms,
    *,
    noise: float,
    cost: Cost,
) -> Attribution:
    """Return the attribution of a case from what was found about each of its places."""
    own = answered[0].found.evidence.log_response[0]
    return Attribution(
        case=case,
        places=tuple(
            _place(model, one.found, one.cost, kappa=terms.kappa, kept=terms.kept)
            for one in answered
        ),
        log_response=float(own.sum()),
        response_log_probs=own,
        excluded_mass=np.array([one.excluded_mass for one in answered]),
        rule=terms.rule,
        noise=noise,
        model=ModelFacts.of(model),
        method=terms.method,
        tolerance=terms.tolerance,
        level=terms.level,
        seed=terms.seed,
        kappa=terms.kappa,
        cost=cost,
    )


def reference_cost(n_vocab: int, case: Case) -> int:
    """Return the token evaluations of the authors' procedure: ``V m (2 m + R + 1)``."""
    m = len(case.prompt)
    return n_vocab * len(case.positions) * (2 * m + len(case.response) + 1)


def default_budget(n_vocab: int, case: Case) -> float:
    """Return the token evaluations that a case may cost by default."""
    share = reference_cost(n_vocab, case) / BUDGET_SHARE
    return max(share, float(LEAST_BUDGET * len(case.positions)))


def parts_late_first(groups: Sequence[Group], budget: float) -> Iterator[tuple[list[Group], float]]:
    """Yield groups that are searched together, the cheapest first, each part with its budget.

    The later a group begins, the less there is to read after it. What is known of a vocabulary is
    held for every group of a part, so there are not too many in one.
    """
    order = sorted(groups, reverse=True)
    for start in range(0, len(order), _TOGETHER):
        part = order[start : start + _TOGETHER]
        yield part, max(0.0, budget) * len(part) / len(order)


def pursue(hunts: Sequence[Hunt], *, method: Method, budget: float, meter: Meter | None) -> None:
    """Run the hunts of some places: all candidates of each, or draws within a budget."""
    told = None if meter is None else meter.advance
    if method == "adaptive":
        run_hunts(hunts, budget=budget, told=told)
        return
    for hunt in hunts:
        hunt.exhaust()
        if told is not None:
            told(hunt.cost.token_evaluations)


def _place(
    model: LanguageModel, found: Found, cost: Cost, *, kappa: float, kept: int | None
) -> Place:
    evidence = found.evidence
    tokens = tuple(evidence.tokens[0].tolist())
    log_b = float(evidence.log_response[0].sum())
    n_done = int((evidence.inclusion > 0.0).sum())
    n_omitted = evidence.omitted.n
    if n_omitted and len(tokens) > 1:  # of tuples many are one entry
        n_omitted = model.info.n_tokens ** len(tokens) - n_done
    of_context, of_response = entropy_intervals(evidence, n_omitted=n_omitted)
    # No entropy is out of the bounds that hold for certain, such as the log of the vocabulary.
    measures = replace(
        found.measures,
        context_entropy=found.measures.context_entropy.within(*of_context),
        response_entropy=found.measures.response_entropy.within(*of_response),
    )
    return Place(
        positions=evidence.places,
        tokens=tokens,
        text=_piece(model, tokens, evidence.places),
        measures=measures,
        bounds=score_interval(log_b, truncated(evidence)),
        context_entropy_bounds=of_context,
        response_entropy_bounds=of_response,
        assumed_bounds=score_interval(log_b, assumed(evidence, kappa=kappa)),
        method=found.method,
        converged=found.converged,
        reason=found.reason,
        n_candidates=n_done,
        cost=cost,
        candidates=_candidates(model, found, kept),
    )


def _candidates(model: LanguageModel, found: Found, kept: int | None) -> Candidates:
    """Return the candidates with most mass under either posterior, the actual one among them."""
    evidence, sample = found.evidence, final_sample(found.evidence)
    done = np.flatnonzero(evidence.inclusion > 0.0)
    log_d = found.measures.log_prompt_likelihood.value
    log_rest = found.measures.log_response_rest.value
    likeliest = np.argsort(-np.maximum(sample.log_x - log_d, sample.log_q_response), kind="stable")[
        : len(done) if kept is None else kept
    ]
    chosen = np.union1d([0], likeliest)
    log_q = sample.log_x[chosen] - log_d
    order = chosen[np.argsort(-log_q, kind="stable")]
    tokens = evidence.tokens[done[order]]
    return Candidates(
        tokens=tokens,
        pieces=tuple(_piece(model, row, evidence.places) for row in tokens.tolist()),
        log_prior=evidence.log_prior[done[order]],
        log_posterior=sample.log_x[order] - log_d,
        log_posterior_response=sample.log_q_response[order],
        log_response=sample.log_b[order],
        score=sample.log_b[order] - log_rest,
        weight=sample.thinned.weight[order],
    )


def _piece(model: LanguageModel, tokens: Sequence[int], places: Sequence[int]) -> str:
    """Return the text of tokens; bytes that are part of a character come as escapes.

    Where other tokens of the prompt stand between them, an ellipsis does; where a server does not
    tell the bytes of such a part, U+FFFD.
    """
    try:
        raw = [model.tokenizer.token_bytes(int(token)) for token in tokens]
    except CapabilityError:
        return model.tokenizer.decode(tokens)
    for i in range(1, len(raw)):
        if places[i] != places[i - 1] + 1:
            raw[i] = " … ".encode() + raw[i]
    return b"".join(raw).decode("utf-8", errors="backslashreplace")
