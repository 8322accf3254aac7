"""The table of rescalings by name; nothing is imported until one is asked for."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from likely.core.registry import Registry

if TYPE_CHECKING:
    from likely.logic.events.rescale import Rescaling

_MODULE = "likely.logic.events.rescalings"

RESCALINGS: "Registry[Callable[..., Rescaling]]" = Registry(
    "rescaling",
    {
        "identity": f"{_MODULE}:identity",
        "ratio": f"{_MODULE}:ratio",
        "ratio_soft": f"{_MODULE}:ratio_soft",
        "tail": f"{_MODULE}:tail",
        "duel": f"{_MODULE}:duel",
        "minp": f"{_MODULE}:minp",
        "epsilon": f"{_MODULE}:epsilon",
        "eta": f"{_MODULE}:eta",
        "nucleus": f"{_MODULE}:nucleus",
        "typical": f"{_MODULE}:typical",
        "pmi": f"{_MODULE}:pmi",
        "closed": f"{_MODULE}:closed",
        "rank": f"{_MODULE}:rank",
    },
)
"""Name to the function that makes the rescaling. To add one: a function there, a line here."""
