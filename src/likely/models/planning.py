"""Chooses the cheapest plan for a model, by costs measured once on the machine that runs it."""

import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from platformdirs import user_cache_path

from likely.core.model import Method, Settings
from likely.core.plan import (
    CostModel,
    Draft,
    Plan,
    cut_rows,
    draft_plan,
    finish_plan,
    fit_cost,
    make_plan,
)
from likely.core.trie import PrefixTrie

_ROW_TOKENS = (64, 128, 160, 256, 384, 512, 1024)
_PASS_TOKENS = (256, 384, 512, 1024, 2048)
_MASK_CELLS = 1 << 19  # rows are narrower over a long past, so that masks and copies stay small
_WORTH_MEASURING = 8192  # nodes: below this, measuring costs more than it can save
_SHAPES = ((32, 32), (256, 256), (256, 1024), (512, 512))  # (new tokens, keys) that are timed
_REPEATS = 3
_WORST_FIT = 0.3  # largest log ratio of predicted and measured time that is believed
_RESERVE = 0.5  # share of the memory budget for activations and masks; the rest is for stored K/V


@dataclass(frozen=True, slots=True, kw_only=True)
class Footprint:
    """Bytes that a token of this model takes.

    Attributes:
        activations: While it goes through the layers.
        keys_values: In a slot.
        cost: Seconds a token by arithmetic alone, used until something is measured.
    """

    activations: int
    keys_values: int
    cost: CostModel


class Planner:
    """Plans work for one model on one machine.

    Args:
        identity: Names model, device and thread count: measured costs are kept under it.
        footprint: Memory and guessed cost of a token.
        methods: What the model can do; ``full`` always.
        time_pass: Runs and times a pass of (new tokens, keys) once; for measuring.
        max_tokens: Longest text that the model reads, or None.
    """

    def __init__(
        self,
        identity: str,
        footprint: Footprint,
        *,
        methods: frozenset[Method],
        time_pass: Callable[[int, int], float],
        max_tokens: int | None = None,
    ) -> None:
        self.footprint = footprint
        self.methods = methods
        self._time_pass = time_pass
        longest = max(keys for _, keys in _SHAPES)
        self._can_measure = max_tokens is None or max_tokens >= longest
        digest = hashlib.sha256(identity.encode()).hexdigest()[:24]
        self._file = user_cache_path("likely") / "costs" / f"{digest}.json"
        self._cost = _read_cost(self._file)

    def plan(self, trie: PrefixTrie, settings: Settings) -> Plan:
        """Return the plan that ``settings`` ask for, or the cheapest one within the budget."""
        methods = self._allowed(settings)
        if settings.deterministic:
            return make_plan(trie, method="full", row_tokens=1, batch_rows=1)
        if settings.row_tokens is not None or settings.batch_rows is not None:
            return make_plan(
                trie,
                method=methods[0],
                row_tokens=settings.row_tokens or 512,
                batch_rows=settings.batch_rows or 1,
            )
        cost = self._current_cost(trie)
        drafts = [
            draft_plan(trie, rows, method=method, batch_rows=batch_rows)
            for method in methods
            for row_tokens, sizes in self._shapes(trie, method, settings).items()
            for stem in ((False, True) if method == "tree" else (False,))
            for rows in [cut_rows(trie, method=method, row_tokens=row_tokens, stem=stem)]
            for batch_rows in sizes
        ]
        drafts.sort(key=lambda draft: cost.seconds(draft.shapes))
        fitting = (draft for draft in drafts if self._fits(draft, settings))
        leanest = min(drafts, key=lambda draft: max(n * t for n, t, _ in draft.shapes))
        return finish_plan(next(fitting, leanest))

    def _allowed(self, settings: Settings) -> tuple[Method, ...]:
        if settings.method != "auto":
            return (settings.method,) if settings.method in self.methods else ("full",)
        order: tuple[Method, ...] = ("tree", "cache") if "tree" in self.methods else ("full",)
        return order

    def _shapes(self, trie: PrefixTrie, method: Method, settings: Settings) -> dict[int, list[int]]:
        """Return for each row length worth trying the numbers of rows worth trying."""
        budget = int(settings.memory * _RESERVE / max(1, self.footprint.activations))
        longest = int(trie.depth.max(initial=1))
        most = min(budget, 2 * len(trie))
        if method == "full":
            return {longest: _batch_sizes(longest, most)}
        widest = min(budget, _MASK_CELLS // (longest + _ROW_TOKENS[0]))
        widths = [w for w in _ROW_TOKENS if w <= max(_ROW_TOKENS[0], widest)]
        useful = [w for w in widths if w < len(trie)] + [w for w in widths if w >= len(trie)][:1]
        # Rows as long as the longest text: texts of one length then need neither mask nor padding.
        useful += [longest] if longest <= widths[-1] else []
        return {width: _batch_sizes(width, most) for width in useful}

    def _fits(self, draft: Draft, settings: Settings) -> bool:
        return draft.peak_slots * self.footprint.keys_values <= settings.memory * (1 - _RESERVE)

    def _current_cost(self, trie: PrefixTrie) -> CostModel:
        if self._cost is not None:
            return self._cost
        if len(trie) < _WORTH_MEASURING or not self._can_measure:
            return self.footprint.cost
        self._cost = self.measure()
        return self._cost

    def measure(self) -> CostModel:
        """Time a few passes and return the fitted costs; keep them for later runs.

        On a machine that is busy with other things the times make no sense together. Then the
        costs by arithmetic are returned, and nothing is kept.
        """
        rounds = [[self._time_pass(new, keys) for new, keys in _SHAPES] for _ in range(_REPEATS)]
        seconds = np.min(np.array(rounds), axis=0)
        cost = fit_cost(_SHAPES, seconds)
        predicted = [cost.seconds([(1, new, keys - new)]) for new, keys in _SHAPES]
        gap = np.abs(np.log(np.maximum(predicted, 1e-12) / seconds)).max()
        if gap > _WORST_FIT or cost.per_token <= 0:
            return self.footprint.cost
        _write_cost(self._file, cost)
        return cost


def _batch_sizes(width: int, most: int) -> list[int]:
    """Return numbers of rows of this width that make passes of the usual sizes."""
    return sorted({1, *(tokens // width for tokens in _PASS_TOKENS if width <= tokens <= most)})


def timed(run: Callable[[], object]) -> float:
    """Return the seconds that one call takes."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def _read_cost(path: Path) -> CostModel | None:
    try:
        data = json.loads(path.read_text())
        return CostModel(**{key: float(value) for key, value in data.items()})
    except (OSError, ValueError, TypeError):
        return None  # never measured, or not readable: costs are a convenience, not a result


def _write_cost(path: Path, cost: CostModel) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(asdict(cost)))
    except OSError:
        return  # a read-only home folder costs a measurement next time, nothing more
