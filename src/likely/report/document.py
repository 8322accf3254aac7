"""The report: sections in order on one self-contained page. Unit: none of its own."""

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from likely._version import __version__
from likely.core.engine import Meter, Store
from likely.core.estimate import Cost
from likely.core.jsonio import dumps
from likely.core.model import LanguageModel
from likely.errors import InputError, UnknownNameError
from likely.report.render import render
from likely.report.section import PRESETS, SECTIONS, Job, Section, SectionMaker
from likely.runs.store import write_bytes

_NAME = re.compile(r"[a-z][a-z0-9-]*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A finished report.

    Attributes:
        model: Name of the model.
        fingerprint: Of the model.
        preset: As asked.
        seed: As asked.
        version: Of likely.
        made: When, ISO 8601 in UTC, to the second.
        sections: In the order of the page.
        wall_s: Seconds that it took, all in all.
    """

    model: str
    fingerprint: str
    preset: str
    seed: int
    version: str
    made: str
    sections: tuple[Section, ...]
    wall_s: float

    @property
    def cost(self) -> Cost:
        """What all sections cost together."""
        return sum((section.cost for section in self.sections), start=Cost())

    @property
    def html(self) -> str:
        """The page: one file, no script, nothing loaded from elsewhere."""
        return str(render("page.html", report=self))

    def to_dict(self) -> dict[str, object]:
        """Return the data of every section as a mapping for strict JSON."""
        return {
            "model": self.model,
            "fingerprint": self.fingerprint,
            "preset": self.preset,
            "seed": self.seed,
            "version": self.version,
            "made": self.made,
            "wall_s": self.wall_s,
            "cost": self.cost.to_dict(),
            "sections": {section.name: dict(section.data) for section in self.sections},
        }

    def to_json(self) -> str:
        """Return `to_dict` as strict JSON."""
        return dumps(self.to_dict())

    def summary(self) -> str:
        """Return one line for a person."""
        titles = ", ".join(section.title for section in self.sections)
        return f"{self.model}: {titles}; {self.cost.token_evaluations} token evaluations"

    def write(self, path: str | Path) -> None:
        """Write the page to ``path``: all of it, or nothing.

        Raises:
            StoreError: The folder is missing or cannot be written to, or the disk is full.
        """
        write_bytes(Path(path), self.html.encode("utf-8", errors="backslashreplace"))


def build(
    model: LanguageModel,
    *,
    preset: str = "smoke",
    seed: int = 0,
    cache: Store | None = None,
    meter: Meter | None = None,
    sections: Sequence[str | SectionMaker] | None = None,
) -> Report:
    """Return a report on ``model``.

    Args:
        model: Any adapter; what it cannot give is said on the page.
        preset: ``smoke`` (seconds) or ``full``.
        seed: Of every random stream.
        cache: A `ScoreCache`, off by default.
        meter: A progress meter.
        sections: Registry names or section objects; every section of `SECTIONS` by default. The
            page has them by their ``order``.

    Raises:
        UnknownNameError: No such preset or section.
        InputError: A section's name is no id, or comes twice.
        NumericalError, ServerError: As the model gives them; a report is whole or is not made.
    """
    if preset not in PRESETS:
        raise UnknownNameError.among("preset", preset, PRESETS)
    start = time.perf_counter()
    job = Job(preset=preset, seed=seed, cache=cache, meter=meter)
    wanted = SECTIONS.names() if sections is None else sections
    makers = [SECTIONS.load(item) if isinstance(item, str) else item for item in wanted]
    built = [maker.build(model, job) for maker in sorted(makers, key=lambda maker: maker.order)]
    _check_names([section.name for section in built])
    return Report(
        model=model.info.name,
        fingerprint=model.info.fingerprint,
        preset=preset,
        seed=seed,
        version=__version__,
        made=datetime.now(UTC).isoformat(timespec="seconds"),
        sections=tuple(built),
        wall_s=time.perf_counter() - start,
    )


def _check_names(names: Sequence[str]) -> None:
    for name in names:
        if not _NAME.fullmatch(name):
            raise InputError(
                f"a section's name is lower-case letters, digits and hyphens, got {name!r}"
            )
        if names.count(name) > 1:
            raise InputError(f"two sections are named {name!r}; rename one of them")
