"""What a rescaling is, and how one is had by name. Unit: nats."""

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from likely.errors import InputError, NumericalError
from likely.logic.events.registry import RESCALINGS
from likely.logic.events.statistics import Statistics, row_statistics

Smoothness = Literal["smooth", "kinks", "jumps"]
Parameters: TypeAlias = tuple[tuple[str, float | None], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rescaling:
    """A map from a next-token row and an event's tokens to the log-odds of the event.

    Attributes:
        name: In the registry `RESCALINGS`.
        id: ``R0`` to ``R11``.
        parameters: Names with values; None is a choice not taken.
        label: The name, with those parameters that are not the defaults.
        needs: The statistics it is a function of.
        function: From those to log-odds, differentiable.
        law: The law of the threshold.
        is_monotone: Whether it rises with the event's log-odds, the competitors' shares fixed.
        smoothness: As a function of the logits.
        saturates: Whether finite logits can give probability 1.
        ceiling: Log-odds at which the rescaling stops by a cap of its own.
        log_ratio: For ``ratio``, ``ratio_soft`` and ``minp``: the statistic that is the log of the
            top, such that they are functions of ``log_prob`` minus it alone; else None.
        of_log_ratio: That function.
    """

    name: str
    id: str
    parameters: Parameters
    label: str
    needs: tuple[str, ...]
    function: Callable[[Statistics], Float[Tensor, "E"]] = field(repr=False, compare=False)
    law: str
    is_monotone: bool = True
    smoothness: Smoothness = "smooth"
    saturates: bool = False
    ceiling: float = math.inf
    log_ratio: str | None = None
    of_log_ratio: Callable[[Float[Tensor, "E"]], Float[Tensor, "E"]] | None = field(
        default=None, repr=False, compare=False
    )

    def of_statistics(self, statistics: Statistics) -> Float[Tensor, "E"]:
        """Return the log-odds of events whose statistics are known, nats.

        Raises:
            InputError: A statistic that it needs is not there.
            NumericalError: A result is NaN.
        """
        missing = [need for need in self.needs if need not in statistics]
        if missing:
            raise InputError(f"the rescaling {self.label!r} needs the statistics {missing}, "
                             f"got {sorted(statistics)}")  # fmt: skip
        log_odds = self.function(statistics)
        if torch.isnan(log_odds).any():
            raise NumericalError(
                f"the rescaling {self.label!r} gave NaN; check the rows for NaN and +inf"
            )
        return log_odds

    def log_odds(
        self,
        log_probs: Float[Tensor, "E V"],
        members: Sequence[Sequence[int]],
        *,
        neutral: Float[Tensor, "E V"] | None = None,
        candidates: Sequence[Sequence[int]] | None = None,
    ) -> Float[Tensor, "E"]:
        """Return the log-odds of each event in its row, in float64; gradients flow to the rows.

        Args:
            log_probs: Normalised rows, one an event, nats.
            members: The tokens of each event; they count as one token.
            neutral: For ``pmi``: the rows after the neutral contexts.
            candidates: For ``closed``: for each event the tokens of all answers of its closed set;
                its own may be among them.

        Returns:
            Shape ``(E,)``, nats; ``+inf`` where the event is certain.

        Raises:
            ShapeError, InputError: As `row_statistics`; ``neutral`` or ``candidates`` missing; an
                event without other candidates.
            NumericalError: A result is NaN.

        >>> rows = torch.log(torch.tensor([[0.5, 0.3, 0.2]], dtype=torch.float64))
        >>> torch.sigmoid(rescaling("duel").log_odds(rows, [[1]])).round(decimals=4).tolist()
        [0.6075]
        """
        of_row = [need for need in self.needs if need not in ("log_neutral", "log_others")]
        statistics = row_statistics(log_probs, members, of_row)
        if "log_neutral" in self.needs:
            if neutral is None:
                raise InputError("the rescaling 'pmi' needs the neutral rows, got none")
            own = row_statistics(neutral, members, ["log_prob"])
            statistics["log_neutral"] = own["log_prob"]
        if "log_others" in self.needs:
            others = _other_tokens(members, candidates)
            statistics["log_others"] = row_statistics(log_probs, others, ["log_prob"])["log_prob"]
        return self.of_statistics(statistics)


def rescaling(name: str | Rescaling, **parameters: float | int | None) -> Rescaling:
    """Return a rescaling by name, with parameters other than its defaults.

    Args:
        name: In `RESCALINGS`; a rescaling is returned as it is.
        parameters: As the function of that name in this module has them.

    Raises:
        UnknownNameError: No such rescaling; the message has the closest names.
        InputError: A parameter that it does not have, or a value out of range.

    >>> rescaling("duel", tau=0.5).label
    'duel(tau=0.5)'
    """
    if isinstance(name, Rescaling):
        if parameters:
            raise InputError(f"give parameters with a name, not with {name.label!r}")
        return name
    make = RESCALINGS.load(name)
    known = list(inspect.signature(make).parameters)
    unknown = sorted(set(parameters) - set(known))
    if unknown:
        raise InputError(f"the rescaling {name!r} has the parameters {known}, got {unknown}")
    return make(**{key: None if value is None else float(value)
                   for key, value in parameters.items()})  # fmt: skip


def clamp_log_odds(
    log_odds: Float[Tensor, "*n"], *, epsilon: float
) -> tuple[Float[Tensor, "*n"], Bool[Tensor, "*n"]]:
    """Return log-odds with the probability kept in ``[epsilon, 1 - epsilon]``, and which it moved.

    Raises:
        InputError: Epsilon does not lie between 0 and 1/2.
    """
    if not 0.0 < epsilon < 0.5:
        raise InputError(f"a clamp lies between 0 and 1/2, got {epsilon!r}")
    limit = math.log1p(-epsilon) - math.log(epsilon)
    return log_odds.clamp(-limit, limit), log_odds.abs() > limit


def _other_tokens(
    members: Sequence[Sequence[int]], candidates: Sequence[Sequence[int]] | None
) -> list[list[int]]:
    if candidates is None:
        raise InputError("the rescaling 'closed' needs the candidates of each event, got none")
    others = [
        [token for token in dict.fromkeys(tokens) if token not in set(own)]
        for own, tokens in zip(members, candidates, strict=True)
    ]
    if not all(others):
        raise InputError(
            "a closed set needs an answer besides the event's own; give more candidates"
        )
    return others


def label(name: str, values: Mapping[str, float | None]) -> str:
    """Return the name with those parameters that are not the defaults of its function."""
    defaults = inspect.signature(RESCALINGS.load(name)).parameters
    changed = [
        f"{key}={value!r}" for key, value in values.items() if value != defaults[key].default
    ]
    return f"{name}({', '.join(changed)})" if changed else name


def check_parameter(
    name: str,
    value: float,
    *,
    above: float = -math.inf,
    below: float = math.inf,
    ends: bool = False,
) -> None:
    """Raise unless a parameter lies between two numbers.

    Args:
        name: ``rescaling.parameter``, for the message.
        value: What came.
        above: The lower end.
        below: The upper end.
        ends: Whether the ends themselves will do.

    Raises:
        InputError: It lies outside, or is NaN or infinite.
    """
    is_end = ends and value in (above, below)
    if not (math.isfinite(value) and (above < value < below or is_end)):
        words = "from {} to {}, ends included" if ends else "between {} and {}"
        raise InputError(f"{name} lies {words.format(above, below)}, got {value!r}")
