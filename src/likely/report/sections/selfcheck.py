"""Whether the scores depend on how they are computed. Unit: nats a token."""

from collections.abc import Callable
from dataclasses import dataclass

from likely.core.model import LanguageModel
from likely.core.selfcheck import SelfCheck, self_check
from likely.errors import CapabilityError, InputError
from likely.report.render import render
from likely.report.section import Job, Section


@dataclass(frozen=True, slots=True, kw_only=True)
class SelfCheckSection:
    """The table of self-checks.

    Attributes:
        check: From a model to its checks.
    """

    check: Callable[[LanguageModel], SelfCheck] = self_check
    name: str = "self-check"
    title: str = "Do the numbers depend on how they are computed?"
    order: int = 20

    def build(self, model: LanguageModel, job: Job) -> Section:
        """Return the section; a model that cannot be checked gets a notice."""
        try:
            checks = self.check(model)
        except (CapabilityError, InputError) as error:
            problem = str(error)
            body = render("selfcheck.html", checks=None, n_failed=0, problem=problem)
            return Section(name=self.name, title=self.title, body=body, data={"problem": problem})
        n_failed = sum(not row.passed for row in checks.rows)
        return Section(
            name=self.name,
            title=self.title,
            body=render("selfcheck.html", checks=checks, n_failed=n_failed, problem=None),
            data=checks.to_dict(),
            cost=checks.cost,
        )


SELF_CHECK = SelfCheckSection()
