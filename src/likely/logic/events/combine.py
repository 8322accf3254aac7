"""From the steps of each event to its log-odds under one rescaling. Unit: nats."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float

from likely.core.logspace import log1mexp
from likely.errors import InputError
from likely.logic.events.answers import (
    Ids,
    Multi,
    Pair,
    average,
    log_shares,
    odds_of,
    pair_of,
    together,
)
from likely.logic.events.readings import Reading, Readings, Target
from likely.logic.events.rescale import Rescaling, clamp_log_odds


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """All events under one rescaling, as in `EventScores`."""

    log_odds: Float[np.ndarray, "N"]
    low: Float[np.ndarray, "N"]
    high: Float[np.ndarray, "N"]
    is_clamped: Bool[np.ndarray, "N"]


def combine(
    chosen: Rescaling,
    targets: Sequence[Target],
    readings: Readings,
    *,
    multi: Multi,
    clamp: float | None,
) -> Result:
    """Return the log-odds of each event.

    Args:
        chosen: The rescaling.
        targets: As they were read.
        readings: What was read.
        multi: As in `score_events`.
        clamp: As in `score_events`.
    """
    high = _side(chosen, targets, readings, 1, multi)
    low = high if _is_told(readings) else _side(chosen, targets, readings, 0, multi)
    middle = high if low is high else _middle(low, high)
    is_clamped = (middle >= chosen.ceiling) & np.isfinite(middle)
    if clamp is not None and (chosen.saturates or "log_others" in chosen.needs):
        may_move = np.array([chosen.saturates or target.is_alone for target in targets])
        is_clamped |= may_move & clamp_log_odds(torch.from_numpy(middle), epsilon=clamp)[1].numpy()
        middle, low, high = (
            np.where(may_move, clamp_log_odds(torch.from_numpy(x), epsilon=clamp)[0].numpy(), x)
            for x in (middle, low, high)
        )
    return Result(log_odds=middle, low=low, high=high, is_clamped=is_clamped)


def _is_told(readings: Readings) -> bool:
    """Return whether every number is known exactly."""
    has_told_steps = all(
        np.array_equal(worst, readings.best[name]) for name, worst in readings.worst.items()
    )
    ends = [end for reading in readings.items for end in (reading.log_prob, reading.log_others)]
    return has_told_steps and all(low == high for low, high in ends)


def _side(
    chosen: Rescaling,
    targets: Sequence[Target],
    readings: Readings,
    side: int,
    multi: Multi,
) -> Float[np.ndarray, "N"]:
    """Return all log-odds at the worst (0) or the best (1) for the event."""
    if "log_others" in chosen.needs:
        whole = {
            "log_prob": _tensor([reading.log_prob[side] for reading in readings.items]),
            "log_others": _tensor([reading.log_others[1 - side] for reading in readings.items]),
        }
        return _numpy(chosen.of_statistics(whole))
    columns = readings.worst if side == 0 else readings.best
    steps = {need: torch.from_numpy(columns[need]) for need in chosen.needs}
    if multi == "seq_ratio":
        return _by_ratio(chosen, targets, readings, steps, side)
    log_odds = _numpy(chosen.of_statistics(steps))
    return np.array(
        [
            _of_event(target.answer.sequences, reading, log_odds[start:stop].tolist(), side, multi)
            for target, reading, start, stop in zip(
                targets, readings.items, readings.offsets, readings.offsets[1:], strict=False
            )
        ]
    )


def _of_event(
    paths: Sequence[Ids], reading: Reading, steps: list[float], side: int, multi: Multi
) -> float:
    if len(steps) == 1 and reading.log_ends is None:
        return steps[0]  # one position: merged, then rescaled, and nothing to combine
    pairs = dict(zip(reading.token_log_probs, map(pair_of, steps), strict=True))
    values = [together([pairs[ids[:n]] for n in range(len(ids))], multi=multi) for ids in paths]
    return odds_of(_over_paths(paths, reading, values, side))


def _by_ratio(
    chosen: Rescaling,
    targets: Sequence[Target],
    readings: Readings,
    steps: Mapping[str, torch.Tensor],
    side: int,
) -> Float[np.ndarray, "N"]:
    """Return log-odds of the log ratios to the top, added up along each sequence, rescaled once."""
    if chosen.log_ratio is None or chosen.of_log_ratio is None:
        raise InputError(f"the rescaling {chosen.label!r} is no function of a ratio to the top")
    ratios = (steps["log_prob"] - steps[chosen.log_ratio]).tolist()
    sums: list[float] = []
    all_paths = [target.answer.sequences for target in targets]
    for paths, reading, start in zip(all_paths, readings.items, readings.offsets, strict=False):
        place = {node: start + i for i, node in enumerate(reading.token_log_probs)}
        sums += [sum(ratios[place[ids[:n]]] for n in range(len(ids))) for ids in paths]
    values = iter(_numpy(chosen.of_log_ratio(_tensor(sums))).tolist())
    return np.array(
        [
            odds_of(_over_paths(paths, reading, [pair_of(next(values)) for _ in paths], side))
            for paths, reading in zip(all_paths, readings.items, strict=True)
        ]
    )


def _over_paths(paths: Sequence[Ids], reading: Reading, values: Sequence[Pair], side: int) -> Pair:
    """Return the average of the values of the sequences, or what surely bounds it."""
    if reading.log_ends is not None:
        values = [
            together([value, (end, float(log1mexp(np.array(end))))], multi="conj")
            for value, end in zip(values, reading.log_ends, strict=True)
        ]
    if reading.is_censored:  # the weights are not known, but that they sum to 1
        return (min, max)[side](values, key=odds_of)
    return average(log_shares(paths, reading.token_log_probs), values)


def _middle(low: Float[np.ndarray, "N"], high: Float[np.ndarray, "N"]) -> Float[np.ndarray, "N"]:
    """Return the log-odds of the mean of both probabilities."""
    log_prob = np.logaddexp(-np.logaddexp(0.0, -low), -np.logaddexp(0.0, -high))
    log_not = np.logaddexp(-np.logaddexp(0.0, low), -np.logaddexp(0.0, high))
    return np.where(low == high, low, log_prob - log_not)


def _tensor(values: Sequence[float]) -> Float[torch.Tensor, "n"]:
    return torch.tensor(values, dtype=torch.float64)


def _numpy(tensor: torch.Tensor) -> Float[np.ndarray, "n"]:
    return np.asarray(tensor.numpy(), dtype=np.float64)
