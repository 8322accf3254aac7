"""Whether a model finds texts as surprising as it expects to: the two-sided check. Unit: nats.

Given all other tokens of a text, the model has a law q for the token at a place, with an entropy:
the surprisal that it expects there. For texts drawn from the model itself the actual surprisal
``-log q_l`` is on average exactly that, at every place. On other texts the gap between both says by
how much they differ from what the model writes: above 0 they are more surprising than it expects.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from likely.attribution.adaptive import Method
from likely.attribution.case import Case, Prompt, conditioned_on, frame_case
from likely.attribution.question import attribute_case
from likely.attribution.result import Attribution
from likely.core.engine import Meter
from likely.core.estimate import Cost, Estimate
from likely.core.generation import sample
from likely.core.model import LanguageModel, Settings
from likely.core.stored import Stored
from likely.core.text.encode import Context
from likely.errors import InputError, LikelyWarning
from likely.stats.few_clusters import cluster_t

Ids: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap(Stored):
    """Surprisal against expected surprisal, over all places of some texts.

    Attributes:
        surprisal: Mean of ``-log q_l``, two-sided.
        entropy: Mean of the entropy of q.
        gap: Mean of their difference. 0 lies in its interval where the texts are the model's own.
        is_own: Whether the texts were drawn from the model.
        n_texts: How many there were.
        n_left_out: Texts drawn that hold an id which means nothing; given that none does, the law
            of the others is the same.
        widest: The largest half-width of the interval of one surprisal: what of all this comes
            from candidates that were not evaluated; 0 where all were.
        cost: Of everything.
    """

    surprisal: Estimate
    entropy: Estimate
    gap: Estimate
    is_own: bool
    n_texts: int
    n_left_out: int
    widest: float
    cost: Cost

    def summary(self) -> str:
        """Return a line for a person."""
        texts = "texts of its own" if self.is_own else "texts"
        gap = self.gap
        return (
            f"over {self.n_texts} {texts}: surprisal {self.surprisal.value:.4f}, expected "
            f"{self.entropy.value:.4f}, gap {gap.value:.4f} [{gap.low:.4f}, {gap.high:.4f}]"
        )


def calibration_gap(
    model: LanguageModel,
    texts: Sequence[Prompt] | None = None,
    *,
    n: int = 40,
    length: int = 8,
    method: Method = "adaptive",
    budget: float | None = None,
    level: float = 0.95,
    seed: int = 0,
    context: Context | None = None,
    settings: Settings | None = None,
    meter: Meter | None = None,
) -> Gap:
    """Return how far surprisal is from what the model expects, on texts or on its own.

    Its own texts are drawn from its whole law, all of one length, and run through the
    end-of-sequence token: only so is the law of one token given the others the one that is
    computed.

    Args:
        model: With whole next-token rows.
        texts: At least 2; by default ``n`` are drawn from the model.
        n: How many are drawn.
        length: Tokens of each that is drawn.
        method: As in `likely.attribution.attribute`. ``adaptive`` takes one round of draws at a
            place of a large vocabulary; see ``widest``.
        budget: As there, for each text.
        level: Coverage of the intervals, over texts.
        seed: Of all draws.
        context: As `likely.attribution.frame_case`.
        settings: How to evaluate.
        meter: Is told of progress, in token evaluations.

    Raises:
        InputError: Fewer than 2 texts, or an option out of range.
        CapabilityError: The model has no whole rows.

    >>> import likely
    >>> law = {"<s>": {"a": .5, "b": .5}, "a": {"a": .7, "b": .3}, "b": {"a": .2, "b": .8}}
    >>> chain = likely.TableModel(["a", "b"], lambda before: law[before[-1]])
    >>> found = calibration_gap(chain, n=30, length=4, seed=1)
    >>> found.gap.low <= 0.0 <= found.gap.high
    True
    """
    cost = Cost()
    n_left_out = 0
    if texts is None:
        cases, n_left_out, cost = _own_texts(model, n, length, context, seed, settings)
    else:
        cases = [frame_case(model, text, (), context=context) for text in texts]
    if len(cases) < 2:
        raise InputError(f"an interval over texts needs at least 2 of them, got {len(cases)}")
    attributions = []
    for i, case in enumerate(cases):
        found = attribute_case(
            model, case, method=method, budget=budget, level=level, seed=seed + i, kept=1,
            settings=settings, meter=meter,
        )  # fmt: skip
        cost = cost + found.cost
        attributions.append(found)
    return gap_of(attributions, level=level, is_own=texts is None, n_left_out=n_left_out, cost=cost)


def gap_of(
    attributions: Sequence[Attribution],
    *,
    level: float = 0.95,
    is_own: bool = False,
    n_left_out: int = 0,
    cost: Cost | None = None,
) -> Gap:
    """Return the gap over the places of attributions that are there already, a text each.

    Args:
        attributions: At least 2.
        level: Coverage of the intervals.
        is_own: Whether the texts are the model's own.
        n_left_out: Of these, as in `Gap`.
        cost: To be told; by default that of the attributions.

    Raises:
        InputError: Fewer than 2.
    """
    places = [(i, place) for i, found in enumerate(attributions) for place in found.places]
    text = np.array([i for i, _ in places])
    surprisal = np.array([place.measures.surprisal.value for _, place in places])
    entropy = np.array([place.measures.context_entropy.value for _, place in places])
    widths = [place.measures.surprisal.high - place.measures.surprisal.low for _, place in places]
    of_surprisal, of_entropy, of_gap = (
        cluster_t(values, text, level=level, unit="nats")
        for values in (surprisal, entropy, surprisal - entropy)
    )
    return Gap(
        surprisal=of_surprisal, entropy=of_entropy, gap=of_gap, is_own=is_own,
        n_texts=len(attributions), n_left_out=n_left_out, widest=max(widths) / 2.0,
        cost=sum((found.cost for found in attributions), Cost()) if cost is None else cost,
    )  # fmt: skip


def _own_texts(
    model: LanguageModel,
    n: int,
    length: int,
    context: Context | None,
    seed: int,
    settings: Settings | None,
) -> tuple[list[Case], int, Cost]:
    before = conditioned_on(model, context)
    drawn = sample(
        model, [before], n, max_tokens=length, stop_at_end=False, bos="never", seed=seed,
        settings=settings,
    )  # fmt: skip
    texts = [one.tokens for one in drawn[0] if max(one.tokens) < model.info.n_tokens]
    # A drawn text may begin with a BOS of its own: one more is given to be taken off again.
    taken_off = before[:1] if context is None or before[0] == model.info.bos_id else ()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LikelyWarning)
        cases = [frame_case(model, taken_off + text, (), context=context) for text in texts]
    return cases, n - len(texts), drawn.cost
