"""What a model states against what its probabilities reveal, and both against the truth.

Unit: probability.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from likely.calibration.data_sets.items import Item
from likely.calibration.metrics import shares
from likely.calibration.probability_text import Unit, parse_probability
from likely.calibration.tables import Masses
from likely.core.estimate import Estimate
from likely.errors import InputError, ShapeError
from likely.stats.bootstrap import cluster_bootstrap
from likely.stats.ragged import log_sums

_N_PERCENTAGES = 101


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Stated:
    """The distribution over whole percentages that a model would state, in three figures.

    A percentage with decimals counts with its whole part, 37.5 with 37: the event is that these
    digits come and no digit follows. So the figures may be too low, by less than one percent.

    Attributes:
        mass: Shape ``(N,)``: the probability that any of 0 to 100 is stated.
        mean: Shape ``(N,)``, probabilities, given that one is; NaN where none can be.
        median: The smallest percentage that has half the mass at or below it; NaN as above.
        mode: The likeliest percentage, the smallest of equals; NaN as above.
    """

    mass: Float[np.ndarray, "N"]
    mean: Float[np.ndarray, "N"]
    median: Float[np.ndarray, "N"]
    mode: Float[np.ndarray, "N"]


def stated_distribution(masses: Masses) -> Stated:
    """Return what a model states, exactly: no reply is drawn.

    Args:
        masses: Of items with the 101 options 0 to 100, in order, such as the family
            ``verbalised``.

    Raises:
        InputError: Items with other options, or masses that are only bounds.
    """
    n_options = np.diff(masses.offsets)
    if not (n_options == _N_PERCENTAGES).all():
        odd = sorted(set(n_options.tolist()) - {_N_PERCENTAGES})
        raise InputError(f"a stated item has the options 0 to 100, got items with {odd} options")
    if not masses.is_exact.all():
        n_loose = int(np.sum(~masses.is_exact))
        raise InputError(
            f"a stated distribution needs every percentage, got bounds for {n_loose} items; draw "
            "replies and read them with parse_probability"
        )
    log_mass = masses.log_mass.reshape(-1, _N_PERCENTAGES)
    log_total = log_sums(masses.log_mass, masses.offsets)
    is_defined = np.isfinite(log_total)
    probs = shares(masses).reshape(-1, _N_PERCENTAGES)
    percentages = np.arange(_N_PERCENTAGES) / 100.0
    # Half the mass is met within rounding: 0.5 may be summed as 0.4999999999999999.
    reaches_half = np.cumsum(probs, axis=1) >= 0.5 - 1e-12
    figures = (
        probs @ percentages,
        percentages[np.argmax(reaches_half, axis=1)],
        percentages[np.argmax(log_mass, axis=1)],
    )
    mean, median, mode = (np.where(is_defined, figure, np.nan) for figure in figures)
    return Stated(mass=np.exp(log_total), mean=mean, median=median, mode=mode)


def stated_replies(replies: Sequence[str], *, unit: Unit = "percent") -> Float[np.ndarray, "N"]:
    """Return the probability that each reply states, NaN for those that cannot be read.

    Args:
        replies: One text an item.
        unit: As in `parse_probability`.

    >>> stated_replies(["30", "Hard to say.", "one half"])
    array([0.3, nan, 0.5])
    """
    read = [parse_probability(reply, unit=unit) for reply in replies]
    return np.array([np.nan if p is None else float(p) for p in read], dtype=np.float64)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Joined:
    """Stated items with the revealed probability of the event that each asks for.

    Attributes:
        ideal: Shape ``(N,)``: the true probability.
        revealed: Shape ``(N,)``: the model's share of the option asked for; NaN without mass.
        number_pairs: The cluster of each item.
    """

    ideal: Float[np.ndarray, "N"]
    revealed: Float[np.ndarray, "N"]
    number_pairs: tuple[str, ...]


def join_revealed(
    stated_items: Sequence[Item], revealed_items: Sequence[Item], pi1: Float[np.ndarray, "R"]
) -> Joined:
    """Return, for each stated item, the truth and what the model reveals in the same scene.

    Args:
        stated_items: Of the family ``verbalised``, design ``balanced``.
        revealed_items: Of the same family, preset and seed, design ``revealed``.
        pi1: Shape ``(R,)``: for each revealed item the renormalised probability of its first
            option.

    Raises:
        ShapeError: Not one number a revealed item.
        InputError: A stated item whose scene is not among the revealed ones.
    """
    if len(pi1) != len(revealed_items):
        raise ShapeError(
            f"one probability a revealed item is needed, got {len(pi1)} for {len(revealed_items)}"
        )
    first = {item.meta["link"]: float(p) for item, p in zip(revealed_items, pi1, strict=True)}
    ideal, revealed, pairs = [], [], []
    for item in stated_items:
        link, asked = item.meta.get("link"), item.meta.get("asked")
        if link not in first or asked not in ("first", "second"):
            raise InputError(
                f"the stated item {item.id!r} ({link!r}) has no revealed one; build both designs "
                "of 'verbalised' with one preset and seed"
            )
        ideal.append(sum(float(p) * k for k, p in enumerate(item.ideal)) / 100.0)
        revealed.append(first[link] if asked == "first" else 1.0 - first[link])
        pairs.append(item.number_pair_id)
    return Joined(
        ideal=np.array(ideal, dtype=np.float64),
        revealed=np.array(revealed, dtype=np.float64),
        number_pairs=tuple(pairs),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """How far two probabilities of the same events lie apart.

    Attributes:
        mean: Of the difference.
        size: Mean of its absolute value.
    """

    mean: Estimate
    size: Estimate

    def to_dict(self) -> dict[str, object]:
        """Return the fields as a JSON-ready mapping."""
        return {"mean": self.mean.to_dict(), "size": self.size.to_dict()}


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedRevealed:
    """The three gaps between stated, revealed and true probabilities, over the same items.

    The mean of ``stated_ideal`` is the sum of the means of the other two.

    Attributes:
        n_items: Items that have both a stated and a revealed probability.
        n_unstated: Items without a stated one: replies that cannot be read.
        n_unrevealed: Items without a revealed one: no mass on the options.
        stated_ideal: Stated minus true.
        revealed_ideal: Revealed minus true.
        stated_revealed: Stated minus revealed.
    """

    n_items: int
    n_unstated: int
    n_unrevealed: int
    stated_ideal: Gap
    revealed_ideal: Gap
    stated_revealed: Gap

    def summary(self) -> str:
        """Return a few lines for a person."""
        gaps = (
            ("stated - true", self.stated_ideal),
            ("revealed - true", self.revealed_ideal),
            ("stated - revealed", self.stated_revealed),
        )
        lines = [f"{name}: |gap| {gap.size.summary()}" for name, gap in gaps]
        failures = f"{self.n_unstated} not stated, {self.n_unrevealed} not revealed"
        return "\n".join([*lines, f"{self.n_items} items, {failures}"])

    def to_dict(self) -> dict[str, object]:
        """Return the fields as a JSON-ready mapping."""
        return {
            "n_items": self.n_items,
            "n_unstated": self.n_unstated,
            "n_unrevealed": self.n_unrevealed,
            "stated_ideal": self.stated_ideal.to_dict(),
            "revealed_ideal": self.revealed_ideal.to_dict(),
            "stated_revealed": self.stated_revealed.to_dict(),
        }


def compare_stated(
    stated: Float[np.ndarray, "N"],
    revealed: Float[np.ndarray, "N"],
    ideal: Float[np.ndarray, "N"],
    *,
    number_pairs: Sequence[str],
    n_resamples: int = 2000,
    level: float = 0.95,
    seed: int = 0,
) -> StatedRevealed:
    """Compare what is stated with what is revealed and with the truth.

    Args:
        stated: Shape ``(N,)``, probabilities: a figure of `stated_distribution`, or
            `stated_replies`; NaN for failures, which are counted and left out.
        revealed: Shape ``(N,)``, as from `join_revealed`; NaN likewise.
        ideal: Shape ``(N,)``, the truth.
        number_pairs: The cluster of each item: whole pairs of numbers are drawn in the bootstrap.
        n_resamples: Of the bootstrap.
        level: Of the intervals.
        seed: Of the random stream; one for all gaps, so that they are resampled together.

    Raises:
        ShapeError: Not one pair of numbers an item.
        InputError: A number outside [0, 1]; fewer than 2 pairs of numbers without failures.
    """
    if len(number_pairs) != len(ideal):
        raise ShapeError(f"one cluster an item: got {len(number_pairs)} for {len(ideal)} items")
    for name, probs in (("stated", stated), ("revealed", revealed), ("ideal", ideal)):
        odd = probs[(probs < 0.0) | (probs > 1.0)]
        if len(odd):
            raise InputError(f"{name} probabilities lie in [0, 1], got {float(odd[0])!r}")
    is_stated, is_revealed = ~np.isnan(stated), ~np.isnan(revealed)
    kept = np.flatnonzero(is_stated & is_revealed)
    pairs = [number_pairs[i] for i in kept.tolist()]

    def estimate(values: Float[np.ndarray, "K"]) -> Estimate:
        return cluster_bootstrap(
            values, pairs, n_resamples=n_resamples, level=level, unit="prob", seed=seed
        )

    def gap(a: Float[np.ndarray, "N"], b: Float[np.ndarray, "N"]) -> Gap:
        difference = (a - b)[kept]
        return Gap(mean=estimate(difference), size=estimate(np.abs(difference)))

    return StatedRevealed(
        n_items=len(kept),
        n_unstated=int(np.sum(~is_stated)),
        n_unrevealed=int(np.sum(~is_revealed)),
        stated_ideal=gap(stated, ideal),
        revealed_ideal=gap(revealed, ideal),
        stated_revealed=gap(stated, revealed),
    )
