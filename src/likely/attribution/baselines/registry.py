"""The table of baselines by name; nothing is imported until one is asked for."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from likely.core.registry import Registry

if TYPE_CHECKING:
    from likely.attribution.baselines.method import Method

_HOME = "likely.attribution.baselines"

BASELINES: "Registry[Callable[..., Method]]" = Registry(
    "baseline",
    {
        "deletion": f"{_HOME}.one_at_a_time:DeletionMethod",
        "replacement": f"{_HOME}.one_at_a_time:ReplacementMethod",
        "context_cite": f"{_HOME}.context_cite:ContextCite",
        "shapley": f"{_HOME}.shapley:Shapley",
        "gradient_x_input": f"{_HOME}.gradients:GradientXInput",
        "integrated_gradients": f"{_HOME}.gradients:IntegratedGradients",
    },
    group="likely.baselines",
)
"""Name to the dataclass of its options. To add one: one file, one line in this table."""
