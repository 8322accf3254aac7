"""Figures for print, by matplotlib, each with its data beside it.

```python
from likely.report.figures import save_all
from likely.report.figures.calibration import draw_all, tables_of

save_all(draw_all(tables_of([evaluation])), "figures")
```
Names load when first used.
"""

from typing import TYPE_CHECKING

from likely.lazy import lazy_names

if TYPE_CHECKING:
    from likely.report.figures.drawing import Drawing as Drawing
    from likely.report.figures.drawing import Missing as Missing
    from likely.report.figures.drawing import save as save
    from likely.report.figures.drawing import save_all as save_all

__getattr__, __dir__, __all__ = lazy_names(
    __name__, {"drawing": ("Drawing", "Missing", "save", "save_all")}
)
