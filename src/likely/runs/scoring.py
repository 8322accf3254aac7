"""Scoring many items: batch by batch, durable, the same result after a kill. Unit: nats."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TypedDict

from likely._version import __version__
from likely.core.engine import Meter, Store
from likely.core.estimate import Cost
from likely.core.jsonio import dumps
from likely.core.model import LanguageModel, Settings
from likely.core.results import Score
from likely.core.scoring import score
from likely.core.text.encode import Bos, Boundary, encode_pair
from likely.errors import InputError
from likely.runs.batches import Share, count_tokens, plan_batches
from likely.runs.identity import content_digest, model_facts, run_id
from likely.runs.items import Item
from likely.runs.journal import Batch, Journal, journal_path
from likely.runs.score_rows import SCORE_COLUMNS, read_scores, score_of_row, score_row
from likely.runs.store import ROW_SUFFIXES, check_writable, read_bytes, write_bytes, write_rows

BATCH = 128  # enough items to share prefixes and fill a forward pass; at most this much is redone


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreOptions:
    """How items become ids and how they are evaluated; see `likely.score`."""

    bos: Bos = "auto"
    boundary: Boundary = "joint"
    leading_space: bool = False
    settings: Settings = field(default_factory=Settings)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreRun:
    """A finished run.

    Attributes:
        run_id: Hash of model identity, settings, items and code version.
        items: As asked.
        scores: One an item, in the same order.
        cost: Of all batches, those before a resume included.
        n_resumed: Items whose scores an earlier process had already made durable.
        path: The file of results, or None.
    """

    run_id: str
    items: tuple[Item, ...]
    scores: tuple[Score, ...]
    cost: Cost
    n_resumed: int
    path: Path | None


class _Policies(TypedDict):
    bos: Bos
    boundary: Boundary
    leading_space: bool


def run_scores(
    model: LanguageModel,
    items: Sequence[Item],
    *,
    out: Path | None = None,
    options: ScoreOptions | None = None,
    batch: int = BATCH,
    cache: Store | None = None,
    meter: Meter | None = None,
    resume: bool = True,
) -> ScoreRun:
    """Score all items in batches, each durable once done, and write the results in their order.

    Beside ``out`` lie a journal while the run lasts, and ``<out>.run.json`` from its end on: the
    run's id, its configuration, the model, and the cost. A run that was killed goes on where it
    stopped; a finished one is read back and not made again.

    Args:
        model: Any model that gives continuations.
        items: With distinct ids.
        out: A file ending in ``.jsonl`` or ``.parquet``; None keeps the results in memory alone.
        options: Text policies and evaluation settings.
        batch: Most items that are scored together, and that a kill can lose.
        cache: A `ScoreCache`.
        meter: Is told the tokens of the whole job at its start.
        resume: Whether to go on with an unfinished run, or to reuse a finished one.

    Raises:
        InputError: An item that cannot be scored, named by its id, before any work is done.
        StoreError: The output or the journal cannot be used, or belongs to another run.
        CapabilityError, NumericalError, ServerError: As the model finds.
    """
    run = _Run(
        model=model, items=tuple(items), options=options or ScoreOptions(), size=batch,
        cache=cache, meter=meter,
    )  # fmt: skip
    evaluated = run.check_items()
    if out is None:
        done = dict(run.iter_batches(evaluated, done={}))
        return run.result(done, n_resumed=0, path=None)
    check_writable(out, suffixes=ROW_SUFFIXES)
    configuration = run.configuration()
    finished = _finished(run, out, configuration) if resume else None
    if finished is not None:
        return finished
    with Journal(
        journal_path(out), configuration=configuration, columns=SCORE_COLUMNS, resume=resume
    ) as journal:
        n_resumed = sum(len(batch.rows) for batch in journal.batches.values())
        for number, fresh in run.iter_batches(evaluated, done=journal.batches):
            journal.append(number, fresh)
        result = run.result(journal.batches, n_resumed=n_resumed, path=out)
        _write_results(result, model, configuration, out)
        journal.discard()
    return result


def record_path(out: Path) -> Path:
    """Return where the record of a finished run lies: beside its output."""
    return out.with_name(out.name + ".run.json")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """What a run is made of, and its plan."""

    model: LanguageModel
    items: tuple[Item, ...]
    options: ScoreOptions
    size: int
    cache: Store | None
    meter: Meter | None

    def check_items(self) -> list[tuple[int, ...]]:
        """Return the ids that each item evaluates.

        Raises:
            InputError: An item that cannot be scored, named by its id; two of one id; or none.
        """
        if not self.items:
            raise InputError("there is nothing to score: got no items")
        seen: set[str] = set()
        evaluated = []
        for item in self.items:
            if item.id in seen:
                raise InputError(f"ids of items are distinct, got {item.id!r} twice")
            seen.add(item.id)
            try:
                evaluated.append(self._encode(item))
            except InputError as error:
                raise type(error)(f"item {item.id!r}: {error}") from error
        return evaluated

    def configuration(self) -> dict[str, str]:
        """Return everything that the numbers depend on, as flat text."""
        facts: dict[str, object] = {
            "likely": __version__,
            "model": self.model.info.name,
            "identity": self.model.info.identity,
            "batch": self.size,
            **self._policies(),
            **asdict(self.options.settings),
            "items": content_digest([asdict(item) for item in self.items]),
        }
        return {name: str(value) for name, value in facts.items()}

    def iter_batches(
        self, evaluated: Sequence[tuple[int, ...]], *, done: Mapping[int, Batch]
    ) -> Iterator[tuple[int, Batch]]:
        """Yield the number and the rows of each batch that is not done yet."""
        batches = plan_batches(self.items, size=self.size)
        todo = [number for number in range(len(batches)) if number not in done]
        planned = {n: count_tokens([evaluated[i] for i in batches[n]]) for n in todo}
        if self.meter is not None:
            self.meter.expect(sum(planned.values()))
        for number in todo:
            yield number, self._score(batches[number], planned[number])

    def result(self, done: Mapping[int, Batch], *, n_resumed: int, path: Path | None) -> ScoreRun:
        """Return the scores of all batches in the order of the items."""
        scores: list[Score | None] = [None] * len(self.items)
        cost = Cost()
        for number, places in enumerate(plan_batches(self.items, size=self.size)):
            for i, row in zip(places, done[number].rows, strict=True):
                scores[i] = score_of_row(row)
            cost = cost + done[number].cost
        return ScoreRun(
            run_id=run_id(self.configuration()), items=self.items,
            scores=tuple(s for s in scores if s is not None), cost=cost,
            n_resumed=n_resumed, path=path,
        )  # fmt: skip

    def _score(self, places: tuple[int, ...], planned: int) -> Batch:
        items = [self.items[i] for i in places]
        share = Share(meter=self.meter, planned=planned) if self.meter is not None else None
        scores = score(
            self.model, [(item.context, item.continuation) for item in items],
            settings=self.options.settings, cache=self.cache, meter=share, **self._policies(),
        )  # fmt: skip
        if share is not None:
            share.settle()
        name = self.model.info.name
        rows = tuple(score_row(name, item, s) for item, s in zip(items, scores, strict=True))
        return Batch(rows=rows, cost=scores.cost)

    def _encode(self, item: Item) -> tuple[int, ...]:
        pair = encode_pair(self.model, item.context, item.continuation, **self._policies())
        ids = (pair.context + pair.target)[:-1]
        limit = self.model.info.max_tokens
        if limit is not None and len(ids) > limit:
            raise InputError(
                f"it needs {len(ids)} tokens of context, {self.model.info.name!r} has {limit}; "
                "shorten it, or read it in windows (surprisal)"
            )
        return ids

    def _policies(self) -> _Policies:
        return {
            "bos": self.options.bos,
            "boundary": self.options.boundary,
            "leading_space": self.options.leading_space,
        }


def _finished(run: _Run, out: Path, configuration: Mapping[str, str]) -> ScoreRun | None:
    """Return the run if ``out`` already holds all of it, to the byte."""
    try:
        record = json.loads(record_path(out).read_bytes())
        same = record["configuration"] == dict(configuration)
        is_whole = record["results"]["blake2b"] == _digest(out.read_bytes())
        cost = Cost(**record["cost"])
    except (OSError, ValueError, KeyError, TypeError):
        return None  # no record, or none that proves anything: the run is made
    if not (same and is_whole):
        return None
    scores = tuple(score for _, score in read_scores(out))
    return ScoreRun(
        run_id=run_id(configuration), items=run.items, scores=scores, cost=cost,
        n_resumed=len(scores), path=out,
    )  # fmt: skip


def _write_results(
    result: ScoreRun, model: LanguageModel, configuration: Mapping[str, str], out: Path
) -> None:
    pairs = zip(result.items, result.scores, strict=True)
    rows = [score_row(model.info.name, item, score) for item, score in pairs]
    write_rows(out, rows, SCORE_COLUMNS)
    record = {
        "run": result.run_id,
        "configuration": configuration,
        "model": model_facts(model.info),
        "n_items": len(result.items),
        "cost": result.cost.to_dict(),
        "results": {"file": out.name, "blake2b": _digest(read_bytes(out))},
    }
    write_bytes(record_path(out), (dumps(record, indent=2) + "\n").encode())


def _digest(raw: bytes) -> str:
    return hashlib.blake2b(raw, digest_size=16).hexdigest()
