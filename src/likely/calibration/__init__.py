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
    from likely.calibration.chats import CHATS as CHATS
    from likely.calibration.chats import WRAPPERS as WRAPPERS
    from likely.calibration.family import FAMILIES as FAMILIES
    from likely.calibration.family import Family as Family
    from likely.calibration.family import build as build
    from likely.calibration.items import Item as Item
    from likely.calibration.items import Option as Option
    from likely.calibration.rescoring import Agreement as Agreement
    from likely.calibration.rescoring import agreement as agreement
    from likely.calibration.scored import Scored as Scored
    from likely.calibration.scored import ScoredBatch as ScoredBatch
    from likely.calibration.scoring import iter_scored as iter_scored
    from likely.calibration.scoring import score_items as score_items
    from likely.calibration.surface_kinds import KINDS as KINDS
    from likely.calibration.surface_kinds import option_surfaces as option_surfaces

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "chats": ("CHATS", "WRAPPERS"),
        "family": ("FAMILIES", "Family", "build"),
        "items": ("Item", "Option"),
        "rescoring": ("Agreement", "agreement"),
        "scored": ("Scored", "ScoredBatch"),
        "scoring": ("iter_scored", "score_items"),
        "surface_kinds": ("KINDS", "option_surfaces"),
    },
)
