"""What a model does instead of calibration: six behaviours, and one that sees no numbers at all.

A *cell* is a set of items that share their two options in the order of mention, and a template or a
pool of them. In half of a cell the first option is likelier and in half the second, or picking the
higher could not be told from picking the first. Unit: prob.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Float

from likely.calibration.assigners import (
    BEHAVIOURS,
    RATES,
    Assigner,
    Rules,
    assign,
    check_balance,
    means,
    plane_of,
    rates_of,
    read_cells,
)
from likely.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class Behaviour:
    """The behaviour of a cell.

    Attributes:
        assigner: That found it.
        dominant: A name of `BEHAVIOURS`, ``mixed``, or ``other`` (`Rules.uniform_as`).
        dominant_rate: What speaks for the best behaviour, from 0 to 1: its rate, 1 minus its
            distance, or its posterior.
        margin: That, less what speaks for the next best; negative where calibration takes
            precedence of a larger rate.
        rates: Of the six of `RATES`; they overlap. ``null`` is over all items, the others over the
            rest; of these, higher and lower over items whose options are not equally likely. None
            where there is no such item.
        support: What the assigner compared, for each behaviour that it knows, as ``dominant_rate``;
            None where the behaviour is not defined.
        n: Items.
        n_null: Items that are null.
    """

    assigner: Assigner
    dominant: str
    dominant_rate: float
    margin: float
    rates: Mapping[str, float | None]
    support: Mapping[str, float | None]
    n: int
    n_null: int

    @property
    def posterior(self) -> Mapping[str, float | None] | None:
        """Probability of each behaviour; None unless the assigner is ``likelihood``."""
        return self.support if self.assigner == "likelihood" else None

    def to_dict(self) -> dict[str, object]:
        """Return the fields as a mapping that `likely.core.jsonio` writes as strict JSON."""
        return {
            "assigner": self.assigner,
            "dominant": self.dominant,
            "dominant_rate": self.dominant_rate,
            "margin": self.margin,
            "rates": dict(self.rates),
            "support": dict(self.support),
            "n": self.n,
            "n_null": self.n_null,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Plane:
    """How often a cell picks the first option, apart for which one is likelier.

    Attributes:
        a: Rate of picking the first where the first is likelier.
        b: Rate of picking the first where the second is likelier.
        identity_gap: The larger distance of ``a`` from first + higher - 1/2, and of ``b`` from
            first - higher + 1/2: 0 wherever as many items are left with either option likelier.
    """

    a: float
    b: float
    identity_gap: float


def classify(
    p1: Float[np.ndarray, "N"],
    pi1: Float[np.ndarray, "N"],
    pm: Float[np.ndarray, "N"],
    higher: Sequence[str],
    *,
    assigner: Assigner = "rates",
    rules: Rules | None = None,
    n_effective: int | None = None,
) -> Behaviour:
    """Return the behaviour of one cell of two-option items.

    Args:
        p1: Ideal probability of the option mentioned first.
        pi1: The model's share of it; NaN where neither option has any mass.
        pm: Mass of both options.
        higher: ``first``, ``second`` or ``tie``: which option is likelier.
        assigner: ``rates``: the largest of the six overlapping rates, as published; ``nearest``:
            the behaviour whose masses are closest in total variation on average; ``likelihood``:
            the one under which the masses are likeliest.
        rules: Thresholds.
        n_effective: With ``likelihood``, for how many independent items the cell counts; by default
            half its items, for each pair of numbers comes in both orders.

    Returns:
        Ties, where options are equally likely, count for no balance and tell nothing of higher and
        lower: ``rates`` leaves them out of these two, the others leave them out altogether unless a
        cell has nothing else.

    Raises:
        ShapeError: Arrays of different lengths, or empty.
        InputError: A cell that is not balanced, items of other than two options, a mass that is not
            known, or an option out of range.

    >>> p = np.array([0.7, 0.3])
    >>> cell = classify(p, np.array([1.0, 0.0]), np.ones(2), ["first", "second"])
    >>> cell.dominant, cell.dominant_rate
    ('pick_higher', 1.0)
    """
    cells = read_cells(p1, pi1, pm, higher, np.zeros(len(p1), dtype=np.int64), rules or Rules())
    check_balance(cells, ["the cell"])
    effective = max(1, len(p1) // 2) if n_effective is None else n_effective
    if effective < 1:
        raise InputError(f"n_effective is at least 1, got {n_effective!r}")
    rates = rates_of(cells)
    found = assign(cells, rates, assigner, np.array([float(effective)]))
    return Behaviour(
        assigner=assigner,
        dominant=str(found.labels[0]),
        dominant_rate=float(found.best[0]),
        margin=float(found.margin[0]),
        rates=_named(RATES, rates[0]),
        support=_named(BEHAVIOURS, found.support[0]),
        n=len(p1),
        n_null=int(cells.is_null.sum()),
    )


def plane(
    pi1: Float[np.ndarray, "N"],
    pm: Float[np.ndarray, "N"],
    higher: Sequence[str],
    *,
    null_pm: float = 0.25,
) -> Plane:
    """Return where a cell stands between its behaviours, in two numbers.

    Picking the higher is at (1, 0), the first (1, 1), the second (0, 0), the lower (0, 1); a coin
    is in the middle. Null items and ties are left out; equal shares count half.

    Args:
        pi1: The model's share of the option mentioned first.
        pm: Mass of both options.
        higher: ``first``, ``second`` or ``tie``: which option is likelier.
        null_pm: An item is null below this mass.

    Raises:
        ShapeError: Arrays of different lengths, or empty.
        InputError: As `classify`; or no item is left with the first, or none with the second option
            likelier.

    >>> plane(np.array([1.0, 0.4, 0.9, 0.1]), np.ones(4), ["first", "second", "first", "second"])
    Plane(a=1.0, b=0.0, identity_gap=0.0)
    """
    p1 = np.full(len(pi1), 0.5)
    cell = np.zeros(len(pi1), dtype=np.int64)
    cells = read_cells(p1, pi1, pm, higher, cell, Rules(null_pm=null_pm))
    check_balance(cells, ["the cell"])
    (a,), (b,) = plane_of(cells)
    if np.isnan(a) or np.isnan(b):
        raise InputError(
            "the plane needs items with either option likelier that are not null; "
            f"got {int(cells.is_null.sum())} null items of {len(pi1)}"
        )
    rated = cells.lean * ~cells.is_null != 0.0
    first = float(cells.picks_first[rated].mean())
    right = np.where(cells.lean > 0.0, cells.picks_first, 1.0 - cells.picks_first)
    higher_rate = float(right[rated].mean())
    gaps = (a - (first + higher_rate - 0.5), b - (first - higher_rate + 0.5))
    return Plane(a=float(a), b=float(b), identity_gap=float(np.max(np.abs(gaps))))


def classify_cells(
    frame: pd.DataFrame,
    *,
    by: Sequence[str] = ("template",),
    assigner: Assigner = "rates",
    rules: Rules | None = None,
) -> pd.DataFrame:
    """Return the behaviour of every cell of an evaluation, a row each.

    Args:
        frame: A row an item; items of more than two options are left out.
        by: Columns that part cells besides model, family and the ordered option pair, such as
            template and scale; none pools all templates.
        assigner: As in `classify`; with ``likelihood`` a cell counts for as many items as it has
            pairs of numbers.
        rules: Thresholds.

    Returns:
        The columns that part cells; the published ``null, calibrated, pref_higher, pref_lower,
        pref_first, pref_second, dominant, dominant_rate, avg_wd`` (in units of sqrt 2) and ``n``;
        and ``margin, n_null, a, b`` (`plane`). What is not defined is NaN.

    Raises:
        InputError: Columns are missing, no item has two options, a cell is not balanced (it is
            named), or as `classify`.
    """
    keys = list(dict.fromkeys(["model", "family", *by, "option_pair"]))
    needed = [*keys, "p1", "pi1", "pm", "higher", "wd_paper", "scale", "number_pair"]
    missing = [name for name in needed if name not in frame.columns]
    if missing:
        raise InputError(f"the frame lacks the columns {missing}; it has {list(frame.columns)}")
    two = frame[frame["n_options"] == 2] if "n_options" in frame.columns else frame
    if two.empty:
        raise InputError("behaviours are of items with two options, got none")
    groups = two.groupby(keys, sort=True, dropna=False, observed=True)
    code = groups.ngroup().to_numpy(dtype=np.int64)
    table = two[keys].iloc[np.unique(code, return_index=True)[1]].reset_index(drop=True)
    p1, pi1, pm, wd = (
        two[name].to_numpy(dtype=np.float64) for name in ("p1", "pi1", "pm", "wd_paper")
    )
    cells = read_cells(p1, pi1, pm, two["higher"].to_numpy(dtype=object), code, rules or Rules())
    names = (" ".join(map(str, row)) for row in table.itertuples(index=False))
    check_balance(cells, names)
    pairs = two.groupby(["scale", "number_pair"], dropna=False, observed=True).ngroup().to_numpy()
    different = np.unique(np.column_stack([code, pairs]), axis=0)[:, 0]
    rates = rates_of(cells)
    found = assign(cells, rates, assigner, np.bincount(different).astype(np.float64))
    a, b = plane_of(cells)
    published = [name.replace("pick_", "pref_") for name in RATES]
    return table.assign(
        **dict(zip(published, rates.T, strict=True)),
        dominant=found.labels,
        dominant_rate=found.best,
        avg_wd=means(wd, ~np.isnan(wd), cells),
        n=np.bincount(code),
        margin=found.margin,
        n_null=np.bincount(code, cells.is_null).astype(np.int64),
        a=a,
        b=b,
    )


def _named(names: Sequence[str], numbers: Float[np.ndarray, "K"]) -> dict[str, float | None]:
    return {name: None if np.isnan(x) else float(x) for name, x in zip(names, numbers, strict=True)}
