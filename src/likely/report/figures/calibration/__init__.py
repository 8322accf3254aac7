"""Figures F1 to F13 of the study of calibration. Names load when first used."""

from typing import TYPE_CHECKING

from likely.lazy import lazy_names

if TYPE_CHECKING:
    from likely.report.figures.calibration.from_evaluations import tables_of as tables_of
    from likely.report.figures.calibration.gallery import FIGURES as FIGURES
    from likely.report.figures.calibration.gallery import draw as draw
    from likely.report.figures.calibration.gallery import draw_all as draw_all
    from likely.report.figures.calibration.tables import Tables as Tables

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "from_evaluations": ("tables_of",),
        "gallery": ("FIGURES", "draw", "draw_all"),
        "tables": ("Tables",),
    },
)
