"""Goes down the loss of many affine fits at once, each from several starts. Unit: nats.

A fit has three numbers and a handful of targets, so what costs is the calls into numpy, not the
arithmetic: all fits of one size, and all their starts, take every step together. A row's result
does not depend on the others.
"""

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from jaxtyping import Bool, Float, Int

from likely.core.logspace import logsumexp

Thetas: TypeAlias = Float[np.ndarray, "*B 3"]
"""A slope per standard deviation of log p, the log of the power at mean log p, and log c."""

_FAR = 30.0
"""Below the least truth, in nats: an offset there is 1e-13 of any truth."""

_SLOPES = np.array([0.0, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0])
"""Of the coarse grid: standard deviations of log q for one of log p."""

_LEVEL = 1e-12
"""Spread of logs, as a share of 1 and their size, up to which they differ by rounding alone."""

_STARTS = 4
"""Slopes of the grid from whose best point a fit goes down."""

_STEPS = 400
_FLAT = 1e-10  # slope of the loss at which a descent ends
_GAIN = 1e-15  # of a step, relative to the loss and 1, below which it ends
_DAMPING = (1e-3, 1e12)  # where it begins, and where a descent ends since no step helps
_EASE, _HARDEN = 0.25, 4.0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sets:
    """Truths and standardised estimates of fits that have as many targets each.

    Attributes:
        log_q: Nats, finite.
        log_p: Nats; ``-inf`` for an estimate of 0.
        u: ``(log p - mean) / spread`` over the estimates above 0; 0 for the others.
        is_zero: Which estimates are 0.
        mean: Of log p over the estimates above 0, nats; 0 if there are none.
        spread: Their standard deviation; 1 where it is 0 up to rounding (then the slope stays 0).
        is_flat: Whether u is 0 throughout.
    """

    log_q: Float[np.ndarray, "B n"]
    log_p: Float[np.ndarray, "B n"]
    u: Float[np.ndarray, "B n"]
    is_zero: Bool[np.ndarray, "B n"]
    mean: Float[np.ndarray, "B"]
    spread: Float[np.ndarray, "B"]
    is_flat: Bool[np.ndarray, "B"]

    @classmethod
    def of(cls, log_q: Float[np.ndarray, "B n"], log_p: Float[np.ndarray, "B n"]) -> "Sets":
        """Return the sets of truths and estimates, a row a fit."""
        is_zero = np.isneginf(log_p)
        n_above = np.maximum(1, (~is_zero).sum(axis=1))
        above = np.where(is_zero, 0.0, log_p)
        mean = above.sum(axis=1) / n_above
        rest = np.where(is_zero, 0.0, above - mean[:, None])
        spread = np.sqrt((rest**2).sum(axis=1) / n_above)
        is_flat = spread <= _LEVEL * (1.0 + np.abs(mean))
        spread = np.where(is_flat, 1.0, spread)
        u = np.where(is_flat[:, None], 0.0, rest / spread[:, None])
        return cls(
            log_q=log_q, log_p=log_p, u=u, is_zero=is_zero, mean=mean, spread=spread,
            is_flat=is_flat,
        )  # fmt: skip

    def starts(self) -> Thetas:
        """Return where to start from: the estimates as they are, and the best of a coarse grid.

        The grid has the slope, the offset, and the power at the largest estimate or the level that
        fits without an offset; the lowest points of its best slopes are taken.
        """
        n = self.log_q.shape[1]
        low = self.log_q.min(axis=1) - np.log(10.0)
        middle = np.asarray(logsumexp(self.log_q, axis=1)) - np.log(n)
        offsets = np.stack([low, *np.quantile(self.log_q, [0.25, 0.5], axis=1), middle], axis=1)
        slopes = np.where(self.is_flat, 0.0, self.log_q.std(axis=1))[:, None] * _SLOPES
        levels = self._levels(slopes)
        shape = (*levels.shape, offsets.shape[1])
        grid = np.empty((*shape, 3))
        grid[..., 0] = slopes[:, :, None, None]
        grid[..., 1] = levels[..., None]
        grid[..., 2] = offsets[:, None, None, :]
        grid = grid.reshape(shape[0], shape[1], -1, 3)
        losses = self.losses(grid.reshape(shape[0], -1, 3)).reshape(grid.shape[:3])
        best = losses.argmin(axis=2)
        least = np.take_along_axis(losses, best[..., None], axis=2)[..., 0]
        chosen = np.argsort(least, axis=1, kind="stable")[:, :_STARTS]
        rows = np.arange(len(grid))[:, None]
        plain = np.stack([np.where(self.is_flat, 0.0, self.spread), self.mean, low], axis=1)
        return np.concatenate([plain[:, None], grid[rows, chosen, best[rows, chosen]]], axis=1)

    def _levels(self, slopes: Float[np.ndarray, "B s"]) -> Float[np.ndarray, "B s 3"]:
        """Return powers at the mean of log p to start from, for each slope."""
        n_above = np.maximum(1, (~self.is_zero).sum(axis=1))
        pulled = self.log_q[:, None] - slopes[:, :, None] * self.u[:, None]
        above = np.where(self.is_zero[:, None], -np.inf, pulled)
        alone = np.asarray(logsumexp(above, axis=2)) - np.log(n_above)[:, None]
        is_empty = np.asarray(self.is_zero.all(axis=1))
        alone = np.where(is_empty[:, None], self.log_q.min(axis=1)[:, None], alone)
        largest = np.where(self.is_zero, -np.inf, self.u).max(axis=1)
        largest = np.where(np.isneginf(largest), 0.0, largest)
        tops = np.quantile(self.log_q, [0.75, 1.0], axis=1).T
        return np.concatenate(
            [alone[..., None], tops[:, None] - (slopes * largest[:, None])[..., None]], axis=2
        )

    def losses(self, thetas: Float[np.ndarray, "B g 3"]) -> Float[np.ndarray, "B g"]:
        """Return the mean Itakura-Saito loss of several thetas of each fit."""
        power = thetas[..., 1:2] + thetas[..., :1] * self.u[:, None]
        power = np.where(self.is_zero[:, None], -np.inf, power)
        return self.losses_of(np.logaddexp(thetas[..., 2:], power))

    def losses_of(self, fitted: Float[np.ndarray, "B g n"]) -> Float[np.ndarray, "B g"]:
        """Return the mean Itakura-Saito loss of fitted logs; ``inf`` beyond the range of floats."""
        gap = self.log_q[:, None] - fitted
        with np.errstate(over="ignore", invalid="ignore"):
            excess = np.expm1(gap)
            losses = np.where(np.isposinf(excess), np.inf, excess - gap)
        return np.asarray(losses.sum(axis=2) / gap.shape[2])

    def bottoms(self) -> Float[np.ndarray, "B s 3"]:
        """Return the bottom of the valley of every start."""
        starts = self.starts()
        n_starts = starts.shape[1]
        rows = np.repeat(np.arange(len(starts)), n_starts)
        low = np.repeat(self.log_q.min(axis=1) - _FAR, n_starts)
        high = np.repeat(self.log_q.max(axis=1) + _FAR, n_starts)
        steepest = np.where(self.is_flat[rows], 0.0, np.inf)
        bounds = _Bounds(
            low=np.stack([np.zeros_like(low), low, low], axis=1),
            high=np.stack([steepest, high, high], axis=1),
        )
        found = _descend(self, rows, starts.reshape(-1, 3), bounds)
        return found.reshape(starts.shape)


class _Bounds(NamedTuple):
    """Where each number of a theta may lie."""

    low: Float[np.ndarray, "R 3"]
    high: Float[np.ndarray, "R 3"]


class _Place(NamedTuple):
    """The loss at a theta, its gradient, and its matrix of second derivatives in six numbers."""

    value: Float[np.ndarray, "R"]
    slope: Float[np.ndarray, "R 3"]
    bend: Float[np.ndarray, "R 6"]


def _descend(
    sets: Sets, rows: Int[np.ndarray, "R"], thetas: Float[np.ndarray, "R 3"], bounds: _Bounds
) -> Float[np.ndarray, "R 3"]:
    """Return where damped Newton steps end that stay within bounds and never go up."""
    done = np.asarray(np.clip(thetas, bounds.low, bounds.high))
    where = np.arange(len(rows))
    at, theta = _place(sets, rows, done), done.copy()
    damping = np.full(len(rows), _DAMPING[0])
    for _ in range(_STEPS):
        is_free = _free(theta, at.slope, bounds)
        flat = (np.abs(np.where(is_free, at.slope, 0.0)) < _FLAT).all(axis=1)
        goes_on = ~flat & (damping < _DAMPING[1]) & np.isfinite(at.value)
        done[where[~goes_on]] = theta[~goes_on]
        if not goes_on.any():
            return done
        where, theta, damping, is_free = (
            one[goes_on] for one in (where, theta, damping, is_free)
        )  # fmt: skip
        bounds, rows = _Bounds(*(one[goes_on] for one in bounds)), rows[goes_on]
        at = _Place(*(one[goes_on] for one in at))
        step, is_valley = _step(at, is_free, damping)
        tried = np.clip(theta + step, bounds.low, bounds.high)
        there = _place(sets, rows, tried)
        is_lower = is_valley & (there.value < at.value)
        gain = -(step * at.slope).sum(axis=1)
        is_done = is_valley & (gain < _GAIN * (1.0 + at.value))
        damping = np.where(is_lower, damping * _EASE, damping * _HARDEN)
        damping = np.where(is_done, np.inf, damping)
        theta = np.where(is_lower[:, None], tried, theta)
        at = _Place(
            value=np.where(is_lower, there.value, at.value),
            slope=np.where(is_lower[:, None], there.slope, at.slope),
            bend=np.where(is_lower[:, None], there.bend, at.bend),
        )
    done[where] = theta
    return done


def _free(
    theta: Float[np.ndarray, "R 3"], slope: Float[np.ndarray, "R 3"], bounds: _Bounds
) -> Bool[np.ndarray, "R 3"]:
    """Return which numbers may move: all but those that the slope presses against a bound."""
    pressed = ((theta <= bounds.low) & (slope > 0.0)) | ((theta >= bounds.high) & (slope < 0.0))
    return np.asarray(~pressed)


def _place(sets: Sets, rows: Int[np.ndarray, "R"], theta: Float[np.ndarray, "R 3"]) -> _Place:
    """Return the loss at a theta each, with its derivatives; ``inf`` and 0 beyond the range."""
    u, n = sets.u[rows], sets.u.shape[1]
    power = np.where(sets.is_zero[rows], -np.inf, theta[:, 1:2] + theta[:, :1] * u)
    fitted = np.logaddexp(theta[:, 2:], power)
    gap = sets.log_q[rows] - fitted
    with np.errstate(over="ignore"):
        excess = np.expm1(gap)
    value = (excess - gap).sum(axis=1) / n
    excess = np.where(np.isfinite(value)[:, None], excess, 0.0)
    share, rest = np.exp(power - fitted), np.exp(theta[:, 2:] - fitted)
    first, own, curl = share * u, excess + 1.0, -excess * share * rest
    parts = {
        "slope": (-excess * first, -excess * share, -excess * rest),
        "bend": (
            own * first**2 + curl * u**2, own * first * share + curl * u,
            own * first * rest - curl * u, own * share**2 + curl, own * share * rest - curl,
            own * rest**2 + curl,
        ),
    }  # fmt: skip
    slope, bend = (np.stack([one.sum(axis=1) for one in parts[name]], axis=1) / n for name in parts)
    return _Place(value=value, slope=slope, bend=bend)


def _step(
    at: _Place, is_free: Bool[np.ndarray, "R 3"], damping: Float[np.ndarray, "R"]
) -> tuple[Float[np.ndarray, "R 3"], Bool[np.ndarray, "R"]]:
    """Return the damped Newton step of the free numbers, and whether its matrix is positive.

    The matrix is taken apart as L D L' by hand: three rows and columns are too few for a library.
    """
    s, m, k = is_free.T
    g = np.where(is_free, -at.slope, 0.0).T
    ss, sm, sk, mm, mk, kk = at.bend.T
    ss, mm, kk = (np.where(free, one + damping, 1.0) for free, one in ((s, ss), (m, mm), (k, kk)))
    sm, sk, mk = np.where(s & m, sm, 0.0), np.where(s & k, sk, 0.0), np.where(m & k, mk, 0.0)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        a, b = sm / ss, sk / ss
        d = mm - a * sm
        c = (mk - a * sk) / d
        e = kk - b * sk - c**2 * d
        is_positive = (ss > 0.0) & (d > 0.0) & (e > 0.0)
        y = g[1] - a * g[0]
        z = (g[2] - b * g[0] - c * y) / e
        y = y / d - c * z
        x = g[0] / ss - a * y - b * z
        step = np.stack([x, y, z], axis=1)
    is_positive &= np.isfinite(step).all(axis=1)
    return np.where(is_positive[:, None], step, 0.0), is_positive
