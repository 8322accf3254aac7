"""Integrated gradients of any function, with what they miss completeness by. Unit: the function's.

captum takes the gradients and sums them; the gap is always computed, since neither many steps nor
a good rule guarantee a small one.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import torch
from jaxtyping import Float

from likely.attribution.baselines.gradients import Rule, check_steps
from likely.errors import InputError, MissingExtraError

try:
    from captum.attr import IntegratedGradients
except ImportError as error:
    raise MissingExtraError(
        "integrated gradients need captum: pip install 'likely[attrib]'"
    ) from error

Function: TypeAlias = Callable[[torch.Tensor], torch.Tensor]


@dataclass(frozen=True, slots=True, kw_only=True)
class Integrated:
    """Attributions of a point, and how far they are from adding up.

    Attributes:
        attributions: In the shape of the point.
        start: Value at the baseline.
        end: Value at the point.
        gap: Sum of the attributions less ``end - start``.
    """

    attributions: Float[torch.Tensor, "1 ..."]
    start: float
    end: float
    gap: float

    @property
    def change(self) -> float:
        """Value at the point less that at the baseline: what the attributions should sum to."""
        return self.end - self.start

    @property
    def share(self) -> float:
        """Size of the gap beside the change; ``inf`` where nothing changes and a gap is left."""
        if self.gap == 0.0:
            return 0.0
        return abs(self.gap / self.change) if self.change else float("inf")


def integrate_gradients(
    function: Function,
    point: Float[torch.Tensor, "1 ..."],
    baseline: Float[torch.Tensor, "1 ..."],
    *,
    n_steps: int = 50,
    rule: Rule = "gausslegendre",
    rows: int | None = None,
) -> Integrated:
    """Return the integrated gradients of a function from a baseline to a point.

    Args:
        function: From points, shape ``(B, ...)``, to their values, shape ``(B,)``.
        point: One point.
        baseline: Where the line to it starts.
        n_steps: Gradients on the line; at least 1, or 2 for a Riemann rule.
        rule: Where they are taken: ``gausslegendre``, ``riemann_middle``, ``riemann_trapezoid``.
        rows: Most points in a call, or None for all at once.

    Raises:
        InputError: Shapes differ, too few steps, or the function is not finite at an end.
    """
    check_steps(rule, n_steps)
    if point.shape != baseline.shape:
        raise InputError(
            f"the baseline has the point's shape {tuple(point.shape)}, got {tuple(baseline.shape)}"
        )
    with torch.no_grad():
        start, end = float(function(baseline)), float(function(point))
    if not all(abs(value) < float("inf") for value in (start, end)):
        raise InputError(f"the ends of the line need finite values, got {start!r} and {end!r}")
    attributions: torch.Tensor = IntegratedGradients(function).attribute(
        point, baseline, n_steps=n_steps, method=rule, internal_batch_size=rows
    )
    attributions = attributions.detach().double()
    return Integrated(
        attributions=attributions, start=start, end=end,
        gap=float(attributions.sum()) - (end - start),
    )  # fmt: skip
