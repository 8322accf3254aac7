"""What two faults of the released QLD code do to its estimates, on Gaussian activations or a model.

The released code (1) whitens ``a - mu A^-T`` where ``(a - mu) A^-T`` is meant, and (2) computes the
part of an activation that is not along the direction, and then bounds with the whole activation, so
that the part along the direction counts twice. Everything else here is as `likely.rare` has it: the
ridge, and the exact direction. On Gaussian activations the truth is known by integration:

    python docs/replication/rare_qld_faults.py
    python docs/replication/rare_qld_faults.py --model tiny-2l --budget 16384
"""

import argparse
import math
import sys

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import log_ndtr, ndtr

import likely
from likely import rare
from likely.rare.activations import collect
from likely.rare.method import Task
from likely.rare.qld.direction import nearest_point

VARIANTS = {
    "corrected": (True, True),
    "without projection": (True, False),
    "without centring": (False, True),
    "as released": (False, False),
}
"""Name to whether it centres before it whitens, and whether it takes the part along off."""

RIDGE = 1e-5
"""A share of the mean variance; the released code has an absolute number."""

Array = np.ndarray


def main() -> None:
    """Print a table of ratios to the truth, one row a token."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", help="a model instead of Gaussian activations")
    parser.add_argument("--budget", type=int, default=8192)
    parser.add_argument("--tokens", type=int, default=11)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    if arguments.model is None:
        rows = gaussian_rows(arguments.budget, arguments.tokens, seed=arguments.seed)
    else:
        rows = model_rows(arguments.model, arguments.budget, arguments.tokens, seed=arguments.seed)
    names = [*VARIANTS, "gld"]
    lines = ["| token | truth | " + " | ".join(names) + " |", "|---" * (len(names) + 2) + "|"]
    for token, log_truth, log_probs in rows:
        ratios = [f"{math.exp(log_probs[name] - log_truth):.3g}" for name in names]
        lines.append(f"| {token} | {math.exp(log_truth):.2e} | " + " | ".join(ratios) + " |")
    sys.stdout.write("\n".join(lines) + "\n")


def gaussian_rows(
    n: int, n_tokens: int, *, seed: int, d: int = 12, vocabulary: int = 40
) -> list[tuple[str, float, dict[str, float]]]:
    """Return for tokens of a Gaussian law the log of the truth and of each variant's estimate."""
    rng = np.random.default_rng(seed)
    mix = rng.standard_normal((d, d)) / math.sqrt(d)
    centre = rng.standard_normal(d)
    weight, bias = rng.standard_normal((vocabulary, d)), rng.standard_normal(vocabulary)
    activations = rng.standard_normal((n, d)) @ mix.T + centre
    points = rng.standard_normal((20_000, d))
    rows = []
    for token in range(vocabulary):
        log_truth = log_integral(points, weight @ mix, weight @ centre + bias, token)
        if log_truth is not None and math.log(1e-5) < log_truth < math.log(2e-3):
            rows.append((str(token), log_truth, every_variant(activations, weight, bias, token)))
    return rows[:n_tokens]


def model_rows(
    name: str, budget: int, n_tokens: int, *, seed: int
) -> list[tuple[str, float, dict[str, float]]]:
    """Return the same for tokens of a model, with counts of four times the inputs for the truth."""
    model = likely.load(name)
    rng = np.random.default_rng(seed)
    ids = rng.choice(np.arange(300, model.info.n_tokens), 300, replace=False).tolist()
    law = rare.independent([{token: 1.0 / (1.0 + i) for i, token in enumerate(ids)}] * 20, model)
    events = tuple(rare.token(token, model) for token in range(model.info.n_tokens))
    truths = rare.estimate_many(model, law, events, method="naive", budget=4 * budget, seed=seed)
    task = Task(model=model, distribution=law, events=events[:1], budget=budget, seed=seed)
    activations = collect(task)
    layer = activations.readout
    chosen = [one for one in truths if 20 <= one.log_prob.diagnostics["hits"] <= 400]
    return [
        (
            repr(one.event.name),
            one.log_prob.value,
            every_variant(
                activations.normed(), layer.weight.numpy(), layer.bias.numpy(), one.event.winners[0]
            ),
        )
        for one in chosen[:n_tokens]
    ]


def log_integral(points: Array, layer: Array, offset: Array, token: int) -> float | None:
    """Return the log-probability of a token with the part along the direction integrated out."""
    direction = heading(layer, offset, token)
    if direction is None:
        return None
    rests = points - (points @ direction)[:, None] * direction
    low, high = bounds(layer, offset, token, direction, rests)
    mass = np.where(low < high, ndtr(-low) - ndtr(-high), 0.0)
    return math.log(mass.mean()) if mass.any() else None


def every_variant(activations: Array, weight: Array, bias: Array, token: int) -> dict[str, float]:
    """Return the log-probability of a token by each variant, and by GLD as published."""
    found = {
        name: recombined(activations, weight, bias, token, centres=centres, projects=projects)
        for name, (centres, projects) in VARIANTS.items()
    }
    logits = activations @ weight.T + bias
    behind = logits[:, token] - logits.max(axis=1)
    return {**found, "gld": float(log_ndtr(behind.mean() / behind.std(ddof=1)))}


def recombined(
    activations: Array, weight: Array, bias: Array, token: int, *, centres: bool, projects: bool
) -> float:
    """Return the log of the share of pairs in which a token wins; ``-inf`` for none."""
    mean, covariance = activations.mean(axis=0), np.cov(activations.T, bias=True)
    ridge = RIDGE * np.trace(covariance) / len(mean)
    factor = np.linalg.cholesky(covariance + ridge * np.eye(len(mean)))
    layer, offset = weight @ factor, weight @ mean + bias
    direction = heading(layer, offset, token)
    if direction is None:
        return -math.inf
    if centres:
        points = solve_triangular(factor, (activations - mean).T, lower=True).T
    else:  # as it reads by the precedence of operators
        points = activations - solve_triangular(factor, mean, lower=True)
    parts = points @ direction
    rests = points - parts[:, None] * direction if projects else points
    ordered, count = np.sort(parts), 0
    for start in range(0, len(points), 512):
        low, high = bounds(layer, offset, token, direction, rests[start : start + 512])
        inside = np.searchsorted(ordered, high, "left") - np.searchsorted(ordered, low, "right")
        count += int(np.maximum(inside, 0).sum())
    return math.log(count) - 2.0 * math.log(len(points)) if count else -math.inf


def heading(layer: Array, offset: Array, token: int) -> Array | None:
    """Return the unit vector towards the nearest point at which a token wins."""
    needs = offset - offset[token]
    needs[token] = -np.inf
    nearest = nearest_point(layer, token, needs)
    if nearest is None or nearest.distance == 0.0:
        return None
    return np.asarray(nearest.point / nearest.distance)


def bounds(
    layer: Array, offset: Array, token: int, direction: Array, rests: Array
) -> tuple[Array, Array]:
    """Return between which positions along the direction a token wins, for each rest."""
    rivals = np.delete(np.arange(len(layer)), token)
    slopes = layer[token] - layer[rivals]
    growth = slopes @ direction
    ends = -(rests @ slopes.T + offset[token] - offset[rivals]) / growth
    low = np.where(growth > 0.0, ends, -np.inf).max(axis=1)
    return low, np.where(growth < 0.0, ends, np.inf).min(axis=1)


if __name__ == "__main__":
    main()
