"""The study of constraints as a run of records: theories in, claims about rows out. Unit: nats."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from likely.core.estimate import Cost, Estimate, Unit
from likely.core.jsonio import number
from likely.core.model import LanguageModel
from likely.core.text.encode import Bos
from likely.errors import InputError
from likely.logic.evaluation import ALSO, evaluate_all
from likely.logic.events import Multi
from likely.logic.results import ItemScore
from likely.logic.theory import Theory
from likely.stats.bootstrap import cluster_bootstrap

Record = Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyConfig:
    """How theories are put to a model.

    Attributes:
        rescaling: From token probabilities to events: the one that headlines.
        also: Others, reported beside it.
        multi: How answers of several tokens become one event.
        bos: As in `likely.score`.
    """

    rescaling: str = "duel"
    also: tuple[str, ...] = ALSO
    multi: Multi = "conj"
    bos: Bos = "auto"


class LogicStudy:
    """Do token probabilities satisfy the constraints that were declared, beyond chance?"""

    name = "logic"

    def iter_records(
        self,
        model: LanguageModel,
        items: Sequence[object],
        config: object,
        *,
        rng: np.random.Generator,
    ) -> Iterator[Record]:
        """Yield a record for each claim, row, pack and rescaling of the theories.

        All theories are read in one pass, whose cost stands in the first record. Nothing is drawn
        at random: ``rng`` is not used.

        Args:
            model: Any model.
            items: Theories, or paths of their files.
            config: A `StudyConfig`.
            rng: Of the run.

        Raises:
            InputError: An item is no theory, or the config is of another study.
            CapabilityError: The model cannot give what a rescaling needs.
        """
        if not isinstance(config, StudyConfig):
            raise InputError(f"the study 'logic' takes a StudyConfig, got {config!r}")
        evaluations = evaluate_all(
            model, [_theory(item) for item in items], rescaling=config.rescaling,
            also=config.also, multi=config.multi, bos=config.bos,
        )  # fmt: skip
        cost = evaluations[0].cost
        for evaluation in evaluations:
            for item in evaluation.items:
                for label in item.readings:
                    yield {"theory": evaluation.theory, **_record(item, label), **cost.to_dict()}
                    cost = Cost()

    def summarise(self, records: Iterable[Record]) -> Mapping[str, Estimate]:
        """Return what the records come to, with intervals over rows.

        Returns:
            By ``theory/rescaling/chance_corrected`` the mean score corrected for chance, by
            ``.../earned`` the share of bits earned (not where an item is impossible), and by
            ``.../kept`` the share of items that hold when events are decided by their likelier
            side. Claims for comparison are left out, and so is what stands on one row alone, which
            has no interval.

        Raises:
            InputError: There is no record.
        """
        everything = list(records)
        if not everything:
            raise InputError("a summary needs at least one record, got none")
        cost = sum((Cost.from_dict(record) for record in everything), start=Cost())
        groups: dict[str, list[Record]] = {}
        for record in everything:
            if not record["is_comparison"]:
                groups.setdefault(f"{record['theory']}/{record['rescaling']}", []).append(record)
        return {
            f"{name}/{quantity}": replace(estimate, cost=cost)
            for name, members in groups.items()
            for quantity, estimate in _estimates(members)
        }


def _theory(item: object) -> Theory:
    if isinstance(item, Theory):
        return item
    if isinstance(item, str):
        return Theory.load(item)
    raise InputError(f"an item of the study 'logic' is a Theory or the path of one, got {item!r}")


def _record(item: ItemScore, label: str) -> Record:
    reading = item.readings[label]
    return {
        "id": item.id,
        "row": item.row or "*",
        "pack": item.pack,
        "claim": item.claim,
        "is_comparison": item.is_comparison,
        "rescaling": label,
        "log_prob": reading.scores.log_prob,
        "bits": reading.scores.bits,
        "chance_corrected": reading.scores.chance_corrected,
        "log_ratio_bits": reading.scores.log_ratio_bits,
        "is_kept": reading.is_kept,
        "flags": sorted(item.flags),
    }


def _estimates(members: Sequence[Record]) -> Iterator[tuple[str, Estimate]]:
    rows = [str(record["row"]) for record in members]
    if len(set(rows)) < 2:
        return
    wanted: list[tuple[str, str, str | None, Unit]] = [
        ("chance_corrected", "chance_corrected", None, "none"),
        ("earned", "log_ratio_bits", "bits", "none"),
        ("kept", "is_kept", None, "prob"),
    ]
    for quantity, top, bottom, unit in wanted:
        values = _column(members, top)
        if np.isfinite(values).all():
            below = None if bottom is None else _column(members, bottom)
            yield quantity, cluster_bootstrap(values, rows, denominators=below, unit=unit)


def _column(members: Sequence[Record], name: str) -> np.ndarray:
    """Return numbers as an array; records may have been through JSON, where -inf is a string."""
    values = [record[name] for record in members]
    return np.array(
        [float(x) if isinstance(x, bool) else number(x) for x in values], dtype=np.float64
    )


STUDY = LogicStudy()
