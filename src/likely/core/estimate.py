"""What every number leaves as: a value with its interval, its unit, and what it cost."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Literal

from likely.errors import InputError

Unit = Literal["nats", "bits", "prob", "none"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What a result cost: token positions through the model, calls of it, and seconds.

    Attributes:
        token_evaluations: Token positions that went through the model, padding left out.
        model_calls: Forward passes, or requests to a server.
        seconds: Wall-clock time inside the model.
        cached: Requests answered from the score cache, at no token evaluation.
    """

    token_evaluations: int = 0
    model_calls: int = 0
    seconds: float = 0.0
    cached: int = 0

    def __add__(self, other: "Cost") -> "Cost":
        """Return the cost of both.

        >>> (Cost(token_evaluations=2) + Cost(token_evaluations=3, model_calls=1)).token_evaluations
        5
        """
        return Cost(
            token_evaluations=self.token_evaluations + other.token_evaluations,
            model_calls=self.model_calls + other.model_calls,
            seconds=self.seconds + other.seconds,
            cached=self.cached + other.cached,
        )

    def __sub__(self, before: "Cost") -> "Cost":
        """Return what was added since: the cost of a part of a job.

        >>> (Cost(token_evaluations=5) - Cost(token_evaluations=3)).token_evaluations
        2
        """
        return Cost(
            token_evaluations=self.token_evaluations - before.token_evaluations,
            model_calls=self.model_calls - before.model_calls,
            seconds=self.seconds - before.seconds,
            cached=self.cached - before.cached,
        )

    @classmethod
    def from_dict(cls, record: Mapping[str, object]) -> "Cost":
        """Return the cost that `to_dict` put into a record, whatever else that holds.

        Raises:
            InputError: A field is missing or no number.

        >>> Cost.from_dict({"id": "a", **Cost(model_calls=2).to_dict()}) == Cost(model_calls=2)
        True
        """
        names = ("token_evaluations", "model_calls", "seconds", "cached")
        found = {name: record.get(name) for name in names}
        tokens, calls, seconds, cached = found.values()
        if not (
            isinstance(tokens, int)
            and isinstance(calls, int)
            and isinstance(seconds, int | float)
            and isinstance(cached, int)
        ):
            raise InputError(f"a cost has the numbers {list(names)}, got {found!r}")
        return cls(
            token_evaluations=tokens, model_calls=calls, seconds=float(seconds), cached=cached
        )

    def to_dict(self) -> dict[str, float | int]:
        """Return the fields as a JSON-ready mapping."""
        return {
            "token_evaluations": self.token_evaluations,
            "model_calls": self.model_calls,
            "seconds": self.seconds,
            "cached": self.cached,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """An estimated number, its interval, and where both come from.

    Attributes:
        value: The point estimate, in ``unit``; ``-inf`` is legal for a log-probability.
        low: Lower end of the interval at ``level``.
        high: Upper end; ``low == value == high`` only if the method is exact.
        level: Coverage of the interval, in (0, 1]; 1 for exact numbers and hard bounds.
        unit: ``nats``, ``bits``, ``prob`` or ``none``.
        method: Name of the method, as in its registry.
        cost: What it took.
        diagnostics: Named figures a sceptic would ask for (effective sample size, hits, ...).

    Raises:
        InputError: A number is NaN, the ends are out of order, or the level is out of range.
    """

    value: float
    low: float
    high: float
    level: float
    unit: Unit
    method: str
    cost: Cost = field(default_factory=Cost)
    diagnostics: Mapping[str, float | int | str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if any(math.isnan(x) for x in (self.value, self.low, self.high)):
            raise InputError(
                f"an Estimate holds numbers, got {self.low}, {self.value}, {self.high}"
            )
        if not self.low <= self.value <= self.high:
            raise InputError(
                f"an Estimate needs low <= value <= high, got {self.low} {self.value} {self.high}"
            )
        if not 0.0 < self.level <= 1.0:
            raise InputError(f"the level of an Estimate lies in (0, 1], got {self.level!r}")

    @classmethod
    def exact(
        cls, value: float, *, unit: Unit, method: str, cost: Cost | None = None
    ) -> "Estimate":
        """Return an Estimate whose interval is the point itself.

        >>> Estimate.exact(0.5, unit="prob", method="enumeration").is_exact
        True
        """
        return cls(
            value=value, low=value, high=value, level=1.0, unit=unit, method=method,
            cost=cost or Cost(),
        )  # fmt: skip

    @property
    def is_exact(self) -> bool:
        """Whether the interval is a single point."""
        return self.low == self.value == self.high

    def within(self, low: float, high: float) -> "Estimate":
        """Return it with its interval cut to what the number can be; the value stays.

        Args:
            low: The least that the number can be.
            high: The most.

        >>> Estimate(
        ...     value=.5, low=-.1, high=1.1, level=.95, unit="prob", method="mc"
        ... ).within(0.0, 1.0).summary()
        '0.5 prob [0, 1] at 95% (mc)'
        """
        return replace(
            self,
            low=min(self.value, max(self.low, low)),
            high=max(self.value, min(self.high, high)),
        )

    def summary(self) -> str:
        """Return one line for a person.

        >>> Estimate(value=.5, low=.4, high=.6, level=.95, unit="prob", method="mc").summary()
        '0.5 prob [0.4, 0.6] at 95% (mc)'
        """
        if self.is_exact and self.level == 1.0:  # resamples that all agree prove nothing
            return f"{self.value:.6g} {self.unit} (exact, {self.method})"
        return (
            f"{self.value:.6g} {self.unit} [{self.low:.6g}, {self.high:.6g}] "
            f"at {self.level:.0%} ({self.method})"
        )

    def to_columns(self, name: str) -> dict[str, float]:
        """Return the value under a name, and the ends beside it, as columns of a table.

        >>> Estimate.exact(0.5, unit="prob", method="counted").to_columns("share")
        {'share': 0.5, 'share_low': 0.5, 'share_high': 0.5}
        """
        return {name: self.value, f"{name}_low": self.low, f"{name}_high": self.high}

    def to_dict(self) -> dict[str, object]:
        """Return the fields as a mapping that `likely.core.jsonio` writes as strict JSON."""
        return {
            "value": self.value,
            "low": self.low,
            "high": self.high,
            "level": self.level,
            "unit": self.unit,
            "method": self.method,
            "cost": self.cost.to_dict(),
            "diagnostics": dict(self.diagnostics),
        }


def estimate_names(record: type) -> tuple[str, ...]:
    """Return the names of a dataclass's fields that are estimates, in order.

    Args:
        record: A dataclass whose annotations are types, not texts.

    >>> @dataclass
    ... class Law:
    ...     mean: Estimate
    ...     n: int
    >>> estimate_names(Law)
    ('mean',)
    """
    return tuple(one.name for one in fields(record) if one.type is Estimate)
