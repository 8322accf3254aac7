"""Log-probabilities of literals from log-odds, in nats, without cancellation at either end."""

import math

import torch
from jaxtyping import Float
from torch import Tensor

FLOOR = -1e30
"""Stands for log 0 while sums are taken, so that no difference of infinities arises."""

_LOG_HALF = -math.log(2.0)


def log_literals(
    log_odds: Float[Tensor, "*shape"],
) -> tuple[Float[Tensor, "*shape"], Float[Tensor, "*shape"]]:
    """Return ``log p`` and ``log(1 - p)`` of events with these log-odds.

    Args:
        log_odds: Nats; ``-inf`` and ``+inf`` are the impossible and the certain event.

    Returns:
        Both in nats, at most 0, each accurate to its last digits; ``-inf`` is legal.

    >>> [round(float(x), 6) for x in log_literals(torch.tensor(0.0, dtype=torch.float64))]
    [-0.693147, -0.693147]
    """
    rest = torch.log1p(torch.exp(-log_odds.abs()))
    return log_odds.clamp(max=0.0) - rest, (-log_odds).clamp(max=0.0) - rest


def log1mexp(log_prob: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """Return ``log(1 - exp(log_prob))`` without cancellation; `likely.core.logspace` for tensors.

    Args:
        log_prob: Nats, at most 0; ``-inf`` is allowed.

    Returns:
        Nats; ``-inf`` where ``log_prob`` is 0. Differentiable below 0.

    Sources:
        Maechler (2012), "Accurately computing log(1 - exp(-|a|))": the switch at log 2.
    """
    is_near = log_prob > _LOG_HALF
    near = torch.where(is_near, log_prob, -1.0)  # the branch not taken must not spoil gradients
    far = torch.where(is_near, -1.0, log_prob)
    return torch.where(is_near, torch.log(-torch.expm1(near)), torch.log1p(-torch.exp(far)))
