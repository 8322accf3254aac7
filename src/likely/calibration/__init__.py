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
    from likely.calibration.access import best_route as best_route
    from likely.calibration.access import check_lists as check_lists
    from likely.calibration.access import estimate_calls as estimate_calls
    from likely.calibration.access import repeat_spread as repeat_spread
    from likely.calibration.access import routes as routes
    from likely.calibration.batches import batch_tests as batch_tests
    from likely.calibration.batches import draw_batches as draw_batches
    from likely.calibration.biasing import biased_masses as biased_masses
    from likely.calibration.biasing import check_bias as check_bias
    from likely.calibration.family import FAMILIES as FAMILIES
    from likely.calibration.family import Family as Family
    from likely.calibration.family import build as build
    from likely.calibration.items import Item as Item
    from likely.calibration.items import Option as Option
    from likely.calibration.partial import partial_metrics as partial_metrics
    from likely.calibration.sampling import draw_counts as draw_counts
    from likely.calibration.sampling import sample_metrics as sample_metrics

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "access": ("best_route", "check_lists", "estimate_calls", "repeat_spread", "routes"),
        "batches": ("batch_tests", "draw_batches"),
        "biasing": ("biased_masses", "check_bias"),
        "family": ("FAMILIES", "Family", "build"),
        "items": ("Item", "Option"),
        "partial": ("partial_metrics",),
        "sampling": ("draw_counts", "sample_metrics"),
    },
)
