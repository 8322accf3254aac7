"""The numbers of many items end to end: ideal laws, and the masses that a model gives. Unit: nats.

Items differ in how many options they have, so options of all items stand in one array, and
``offsets`` tells where each item's begin.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from likely.calibration.data_sets.items import Item
from likely.errors import InputError
from likely.stats.ragged import has_nan, law_of, taken


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Targets:
    """What the items ask for.

    Attributes:
        offsets: Shape ``(N + 1,)``: the options of item ``i`` are ``offsets[i]:offsets[i + 1]``.
        ideal: Shape ``(M,)``, probabilities.
        values: Shape ``(M,)``: place of each option on the line of numbers; NaN for names.
    """

    offsets: Int[np.ndarray, "N1"]
    ideal: Float[np.ndarray, "M"]
    values: Float[np.ndarray, "M"]

    @property
    def n_items(self) -> int:
        """How many items."""
        return len(self.offsets) - 1

    @property
    def n_options(self) -> Int[np.ndarray, "N"]:
        """How many options each item has."""
        return np.diff(self.offsets)

    @property
    def item_of(self) -> Int[np.ndarray, "M"]:
        """The item of each option."""
        return law_of(self.offsets)

    @property
    def is_numeric(self) -> Bool[np.ndarray, "N"]:
        """Whether all options of an item have a place on the line of numbers."""
        return ~has_nan(self.values, self.offsets)

    def take(self, places: Int[np.ndarray, "K"]) -> "Targets":
        """Return those of some items, in the order of ``places``."""
        index, offsets = taken(self.offsets, places)
        return Targets(offsets=offsets, ideal=self.ideal[index], values=self.values[index])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Masses:
    """What a model gives: the log-probability of each option of each item, all surfaces together.

    Attributes:
        offsets: As in `Targets`.
        log_mass: Shape ``(M,)``, nats. Where only part of a distribution is known, an upper bound.
        log_mass_low: Shape ``(M,)``: a lower bound; equal to ``log_mass`` where it is exact.
    """

    offsets: Int[np.ndarray, "N1"]
    log_mass: Float[np.ndarray, "M"]
    log_mass_low: Float[np.ndarray, "M"]

    @property
    def is_exact(self) -> Bool[np.ndarray, "N"]:
        """Whether every option of an item is known exactly."""
        loose = np.flatnonzero(self.log_mass_low != self.log_mass)
        exact = np.ones(len(self.offsets) - 1, dtype=bool)
        exact[np.searchsorted(self.offsets, loose, side="right") - 1] = False
        return exact

    def take(self, places: Int[np.ndarray, "K"]) -> "Masses":
        """Return those of some items, in the order of ``places``."""
        index, offsets = taken(self.offsets, places)
        return Masses(
            offsets=offsets, log_mass=self.log_mass[index], log_mass_low=self.log_mass_low[index]
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PartialRow:
    """What a list of the likeliest tokens tells of one item. Unit: probability, linear.

    Attributes:
        listed: Shape ``(n,)``: of each option, the mass of the surfaces that the list names.
        n_unlisted: Shape ``(n,)``: of each option, how many tokens outside the list its surfaces
            may begin with.
        cap: The most that one token outside the list may have.
        rest: The most that all tokens outside the list have together.
        slack: Shape ``(n,)``: mass that an option may have besides, in surfaces whose first token
            is listed while a later one is not, and by rounding; None for none.
    """

    listed: Float[np.ndarray, "n"]
    n_unlisted: Int[np.ndarray, "n"]
    cap: float
    rest: float
    slack: Float[np.ndarray, "n"] | None = None

    def __post_init__(self) -> None:
        parts = [self.listed, self.n_unlisted, np.array([self.cap, self.rest])]
        parts += [] if self.slack is None else [self.slack]
        numbers = np.concatenate([part.astype(np.float64) for part in parts])
        if not np.all(np.isfinite(numbers) & (numbers >= 0)):
            raise InputError(f"a partial row holds finite numbers of 0 or more, got {self!r}")


def targets(items: Sequence[Item]) -> Targets:
    """Return the ideal laws of items as floats.

    Raises:
        InputError: No items.

    >>> from likely.calibration.data_sets.family import build
    >>> targets(build("colors", preset="smoke")[:2]).ideal.shape
    (4,)
    """
    ideal: list[float] = []
    values: list[float] = []
    offsets = [0]
    for item in items:
        ideal += [float(p) for p in item.ideal]
        values += [float("nan") if o.value is None else float(o.value) for o in item.options]
        offsets.append(len(ideal))
    if len(offsets) == 1:
        raise InputError("there is nothing to measure: got no items")
    return Targets(
        offsets=np.array(offsets, dtype=np.int64), ideal=np.array(ideal), values=np.array(values)
    )


def exact_masses(offsets: Int[np.ndarray, "N1"], log_mass: Float[np.ndarray, "M"]) -> Masses:
    """Return masses that are known exactly."""
    return Masses(offsets=offsets, log_mass=log_mass, log_mass_low=log_mass)
