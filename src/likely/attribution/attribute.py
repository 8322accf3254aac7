"""The question of the study: which tokens of the prompt made this response likely? Unit: nats."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Float, Int

from likely._version import __version__
from likely.attribution.adaptive import Found, Method, find_adaptively, find_exactly
from likely.attribution.case import Case, Prompt, frame_case
from likely.attribution.eligible import Eligible, Rule
from likely.attribution.intervals import assumed, score_interval, truncated
from likely.attribution.measures import final_sample
from likely.attribution.prior import NextLaws, check_scores
from likely.attribution.result import Attribution, Candidates, ModelFacts, Place
from likely.attribution.search import Search, guide
from likely.core.branches import Stem, open_stem
from likely.core.engine import Continuation, Meter, evaluate
from likely.core.estimate import Cost
from likely.core.model import LanguageModel, Settings
from likely.core.streams import generator
from likely.core.text.encode import Boundary, Context
from likely.core.text.spans import Span
from likely.errors import CapabilityError, InputError, LikelyWarning, UnknownNameError

BUDGET_SHARE = 250
"""By default a place may cost this part of what it costs the authors' procedure."""

KAPPA = float(np.e)
KEPT = 1024

_METHODS: tuple[Method, ...] = ("adaptive", "exact")


def attribute(
    model: LanguageModel,
    prompt: Prompt,
    response: Context | None = None,
    *,
    method: Method = "adaptive",
    tolerance: float = 0.02,
    level: float = 0.95,
    seed: int = 0,
    budget: float | None = None,
    generate: int | None = None,
    positions: Sequence[int] | None = None,
    roles: Sequence[str] | None = None,
    segments: Mapping[str, str | Span] | None = None,
    context: Context | None = None,
    boundary: Boundary = "joint",
    stop_at_end: bool = True,
    candidates: Rule = "all",
    exclude: Sequence[int] = (),
    kappa: float = KAPPA,
    kept: int | None = KEPT,
    settings: Settings | None = None,
    meter: Meter | None = None,
) -> Attribution:
    """Return how much each token of a prompt made a response likely.

    The score of a token is ``log Pr(response | prompt) - log Pr(response | rest)``, where the rest
    is the prompt with a hole at that position: what stands there is averaged out under the model's
    own law given everything else in the prompt.

    Args:
        model: Any model that gives continuations, and next-token rows or lists of likeliest
            tokens: local ones, and servers with prompt log-probs.
        prompt: Text, ids, a rendered chat, or messages of a chat.
        response: Text or ids; or None with ``generate``.
        method: ``exact`` evaluates every token of the vocabulary at every position, ``adaptive``
            as many as the tolerance takes.
        tolerance: Half the width that a score's interval may have, nats.
        level: Coverage of the intervals.
        seed: Of the draws, of which each position has a stream of its own.
        budget: Token evaluations for the whole prompt; by default the 250th part of what the
            authors' procedure takes. Positions that need more are marked as not converged.
        generate: Tokens of the likeliest response to take where none is given.
        positions: Prompt positions to attribute; by default all tokens of ``roles``.
        roles: As `likely.attribution.frame_case`.
        segments: As `likely.attribution.frame_case`.
        context: As `likely.attribution.frame_case`.
        boundary: As `likely.attribution.frame_case`.
        stop_at_end: As `likely.attribution.frame_case`.
        candidates: Which tokens may stand at a position, by a rule of
            `likely.attribution.eligible`: ``all``; ``round_trip``, those with which the prompt's
            text is split into the same tokens again; ``word_start``, those that begin a word if
            the actual one does. The measure is over token sequences: what a rule takes out is no
            alternative, and ``excluded_mass`` says how likely it was.
        exclude: Ids that are no candidates; ids that mean nothing never are.
        kappa: Factor of the assumption behind ``assumed_bounds``.
        kept: How many candidates of a place the result keeps; None for all.
        settings: How to evaluate.
        meter: Is told of progress, in token evaluations.

    Raises:
        InputError: Unusable prompt, response, or options.
        CapabilityError: The model is a server that tells only the likeliest tokens.

    Sources:
        Shilpika and others (2026), arXiv 2605.21726, section 3.3.

    >>> import likely
    >>> law = {"a": {"a": .7, "b": .3}, "b": {"a": .2, "b": .8}, "<s>": {"a": .5, "b": .5}}
    >>> chain = likely.TableModel(["a", "b"], lambda before: law[before[-1]])
    >>> attribute(chain, "aa", "a", method="exact").scores.round(4).tolist()
    [0.0, 0.2412]
    """
    case = frame_case(
        model, prompt, response, generate=generate, positions=positions, roles=roles,
        segments=segments, context=context, boundary=boundary, stop_at_end=stop_at_end,
    )  # fmt: skip
    return attribute_case(
        model, case, method=method, tolerance=tolerance, level=level, seed=seed, budget=budget,
        candidates=candidates, exclude=exclude, kappa=kappa, kept=kept, settings=settings,
        meter=meter,
    )  # fmt: skip


def attribute_case(
    model: LanguageModel,
    case: Case,
    *,
    method: Method = "adaptive",
    tolerance: float = 0.02,
    level: float = 0.95,
    seed: int = 0,
    budget: float | None = None,
    candidates: Rule = "all",
    exclude: Sequence[int] = (),
    kappa: float = KAPPA,
    kept: int | None = KEPT,
    settings: Settings | None = None,
    meter: Meter | None = None,
) -> Attribution:
    """Return the attribution of a case; see `attribute`."""
    _check_options(method, tolerance, level, kappa, seed, budget=budget, kept=kept)
    if not case.positions:
        raise InputError(
            f"no token of the prompt is to be attributed: its tokens are {set(case.roles)!r}; "
            "choose roles or positions"
        )

    check_scores(model)
    stem = open_stem(
        model, (case.stem + case.response)[: -1 if case.response else None], settings=settings
    )
    laws = NextLaws(model, stem)
    eligible = Eligible(model, case, rule=candidates, exclude=exclude)
    if budget is None:
        budget = default_budget(len(eligible.ids), case)
    found: dict[int, tuple[Found, Cost, float]] = {}
    topic = Topic(laws)
    for n_left, position in _late_first(case):
        before = stem.spending.cost
        share = max(0.0, budget - before.token_evaluations) / n_left
        allowed = eligible.at(position)
        if method == "exact":
            search, excluded = _open(laws, case, position, allowed, seed, None)
            one = find_exactly(search, level=level)
        else:
            search, excluded = _open(laws, case, position, allowed, seed, topic)
            one = find_adaptively(
                search, tolerance=tolerance, level=level, budget=share,
                spent=lambda: stem.spending.cost.token_evaluations,
            )  # fmt: skip
        spent = _less(stem.spending.cost, before)
        if meter is not None:
            meter.advance(spent.token_evaluations)
        found[position] = one, spent, excluded + search.aside
    places = tuple(
        _place(model, case, one, spent, kappa=kappa, kept=kept)
        for _, (one, spent, _) in sorted(found.items())
    )
    own = found[case.positions[0]][0].evidence.log_response[0]
    log_b = [float(one.evidence.log_response[0].sum()) for one, _, _ in found.values()]
    noise = _noise(model, stem, case, log_b, settings)
    if noise > tolerance:
        warnings.warn(
            f"the response's log-probability moved by {noise!r} nats with the texts that were "
            f"evaluated beside it, more than the tolerance {tolerance!r}: {model.info.name!r} "
            f"computes in {model.info.dtype}; load it in a wider dtype, or take the noise as it is",
            LikelyWarning,
            stacklevel=2,
        )
    return Attribution(
        case=case,
        places=places,
        log_response=float(own.sum()),
        response_log_probs=own,
        excluded_mass=np.array([found[i][2] for i in case.positions]),
        rule=candidates,
        noise=noise,
        model=ModelFacts(name=model.info.name, identity=model.info.identity, likely=__version__),
        method=method,
        tolerance=tolerance,
        level=level,
        seed=seed,
        kappa=kappa,
        cost=stem.spending.cost,
    )


def reference_cost(n_vocab: int, case: Case) -> int:
    """Return the token evaluations of the authors' procedure: ``V m (2 m + R + 1)``."""
    m = len(case.prompt)
    return n_vocab * len(case.positions) * (2 * m + len(case.response) + 1)


def default_budget(n_vocab: int, case: Case) -> float:
    """Return the token evaluations that a case may cost by default."""
    return reference_cost(n_vocab, case) / BUDGET_SHARE


def _check_options(
    method: str,
    tolerance: float,
    level: float,
    kappa: float,
    seed: int,
    *,
    budget: float | None = None,
    kept: int | None = None,
) -> None:
    if method not in _METHODS:
        raise UnknownNameError.among("method", method, _METHODS)
    if not tolerance > 0.0:
        raise InputError(f"the tolerance is a positive number of nats, got {tolerance!r}")
    if not 0.0 < level < 1.0:
        raise InputError(f"the level of an interval lies in (0, 1), got {level!r}")
    if budget is not None and not budget > 0.0:
        raise InputError(f"the budget is a positive number of token evaluations, got {budget!r}")
    if kept is not None and kept < 1:
        raise InputError(f"kept is a number of candidates, at least 1, or None, got {kept!r}")
    if not kappa >= 1.0:
        raise InputError(f"kappa is a factor of at least 1, got {kappa!r}")
    if seed < 0:
        raise InputError(f"a seed is at least 0, got {seed!r}")


def _late_first(case: Case) -> Iterator[tuple[int, int]]:
    """Yield positions from the cheapest on, with how many are left, itself included."""
    order = sorted(case.positions, reverse=True)
    yield from ((len(order) - i, position) for i, position in enumerate(order))


def _open(
    laws: NextLaws,
    case: Case,
    position: int,
    allowed: Int[np.ndarray, "V"],
    seed: int,
    topic: "Topic | None",
) -> tuple[Search, float]:
    """Return the search of a position, and the prior mass of what is no candidate there."""
    length = len(case.context) + position
    prior = laws.prior(length, allowed)
    log_prior = prior.log_probs
    log_guide = log_prior if topic is None else guide(log_prior, topic.after(length)[allowed])
    search = Search(
        stem=laws.stem, length=length, place=position, actual=case.prompt[position],
        allowed=allowed, log_prior=log_prior, told=prior.told, log_mass=prior.log_mass,
        suffix=np.array(case.suffix(position), dtype=np.int64),
        n_prompt=len(case.prompt) - 1 - position, rng=generator(seed, "attribution", position),
        log_guide=log_guide,
    )  # fmt: skip
    return search, prior.excluded


class Topic:
    """What a text is about, as its model sees it: what it expects to read at later positions."""

    def __init__(self, laws: NextLaws) -> None:
        self.laws = laws
        self._from = len(laws.stem.tokens) + 1
        self._log_topic = np.full(laws.model.info.n_vocab, -np.inf)

    def after(self, length: int) -> Float[np.ndarray, "V"]:
        """Return the largest log-probability of each id after more than ``length`` tokens.

        Lengths come from the largest to the least.
        """
        for later in range(length + 1, self._from):
            self._log_topic = np.maximum(self._log_topic, self.laws.law(later)[0])
        self._from = min(self._from, length + 1)
        return self._log_topic


def _noise(
    model: LanguageModel,
    stem: Stem,
    case: Case,
    log_b: Sequence[float],
    settings: Settings | None,
) -> float:
    """Return how far log b of the actual tokens is from what the plain forward alone gives."""
    if not case.response:
        return 0.0
    plain = replace(settings or Settings(), method="full")
    request = Continuation(prefix=case.stem, target=case.response)
    answers = evaluate(model, [request], settings=plain)
    stem.spending.cost += answers.cost
    return float(np.abs(np.array(log_b) - answers[0].values.sum()).max())


def _less(after: Cost, before: Cost) -> Cost:
    return Cost(
        token_evaluations=after.token_evaluations - before.token_evaluations,
        model_calls=after.model_calls - before.model_calls,
        seconds=after.seconds - before.seconds,
        cached=after.cached - before.cached,
    )


def _place(
    model: LanguageModel, case: Case, found: Found, cost: Cost, *, kappa: float, kept: int | None
) -> Place:
    evidence = found.evidence
    tokens = tuple(evidence.tokens[0].tolist())
    log_b = float(evidence.log_response[0].sum())
    return Place(
        positions=evidence.places,
        tokens=tokens,
        text=_piece(model, tokens),
        measures=found.measures,
        bounds=score_interval(log_b, truncated(evidence)),
        assumed_bounds=score_interval(log_b, assumed(evidence, kappa=kappa)),
        method=found.method,
        converged=found.converged,
        reason=found.reason,
        n_candidates=int((evidence.inclusion > 0.0).sum()),
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
        pieces=tuple(_piece(model, row) for row in tokens.tolist()),
        log_prior=evidence.log_prior[done[order]],
        log_posterior=sample.log_x[order] - log_d,
        log_posterior_response=sample.log_q_response[order],
        log_response=sample.log_b[order],
        score=sample.log_b[order] - log_rest,
        weight=sample.thinned.weight[order],
    )


def _piece(model: LanguageModel, tokens: Sequence[int]) -> str:
    """Return the text of tokens; bytes that are part of a character come as escapes.

    Where a server does not tell the bytes of such a part, U+FFFD stands for it.
    """
    try:
        raw = b"".join(model.tokenizer.token_bytes(int(token)) for token in tokens)
    except CapabilityError:
        return model.tokenizer.decode(tokens)
    return raw.decode("utf-8", errors="backslashreplace")
