"""Events: from next-token rows to the probability that a model counts a continuation as viable.

Names load when first used, so that importing this costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from likely.logic.events.answers import Clash as Clash
    from likely.logic.events.answers import Multi as Multi
    from likely.logic.events.answers import clashes as clashes
    from likely.logic.events.answers import spellings as spellings
    from likely.logic.events.event import Event as Event
    from likely.logic.events.registry import RESCALINGS as RESCALINGS
    from likely.logic.events.rescale import Rescaling as Rescaling
    from likely.logic.events.rescale import clamp_log_odds as clamp_log_odds
    from likely.logic.events.rescale import rescaling as rescaling
    from likely.logic.events.scores import EventScores as EventScores
    from likely.logic.events.scoring import score_events as score_events

_HOMES = {
    "likely.logic.events.answers": ["Clash", "Multi", "clashes", "spellings"],
    "likely.logic.events.registry": ["RESCALINGS"],
    "likely.logic.events.rescale": ["Rescaling", "clamp_log_odds", "rescaling"],
    "likely.logic.events.scores": ["EventScores"],
    "likely.logic.events.event": ["Event"],
    "likely.logic.events.scoring": ["score_events"],
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = sorted(_HOME_OF)


def __getattr__(name: str) -> Any:  # noqa: ANN401  # a module's attributes are of any type
    """Import a public name on first use."""
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'likely.logic.events' has no attribute {name!r}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)
