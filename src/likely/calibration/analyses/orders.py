"""Does it matter which option is mentioned first? The same question asked in both orders.

Unit: probability.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import pandas as pd

from likely.calibration.analyses.units import check_frame, sampling_units
from likely.core.estimate import Estimate, Unit
from likely.errors import InputError
from likely.stats.pigeonhole import pigeonhole_bootstrap_many

_COLUMNS = (
    "family", "template", "lang", "scale", "notation", "order", "higher", "number_pair",
    "option_set", "n1", "n2", "p1", "pi1",
)  # fmt: skip

_DIGITS = 12
"""Ideal probabilities that agree to so many digits are those of the same question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderEffect:
    """By how much an option gains from being mentioned first.

    Attributes:
        delta: ``pi(c | c first) - pi(c | c second)`` over pairs of items that differ in nothing but
            the order of mention, ties left out; 0 for a calibrated model, 1 for one that always
            picks the first. None without such pairs.
        at_ties: The same where both options are equally likely: the pure effect.
        by_scale: The same as ``delta``, by scale; None where one pair alone says nothing.
        n_pairs: Pairs of items in ``delta`` and ``at_ties``.
        n_unpaired: Items of two options whose twin is not there.
        n_undefined: Pairs in which the model gives an option no defined probability.
    """

    delta: Estimate | None
    at_ties: Estimate | None
    by_scale: Mapping[str, Estimate | None]
    n_pairs: int
    n_unpaired: int
    n_undefined: int

    def table(self) -> pd.DataFrame:
        """Return one row an estimate: ``part, value, low, high, n_pairs``."""
        parts = {"all": self.delta, "ties": self.at_ties, **self.by_scale}
        return pd.DataFrame(
            [
                {
                    "part": part, "value": found.value, "low": found.low, "high": found.high,
                    "n_pairs": found.diagnostics["n_items"],
                }
                for part, found in parts.items()
                if found is not None
            ],
            columns=["part", "value", "low", "high", "n_pairs"],
        )  # fmt: skip

    def to_dict(self) -> dict[str, object]:
        """Return the fields as plain values."""
        return {
            "delta": None if self.delta is None else self.delta.to_dict(),
            "at_ties": None if self.at_ties is None else self.at_ties.to_dict(),
            "by_scale": {
                scale: None if found is None else found.to_dict()
                for scale, found in self.by_scale.items()
            },
            "n_pairs": self.n_pairs,
            "n_unpaired": self.n_unpaired,
            "n_undefined": self.n_undefined,
        }


def order_pairs(frame: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each question that was asked in both orders.

    Args:
        frame: One model's items; columns ``family, template, lang, scale, notation, order, higher,
            number_pair, option_set, n1, n2, p1, pi1``.

    Returns:
        The forward item's columns with ``delta``: what either option gains by being first. Twins
        that occur several times are paired one to one.

    Raises:
        InputError: A column is missing, or several models.
    """
    check_frame(frame, _COLUMNS)
    twins = frame[frame["order"].isin(("forward", "reversed")) & frame["p1"].notna()].copy()
    forward = (twins["order"] == "forward").to_numpy()
    # The numbers as they belong to the options in the alphabet's order, whichever comes first.
    twins["number_of_a"] = np.where(forward, twins["n1"], twins["n2"])
    twins["number_of_b"] = np.where(forward, twins["n2"], twins["n1"])
    p1 = twins["p1"].to_numpy(dtype=float)
    twins["ideal_of_a"] = np.where(forward, p1, 1.0 - p1).round(_DIGITS)
    key = [
        "family", "template", "lang", "scale", "notation", "option_set", "number_pair",
        "number_of_a", "number_of_b", "ideal_of_a",
    ]  # fmt: skip
    twins[["number_of_a", "number_of_b"]] = twins[["number_of_a", "number_of_b"]].fillna(-1.0)
    twins["turn"] = twins.groupby([*key, "order"], dropna=False).cumcount()
    back = twins.loc[~forward, [*key, "turn", "pi1"]]
    pairs = twins[forward].merge(back, on=[*key, "turn"], suffixes=("", "_reversed"))
    pairs["delta"] = pairs["pi1"] + pairs["pi1_reversed"] - 1.0
    return pairs


def order_effect(
    frame: pd.DataFrame, *, n_resamples: int = 2000, level: float = 0.95, seed: int = 0
) -> OrderEffect:
    """Estimate what an option gains by being mentioned first.

    Args:
        frame: As in `order_pairs`.
        n_resamples: Of the pigeonhole bootstrap over templates, option sets and number pairs.
        level: Coverage of the intervals.
        seed: Of the resamples.

    Raises:
        InputError: As there, or no item has its twin.
    """
    pairs = order_pairs(frame)
    n_named = int((frame["order"].isin(("forward", "reversed")) & frame["p1"].notna()).sum())
    if not len(pairs):
        raise InputError(
            f"an effect of order needs items in both orders of mention; none of {n_named} has its "
            "twin"
        )
    delta = pairs["delta"].to_numpy(dtype=float)
    is_tie = (pairs["higher"] == "tie").to_numpy()
    scales = sorted(pairs.loc[~is_tie, "scale"].unique())
    parts = [~is_tie, is_tie, *(~is_tie & (pairs["scale"] == s).to_numpy() for s in scales)]
    columns = np.stack([np.where(part, delta, np.nan) for part in parts], axis=1)
    units: list[Unit] = ["prob"] * len(parts)
    found = pigeonhole_bootstrap_many(
        columns, sampling_units(pairs), n_resamples=n_resamples, level=level,
        units=units, seed=seed,
    )  # fmt: skip
    return OrderEffect(
        delta=found[0],
        at_ties=found[1],
        by_scale=MappingProxyType(dict(zip(scales, found[2:], strict=True))),
        n_pairs=len(pairs),
        n_unpaired=n_named - 2 * len(pairs),
        n_undefined=int(np.isnan(delta).sum()),
    )
