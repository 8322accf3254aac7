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
    from likely.calibration.access.batches import batch_tests as batch_tests
    from likely.calibration.access.batches import draw_batches as draw_batches
    from likely.calibration.access.biasing import biased_masses as biased_masses
    from likely.calibration.access.biasing import check_bias as check_bias
    from likely.calibration.access.partial import partial_metrics as partial_metrics
    from likely.calibration.access.routes import best_route as best_route
    from likely.calibration.access.routes import check_lists as check_lists
    from likely.calibration.access.routes import estimate_calls as estimate_calls
    from likely.calibration.access.routes import repeat_spread as repeat_spread
    from likely.calibration.access.routes import routes as routes
    from likely.calibration.access.sampling import draw_counts as draw_counts
    from likely.calibration.access.sampling import sample_metrics as sample_metrics
    from likely.calibration.analyses.choices import Choices as Choices
    from likely.calibration.analyses.choices import choice_regression as choice_regression
    from likely.calibration.analyses.digits import number_features as number_features
    from likely.calibration.analyses.digits import varying as varying
    from likely.calibration.analyses.frequencies import NumberCounts as NumberCounts
    from likely.calibration.analyses.frequencies import count_numbers as count_numbers
    from likely.calibration.analyses.frequencies import frequency_gaps as frequency_gaps
    from likely.calibration.analyses.frequencies import read_counts as read_counts
    from likely.calibration.analyses.frequencies import zipf_counts as zipf_counts
    from likely.calibration.analyses.frequency_effects import FrequencyEffect as FrequencyEffect
    from likely.calibration.analyses.frequency_effects import FrequencyEffects as FrequencyEffects
    from likely.calibration.analyses.frequency_effects import covariate_effects as covariate_effects
    from likely.calibration.analyses.frequency_effects import frequency_effect as frequency_effect
    from likely.calibration.analyses.identities import Identities as Identities
    from likely.calibration.analyses.identities import MixedIdentities as MixedIdentities
    from likely.calibration.analyses.identities import mixed_strengths as mixed_strengths
    from likely.calibration.analyses.identities import option_strengths as option_strengths
    from likely.calibration.analyses.linked import LinkedShifts as LinkedShifts
    from likely.calibration.analyses.linked import distractor_shift as distractor_shift
    from likely.calibration.analyses.linked import linked_shifts as linked_shifts
    from likely.calibration.analyses.linked import scale_error as scale_error
    from likely.calibration.analyses.orders import OrderEffect as OrderEffect
    from likely.calibration.analyses.orders import order_effect as order_effect
    from likely.calibration.analyses.sensitivity import TemplateSensitivity as TemplateSensitivity
    from likely.calibration.analyses.sensitivity import template_sensitivity as template_sensitivity
    from likely.calibration.analyses.similarity import Similarity as Similarity
    from likely.calibration.analyses.similarity import model_similarity as model_similarity
    from likely.calibration.analyses.units import sampling_units as sampling_units
    from likely.calibration.analyses.variance import VarianceTable as VarianceTable
    from likely.calibration.analyses.variance import variance_table as variance_table
    from likely.calibration.analysis import FamilyAnalysis as FamilyAnalysis
    from likely.calibration.analysis import analyse as analyse
    from likely.calibration.assigners import BEHAVIOURS as BEHAVIOURS
    from likely.calibration.assigners import Rules as Rules
    from likely.calibration.baselines import BASELINES as BASELINES
    from likely.calibration.baselines import baseline_law as baseline_law
    from likely.calibration.baselines import baseline_table as baseline_table
    from likely.calibration.baselines import best_constant as best_constant
    from likely.calibration.baselines import measure_baseline as measure_baseline
    from likely.calibration.behaviours import Behaviour as Behaviour
    from likely.calibration.behaviours import Plane as Plane
    from likely.calibration.behaviours import classify as classify
    from likely.calibration.behaviours import classify_cells as classify_cells
    from likely.calibration.behaviours import plane as plane
    from likely.calibration.chats import CHATS as CHATS
    from likely.calibration.chats import WRAPPERS as WRAPPERS
    from likely.calibration.comparison import compare_models as compare_models
    from likely.calibration.data_sets.family import FAMILIES as FAMILIES
    from likely.calibration.data_sets.family import Family as Family
    from likely.calibration.data_sets.family import build as build
    from likely.calibration.data_sets.family import build_all as build_all
    from likely.calibration.data_sets.files import items_sha256 as items_sha256
    from likely.calibration.data_sets.files import iter_items as iter_items
    from likely.calibration.data_sets.files import read_items as read_items
    from likely.calibration.data_sets.files import write_items as write_items
    from likely.calibration.data_sets.items import Item as Item
    from likely.calibration.data_sets.items import Option as Option
    from likely.calibration.data_sets.lint_record import Lint as Lint
    from likely.calibration.data_sets.linting import lint as lint
    from likely.calibration.evaluation import Evaluation as Evaluation
    from likely.calibration.evaluation import evaluate as evaluate
    from likely.calibration.metrics import METRICS as METRICS
    from likely.calibration.metrics import measure as measure
    from likely.calibration.metrics import shares as shares
    from likely.calibration.probability_text import parse_probability as parse_probability
    from likely.calibration.regression import CalibrationRegression as CalibrationRegression
    from likely.calibration.regression import calibration_regression as calibration_regression
    from likely.calibration.remedies.comparison import RemedyReport as RemedyReport
    from likely.calibration.remedies.comparison import compare_remedies as compare_remedies
    from likely.calibration.remedies.comparison import try_remedies as try_remedies
    from likely.calibration.remedies.evidence import Evidence as Evidence
    from likely.calibration.remedies.evidence import evidence_of as evidence_of
    from likely.calibration.remedies.extras import gather_evidence as gather_evidence
    from likely.calibration.remedies.remedy import REMEDIES as REMEDIES
    from likely.calibration.remedies.remedy import Remedy as Remedy
    from likely.calibration.remedies.temperature import temperature_curve as temperature_curve
    from likely.calibration.remedies.tempering import tempered_masses as tempered_masses
    from likely.calibration.rescoring import Agreement as Agreement
    from likely.calibration.rescoring import agreement as agreement
    from likely.calibration.scored import Scored as Scored
    from likely.calibration.scored import ScoredBatch as ScoredBatch
    from likely.calibration.scoring import iter_scored as iter_scored
    from likely.calibration.scoring import score_items as score_items
    from likely.calibration.splits import TokenisationAudit as TokenisationAudit
    from likely.calibration.splits import tokenisation_audit as tokenisation_audit
    from likely.calibration.surface_kinds import KINDS as KINDS
    from likely.calibration.surface_kinds import option_surfaces as option_surfaces
    from likely.calibration.verbalised import StatedRevealed as StatedRevealed
    from likely.calibration.verbalised import compare_stated as compare_stated
    from likely.calibration.verbalised import join_revealed as join_revealed
    from likely.calibration.verbalised import stated_distribution as stated_distribution
    from likely.calibration.verbalised import stated_replies as stated_replies

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "access.batches": ("batch_tests", "draw_batches"),
        "access.biasing": ("biased_masses", "check_bias"),
        "access.partial": ("partial_metrics",),
        "access.routes": ("best_route", "check_lists", "estimate_calls", "repeat_spread", "routes"),
        "access.sampling": ("draw_counts", "sample_metrics"),
        "analyses.choices": ("Choices", "choice_regression"),
        "analyses.digits": ("number_features", "varying"),
        "analyses.frequencies": (
            "NumberCounts",
            "count_numbers",
            "frequency_gaps",
            "read_counts",
            "zipf_counts",
        ),
        "analyses.frequency_effects": (
            "FrequencyEffect",
            "FrequencyEffects",
            "covariate_effects",
            "frequency_effect",
        ),
        "analyses.identities": (
            "Identities",
            "MixedIdentities",
            "mixed_strengths",
            "option_strengths",
        ),
        "analyses.linked": ("LinkedShifts", "distractor_shift", "linked_shifts", "scale_error"),
        "analyses.orders": ("OrderEffect", "order_effect"),
        "analyses.sensitivity": ("TemplateSensitivity", "template_sensitivity"),
        "analyses.similarity": ("Similarity", "model_similarity"),
        "analyses.units": ("sampling_units",),
        "analyses.variance": ("VarianceTable", "variance_table"),
        "assigners": ("BEHAVIOURS", "Rules"),
        "baselines": (
            "BASELINES",
            "baseline_law",
            "baseline_table",
            "best_constant",
            "measure_baseline",
        ),
        "behaviours": ("Behaviour", "Plane", "classify", "classify_cells", "plane"),
        "chats": ("CHATS", "WRAPPERS"),
        "data_sets.family": ("FAMILIES", "Family", "build", "build_all"),
        "data_sets.files": ("items_sha256", "iter_items", "read_items", "write_items"),
        "data_sets.items": ("Item", "Option"),
        "data_sets.lint_record": ("Lint",),
        "data_sets.linting": ("lint",),
        "analysis": ("FamilyAnalysis", "analyse"),
        "comparison": ("compare_models",),
        "evaluation": ("Evaluation", "evaluate"),
        "metrics": ("METRICS", "measure", "shares"),
        "probability_text": ("parse_probability",),
        "regression": ("CalibrationRegression", "calibration_regression"),
        "remedies.comparison": ("RemedyReport", "compare_remedies", "try_remedies"),
        "remedies.evidence": ("Evidence", "evidence_of"),
        "remedies.extras": ("gather_evidence",),
        "remedies.remedy": ("REMEDIES", "Remedy"),
        "remedies.temperature": ("temperature_curve",),
        "remedies.tempering": ("tempered_masses",),
        "rescoring": ("Agreement", "agreement"),
        "scored": ("Scored", "ScoredBatch"),
        "scoring": ("iter_scored", "score_items"),
        "splits": ("TokenisationAudit", "tokenisation_audit"),
        "surface_kinds": ("KINDS", "option_surfaces"),
        "verbalised": (
            "StatedRevealed",
            "compare_stated",
            "join_revealed",
            "stated_distribution",
            "stated_replies",
        ),
    },
)
