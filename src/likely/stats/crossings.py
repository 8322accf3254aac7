"""How factors cross over items, and weighted sums under resamples of the levels of each.

Items made of a template, two options and two numbers share levels of several factors at once. Sums
over all items under many resamples are contracted factor by factor, so that the full crossing of a
large data set costs little. Unit: none.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from scipy.sparse import csr_matrix

from likely.core.streams import generator
from likely.errors import InputError, ShapeError

Codes = Sequence[str] | Sequence[int] | Int[np.ndarray, " N"]

_CELLS = 2**23
"""How many numbers one batch of resamples may hold: 64 MiB."""

_DENSE = 0.1
"""From this share of filled places on, a table is multiplied as a dense one."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Crossing:
    """Which levels of each factor meet, and in which meeting each item lies.

    Attributes:
        names: Of the factors.
        levels: Shape ``(C, F)``: the level of each factor in each of the meetings.
        n_levels: How many levels each factor has.
        members: Shape ``(N,)``: the meeting of each item.
    """

    names: tuple[str, ...]
    levels: Int[np.ndarray, "C F"]
    n_levels: tuple[int, ...]
    members: Int[np.ndarray, "N"]

    def sums(self, columns: Float[np.ndarray, "N K"]) -> Float[np.ndarray, "C K"]:
        """Return the sum of each column over the items of each meeting."""
        n = len(self.levels)
        return np.stack([np.bincount(self.members, column, n) for column in columns.T], axis=1)


def crossing(factors: Mapping[str, Codes]) -> Crossing:
    """Return how factors cross; they may be nested, incomplete or unbalanced.

    Args:
        factors: By name, the level of each item.

    Raises:
        InputError: No factors or no items.
        ShapeError: Factors of different lengths.
    """
    lengths = {name: len(codes) for name, codes in factors.items()}
    if not factors or 0 in lengths.values():
        raise InputError(f"at least one factor with a level for each item is needed, got {lengths}")
    if len(set(lengths.values())) != 1:
        raise ShapeError(f"every factor has one level an item, got lengths {lengths}")
    coded = [np.unique(np.asarray(codes), return_inverse=True)[1] for codes in factors.values()]
    first, members = _meetings(coded)
    return Crossing(
        names=tuple(factors),
        levels=np.stack([codes[first] for codes in coded], axis=1),
        n_levels=tuple(int(codes.max()) + 1 for codes in coded),
        members=members,
    )


def resampled_sums(
    columns: Float[np.ndarray, "N K"], crossed: Crossing, *, n_resamples: int = 2000, seed: int = 0
) -> Float[np.ndarray, "S K"]:
    """Return the weighted sum of each column under each resample, the same weights for all.

    Any smooth function of sums (a ratio, a correlation) gets its replicates from these.

    Args:
        columns: Shape ``(N, K)``, finite.
        crossed: Of the items; a factor with a single level is left as it is.
        n_resamples: How many.
        seed: Of the random streams; each factor has one by its name.

    Returns:
        Shape ``(S, K)``.
    """
    sums = crossed.sums(columns)
    free = [f for f, n in enumerate(crossed.n_levels) if n > 1]
    if not free:
        return np.tile(sums.sum(axis=0), (n_resamples, 1))
    plan = _Plan.of(crossed.levels[:, free], [crossed.n_levels[f] for f in free], sums)
    streams = [generator(seed, "stats", "pigeonhole", crossed.names[f]) for f in free]
    n_levels = [crossed.n_levels[f] for f in free]
    step = max(1, _CELLS // (plan.n_wide + sum(n_levels)))
    parts = []
    for start in range(0, n_resamples, step):
        size = min(step, n_resamples - start)
        weights = [
            rng.multinomial(n, np.full(n, 1.0 / n), size=size).astype(np.float64).T
            for rng, n in zip(streams, n_levels, strict=True)
        ]
        parts.append(plan.apply(weights))
    return np.concatenate(parts)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Step:
    """Take one factor away: weigh its levels, then add up what now coincides."""

    factor: int
    codes: Int[np.ndarray, "R"]
    starts: Int[np.ndarray, "Q"]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Plan:
    """In which order factors are summed out: first the one that leaves the fewest meetings."""

    first: int
    table: csr_matrix | Float[np.ndarray, "KR L"]
    n_columns: int
    n_wide: int
    steps: tuple[_Step, ...]

    @classmethod
    def of(
        cls, levels: Int[np.ndarray, "C F"], n_levels: Sequence[int], sums: Float[np.ndarray, "C K"]
    ) -> "_Plan":
        n_columns = sums.shape[1]
        order = _order(levels)
        first, rest = order[0], order[1:]
        # Later factors vary slowest, so that meetings which coincide later lie side by side.
        kept, at = _meetings([levels[:, f] for f in reversed(rest)], n=len(levels))
        n_kept = len(kept)
        rows = (np.arange(n_columns)[:, None] * n_kept + at[None, :]).ravel()
        across = np.tile(levels[:, first], n_columns)
        table = csr_matrix(
            (sums.T.ravel(), (rows, across)), shape=(n_columns * n_kept, n_levels[first])
        )
        steps = []
        left = levels[kept]
        for i, factor in enumerate(rest):
            head, group = _meetings([left[:, f] for f in reversed(rest[i + 1 :])], n=len(left))
            starts = np.flatnonzero(np.diff(group, prepend=-1))
            steps.append(_Step(factor=factor, codes=left[:, factor], starts=starts))
            left = left[head]
        dense = table.nnz > _DENSE * table.shape[0] * table.shape[1]
        return cls(
            first=first,
            table=table.toarray() if dense else table,
            n_columns=n_columns,
            n_wide=2 * n_columns * n_kept,
            steps=tuple(steps),
        )

    def apply(self, weights: Sequence[Float[np.ndarray, "_ S"]]) -> Float[np.ndarray, "S K"]:
        held = np.asarray(self.table @ weights[self.first])
        held = held.reshape(self.n_columns, -1, held.shape[1])
        for step in self.steps:
            held *= weights[step.factor][step.codes]
            held = np.add.reduceat(held, step.starts, axis=1)
        return np.ascontiguousarray(held[:, 0, :].T)


def _order(levels: Int[np.ndarray, "C F"]) -> list[int]:
    left = list(range(levels.shape[1]))
    order = []
    while left:
        rests = {f: [g for g in left if g != f] for f in left}
        n_kept = {f: len(_meetings([levels[:, g] for g in rests[f]], n=1)[0]) for f in left}
        order.append(min(left, key=lambda f: n_kept[f]))
        left.remove(order[-1])
    return order


def _meetings(
    codes: Sequence[Int[np.ndarray, " N"]], *, n: int = 0
) -> tuple[Int[np.ndarray, " C"], Int[np.ndarray, " N"]]:
    """Return an item of each combination of codes, and each item's combination, in their order."""
    if not codes:
        return np.zeros(1, dtype=np.int64), np.zeros(n, dtype=np.int64)
    joint = np.zeros(len(codes[0]), dtype=np.int64)
    first = joint
    for code in codes:
        _, first, joint = np.unique(
            joint * (int(code.max()) + 1) + code, return_index=True, return_inverse=True
        )
    return first, joint
