"""What remedies ask the model for: options behind blanks, behind last sentences, at temperatures.

Contexts that several items share are read once. Unit: nats.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from likely.calibration.data_sets.items import Item
from likely.calibration.data_sets.wording import NUMBER
from likely.calibration.remedies.evidence import (
    Evidence,
    Extra,
    evidence_of,
    known_masses,
    normalised,
)
from likely.calibration.remedies.remedy import Need
from likely.calibration.remedies.tempering import tempered_masses
from likely.calibration.scored import Policy, Scored, in_order
from likely.calibration.scoring import iter_scored
from likely.core.engine import Meter, Store
from likely.core.estimate import Cost
from likely.core.model import LanguageModel, Settings

FILLERS = ("some", "N/A", "[n]")
"""What stands for each number where a context is to say nothing."""

_SENTENCE_END = re.compile(r"[.!?]\s+|[\u3002\uff01\uff1f]\s*")


def gather_evidence(
    model: LanguageModel,
    items: Sequence[Item],
    scored: Scored,
    *,
    needs: Collection[Need],
    settings: Settings | None = None,
    cache: Store | None = None,
    meter: Meter | None = None,
) -> Evidence:
    """Return what is known of items, with all that remedies need besides.

    Args:
        model: That scored the items.
        items: Those that were scored.
        scored: Their masses; what else is asked is put to the model in the same way.
        needs: What to ask for.
        settings: How to evaluate; changes no number beyond rounding.
        cache: A `ScoreCache`.
        meter: A progress meter, in tokens.

    Raises:
        InputError: Masses of other items.
        CapabilityError: Temperatures are needed and the model gives no whole rows.
    """
    evidence = evidence_of(items, scored.masses)
    asking = _Asking(
        model=model, policy=scored.policy, settings=settings, cache=cache, meter=meter
    )  # fmt: skip
    if "prior" in needs:
        evidence = replace(evidence, prior=asking.prior(items))
    if "stem" in needs:
        evidence = replace(evidence, stem=asking.behind(items, [stem(i.context) for i in items]))
    if "tempered" in needs:
        tempered = tempered_masses(
            model, items, policy=scored.policy, settings=settings, cache=cache, meter=meter
        )
        evidence = replace(evidence, tempered=tempered)
    return evidence


def blanked(item: Item, filler: str) -> str | None:
    """Return the context with a filler for each number; None where that makes no sense."""
    if item.blank is None or NUMBER not in item.blank:
        return None
    return item.blank.replace(NUMBER, filler)


def stem(context: str) -> str | None:
    """Return the last sentence of a context, which says what is asked but no longer of what.

    A sentence ends with ``.``, ``!`` or ``?`` and white space, or with their full-width forms.

    Returns:
        What follows the last end; None if there is none, or if a digit is left, since then the stem
        still tells of numbers.

    >>> stem("A jar holds 3 red beads. Mia draws one. Its colour is")
    'Its colour is'
    >>> stem("random_integer([3, 5)) ->") is None
    True
    """
    ends = list(_SENTENCE_END.finditer(context))
    last = context[ends[-1].end() :] if ends else ""
    return None if not last or any(char.isdigit() for char in last) else last


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asking:
    """Scores options behind other contexts than their own, in the way the items were scored."""

    model: LanguageModel
    policy: Policy
    settings: Settings | None
    cache: Store | None
    meter: Meter | None

    def prior(self, items: Sequence[Item]) -> Extra:
        """Return the log of the mean share of each option over the fillers."""
        found = [self.behind(items, [blanked(i, filler) for i in items]) for filler in FILLERS]
        offsets = np.cumsum([0, *(len(item.options) for item in items)])
        shares = [np.exp(normalised(extra.log_mass, offsets)) for extra in found]
        with np.errstate(divide="ignore"):
            log_prior = np.log(np.mean(shares, axis=0))
        return Extra(
            log_mass=log_prior,
            n_contexts=sum(extra.n_contexts for extra in found),
            cost=sum((extra.cost for extra in found), Cost()),
        )

    def behind(self, items: Sequence[Item], contexts: Sequence[str | None]) -> Extra:
        """Return the log masses of each item's options behind another context; NaN behind None."""
        places: dict[tuple[object, ...], int] = {}
        distinct: list[Item] = []
        which = []
        for item, context in zip(items, contexts, strict=True):
            key = (context, item.lead, item.options)
            if context is not None and key not in places:
                places[key] = len(distinct)
                distinct.append(replace(item, context=context))
            which.append(places.get(key, -1))
        lengths = [len(item.options) for item in items]
        if not distinct:
            return Extra(log_mass=np.full(sum(lengths), np.nan), n_contexts=0, cost=Cost())
        batches = iter_scored(
            self.model, distinct, policy=self.policy, settings=self.settings, cache=self.cache,
            meter=self.meter,
        )  # fmt: skip
        scored = in_order(list(batches))
        rows = np.split(known_masses(scored.masses), scored.masses.offsets[1:-1])
        found = [
            rows[at] if at >= 0 else np.full(length, np.nan)
            for at, length in zip(which, lengths, strict=True)
        ]
        n_contexts = len({key[0] for key in places})
        return Extra(log_mass=np.concatenate(found), n_contexts=n_contexts, cost=scored.cost)
