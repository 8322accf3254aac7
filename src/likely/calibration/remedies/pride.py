"""Divide by what a position has of its own, estimated from a few items asked in both orders.

Sources: arXiv 2309.03882, whose estimate over permutations of options we follow for the two orders
of mention. Unit: nats.
"""

from collections.abc import Mapping

import numpy as np
from jaxtyping import Float, Int
from scipy.special import expit

from likely.calibration.remedies.evidence import Evidence, first_log_odds, two_option_law
from likely.calibration.remedies.remedy import Remedy, Repair, no_repair

FEW = 32
"""So many items asked in both orders tell the prior of a wording, or all if there are fewer."""


def fit_pride(evidence: Evidence, rng: np.random.Generator) -> Repair:
    """Return the repair that divides by the prior of being mentioned first, wording by wording.

    Of an item asked in both orders, the log-odds of the first place are the mean over the orders:
    what belongs to the options cancels. A wording's prior is the mean of those of its items, as
    probabilities. Wordings without such items in the fit have none.

    Args:
        evidence: Of the items to fit on.
        rng: Draws which items are used.

    Returns:
        A repair of items of two named options; parameters ``first:...``: the prior of the first
        place by wording, and ``n_asked_twice``.
    """
    odds = _named_odds(evidence)
    twin = _twin_items(evidence)
    with np.errstate(invalid="ignore"):  # certain of one name in both orders: inf - inf
        of_place = 0.5 * (odds + np.where(twin >= 0, odds[twin], np.nan))
    templates = _templates(evidence)
    priors, n_used = {}, 0
    once = np.isfinite(of_place) & (np.arange(len(twin)) < twin)
    for name in np.unique(templates[once]).tolist():
        there = np.flatnonzero(once & (templates == name))
        chosen = np.sort(rng.permutation(there)[:FEW])
        priors[name] = float(np.mean(expit(of_place[chosen])))
        n_used += len(chosen)
    if not priors:
        return no_repair("a prior of places needs items asked in both orders to fit on")
    return Repair(
        apply=lambda evidence: _without_places(evidence, priors),
        parameters={f"first:{name}": prior for name, prior in priors.items()}
        | {"n_asked_twice": float(n_used)},
    )


def _without_places(evidence: Evidence, priors: Mapping[str, float]) -> Float[np.ndarray, "M"]:
    """Return log shares over the prior; a wording without one has none."""
    first = np.array([priors.get(name, np.nan) for name in _templates(evidence).tolist()])
    with np.errstate(divide="ignore"):
        prior_odds = np.log(first) - np.log1p(-first)
    odds = _named_odds(evidence) - np.where(np.isinf(prior_odds), np.nan, prior_odds)
    return two_option_law(odds, evidence.targets.offsets)


def _named_odds(evidence: Evidence) -> Float[np.ndarray, "N"]:
    """Return log-odds of the first option, NaN for integers, which stand in their own order."""
    is_name = np.isnan(evidence.targets.values[evidence.targets.offsets[:-1]])
    return np.where(is_name, first_log_odds(evidence), np.nan)


def _twin_items(evidence: Evidence) -> Int[np.ndarray, "N"]:
    """Return the item that each item is the twin of; -1 without one."""
    twin = evidence.twin[evidence.targets.offsets[:-1]]
    return np.where(twin >= 0, evidence.targets.item_of[twin], -1)


def _templates(evidence: Evidence) -> np.ndarray:
    units = evidence.units
    return np.array([f"{f}/{t}" for f, t in zip(units["family"], units["template"], strict=True)])


PRIDE = Remedy(
    name="pride",
    what="divide by the prior of being mentioned first, from a few items asked in both orders",
    fit=fit_pride,
    is_fitted=True,
)
