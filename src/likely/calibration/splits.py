"""What the tokenizer's own split of an option leaves out. Unit: nats.

A model puts probability on other splits of a spelling too: ``red`` may also come as ``r``, ``ed``.
Masses elsewhere are those of the tokenizer's own splits; this is the audit of that choice.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from jaxtyping import Bool, Float, Int

from likely.calibration.chats import Chat, prompt
from likely.calibration.data_sets.items import Item
from likely.calibration.metrics import shares
from likely.calibration.rescoring import draw_items
from likely.calibration.surface_kinds import option_surfaces
from likely.calibration.tables import exact_masses, targets
from likely.core.engine import Continuation, evaluate
from likely.core.estimate import Cost, Estimate
from likely.core.jsonio import dumps
from likely.core.logspace import log_union
from likely.core.model import LanguageModel, Settings
from likely.core.streams import generator
from likely.core.text.encode import Bos, Pair
from likely.core.text.segmentations import segmentations_of
from likely.core.text.surfaces import Level, apart, encode_surfaces
from likely.stats.bootstrap import cluster_bootstrap
from likely.stats.ragged import law_of

Ids: TypeAlias = tuple[int, ...]

N_AUDITED = 100
"""Items that are audited if nothing else is said."""

LIMIT = 64
"""Splits of one spelling that are scored, the tokenizer's own among them, then shortest first."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TokenisationAudit:
    """The masses of options over their splits, beside those of the tokenizer's own.

    Attributes:
        model: Its name.
        items: Id of the item of each option, shape ``(M,)``.
        labels: Of the options.
        log_canonical: Shape ``(M,)``, nats: the mass of the tokenizer's own splits.
        log_marginal: Shape ``(M,)``, nats: of all splits that were scored, at least as much.
        is_complete: Shape ``(M,)``: whether there are no further splits; else ``log_marginal`` is
            a lower bound.
        mean_gap: Mean of `gaps` over options, with an interval over items; None with one item or
            an infinite gap.
        share_difference: The most by which the share of an option moves when all splits count.
        n_scored: How many sequences of ids were scored.
        flags: Such as ``boundary_merge``, of all items together.
        cost: Of both kinds of masses.
    """

    model: str
    items: tuple[str, ...] = field(repr=False)
    labels: tuple[str, ...] = field(repr=False)
    log_canonical: Float[np.ndarray, "M"] = field(repr=False)
    log_marginal: Float[np.ndarray, "M"] = field(repr=False)
    is_complete: Bool[np.ndarray, "M"] = field(repr=False)
    mean_gap: Estimate | None
    share_difference: float
    n_scored: int
    flags: frozenset[str]
    cost: Cost

    @property
    def gaps(self) -> Float[np.ndarray, "M"]:
        """Nats that the tokenizer's own splits leave out of each option, at least 0.

        ``inf`` where they are impossible and others are not; 0 where all are impossible.
        """
        return _gaps(self.log_canonical, self.log_marginal)

    @property
    def max_gap(self) -> float:
        """The largest gap, nats."""
        return float(self.gaps.max())

    @property
    def worst(self) -> tuple[str, str]:
        """The id of the item and the label of the option with the largest gap."""
        at = int(np.argmax(self.gaps))
        return self.items[at], self.labels[at]

    def summary(self) -> str:
        """Return a line or two for a person."""
        n_open = int(np.sum(~self.is_complete))
        mean = "" if self.mean_gap is None else f"mean gap {self.mean_gap.summary()}, "
        more = f"; {n_open} have further splits, so their gaps are lower bounds" if n_open else ""
        return (
            f"{self.model} on {len(self.labels)} options of {len(set(self.items))} items: {mean}"
            f"at most {self.max_gap:.3g} nats ({self.worst[1]!r} of {self.worst[0]}), shares move "
            f"by at most {self.share_difference:.2g}{more}"
        )

    def to_dict(self) -> dict[str, object]:
        """Return the fields as a mapping for strict JSON."""
        return {
            "model": self.model,
            "items": self.items,
            "labels": self.labels,
            "log_canonical": self.log_canonical,
            "log_marginal": self.log_marginal,
            "is_complete": self.is_complete,
            "mean_gap": None if self.mean_gap is None else self.mean_gap.to_dict(),
            "max_gap": self.max_gap,
            "worst": self.worst,
            "share_difference": self.share_difference,
            "n_scored": self.n_scored,
            "flags": self.flags,
            "cost": self.cost.to_dict(),
        }

    def to_json(self) -> str:
        """Return `to_dict` as strict JSON."""
        return dumps(self.to_dict())


def tokenisation_audit(
    model: LanguageModel,
    items: Sequence[Item],
    *,
    n: int = N_AUDITED,
    seed: int = 0,
    limit: int = LIMIT,
    level: Level = "paper",
    chat: Chat = "none",
    wrapper: str | None = None,
    bos: Bos = "auto",
    settings: Settings | None = None,
) -> TokenisationAudit:
    """Return how much of the mass of options lies on splits that are not the tokenizer's own.

    Masses are of the spellings alone, as with ``word_end="never"``. The context keeps the
    tokenizer's own split.

    Args:
        model: Any model that gives continuations.
        items: A data set.
        n: Items drawn without replacement; all of them if there are fewer.
        seed: Of the draw, and of the interval's resamples.
        limit: Most splits of one spelling to score.
        level: Which spellings an option has.
        chat: As in `score_items`.
        wrapper: As in `score_items`.
        bos: As in `likely.score`.
        settings: How to evaluate.

    Raises:
        InputError: ``n`` or ``limit`` below 1, or no items.
        CapabilityError: The model gives no continuation scores, or has no chat template.

    >>> import likely
    >>> from likely.calibration.data_sets.family import build
    >>> letters = [chr(code) for code in range(32, 127)]
    >>> even = likely.TableModel(letters, lambda context: dict.fromkeys(letters, 1 / 95))
    >>> tokenisation_audit(even, build("colors", preset="smoke"), n=2).max_gap
    0.0
    """
    drawn = draw_items(items, n, rng=generator(seed, "calibration", "splits"))
    plans: list[_Plan] = []
    masses: list[tuple[float, float]] = []
    cost = Cost()
    for item in drawn:
        context, lead = prompt(model, item, chat=chat, wrapper=wrapper)
        forms = [option_surfaces(option, lead, level) for option in item.options]
        pairs = [encode_surfaces(model, context, own, bos=bos) for own in forms]
        own_plans = [_plan(model, own, limit) for own in pairs]
        asked = [
            Continuation(prefix=plan.context, target=ids)
            for plan in own_plans
            for ids in plan.asked
        ]
        answers = evaluate(model, asked, settings=settings)
        values = iter([float(np.sum(answer.values)) for answer in answers.answers])
        masses += [plan.masses([next(values) for _ in plan.asked]) for plan in own_plans]
        plans += own_plans
        cost += answers.cost
    log_canonical, log_marginal = np.array(masses).T
    offsets = targets(drawn).offsets
    return TokenisationAudit(
        model=model.info.name,
        items=tuple(item.id for item in drawn for _ in item.options),
        labels=tuple(option.label for item in drawn for option in item.options),
        log_canonical=log_canonical,
        log_marginal=log_marginal,
        is_complete=np.array([plan.is_complete for plan in plans]),
        mean_gap=_mean_gap(_gaps(log_canonical, log_marginal), law_of(offsets), seed),
        share_difference=_share_difference(log_canonical, log_marginal, offsets),
        n_scored=sum(len(plan.asked) for plan in plans),
        flags=frozenset().union(*(plan.flags for plan in plans)),
        cost=cost,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    """The splits of one option: the tokenizer's own, and all, none of which begins with another."""

    context: Ids
    canonical: tuple[Ids, ...]
    every: tuple[Ids, ...]
    is_complete: bool
    flags: frozenset[str]

    @property
    def asked(self) -> tuple[Ids, ...]:
        return tuple(dict.fromkeys([*self.canonical, *self.every]))

    def masses(self, log_probs: Sequence[float]) -> tuple[float, float]:
        """Return the log of the mass of the own splits and of all, from those of ``asked``."""
        known = dict(zip(self.asked, log_probs, strict=True))
        own, every = (
            log_union([known[ids] for ids in splits]) for splits in (self.canonical, self.every)
        )
        return own, max(own, every)  # rounding aside, all are at least the own ones


def _plan(model: LanguageModel, pairs: Sequence[Pair], limit: int) -> _Plan:
    own = [pair.target for pair in pairs]
    found = [segmentations_of(model, ids, limit=limit) for ids in own]
    every = [ids for splits in found for ids in splits.sequences]
    return _Plan(
        context=pairs[0].context,
        canonical=apart(own),
        every=apart(every),
        is_complete=all(splits.is_complete for splits in found),
        flags=frozenset().union(*(pair.flags for pair in pairs)),
    )


def _gaps(
    log_canonical: Float[np.ndarray, "M"], log_marginal: Float[np.ndarray, "M"]
) -> Float[np.ndarray, "M"]:
    impossible = np.isneginf(log_marginal)
    return np.where(impossible, 0.0, log_marginal) - np.where(impossible, 0.0, log_canonical)


def _mean_gap(
    gaps: Float[np.ndarray, "M"], item_of: Int[np.ndarray, "M"], seed: int
) -> Estimate | None:
    if np.isinf(gaps).any() or item_of[-1] == 0:
        return None
    return cluster_bootstrap(gaps, item_of, unit="nats", seed=seed)


def _share_difference(
    log_canonical: Float[np.ndarray, "M"],
    log_marginal: Float[np.ndarray, "M"],
    offsets: Int[np.ndarray, "N1"],
) -> float:
    """Return the largest difference of shares, over items that have any both ways."""
    moved = np.abs(
        shares(exact_masses(offsets, log_canonical)) - shares(exact_masses(offsets, log_marginal))
    )
    return float(np.max(moved, initial=0.0, where=~np.isnan(moved)))
