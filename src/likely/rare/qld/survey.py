"""One pass over all logits, for whatever events: margins, and each activation's best tokens. Nats.

The best tokens of an activation bound where it may be moved so that another one wins; for most
activations and rare events they alone show that no observed position will do.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int

from likely.rare.event import Event
from likely.rare.event import margins as margins_of
from likely.rare.qld.cloud import Cloud
from likely.rare.qld.lines import Lines

BEST = 16
"""Tokens of each activation that are kept."""
_BLOCK = 512  # activations whose logits are made at a time
_STAGES = slice(0, 1), slice(1, 4), slice(4, BEST)  # ranks of the tokens that are tried in turn


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Survey:
    """What all logits say, in float32.

    Attributes:
        margins: Shape ``(n, E)``: by how much the best winner of each event leads.
        tokens: Shape ``(n, K)``: the best tokens of each activation, the best first.
        logits: Shape ``(n, K)``: their logits.
        slack: By how much two logits may differ from what they are.
    """

    margins: Float[np.ndarray, "n E"]
    tokens: Int[np.ndarray, "n K"]
    logits: Float[np.ndarray, "n K"]
    slack: float

    def may_win(
        self, lines: Lines, along: Float[np.ndarray, "m"], last: float
    ) -> Int[np.ndarray, "l"]:
        """Return the first ``m`` activations that may win somewhere up to a position.

        Args:
            lines: Of a winner along a direction.
            along: Shape ``(m,)``: positions of the first ``m`` activations.
            last: The position.
        """
        cloud, winner = lines.contest.cloud, lines.contest.winner
        own = cloud.rough[: len(along)] @ cloud.weight[winner].astype(np.float32)
        own += np.float32(cloud.offset[winner] - lines.contest.above + self.slack)
        rows: Int[np.ndarray, "l"] | slice = slice(len(along))
        for ranks in _STAGES:
            # A token that does not bound the winner from below has a pace of 0, and says nothing.
            pace = lines.pace[self.tokens[rows, ranks]]
            ways = (self.logits[rows, ranks] - own[rows, None]) * pace
            ways = ways.max(axis=1, initial=-np.inf)
            kept = np.flatnonzero((along[rows] + ways <= last) | (ways <= 0.0))
            rows = kept if isinstance(rows, slice) else rows[kept]
        return np.asarray(rows)


def survey(cloud: Cloud, events: Sequence[Event]) -> Survey:
    """Return margins of events and the best tokens at every activation.

    Args:
        cloud: The activations.
        events: Of one step each.
    """
    n, n_best = len(cloud.points), min(BEST, len(cloud.offset))
    found = Survey(
        margins=np.empty((n, len(events)), order="F"),
        tokens=np.empty((n, n_best), dtype=np.int32, order="F"),
        logits=np.empty((n, n_best), dtype=np.float32, order="F"),
        slack=2.0 * cloud.rounding,
    )
    single = [place for place, event in enumerate(events) if len(event.winners) == 1]
    winners = np.array([events[place].winners[0] for place in single], dtype=np.int64)
    for part, logits in cloud.iter_logits(_BLOCK):
        best = torch.from_numpy(logits).topk(n_best, dim=1)
        tokens, values = best.indices.numpy(), best.values.numpy()
        found.tokens[part], found.logits[part] = tokens, values
        others = np.where(tokens[:, :1] == winners, values[:, 1:2], values[:, :1])
        found.margins[part, single] = logits[:, winners] - others
        for place in set(range(len(events))).difference(single):
            found.margins[part, place] = margins_of(logits, events[place].winners)
    return found
