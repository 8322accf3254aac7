"""What remedies know of items: masses, twins, and what else the model was asked. Unit: nats."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from likely.calibration.analyses.units import UNIT_COLUMNS
from likely.calibration.data_sets.items import Item
from likely.calibration.metrics import log_shares
from likely.calibration.remedies.twins import twin_options
from likely.calibration.tables import Masses, Targets, targets
from likely.core.estimate import Cost
from likely.errors import InputError
from likely.stats.ragged import has_nan, law_of, log_sums, taken


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Extra:
    """What the model gives options behind other contexts than their own.

    Attributes:
        log_mass: Shape ``(M,)``, nats; NaN for all options of an item that has no such context.
        n_contexts: How many distinct contexts were read.
        cost: What it took.
    """

    log_mass: Float[np.ndarray, "M"]
    n_contexts: int
    cost: Cost


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tempered:
    """Masses at other temperatures of the whole vocabulary.

    Attributes:
        temperatures: Shape ``(G,)``, descending; 1 is one of them.
        log_mass: Shape ``(G, M)``, nats.
        cost: What it took.
    """

    temperatures: Float[np.ndarray, "G"]
    log_mass: Float[np.ndarray, "G M"]
    cost: Cost


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Evidence:
    """What is known of items before any remedy.

    Attributes:
        targets: What the items ask for.
        masses: What the model gives.
        units: A row an item, with `UNIT_COLUMNS`.
        twin: Shape ``(M,)``: the same option where the item's options are named the other way
            round, as a place among all options; -1 where that item is not there.
        tempered: Masses at other temperatures, if asked for.
        prior: Log shares where the numbers are blanks, if asked for.
        stem: Log masses behind the last sentence alone, if asked for.
    """

    targets: Targets
    masses: Masses
    units: pd.DataFrame
    twin: Int[np.ndarray, "M"]
    tempered: Tempered | None = None
    prior: Extra | None = None
    stem: Extra | None = None

    @property
    def n_items(self) -> int:
        """How many items."""
        return self.targets.n_items

    @property
    def number_pairs(self) -> tuple[str, ...]:
        """The number pair of each item."""
        return tuple(self.units["number_pair"])

    def take(self, places: Int[np.ndarray, "_"]) -> "Evidence":
        """Return what is known of some items alone; a twin that is not among them is not there."""
        options, _ = taken(self.targets.offsets, places)
        moved = np.full(len(self.twin) + 1, -1, dtype=np.int64)
        moved[options] = np.arange(len(options))
        return Evidence(
            targets=self.targets.take(places),
            masses=self.masses.take(places),
            units=self.units.iloc[places].reset_index(drop=True),
            twin=moved[self.twin[options]],
            tempered=self.tempered
            and replace(self.tempered, log_mass=self.tempered.log_mass[:, options]),
            prior=self.prior and replace(self.prior, log_mass=self.prior.log_mass[options]),
            stem=self.stem and replace(self.stem, log_mass=self.stem.log_mass[options]),
        )


def evidence_of(items: Sequence[Item], masses: Masses) -> Evidence:
    """Return what items and their masses tell by themselves.

    Args:
        items: Of one family, or of several that are to be treated alike.
        masses: Of the same items.

    Raises:
        InputError: Masses of other items.
    """
    goal = targets(items)
    if not np.array_equal(goal.offsets, masses.offsets):
        raise InputError(
            f"items and masses go together, got {goal.n_items} items and masses of "
            f"{len(masses.offsets) - 1}, or other numbers of options"
        )
    units = pd.DataFrame(
        [
            (i.family, i.template_id, i.option_set_id, i.scale, i.number_pair_id)
            for i in items
        ],
        columns=UNIT_COLUMNS,
    )  # fmt: skip
    return Evidence(targets=goal, masses=masses, units=units, twin=twin_options(items))


def known_masses(masses: Masses) -> Float[np.ndarray, "M"]:
    """Return log masses, NaN for all options of an item whose shares are not defined."""
    return np.where(np.isnan(log_shares(masses)), np.nan, masses.log_mass)


def normalised(
    log_weights: Float[np.ndarray, "M"], offsets: Int[np.ndarray, "N1"]
) -> Float[np.ndarray, "M"]:
    """Return weights as log shares of each item.

    Args:
        log_weights: Shape ``(M,)``, nats, below ``inf``; ``-inf`` and NaN are allowed.
        offsets: Of the items.

    Returns:
        Shape ``(M,)``, nats; NaN for an item with a NaN, or whose weights are all ``-inf``.

    >>> normalised(np.array([7.0, 7.0, -np.inf, -np.inf]), np.array([0, 2, 4])).round(6)
    array([-0.693147, -0.693147,       nan,       nan])
    """
    of = law_of(offsets)
    is_known = ~has_nan(log_weights, offsets)
    weights = np.where(is_known[of], log_weights, 0.0)
    log_total = log_sums(weights, offsets)
    is_known &= ~np.isneginf(log_total)
    shared = np.where(is_known, log_total, 0.0)[of]
    return np.where(is_known[of], weights - shared, np.nan)


def divided(evidence: Evidence, by: Extra) -> Float[np.ndarray, "M"]:
    """Return the log shares of options over what they have behind other contexts, normalised.

    Returns:
        Shape ``(M,)``, nats; NaN for an item with an option whose divisor is 0 or not known.
    """
    log_by = np.where(np.isneginf(by.log_mass), np.nan, by.log_mass)
    return normalised(log_shares(evidence.masses) - log_by, evidence.targets.offsets)


def first_log_odds(evidence: Evidence) -> Float[np.ndarray, "N"]:
    """Return the log-odds of the first of two options.

    Returns:
        Shape ``(N,)``, nats, infinite where one option has no mass; NaN for items with other
        numbers of options, and where there are no shares.
    """
    log_pi = log_shares(evidence.masses)
    found = np.full(evidence.n_items, np.nan)
    two = np.flatnonzero(evidence.targets.n_options == 2)
    first = evidence.targets.offsets[two]
    found[two] = log_pi[first] - log_pi[first + 1]
    return found


def two_option_law(
    log_odds: Float[np.ndarray, "N"], offsets: Int[np.ndarray, "N1"]
) -> Float[np.ndarray, "M"]:
    """Return log shares of both options from the log-odds of the first.

    Args:
        log_odds: Shape ``(N,)``, nats; NaN where there are none, as for items with other numbers
            of options.
        offsets: Of the items.
    """
    found = np.full(int(offsets[-1]), np.nan)
    first = offsets[:-1][~np.isnan(log_odds)]
    odds = log_odds[~np.isnan(log_odds)]
    found[first] = -np.logaddexp(0.0, -odds)
    found[first + 1] = -np.logaddexp(0.0, odds)
    return found
