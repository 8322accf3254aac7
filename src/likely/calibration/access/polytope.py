"""The laws over an item's options that a partly known row leaves open. Unit: nats, probability.

The masses of the options are ``low + x`` with ``0 <= x <= extra`` and ``sum(x) <= budget``. Divided
by their sum they make a polytope of laws whose corners are images of corners, and a share of the
mass is a ratio of linear functions, largest or least at a corner. Every number here is an extreme
over that polytope, or lies outside it: a bound is never too narrow.

Sources: Charnes and Cooper (1962), "Programming with linear fractional functionals", for the
linear program of `least_line_distance`.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
from jaxtyping import Bool, Float
from scipy.optimize import linprog

from likely.calibration.tables import PartialRow
from likely.errors import NumericalError

MAX_OPEN = 12
"""Options of unknown mass up to which all corners are visited: at most 28,672 of them."""

_STEPS = 1100  # halvings after which surely no float lies between the ends
_NEARLY_NOTHING = 1e-6  # known mass, as a share of the possible, that a linear program can resolve


@dataclass(frozen=True, kw_only=True, eq=False)
class Feasible:
    """What the masses of one item's options may be, in linear probability.

    Attributes:
        low: Shape ``(n,)``: the least of each.
        extra: Shape ``(n,)``: the most that each has beyond.
        budget: The most that all have beyond together; at most ``sum(extra)``.
    """

    low: Float[np.ndarray, "n"]
    extra: Float[np.ndarray, "n"]
    budget: float

    @property
    def known(self) -> float:
        """The least total mass."""
        return float(self.low.sum())

    @property
    def is_void(self) -> bool:
        """Whether the options surely have no mass at all, so that they have no law."""
        return self.known == 0.0 and self.budget == 0.0

    @cached_property
    def corners(self) -> Float[np.ndarray, "K n"] | None:
        """Laws among which each corner of the polytope is; None with more than `MAX_OPEN` open."""
        open_ = np.flatnonzero(self.extra > 0)
        if self.known == 0.0:  # any direction can be reached: the laws are a whole simplex
            return np.eye(len(self.low))[open_]
        if len(open_) > MAX_OPEN:
            return None
        added = _box_corners(self.extra[open_], self.budget)
        masses = np.tile(self.low, (len(added), 1))
        masses[:, open_] += added
        return np.asarray(masses / masses.sum(axis=1, keepdims=True))


def feasible(row: PartialRow) -> Feasible:
    """Return what the masses of the options may be, given a partial row."""
    unlisted = np.minimum(row.n_unlisted * row.cap, row.rest)
    slack = np.zeros_like(row.listed) if row.slack is None else row.slack
    budget = min(float(unlisted.sum()), row.rest) + float(slack.sum())
    room = max(0.0, 1.0 - float(row.listed.sum()))  # rounding may put what is listed above 1
    budget = min(budget, room)
    extra = np.minimum(unlisted + slack, budget)
    return Feasible(low=row.listed, extra=extra, budget=min(budget, float(extra.sum())))


def _box_corners(extra: Float[np.ndarray, "d"], budget: float) -> Float[np.ndarray, "K d"]:
    """Return the corners of ``0 <= x <= extra, sum(x) <= budget``."""
    masks = np.array(list(product((False, True), repeat=len(extra))), dtype=bool)
    full = masks * extra
    spent = full.sum(axis=1)
    found = [full[spent <= budget]]
    for j, most in enumerate(extra):
        cut = ~masks[:, j] & (spent < budget) & (spent + most > budget)
        partly = full[cut]
        partly[:, j] = budget - spent[cut]
        found.append(partly)
    return np.concatenate(found)


def share_interval(
    space: Feasible, members: Bool[np.ndarray, "S n"]
) -> tuple[Float[np.ndarray, "S"], Float[np.ndarray, "S"]]:
    """Return the least and the largest share of the mass that sets of options may have.

    Args:
        space: Not void.
        members: Which options each set has.
    """
    return _least_share(space, members), 1.0 - _least_share(space, ~members)


def _least_share(space: Feasible, members: Bool[np.ndarray, "S n"]) -> Float[np.ndarray, "S"]:
    own = members @ space.low
    others = ~members @ space.low + np.minimum(~members @ space.extra, space.budget)
    total = own + others
    # With nothing of its own surely there, a set may have nothing, unless it alone has anything.
    return np.where(total > 0, own / np.where(total > 0, total, 1.0), 1.0)


def least_total_variation(space: Feasible, ideal: Float[np.ndarray, "n"]) -> float:
    """Return the least total variation distance between an ideal law and a feasible one.

    Where the total mass is ``t``, shares lie between ``low / t`` and ``high / t``, and the distance
    is the larger of what they must lack of the ideal and what they must exceed it by. The first
    grows with ``t``, the second falls, so the least maximum is found by halving.
    """
    high = space.low + space.extra

    def lacking(total: float) -> float:
        return float(np.maximum(ideal - high / total, 0.0).sum())

    def exceeding(total: float) -> float:
        return float(np.maximum(space.low / total - ideal, 0.0).sum())

    if space.known == 0.0:
        return float(ideal[high == 0.0].sum())
    left, right = space.known, space.known + space.budget
    if lacking(left) >= exceeding(left):
        return lacking(left)
    if exceeding(right) >= lacking(right):
        return exceeding(right)
    for _ in range(_STEPS):
        middle = 0.5 * (left + right)
        if middle in (left, right):
            break
        if lacking(middle) < exceeding(middle):
            left = middle
        else:
            right = middle
    return max(lacking(left), exceeding(right))


def largest_total_variation(space: Feasible, ideal: Float[np.ndarray, "n"]) -> float:
    """Return the largest total variation distance; an upper bound where corners are too many."""
    if space.corners is not None:
        return float(0.5 * np.abs(space.corners - ideal).sum(axis=1).max())
    low, high = share_interval(space, np.eye(len(ideal), dtype=bool))
    above = np.maximum(high - ideal, 0.0).sum()
    below = np.maximum(ideal - low, 0.0).sum()
    return float(min(above, below, 1.0))


def line_distance_interval(
    space: Feasible, ideal: Float[np.ndarray, "n"], gaps: Float[np.ndarray, "g"]
) -> tuple[float, float, bool]:
    """Return bounds on the distance on the line of numbers, and whether they are the tightest.

    Args:
        space: Options in ascending order of value.
        ideal: In the same order.
        gaps: From each value to the next, shape ``(n - 1,)``.
    """
    steps = np.tri(len(gaps), len(ideal), dtype=bool)  # up to which value each sum goes
    wanted = np.cumsum(ideal)[:-1]
    low, high = share_interval(space, steps)
    if space.corners is not None:
        apart = np.abs(np.cumsum(space.corners, axis=1)[:, :-1] - wanted) @ gaps
        largest = float(apart.max())
    else:
        largest = float(np.maximum(np.abs(low - wanted), np.abs(high - wanted)) @ gaps)
    outside = float(np.maximum(0.0, np.maximum(low - wanted, wanted - high)) @ gaps)
    if space.budget == 0.0:
        return largest, largest, True
    least = least_line_distance(space, wanted, gaps)
    if least is None:
        return min(outside, largest), largest, False
    return min(max(least, outside), largest), largest, space.corners is not None


def least_line_distance(
    space: Feasible, wanted: Float[np.ndarray, "g"], gaps: Float[np.ndarray, "g"]
) -> float | None:
    """Return a lower bound on the distance on the line, tight up to rounding, by linear program.

    With ``s`` one over the total mass, shares are linear in ``s`` and ``v = s * x``, and so are the
    sums of shares up to each value. Every point that is feasible in the dual gives a lower bound:
    the solver's own, put right where it is not quite feasible, is the one returned.

    Args:
        space: Options in ascending order of value, not void.
        wanted: Shape ``(n - 1,)``: cumulated ideal.
        gaps: Between values.

    Returns:
        The bound, or None where the solver found none.
    """
    n, n_sums = len(space.low), len(gaps)
    most = space.known + space.budget
    low, extra, budget = space.low / most, space.extra / most, space.budget / most
    most_inverse = 1.0
    if low.sum() >= _NEARLY_NOTHING:
        most_inverse = float(1.0 / low.sum())
    else:  # leave the sizes out: any law on the options that may have mass
        extra, low, budget = ((low + extra) > 0).astype(float), np.zeros(n), float(n)
    tri = np.tri(n_sums, n)
    # Variables: v (n), s, and the distances t at each of the sums.
    sums = np.hstack([tri, (tri @ low)[:, None]])
    limits = np.hstack([np.eye(n), -extra[:, None], np.zeros((n, n_sums))])
    total = np.concatenate([np.ones(n), [-budget], np.zeros(n_sums)])[None]
    above = np.hstack([sums, -np.eye(n_sums)])
    below = np.hstack([-sums, -np.eye(n_sums)])
    upper = np.vstack([limits, total, above, below])
    bounds_of_upper = np.concatenate([np.zeros(n + 1), wanted, -wanted])
    equal = np.concatenate([np.ones(n), [low.sum()], np.zeros(n_sums)])[None]
    cost = np.concatenate([np.zeros(n + 1), gaps])
    least = np.concatenate([np.zeros(n), [1.0], np.zeros(n_sums)])
    largest = np.concatenate([np.ones(n), [most_inverse], np.ones(n_sums)])
    found = linprog(
        cost, A_ub=upper, b_ub=bounds_of_upper, A_eq=equal, b_eq=[1.0],
        bounds=np.stack([least, largest], axis=1), method="highs",
    )  # fmt: skip
    if found.status != 0:
        return None
    prices = np.minimum(found.ineqlin.marginals, 0.0)
    price = float(found.eqlin.marginals[0])
    reduced = cost - prices @ upper - price * equal[0]
    at_bounds = np.minimum(reduced * least, reduced * largest).sum()
    return float(prices @ bounds_of_upper + price + at_bounds)


def entropy_interval(space: Feasible) -> tuple[float, float]:
    """Return bounds on the entropy of a feasible law, in nats.

    The largest is exact. So is the least with at most `MAX_OPEN` open options; beyond, it is that
    of a law that majorises all feasible ones.
    """
    if space.budget == 0.0:
        exact = entropy_of(space.low / space.known)
        return exact, exact
    low = _least_entropy(space)
    return low, max(low, _largest_entropy(space))


def entropy_of(law: Float[np.ndarray, "n"]) -> float:
    """Return the entropy of one law, nats."""
    positive = law[law > 0]
    return float(0.0 - np.sum(positive * np.log(positive)))


def _least_entropy(space: Feasible) -> float:
    if space.corners is not None:
        laws = space.corners
        logs = np.log(laws, where=laws > 0, out=np.zeros_like(laws))
        return max(0.0, float((0.0 - laws * logs).sum(axis=1).min()))
    known = np.concatenate([[0.0], np.cumsum(np.sort(space.low)[::-1])])
    more = np.concatenate([[0.0], np.cumsum(np.sort(space.extra)[::-1])])
    more = np.minimum(more, space.budget)
    most = (known + more) / (space.known + more)  # what the k likeliest options have at most
    return entropy_of(np.diff(_concave_hull(most)))


def _concave_hull(heights: Float[np.ndarray, "k"]) -> Float[np.ndarray, "k"]:
    """Return the least concave sequence that lies nowhere below."""
    kept: list[int] = []
    for i, height in enumerate(heights):
        while len(kept) > 1:
            a, b = kept[-2], kept[-1]
            if (heights[b] - heights[a]) * (i - a) > (height - heights[a]) * (b - a):
                break
            kept.pop()
        kept.append(i)
    return np.asarray(np.interp(np.arange(len(heights)), kept, heights[kept]))


def _largest_entropy(space: Feasible) -> float:
    """Return the largest entropy, or what exceeds it by rounding.

    At a given total the most even masses are ``clip(level, low, high)``. Raising the level of those
    that follow it makes the law more even as long as their share lies below ``exp(-entropy)``.
    Gibbs' inequality turns the law found into an upper bound for all: no law has more entropy than
    its cross-entropy to another.
    """
    if space.known == 0.0:
        return float(np.log((space.extra > 0).sum()))
    high = space.low + space.extra
    most = space.known + space.budget
    left, right = 0.0, float(high.max())
    for _ in range(_STEPS):
        level = 0.5 * (left + right)
        if level in (left, right):
            break
        masses = np.clip(level, space.low, high)
        total = masses.sum()
        is_short = total <= most and np.log(level / total) + entropy_of(masses / total) < 0.0
        left, right = (level, right) if is_short else (left, level)
    masses = np.clip(right, space.low, high)
    positive = high > 0
    costs = -np.log(masses[positive] / masses.sum())
    return _largest_mean(costs, space.low[positive], space.extra[positive], space.budget)


def _largest_mean(
    costs: Float[np.ndarray, "n"],
    low: Float[np.ndarray, "n"],
    extra: Float[np.ndarray, "n"],
    budget: float,
) -> float:
    """Return the largest mean of ``costs`` under a feasible law: the dearest options come first."""
    order = np.argsort(-costs, kind="stable")
    spent = np.minimum(np.concatenate([[0.0], np.cumsum(extra[order])]), budget)
    added = np.concatenate([[0.0], np.cumsum(np.diff(spent) * costs[order])])
    means = (low @ costs + added) / (low.sum() + spent)
    if not np.isfinite(means).all():
        raise NumericalError(f"the bound on an entropy is not finite: {means!r} from {costs!r}")
    return float(means.max())
