"""Fit a remedy on some number pairs and judge it on others. Unit: nats.

Items of one number pair ask for the same probability in every wording and for every option, so a
remedy that was fitted on any of them has seen the answer. Folds are therefore made of pairs.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from likely.calibration.remedies.evidence import Evidence
from likely.calibration.remedies.remedy import Remedy
from likely.core.streams import generator
from likely.errors import InputError

FOLDS = 2
"""One half of the number pairs judges what the other half found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoldFit:
    """What a remedy found on the items of all folds but one.

    Attributes:
        fold: The one that it is judged on; None for a remedy that learns nothing.
        n_items: Items that it was fitted on.
        n_number_pairs: Number pairs that it was fitted on.
        parameters: What it found.
        status: ``ok``, or why there is no repair.
    """

    fold: int | None
    n_items: int
    n_number_pairs: int
    parameters: Mapping[str, float]
    status: str

    def to_dict(self) -> dict[str, object]:
        """Return the fields as plain values."""
        return {
            "fold": self.fold,
            "n_items": self.n_items,
            "n_number_pairs": self.n_number_pairs,
            "parameters": dict(self.parameters),
            "status": self.status,
        }


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Repaired:
    """Items after a remedy, each repaired by what was found on other number pairs.

    Attributes:
        log_probs: Shape ``(M,)``, nats: log masses or log shares of the options; NaN where the
            remedy is not defined.
        fits: One a fold.
    """

    log_probs: Float[np.ndarray, "M"]
    fits: tuple[FoldFit, ...]


def number_pair_folds(
    evidence: Evidence, *, n_folds: int = FOLDS, seed: int = 0
) -> Int[np.ndarray, "N"]:
    """Return the fold of each item; items of one number pair are in one fold.

    Each scale is dealt out evenly.

    Args:
        evidence: Of the items.
        n_folds: At least 2.
        seed: Of the random stream.

    Raises:
        InputError: Fewer than 2 folds, or fewer number pairs than folds.
    """
    pairs, first, which = np.unique(
        np.array(evidence.number_pairs, dtype=str), return_index=True, return_inverse=True
    )
    if not 2 <= n_folds <= len(pairs):
        raise InputError(
            f"at least 2 folds and a number pair for each are needed, got {n_folds!r} folds and "
            f"{len(pairs)} number pairs"
        )
    shuffled = generator(seed, "calibration", "remedies", "folds").permutation(len(pairs))
    scales = np.array(evidence.units["scale"], dtype=str)[first]
    by_scale = shuffled[np.argsort(scales[shuffled], kind="stable")]
    fold_of_pair = np.empty(len(pairs), dtype=np.int64)
    fold_of_pair[by_scale] = np.arange(len(pairs)) % n_folds
    return fold_of_pair[which]


def cross_validate(
    evidence: Evidence, remedy: Remedy, *, n_folds: int = FOLDS, seed: int = 0
) -> Repaired:
    """Return every item repaired by what the remedy found on the number pairs of other folds.

    A remedy that learns nothing is applied as it is.

    Args:
        evidence: Of the items, with all that the remedy needs.
        remedy: What is to be done.
        n_folds: Into which number pairs are parted.
        seed: Of the folds, and of what a remedy draws.

    Raises:
        InputError: As `number_pair_folds`, or something the remedy needs was not gathered.
    """
    lacking = [need for need in remedy.needs if getattr(evidence, need) is None]
    if lacking:
        raise InputError(f"{remedy.name!r} needs {lacking} of the model; gather them first")
    everything = np.arange(evidence.n_items)
    parts: list[tuple[int | None, Int[np.ndarray, "_"], Int[np.ndarray, "_"]]]
    parts = [(None, everything, everything)]
    if remedy.is_fitted:
        folds = number_pair_folds(evidence, n_folds=n_folds, seed=seed)
        parts = [
            (fold, np.flatnonzero(folds != fold), np.flatnonzero(folds == fold))
            for fold in range(n_folds)
        ]
    found = np.full(len(evidence.targets.ideal), np.nan)
    item_of = evidence.targets.item_of
    fits = []
    for fold, known, judged in parts:
        to_fit = evidence.take(known)
        rng = generator(seed, "calibration", "remedies", remedy.name, -1 if fold is None else fold)
        repair = remedy.fit(to_fit, rng)
        found[np.isin(item_of, judged)] = repair.apply(evidence.take(judged))
        fits.append(
            FoldFit(
                fold=fold,
                n_items=len(known),
                n_number_pairs=len(set(to_fit.number_pairs)),
                parameters=_checked(remedy.name, repair.parameters),
                status=repair.status,
            )
        )
    return Repaired(log_probs=found, fits=tuple(fits))


def _checked(name: str, parameters: Mapping[str, float]) -> Mapping[str, float]:
    bad = {key: value for key, value in parameters.items() if not math.isfinite(value)}
    if bad:
        raise InputError(f"parameters of a remedy are finite, {name!r} found {bad}")
    return parameters
