"""How behaviours are assigned to many cells at once: by rates, by distance, by likelihood.

See `likely.calibration.behaviours` for what a cell is. Unit: prob.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float, Int

from likely.core.logspace import logsumexp
from likely.errors import InputError, ShapeError, UnknownNameError

Assigner = Literal["rates", "nearest", "likelihood"]

RATES = ("null", "calibrated", "pick_higher", "pick_lower", "pick_first", "pick_second")
"""The six reference behaviours of Lovering et al. (2025)."""

BEHAVIOURS = (*RATES, "uniform")
"""The six, and both options equally likely whatever the numbers: close to calibrated on average,
and a behaviour of its own all the same."""

_Compare = Callable[[Float[np.ndarray, "3 N"], Float[np.ndarray, "3 N"]], Float[np.ndarray, "N"]]

_ROUNDING = 1e-9
"""How far rounding may part two numbers that are equal on paper, such as |.4 - .3| and .1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """When a cell has which behaviour.

    Attributes:
        null_pm: An item is null if the mass on its options is below this.
        tolerance: An item is calibrated if its share is as close as this to the ideal.
        calibrated_from: With ``rates``, a cell with this rate of calibrated items is calibrated,
            though its rate of picking the higher be larger, as it is in a calibrated model; unless
            more of its items are null. None: the largest rate alone decides, as published.
        null_from: With ``rates``, a cell with this rate of null items is null, for the rates of
            picking are over the items that are left, and those of a few items may well be 1. None:
            the largest rate alone decides, as published.
        min_margin: With ``nearest``, a cell is mixed if the second behaviour is closer than this to
            the first.
        max_distance: With ``nearest``, a cell is mixed if no behaviour is closer than this.
        smoothing: With ``likelihood``, how much of each behaviour is spread evenly, so that one
            odd item rules out nothing.
        uniform_as: Label of cells that are uniform: ``other`` where the paper has none.
    """

    null_pm: float = 0.25
    tolerance: float = 0.10
    calibrated_from: float | None = 0.5
    null_from: float | None = 0.5
    min_margin: float = 0.05
    max_distance: float = 0.35
    smoothing: float = 0.02
    uniform_as: Literal["uniform", "other"] = "uniform"

    def __post_init__(self) -> None:
        for name in ("null_pm", "tolerance", "min_margin", "max_distance"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise InputError(f"{name} lies in [0, 1], got {getattr(self, name)!r}")
        if not 0.0 < self.smoothing < 1.0:
            raise InputError(f"smoothing lies in (0, 1), got {self.smoothing!r}")
        for name in ("calibrated_from", "null_from"):
            rate = getattr(self, name)
            if rate is not None and not 0.0 < rate <= 1.0:
                raise InputError(f"{name} lies in (0, 1], got {rate!r}")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Cells:
    """Two-option items of many cells.

    Attributes:
        p1: Ideal probability of the first option.
        pi1: The model's share of it.
        pm: Mass of both options.
        lean: 1 where the first option is likelier, -1 where the second is, 0 for a tie.
        is_null: Whether there is too little mass on both.
        picks_first: 1, 0, or 1/2 for equal shares.
        code: The cell of each item, from 0.
        n_cells: How many.
        rules: Thresholds.
    """

    p1: Float[np.ndarray, "N"]
    pi1: Float[np.ndarray, "N"]
    pm: Float[np.ndarray, "N"]
    lean: Float[np.ndarray, "N"]
    is_null: Bool[np.ndarray, "N"]
    picks_first: Float[np.ndarray, "N"]
    code: Int[np.ndarray, "N"]
    n_cells: int
    rules: Rules


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Assigned:
    """What an assigner found for each cell; see `likely.calibration.behaviours.Behaviour`."""

    labels: np.ndarray
    best: Float[np.ndarray, "C"]
    margin: Float[np.ndarray, "C"]
    support: Float[np.ndarray, "C 7"]


def read_cells(
    p1: Float[np.ndarray, "N"],
    pi1: Float[np.ndarray, "K"],
    pm: Float[np.ndarray, "L"],
    higher: Sequence[str] | np.ndarray,
    code: Int[np.ndarray, "N"],
    rules: Rules,
) -> Cells:
    """Return items of cells, checked.

    Raises:
        ShapeError: Arrays of different lengths, or empty.
        InputError: An item of other than two options, or a mass that is not known.
    """
    if not len(p1) == len(pi1) == len(pm) == len(higher) or not len(p1):
        raise ShapeError(
            f"each item of a cell has p1, pi1, pm and higher, got lengths {len(p1)}, {len(pi1)}, "
            f"{len(pm)} and {len(higher)}"
        )
    names = np.asarray(higher, dtype=object)
    lean = (names == "first").astype(np.float64) - (names == "second")
    odd = (lean == 0.0) & (names != "tie")
    if odd.any():
        raise InputError(
            f"behaviours are of items with two options, of which the first, the second or neither "
            f"(tie) is likelier; got {names[odd][0]!r}"
        )
    unknown = np.isnan(pm) | (np.isnan(pi1) & (pm > 0.0))
    if unknown.any():
        item = int(np.flatnonzero(unknown)[0])
        raise InputError(
            f"item {item} has the mass {float(pm[item])!r} and the share {float(pi1[item])!r}: "
            "a behaviour needs masses that are known exactly"
        )
    is_null = (pm < rules.null_pm) | np.isnan(pi1)
    off = np.where(np.isnan(pi1), 0.0, pi1 - 0.5)
    return Cells(
        p1=p1,
        pi1=pi1,
        pm=pm,
        lean=lean,
        is_null=is_null,
        picks_first=np.where(np.abs(off) <= _ROUNDING, 0.5, (off > 0.0).astype(np.float64)),
        code=code,
        n_cells=int(code.max()) + 1,
        rules=rules,
    )


def check_balance(cells: Cells, names: Iterable[str]) -> None:
    """Raise unless in each cell as many items lean to the first as to the second option.

    Raises:
        InputError: With the name of the first cell that does not.
    """
    balance = np.bincount(cells.code, cells.lean, cells.n_cells)
    if not balance.any():
        return
    bad = int(np.flatnonzero(balance)[0])
    lean = cells.lean[cells.code == bad]
    raise InputError(
        f"a cell has as many items with the first option likelier as with the second, or picking "
        f"the higher looks like picking the first; {list(names)[bad]} has {int(np.sum(lean > 0))} "
        f"and {int(np.sum(lean < 0))}"
    )


def means(
    numbers: Float[np.ndarray, "N"], used: Bool[np.ndarray, "N"], cells: Cells
) -> Float[np.ndarray, "C"]:
    """Return the mean over the used items of each cell, NaN where there are none."""
    code = cells.code[used]
    n = np.bincount(code, minlength=cells.n_cells)
    total = np.bincount(code, numbers[used], cells.n_cells)
    return np.asarray(np.divide(total, n, out=np.full(cells.n_cells, np.nan), where=n > 0))


def rates_of(cells: Cells) -> Float[np.ndarray, "C 6"]:
    """Return the rates of `RATES`."""
    given, uneven = ~cells.is_null, ~cells.is_null & (cells.lean != 0.0)
    gap = np.abs(np.where(given, cells.pi1, cells.p1) - cells.p1)
    is_close = (gap <= cells.rules.tolerance + _ROUNDING).astype(np.float64)
    first = cells.picks_first
    right = np.where(cells.lean > 0.0, first, 1.0 - first)
    null = means(cells.is_null.astype(np.float64), np.ones(len(first), dtype=bool), cells)
    return np.column_stack(
        [
            null,
            means(is_close, given, cells),
            means(right, uneven, cells),
            means(1.0 - right, uneven, cells),
            means(first, given, cells),
            means(1.0 - first, given, cells),
        ]
    )


def plane_of(cells: Cells) -> tuple[Float[np.ndarray, "C"], Float[np.ndarray, "C"]]:
    """Return the rates of picking the first option where it is likelier, and where it is not."""
    given = ~cells.is_null
    return (
        means(cells.picks_first, given & (cells.lean > 0.0), cells),
        means(cells.picks_first, given & (cells.lean < 0.0), cells),
    )


def assign(
    cells: Cells,
    rates: Float[np.ndarray, "C 6"],
    assigner: Assigner,
    n_effective: Float[np.ndarray, "C"],
) -> Assigned:
    """Return the behaviour of each cell.

    Args:
        cells: Balanced.
        rates: Of `rates_of`.
        assigner: Which comparison.
        n_effective: For how many independent items each cell counts.

    Raises:
        UnknownNameError: No such assigner.
    """
    rules = cells.rules
    if assigner == "rates":
        support = np.column_stack([rates, np.full(cells.n_cells, np.nan)])
    elif assigner == "nearest":
        support = 1.0 - _distances(cells)
    elif assigner == "likelihood":
        support = _posterior(_log_likelihoods(cells), n_effective)
    else:
        raise UnknownNameError.among("assigner", assigner, ("rates", "nearest", "likelihood"))
    known = np.where(np.isnan(support), -np.inf, support)
    top = np.argmax(known, axis=1)
    has_precedence = np.zeros(cells.n_cells, dtype=bool)
    if assigner == "rates":
        null, calibrated = known[:, 0], known[:, 1]
        if rules.calibrated_from is not None:
            has_precedence = (calibrated >= rules.calibrated_from) & (calibrated > null)
            top = np.where(has_precedence, 1, top)
        if rules.null_from is not None:
            is_null = null >= rules.null_from
            has_precedence |= is_null
            top = np.where(is_null, 0, top)
    each = np.arange(cells.n_cells)
    best = known[each, top]
    others = known.copy()
    others[each, top] = 0.0  # what speaks for nothing, where no other behaviour is defined
    margin = best - others.max(axis=1)
    is_mixed = (np.abs(margin) <= _ROUNDING) & ~has_precedence
    if assigner == "nearest":
        is_mixed |= (margin < rules.min_margin) | (best < 1.0 - rules.max_distance)
    names = np.array([*RATES, rules.uniform_as, "mixed"], dtype=object)
    labels = names[np.where(is_mixed, len(names) - 1, top)]
    return Assigned(labels=labels, best=best, margin=margin, support=support)


def _prototypes(cells: Cells) -> list[tuple[Float[np.ndarray, "N"], float]]:
    """Return the mass of the first option and of everything else, of each of `BEHAVIOURS`."""
    ones = np.ones(len(cells.p1))
    is_first = (cells.lean > 0.0).astype(np.float64)
    return [
        (0.0 * ones, 1.0),
        (cells.p1, 0.0),
        (is_first, 0.0),
        (1.0 - is_first, 0.0),
        (ones, 0.0),
        (0.0 * ones, 0.0),
        (0.5 * ones, 0.0),
    ]


def _by_prototype(cells: Cells, compare: _Compare) -> Float[np.ndarray, "C 7"]:
    """Return the mean of a comparison of masses with each prototype, over the items that tell."""
    mass1 = np.where(np.isnan(cells.pi1), 0.0, cells.pi1 * cells.pm)
    masses = np.stack([mass1, cells.pm - mass1, 1.0 - cells.pm])
    has_uneven = np.bincount(cells.code, cells.lean != 0.0, cells.n_cells) > 0
    used = (cells.lean != 0.0) | ~has_uneven[cells.code]
    columns = []
    for first, rest in _prototypes(cells):
        prototype = np.stack([first, 1.0 - rest - first, np.full(len(first), rest)])
        columns.append(means(compare(masses, prototype), used, cells))
    found = np.column_stack(columns)
    higher, lower = BEHAVIOURS.index("pick_higher"), BEHAVIOURS.index("pick_lower")
    for column in (higher, lower):
        found[~has_uneven, column] = np.nan
    return found


def _distances(cells: Cells) -> Float[np.ndarray, "C 7"]:
    return _by_prototype(cells, lambda masses, ours: 0.5 * np.abs(masses - ours).sum(axis=0))


def _log_likelihoods(cells: Cells) -> Float[np.ndarray, "C 7"]:
    blur = cells.rules.smoothing
    return _by_prototype(
        cells, lambda masses, ours: (masses * np.log((1.0 - blur) * ours + blur / 3.0)).sum(axis=0)
    )


def _posterior(
    log_likelihoods: Float[np.ndarray, "C 7"], n_effective: Float[np.ndarray, "C"]
) -> Float[np.ndarray, "C 7"]:
    """Return the posterior of each behaviour from equal priors; NaN for those not defined."""
    weighted = n_effective[:, None] * log_likelihoods
    known = np.where(np.isnan(weighted), -np.inf, weighted)
    posterior = np.exp(known - logsumexp(known)[:, None])
    return np.where(np.isnan(weighted), np.nan, posterior)
