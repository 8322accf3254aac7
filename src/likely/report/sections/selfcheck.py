"""Whether the scores depend on how they are computed. Unit: nats a token."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Protocol, cast

from likely.core.estimate import Cost
from likely.core.model import LanguageModel
from likely.errors import CapabilityError, InputError
from likely.report.render import render
from likely.report.section import Job, Section


class Check(Protocol):
    """One comparison of two ways to compute the same scores."""

    @property
    def name(self) -> str:
        """Short name."""
        ...

    @property
    def what(self) -> str:
        """What was compared, in one sentence."""
        ...

    @property
    def largest_difference(self) -> float:
        """Nats a token."""
        ...

    @property
    def limit(self) -> float:
        """Nats a token."""
        ...

    @property
    def passed(self) -> bool:
        """Whether the difference is within the limit."""
        ...

    @property
    def n(self) -> int:
        """How many scores were compared."""
        ...


class Checks(Protocol):
    """The result of `likely.self_check`."""

    @property
    def rows(self) -> Sequence[Check]:
        """One record a check."""
        ...

    @property
    def cost(self) -> Cost:
        """What they cost together."""
        ...


def run_self_check(model: LanguageModel) -> Checks:
    """Return `likely.self_check` of a model."""
    home = import_module("likely.core.selfcheck")
    return cast(Checks, home.self_check(model))


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfCheckSection:
    """The table of self-checks.

    Attributes:
        check: From a model to its checks.
    """

    check: Callable[[LanguageModel], Checks] = run_self_check
    name: str = "self-check"
    title: str = "Do the numbers depend on how they are computed?"
    order: int = 20

    def build(self, model: LanguageModel, job: Job) -> Section:
        """Return the section; a model that cannot be checked gets a notice."""
        try:
            checks = self.check(model)
        except (CapabilityError, InputError) as error:
            body = render("selfcheck.html", rows=(), n_failed=0, problem=str(error))
            return Section(
                name=self.name, title=self.title, body=body, data={"problem": str(error)}
            )
        n_failed = sum(not row.passed for row in checks.rows)
        return Section(
            name=self.name,
            title=self.title,
            body=render("selfcheck.html", rows=checks.rows, n_failed=n_failed, problem=None),
            data={"rows": [_to_dict(row) for row in checks.rows], "n_failed": n_failed},
            cost=checks.cost,
        )


def _to_dict(row: Check) -> dict[str, object]:
    return {
        "name": row.name,
        "what": row.what,
        "largest_difference": row.largest_difference,
        "limit": row.limit,
        "passed": row.passed,
        "n": row.n,
    }


SELF_CHECK = SelfCheckSection()
