"""Losses of an estimated probability p against the truth q, however small both are.

```python
from likely import rare

rare.loss.spb(3e-8, 7e-7, alpha=1.5)
```
Names load when first used.
"""

from typing import TYPE_CHECKING

from likely.lazy import lazy_names

if TYPE_CHECKING:
    from likely.rare.loss.data_set import LossSummary as LossSummary
    from likely.rare.loss.data_set import log_optimal_constant as log_optimal_constant
    from likely.rare.loss.data_set import mean_loss as mean_loss
    from likely.rare.loss.data_set import mean_loss_log as mean_loss_log
    from likely.rare.loss.data_set import optimal_constant as optimal_constant
    from likely.rare.loss.data_set import zero_penalty as zero_penalty
    from likely.rare.loss.floor import noise_floor as noise_floor
    from likely.rare.loss.kinds import ITAKURA_SAITO as ITAKURA_SAITO
    from likely.rare.loss.kinds import LOG_SQUARED as LOG_SQUARED
    from likely.rare.loss.kinds import LogSquared as LogSquared
    from likely.rare.loss.kinds import Loss as Loss
    from likely.rare.loss.kinds import Spb as Spb
    from likely.rare.loss.pointwise import EPSILON as EPSILON
    from likely.rare.loss.pointwise import itakura_saito as itakura_saito
    from likely.rare.loss.pointwise import log_spb as log_spb
    from likely.rare.loss.pointwise import log_squared_error as log_squared_error
    from likely.rare.loss.pointwise import spb as spb
    from likely.rare.loss.pointwise import spb_log as spb_log
    from likely.rare.loss.shape import asymmetry as asymmetry
    from likely.rare.loss.shape import log_relative as log_relative
    from likely.rare.loss.shape import relative as relative
    from likely.rare.loss.weights import log_shifted_weight as log_shifted_weight
    from likely.rare.loss.weights import shifted_weight as shifted_weight
    from likely.rare.loss.weights import weight as weight

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "data_set": (
            "LossSummary", "log_optimal_constant", "mean_loss", "mean_loss_log",
            "optimal_constant", "zero_penalty",
        ),
        "floor": ("noise_floor",),
        "kinds": ("ITAKURA_SAITO", "LOG_SQUARED", "LogSquared", "Loss", "Spb"),
        "pointwise": (
            "EPSILON", "itakura_saito", "log_spb", "log_squared_error", "spb", "spb_log",
        ),
        "shape": ("asymmetry", "log_relative", "relative"),
        "weights": ("log_shifted_weight", "shifted_weight", "weight"),
    },
)  # fmt: skip
