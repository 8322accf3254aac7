"""The studies by name: what each is made of, and how another package adds one. Unit: its own."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Protocol

import numpy as np

from likely.core.estimate import Estimate
from likely.core.model import LanguageModel
from likely.core.registry import Registry

Record = Mapping[str, object]


class Study(Protocol):
    """A question asked of a model: records one by one, and a summary with intervals."""

    name: str

    def iter_records(
        self,
        model: LanguageModel,
        items: Sequence[object],
        config: object,
        *,
        rng: np.random.Generator,
    ) -> Iterator[Record]:
        """Yield one record an item, each JSON-ready."""
        ...

    def summarise(self, records: Iterable[Record]) -> Mapping[str, Estimate]:
        """Return the numbers of the study, each with its interval and cost."""
        ...


STUDIES: Registry[Study] = Registry(
    "study",
    {
        "calibration": "likely.calibration.study:STUDY",
        "logic": "likely.logic.study:STUDY",
        "rare": "likely.rare.study:STUDY",
    },
    group="likely.studies",
)
"""Name to study. Ours have one line each here; others come by the entry-point group."""
