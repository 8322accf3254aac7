"""The shortest way from the mean activation to where a token wins. Unit: standard deviations.

It is the projection of 0 on a polyhedron, a least-distance problem, which Lawson and Hanson turn
into non-negative least squares: an active-set method that ends at the exact solution or at a proof
that there is none. It runs on the most competitive rivals; all others are checked afterwards.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from scipy.optimize import nnls

from likely.errors import NumericalError

FIRST = 200
"""Rivals that the first round takes; each further round adds the most violated ones."""
MORE = 100
TOLERANCE = 1e-9
"""Of the conditions of optimality, each rival's row scaled to length 1."""
FAR = 1e6
"""Standard deviations beyond which nothing is: such a solution means that there is none."""
_ROUNDS = 200


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Nearest:
    """The nearest point at which a token wins.

    Attributes:
        point: Shape ``(d,)``; zeros where the token wins at the mean already.
        active: Places of the rivals that it just beats there, and that keep it from coming nearer.
        residual: By how much a condition of optimality fails at most.
    """

    point: Float[np.ndarray, "d"]
    active: Int[np.ndarray, "A"]
    residual: float

    @property
    def distance(self) -> float:
        """Its length."""
        return float(np.linalg.norm(self.point))


def nearest_point(
    slopes: Float[np.ndarray, "R d"], needs: Float[np.ndarray, "R"]
) -> Nearest | None:
    """Return the shortest ``u`` with ``slopes @ u >= needs``, or None if there is none.

    Args:
        slopes: Shape ``(R, d)``: how each lead grows.
        needs: Shape ``(R,)``: how much each must grow from the mean on.

    Raises:
        NumericalError: The solution cannot be certified.

    Sources:
        Lawson and Hanson (1974), "Solving least squares problems", chapter 23, problem LDP.

    >>> nearest_point(np.array([[2.0, 0.0], [0.0, 1.0]]), np.array([6.0, -1.0])).point.tolist()
    [3.0, 0.0]
    """
    lengths = np.linalg.norm(slopes, axis=1)
    is_flat = lengths <= 1e-12 * max(float(lengths.max(initial=0.0)), 1e-300)
    if (needs[is_flat] > 0.0).any():
        return None
    rows = np.flatnonzero(~is_flat)
    unit, need = slopes[rows] / lengths[rows, None], needs[rows] / lengths[rows]
    if not (need > 0.0).any():
        return Nearest(
            point=np.zeros(slopes.shape[1]), active=np.array([], dtype=np.int64), residual=0.0
        )
    working = _most_needy(unit, need)
    for _ in range(_ROUNDS):
        solved = _least_distance(unit[working], need[working])
        if solved is None:
            return None
        point, weights = solved
        slack = unit @ point - need
        worst = np.argsort(slack)[:MORE]
        broken = worst[slack[worst] < -TOLERANCE * (1.0 + np.linalg.norm(point))]
        fresh = np.setdiff1d(broken, working)
        if len(fresh) == 0:
            return _certified(unit, need, working, point, weights, rows)
        working = np.concatenate([working, fresh])
    raise NumericalError(
        f"the nearest winning point was not found in {_ROUNDS} rounds over {len(rows)} rivals; "
        "give a larger ridge"
    )


def nearest_border(slopes: Float[np.ndarray, "R d"], needs: Float[np.ndarray, "R"]) -> int:
    """Return the rival whose border is nearest to a mean at which the token wins.

    Args:
        slopes: As in `nearest_point`.
        needs: As there, none above 0.
    """
    lengths = np.linalg.norm(slopes, axis=1)
    with np.errstate(divide="ignore"):
        return int(np.argmin(np.where(lengths > 0.0, -needs / np.maximum(lengths, 1e-300), np.inf)))


def _most_needy(
    unit: Float[np.ndarray, "R d"], need: Float[np.ndarray, "R"]
) -> Int[np.ndarray, "w"]:
    """Return the rivals that are strongest at the mean, and on the way that all rows share."""
    way = unit.mean(axis=0)
    length = float(np.linalg.norm(way))
    ahead = need - 5.0 * (unit @ way) / length if length > 0.0 else need
    half = FIRST // 2
    return np.union1d(np.argsort(-need)[:half], np.argsort(-ahead)[:half])


def _least_distance(
    unit: Float[np.ndarray, "w d"], need: Float[np.ndarray, "w"]
) -> tuple[Float[np.ndarray, "d"], Float[np.ndarray, "w"]] | None:
    """Return the shortest point and the weight of each row in it, or None."""
    system = np.vstack([unit.T, need])
    wanted = np.zeros(len(system))
    wanted[-1] = 1.0
    dual, _ = nnls(system, wanted, maxiter=30 * system.shape[1])
    remainder = system @ dual - wanted
    if -remainder[-1] <= 1.0 / (1.0 + FAR**2):
        return None
    active = np.flatnonzero(dual > 0.0)
    # The active rows alone give the point to the last digits: it is their shortest solution.
    gram = unit[active] @ unit[active].T
    weights = np.zeros(len(dual))
    weights[active] = np.linalg.lstsq(gram, need[active], rcond=None)[0]
    return unit.T @ weights, weights


def _certified(
    unit: Float[np.ndarray, "R d"],
    need: Float[np.ndarray, "R"],
    working: Int[np.ndarray, "w"],
    point: Float[np.ndarray, "d"],
    weights: Float[np.ndarray, "w"],
    rows: Int[np.ndarray, "R"],
) -> Nearest:
    """Return the solution, or raise unless it is feasible, with weights >= 0 on tight rows only."""
    slack = unit @ point - need
    is_active = weights != 0.0
    residual = max(
        -float(slack.min()), -float(weights.min()),
        float(np.abs(slack[working][is_active]).max(initial=0.0)), 0.0,
    )  # fmt: skip
    if residual > 1e3 * TOLERANCE * (1.0 + float(np.linalg.norm(point))):
        raise NumericalError(
            f"the nearest winning point misses optimality by {residual!r}; give a larger ridge"
        )
    return Nearest(point=point, active=np.asarray(rows[working[is_active]]), residual=residual)
