"""Which tokens of a prompt made a response likely? By Bayes' rule, every number with its error.

```python
import likely
from likely import attribution

model = likely.load("smollm2")
found = attribution.attribute(model, "What year did Albert Einstein visit Mars?", generate=20)
found.scores, found.substitutes(6)
```
"""

from typing import TYPE_CHECKING

from likely.lazy import lazy_names

if TYPE_CHECKING:
    from likely.attribution.baselines.integrate import Integrated as Integrated
    from likely.attribution.baselines.integrate import integrate_gradients as integrate_gradients
    from likely.attribution.baselines.record import BaselineScores as BaselineScores
    from likely.attribution.baselines.registry import BASELINES as BASELINES
    from likely.attribution.baselines.run import baseline as baseline
    from likely.attribution.case import Case as Case
    from likely.attribution.case import frame_case as frame_case
    from likely.attribution.checkpoints import Checkpoint as Checkpoint
    from likely.attribution.checkpoints import Reading as Reading
    from likely.attribution.checkpoints import Series as Series
    from likely.attribution.checkpoints import series as series
    from likely.attribution.circumstances import Sensitivity as Sensitivity
    from likely.attribution.circumstances import Variant as Variant
    from likely.attribution.circumstances import sensitivity as sensitivity
    from likely.attribution.comparison import ComparedText as ComparedText
    from likely.attribution.comparison import Comparison as Comparison
    from likely.attribution.comparison import compare as compare
    from likely.attribution.contrasts import Contrast as Contrast
    from likely.attribution.contrasts import ContrastPlace as ContrastPlace
    from likely.attribution.contrasts import contrast as contrast
    from likely.attribution.contrasts import contrast_cases as contrast_cases
    from likely.attribution.drawn import Draws as Draws
    from likely.attribution.drawn import Stability as Stability
    from likely.attribution.drawn import stability as stability
    from likely.attribution.faithfulness.average import MeanFaithfulness as MeanFaithfulness
    from likely.attribution.faithfulness.average import average_faithfulness as average_faithfulness
    from likely.attribution.faithfulness.measure import measure_faithfulness as measure_faithfulness
    from likely.attribution.faithfulness.record import Faithfulness as Faithfulness
    from likely.attribution.files import read_json as read_json
    from likely.attribution.files import read_npz as read_npz
    from likely.attribution.gathering import reference_cost as reference_cost
    from likely.attribution.groups import split_case as split_case
    from likely.attribution.measures import Measures as Measures
    from likely.attribution.merging import merge as merge
    from likely.attribution.mismatch import Gap as Gap
    from likely.attribution.mismatch import calibration_gap as calibration_gap
    from likely.attribution.mismatch import gap_of as gap_of
    from likely.attribution.question import attribute as attribute
    from likely.attribution.question import attribute_case as attribute_case
    from likely.attribution.replaced import Outcome as Outcome
    from likely.attribution.replaced import Replacement as Replacement
    from likely.attribution.replaced import Replacements as Replacements
    from likely.attribution.replacing import replacement as replacement
    from likely.attribution.result import Attribution as Attribution
    from likely.attribution.result import Place as Place
    from likely.attribution.result import Substitute as Substitute

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "question": ("attribute", "attribute_case"),
        "baselines.integrate": ("Integrated", "integrate_gradients"),
        "baselines.record": ("BaselineScores",),
        "baselines.registry": ("BASELINES",),
        "baselines.run": ("baseline",),
        "case": ("Case", "frame_case"),
        "checkpoints": ("Checkpoint", "Reading", "Series", "series"),
        "circumstances": ("Sensitivity", "Variant", "sensitivity"),
        "comparison": ("ComparedText", "Comparison", "compare"),
        "contrasts": ("Contrast", "ContrastPlace", "contrast", "contrast_cases"),
        "drawn": ("Draws", "Stability", "stability"),
        "faithfulness.average": ("MeanFaithfulness", "average_faithfulness"),
        "faithfulness.measure": ("measure_faithfulness",),
        "faithfulness.record": ("Faithfulness",),
        "files": ("read_json", "read_npz"),
        "gathering": ("reference_cost",),
        "groups": ("split_case",),
        "measures": ("Measures",),
        "merging": ("merge",),
        "mismatch": ("Gap", "calibration_gap", "gap_of"),
        "replaced": ("Outcome", "Replacement", "Replacements"),
        "replacing": ("replacement",),
        "result": ("Attribution", "Place", "Substitute"),
    },
)
