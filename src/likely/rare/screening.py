"""Finds the winning token of many states: exactly, most tokens ruled out in half precision. Nats.

Logits in bfloat16 are within a bound of those in float32 that follows from the norms of state and
weights. Only tokens within twice that bound of a row's best are scored in float32, so the winner
is the winner, at a quarter of the time on processors that multiply bfloat16. Others do the whole
in float32; which is faster is tried once.
"""

import time

import torch
from jaxtyping import Float, Int

from likely.rare.batches import unique_winners
from likely.rare.network import Readout

_UNIT = 2.0**-9  # largest relative error of rounding to bfloat16
_ROWS = 512
_GROUP = 16


class Winners:
    """Winners of normed states under an output layer.

    Tokens are taken in groups of `_GROUP`; a group whose best rough logit is too low is ruled out.

    Args:
        readout: The output layer.

    Attributes:
        slack: How far two logits of a row may change places in bfloat16, nats.
    """

    def __init__(self, readout: Readout) -> None:
        self.weight, self.bias = readout.weight, readout.bias
        n_vocab, width = self.weight.shape
        n_groups = -(-n_vocab // _GROUP)
        n_more = n_groups * _GROUP - n_vocab
        weight = torch.nn.functional.pad(self.weight, (0, 0, 0, n_more))
        bias = torch.nn.functional.pad(self.bias, (0, n_more), value=-torch.inf)
        # Token i + k * n_groups is the k-th of group i, so that maxima run over long rows.
        self._half = weight.T.contiguous().to(torch.bfloat16)
        self._half_bias = bias.to(torch.bfloat16)
        norm = float(self.weight.norm(dim=1).max()) * width**0.5  # of a unit: its mean square is 1
        shift = float(self.bias.abs().max())
        # Both factors are rounded, then the bias, then the sum; float32 sums add next to nothing.
        one_logit = (2 * _UNIT + _UNIT**2) * norm + _UNIT * shift
        one_logit += _UNIT * (norm + shift + one_logit)
        self.slack = 2.0 * one_logit * 1.01
        self._screens = self._is_faster()

    def of(self, unit: Float[torch.Tensor, "n D"]) -> Int[torch.Tensor, "n"]:
        """Return the winner of each state; -1 where the best two are level.

        Args:
            unit: States after the norm, before its gain.
        """
        find = self.screened if self._screens else self.whole
        parts = [find(unit[start : start + _ROWS]) for start in range(0, len(unit), _ROWS)]
        return torch.cat([torch.empty(0, dtype=torch.int64), *parts])

    def whole(self, unit: Float[torch.Tensor, "n D"]) -> Int[torch.Tensor, "n"]:
        """Return the same from all logits in float32."""
        return unique_winners(torch.addmm(self.bias, unit, self.weight.T))

    def screened(self, unit: Float[torch.Tensor, "n D"]) -> Int[torch.Tensor, "n"]:
        """Return the same from the logits that bfloat16 does not rule out."""
        grouped = torch.addmm(self._half_bias, unit.to(torch.bfloat16), self._half)
        grouped = grouped.view(len(unit), _GROUP, -1)
        tops = grouped.amax(dim=1).float()
        limit = tops.amax(dim=1) - self.slack
        rows, groups = (tops >= limit[:, None]).nonzero(as_tuple=True)
        at, place = (grouped[rows, :, groups].float() >= limit[rows, None]).nonzero(as_tuple=True)
        rows, ids = rows[at], groups[at] + tops.shape[1] * place
        fine = (unit[rows] * self.weight[ids]).sum(dim=1) + self.bias[ids]
        best = torch.full((len(unit),), -torch.inf).scatter_reduce_(0, rows, fine, "amax")
        is_best = fine == best[rows]
        rows, ids = rows[is_best], ids[is_best]
        winners = torch.zeros(len(unit), dtype=torch.int64).scatter_(0, rows, ids)
        return winners.masked_fill_(torch.bincount(rows, minlength=len(unit)) > 1, -1)

    def _is_faster(self) -> bool:
        unit = torch.randn(_ROWS, self.weight.shape[1], generator=torch.Generator().manual_seed(0))
        seconds = []
        for find in (self.whole, self.screened):
            find(unit)
            start = time.perf_counter()
            find(unit)
            seconds.append(time.perf_counter() - start)
        return seconds[1] < seconds[0]
