"""Figures R1 to R4 of the study of rare events. Names load when first used."""

from typing import TYPE_CHECKING

from likely.lazy import lazy_names

if TYPE_CHECKING:
    from likely.report.figures.rare.gallery import FIGURES as FIGURES
    from likely.report.figures.rare.gallery import draw_all as draw_all
    from likely.report.figures.rare.levels import run_of_levels as run_of_levels

__getattr__, __dir__, __all__ = lazy_names(
    __name__, {"gallery": ("FIGURES", "draw_all"), "levels": ("run_of_levels",)}
)
