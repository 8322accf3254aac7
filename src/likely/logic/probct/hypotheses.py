"""The hypotheses of ProbCT, each read off the results by name. Units: stated with each number.

H1 to H9 are ours; they follow what the paper reports or suggests. One model can settle those that
compare claims or events; those about scale or training need several models.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from likely.core.estimate import Estimate
from likely.logic.probct.tables import interval
from likely.logic.results import Evaluation

Verdict = Literal["holds", "fails", "undecided", "needs more models"]

ALIKE = 0.1
"""Two means of S that differ by less, with certainty of the interval, are called alike (H7)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What the results say of one hypothesis under one rescaling.

    Attributes:
        name: ``H1`` to ``H9``, with a letter where it has parts.
        statement: In words.
        rescaling: Label; None where no rescaling enters.
        quantity: What was measured.
        estimate: With its interval over rows; None where it needs more models or rows.
        verdict: ``holds`` or ``fails`` where the interval says so, ``undecided`` where it does not.
    """

    name: str
    statement: str
    rescaling: str | None
    quantity: str
    estimate: Estimate | None
    verdict: Verdict

    def to_dict(self) -> dict[str, object]:
        """Return the fields as a mapping for strict JSON."""
        return {
            "name": self.name,
            "statement": self.statement,
            "rescaling": self.rescaling,
            "quantity": self.quantity,
            "estimate": None if self.estimate is None else self.estimate.to_dict(),
            "verdict": self.verdict,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What the hypotheses are read off.

    Attributes:
        table: One row an item and rescaling, without controls.
        evaluations: By family.
        rescalings: Labels, the headline first.
        n_resamples: Of the bootstrap over rows.
        seed: Of its streams.
    """

    table: pd.DataFrame
    evaluations: Mapping[str, Evaluation]
    rescalings: Sequence[str]
    n_resamples: int
    seed: int

    def mean(self, values: pd.Series) -> Estimate | None:
        """Return the mean of values indexed by row, with its interval."""
        if not len(values):
            return None
        return interval(
            values.to_numpy(dtype=np.float64), [str(row) for row in values.index],
            n_resamples=self.n_resamples, seed=self.seed,
        )  # fmt: skip

    def chance_corrected(self, family: str, claim: str, label: str) -> pd.Series:
        """Return the mean S of a claim by row."""
        chosen = self.table[
            (self.table["family"] == family)
            & (self.table["claim"] == claim)
            & (self.table["rescaling"] == label)
        ]
        return chosen.groupby("row")["chance_corrected"].mean()

    def odds(self, family: str, key: str, label: str) -> pd.Series:
        """Return the log-odds of an event by row and pack, indexed by both."""
        evaluation = self.evaluations.get(family)
        found = {
            tuple(reversed(instance.split("/")[1:])): events[key].log_odds[label]
            for instance, events in (evaluation.events.items() if evaluation else ())
            if key in events
        }
        index = pd.MultiIndex.from_tuples(list(found) or [("", "")], names=["row", "pack"])
        return pd.Series(list(found.values()) or [np.nan], index=index).dropna()


def findings(evidence: Evidence) -> tuple[Finding, ...]:
    """Return what the results say of every hypothesis, under every rescaling that it needs."""
    found: list[Finding] = []
    for name, (statement, quantity, measure, judge) in _MEASURED.items():
        for label in evidence.rescalings:
            estimate = measure(evidence, label)
            if estimate is None and name in _ONE_LABEL and label not in _ONE_LABEL[name]:
                continue
            found.append(
                Finding(
                    name=name, statement=statement, rescaling=label, quantity=quantity,
                    estimate=estimate,
                    verdict="undecided" if estimate is None else judge(estimate),
                )
            )  # fmt: skip
    found += [
        Finding(
            name=name, statement=statement, rescaling=None, quantity=quantity, estimate=None,
            verdict="needs more models",
        )
        for name, (statement, quantity) in _ACROSS_MODELS.items()
    ]  # fmt: skip
    return tuple(sorted(found, key=lambda finding: finding.name))


def _is_positive(estimate: Estimate) -> Verdict:
    if estimate.low > 0.0:
        return "holds"
    return "fails" if estimate.high < 0.0 else "undecided"


def _is_negative(estimate: Estimate) -> Verdict:
    if estimate.high < 0.0:
        return "holds"
    return "fails" if estimate.low > 0.0 else "undecided"


def _is_near_zero(estimate: Estimate) -> Verdict:
    if -ALIKE < estimate.low and estimate.high < ALIKE:
        return "holds"
    return "fails" if estimate.low > 0.0 or estimate.high < 0.0 else "undecided"


def _is_over_half(estimate: Estimate) -> Verdict:
    if estimate.low > 0.5:
        return "holds"
    return "fails" if estimate.high < 0.5 else "undecided"


def _paraphrase_over_exclusion(evidence: Evidence, label: str) -> Estimate | None:
    same = evidence.chance_corrected("negation", "Ts", label)
    differ = evidence.chance_corrected("negation", "Tm", label)
    return evidence.mean((same - differ).dropna())


def _negation_earns(evidence: Evidence, label: str) -> Estimate | None:
    table = evidence.table
    chosen = table[
        (table["family"] == "negation")
        & (table["claim"] == "Tm")
        & (table["rescaling"] == label)
    ]
    by_row = chosen.groupby("row")["log_ratio_bits"].mean()
    return evidence.mean(by_row[np.isfinite(by_row)])
