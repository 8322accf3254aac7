"""How much the response to a prompt varies when it is drawn from the model. Unit: nats.

Responses are drawn at several cuts (``top_p``). The law that they come from is known step by step,
so its numbers need not be guessed from counts: a response that was seen has an exact probability,
and the entropy of the law of whole responses is the mean, over draws, of the entropies of the steps
along each (by the chain rule, without bias). The entropy of the counts, which the authors report,
is on average less than that, and never more than the log of the number of draws: where all of 200
responses differ, it is log 200 whatever the law.

Sources:
    Shilpika and others (2026), arXiv 2605.21726, for 200 draws at top-p 0.1, 0.2 and 0.4; Clopper
    and Pearson (1934) for intervals of shares.
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from jaxtyping import Float

from likely.attribution.case import Case, Prompt, frame_case
from likely.attribution.result import ModelFacts
from likely.core.branches import open_stem
from likely.core.engine import Meter
from likely.core.estimate import Cost, Estimate
from likely.core.generation import Generated, sample
from likely.core.model import LanguageModel, Settings
from likely.core.nucleus import Cut
from likely.core.stored import Stored
from likely.core.text.encode import Context
from likely.errors import InputError
from likely.stats.intervals import check_level, clopper_pearson, student_estimate
from likely.stats.partial_laws import entropy_bounds, entropy_of_counts

if TYPE_CHECKING:
    import pandas as pd

Ids: TypeAlias = tuple[int, ...]

TOP_P = (0.1, 0.2, 0.4, 1.0)

_ALL = 1e-9  # a law of which less than this is left unseen has been seen as a whole


@dataclass(frozen=True, slots=True, kw_only=True)
class Draws:
    """Responses drawn at one cut. Two are the same where all their tokens are.

    Attributes:
        top_p: Of the cut.
        n: How many were drawn.
        n_distinct: How many of them differ.
        modal_tokens: The most frequent one; of equally frequent ones the likeliest.
        modal_text: Its text.
        modal_count: How often it came.
        modal_log_prob: Its log-probability by the model's own law, with no cut.
        modal_share: How often it comes, from the count.
        modal_prob: The same from the law: exact.
        greedy_share: How often the likeliest response comes, from the count.
        greedy_prob: The same from the law: exact.
        seen_prob: Probability of all that were seen: the rest is of responses that did not come.
        entropy: Of the law of whole responses.
        count_entropy: Of the frequencies: on average less, and at most ``log n``.
    """

    top_p: float
    n: int
    n_distinct: int
    modal_tokens: Ids
    modal_text: str
    modal_count: int
    modal_log_prob: float
    modal_share: Estimate
    modal_prob: Estimate
    greedy_share: Estimate
    greedy_prob: Estimate
    seen_prob: Estimate
    entropy: Estimate
    count_entropy: float

    @property
    def is_saturated(self) -> bool:
        """Whether no response came twice, so that counts say nothing beyond their number."""
        return self.n_distinct == self.n

    def to_row(self) -> dict[str, object]:
        """Return the numbers, each with the ends of its interval."""
        row: dict[str, object] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, Estimate):
                row |= value.to_columns(field.name)
            elif field.name != "modal_tokens":
                row[field.name] = value
        return row


@dataclass(frozen=True, slots=True, kw_only=True)
class Stability(Stored):
    """How much the response to a prompt varies.

    Attributes:
        draws: For each cut.
        prompt: Its text.
        greedy_tokens: The likeliest response: at each step the likeliest token.
        greedy_text: Its text.
        max_tokens: Of a response.
        temperature: Of the draws.
        level: Of the intervals.
        seed: Of the draws.
        model: Which was asked.
        cost: Of everything.
    """

    draws: tuple[Draws, ...]
    prompt: str
    greedy_tokens: Ids
    greedy_text: str
    max_tokens: int
    temperature: float
    level: float
    seed: int
    model: ModelFacts
    cost: Cost

    def __getitem__(self, index: int) -> Draws:
        return self.draws[index]

    def __len__(self) -> int:
        return len(self.draws)

    def __iter__(self) -> Iterator[Draws]:
        return iter(self.draws)

    def to_frame(self) -> "pd.DataFrame":
        """Return a row a cut."""
        import pandas as pd

        return pd.DataFrame([draws.to_row() for draws in self.draws])

    def summary(self) -> str:
        """Return a few lines for a person, a line a cut."""
        lines = [f"likeliest response: {self.greedy_text!r} ({self.model.name})"]
        for one in self.draws:
            floor = " (a floor: no response came twice)" if one.is_saturated else ""
            lines.append(
                f"top_p {one.top_p:g}: {one.n_distinct} different ones of {one.n}, entropy "
                f"{one.entropy.value:.3f} [{one.entropy.low:.3f}, {one.entropy.high:.3f}], of "
                f"counts {one.count_entropy:.3f}{floor}; the most frequent came "
                f"{one.modal_count} times, probability {one.modal_prob.value:.3g}; likeliest "
                f"response {one.greedy_prob.value:.3g}"
            )
        return "\n".join(lines)


def stability(
    model: LanguageModel,
    prompt: Prompt,
    *,
    top_p: Sequence[float] = TOP_P,
    n: int = 200,
    max_tokens: int = 20,
    temperature: float = 1.0,
    level: float = 0.95,
    seed: int = 0,
    context: Context | None = None,
    stop_at_end: bool = True,
    settings: Settings | None = None,
    meter: Meter | None = None,
) -> Stability:
    """Return how much the response to a prompt varies when it is drawn.

    Args:
        model: With whole next-token rows.
        prompt: Text, ids, a rendered chat, or messages of a chat.
        top_p: Mass of the likeliest tokens that are left at each step, for each cut; 1 cuts
            nothing.
        n: Responses at each cut, at least 2.
        max_tokens: Of a response.
        temperature: Of the draws.
        level: Coverage of the intervals.
        seed: Of the draws; each cut has the same.
        context: As `likely.attribution.frame_case`.
        stop_at_end: Whether a response ends with its first end-of-sequence token.
        settings: How to evaluate.
        meter: Is told of progress, in token evaluations.

    Raises:
        InputError: An unusable prompt, or an option out of range.
        CapabilityError: The model has no whole rows.

    >>> import likely
    >>> coin = likely.TableModel(["H", "T"], lambda before: {"H": .8, "T": .2})
    >>> found = stability(coin, "H", top_p=[0.5, 1.0], max_tokens=1)
    >>> [round(draws.entropy.value, 4) for draws in found]
    [0.0, 0.5004]
    """
    if n < 2:
        raise InputError(f"an interval needs at least 2 responses, got n={n!r}")
    check_level(level)
    if not len(top_p):
        raise InputError("top_p names the cuts, at least one, got none")
    cuts = [Cut(temperature=temperature, top_p=cut) for cut in top_p]
    case = frame_case(
        model, prompt, generate=max_tokens, context=context, stop_at_end=stop_at_end
    )  # fmt: skip
    rows, cost = _rows_along(model, case, settings)
    found = []
    for cut in cuts:
        made = sample(
            model, [case.stem], n, max_tokens=max_tokens, temperature=cut.temperature,
            top_p=cut.top_p, stop_at_end=stop_at_end, bos="never", seed=seed, settings=settings,
        )  # fmt: skip
        laws = [cut.law(row) for row in rows]
        log_greedy = sum(law.log_prob(t) for law, t in zip(laws, case.response, strict=True))
        found.append(_draws(made[0], cut.top_p, case.response, float(log_greedy), level))
        cost = cost + made.cost
        if meter is not None:
            meter.advance(made.cost.token_evaluations)
    return Stability(
        draws=tuple(found), prompt=case.prompt_text, greedy_tokens=case.response,
        greedy_text=case.response_text, max_tokens=max_tokens, temperature=temperature,
        level=level, seed=seed, cost=cost,
        model=ModelFacts.of(model),
    )  # fmt: skip


def _rows_along(
    model: LanguageModel, case: Case, settings: Settings | None
) -> tuple[list[Float[np.ndarray, "V"]], Cost]:
    """Return the row before each token of the likeliest response."""
    stem = open_stem(model, case.stem + case.response[:-1], settings=settings)
    rows = [stem.row(len(case.stem) + i) for i in range(len(case.response))]
    return rows, stem.spending.cost


def _draws(
    drawn: Sequence[Generated], top_p: float, greedy: Ids, log_greedy: float, level: float
) -> Draws:
    n = len(drawn)
    counts = Counter(one.tokens for one in drawn)
    seen = {one.tokens: one for one in drawn}
    probs = np.exp(np.array([one.law_log_prob for one in seen.values()]))
    modal = seen[max(counts, key=lambda ids: (counts[ids], seen[ids].law_log_prob))]

    def share(ids: Ids) -> Estimate:
        low, high = clopper_pearson(counts[ids], n, level=level)
        return Estimate(
            value=counts[ids] / n, low=low, high=high, level=level, unit="prob", method="count"
        )

    def exact(prob: float) -> Estimate:
        return Estimate.exact(min(1.0, prob), unit="prob", method="law")

    return Draws(
        top_p=top_p,
        n=n,
        n_distinct=len(counts),
        modal_tokens=modal.tokens,
        modal_text=modal.text,
        modal_count=counts[modal.tokens],
        modal_log_prob=modal.log_prob,
        modal_share=share(modal.tokens),
        modal_prob=exact(math.exp(modal.law_log_prob)),
        greedy_share=share(greedy),
        greedy_prob=exact(math.exp(log_greedy)),
        seen_prob=exact(float(probs.sum())),
        entropy=_entropy(probs, np.array([one.law_entropy for one in drawn]), level),
        count_entropy=entropy_of_counts(np.array(list(counts.values()))),
    )


def _entropy(
    probs: Float[np.ndarray, "k"], along: Float[np.ndarray, "n"], level: float
) -> Estimate:
    """Return the entropy of the law of responses.

    Args:
        probs: Of the distinct responses that were seen.
        along: Of each draw, the entropies of its steps in sum.
        level: Of the interval.
    """
    rest = max(0.0, 1.0 - float(probs.sum()))
    if rest <= _ALL:
        exact, _ = entropy_bounds(probs / probs.sum(), rest=0.0, n_more=0)
        return Estimate.exact(exact, unit="nats", method="enumeration")
    # Whatever the responses that were not seen are, those that were leave no less than this.
    least, _ = entropy_bounds(probs, rest=rest, n_more=1)
    error = float(along.std(ddof=1)) / math.sqrt(len(along))
    found = student_estimate(
        float(along.mean()), error, df=len(along) - 1, level=level, method="chain-rule",
        unit="nats", diagnostics={"standard_error": error, "least": least},
    )  # fmt: skip
    return found.within(least, math.inf)
