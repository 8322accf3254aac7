"""Plain sampling: draw inputs and count. One pass serves every event. Unit: nats.

Source: section b1 of the specification; the interval is that of Clopper and Pearson (1934), so no
hit at all still gives an upper limit.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from likely.core.logspace import log_of
from likely.rare.method import Task, iter_shared
from likely.rare.reading import Reader
from likely.rare.result import Found, Quantity, Spent
from likely.stats.intervals import clopper_pearson


@dataclass(frozen=True, slots=True, kw_only=True)
class Naive:
    """Counts hits among independent inputs."""

    name: ClassVar[str] = "naive"
    quantity: ClassVar[Quantity] = "inputs"

    def run(self, task: Task) -> tuple[Found, ...]:
        """Return share and interval of hits, from the same inputs for every event."""
        reader = Reader(task.model, settings=task.settings, progress=task.progress)
        hits = np.zeros(len(task.events), dtype=np.int64)
        for inputs, served in iter_shared(task, task.distribution, self.name):
            events = [task.events[place] for place in served]
            hits[served] += reader.hits(inputs, events).sum(axis=0)
        share = reader.meter.spent.divided(len(task.events))
        return tuple(
            _found(int(k), task.n_inputs(event), level=task.level, spent=share)
            for k, event in zip(hits, task.events, strict=True)
        )


def _found(hits: int, n: int, *, level: float, spent: Spent) -> Found:
    low, high = clopper_pearson(hits, n, level=level)
    warnings = (
        (f"no hit among {n:,} inputs: only the upper limit says something",) if hits == 0 else ()
    )
    return Found(
        log_prob=log_of(hits / n), low=log_of(low), high=log_of(high), spent=spent,
        diagnostics={"hits": hits, "inputs": n}, warnings=warnings,
    )  # fmt: skip
