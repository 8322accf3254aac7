"""The figures of calibration by name. Unit: none of its own."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from likely.core.registry import Registry
from likely.report.figures.calibration.tables import Tables
from likely.report.figures.drawing import Drawing, Missing

Draw: TypeAlias = Callable[[Tables], Drawing | Missing]

_HOME = "likely.report.figures.calibration"

FIGURES: Registry[Draw] = Registry(
    "figure",
    {
        "mass": f"{_HOME}.bars:mass",
        "distance": f"{_HOME}.bars:distance",
        "entropy": f"{_HOME}.bars:entropy",
        "behaviours": f"{_HOME}.behaviour_map:behaviours",
        "reliability": f"{_HOME}.curves:reliability",
        "slope": f"{_HOME}.curves:slope",
        "plane": f"{_HOME}.planes:plane",
        "strengths": f"{_HOME}.strips:strengths",
        "frequency": f"{_HOME}.profiles:frequency",
        "profile": f"{_HOME}.profiles:profile",
        "mass_distance": f"{_HOME}.planes:mass_distance",
        "tuning": f"{_HOME}.planes:tuning",
        "bounds": f"{_HOME}.strips:bounds",
    },
)
"""Name to function, F1 to F13 in order."""


def draw(name: str, tables: Tables) -> Drawing | Missing:
    """Return one figure, or why there is none.

    Raises:
        UnknownNameError: No such figure.
        InputError: A table lacks a column.
    """
    return FIGURES.load(name)(tables)


def draw_all(
    tables: Tables, *, names: Sequence[str] | None = None
) -> tuple[Drawing | Missing, ...]:
    """Return the named figures in order, all of them by default, each drawn or missing."""
    return tuple(draw(name, tables) for name in (FIGURES.names() if names is None else names))
