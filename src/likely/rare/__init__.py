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
from likely.rare import loss as loss

if TYPE_CHECKING:
    from likely.rare.amls_inputs import AmlsInputs as AmlsInputs
    from likely.rare.description import Description as Description
    from likely.rare.description import describe as describe
    from likely.rare.elicitation import elicitation_scores as elicitation_scores
    from likely.rare.elicitation import forecast_largest as forecast_largest
    from likely.rare.estimation import estimate as estimate
    from likely.rare.estimation import estimate_many as estimate_many
    from likely.rare.event import Event as Event
    from likely.rare.event import any_of as any_of
    from likely.rare.event import continuation as continuation
    from likely.rare.event import token as token
    from likely.rare.extremes import Forecast as Forecast
    from likely.rare.ga_amls import GaAmls as GaAmls
    from likely.rare.gld import Gld as Gld
    from likely.rare.ground_truth import Truth as Truth
    from likely.rare.ground_truth import enumerate_events as enumerate_events
    from likely.rare.ground_truth import truth as truth
    from likely.rare.inputs import IndependentDistribution as IndependentDistribution
    from likely.rare.inputs import InputDistribution as InputDistribution
    from likely.rare.inputs import ListedDistribution as ListedDistribution
    from likely.rare.inputs import independent as independent
    from likely.rare.inputs import listed as listed
    from likely.rare.itgis import Itgis as Itgis
    from likely.rare.method import METHODS as METHODS
    from likely.rare.mhis import Mhis as Mhis
    from likely.rare.naive import Naive as Naive
    from likely.rare.named import DISTRIBUTIONS as DISTRIBUTIONS
    from likely.rare.named import distribution as distribution
    from likely.rare.outputs import OutputEstimate as OutputEstimate
    from likely.rare.outputs import Writing as Writing
    from likely.rare.outputs import output_probability as output_probability
    from likely.rare.proposal import ProposalImportance as ProposalImportance
    from likely.rare.qld.method import Qld as Qld
    from likely.rare.recalibration import AffineFit as AffineFit
    from likely.rare.recalibration import fit_affine as fit_affine
    from likely.rare.recalibration import leave_one_out as leave_one_out
    from likely.rare.result import RareEstimate as RareEstimate
    from likely.rare.result import Spent as Spent
    from likely.rare.stored_truths import stored_truth as stored_truth
    from likely.rare.support import Support as Support
    from likely.rare.windows import prefixes as prefixes

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "amls_inputs": ("AmlsInputs",),
        "description": ("Description", "describe"),
        "elicitation": ("elicitation_scores", "forecast_largest"),
        "estimation": ("estimate", "estimate_many"),
        "event": ("Event", "any_of", "continuation", "token"),
        "extremes": ("Forecast",),
        "ga_amls": ("GaAmls",),
        "gld": ("Gld",),
        "ground_truth": ("Truth", "enumerate_events", "truth"),
        "inputs": (
            "IndependentDistribution",
            "InputDistribution",
            "ListedDistribution",
            "independent",
            "listed",
        ),
        "itgis": ("Itgis",),
        "method": ("METHODS",),
        "mhis": ("Mhis",),
        "naive": ("Naive",),
        "named": ("DISTRIBUTIONS", "distribution"),
        "outputs": ("OutputEstimate", "Writing", "output_probability"),
        "proposal": ("ProposalImportance",),
        "qld.method": ("Qld",),
        "recalibration": ("AffineFit", "fit_affine", "leave_one_out"),
        "result": ("RareEstimate", "Spent"),
        "stored_truths": ("stored_truth",),
        "support": ("Support",),
        "windows": ("prefixes",),
    },
    more=["loss"],
)
