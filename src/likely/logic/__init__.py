"""The study of constraints: which formulas over token predictions a model satisfies, and how far.

```python
from likely import logic

logic.satisfaction("a -> b", {"a": 0.9, "b": 0.2})
theory = logic.Theory.load("theory.yaml")
logic.evaluate(model, theory).summary()
```
Names load when first used; only those that compute on tensors bring torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from likely.logic.account import Account as Account
    from likely.logic.account import explain as explain
    from likely.logic.chance import Scores as Scores
    from likely.logic.chance import corpus_score as corpus_score
    from likely.logic.circuits.circuit import Circuit as Circuit
    from likely.logic.circuits.compile import compile as compile
    from likely.logic.circuits.nnf import read_nnf as read_nnf
    from likely.logic.circuits.sampling import estimate_log_prob as estimate_log_prob
    from likely.logic.dependence import frechet as frechet
    from likely.logic.evaluation import evaluate as evaluate
    from likely.logic.evaluation import evaluate_all as evaluate_all
    from likely.logic.event_odds import event_log_odds as event_log_odds
    from likely.logic.events import RESCALINGS as RESCALINGS
    from likely.logic.events import Event as Event
    from likely.logic.events import rescaling as rescaling
    from likely.logic.events import score_events as score_events
    from likely.logic.explanations import blame as blame
    from likely.logic.explanations import implication as implication
    from likely.logic.explanations import repair as repair
    from likely.logic.formula import Formula as Formula
    from likely.logic.formula import all_equal as all_equal
    from likely.logic.formula import count_of as count_of
    from likely.logic.formula import holds as holds
    from likely.logic.formula import var as var
    from likely.logic.formula import variables as variables
    from likely.logic.information import Informativeness as Informativeness
    from likely.logic.information import informativeness as informativeness
    from likely.logic.information import scores as scores
    from likely.logic.learning import ConstraintLoss as ConstraintLoss
    from likely.logic.learning import kl_anchor as kl_anchor
    from likely.logic.learning import preference_loss as preference_loss
    from likely.logic.nulls import base_rate_log_prob as base_rate_log_prob
    from likely.logic.nulls import permutation_null as permutation_null
    from likely.logic.parser import parse as parse
    from likely.logic.queries import conditional as conditional
    from likely.logic.queries import count_models as count_models
    from likely.logic.queries import entails as entails
    from likely.logic.queries import equivalent as equivalent
    from likely.logic.queries import log_satisfaction as log_satisfaction
    from likely.logic.queries import marginals as marginals
    from likely.logic.queries import pair_marginals as pair_marginals
    from likely.logic.queries import satisfaction as satisfaction
    from likely.logic.queries import sensitivities as sensitivities
    from likely.logic.results import Evaluation as Evaluation
    from likely.logic.theory import Theory as Theory
    from likely.logic.validation import validate as validate
    from likely.logic.weights import weighted as weighted
    from likely.logic.worlds import iter_models as iter_models
    from likely.logic.worlds import most_probable as most_probable
    from likely.logic.worlds import violations as violations

_HOMES = {
    "account": ["Account", "explain"],
    "chance": ["Scores", "corpus_score"],
    "circuits.circuit": ["Circuit"],
    "circuits.compile": ["compile"],
    "circuits.nnf": ["read_nnf"],
    "circuits.sampling": ["estimate_log_prob"],
    "evaluation": ["evaluate", "evaluate_all"],
    "event_odds": ["event_log_odds"],
    "events": ["Event", "RESCALINGS", "rescaling", "score_events"],
    "explanations": ["blame", "implication", "repair"],
    "formula": ["Formula", "all_equal", "count_of", "holds", "var", "variables"],
    "dependence": ["frechet"],
    "information": ["Informativeness", "informativeness", "scores"],
    "learning": ["ConstraintLoss", "kl_anchor", "preference_loss"],
    "nulls": ["base_rate_log_prob", "permutation_null"],
    "parser": ["parse"],
    "queries": [
        "conditional",
        "count_models",
        "entails",
        "equivalent",
        "log_satisfaction",
        "marginals",
        "pair_marginals",
        "satisfaction",
        "sensitivities",
    ],
    "results": ["Evaluation"],
    "theory": ["Theory"],
    "validation": ["validate"],
    "weights": ["weighted"],
    "worlds": ["iter_models", "most_probable", "violations"],
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = sorted(_HOME_OF)


def __getattr__(name: str) -> Any:  # noqa: ANN401  # a module's attributes are of any type
    """Import a public name on first use."""
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'likely.logic' has no attribute {name!r}")
    value = getattr(import_module(f"likely.logic.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)
