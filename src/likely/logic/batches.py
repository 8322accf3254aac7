"""Many formulas of few shapes, evaluated together: one circuit a shape. Unit: nats."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int64

from likely.logic.circuits.compile import compile
from likely.logic.formula import Formula, substitute, var, variables


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """A formula whose events are columns of one table of log-odds.

    Attributes:
        formula: Ground.
        columns: The column of each of its events.
    """

    formula: Formula
    columns: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """Formulas that differ only in the names of their events.

    Attributes:
        formula: With the events named ``v0``, ``v1``, ... in order of first appearance.
        names: Those names.
        members: Places of the formulas in the sequence that was grouped.
        columns: The columns of each member's events, shape ``(M, n)``.
    """

    formula: Formula
    names: tuple[str, ...]
    members: tuple[int, ...]
    columns: Int64[np.ndarray, "M n"]


def canonical(formula: Formula) -> tuple[Formula, tuple[str, ...]]:
    """Return a formula with its events renamed ``v0``, ``v1``, ..., and their own names in order.

    >>> from likely.logic.parser import parse
    >>> shape, names = canonical(parse("b -> a & b"))
    >>> str(shape), names
    ('v0 -> v1 & v0', ('b', 'a'))
    """
    own = variables(formula)
    rename = {key: var(f"v{i}") for i, key in enumerate(own)}
    return substitute(formula, lambda node: rename[node.key]), own


def shapes(bound: Sequence[Bound]) -> tuple[Shape, ...]:
    """Return the formulas grouped by shape, shapes in order of first appearance."""
    groups: dict[Formula, list[tuple[int, list[int]]]] = {}
    for place, item in enumerate(bound):
        formula, own = canonical(item.formula)
        groups.setdefault(formula, []).append((place, [item.columns[key] for key in own]))
    return tuple(
        Shape(
            formula=formula,
            names=variables(formula),
            members=tuple(place for place, _ in members),
            columns=np.array([columns for _, columns in members], dtype=np.int64).reshape(
                len(members), len(variables(formula))
            ),
        )
        for formula, members in groups.items()
    )


def log_probs(
    bound: Sequence[Bound], log_odds: Float[np.ndarray, "R E"]
) -> Float[np.ndarray, "R N"]:
    """Return the log-probability of each formula under each row of log-odds.

    Args:
        bound: ``N`` formulas over the ``E`` columns.
        log_odds: Nats; infinities are legal.

    Returns:
        Nats, at most 0; ``-inf`` where a formula cannot hold.
    """
    result = np.empty((len(log_odds), len(bound)))
    for shape in shapes(bound):
        n_rows = len(log_odds) * len(shape.members)
        rows = log_odds[:, shape.columns].reshape(n_rows, len(shape.names))
        values = compile(shape.formula, names=shape.names).log_prob(torch.from_numpy(rows))
        block = values.numpy().reshape(len(log_odds), len(shape.members))
        result[:, list(shape.members)] = np.minimum(block, 0.0)
    return result
