"""Small laws of activations with output layers, and counts of all pairs one by one."""

import numpy as np

from likely.rare.event import Event, margins
from likely.rare.qld.cloud import Cloud
from likely.rare.qld.decomposition import intervals, largest_intervals
from likely.rare.qld.sampling import count_pairs
from likely.rare.qld.split import split
from likely.rare.qld.survey import survey
from likely.rare.qld.survival import Counted


def winning(*tokens, above=0.0):
    """Return the event that one of some tokens wins."""
    return Event(name="wins", steps=(tokens,), above=above)


def gaussian(n, *, d=5, n_tokens=12, seed=0, world=0, ridge=0.0):
    """Return a cloud of Gaussian activations; the law and the layer are those of ``world``."""
    layout = np.random.default_rng([7, world])
    mix = layout.standard_normal((d, d)) / np.sqrt(d)
    centre = layout.standard_normal(d)
    weight = layout.standard_normal((n_tokens, d))
    bias = 0.5 * layout.standard_normal(n_tokens)
    rng = np.random.default_rng([world, seed])
    return Cloud.of(rng.standard_normal((n, d)) @ mix.T + centre, weight, bias, ridge=ridge)


def exact_gaussian(n, *, d=5, n_tokens=12, world=0):
    """Return points of the standard normal law with the layer in that law's own coordinates."""
    layout = np.random.default_rng([7, world])
    mix = layout.standard_normal((d, d)) / np.sqrt(d)
    centre = layout.standard_normal(d)
    weight = layout.standard_normal((n_tokens, d))
    bias = 0.5 * layout.standard_normal(n_tokens)
    points = np.random.default_rng([11, world]).standard_normal((n, d))
    return Cloud(points=points, weight=weight @ mix, offset=weight @ centre + bias)


def pair_hits(cloud, direction, event):
    """Return for every rest i and every part k whether their sum makes the event happen."""
    along = cloud.points @ direction
    hits = np.empty((len(along), len(along)), dtype=bool)
    for i, point in enumerate(cloud.points):
        moved = point + (along - along[i])[:, None] * direction
        hits[i] = margins(moved @ cloud.weight.T + cloud.offset, event.winners) > event.above
    return hits


def split_of(cloud, event):
    """Return the split of one event."""
    return split(cloud, [event])[0]


def intervals_of(parts, cloud, law, *, negligible=None):
    """Return the intervals of one event."""
    if negligible is None:
        return intervals([parts], survey(cloud, []), [law])[0]
    return largest_intervals(parts, survey(cloud, []), law, negligible=negligible)


def pairs_of(cloud, event):
    """Return the split of an event, its intervals and its pairs."""
    parts = split_of(cloud, event)
    law = Counted(values=parts.values)
    found = intervals_of(parts, cloud, law)
    return parts, found, count_pairs(parts, cloud, found, law)
