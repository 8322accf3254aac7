"""Finds the best token of many states, exactly: rough logits rule most tokens out. Unit: nats.

Rough logits are within a bound of the right ones that follows from the norms of state and weights,
and of what rounding takes off them. The tokens that remain are scored one by one, always by the
same sum. So an answer does not depend on how rough logits were made: in bfloat16, at a quarter of
the time on processors that multiply it, or in float32; which is faster is tried once.
"""

import time

import torch
from jaxtyping import Bool, Float, Int

from likely.rare.network import Readout

_ROWS = 512
_GROUP = 16  # tokens that are ruled out together
_SINGLE = 2.0**-24  # largest relative error of rounding to float32

Best = tuple[torch.Tensor, torch.Tensor, torch.Tensor]


class Screen:
    """The largest logit of normed states under an output layer, and whose it is.

    Args:
        readout: The output layer.
        dtype: Of the rough logits, bfloat16 or float32; None for the faster one.

    Attributes:
        dtype: Of the rough logits.
    """

    def __init__(self, readout: Readout, *, dtype: torch.dtype | None = None) -> None:
        self.weight, self.bias = readout.weight, readout.bias
        self._norm = float(self.weight.norm(dim=1).max())
        self._shift = float(self.bias.abs().max())
        self._use(torch.bfloat16 if dtype is None else dtype)
        if dtype is None and not self._is_faster_than_single():
            self._use(torch.float32)

    def _use(self, dtype: torch.dtype) -> None:
        self.dtype = dtype
        n_vocab, _ = self.weight.shape
        self._n_groups = -(-n_vocab // _GROUP)
        n_more = self._n_groups * _GROUP - n_vocab
        # Token i + k * n_groups is the k-th of group i, so that maxima run over long rows.
        weight = torch.nn.functional.pad(self.weight, (0, 0, 0, n_more))
        bias = torch.nn.functional.pad(self.bias, (0, n_more), value=-torch.inf)
        self._weight = weight.T.contiguous().to(dtype)
        self._bias = bias.to(dtype)
        self._lost = float((weight - weight.to(dtype).float()).norm(dim=1).max())
        # Kept from call to call: fresh memory of this size costs as much as what is done with it.
        self._rough = torch.empty(_ROWS, len(weight), dtype=dtype)

    def winners(self, unit: Float[torch.Tensor, "n D"]) -> Int[torch.Tensor, "n"]:
        """Return the best token of each state; -1 where the best two are level.

        Args:
            unit: States after the norm, before its gain: their mean square is 1 at most.
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
            unit: States after the norm, before its gain: their mean square is 1 at most.
            without: Ids that are left out of each row.
        """
        parts: list[Best] = [
            self._best(unit[i : i + _ROWS], None if without is None else without[i : i + _ROWS])
            for i in range(0, len(unit), _ROWS)
        ]
        if not parts:
            return unit.new_empty(0), torch.empty(0, dtype=torch.int64), torch.empty(0) > 0
        values, ids, is_level = (torch.cat(column) for column in zip(*parts, strict=True))
        return values, ids, is_level

    def logits(
        self, unit: Float[torch.Tensor, "n D"], ids: Int[torch.Tensor, "n"]
    ) -> Float[torch.Tensor, "n"]:
        """Return the logit of one token of each state, to the bit as `best` has it."""
        return (unit * self.weight[ids]).sum(dim=1) + self.bias[ids]

    def rough(self, unit: Float[torch.Tensor, "n D"]) -> Float[torch.Tensor, "n V"]:
        """Return rough logits of 512 states or fewer, in memory that the next call writes over.

        Columns beyond the vocabulary are ``-inf``.
        """
        return torch.addmm(
            self._bias, unit.to(self.dtype), self._weight, out=self._rough[: len(unit)]
        )

    def slack(
        self, unit: Float[torch.Tensor, "n D"], tops: Float[torch.Tensor, "n"]
    ) -> Float[torch.Tensor, "n"]:
        """Return by how much rough logits that compete may be in the wrong order, nats.

        Args:
            unit: The states.
            tops: The largest rough logit of each.
        """
        share = 0.5 * torch.finfo(self.dtype).eps
        width = unit.shape[1]
        lost = torch.linalg.vector_norm(unit - unit.to(self.dtype).float(), dim=1)
        # What rounding takes off the state, then off weights and bias; then sums in float32.
        error = lost * self._norm + width**0.5 * (1.0 + share) * self._lost
        error += 2.0 * share * self._shift
        error += 2.0 * (width + 2) * _SINGLE * (width**0.5 * self._norm + self._shift)
        # The product is rounded, and once more with the bias: shares of the logits at stake.
        twice = 2.02 * share
        slack: torch.Tensor = 2.02 * (error + twice * tops.abs()) / (1.0 - 2.0 * twice)
        return slack

    def _best(
        self, unit: Float[torch.Tensor, "n D"], without: Int[torch.Tensor, "n k"] | None
    ) -> Best:
        n, rough = len(unit), self.rough(unit)
        if without is not None:
            rough.scatter_(1, without, -torch.inf)
        grouped = rough.view(n, _GROUP, self._n_groups)
        tops = grouped.amax(dim=1).float()
        limit = tops.amax(dim=1)
        limit = limit - self.slack(unit, limit)
        rows, groups = (tops >= limit[:, None]).nonzero(as_tuple=True)
        at, place = (grouped[rows, :, groups].float() >= limit[rows, None]).nonzero(as_tuple=True)
        rows, ids = rows[at], groups[at] + self._n_groups * place
        fine = self.logits(unit[rows], ids)
        values = torch.full((n,), -torch.inf).scatter_reduce_(0, rows, fine, "amax")
        is_best = fine == values[rows]
        rows, ids = rows[is_best], ids[is_best]
        winners = torch.zeros(n, dtype=torch.int64).scatter_(0, rows, ids)
        return values, winners, torch.bincount(rows, minlength=n) > 1

    def _is_faster_than_single(self) -> bool:
        """Return whether the rough logits of the dtype take less time than those of float32."""
        draw = torch.Generator().manual_seed(0)
        unit = torch.randn(_ROWS, self.weight.shape[1], generator=draw)
        weight = self._weight.float()
        times = {}
        for name, one, by in (
            ("single", unit, weight), ("rough", unit.to(self.dtype), self._weight)
        ):  # fmt: skip
            torch.mm(one, by)
            start = time.perf_counter()
            torch.mm(one, by)
            times[name] = time.perf_counter() - start
        return times["rough"] < times["single"]
