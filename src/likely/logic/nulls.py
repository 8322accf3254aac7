"""What satisfaction is worth against other chance levels than one half. Units: probability, nats.

Over many items of one shape, a formula may hold well because its rule is kept, or because all
probabilities are near 0 or 1. The base-rate prior and the permutation null tell these apart.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from likely.core.streams import generator
from likely.errors import InputError, ShapeError
from likely.logic.circuits.circuit import Circuit
from likely.logic.circuits.compile import compile
from likely.logic.formula import Formula
from likely.logic.odds import batches, ground, log_probability, log_sides

Statistic = Literal["prob", "log_prob"]


def base_rate_log_prob(
    formula: Formula | str,
    log_odds: Float[np.ndarray, "N n"],
    *,
    names: Sequence[str] | None = None,
) -> float:
    """Return the log-probability of a formula for one who knows only each slot's base rate.

    Args:
        formula: Ground; one shape for all items.
        log_odds: Of each item's events, nats, shape (N, n).
        names: The events that the columns are, in order; by default those of the formula in order
            of first appearance.

    Returns:
        Nats. The events have, independently, the mean probability of their column.

    Raises:
        InputError: There is no item, or a column for no event or none for some event.
        ShapeError: The number of columns is not that of the names.

    >>> rows = np.log(np.array([[0.9, 0.1], [0.1, 0.9]]) / np.array([[0.1, 0.9], [0.9, 0.1]]))
    >>> round(float(np.exp(base_rate_log_prob("a ^ b", rows))), 3)
    0.5
    """
    circuit, rows = _bind(formula, log_odds, names)
    # The number of items cancels in the log-odds of the mean.
    log_rate, log_rest = (torch.logsumexp(side, 0) for side in log_sides(rows))
    value = float(circuit.log_prob((log_rate - log_rest)[None])[0])
    return log_probability(value, what=f"{str(formula)!r} at base rates")


@dataclass(frozen=True, slots=True, kw_only=True)
class PermutationNull:
    """How the mean satisfaction of items compares with that of shuffled items.

    Attributes:
        observed: Mean over the items of the statistic.
        mean: Of that mean over the permutations.
        sd: Its standard deviation over the permutations (over n, not n - 1).
        z_score: Observed minus mean, in standard deviations; None where permuting changes nothing.
        p_value: Share of permutations, with the unpermuted order counted among them, that do as
            well or better: ``(r + 1) / (n_permutations + 1)``, valid at any size.
        n_permutations: How many were drawn.
        n_items: How many items.
        statistic: ``prob`` or ``log_prob``.
        item_means: Of each item's statistic over the permutations, shape (N,): chance level of the
            item.
    """

    observed: float
    mean: float
    sd: float
    z_score: float | None
    p_value: float
    n_permutations: int
    n_items: int
    statistic: Statistic
    item_means: Float[np.ndarray, " N"]

    def to_dict(self) -> dict[str, object]:
        """Return the figures as a mapping that `likely.core.jsonio` writes as strict JSON."""
        return {
            "observed": self.observed,
            "mean": self.mean,
            "sd": self.sd,
            "z_score": self.z_score,
            "p_value": self.p_value,
            "n_permutations": self.n_permutations,
            "n_items": self.n_items,
            "statistic": self.statistic,
        }


def permutation_null(
    formula: Formula | str,
    log_odds: Float[np.ndarray, "N n"],
    *,
    role: Sequence[str] | None = None,
    names: Sequence[str] | None = None,
    statistic: Statistic = "prob",
    n_permutations: int = 100,
    seed: int = 0,
    slack: float = 1e-12,
) -> PermutationNull:
    """Compare the items' satisfaction with that after events change items at random.

    A permutation gives every item the columns of ``role`` of another item, all of them together,
    and keeps the rest; without a role every column moves by itself. What then still satisfies the
    formula does so by its probabilities' levels, and not because an item's events fit together.

    Args:
        formula: Ground; one shape for all items.
        log_odds: Of each item's events, nats, shape (N, n).
        role: The events that are permuted together: some, and not all. None permutes each event by
            itself, which leaves nothing of how they fit.
        names: The events that the columns are, in order; by default those of the formula in order
            of first appearance.
        statistic: What is averaged over items: the probability, or its logarithm in nats.
        n_permutations: At least 1.
        seed: Of the stream, which is named by the formula and the role.
        slack: Means this close (relative to 1) count as equal, since rounding depends on the order.

    Raises:
        InputError: There is no item or permutation, the role is empty, whole or unknown, or a
            column is for no event or none for some event; or an item has ``log_prob`` ``-inf``.
        ShapeError: The number of columns is not that of the names.

    >>> rows = np.array([[8.0, 8.0], [-8.0, -8.0]] * 10)
    >>> null = permutation_null("a <-> b", rows, role=["b"])
    >>> round(null.observed, 3), 0.4 < null.mean < 0.6, null.z_score > 3, round(null.p_value, 4)
    (0.999, True, True, 0.0099)
    """
    circuit, rows = _bind(formula, log_odds, names)
    columns = [[i] for i in range(rows.shape[1])] if role is None else _role_columns(circuit, role)
    if n_permutations < 1:
        raise InputError(f"at least 1 permutation is needed, got {n_permutations!r}")
    rng = generator(seed, "logic", "permutation-null", str(formula), *(role or ()))
    observed = _statistic(circuit, rows, statistic)
    means = np.empty(n_permutations)
    item_sums = np.zeros(len(rows))
    for part in batches(n_permutations, width=rows.numel()):
        n = part.stop - part.start
        shuffled = rows.repeat(n, 1, 1)
        for group in columns:
            orders = torch.from_numpy(rng.permuted(np.tile(np.arange(len(rows)), (n, 1)), axis=1))
            shuffled[:, :, group] = rows[:, group][orders]
        values = _statistic(circuit, shuffled.flatten(0, 1), statistic).reshape(n, len(rows))
        means[part] = values.mean(1)
        item_sums += values.sum(0)
    value = float(observed.mean())
    mean, sd = float(means.mean()), float(means.std())
    has_spread = sd > slack * max(1.0, abs(mean))
    as_good = int(np.sum(means >= value - slack * max(1.0, abs(value))))
    return PermutationNull(
        observed=value,
        mean=mean,
        sd=sd,
        z_score=(value - mean) / sd if has_spread else None,
        p_value=(as_good + 1) / (n_permutations + 1),
        n_permutations=n_permutations,
        n_items=len(rows),
        statistic=statistic,
        item_means=item_sums / n_permutations,
    )


def _bind(
    formula: Formula | str, log_odds: Float[np.ndarray, "N n"], names: Sequence[str] | None
) -> tuple[Circuit, Float[Tensor, "N n"]]:
    formula = ground(formula)
    circuit = compile(formula, names=names)
    if log_odds.shape[1] != len(circuit.names):
        raise ShapeError(
            f"{str(formula)!r} needs a column for each of {list(circuit.names)}, "
            f"got shape {log_odds.shape}"
        )
    if len(log_odds) == 0 or np.isnan(log_odds).any():
        raise InputError(
            f"the log-odds of at least one item are needed, all of them numbers, "
            f"got {int(np.isnan(log_odds).sum())} NaN in {len(log_odds)} items"
        )
    return circuit, torch.from_numpy(np.asarray(log_odds, dtype=np.float64))


def _role_columns(circuit: Circuit, role: Sequence[str]) -> list[list[int]]:
    unknown = sorted(set(role) - set(circuit.names))
    if unknown or not 0 < len(set(role)) < len(circuit.names):
        raise InputError(
            f"a role is some of the events {list(circuit.names)} and not all, got {list(role)}"
        )
    return [[i for i, name in enumerate(circuit.names) if name in role]]


def _statistic(
    circuit: Circuit, rows: Float[Tensor, "N n"], statistic: Statistic
) -> Float[np.ndarray, " N"]:
    log_probs = np.asarray(circuit.log_prob(rows).numpy())
    if statistic == "prob":
        return np.asarray(np.exp(log_probs))
    if np.isneginf(log_probs).any():
        raise InputError(
            f"an item has probability 0 for {str(circuit.formula)!r}, so the mean of the "
            "logarithms says nothing; use statistic='prob'"
        )
    return log_probs
