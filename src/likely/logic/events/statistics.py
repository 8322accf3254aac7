"""The few numbers of a next-token row that every rescaling is a function of. Unit: nats.

The tokens of one event at one position, its *members*, are merged into one pseudo-token whose
probability is their sum; every other token is a *competitor*. All numbers are of that merged
distribution. Each is computed once in log space, without cancellation, and is differentiable.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import torch
from jaxtyping import Float, Int
from torch import Tensor

from likely.errors import InputError, ShapeError

Statistics: TypeAlias = Mapping[str, Float[Tensor, "E"]]
"""Names of statistics (see `ROW_STATISTICS`, `win`, `lose`, `soft_top`) to one number an event."""

ROW_STATISTICS = (
    "log_prob", "log_rest", "log_top", "entropy", "log_above", "log_below", "n_above"
)  # fmt: skip
"""Of the event; of all competitors together; of the likeliest token, merged; entropy, merged; of
the competitors likelier than the event; of the event and the competitors not likelier than it;
how many competitors are likelier."""

_CHUNK = 1 << 16  # numbers of a temporary array: 512 KiB, which a CPU cache holds
_FLOOR = -1e30  # stands for -inf where differences are taken, since -inf - -inf is NaN


def win(tau: float) -> str:
    """Return the name of the log-probability that the event wins a duel at temperature tau."""
    return f"win {tau!r}"


def lose(tau: float) -> str:
    """Return the name of the log-probability that the event loses a duel."""
    return f"lose {tau!r}"


def soft_top(beta: float) -> str:
    """Return the name of ``LSE(beta z) / beta``, the smooth maximum of the merged row."""
    return f"soft_top {beta!r}"


def log_sum(log_weights: Float[Tensor, "*rows V"]) -> Float[Tensor, "*rows"]:
    """Return the log of the sum over the last axis; rows of ``-inf`` give ``-inf``, gradient 0."""
    top = _shift(log_weights)
    return _log(torch.exp(log_weights - top[..., None]).sum(dim=-1)) + top


def row_statistics(
    log_probs: Float[Tensor, "E V"], members: Sequence[Sequence[int]], needs: Sequence[str]
) -> dict[str, Float[Tensor, "E"]]:
    """Return the statistics of each event in its row, in chunks of bounded memory.

    Args:
        log_probs: Normalised rows, one an event, nats; ``-inf`` is a probability of 0.
        members: The distinct tokens of each event, at least one.
        needs: Names of statistics.

    Raises:
        ShapeError: Not one set of members for each row.
        InputError: No members, an id that is out of range or given twice, an unknown statistic.
    """
    n_events, n_vocab = log_probs.shape
    _check_members(members, n_events, n_vocab)
    rows = log_probs.double()
    size = max(1, _CHUNK // n_vocab)
    chunks = [
        _measure(rows[start : start + size], members[start : start + size], needs)
        for start in range(0, n_events, size)
    ]
    return {need: torch.cat([chunk[need] for chunk in chunks]) for need in needs}


def _check_members(members: Sequence[Sequence[int]], n_events: int, n_vocab: int) -> None:
    if len(members) != n_events or not n_events:
        raise ShapeError(
            f"each row needs its event's tokens and there must be one, got {n_events} rows and "
            f"{len(members)} sets of tokens"
        )
    for tokens in members:
        if not tokens or len(set(tokens)) < len(tokens):
            raise InputError(f"an event needs distinct tokens, at least one, got {list(tokens)}")
        if min(tokens) < 0 or max(tokens) >= n_vocab:
            raise InputError(f"the ids of an event lie in 0..{n_vocab - 1}, got {list(tokens)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Merged:
    """Rows as event and competitors.

    Attributes:
        log_prob: Of the event.
        rest: Log-probabilities of the competitors, ``-inf`` in the places of the members.
        top: Largest of ``rest``, or 0 where all are ``-inf``; a constant, not differentiated.
        weights: ``exp(rest - top)``.
    """

    log_prob: Float[Tensor, "n"]
    rest: Float[Tensor, "n V"]
    top: Float[Tensor, "n"]
    weights: Float[Tensor, "n V"]

    @classmethod
    def of(cls, rows: Float[Tensor, "n V"], members: Sequence[Sequence[int]]) -> "_Merged":
        places = [(i, token) for i, tokens in enumerate(members) for token in tokens]
        index = torch.tensor(places, dtype=torch.int64, device=rows.device)
        impossible = rows.new_full((len(places),), -torch.inf)
        rest = rows.index_put((index[:, 0], index[:, 1]), impossible)
        top = _shift(rest)
        return cls(
            log_prob=_merge(rows, members),
            rest=rest,
            top=top,
            weights=torch.exp(rest - top[:, None]),
        )


def _merge(rows: Float[Tensor, "n V"], members: Sequence[Sequence[int]]) -> Float[Tensor, "n"]:
    width = max(len(tokens) for tokens in members)
    padded = [[*tokens, *[tokens[0]] * (width - len(tokens))] for tokens in members]
    index: Int[Tensor, "n width"] = torch.tensor(padded, dtype=torch.int64, device=rows.device)
    values = rows.gather(1, index)
    if width == 1:
        return values[:, 0]
    n_own = torch.tensor([len(tokens) for tokens in members], device=rows.device)
    is_padding = torch.arange(width, device=rows.device) >= n_own[:, None]
    return log_sum(values.masked_fill(is_padding, -torch.inf))


def _measure(
    rows: Float[Tensor, "n V"], members: Sequence[Sequence[int]], needs: Sequence[str]
) -> dict[str, Float[Tensor, "n"]]:
    merged = _Merged.of(rows, members)
    found: dict[str, Float[Tensor, "n"]] = {}
    for need in needs:
        if need in found:
            continue
        name, _, parameter = need.partition(" ")
        if name in _PLAIN and not parameter:
            found[need] = _PLAIN[name](merged)
        elif name in ("win", "lose") and parameter:
            tau = float(parameter)
            found[win(tau)], found[lose(tau)] = _duel(merged, tau)
        elif name == "soft_top" and parameter:
            found[need] = _soft_top(merged, float(parameter))
        else:
            raise InputError(f"no statistic named {need!r}; they are {list(ROW_STATISTICS)} "
                             "and those of win(tau), lose(tau), soft_top(beta)")  # fmt: skip
    return found


def _log_prob(merged: _Merged) -> Float[Tensor, "n"]:
    return merged.log_prob


def _log_rest(merged: _Merged) -> Float[Tensor, "n"]:
    return _log(merged.weights.sum(dim=-1)) + merged.top


def _log_top(merged: _Merged) -> Float[Tensor, "n"]:
    return torch.maximum(merged.log_prob, merged.rest.amax(dim=-1))


def _entropy(merged: _Merged) -> Float[Tensor, "n"]:
    finite = merged.rest.masked_fill(torch.isneginf(merged.rest), 0.0)
    others = torch.exp(merged.top) * (merged.weights * finite).sum(dim=-1)
    own = merged.log_prob.masked_fill(torch.isneginf(merged.log_prob), 0.0)
    return -others - torch.exp(merged.log_prob) * own


def _log_above(merged: _Merged) -> Float[Tensor, "n"]:
    is_above = merged.rest > merged.log_prob[:, None]
    return _log((merged.weights * is_above).sum(dim=-1)) + merged.top


def _log_below(merged: _Merged) -> Float[Tensor, "n"]:
    is_below = merged.rest <= merged.log_prob[:, None]
    below = _log((merged.weights * is_below).sum(dim=-1)) + merged.top
    return log_sum(torch.stack([merged.log_prob, below], dim=-1))


def _n_above(merged: _Merged) -> Float[Tensor, "n"]:
    return (merged.rest > merged.log_prob[:, None]).sum(dim=-1).double()


_PLAIN: dict[str, Callable[[_Merged], Float[Tensor, "n"]]] = {
    "log_prob": _log_prob,
    "log_rest": _log_rest,
    "log_top": _log_top,
    "entropy": _entropy,
    "log_above": _log_above,
    "log_below": _log_below,
    "n_above": _n_above,
}


def _duel(merged: _Merged, tau: float) -> tuple[Float[Tensor, "n"], Float[Tensor, "n"]]:
    """Return the logs of both chances, each a sum of positive terms.

    A token drawn from the row meets the event and wins with ``sigma((z_v - z_t) / tau)``; the event
    drawn itself wins.
    """
    lead = merged.rest.clamp(min=_FLOOR) - merged.log_prob.clamp(min=_FLOOR)[:, None]
    log_beaten = torch.nn.functional.logsigmoid(lead / tau)
    losing = log_sum(merged.rest + log_beaten)
    beating = log_sum(merged.rest + log_beaten - lead / tau)
    winning = log_sum(torch.stack([merged.log_prob, beating], dim=-1))
    return winning.masked_fill(torch.isneginf(merged.log_prob), -torch.inf), losing


def _soft_top(merged: _Merged, beta: float) -> Float[Tensor, "n"]:
    others = log_sum(beta * merged.rest)
    return log_sum(torch.stack([beta * merged.log_prob, others], dim=-1)) / beta


def _shift(log_weights: Float[Tensor, "*rows V"]) -> Float[Tensor, "*rows"]:
    top = log_weights.detach().amax(dim=-1)
    return top.masked_fill(torch.isneginf(top), 0.0)


def _log(total: Float[Tensor, "*rows"]) -> Float[Tensor, "*rows"]:
    """Return the logarithm, with gradient 0 where it is ``-inf``."""
    is_some = total > 0
    return torch.where(is_some, torch.log(torch.where(is_some, total, 1.0)), -torch.inf)
