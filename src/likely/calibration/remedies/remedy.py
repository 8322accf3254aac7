"""What a remedy is, and the table of all of them. Unit: nats."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from jaxtyping import Float

from likely.calibration.remedies.evidence import Evidence
from likely.core.registry import Registry

Need = Literal["tempered", "prior", "stem"]
"""What a remedy asks of the model besides the masses of the items; a field of `Evidence`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """A remedy that is ready for use.

    Attributes:
        apply: From what is known of items to the log shares of their options, or log masses if the
            remedy gives those; shape ``(M,)``, NaN for all options of an item where the remedy is
            not defined.
        parameters: What was found on the items that it was fitted on.
        status: ``ok``, or why there is no repair; it is then defined nowhere.
    """

    apply: Callable[[Evidence], Float[np.ndarray, "M"]]
    parameters: Mapping[str, float] = field(default_factory=dict)
    status: str = "ok"


Fit = Callable[[Evidence, np.random.Generator], Repair]


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """One way to bring a model's probabilities closer to the ideal.

    Attributes:
        name: Its name in `REMEDIES`.
        what: In one line, what it does.
        fit: From what is known of the items to fit on, and a random stream, to a repair.
        is_fitted: Whether ``fit`` learns from its items; if so it is cross-validated.
        needs: What has to be asked of the model.
        gives_masses: Whether it gives masses, not shares alone, so that ``pm`` has a meaning.
        passes: From what is known, how many contexts the model reads for one item in use, its own
            included, once the remedy is fitted.
    """

    name: str
    what: str
    fit: Fit
    is_fitted: bool = False
    needs: tuple[Need, ...] = ()
    gives_masses: bool = False
    passes: Callable[[Evidence], float] = lambda evidence: 1.0


def no_repair(reason: str) -> Repair:
    """Return a repair that is defined nowhere, for this reason."""
    return Repair(
        apply=lambda evidence: np.full(len(evidence.targets.ideal), np.nan), status=reason
    )


_HOME = "likely.calibration.remedies"

REMEDIES: Registry[Remedy] = Registry(
    "remedy",
    {
        "temperature": f"{_HOME}.temperature:TEMPERATURE",
        "option_temperature": f"{_HOME}.option_temperature:OPTION_TEMPERATURE",
        "platt": f"{_HOME}.platt:PLATT",
        "isotonic": f"{_HOME}.isotonic:ISOTONIC",
        "contextual": f"{_HOME}.contextual:CONTEXTUAL",
        "pmi": f"{_HOME}.pmi:PMI",
        "order": f"{_HOME}.order:ORDER",
        "order_arithmetic": f"{_HOME}.order:ORDER_ARITHMETIC",
        "pride": f"{_HOME}.pride:PRIDE",
        "prior_only": f"{_HOME}.prior_only:PRIOR_ONLY",
    },
    group="likely.remedies",
)
"""Name to remedy; ``prior_only`` is a baseline. To add one: one file, one line in this table."""
