"""What the events' probabilities alone say of a formula, whatever the dependence: sharp bounds."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float
from scipy.optimize import linprog

from likely.errors import InputError, NumericalError
from likely.logic.circuits.truth import truth_of_rows
from likely.logic.formula import Formula, variables
from likely.logic.odds import Numbers, ground, read_odds

MAX_EVENTS = 12
"""The linear program has a column for each assignment, so 4,096 at this number of events."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FrechetBounds:
    """The least and the largest probability of a formula over all laws with the given marginals.

    Attributes:
        low: The least.
        high: The largest; the law with independent events gives something between.
        method: ``closed-form`` or ``linear-program``.
    """

    low: float
    high: float
    method: Literal["closed-form", "linear-program"]

    @property
    def width(self) -> float:
        """How much the dependence of the events can matter."""
        return self.high - self.low

    def position(self, prob: float, *, tolerance: float = 1e-7) -> float | None:
        """Return where a probability lies between the bounds: 0 at the low one, 1 at the high one.

        Args:
            prob: Of the formula.
            tolerance: Bounds as near as this are one: the marginals then fix the probability, and
                there is no position. The solver of the linear program promises no more than the
                default.

        Returns:
            A number in [0, 1]; None in the degenerate case of equal bounds.

        Raises:
            InputError: The probability lies outside the bounds by more than the tolerance.

        >>> FrechetBounds(low=0.1, high=0.3, method="closed-form").position(0.26)
        0.8
        """
        if not self.low - tolerance <= prob <= self.high + tolerance:
            raise InputError(f"a probability between {self.low} and {self.high}, got {prob!r}")
        if self.width <= tolerance:
            return None
        return min(max((prob - self.low) / self.width, 0.0), 1.0)

    def to_dict(self) -> dict[str, object]:
        """Return the fields as a mapping that `likely.core.jsonio` writes as strict JSON."""
        return {"low": self.low, "high": self.high, "method": self.method}


def frechet(
    formula: Formula | str, probs: Numbers | None = None, *, log_odds: Numbers | None = None
) -> FrechetBounds:
    """Return the sharp bounds of a formula's probability without assuming independence.

    Closed forms serve for an event or its negation, two of them that are (un)equal, and
    conjunctions and disjunctions of several. Anything else is a linear program over the laws of
    all assignments.

    Args:
        formula: Ground; of at most `MAX_EVENTS` events unless a closed form serves.
        probs: Probability of each event of the formula.
        log_odds: Log-odds of each event in nats, instead of ``probs``.

    Raises:
        InputError: The formula cannot be read or has too many events, or an event has no or no
            valid probability.
        NumericalError: The linear program fails.

    Sources:
        Hailperin (1965), "Best possible inequalities for the probability of a logical function of
        events".

    >>> bounds = frechet("a <-> b", {"a": 0.9, "b": 0.2})
    >>> round(bounds.low, 12), round(bounds.high, 12)
    (0.1, 0.3)
    """
    formula = ground(formula)
    odds = read_odds([formula], probs=probs, log_odds=log_odds)
    chances = {name: _expit(value) for name, value in odds.items()}
    closed = _closed_form(formula, chances)
    if closed is not None:
        return FrechetBounds(low=closed[0], high=closed[1], method="closed-form")
    if len(chances) > MAX_EVENTS:
        raise InputError(
            f"Fréchet bounds need at most {MAX_EVENTS} events, got {len(chances)} in "
            f"{str(formula)!r}; ask for its parts"
        )
    low, high = _linear_program(formula, chances)
    return FrechetBounds(low=low, high=high, method="linear-program")


def _expit(log_odds: float) -> float:
    if log_odds >= 0.0:
        return 1.0 / (1.0 + math.exp(-log_odds))
    return math.exp(log_odds) / (1.0 + math.exp(log_odds))


def _closed_form(formula: Formula, chances: Mapping[str, float]) -> tuple[float, float] | None:
    alone = _literal(formula, chances)
    if alone is not None:
        return alone, alone
    operands = formula.operands
    if formula.op == "implies":
        operands = (~operands[0], operands[1])
    literals = [_literal(part, chances) for part in operands]
    sides = [side for side in literals if side is not None]
    names = [name for part in operands for name in variables(part)]
    if len(sides) < len(operands) or len(set(names)) < len(names):
        return None
    match formula.op:
        case "and":
            return max(0.0, math.fsum(sides) - (len(sides) - 1)), min(sides)
        case "or" | "implies":
            return max(sides), min(1.0, math.fsum(sides))
        case "iff":
            return _agreement(*sides)
        case "xor" if len(sides) == 2:
            low, high = _agreement(*sides)
            return 1.0 - high, 1.0 - low
    return None


def _agreement(one: float, other: float) -> tuple[float, float]:
    return abs(one + other - 1.0), 1.0 - abs(one - other)


def _literal(formula: Formula, chances: Mapping[str, float]) -> float | None:
    """Return the probability of an event or of a (doubly, ...) negated one; None for the rest."""
    is_true = True
    while formula.op == "not":
        formula, is_true = formula.operands[0], not is_true
    if formula.op != "var":
        return None
    return chances[formula.key] if is_true else 1.0 - chances[formula.key]


def _linear_program(formula: Formula, chances: Mapping[str, float]) -> tuple[float, float]:
    names = list(chances)
    is_true = (np.arange(2 ** len(names))[:, None] >> np.arange(len(names))) & 1 == 1
    where = truth_of_rows(formula, is_true, names=names)
    marginals = np.array([1.0, *chances.values()])
    low = _extreme(where, is_true, marginals)
    high = 1.0 - _extreme(~where, is_true, marginals)
    return low, max(low, high)


def _extreme(
    where: Bool[np.ndarray, " W"],
    is_true: Bool[np.ndarray, "W n"],
    marginals: Float[np.ndarray, " n+1"],
) -> float:
    rows = np.vstack([np.ones(len(where)), is_true.T.astype(np.float64)])
    found = linprog(where.astype(np.float64), A_eq=rows, b_eq=marginals, method="highs")
    if found.status != 0:
        raise NumericalError(f"the linear program of the Fréchet bounds failed: {found.message}")
    # The solver meets its constraints to 1e-7 at worst, so an end of [0, 1] may be overstepped.
    return float(min(max(found.fun, 0.0), 1.0))
