"""What a test of faithfulness returns: curves, areas, drops and a correlation. Unit: nats."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from likely.attribution.result import ModelFacts
from likely.core.estimate import Cost, Estimate
from likely.core.stored import Stored

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """The response while tokens are taken out, or put back, from the highest score on.

    Attributes:
        share: Shape ``(k,)``: how many of the places were moved so far, from 0 to 1.
        log_ratios: At each of them the log-probability of the response less that after the whole
            prompt, nats; ``-inf`` where it is impossible.
        area: Under the ratio of probabilities, by trapezoids over ``share``: 1 if nothing changed.
            Of a deletion curve low is good, of an insertion curve high.
        log_area: Under the log-ratio, nats: the mean log-ratio along the curve.
    """

    share: Float[np.ndarray, "k"]
    log_ratios: tuple[Estimate, ...]
    area: Estimate
    log_area: Estimate

    @property
    def ratios(self) -> Float[np.ndarray, "k"]:
        """Probability of the response over that after the whole prompt, shape ``(k,)``."""
        return np.asarray(np.exp(np.array([one.value for one in self.log_ratios])))


@dataclass(frozen=True, slots=True, kw_only=True)
class Faithfulness(Stored):
    """How well the scores of one case tell what the response needs.

    Attributes:
        label: Whose scores: name of a baseline, or ``attribution``.
        removal: How tokens were taken out: ``deletion``, ``replacement`` or ``marginal``.
        removal_facts: The token of a replacement; of a marginal the number of draws and the least
            share of a posterior that was drawn from.
        n_places: How many were scored.
        log_response: Log-probability of the response after the whole prompt.
        deletion: Highest scores taken out first.
        insertion: Everything scored taken out, and the highest scores put back first.
        drops: For each k how many nats the response loses without its k highest scores.
        correlation: Spearman's, with the reference's scores of the same places; None without a
            reference, or where one side is constant. Places of one prompt are no sample, so the
            interval is only about scores that are estimates: it is what the correlation does when
            each is drawn again from a normal law of its own width, independently.
        reference: Label of the other scores, or None.
        flags: ``same_removal`` where the scores were found by the removal they are tested with,
            ``tied_scores`` where equal scores left the order to the order of the prompt.
        model: Whose response it is.
        level: Of the intervals.
        seed: Of the draws.
        cost: Of the test, not of the scores.
    """

    label: str
    removal: str
    removal_facts: Mapping[str, float | int | str]
    n_places: int
    log_response: float
    deletion: Curve
    insertion: Curve
    drops: Mapping[int, Estimate]
    correlation: Estimate | None
    reference: str | None
    flags: frozenset[str]
    model: ModelFacts
    level: float
    seed: int
    cost: Cost

    def numbers(self) -> dict[str, Estimate | None]:
        """Return every number by name; None where it is not defined."""
        return {
            "deletion_area": self.deletion.area,
            "insertion_area": self.insertion.area,
            "deletion_log_area": self.deletion.log_area,
            "insertion_log_area": self.insertion.log_area,
            **{f"drop_{k}": drop for k, drop in self.drops.items()},
            "correlation": self.correlation,
        }

    def to_frame(self) -> "pd.DataFrame":
        """Return a row a point of a curve."""
        import pandas as pd

        return pd.DataFrame(
            [
                {
                    "label": self.label,
                    "removal": self.removal,
                    "curve": name,
                    "share": float(share),
                    "log_ratio": one.value,
                    "log_ratio_low": one.low,
                    "log_ratio_high": one.high,
                }
                for name, curve in (("deletion", self.deletion), ("insertion", self.insertion))
                for share, one in zip(curve.share, curve.log_ratios, strict=True)
            ]
        )

    def summary(self) -> str:
        """Return a line a number for a person, the removal first."""
        lines = [f"{self.label}, tokens taken out by {self.removal}: {self.n_places} places"]
        for name, one in self.numbers().items():
            shown = "not defined" if one is None else one.summary()
            if name == "correlation":
                name = f"rank correlation with {self.reference}"
            if one is not None or self.reference is not None:
                lines.append(f"  {name}: {shown}")
        if self.flags:
            lines.append(f"  flags: {', '.join(sorted(self.flags))}")
        return "\n".join(lines)

    def counts(self) -> dict[str, tuple[int, int]]:
        """Return by path of a field how many entries it has, and how many it must have."""
        return {
            f"{name}.log_ratios": (len(curve.log_ratios), len(curve.share))
            for name, curve in (("deletion", self.deletion), ("insertion", self.insertion))
        }
