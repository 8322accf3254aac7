"""The shortest way from the mean activation to where a token wins. Unit: standard deviations.

It is the projection of 0 on a polyhedron, a least-distance problem, which Lawson and Hanson turn
into non-negative least squares: an active-set method that ends at the exact solution or at a proof
that there is none. It runs on the most competitive rivals; all others are checked afterwards.
"""

import math
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
    """

    point: Float[np.ndarray, "d"]

    @property
    def distance(self) -> float:
        """Its length."""
        return float(np.linalg.norm(self.point))


def nearest_point(
    tokens: Float[np.ndarray, "V d"], winner: int, needs: Float[np.ndarray, "V"]
) -> Nearest | None:
    """Return the shortest ``u`` with ``(tokens[winner] - tokens) @ u >= needs``, or None.

    Args:
        tokens: Shape ``(V, d)``: the vector of each token.
        winner: Place of the winner.
        needs: Shape ``(V,)``: by how much its lead over each must grow from the mean on;
            ``-inf`` for those that it need not beat.

    Returns:
        None if there is no such point.

    Raises:
        NumericalError: The solution cannot be certified.

    Sources:
        Lawson and Hanson (1974), "Solving least squares problems", chapter 23, problem LDP.

    >>> tokens = np.array([[0.0, 0.0], [-2.0, 0.0], [0.0, -1.0]])
    >>> nearest_point(tokens, 0, np.array([-np.inf, 6.0, -1.0])).point.tolist()
    [3.0, 0.0]
    """
    products = tokens @ tokens[winner]
    lengths = _distances(tokens, winner, products)
    is_flat = lengths <= 1e-12 * max(float(lengths.max()), 1e-300)
    if (needs[is_flat] > 0.0).any():
        return None
    lengths[is_flat] = 1.0
    need = np.where(is_flat, -np.inf, needs / lengths)
    if not (need > 0.0).any():
        return Nearest(point=np.zeros(tokens.shape[1]))
    way = math.sqrt(float(products[winner]))
    gained = (products[winner] - products) / lengths
    working = _most_needy(need, 5.0 * gained / way if way > 0.0 else np.zeros(len(need)))
    for _ in range(_ROUNDS):
        unit = (tokens[winner] - tokens[working]) / lengths[working, None]
        solved = _least_distance(unit, need[working])
        if solved is None:
            return None
        point, weights = solved
        slack = (tokens[winner] @ point - tokens @ point) / lengths - need
        worst = np.argpartition(slack, min(MORE, len(slack) - 1))[:MORE]
        broken = worst[slack[worst] < -TOLERANCE * (1.0 + np.linalg.norm(point))]
        fresh = np.setdiff1d(broken, working)
        if len(fresh) == 0:
            return _certified(slack, working, point, weights)
        working = np.concatenate([working, fresh])
    raise NumericalError(
        f"the nearest winning point was not found in {_ROUNDS} rounds over {len(needs)} tokens; "
        "give a larger ridge"
    )


def _distances(
    tokens: Float[np.ndarray, "V d"], winner: int, products: Float[np.ndarray, "V"]
) -> Float[np.ndarray, "V"]:
    """Return how far each token's vector is from the winner's, without another such table."""
    squares = np.einsum("vd,vd->v", tokens, tokens)
    apart = squares - 2.0 * products + squares[winner]
    near = apart < 1e-6 * (squares + squares[winner])  # where digits cancel
    apart[near] = np.square(tokens[near] - tokens[winner]).sum(axis=1)
    return np.asarray(np.sqrt(apart))


def _most_needy(
    need: Float[np.ndarray, "V"], gained: Float[np.ndarray, "V"]
) -> Int[np.ndarray, "w"]:
    """Return the rivals that are strongest at the mean, and those strongest later.

    Args:
        need: By how much the lead over each must grow.
        gained: By how much it grows on the winner's own way, to where others fell behind.
    """
    half = min(FIRST // 2, len(need) - 1)
    firsts = [np.argpartition(-one, half)[:half] for one in (need, need - gained)]
    strongest = np.union1d(*firsts)
    return np.asarray(strongest[np.isfinite(need[strongest])])


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
    slack: Float[np.ndarray, "V"],
    working: Int[np.ndarray, "w"],
    point: Float[np.ndarray, "d"],
    weights: Float[np.ndarray, "w"],
) -> Nearest:
    """Return the solution, or raise unless it is feasible, with weights >= 0 on tight rows only."""
    is_active = weights != 0.0
    residual = max(
        -float(slack.min()), -float(weights.min()),
        float(np.abs(slack[working][is_active]).max(initial=0.0)), 0.0,
    )  # fmt: skip
    if residual > 1e3 * TOLERANCE * (1.0 + float(np.linalg.norm(point))):
        raise NumericalError(
            f"the nearest winning point misses optimality by {residual!r}; give a larger ridge"
        )
    return Nearest(point=point)
