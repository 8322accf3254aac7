"""Whether a model's probabilities for related sentences hang together. Units: S, shares of bits."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from likely.core.model import LanguageModel
from likely.errors import CapabilityError, InputError
from likely.report.dots import Mark, Scale, marks
from likely.report.render import render
from likely.report.section import Job, Section

if TYPE_CHECKING:
    from likely.logic.account import Account
    from likely.report.beliefs import Beliefs

_FAMILIES = {"smoke": ("negation", "exclusivity", "paraphrase"), "full": None}
_ROWS = {"smoke": 12, "full": None}


@dataclass(frozen=True, slots=True, kw_only=True)
class Strip:
    """One family in the figure.

    Attributes:
        name: Of the family.
        marks: Its estimates as paths.
    """

    name: str
    marks: tuple[Mark, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """One event of an item, as the page shows it.

    Attributes:
        key: As the formula names it.
        before: The context.
        answer: The word that may follow.
        log_prob: That it counts as viable, nats.
        in_breach: What it is in the most probable breach.
    """

    key: str
    before: str
    answer: str
    log_prob: float
    in_breach: bool | None

    @property
    def prob(self) -> float:
        """The probability that it counts as viable."""
        return math.exp(self.log_prob)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogicSection:
    """Families of ProbCT: all of them, or a few rows of three."""

    name: str = "logic"
    title: str = "Do its beliefs hang together?"
    order: int = 110

    def build(self, model: LanguageModel, job: Job) -> Section:
        """Return the section; what the model cannot give is said in its place."""
        try:
            from likely.report.beliefs import read_beliefs
        except ImportError as error:
            return self._notice(f"this needs torch ({error}); run: pip install 'likely[logic]'")
        from likely.logic.probct.suites import FAMILIES

        names = _FAMILIES[job.preset] or FAMILIES
        try:
            beliefs = read_beliefs(model, names, job, n_rows=_ROWS[job.preset])
        except (CapabilityError, InputError) as error:
            return self._notice(str(error))
        scale, strips = _draw(beliefs)
        body = render(
            "logic.html",
            problem=None,
            beliefs=beliefs,
            scale=scale,
            strips=strips,
            breaches=[(family, _sentences(family.worst)) for family in beliefs.families],
            is_sample=_ROWS[job.preset] is not None,
        )
        return Section(
            name=self.name, title=self.title, body=body, data=beliefs.to_dict(), cost=beliefs.cost
        )

    def _notice(self, problem: str) -> Section:
        body = render("logic.html", problem=problem)
        return Section(name=self.name, title=self.title, body=body, data={"problem": problem})


def _draw(beliefs: "Beliefs") -> tuple[Scale, tuple[Strip, ...]]:
    series = {
        family.name: [
            ("opened", family.whole[beliefs.rescalings[0]].chance_corrected),
            ("closed", None if family.gap is None else family.gap.closed),
        ]
        for family in beliefs.families
    }
    found = [x for row in series.values() for _, x in row if x is not None]
    scale = Scale.around([end for x in found for end in (x.low, x.high)])
    strips = tuple(Strip(name=name, marks=marks(row, scale)) for name, row in series.items())
    return scale, strips


def _sentences(account: "Account") -> tuple[Sentence, ...]:
    breach = account.worst[0].assignment if account.worst else {}
    return tuple(
        Sentence(
            key=key,
            before=event.context,
            answer="/".join(answer.strip() for answer in event.answers),
            log_prob=float(-np.logaddexp(0.0, -event.log_odds[account.rescaling])),
            in_breach=breach.get(key),
        )
        for key, event in account.events.items()
    )


LOGIC = LogicSection()
