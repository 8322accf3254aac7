"""Finds the best token of many states: exactly, most tokens ruled out in half precision. Nats.

Logits in bfloat16 are within a bound of those in float32 that follows from the norms of state and
weights. Only tokens within twice that bound of a row's best are scored in float32, so the best
token is the best, at a quarter of the time on processors that multiply bfloat16. Others do the
whole in float32; which is faster is tried once.
"""

import time

import torch
from jaxtyping import Bool, Float, Int

from likely.rare.network import Readout

_UNIT = 2.0**-9  # largest relative error of rounding to bfloat16
_ROWS = 512
_GROUP = 16  # tokens that are ruled out together

Best = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


class Screen:
    """The largest logit of normed states under an output layer, and whose it is.

    Args:
        readout: The output layer.

    Attributes:
        slack: How far two logits of a row may change places in bfloat16, nats.
    """

    def __init__(self, readout: Readout) -> None:
        self.weight, self.bias = readout.weight, readout.bias
        n_vocab, width = self.weight.shape
        self._n_groups = -(-n_vocab // _GROUP)
        n_more = self._n_groups * _GROUP - n_vocab
        # Token i + k * n_groups is the k-th of group i, so that maxima run over long rows.
        weight = torch.nn.functional.pad(self.weight, (0, 0, 0, n_more))
        bias = torch.nn.functional.pad(self.bias, (0, n_more), value=-torch.inf)
        self._half = weight.T.contiguous().to(torch.bfloat16)
        self._half_bias = bias.to(torch.bfloat16)
        # Kept from call to call: fresh memory of this size costs as much as what is done with it.
        self._rough = torch.empty(_ROWS, len(weight), dtype=torch.bfloat16)
        norm = float(self.weight.norm(dim=1).max()) * width**0.5  # of a unit: its mean square is 1
        shift = float(self.bias.abs().max())
        # Both factors are rounded, then the bias, then the sum; float32 sums add next to nothing.
        one_logit = (2 * _UNIT + _UNIT**2) * norm + _UNIT * shift
        one_logit += _UNIT * (norm + shift + one_logit)
        self.slack = 2.0 * one_logit * 1.01
        self._screens = self._is_faster()

    def winners(self, unit: Float[torch.Tensor, "n D"]) -> Int[torch.Tensor, "n"]:
        """Return the best token of each state; -1 where the best two are level.

        Args:
            unit: States after the norm, before its gain.
        """
        _, ids, is_level = self.best(unit)
        return ids.masked_fill(is_level, -1)

    def best(
        self,
        unit: Float[torch.Tensor, "n D"],
        *,
        without: Int[torch.Tensor, "n k"] | None = None,
    ) -> tuple[Float[torch.Tensor, "n"], Int[torch.Tensor, "n"], Bool[torch.Tensor, "n"]]:
        """Return the largest logit of each state, whose it is, and whether another is level.

        Args:
            unit: States after the norm, before its gain.
            without: Ids that are left out of each row.
        """
        find = self.screened if self._screens else self.whole
        parts: list[Best] = [
            find(unit[i : i + _ROWS], None if without is None else without[i : i + _ROWS])
            for i in range(0, len(unit), _ROWS)
        ]
        if not parts:
            return unit.new_empty(0), torch.empty(0, dtype=torch.int64), torch.empty(0) > 0
        values, ids, is_level = (torch.cat(column) for column in zip(*parts, strict=True))
        return values, ids, is_level

    def whole(
        self, unit: Float[torch.Tensor, "n D"], without: Int[torch.Tensor, "n k"] | None = None
    ) -> Best:
        """Return `best` from all logits in float32."""
        logits = torch.addmm(self.bias, unit, self.weight.T)
        if without is not None:
            logits.scatter_(1, without, -torch.inf)
        values, ids = logits.max(dim=1)
        return values, ids, (logits == values[:, None]).sum(dim=1) > 1

    def screened(
        self, unit: Float[torch.Tensor, "n D"], without: Int[torch.Tensor, "n k"] | None = None
    ) -> Best:
        """Return `best` from the logits that bfloat16 does not rule out."""
        n = len(unit)
        kept = self._rough[:n] if n <= _ROWS else None
        rough = torch.addmm(self._half_bias, unit.to(torch.bfloat16), self._half, out=kept)
        if without is not None:
            rough.scatter_(1, without, -torch.inf)
        grouped = rough.view(n, _GROUP, self._n_groups)
        tops = grouped.amax(dim=1).float()
        limit = tops.amax(dim=1) - self.slack
        rows, groups = (tops >= limit[:, None]).nonzero(as_tuple=True)
        at, place = (grouped[rows, :, groups].float() >= limit[rows, None]).nonzero(as_tuple=True)
        rows, ids = rows[at], groups[at] + self._n_groups * place
        fine = (unit[rows] * self.weight[ids]).sum(dim=1) + self.bias[ids]
        values = torch.full((n,), -torch.inf).scatter_reduce_(0, rows, fine, "amax")
        is_best = fine == values[rows]
        rows, ids = rows[is_best], ids[is_best]
        winners = torch.zeros(n, dtype=torch.int64).scatter_(0, rows, ids)
        return values, winners, torch.bincount(rows, minlength=n) > 1

    def _is_faster(self) -> bool:
        draw = torch.Generator().manual_seed(0)
        unit = torch.randn(_ROWS, self.weight.shape[1], generator=draw)
        seconds = []
        for find in (self.whole, self.screened):
            find(unit)
            start = time.perf_counter()
            find(unit)
            seconds.append(time.perf_counter() - start)
        return seconds[1] < seconds[0]
