"""The hypotheses of ProbCT, each read off the results by name. Units: stated with each number.

H1 to H9 are ours; they follow what the paper reports or suggests. One model can settle those that
compare claims or events; those about scale or training need several models.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from jaxtyping import Float

from likely.core.estimate import Estimate
from likely.logic.probct.tables import interval
from likely.logic.results import Evaluation
from likely.stats.bootstrap import cluster_bootstrap

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

    def statistic(
        self,
        values: Float[np.ndarray, " N"],
        rows: Sequence[str],
        of_weights: Callable[[Float[np.ndarray, "S N"]], Float[np.ndarray, " S"]],
    ) -> Estimate | None:
        """Return a statistic of weighted items with its interval over rows."""
        if len(set(rows)) < 2:
            return None
        return cluster_bootstrap(
            values, list(rows), statistic=of_weights, n_resamples=self.n_resamples, seed=self.seed
        )

    def items(self, family: str, claim: str, label: str) -> pd.DataFrame:
        """Return the items of a claim under a rescaling."""
        table = self.table
        return table[
            (table["family"] == family) & (table["claim"] == claim) & (table["rescaling"] == label)
        ]

    def by_row(self, family: str, claim: str, label: str, column: str) -> pd.Series:
        """Return the mean of a column over a claim's items of each row."""
        return self.items(family, claim, label).groupby("row")[column].mean()

    def odds(self, family: str, key: str, label: str) -> dict[str, float]:
        """Return the log-odds of an event by instance."""
        evaluation = self.evaluations.get(family)
        return {
            instance: events[key].log_odds[label]
            for instance, events in (evaluation.events.items() if evaluation else ())
            if key in events
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Hypothesis:
    """One statement, and how it is read off the results.

    Attributes:
        name: ``H1`` to ``H9``, with a letter where it has parts.
        statement: In words.
        quantity: What is measured, with its unit.
        measure: The number with its interval under one rescaling; None where it is not defined.
        judge: The verdict on the number.
    """

    name: str
    statement: str
    quantity: str
    measure: Callable[[Evidence, str], Estimate | None]
    judge: Callable[[Estimate], Verdict]


def findings(evidence: Evidence) -> tuple[Finding, ...]:
    """Return what the results say of every hypothesis, under every rescaling that defines it."""
    found = []
    for item in HYPOTHESES:
        for label in evidence.rescalings:
            estimate = item.measure(evidence, label)
            if estimate is not None:
                found.append(
                    Finding(
                        name=item.name, statement=item.statement, rescaling=label,
                        quantity=item.quantity, estimate=estimate, verdict=item.judge(estimate),
                    )
                )  # fmt: skip
    found += [
        Finding(
            name=name, statement=statement, rescaling=None, quantity=quantity, estimate=None,
            verdict="needs more models",
        )
        for name, statement, quantity in ACROSS_MODELS
    ]  # fmt: skip
    return tuple(sorted(found, key=lambda finding: finding.name))


def _against(threshold: float, *, over: bool) -> Callable[[Estimate], Verdict]:
    def judge(estimate: Estimate) -> Verdict:
        is_over, is_under = estimate.low > threshold, estimate.high < threshold
        if is_over or is_under:
            return "holds" if is_over == over else "fails"
        return "undecided"

    return judge


def _is_near_zero(estimate: Estimate) -> Verdict:
    if estimate.low > -ALIKE and estimate.high < ALIKE:
        return "holds"
    return "fails" if estimate.low > ALIKE or estimate.high < -ALIKE else "undecided"


def _paraphrase_over_exclusion(evidence: Evidence, label: str) -> Estimate | None:
    same = evidence.by_row("negation", "Ts", label, "chance_corrected")
    differ = evidence.by_row("negation", "Tm", label, "chance_corrected")
    return evidence.mean((same - differ).dropna())


def _exclusion_earns(evidence: Evidence, label: str) -> Estimate | None:
    earned = evidence.by_row("negation", "Tm", label, "log_ratio_bits")
    return evidence.mean(earned[np.isfinite(earned)])


def _knowledge_hurts(evidence: Evidence, label: str) -> Estimate | None:
    """Return the slope of the bits earned on Tm against the log-odds of the true sentence."""
    table = evidence.items("negation", "Tm", label)
    odds = evidence.odds("negation", "a", label)
    x = np.array([odds.get(instance, np.nan) for instance in table["instance"]], dtype=np.float64)
    y = table["log_ratio_bits"].to_numpy(dtype=np.float64)
    told = np.isfinite(x) & np.isfinite(y)
    rows = [row for row, is_told in zip(table["row"], told, strict=True) if is_told]
    x, y = x[told], y[told]

    def slope(weights: Float[np.ndarray, "S N"]) -> Float[np.ndarray, " S"]:
        total = weights.sum(1, keepdims=True)
        dx = x - (weights @ x)[:, None] / total
        dy = y - (weights @ y)[:, None] / total
        spread = (weights * dx * dx).sum(1)
        with np.errstate(invalid="ignore"):
            return np.where(spread > 0.0, (weights * dx * dy).sum(1) / spread, 0.0)

    return evidence.statistic(y, rows, slope)


def _nearer(event: str, twin: str, other: str) -> Callable[[Evidence, str], Estimate | None]:
    def measure(evidence: Evidence, label: str) -> Estimate | None:
        own, near, far = (evidence.odds("negation", k, label) for k in (event, twin, other))
        gaps = pd.DataFrame({"own": pd.Series(own), "near": pd.Series(near), "far": pd.Series(far)})
        gaps = gaps.replace([np.inf, -np.inf], np.nan).dropna()
        values = (gaps["own"] - gaps["far"]).abs() - (gaps["own"] - gaps["near"]).abs()
        values.index = pd.Index([instance.rsplit("/", 1)[-1] for instance in values.index])
        return evidence.mean(values)

    return measure


def _closed_hides(evidence: Evidence, label: str) -> Estimate | None:
    if label == "closed" or "closed" not in evidence.rescalings:
        return None
    laws = ~evidence.table["is_comparison"].astype(bool)
    table = evidence.table[laws].set_index("item")
    opened = table[table["rescaling"] == label]
    closed = table[table["rescaling"] == "closed"]
    gaps = (closed["chance_corrected"] - opened["chance_corrected"]).dropna()
    rows = (opened["family"] + "/" + opened["row"]).loc[gaps.index]
    return evidence.mean(pd.Series(gaps.to_numpy(), index=rows.to_numpy()))


def _kinds_alike(evidence: Evidence, label: str) -> Estimate | None:
    """Return mean S of ``differs`` on complementary rows minus that on contrary rows."""
    laws = evidence.items("antonyms", "differs", label)
    others = evidence.items("antonyms", "differs_contrary", label)
    if not len(laws) or not len(others):
        return None
    table = pd.concat([laws, others])
    is_law = (table["claim"] == "differs").to_numpy(dtype=bool)
    values = table["chance_corrected"].to_numpy(dtype=np.float64)

    def gap(weights: Float[np.ndarray, "S N"]) -> Float[np.ndarray, " S"]:
        law, rest = weights * is_law, weights * ~is_law
        both = np.minimum(law.sum(1), rest.sum(1)) > 0.0
        with np.errstate(invalid="ignore"):
            means = law @ values / law.sum(1) - rest @ values / rest.sum(1)
        return np.where(both, means, 0.0)

    return evidence.statistic(values, table["row"].tolist(), gap)


def _vacuous_share(evidence: Evidence, label: str) -> Estimate | None:
    """Return the mean share of an implication's satisfaction that is due to a false antecedent."""
    shares: list[float] = []
    rows: list[str] = []
    for family in ("implication", "relations", "antonyms"):
        evaluation = evidence.evaluations.get(family)
        for score in evaluation.conditionals if evaluation else ():
            if label not in score.vacuity:
                continue
            vacuous = score.vacuity[label]
            kept = vacuous + (1.0 - vacuous) * (1.0 - score.violation.get(label, 0.0))
            if kept > 0.0:
                shares.append(vacuous / kept)
                rows.append(f"{family}/{score.row}")
    return evidence.mean(pd.Series(shares, index=pd.Index(rows), dtype=np.float64))


HYPOTHESES = (
    Hypothesis(
        name="H1",
        statement="paraphrases agree better than contradictory sentences differ",
        quantity="S(Ts) - S(Tm), negation",
        measure=_paraphrase_over_exclusion,
        judge=_against(0.0, over=True),
    ),
    Hypothesis(
        name="H2a",
        statement="a sentence and its negation are not told apart: Tm earns less than chance",
        quantity="log-ratio of Tm, bits, negation",
        measure=_exclusion_earns,
        judge=_against(0.0, over=False),
    ),
    Hypothesis(
        name="H2b",
        statement="the better a sentence is known, the more it is repeated under its negation",
        quantity="slope of the bits of Tm on the log-odds of a, bits a nat, negation",
        measure=_knowledge_hurts,
        judge=_against(0.0, over=False),
    ),
    Hypothesis(
        name="H4a",
        statement="a doubly negated sentence (b) is read like its negation (a), not the plain (c)",
        quantity="|b - c| - |b - a| in log-odds, nats, negation",
        measure=_nearer("b", "a", "c"),
        judge=_against(0.0, over=True),
    ),
    Hypothesis(
        name="H4b",
        statement="'it is true that' (d) is read like the plain sentence (c), not the negated (a)",
        quantity="|d - a| - |d - c| in log-odds, nats, negation",
        measure=_nearer("d", "c", "a"),
        judge=_against(0.0, over=True),
    ),
    Hypothesis(
        name="H6",
        statement="a closed set of answers hides failures that the whole vocabulary shows",
        quantity="S(closed) - S(open), all families",
        measure=_closed_hides,
        judge=_against(0.0, over=True),
    ),
    Hypothesis(
        name="H7",
        statement=f"complementary and contrary antonyms are treated alike (within {ALIKE})",
        quantity="S(differs) on complementary minus contrary rows, antonyms",
        measure=_kinds_alike,
        judge=_is_near_zero,
    ),
    Hypothesis(
        name="H9",
        statement="implications are kept mostly because their antecedent fails",
        quantity="share of P(a -> b) that is P(not a)",
        measure=_vacuous_share,
        judge=_against(0.5, over=True),
    ),
)
"""What one model can settle."""

ACROSS_MODELS = (
    ("H3", "with scale Tp improves, Tn worsens, and CLOSE is flat", "slopes on log10 parameters"),
    ("H5", "at large scale the trend of Tm turns up again", "curvature on log10 parameters"),
    ("H8", "literals are learnt early in training, pure consistency late", "S by checkpoint"),
)
"""What takes several models, or checkpoints of one: name, statement, quantity."""
