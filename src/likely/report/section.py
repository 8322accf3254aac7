"""What a section of the report is, what it is built with, and the registry that finds it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from markupsafe import Markup

from likely.core.engine import Meter, Store
from likely.core.estimate import Cost
from likely.core.model import LanguageModel
from likely.core.registry import Registry

PRESETS = ("smoke", "full")
"""``smoke`` is read in seconds on a laptop; ``full`` is what one would print."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What one report is made with; every section gets the same.

    Attributes:
        preset: One of `PRESETS`.
        seed: Of every random stream, through `likely.generator(seed, <section name>, ...)`.
        cache: A `ScoreCache`, or None.
        meter: A progress meter in tokens, or None.
    """

    preset: str
    seed: int
    cache: Store | None = None
    meter: Meter | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One section as built: its HTML, the data of its figures, and its cost.

    Attributes:
        name: Its id on the page: lower-case letters, digits and hyphens.
        title: Its heading.
        body: HTML from `likely.report.render`; a plain string is escaped, so that it shows as text.
        data: What the figures show, for strict JSON; it is put on the page beside them.
        cost: What the model spent on it.
    """

    name: str
    title: str
    body: Markup | str
    data: Mapping[str, object]
    cost: Cost = field(default_factory=Cost)


@runtime_checkable
class SectionMaker(Protocol):
    """What a registry entry is: an object that knows its place and builds its section."""

    @property
    def name(self) -> str:
        """Id on the page, also the registry name."""
        ...

    @property
    def title(self) -> str:
        """Its heading."""
        ...

    @property
    def order(self) -> int:
        """Place on the page: 10 to 90 for the first part, 100 and above for studies."""
        ...

    def build(self, model: LanguageModel, job: Job) -> Section:
        """Return the section; what the model cannot give is said on the page, not raised."""
        ...


SECTIONS: Registry[SectionMaker] = Registry(
    "section",
    {
        "card": "likely.report.sections.card:CARD",
        "self-check": "likely.report.sections.selfcheck:SELF_CHECK",
        "reading": "likely.report.sections.reading:READING",
        "logic": "likely.report.sections.logic:LOGIC",
        "calibration": "likely.report.sections.calibration:CALIBRATION",
        "attribution": "likely.report.sections.attribution:ATTRIBUTION",
        "rare": "likely.report.sections.rare:RARE",
    },
    group="likely.sections",
)
"""Name to section. To add one: one file in `likely.report.sections`, one line in this table."""
