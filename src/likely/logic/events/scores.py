"""What `score_events` returns: log-odds of each event under each rescaling. Unit: nats."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from likely.core.estimate import Cost
from likely.core.jsonio import dumps
from likely.logic.events.answers import Clash, Multi

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, kw_only=True)
class EventScores:
    """Events in the order they were asked.

    Attributes:
        ids: Of the events.
        keys: Equal keys are one and the same variable: the same context and set of spellings.
        log_odds: For each rescaling, by its label, shape ``(N,)``, nats; ``+inf`` is certain. Where
            the model tells only an interval, its middle in probability.
        low: Lower ends; the same numbers where all is told.
        high: Upper ends.
        log_prob: Shape ``(N,)``, nats: of the answer as token sequences, nothing rescaled; an upper
            bound where ``censored``. With ``multi="first"`` of the first tokens.
        flags: For each event ``boundary_merge``, ``whitespace_moved``, ``multi_token``,
            ``clamped`` and ``interval`` (under some rescaling), ``censored``, ``closed_alone`` (no
            other candidate), ``overlap`` (another candidate contains a spelling of the answer).
        tokens: For each event the sequences that were scored.
        pieces: Their text.
        context_tokens: Ids of each context exactly as evaluated.
        clamped: For each rescaling how many events were clamped.
        clashes: Between competing answers of one context; each pair once.
        multi: How the steps of an answer were combined.
        cost: Of the one call.
    """

    ids: tuple[str, ...]
    keys: tuple[str, ...]
    log_odds: Mapping[str, Float[np.ndarray, "N"]]
    low: Mapping[str, Float[np.ndarray, "N"]]
    high: Mapping[str, Float[np.ndarray, "N"]]
    log_prob: Float[np.ndarray, "N"]
    flags: tuple[frozenset[str], ...]
    tokens: tuple[tuple[tuple[int, ...], ...], ...]
    pieces: tuple[tuple[tuple[str, ...], ...], ...]
    context_tokens: tuple[tuple[int, ...], ...]
    clamped: Mapping[str, int]
    clashes: tuple[Clash, ...]
    multi: Multi
    cost: Cost

    def __len__(self) -> int:
        """Return the number of events."""
        return len(self.ids)

    def to_frame(self) -> "pd.DataFrame":
        """Return one row for each event and rescaling."""
        import pandas as pd

        rows = [
            {
                "event": event,
                "key": self.keys[i],
                "rescaling": name,
                "log_odds": log_odds[i],
                "log_odds_low": self.low[name][i],
                "log_odds_high": self.high[name][i],
                "log_prob": self.log_prob[i],
                "pieces": " / ".join("|".join(pieces) for pieces in self.pieces[i]),
                "flags": ",".join(sorted(self.flags[i])),
            }
            for name, log_odds in self.log_odds.items()
            for i, event in enumerate(self.ids)
        ]
        return pd.DataFrame(rows)

    def to_dict(self) -> dict[str, object]:
        """Return the fields as a mapping for strict JSON."""
        return {
            "events": [
                {
                    "id": event,
                    "key": self.keys[i],
                    "log_odds": {name: float(x[i]) for name, x in self.log_odds.items()},
                    "low": {name: float(x[i]) for name, x in self.low.items()},
                    "high": {name: float(x[i]) for name, x in self.high.items()},
                    "log_prob": float(self.log_prob[i]),
                    "flags": self.flags[i],
                    "tokens": self.tokens[i],
                    "pieces": self.pieces[i],
                    "context_tokens": self.context_tokens[i],
                }
                for i, event in enumerate(self.ids)
            ],
            "clamped": dict(self.clamped),
            "clashes": [
                {"kind": c.kind, "answers": c.answers, "pieces": c.pieces} for c in self.clashes
            ],
            "multi": self.multi,
            "cost": self.cost.to_dict(),
        }

    def to_json(self) -> str:
        """Return `to_dict` as strict JSON."""
        return dumps(self.to_dict())

    def summary(self) -> str:
        """Return a line an event for a person: its probability under each rescaling."""
        lines = []
        for i, event in enumerate(self.ids):
            probs = [
                f"{name} {np.exp(-np.logaddexp(0.0, -x[i])):.4f}"
                for name, x in self.log_odds.items()
            ]
            flags = f"  [{', '.join(sorted(self.flags[i]))}]" if self.flags[i] else ""
            lines.append(f"{event}: {', '.join(probs)}{flags}")
        return "\n".join(lines)
