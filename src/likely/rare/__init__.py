"""How likely is an output that nobody has seen? Down to 1e-12, with an honest interval.

```python
import likely
from likely import rare

model = likely.load("tiny-2l")
law = rare.independent([{" the": 3, " a": 1}, {" dog": 1, " cat": 1}], model)
found = rare.estimate(model, law, " is", method="naive", budget=4096)
print(found.summary())
```
"""

from typing import TYPE_CHECKING

from likely.lazy import lazy_names

if TYPE_CHECKING:
    from likely.rare.distribution import IndependentDistribution as IndependentDistribution
    from likely.rare.distribution import InputDistribution as InputDistribution
    from likely.rare.distribution import ListedDistribution as ListedDistribution
    from likely.rare.distribution import independent as independent
    from likely.rare.distribution import listed as listed
    from likely.rare.estimation import estimate as estimate
    from likely.rare.estimation import estimate_many as estimate_many
    from likely.rare.event import Event as Event
    from likely.rare.event import any_of as any_of
    from likely.rare.event import continuation as continuation
    from likely.rare.event import token as token
    from likely.rare.extremes import Forecast as Forecast
    from likely.rare.gld import Gld as Gld
    from likely.rare.method import METHODS as METHODS
    from likely.rare.naive import Naive as Naive
    from likely.rare.outputs import OutputEstimate as OutputEstimate
    from likely.rare.outputs import Writing as Writing
    from likely.rare.outputs import output_probability as output_probability
    from likely.rare.proposal import ProposalImportance as ProposalImportance
    from likely.rare.qld.method import Qld as Qld
    from likely.rare.result import RareEstimate as RareEstimate
    from likely.rare.result import Spent as Spent
    from likely.rare.support import Support as Support

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "distribution": (
            "IndependentDistribution",
            "InputDistribution",
            "ListedDistribution",
            "independent",
            "listed",
        ),
        "estimation": ("estimate", "estimate_many"),
        "event": ("Event", "any_of", "continuation", "token"),
        "extremes": ("Forecast",),
        "gld": ("Gld",),
        "method": ("METHODS",),
        "naive": ("Naive",),
        "outputs": ("OutputEstimate", "Writing", "output_probability"),
        "proposal": ("ProposalImportance",),
        "qld.method": ("Qld",),
        "result": ("RareEstimate", "Spent"),
        "support": ("Support",),
    },
)
