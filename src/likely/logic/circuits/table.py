"""Probability of a formula as the sum over its models, for few variables and few models. Nats."""

import math

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from likely.logic.circuits.closed_forms import Slope
from likely.logic.circuits.literals import FLOOR, log_literals


class Table:
    """The models of a formula as a matrix: one row a model, its literals and what they exclude.

    Args:
        models: Which variables are true in each model; at least one model.
    """

    def __init__(self, models: Bool[np.ndarray, "m n"]) -> None:
        self.n_models, self.n = len(models), len(models[0])
        self._literals = torch.from_numpy(np.concatenate([models, ~models], axis=1))
        self._placed: dict[tuple[torch.dtype, torch.device], Tensor] = {}

    @property
    def width(self) -> int:
        """How many numbers an item takes."""
        return 4 * self.n + 2 * self.n_models

    def __call__(self, log_odds: Float[Tensor, "n B"]) -> tuple[Float[Tensor, "B"], Slope]:
        """Return log P of the formula and its slope (see `closed_forms`)."""
        literals = self._matrix(log_odds)
        log_probs = torch.cat(log_literals(log_odds)).clamp(min=FLOOR)
        weights = literals @ log_probs
        top = weights.amax(0)
        # From here on each model's weight relative to the heaviest, which loses nothing.
        weights = torch.exp(weights.sub_(top))
        total = weights.sum(0)
        value = (torch.log(total).add_(top)).masked_fill_(top < FLOOR / 2, -math.inf)

        def slope() -> Float[Tensor, "n B"]:
            holding = (literals.T @ weights) / total
            is_true, is_false = holding[: self.n], holding[self.n :]
            return is_true * torch.sigmoid(-log_odds) - is_false * torch.sigmoid(log_odds)

        return value, slope

    def _matrix(self, like: Tensor) -> Tensor:
        where = (like.dtype, like.device)
        if where not in self._placed:
            self._placed[where] = self._literals.to(dtype=like.dtype, device=like.device)
        return self._placed[where]
