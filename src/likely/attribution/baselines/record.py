"""What a baseline returns: a score for each position, and how it was found. Unit: nats."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from likely.attribution.baselines.method import Facts
from likely.attribution.case import Case
from likely.attribution.result import ModelFacts
from likely.core.estimate import Cost, Estimate
from likely.core.stored import Stored

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineScores(Stored):
    """Scores of the positions of a case by one baseline.

    Attributes:
        name: Of the baseline, as in `likely.attribution.baselines.BASELINES`.
        options: All of its options.
        case: Prompt and response as they were scored.
        estimates: Score of each of ``case.positions``; a larger one made the response likelier.
        log_response: Log-probability of the response after the whole prompt.
        removal: How it takes tokens out, or None where it takes out none.
        diagnostics: Figures of the method; None where one is not defined.
        flags: What a reader has to know before trusting it, such as ``incomplete``.
        model: Name of the model, with its fingerprint and the version of likely.
        level: Of the intervals.
        seed: Of whatever was drawn.
        cost: Of everything; for gradients the forward part.
    """

    name: str
    options: Mapping[str, float | int | str | None]
    case: Case
    estimates: tuple[Estimate, ...]
    log_response: float
    removal: str | None
    diagnostics: Facts
    flags: frozenset[str]
    model: ModelFacts
    level: float
    seed: int
    cost: Cost

    @property
    def positions(self) -> tuple[int, ...]:
        """Position of each score in the prompt."""
        return self.case.positions

    @property
    def scores(self) -> Float[np.ndarray, "n"]:
        """Score of each position, nats; ``inf`` where the response is impossible without it."""
        return np.array([estimate.value for estimate in self.estimates])

    @property
    def low(self) -> Float[np.ndarray, "n"]:
        """Lower end of each score's interval."""
        return np.array([estimate.low for estimate in self.estimates])

    @property
    def high(self) -> Float[np.ndarray, "n"]:
        """Upper end of each score's interval."""
        return np.array([estimate.high for estimate in self.estimates])

    def to_frame(self) -> "pd.DataFrame":
        """Return a row a position: token, text, score with its interval."""
        import pandas as pd

        case = self.case
        return pd.DataFrame(
            {
                "position": list(self.positions),
                "token": [case.prompt[i] for i in self.positions],
                "text": [self._text(i) for i in self.positions],
                "score": self.scores,
                "score_low": self.low,
                "score_high": self.high,
                "baseline": self.name,
            }
        )

    def summary(self) -> str:
        """Return a few lines for a person: what was asked, the scores, what to beware of."""
        lines = [
            f"{self.name} on {self.model.name}: {len(self.positions)} positions, log-probability "
            f"of the response {self.log_response:.4f} nats, "
            f"{self.cost.token_evaluations} token evaluations"
        ]
        lines += [
            f"  {position:4d} {self._text(position)!r}: {estimate.summary()}"
            for position, estimate in zip(self.positions, self.estimates, strict=True)
        ]
        lines += [f"  {name}: {value}" for name, value in self.diagnostics.items()]
        if self.flags:
            lines.append(f"  flags: {', '.join(sorted(self.flags))}")
        return "\n".join(lines)

    def counts(self) -> dict[str, tuple[int, int]]:
        """Return by path of a field how many entries it has, and how many it must have."""
        return {"estimates": (len(self.estimates), len(self.positions))}

    def _text(self, position: int) -> str:
        start, stop = self.case.spans[position]
        return self.case.prompt_text[start:stop]
