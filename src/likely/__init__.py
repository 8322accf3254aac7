"""likely reads the probabilities of language models: exactly, fast, with nothing hidden.

```python
import likely

model = likely.load("smollm2")
likely.next_token(model, "The sky is").top(5)
likely.score(model, [("The sky is", " blue"), ("The sky is", " green")])
```
Names load when first used, so that importing the package costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from likely._version import __version__ as __version__

if TYPE_CHECKING:
    from likely.core.answers import score_answers as score_answers
    from likely.core.cache import ScoreCache as ScoreCache
    from likely.core.choice import Choice as Choice
    from likely.core.choice import choose as choose
    from likely.core.estimate import Cost as Cost
    from likely.core.estimate import Estimate as Estimate
    from likely.core.model import Capability as Capability
    from likely.core.model import LanguageModel as LanguageModel
    from likely.core.model import ModelInfo as ModelInfo
    from likely.core.model import Settings as Settings
    from likely.core.results import NextToken as NextToken
    from likely.core.results import Score as Score
    from likely.core.results import Scores as Scores
    from likely.core.results import TextScore as TextScore
    from likely.core.scoring import next_token as next_token
    from likely.core.scoring import next_tokens as next_tokens
    from likely.core.scoring import score as score
    from likely.core.scoring import surprisal as surprisal
    from likely.core.scoring import top_tokens as top_tokens
    from likely.core.selfcheck import self_check as self_check
    from likely.core.streams import generator as generator
    from likely.core.text.chat import chat as chat
    from likely.core.text.surfaces import surfaces as surfaces
    from likely.errors import BudgetError as BudgetError
    from likely.errors import CapabilityError as CapabilityError
    from likely.errors import ContractError as ContractError
    from likely.errors import InconsistentTheory as InconsistentTheory
    from likely.errors import InputError as InputError
    from likely.errors import LikelyError as LikelyError
    from likely.errors import LikelyWarning as LikelyWarning
    from likely.errors import MissingExtraError as MissingExtraError
    from likely.errors import NumericalError as NumericalError
    from likely.errors import ServerError as ServerError
    from likely.errors import ShapeError as ShapeError
    from likely.errors import StoreError as StoreError
    from likely.errors import UnknownNameError as UnknownNameError
    from likely.models import load as load
    from likely.models.table import TableModel as TableModel

_HOMES = {
    "likely.core.answers": ["score_answers"],
    "likely.core.cache": ["ScoreCache"],
    "likely.core.choice": ["Choice", "choose"],
    "likely.core.estimate": ["Cost", "Estimate"],
    "likely.core.model": ["Capability", "LanguageModel", "ModelInfo", "Settings"],
    "likely.core.results": ["NextToken", "Score", "Scores", "TextScore"],
    "likely.core.scoring": ["next_token", "next_tokens", "score", "surprisal", "top_tokens"],
    "likely.core.selfcheck": ["self_check"],
    "likely.core.streams": ["generator"],
    "likely.core.text.chat": ["chat"],
    "likely.core.text.surfaces": ["surfaces"],
    "likely.errors": [
        "BudgetError",
        "CapabilityError",
        "ContractError",
        "InconsistentTheory",
        "InputError",
        "LikelyError",
        "LikelyWarning",
        "MissingExtraError",
        "NumericalError",
        "ServerError",
        "ShapeError",
        "StoreError",
        "UnknownNameError",
    ],
    "likely.models": ["load"],
    "likely.models.table": ["TableModel"],
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = sorted(["__version__", *_HOME_OF])


def __getattr__(name: str) -> Any:
    """Import a public name on first use."""
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'likely' has no attribute {name!r}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)
