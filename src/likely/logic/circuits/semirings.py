"""The most probable models of a graph: the best one, and the best k. Log-weights in nats."""

import math

import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from likely.logic.circuits.layers import Layer, Layers, Semiring, Terms, Values, to_edge
from likely.logic.circuits.literals import FLOOR


def _first_best(terms: Terms, _: Values) -> Terms:
    best = terms.argmax(0, keepdim=True)
    return torch.zeros_like(terms).scatter_(0, best, 1.0)


MAX = Semiring(plus=lambda terms: terms.amax(0), share=_first_best)
"""The best product: its log-weight, and 1 on each literal that it takes."""


def best_model(
    layers: Layers, log_pos: Float[Tensor, "n B"], log_neg: Float[Tensor, "n B"]
) -> tuple[Float[Tensor, "B"], Bool[Tensor, "n B"]]:
    """Return the log-weight of the heaviest model of a graph, and the model.

    Args:
        layers: Of any graph; it need not be smooth, since weights are taken relative to the
            heavier literal of each variable, and a skipped variable takes that.
        log_pos: Log-weights of the variables being true; ``-inf`` is legal.
        log_neg: Log-weights of their being false.

    Returns:
        Nats, ``-inf`` where no model has any weight (the model then means nothing), and which
        variables are true. Of equally heavy models, one.
    """
    heavier = torch.maximum(log_pos, log_neg)
    base = heavier.clamp(min=FLOOR)
    values, terms = layers.values(
        log_pos.clamp(min=FLOOR) - base, log_neg.clamp(min=FLOOR) - base, MAX
    )
    is_true, is_false = layers.flow(values, terms, MAX)
    chosen = (is_true > 0) | ((is_false == 0) & (log_pos > log_neg))
    return to_edge(values[layers.root]) + heavier.sum(0), chosen


def best_models(
    layers: Layers, k: int, log_pos: Float[Tensor, "n B"], log_neg: Float[Tensor, "n B"]
) -> tuple[Float[Tensor, "k B"], Bool[Tensor, "n k B"]]:
    """Return the log-weights of the ``k`` heaviest models of a graph, and the models.

    Args:
        layers: Of a smooth graph.
        k: How many, at least 1.
        log_pos: Log-weights of the variables being true; ``-inf`` is legal.
        log_neg: Log-weights of their being false.

    Returns:
        Nats, falling; ``-inf`` (and all variables false) where there are fewer models of any
        weight.
    """
    n, batch = log_pos.shape
    values = log_pos.new_full((layers.n_rows, k, batch), FLOOR)
    torch.clamp(log_pos, min=FLOOR, out=values[:n, 0])
    torch.clamp(log_neg, min=FLOOR, out=values[n : 2 * n, 0])
    values[2 * n, 0] = 0.0
    origins = []
    for layer in layers.on(values.device):
        primes, subs = values[layer.children]
        pairs = primes.unsqueeze(3) + subs.unsqueeze(2)
        # From (A, M, k, k, B): the pairs of ranks of all elements of a node side by side.
        flat = pairs.movedim(1, 0).flatten(1, 3)
        values[layer.start : layer.stop], origin = flat.topk(k, dim=1)
        origins.append(origin)
    ranks = torch.full((layers.n_rows, k, batch), -1, device=values.device)
    ranks[layers.root] = torch.arange(k, device=values.device)[:, None]
    for layer, origin in zip(reversed(layers.on(values.device)), reversed(origins), strict=True):
        _pass_down(ranks, layer, origin, k=k)
    best = to_edge(values[layers.root])
    return best, (ranks[:n] >= 0) & (best > -math.inf)


def _pass_down(
    ranks: Int64[Tensor, "R k B"], layer: Layer, origin: Int64[Tensor, "M k B"], *, k: int
) -> None:
    """Tell the children of the nodes in a layer which of their own best each trace takes."""
    block = ranks[layer.start : layer.stop]
    node, trace, item = (block >= 0).nonzero(as_tuple=True)
    taken = origin[node, block[node, trace, item], item]
    element = taken.div(k * k, rounding_mode="floor")
    primes, subs = layer.children
    ranks[primes[element, node], trace, item] = taken.div(k, rounding_mode="floor") % k
    ranks[subs[element, node], trace, item] = taken % k
