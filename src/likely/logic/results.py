"""What `evaluate` returns: each claim about each row, scored under each rescaling. Unit: nats."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from likely.core.estimate import Cost
from likely.core.jsonio import dumps
from likely.errors import UnknownNameError
from likely.logic.chance import Scores
from likely.logic.information import Informativeness

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, kw_only=True)
class EventReading:
    """One event as the model sees it.

    Attributes:
        context: The text before.
        answers: The words that stand for the answer, or its exact spellings.
        log_prob: Of the answer as token sequences, nothing rescaled, nats.
        log_odds: Of the event, by rescaling, nats.
        pieces: The tokens of each spelling that was scored.
        flags: Such as ``multi_token``, ``boundary_merge``, ``clamped``, ``interval``.
    """

    context: str
    answers: tuple[str, ...]
    log_prob: float
    log_odds: Mapping[str, float]
    pieces: tuple[tuple[str, ...], ...]
    flags: frozenset[str]

    def to_dict(self) -> dict[str, object]:
        """Return the fields as a mapping for strict JSON."""
        return {
            "context": self.context,
            "answers": self.answers,
            "log_prob": self.log_prob,
            "log_odds": dict(self.log_odds),
            "pieces": self.pieces,
            "flags": self.flags,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One claim under one rescaling.

    Attributes:
        scores: Its probability, given the evidence, with all corrections for chance.
        is_kept: Whether its hard and noisy rules hold when every event is decided by which side of
            one half it is on.
        rules: The log-probability of each rule by itself, given the evidence, nats.
        loss: Minus the log-probability of the joint rules, plus those of the ``score`` rules by
            their weights, nats.
        bounds: The log-probability's sure interval where the model tells events only in part.
    """

    scores: Scores
    is_kept: bool
    rules: Mapping[str, float]
    loss: float
    bounds: tuple[float, float] | None = None

    def to_dict(self) -> dict[str, object]:
        """Return the fields as a mapping for strict JSON."""
        return {
            **self.scores.to_dict(),
            "is_kept": self.is_kept,
            "rules": dict(self.rules),
            "loss": self.loss,
            "bounds": self.bounds,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemScore:
    """One claim about one row in the words of one pack.

    Attributes:
        id: ``theory/pack/row/claim``.
        instance: ``theory/pack/row``, the key of its events.
        pack: Name of the frame pack.
        row: Name of the row, the cluster of every interval; None over all rows.
        claim: Name of the claim.
        formula: The conjunction of its hard and noisy rules.
        evidence: What is taken for granted, or None.
        events: Keys of the events that it depends on.
        info: How much it says; None where rules are soft or noisy or evidence is given.
        readings: By rescaling; a rescaling that is undefined for its events is absent.
        is_comparison: Whether it is no law but shown for comparison.
        flags: All flags of its events.
    """

    id: str
    instance: str
    pack: str
    row: str | None
    claim: str
    formula: str
    evidence: str | None
    events: tuple[str, ...]
    info: Informativeness | None
    readings: Mapping[str, Reading]
    is_comparison: bool
    flags: frozenset[str]

    def to_dict(self) -> dict[str, object]:
        """Return the fields as a mapping for strict JSON."""
        return {
            "id": self.id,
            "instance": self.instance,
            "pack": self.pack,
            "row": self.row,
            "claim": self.claim,
            "formula": self.formula,
            "evidence": self.evidence,
            "events": self.events,
            "info": None if self.info is None else self.info.to_dict(),
            "readings": {name: reading.to_dict() for name, reading in self.readings.items()},
            "is_comparison": self.is_comparison,
            "flags": self.flags,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionalScore:
    """An implication: how often it breaks where it applies, and how often it does not apply.

    Attributes:
        name: Of the conditional.
        instance: Where.
        row: The cluster.
        violation: By rescaling, ``P(not then | if)``; absent where ``if`` has probability 0.
        vacuity: By rescaling, ``P(not if)``: the share of satisfaction that costs nothing.
    """

    name: str
    instance: str
    row: str | None
    violation: Mapping[str, float]
    vacuity: Mapping[str, float]

    def to_dict(self) -> dict[str, object]:
        """Return the fields as a mapping for strict JSON."""
        return {
            "name": self.name, "instance": self.instance, "row": self.row,
            "violation": dict(self.violation), "vacuity": dict(self.vacuity),
        }  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderingScore:
    """Whether the event that should be the likelier is so, by its raw log-probability.

    Attributes:
        name: Of the ordering.
        instance: Where.
        row: The cluster.
        log_ratio: Of the raw probabilities, nats; above 0 is right. No rescaling touches it.
    """

    name: str
    instance: str
    row: str | None
    log_ratio: float

    def to_dict(self) -> dict[str, object]:
        """Return the fields as a mapping for strict JSON."""
        return {
            "name": self.name, "instance": self.instance, "row": self.row,
            "log_ratio": self.log_ratio,
        }  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryScore:
    """The probability of a query, by itself and given each claim of its row.

    Attributes:
        name: Of the query.
        instance: Where.
        row: The cluster.
        prob: By rescaling.
        given: By rescaling and claim; absent where the claim has probability 0.
    """

    name: str
    instance: str
    row: str | None
    prob: Mapping[str, float]
    given: Mapping[str, Mapping[str, float]]

    def to_dict(self) -> dict[str, object]:
        """Return the fields as a mapping for strict JSON."""
        return {
            "name": self.name, "instance": self.instance, "row": self.row,
            "prob": dict(self.prob), "given": {k: dict(v) for k, v in self.given.items()},
        }  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """A theory as one model satisfies it.

    Attributes:
        theory: Its name.
        digest: Its hash, so that numbers of another version are told apart.
        model: Name of the model.
        fingerprint: Of its weights.
        rescalings: Labels, the headline first.
        multi: How answers of several tokens became events.
        events: By instance and key.
        items: One a claim, row and pack.
        conditionals: Vacuity and violation of each implication.
        orderings: Of raw probabilities.
        queries: Named formulas.
        clamped: By rescaling, how many events were clamped off 0 and 1.
        cost: Of the one pass over the model.
    """

    theory: str
    digest: str
    model: str
    fingerprint: str
    rescalings: tuple[str, ...]
    multi: str
    events: Mapping[str, Mapping[str, EventReading]]
    items: tuple[ItemScore, ...]
    conditionals: tuple[ConditionalScore, ...]
    orderings: tuple[OrderingScore, ...]
    queries: tuple[QueryScore, ...]
    clamped: Mapping[str, int]
    cost: Cost

    @cached_property
    def _by_id(self) -> dict[str, ItemScore]:
        return {item.id: item for item in self.items}

    def item(self, name: str) -> ItemScore:
        """Return the item of that id, or the only one whose id ends in it.

        Raises:
            UnknownNameError: There is none, or several.
        """
        if name in self._by_id:
            return self._by_id[name]
        found = [item for item in self.items if item.id.endswith(f"/{name}")]
        if len(found) != 1:
            raise UnknownNameError.among("item", name, self._by_id)
        return found[0]

    def to_frame(self) -> "pd.DataFrame":
        """Return one row for each item and rescaling."""
        import pandas as pd

        return pd.DataFrame([
            {
                "id": item.id, "pack": item.pack, "row": item.row, "claim": item.claim,
                "formula": item.formula, "rescaling": name, "n_events": len(item.events),
                "bits": reading.scores.bits, "prob": math.exp(reading.scores.log_prob),
                "chance_corrected": reading.scores.chance_corrected,
                "log_ratio_bits": reading.scores.log_ratio_bits,
                "normalised_log_ratio": reading.scores.normalised_log_ratio,
                "is_kept": reading.is_kept, "flags": ",".join(sorted(item.flags)),
            }
            for item in self.items
            for name, reading in item.readings.items()
        ])  # fmt: skip

    def to_dict(self) -> dict[str, object]:
        """Return the whole evaluation as a mapping for strict JSON."""
        return {
            "theory": self.theory,
            "digest": self.digest,
            "model": self.model,
            "fingerprint": self.fingerprint,
            "rescalings": self.rescalings,
            "multi": self.multi,
            "events": {
                instance: {key: event.to_dict() for key, event in events.items()}
                for instance, events in self.events.items()
            },
            "items": [item.to_dict() for item in self.items],
            "conditionals": [score.to_dict() for score in self.conditionals],
            "orderings": [score.to_dict() for score in self.orderings],
            "queries": [score.to_dict() for score in self.queries],
            "clamped": dict(self.clamped),
            "cost": self.cost.to_dict(),
        }

    def to_json(self) -> str:
        """Return `to_dict` as strict JSON."""
        return dumps(self.to_dict())
