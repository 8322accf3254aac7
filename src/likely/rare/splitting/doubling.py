"""Whether twice the steps at each level change the estimate. Unit: nats."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from likely.errors import InputError
from likely.rare.prior.protocol import Latent, Prior
from likely.rare.splitting.config import SplittingConfig
from likely.rare.splitting.drive import Streams, split_fixed
from likely.rare.splitting.levels import frozen
from likely.rare.splitting.lockstep import Scorer
from likely.rare.splitting.records import Splitting


@dataclass(frozen=True, slots=True, kw_only=True)
class Doubling:
    """The estimate with twice the steps against that with the steps there were.

    Attributes:
        log_ratio: Log of the one over the other; None if either is missing or 0.
        error: Its standard error, nats; None without replicates.
        doubled: The result with twice the steps: another estimate, and the better one.
    """

    log_ratio: float | None
    error: float | None
    doubled: Splitting


def double_steps(
    scorer: Scorer,
    prior: Prior | Latent,
    found: Sequence[Splitting],
    config: SplittingConfig,
    *,
    streams: Streams,
) -> tuple[Doubling, ...]:
    """Return what twice the steps give, at the levels and step sizes of the same pilots.

    Args:
        scorer: As before.
        prior: As before.
        found: Results of mode ``two_stage``, targets in their order.
        config: The configuration of those.
        streams: As before; the parts are named ``doubled replicate 0`` and so on.

    Raises:
        InputError: A result has no pilot.
    """
    pilots = [one.pilot for one in found if one.pilot is not None]
    if config.mode != "two_stage" or len(pilots) < len(found) or not pilots:
        raise InputError(
            f"steps are doubled for results of mode 'two_stage', got the mode {config.mode!r} and "
            f"{len(pilots)} pilots for {len(found)} results"
        )
    twice = split_fixed(
        scorer,
        prior,
        [frozen(pilot, threshold=config.threshold) for pilot in pilots],
        replace(config, n_steps=2 * config.n_steps),
        streams=lambda target, part: streams(target, f"doubled {part}"),
    )
    return tuple(_doubling(one, two) for one, two in zip(found, twice, strict=True))


def _doubling(one: Splitting, two: Splitting) -> Doubling:
    """Return the comparison of two results."""
    first, second = one.log_prob, two.log_prob
    errors = (one.combined.relative_error, two.combined.relative_error)
    if first is None or second is None or math.isinf(first) or math.isinf(second):
        return Doubling(log_ratio=None, error=None, doubled=two)
    known = [error for error in errors if error is not None]
    error = math.hypot(*known) if len(known) == 2 else None
    return Doubling(log_ratio=second - first, error=error, doubled=two)
