"""How far a law of activations misses what is still seen often enough to be counted. Unit: nats.

A method over activations replaces their law by another one. Where margins are less rare than the
event asked for, the sample itself says how likely they are; that the law agrees there proves
nothing further out, but that it disagrees is a warning.
"""

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

EXCEEDANCES = 100
"""Activations beyond the level at which law and sample are compared: 10 % of counting error."""
UNCHECKED = f"too few activations to check the law: {2 * EXCEEDANCES + 1} or more are needed"
LARGE = 0.5
"""Nats: a larger disagreement is a warning."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """The rarest margin that the sample can count.

    Attributes:
        margin: What the event's margin exceeds, nats; the event's own where that is common.
        log_share: Log of the share of activations whose margin does.
    """

    margin: float
    log_share: float


def observable(margins: Float[np.ndarray, "n"], above: float) -> Observed | None:
    """Return the level to compare at; None where the sample is too small for one.

    Args:
        margins: Shape ``(n,)``, nats.
        above: The event's own margin.
    """
    if len(margins) <= 2 * EXCEEDANCES:
        return None
    place = len(margins) - EXCEEDANCES - 1
    margin = min(float(np.partition(margins, place)[place]), above)
    share = float((margins > margin).mean())
    return Observed(margin=margin, log_share=math.log(share)) if share > 0.0 else None


def misfit_warnings(log_ratio: float, observed: Observed) -> tuple[str, ...]:
    """Return what a reader must know of a disagreement.

    Args:
        log_ratio: Log of the law's probability of that margin over the sample's share, nats.
        observed: The level.
    """
    if abs(log_ratio) <= LARGE:
        return ()
    size = math.exp(min(abs(log_ratio), 700.0))
    times = f"{size:.3g} times" if log_ratio > 0.0 else f"1/{size:.3g} of"
    return (
        f"the law of activations does not fit: where it can be checked, at a margin above "
        f"{observed.margin:.3g} nats, its probability is {times} the sample's",
    )
