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
    from likely.calibration.choices import Choices as Choices
    from likely.calibration.choices import choice_regression as choice_regression
    from likely.calibration.digits import number_features as number_features
    from likely.calibration.family import FAMILIES as FAMILIES
    from likely.calibration.family import Family as Family
    from likely.calibration.family import build as build
    from likely.calibration.frequencies import NumberCounts as NumberCounts
    from likely.calibration.frequencies import count_numbers as count_numbers
    from likely.calibration.frequencies import frequency_gaps as frequency_gaps
    from likely.calibration.frequencies import read_counts as read_counts
    from likely.calibration.frequencies import zipf_counts as zipf_counts
    from likely.calibration.frequency_effects import FrequencyEffect as FrequencyEffect
    from likely.calibration.frequency_effects import FrequencyEffects as FrequencyEffects
    from likely.calibration.frequency_effects import covariate_effects as covariate_effects
    from likely.calibration.frequency_effects import frequency_effect as frequency_effect
    from likely.calibration.identities import Identities as Identities
    from likely.calibration.identities import MixedIdentities as MixedIdentities
    from likely.calibration.identities import mixed_strengths as mixed_strengths
    from likely.calibration.identities import option_strengths as option_strengths
    from likely.calibration.items import Item as Item
    from likely.calibration.items import Option as Option
    from likely.calibration.orders import OrderEffect as OrderEffect
    from likely.calibration.orders import order_effect as order_effect
    from likely.calibration.sensitivity import TemplateSensitivity as TemplateSensitivity
    from likely.calibration.sensitivity import template_sensitivity as template_sensitivity
    from likely.calibration.similarity import Similarity as Similarity
    from likely.calibration.similarity import model_similarity as model_similarity
    from likely.calibration.units import sampling_units as sampling_units
    from likely.calibration.variance import VarianceTable as VarianceTable
    from likely.calibration.variance import variance_table as variance_table

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "choices": (
            "Choices",
            "choice_regression",
        ),
        "digits": ("number_features",),
        "frequencies": (
            "NumberCounts",
            "count_numbers",
            "frequency_gaps",
            "read_counts",
            "zipf_counts",
        ),
        "frequency_effects": (
            "FrequencyEffect",
            "FrequencyEffects",
            "covariate_effects",
            "frequency_effect",
        ),
        "identities": (
            "Identities",
            "MixedIdentities",
            "mixed_strengths",
            "option_strengths",
        ),
        "orders": (
            "OrderEffect",
            "order_effect",
        ),
        "sensitivity": (
            "TemplateSensitivity",
            "template_sensitivity",
        ),
        "similarity": (
            "Similarity",
            "model_similarity",
        ),
        "units": ("sampling_units",),
        "variance": (
            "VarianceTable",
            "variance_table",
        ),
        "family": ("FAMILIES", "Family", "build"),
        "items": ("Item", "Option"),
    },
)
