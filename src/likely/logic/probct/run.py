"""ProbCT on a model: seven families and their controls in one pass, with a table of results."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import pandas as pd

from likely.core.engine import Meter, Store
from likely.core.estimate import Cost
from likely.core.jsonio import dumps
from likely.core.model import LanguageModel, Settings
from likely.core.text.encode import Bos
from likely.errors import InputError, UnknownNameError
from likely.logic.evaluation import ALSO, evaluate_all
from likely.logic.events import Multi, Rescaling
from likely.logic.probct.controls import CONTROLS
from likely.logic.probct.diagnoses import Diagnosis, diagnoses, violation_patterns
from likely.logic.probct.hypotheses import Evidence, Finding, findings
from likely.logic.probct.suites import FAMILIES, load_family
from likely.logic.probct.tables import Line, claim_nulls, item_table, lines
from likely.logic.results import Evaluation
from likely.logic.theory import Theory

NO_CONTROL = "none"


@dataclass(frozen=True, kw_only=True)
class ProbCT:
    """The results of one model.

    Attributes:
        model: Its name.
        fingerprint: Of its weights.
        rescalings: Labels, the headline first.
        evaluations: By family and control (``none`` for the suite itself).
        lines: A line for each family, control, claim and rescaling, and for whole families.
        findings: What the results say of each hypothesis.
        diagnoses: Vacuity, orderings, bounds and CLOSE, controls apart.
        patterns: By family and claim, the most probable violations and how often each is one.
        cost: Of the one pass over the model.
        chances: By item and rescaling, its mean probability when events change rows at random; only
            where that changes something.
    """

    model: str
    fingerprint: str
    rescalings: tuple[str, ...]
    evaluations: Mapping[tuple[str, str], Evaluation]
    lines: tuple[Line, ...]
    findings: tuple[Finding, ...]
    diagnoses: tuple[Diagnosis, ...]
    patterns: Mapping[str, Mapping[str, Mapping[str, int]]]
    cost: Cost
    chances: Mapping[tuple[str, str], float] = field(default_factory=dict)

    def line(
        self,
        family: str,
        claim: str | None = None,
        *,
        rescaling: str | None = None,
        control: str = NO_CONTROL,
    ) -> Line:
        """Return one line of the results.

        Args:
            family: Its name.
            claim: A claim's name; None for the whole family.
            rescaling: A label; None for the headline.
            control: ``none``, ``shuffled`` or ``nonsense``.

        Raises:
            UnknownNameError: There is no such line.
        """
        wanted = (family, control, claim, rescaling or self.rescalings[0])
        if wanted not in self._by_key:
            known = [" ".join(str(part) for part in key) for key in self._by_key]
            raise UnknownNameError.among("line", " ".join(str(part) for part in wanted), known)
        return self._by_key[wanted]

    @cached_property
    def _by_key(self) -> dict[tuple[str, str, str | None, str], Line]:
        return {(x.family, x.control, x.claim, x.rescaling): x for x in self.lines}

    @property
    def n_items(self) -> int:
        """How many items the suite has, controls apart."""
        return sum(
            len(e.items) for (_, control), e in self.evaluations.items() if control == "none"
        )

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each item and rescaling, controls included.

        ``null_prob`` is the item's mean probability when events change rows at random.
        """
        table = _stack(self.evaluations)
        keys = zip(table["item"], table["rescaling"], strict=True)
        chances = [self.chances.get((str(item), str(label))) for item, label in keys]
        return table.assign(null_prob=pd.Series(chances, index=table.index, dtype="float64"))

    def to_dict(self) -> dict[str, object]:
        """Return the results, without the single items, as a mapping for strict JSON."""
        return {
            "model": self.model,
            "fingerprint": self.fingerprint,
            "rescalings": self.rescalings,
            "digests": {
                family: evaluation.digest
                for (family, control), evaluation in self.evaluations.items()
                if control == NO_CONTROL
            },
            "n_items": self.n_items,
            "lines": [line.to_dict() for line in self.lines],
            "findings": [finding.to_dict() for finding in self.findings],
            "diagnoses": [diagnosis.to_dict() for diagnosis in self.diagnoses],
            "patterns": {
                family: {claim: dict(counts) for claim, counts in claims.items()}
                for family, claims in self.patterns.items()
            },
            "cost": self.cost.to_dict(),
        }

    def to_json(self) -> str:
        """Return `to_dict` as strict JSON."""
        return dumps(self.to_dict())


def run(
    model: LanguageModel,
    *,
    families: Sequence[str] = FAMILIES,
    controls: Sequence[str] = tuple(CONTROLS),
    rescaling: str | Rescaling = "duel",
    also: Sequence[str | Rescaling] = ALSO,
    multi: Multi = "conj",
    bos: Bos = "auto",
    n_permutations: int = 100,
    n_resamples: int = 2000,
    seed: int = 0,
    settings: Settings | None = None,
    cache: Store | None = None,
    meter: Meter | None = None,
) -> ProbCT:
    """Return how a model does on ProbCT.

    Args:
        model: Any model that gives whole next-token rows; others give intervals.
        families: Names, of `FAMILIES`.
        controls: Names, of `CONTROLS`; they say how much of a score needs no knowledge.
        rescaling: The one that headlines.
        also: Others, reported beside it.
        multi: How answers of several tokens become one event.
        bos: As in `likely.score`.
        n_permutations: Of the null in which events change rows.
        n_resamples: Of the bootstrap over rows.
        seed: Of controls, null and bootstrap.
        settings: How to evaluate.
        cache: A `ScoreCache`.
        meter: A progress meter.

    Raises:
        InputError: No family is named.
        UnknownNameError: No such family, control or rescaling.
        CapabilityError: The model cannot give what a rescaling needs.
    """
    theories = _theories(families, controls, seed)
    done = evaluate_all(
        model, list(theories.values()), rescaling=rescaling, also=also, multi=multi, bos=bos,
        settings=settings, cache=cache, meter=meter,
    )  # fmt: skip
    evaluations = dict(zip(theories, done, strict=True))
    nulls = {
        key: claim_nulls(evaluation, n_permutations=n_permutations, seed=seed)
        for key, evaluation in evaluations.items()
    }
    z_scores = {
        (*key, null.claim, null.rescaling): null.z_score
        for key, found in nulls.items()
        for null in found
    }
    table = _stack(evaluations)
    labels = done[0].rescalings
    plain = {f: e for (f, control), e in evaluations.items() if control == NO_CONTROL}
    evidence = Evidence(
        table=table[table["control"] == NO_CONTROL],
        evaluations=plain,
        rescalings=labels,
        n_resamples=n_resamples,
        seed=seed,
    )
    return ProbCT(
        model=model.info.name,
        fingerprint=model.info.fingerprint,
        rescalings=labels,
        evaluations=evaluations,
        lines=lines(table, z_scores, n_resamples=n_resamples, seed=seed),
        findings=findings(evidence),
        diagnoses=diagnoses(plain, n_resamples=n_resamples, seed=seed),
        patterns={family: violation_patterns(e) for family, e in plain.items()},
        cost=done[0].cost,
        chances={
            (item, null.rescaling): chance
            for found in nulls.values()
            for null in found
            for item, chance in null.chances.items()
        },
    )


def _theories(
    families: Sequence[str], controls: Sequence[str], seed: int
) -> dict[tuple[str, str], Theory]:
    if not families:
        raise InputError(f"name at least one family of {list(FAMILIES)}, got none")
    for control in controls:
        if control not in CONTROLS:
            raise UnknownNameError.among("control", control, CONTROLS)
    theories = {}
    for family in dict.fromkeys(families):
        theory = load_family(family)
        theories[family, NO_CONTROL] = theory
        for control in dict.fromkeys(controls):
            theories[family, control] = CONTROLS[control](theory, seed=seed)
    return theories


def _stack(evaluations: Mapping[tuple[str, str], Evaluation]) -> pd.DataFrame:
    tables = [
        item_table(evaluation, family=family, control=control)
        for (family, control), evaluation in evaluations.items()
    ]
    return pd.concat(tables, ignore_index=True)
