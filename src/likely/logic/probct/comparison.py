"""Models side by side on ProbCT, from the documents that their runs left. Units: S, S a tenfold.

S is the score corrected for chance: 1 perfect, 0 chance. Models answer the same items, so that
differences and trends are taken item by item, and their intervals are over rows.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from jaxtyping import Float
from scipy.stats import rankdata

from likely.core.estimate import Estimate
from likely.errors import InputError, UnknownNameError
from likely.logic.probct.hypotheses import ACROSS_MODELS, ALIKE, Finding, Verdict
from likely.logic.probct.pairing import NUMBERS, Cell, Side, iter_cells, paired
from likely.logic.probct.run import NO_CONTROL, ProbCT
from likely.logic.probct.tables import interval
from likely.stats.bootstrap import cluster_bootstrap

LEAST_AGREEING = 3
"""Under how many rescalings a trend must be below 0 to be called inverse scaling."""


def document(results: ProbCT) -> dict[str, object]:
    """Return the results with their single items, controls apart, as a mapping for strict JSON.

    Items stand as columns by family, so that another model's document can be paired with it.
    """
    table = results.to_frame()
    table = table[table["control"] == NO_CONTROL]
    return {
        **results.to_dict(),
        "items": {
            str(family): _columns(part, results.rescalings)
            for family, part in table.groupby("family", sort=False)
        },
    }


def _columns(part: pd.DataFrame, labels: Sequence[str]) -> dict[str, object]:
    facts = part.drop_duplicates("item").set_index("item")
    told = part.set_index(["rescaling", "item"])[list(NUMBERS)].astype(object)
    told = told.where(told.notna(), None)
    return {
        "id": facts.index.tolist(),
        **{name: facts[name].tolist() for name in ("row", "claim", "is_comparison", "bits")},
        "readings": {
            label: {
                name: told.loc[label][name].reindex(facts.index).where(pd.notna, None).tolist()
                for name in NUMBERS
            }
            for label in labels
            if label in told.index.get_level_values(0)
        },
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One model's mean S less another's, on the same items.

    Attributes:
        family: Its name.
        claim: Its name; None for all claims of the family, comparisons left out.
        rescaling: Its label.
        n_items: How many items both models have.
        n_rows: How many rows, the clusters of the interval.
        ours: Mean S of the one.
        theirs: Mean S of the other.
        difference: Ours less theirs; None of fewer than two rows.
    """

    family: str
    claim: str | None
    rescaling: str
    n_items: int
    n_rows: int
    ours: float
    theirs: float
    difference: Estimate | None

    def to_dict(self) -> dict[str, object]:
        """Return the fields as a mapping for strict JSON."""
        return {
            "family": self.family,
            "claim": self.claim,
            "rescaling": self.rescaling,
            "n_items": self.n_items,
            "n_rows": self.n_rows,
            "ours": self.ours,
            "theirs": self.theirs,
            "difference": None if self.difference is None else self.difference.to_dict(),
        }


def compare(
    ours: Mapping[str, object],
    theirs: Mapping[str, object],
    *,
    n_resamples: int = 2000,
    seed: int = 0,
) -> tuple[Difference, ...]:
    """Return how much better one model's beliefs hang together than another's.

    Args:
        ours: A document, as `document` or ``likely probct --out`` gives it.
        theirs: Another, of the same suite; what both have is compared.
        n_resamples: Of the bootstrap over rows.
        seed: Of its stream.

    Returns:
        By family and rescaling, first for the whole family and then for each claim.

    Raises:
        InputError: No such document, another version of a family, or nothing in common.
    """
    sides = paired([Side.read(ours), Side.read(theirs)])
    found = []
    for cell in iter_cells(sides):
        one, other = cell.tops.T / cell.counts.sum()
        found.append(
            Difference(
                family=cell.family, claim=cell.claim, rescaling=cell.rescaling,
                n_items=int(cell.counts.sum()), n_rows=len(cell.counts),
                ours=float(one.sum()), theirs=float(other.sum()),
                difference=interval(
                    cell.tops[:, 0] - cell.tops[:, 1], list(cell.rows), below=cell.counts,
                    n_resamples=n_resamples, seed=seed,
                ),
            )
        )  # fmt: skip
    return tuple(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trend:
    """How S moves with the size of models.

    Attributes:
        family: Its name.
        claim: Its name; None for all claims of the family, comparisons left out.
        rescaling: Its label.
        n_items: How many items all models have.
        n_rows: How many rows, the clusters of the intervals.
        scores: Mean S of each model, in the order of the documents.
        slope: Of mean S on log10 of the parameters: S gained for ten times the parameters.
        corrected_slope: The same for the score corrected for the permutation null, in which an
            item's chance is its probability when events change rows; None where that changes
            nothing.
        spearman: Rank correlation of mean S with the parameters; 0 where all scores are equal.
        curvature: Coefficient of the square of log10 of the parameters in a parabola through mean
            S; None for fewer than three sizes.
    """

    family: str
    claim: str | None
    rescaling: str
    n_items: int
    n_rows: int
    scores: tuple[float, ...]
    slope: Estimate
    corrected_slope: Estimate | None
    spearman: Estimate
    curvature: Estimate | None

    def to_dict(self) -> dict[str, object]:
        """Return the fields as a mapping for strict JSON."""
        return {
            "family": self.family,
            "claim": self.claim,
            "rescaling": self.rescaling,
            "n_items": self.n_items,
            "n_rows": self.n_rows,
            "scores": self.scores,
            "slope": self.slope.to_dict(),
            "corrected_slope": _or_none(self.corrected_slope),
            "spearman": self.spearman.to_dict(),
            "curvature": _or_none(self.curvature),
        }


@dataclass(frozen=True, kw_only=True)
class Scaling:
    """Models of several sizes on ProbCT.

    Attributes:
        models: Their names, in the order of the documents.
        parameters: How many parameters each has.
        rescalings: Labels that all documents have, the headline first.
        trends: By family, claim and rescaling.
        findings: What the trends say of H3 and H5.
    """

    models: tuple[str, ...]
    parameters: tuple[float, ...]
    rescalings: tuple[str, ...]
    trends: tuple[Trend, ...]
    findings: tuple[Finding, ...]

    @cached_property
    def _by_key(self) -> dict[tuple[str, str | None, str], Trend]:
        return {(trend.family, trend.claim, trend.rescaling): trend for trend in self.trends}

    def trend(
        self, family: str, claim: str | None = None, *, rescaling: str | None = None
    ) -> Trend:
        """Return one trend.

        Args:
            family: Its name.
            claim: A claim's name; None for the whole family.
            rescaling: A label; None for the headline.

        Raises:
            UnknownNameError: There is no such trend.
        """
        wanted = (family, claim, rescaling or self.rescalings[0])
        if wanted not in self._by_key:
            known = [" ".join(str(part) for part in key) for key in self._by_key]
            raise UnknownNameError.among("trend", " ".join(str(part) for part in wanted), known)
        return self._by_key[wanted]

    def is_inverse(self, family: str, claim: str | None = None) -> bool:
        """Return whether larger models do worse, by a rule that one rescaling alone cannot meet.

        The interval of the slope lies below 0 under `LEAST_AGREEING` rescalings, both for S and for
        the score corrected for the permutation null.
        """
        own = [t for t in self.trends if (t.family, t.claim) == (family, claim)]
        return all(
            sum(slope is not None and slope.high < 0.0 for slope in slopes) >= LEAST_AGREEING
            for slopes in ([t.slope for t in own], [t.corrected_slope for t in own])
        )

    def to_dict(self) -> dict[str, object]:
        """Return the fields as a mapping for strict JSON."""
        places = dict.fromkeys((trend.family, trend.claim) for trend in self.trends)
        return {
            "models": self.models,
            "parameters": self.parameters,
            "rescalings": self.rescalings,
            "trends": [trend.to_dict() for trend in self.trends],
            "inverse": [list(place) for place in places if self.is_inverse(*place)],
            "findings": [finding.to_dict() for finding in self.findings],
        }


def scaling(
    documents: Sequence[Mapping[str, object]],
    parameters: Sequence[float],
    *,
    n_resamples: int = 2000,
    seed: int = 0,
) -> Scaling:
    """Return how S moves with the size of models, or with any other positive measure of them.

    Rows are resampled and models are not: the intervals say what other rows might have shown of
    these very models.

    Args:
        documents: One a model, as `document` or ``likely probct --out`` gives it.
        parameters: How many parameters each has.
        n_resamples: Of the bootstrap over rows.
        seed: Of its stream.

    Raises:
        InputError: Numbers that fit no documents, one size alone, or documents as `compare` refuses
            them.
    """
    sizes = np.array(list(parameters), dtype=np.float64)
    if len(sizes) != len(documents) or len(set(sizes.tolist())) < 2 or not (sizes > 0.0).all():
        raise InputError(
            f"a trend needs a number of parameters for each of {len(documents)} documents, two of "
            f"them different, all positive; got {list(parameters)!r}"
        )
    log_sizes = np.log10(sizes)
    sides = paired([Side.read(item) for item in documents])
    trends = tuple(
        _trend(cell, log_sizes, n_resamples=n_resamples, seed=seed)
        for cell in iter_cells(sides)
        if len(cell.rows) > 1
    )
    return Scaling(
        models=tuple(side.model for side in sides),
        parameters=tuple(sizes.tolist()),
        rescalings=sides[0].rescalings,
        trends=trends,
        findings=tuple(_findings(trends)),
    )


def _trend(cell: Cell, log_sizes: Float[np.ndarray, " M"], *, n_resamples: int, seed: int) -> Trend:
    centred = log_sizes - log_sizes.mean()
    to_slope = centred / (centred @ centred)
    to_curvature = _square_weights(centred)

    def linear(weights: Float[np.ndarray, " M"]) -> Estimate:
        # Weights add up to 0; against the first model, equal scores give exactly 0.
        return cluster_bootstrap(
            (cell.tops - cell.tops[:, :1]) @ weights, list(cell.rows), denominators=cell.counts,
            n_resamples=n_resamples, seed=seed,
        )  # fmt: skip

    def ranks(drawn: Float[np.ndarray, "S G"]) -> Float[np.ndarray, " S"]:
        return _rank_correlations((drawn @ cell.tops) / (drawn @ cell.counts)[:, None], centred)

    return Trend(
        family=cell.family,
        claim=cell.claim,
        rescaling=cell.rescaling,
        n_items=int(cell.counts.sum()),
        n_rows=len(cell.rows),
        scores=tuple((cell.tops.sum(0) / cell.counts.sum()).tolist()),
        slope=linear(to_slope),
        corrected_slope=_corrected_slope(cell, to_slope, n_resamples=n_resamples, seed=seed),
        spearman=cluster_bootstrap(
            cell.counts, list(cell.rows), statistic=ranks, n_resamples=n_resamples, seed=seed
        ),
        curvature=None if to_curvature is None else linear(to_curvature),
    )


def _corrected_slope(
    cell: Cell, to_slope: Float[np.ndarray, " M"], *, n_resamples: int, seed: int
) -> Estimate | None:
    """Return the slope of ``sum(P - chance) / sum(1 - chance)``, whose chance is the null's."""
    kept = np.asarray((cell.null_bottoms > 0.0).all(1))
    if kept.sum() < 2:
        return None
    tops, bottoms = cell.null_tops[kept], cell.null_bottoms[kept]

    def slope(drawn: Float[np.ndarray, "S G"]) -> Float[np.ndarray, " S"]:
        scores = (drawn @ tops) / (drawn @ bottoms)
        return np.asarray((scores - scores[:, :1]) @ to_slope)

    rows = [row for row, is_kept in zip(cell.rows, kept, strict=True) if is_kept]
    return cluster_bootstrap(
        np.ones(len(rows)), rows, statistic=slope, n_resamples=n_resamples, seed=seed
    )


def _square_weights(centred: Float[np.ndarray, " M"]) -> Float[np.ndarray, " M"] | None:
    """Return what turns scores into the leading coefficient of their parabola by least squares."""
    if len(set(centred.tolist())) < 3:
        return None
    design = np.stack([np.ones_like(centred), centred, centred**2], axis=1)
    return np.asarray(np.linalg.pinv(design)[2])


def _rank_correlations(
    scores: Float[np.ndarray, "S M"], sizes: Float[np.ndarray, " M"]
) -> Float[np.ndarray, " S"]:
    one = rankdata(scores, axis=1)
    other = rankdata(sizes)
    one = one - one.mean(1, keepdims=True)
    other = other - other.mean()
    scale = np.sqrt((one * one).sum(1) * (other @ other))
    return np.asarray(np.divide(one @ other, scale, out=np.zeros(len(scores)), where=scale > 0.0))


def _findings(trends: Sequence[Trend]) -> Iterator[Finding]:
    known = {name: (statement, quantity) for name, statement, quantity in ACROSS_MODELS}
    asked = [
        ("H3a", "H3", "Tp", "slope of S(Tp) on log10 parameters, negation"),
        ("H3b", "H3", "Tn", "slope of S(Tn) on log10 parameters, negation"),
        ("H3c", "H3", "full", "slope of S(full), which is CLOSE, on log10 parameters, negation"),
        ("H5", "H5", "Tm", "coefficient of squared log10 parameters in S(Tm), negation"),
    ]
    for name, base, claim, quantity in asked:
        for trend in trends:
            if (trend.family, trend.claim) != ("negation", claim):
                continue
            estimate = trend.curvature if base == "H5" else trend.slope
            yield Finding(
                name=name, statement=known[base][0], rescaling=trend.rescaling, quantity=quantity,
                estimate=estimate,
                verdict="needs more models" if estimate is None else _verdict(name, estimate),
            )  # fmt: skip


def _verdict(name: str, estimate: Estimate) -> Verdict:
    is_above, is_below = estimate.low > 0.0, estimate.high < 0.0
    if name == "H3c":
        if estimate.low > -ALIKE and estimate.high < ALIKE:
            return "holds"
        return "fails" if is_above or is_below else "undecided"
    if not (is_above or is_below):
        return "undecided"
    return "holds" if is_below == (name == "H3b") else "fails"


def _or_none(estimate: Estimate | None) -> dict[str, object] | None:
    return None if estimate is None else estimate.to_dict()
