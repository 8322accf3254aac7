"""How likely a model writes what it hardly ever writes, by way of a model that does. Unit: nats.

Texts are drawn from a proposal model, such as one that was steered or not made safe, and each that
meets the predicate counts by the ratio of its probabilities under both. Both must read the same
tokens, and the ratio is that of the laws that are really drawn from: for the model of interest the
one at the given temperature and cut to the given nucleus, for the proposal its whole law.

Sources: arXiv 2604.22167 (the estimator: mean of ``h exp(log pi - log r)``).
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from likely.core.engine import Row, evaluate
from likely.core.estimate import Cost, Estimate
from likely.core.generation import Generated, Stop, sample
from likely.core.logspace import prob_text
from likely.core.model import Capability, LanguageModel, Settings, require
from likely.core.nucleus import Cut
from likely.core.scoring import score
from likely.core.stored import Stored
from likely.core.text.encode import Context, encode_context
from likely.errors import InputError
from likely.rare.proposal import weighted
from likely.rare.result import Spent

_MEMORY = 1 << 28  # bytes of next-token rows that are held at a time
_APART = 4.0  # standard errors by which weights that average less than 1 are a warning


@dataclass(frozen=True, slots=True, kw_only=True)
class Writing:
    """How the model of interest writes.

    Attributes:
        max_tokens: Of each text, at least 1.
        temperature: Divides its log-probabilities; positive.
        top_p: Mass of the likeliest tokens that are left at each step, in (0, 1].
        stop: Texts of which none may come, or a function that says whether a text is done.
        stop_at_end: Whether the end-of-sequence token ends a text.
    """

    max_tokens: int
    temperature: float = 1.0
    top_p: float = 1.0
    stop: Stop = ()
    stop_at_end: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputEstimate(Stored):
    """How likely a sampled text meets a predicate.

    Attributes:
        prompt: Ids of the prompt.
        model: Name of the model of interest.
        fingerprint: Of it.
        proposal: Name of the model that texts were drawn from.
        proposal_fingerprint: Of it.
        log_prob: The log-probability, nats.
        warnings: Sentences that a reader must see beside the number.
        examples: Texts that met the predicate, those of most weight first, ten at most.
        seed: Of the run.
    """

    prompt: tuple[int, ...]
    model: str
    fingerprint: str
    proposal: str
    proposal_fingerprint: str
    log_prob: Estimate
    warnings: tuple[str, ...]
    examples: tuple[str, ...]
    seed: int

    def summary(self) -> str:
        """Return the estimate and its warnings as lines for a person."""
        log = self.log_prob
        ends = f"{prob_text(log.low)} to {prob_text(log.high)} at {log.level:.0%}"
        lines = [
            f"{self.model} by way of {self.proposal}: {prob_text(log.value)} ({ends}; "
            f"{log.diagnostics['draws']:,} texts)",
            *(f"warning: {text}" for text in self.warnings),
        ]
        return "\n".join(lines)


def output_probability(
    model: LanguageModel,
    proposal: LanguageModel,
    prompt: Context,
    predicate: Callable[[str], bool],
    *,
    writing: Writing,
    n: int = 1000,
    level: float = 0.95,
    seed: int = 0,
    settings: Settings | None = None,
) -> OutputEstimate:
    """Return how likely a text that a model samples after a prompt meets a predicate.

    Args:
        model: The model of interest, with whole next-token rows.
        proposal: One with the same tokens, that meets the predicate more often.
        prompt: Text, ids, or a context from `likely.chat`; encoded as the model of interest does.
        predicate: Of a whole text.
        writing: How the model of interest writes.
        n: Texts that are drawn from the proposal, at least 1.
        level: Coverage of the interval, in (0, 1).
        seed: The same seed gives the same texts.
        settings: How to evaluate.

    Raises:
        InputError: The two models do not have the same tokens, or a number is out of range.
        CapabilityError: One of them gives no whole rows.

    >>> import likely
    >>> safe = likely.TableModel(["a", "b"], lambda before: {"a": 0.999, "b": 0.001})
    >>> loose = likely.TableModel(["a", "b"], lambda before: {"a": 0.5, "b": 0.5})
    >>> found = output_probability(
    ...     safe, loose, "", lambda text: text == "bb", writing=Writing(max_tokens=2), n=2000
    ... )
    >>> found.log_prob.low < 2 * math.log(0.001) < found.log_prob.high
    True
    """
    check_same_tokens(model, proposal)
    for one in (model, proposal):
        require(one, Capability.NEXT_TOKEN)
    cut = Cut(temperature=writing.temperature, top_p=writing.top_p)
    ids, _ = encode_context(model, prompt, bos="auto")
    _check_room(model, proposal, len(ids), writing.max_tokens)
    drawn = sample(
        proposal, [ids], n, max_tokens=writing.max_tokens, stop=writing.stop,
        stop_at_end=writing.stop_at_end, bos="never", seed=seed, settings=settings,
    )  # fmt: skip
    texts = drawn[0]
    log_model, cost = _log_probs(model, ids, [one.tokens for one in texts], cut, settings)
    log_weights = log_model - np.array([one.law_log_prob for one in texts])
    hits = np.array([predicate(one.text) for one in texts], dtype=bool)
    log_hits = np.where(hits, log_weights, -np.inf)
    found = weighted(log_hits, log_weights, level=level, most=math.inf, spent=Spent())
    return OutputEstimate(
        prompt=ids,
        model=model.info.name,
        fingerprint=model.info.fingerprint,
        proposal=proposal.info.name,
        proposal_fingerprint=proposal.info.fingerprint,
        log_prob=Estimate(
            value=found.log_prob, low=found.low, high=found.high, level=level, unit="nats",
            method="proposal-model", cost=drawn.cost + cost, diagnostics=found.diagnostics,
        ),
        warnings=(*found.warnings, *_coverage_warnings(log_weights)),
        examples=_heaviest(texts, log_hits),
        seed=seed,
    )  # fmt: skip


def check_same_tokens(model: LanguageModel, proposal: LanguageModel) -> None:
    """Raise unless every id stands for the same text in both models.

    Raises:
        InputError: One does not, or the end-of-sequence tokens differ.
    """
    one, other = model.info, proposal.info
    if (one.n_tokens, one.eos_id) != (other.n_tokens, other.eos_id):
        raise InputError(
            f"both models need the same tokens, got {one.n_tokens} with end {one.eos_id!r} of "
            f"{one.name!r} and {other.n_tokens} with end {other.eos_id!r} of {other.name!r}"
        )
    if model.tokenizer is proposal.tokenizer:
        return
    for token in range(one.n_tokens):
        ours, theirs = model.tokenizer.token_bytes(token), proposal.tokenizer.token_bytes(token)
        if ours != theirs:
            raise InputError(
                f"both models need the same tokens, but id {token} is {ours!r} of {one.name!r} "
                f"and {theirs!r} of {other.name!r}"
            )


def _check_room(
    model: LanguageModel, proposal: LanguageModel, n_prompt: int, max_tokens: int
) -> None:
    """Raise unless no text ends for want of room: the two models may have unlike room."""
    for info in (model.info, proposal.info):
        if info.max_tokens is not None and n_prompt + max_tokens - 1 > info.max_tokens:
            raise InputError(
                f"{info.name!r} reads {info.max_tokens} tokens, prompt and text take "
                f"{n_prompt + max_tokens - 1}; lower max_tokens"
            )


def _log_probs(
    model: LanguageModel,
    prompt: tuple[int, ...],
    texts: Sequence[tuple[int, ...]],
    cut: Cut,
    settings: Settings | None,
) -> tuple[Float[np.ndarray, "n"], Cost]:
    """Return how likely the model writes each text, nats."""
    distinct = sorted(set(texts))
    if cut == Cut():
        scores = score(model, [(prompt, text) for text in distinct], bos="never", settings=settings)
        found = dict(zip(distinct, (one.log_prob for one in scores), strict=True))
        return np.array([found[text] for text in texts]), scores.cost
    steps = sorted({(*prompt, *text[:i]) for text in distinct for i in range(len(text))})
    laws = {}
    cost = Cost()
    size = max(1, _MEMORY // (8 * model.info.n_vocab))
    wanted: dict[tuple[int, ...], set[int]] = {step: set() for step in steps}
    for text in distinct:
        for i, token in enumerate(text):
            wanted[(*prompt, *text[:i])].add(token)
    for start in range(0, len(steps), size):
        part = steps[start : start + size]
        answers = evaluate(model, [Row(prefix=step) for step in part], settings=settings)
        cost = cost + answers.cost
        for step, answer in zip(part, answers.answers, strict=True):
            law = cut.law(answer.values)
            for token in wanted[step]:
                laws[step, token] = law.log_prob(token)
    return np.array([_chained(prompt, text, laws) for text in texts]), cost


def _chained(
    prompt: tuple[int, ...],
    text: tuple[int, ...],
    laws: Mapping[tuple[tuple[int, ...], int], float],
) -> float:
    logs = [laws[(*prompt, *text[:i]), token] for i, token in enumerate(text)]
    return math.fsum(logs) if min(logs) > -math.inf else -math.inf


def _coverage_warnings(log_weights: Float[np.ndarray, "n"]) -> tuple[str, ...]:
    """Return a warning where weights average less than 1, as they do if texts cannot be drawn."""
    n, top = len(log_weights), float(log_weights.max())
    if top == -math.inf:
        return ("no text of the proposal can be written by the model: they have nothing in common",)
    weights = np.exp(log_weights - top)
    mean, error = float(weights.mean()), float(weights.std()) / math.sqrt(n)
    short = math.log(mean + _APART * error) + top if mean > 0.0 else -math.inf
    if short >= 0.0:
        return ()
    return (
        f"weights average {math.exp(math.log(mean) + top):.2g} and not 1: the proposal hardly "
        "writes what the model writes, so hits may be missed",
    )


def _heaviest(texts: Sequence[Generated], log_hits: Float[np.ndarray, "n"]) -> tuple[str, ...]:
    """Return the texts that hit, those of most weight first, each once."""
    order = np.argsort(-log_hits, kind="stable")
    hits = [texts[i].text for i in order.tolist() if log_hits[i] > -math.inf]
    return tuple(dict.fromkeys(hits))[:10]
