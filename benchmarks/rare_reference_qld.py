"""A plain re-implementation of quadratic logit decomposition from its published formulas.

It is what `likely rare` is timed against: logits of every block for every target, bounds over the
whole vocabulary, and a search for the direction by projection onto one violated constraint at a
time. It whitens and takes the part along the direction off, as the formulas say.
"""

import math
from dataclasses import dataclass

import torch

BLOCK = 512
RIDGE = 1e-5
STEPS = 20_000
SHRINKING = 200
SLACK = 1e-9


@dataclass(frozen=True)
class Reference:
    """Whitened activations and the logits ``u @ weight.T + offset``."""

    points: torch.Tensor
    weight: torch.Tensor
    offset: torch.Tensor


def prepare(activations: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor) -> Reference:
    """Return the sample and the layer in coordinates of unit covariance."""
    mean = activations.mean(dim=0)
    centred = activations - mean
    covariance = centred.T @ centred / len(activations)
    width = len(mean)
    ridge = RIDGE * covariance.trace() / width
    factor = torch.linalg.cholesky(covariance + ridge * torch.eye(width, dtype=covariance.dtype))
    points = torch.linalg.solve_triangular(factor, centred.T, upper=False).T
    return Reference(
        points=points.float().contiguous(),
        weight=(weight @ factor).float(),
        offset=(weight @ mean + bias).float(),
    )


def search_direction(
    reference: Reference, target: int, generator: torch.Generator
) -> torch.Tensor | None:
    """Return a short vector at which the target wins, or None if the steps do not find one."""
    slopes = reference.weight[target] - reference.weight
    leads = reference.offset[target] - reference.offset
    squares = slopes.square().sum(dim=1)
    point = torch.zeros(slopes.shape[1])
    for step in range(STEPS):
        gaps = slopes @ point + leads
        gaps[target] = math.inf
        broken = torch.nonzero(gaps < -SLACK).flatten()
        if len(broken) == 0:
            if step >= SHRINKING:
                return point
            point = 0.95 * point
            continue
        pick = broken[torch.randint(len(broken), (1,), generator=generator)].item()
        point = point - gaps[pick] / squares[pick] * slopes[pick] * (1.0 + 1e-6)
    return None


def log_probability(reference: Reference, target: int, direction: torch.Tensor) -> float:
    """Return the log of the share of pairs in which the target wins."""
    direction = direction / direction.norm()
    parts = reference.points @ direction
    ordered = parts.sort().values
    growth = reference.weight[target] @ direction - reference.weight @ direction
    growth[target] = 0.0  # rounding of its own must not bound it
    n, count = len(parts), 0
    for start in range(0, n, BLOCK):
        block = slice(start, start + BLOCK)
        rests = reference.points[block] - parts[block, None] * direction
        logits = rests @ reference.weight.T + reference.offset
        leads = logits[:, target : target + 1] - logits
        ends = -leads / growth
        low = torch.where(growth > 0.0, ends, -math.inf).amax(dim=1)
        high = torch.where(growth < 0.0, ends, math.inf).amin(dim=1)
        first = torch.searchsorted(ordered, low, right=True)
        after = torch.searchsorted(ordered, high)
        count += int((after - first).clamp(min=0).sum())
    return math.log(count) - 2.0 * math.log(n) if count else -math.inf
