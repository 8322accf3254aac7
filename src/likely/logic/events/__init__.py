"""Events: from next-token rows to the probability that a model counts a continuation as viable.

Names load when first used, so that importing this costs nothing.
"""

from typing import TYPE_CHECKING

from likely.lazy import lazy_names

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

__getattr__, __dir__, __all__ = lazy_names("likely.logic.events", _HOMES)
