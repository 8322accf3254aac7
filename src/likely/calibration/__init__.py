"""The study of calibration: do probabilities follow the numbers in the context?

```python
from likely import calibration

items = calibration.build("colors", preset="lite")
calibration.evaluate(model, items).summary()
```
Names load when first used.
"""

from typing import TYPE_CHECKING

from likely.lazy import lazy_names

if TYPE_CHECKING:
    from likely.calibration.family import FAMILIES as FAMILIES
    from likely.calibration.family import Family as Family
    from likely.calibration.family import build as build
    from likely.calibration.items import Item as Item
    from likely.calibration.items import Option as Option

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "family": ("FAMILIES", "Family", "build"),
        "items": ("Item", "Option"),
    },
)
