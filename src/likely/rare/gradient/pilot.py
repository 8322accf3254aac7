"""Chooses the temperature of a tilt without knowing the truth. Unit: nats.

A guide learns at each temperature of a grid and then draws a few inputs more. All these draws
together, each weighted by the mixture that it may have come from, say what the variance under every
one of the guides would be: a cold guide that misses most of an event is found out by the hits of
the warmer ones. Where hits are too few, the inputs that came nearest stand in for them.
"""

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from likely.core.logspace import logsumexp
from likely.rare.gradient.guide import Batch, Guide, draw_batch, learn, log_ratio
from likely.rare.gradient.landscape import Landscape

GRID = (0.2, 0.3, 0.45, 0.67, 1.0, 1.5, 2.24, 3.34, 5.0)
"""Temperatures, about 1.5 times apart: those published, and a colder one."""
_LEARNING, _TRYING = 12, 4  # batches of a pilot at one temperature
LEAST_PILOT = len(GRID) * (_LEARNING + _TRYING)
"""Calls of the smallest pilot: batches of one input."""
_NEAREST = 5  # more would be of an easier event, which asks for a warmer tilt


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Pilot:
    """What to go on with.

    Attributes:
        temperature: The one chosen.
        guide: That has learnt at it.
        n_calls: Inputs that were read.
        n_plain: Those of them that were drawn from the law itself.
        n_plain_hits: Hits among these.
    """

    temperature: float
    guide: Guide
    n_calls: int
    n_plain: int
    n_plain_hits: int


def run_pilot(
    landscape: Landscape, n_calls: int, *, decay: float, gradient_share: float,
    rng: np.random.Generator,
) -> Pilot:  # fmt: skip
    """Return the temperature of the grid under which hits have the least estimated variance.

    Args:
        landscape: Reads inputs.
        n_calls: Inputs that may be read, at least `LEAST_PILOT`.
        decay: As in `Guide`.
        gradient_share: Of each batch, that gets slopes.
        rng: Draws them.
    """
    size = n_calls // LEAST_PILOT
    guides, tried, n_plain_hits = [], [], 0
    for temperature in GRID:
        guide = Guide.start(landscape.places, decay=decay)
        for number in range(_LEARNING):
            ratios = guide.log_ratios(landscape.places, temperature)
            n_slopes = math.ceil(gradient_share * size)
            batch = draw_batch(landscape, [ratios], [size], n_slopes=n_slopes, rng=rng)
            guide = learn(guide, landscape, batch)
            n_plain_hits += int(batch.hits.sum()) if number == 0 else 0
        ratios = guide.log_ratios(landscape.places, temperature)
        tried.append(draw_batch(landscape, [ratios], [_TRYING * size], n_slopes=0, rng=rng))
        guides.append(guide)
    ratios_of = [one.log_ratios(landscape.places, t) for one, t in zip(guides, GRID, strict=True)]
    best = int(np.argmin(_log_squares(ratios_of, tried)))
    return Pilot(
        temperature=GRID[best], guide=guides[best], n_calls=size * LEAST_PILOT,
        n_plain=size * len(GRID), n_plain_hits=n_plain_hits,
    )  # fmt: skip


def _log_squares(
    ratios_of: list[Float[np.ndarray, "P K"]], tried: list[Batch]
) -> Float[np.ndarray, "G"]:
    """Return the log of the mean square of weighted hits under each guide, nats."""
    choices = np.concatenate([batch.choices for batch in tried])
    margins = np.concatenate([batch.reading.margins for batch in tried])
    hits = np.concatenate([batch.hits for batch in tried])
    if hits.sum() < _NEAREST:
        hits = margins >= np.sort(margins)[-_NEAREST]
    ratios = np.stack([log_ratio(one, choices)[hits] for one in ratios_of])
    log_weights = -logsumexp(ratios, axis=0)  # each guide drew as many
    return logsumexp(log_weights - ratios)
