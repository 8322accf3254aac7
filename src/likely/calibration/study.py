"""The study of calibration as a run of records: items in, a row each out. Unit: as the metrics."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from likely.calibration.data_sets.family import Items, build
from likely.calibration.data_sets.items import Item
from likely.calibration.evaluation import ESTIMATED, estimate_lines, item_metrics, records
from likely.calibration.frame import tidy_frame
from likely.calibration.scored import Policy, Scored
from likely.calibration.scoring import iter_scored
from likely.calibration.tables import targets
from likely.core.estimate import Cost, Estimate
from likely.core.jsonio import number
from likely.core.model import LanguageModel
from likely.errors import InputError

Record: TypeAlias = Mapping[str, object]

StudyConfig: TypeAlias = Policy
"""How items are put to a model: level, word ends, chat, wrapper, BOS."""

_TEXTS = ("family", "scale", "template", "option_set", "number_pair")
_NUMBERS = (
    "n_options", "weight", "is_gated", "entropy_ideal", "entropy_model",
    *(name for name in ESTIMATED if name not in ("is_gated", "entropy_kept", "wd01_gated",
                                                 "entropy_gap_gated")),
)  # fmt: skip
"""What a summary reads of a record."""


class CalibrationStudy:
    """Do probabilities follow the numbers in the context?"""

    name = "calibration"

    def iter_records(
        self,
        model: LanguageModel,
        items: Sequence[object],
        config: object,
        *,
        rng: np.random.Generator,
    ) -> Iterator[Record]:
        """Yield a record an item, batch by batch, in an order that shares prefixes.

        A record is the item's row of `likely.calibration.frame.tidy_frame`, None where a number is
        not defined, with the ``labels`` of its options, their ``log_mass`` (nats; with
        ``log_mass_low`` below it where it is a bound), ``flags``, and the cost of the batch in the
        first record of each. Nothing is drawn at random: ``rng`` is not used.

        Args:
            model: Any model.
            items: Of `build`, one by one or whole data sets, or names of families, whose ``lite``
                sets are then built.
            config: A `StudyConfig`.
            rng: Of the run.

        Raises:
            InputError: An item is none of these, or the config is of another study.
            UnknownNameError: No such family.
            CapabilityError, NumericalError: As `likely.calibration.score_items`.
        """
        if not isinstance(config, StudyConfig):
            raise InputError(f"the study 'calibration' takes a StudyConfig, got {config!r}")
        for group in _groups(items):
            for batch in iter_scored(model, group, policy=config):
                own = [group[place] for place in batch.places.tolist()]
                yield from _records(model.info.name, own, batch.scored)

    def summarise(self, records: Iterable[Record]) -> Mapping[str, Estimate]:
        """Return what the records come to, with intervals over templates, options and numbers.

        Returns:
            By ``family/metric`` each mean of `likely.calibration.evaluation.ESTIMATED` that is
            defined, as `evaluate` gives it for all scales together.

        Raises:
            InputError: There is no record, or they are of several models.
        """
        import pandas as pd

        everything = list(records)
        models = sorted({str(record["model"]) for record in everything})
        if len(models) != 1:
            raise InputError(
                f"a summary needs records of one model, got {len(everything)} of {models!r}"
            )
        cost = sum((Cost.from_dict(record) for record in everything), start=Cost())
        columns: dict[str, object] = {
            name: [record[name] for record in everything] for name in _TEXTS
        }
        for name in _NUMBERS:
            read = [number(record[name]) for record in everything]
            columns[name] = np.array([np.nan if x is None else x for x in read], dtype=np.float64)
        frame = pd.DataFrame(columns)
        return {
            f"{family}/{line.metric}": replace(line.estimate, cost=cost)
            for family in dict.fromkeys(frame["family"])
            for line in estimate_lines(frame, family=family)
            if line.estimate is not None
        }


def _groups(items: Sequence[object]) -> Iterator[Sequence[Item]]:
    """Yield data sets as they are, and items that stand between them together.

    Raises:
        InputError: Something that is no item.
    """
    loose: list[Item] = []
    for item in items:
        if isinstance(item, Item):
            loose.append(item)
        elif isinstance(item, str | Items):
            if loose:
                yield loose
                loose = []
            yield build(item) if isinstance(item, str) else item
        else:
            raise InputError(
                "an item of the study 'calibration' is an Item, a data set of `build` or the name "
                f"of a family, got {item!r}"
            )
    if loose:
        yield loose


def _records(model: str, items: Sequence[Item], scored: Scored) -> Iterator[Record]:
    asked = targets(items)
    masses = scored.masses
    frame = tidy_frame(model, items, asked, masses, item_metrics(asked, scored))
    cost = scored.cost
    for i, row in enumerate(records(frame)):
        own = slice(int(masses.offsets[i]), int(masses.offsets[i + 1]))
        yield {
            **row,
            "labels": [option.label for option in items[i].options],
            "log_mass": masses.log_mass[own].tolist(),
            "log_mass_low": masses.log_mass_low[own].tolist(),
            "flags": sorted(scored.flags[i]),
            **cost.to_dict(),
        }
        cost = Cost()


STUDY = CalibrationStudy()
