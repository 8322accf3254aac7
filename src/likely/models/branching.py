"""Branches that grow from a stem of a transformers model, keys and values kept. Unit: nats."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from transformers.cache_utils import Cache, CacheLayerMixin

from likely.core.branches import Spending, check_growth, check_length
from likely.core.logspace import check_log_probs
from likely.errors import InputError
from likely.models.passes import PassRunner, log_softmax
from likely.models.stem_attention import over_stem

_PASS_TOKENS = 1024  # new tokens of a pass: beyond this a forward gets no faster
_LOGIT_BYTES = 1 << 24  # of the output layer at a time: what a processor holds near itself

KeysValues = list[tuple[torch.Tensor, torch.Tensor]]


class _GrowingLayer(CacheLayerMixin):  # type: ignore[misc]  # a base of an untyped library
    """Keys and values of one layer: of the stem, of the branches so far, and the newest."""

    is_sliding = False

    def __init__(self, parts: Sequence[tuple[torch.Tensor, torch.Tensor]], n_past: int) -> None:
        super().__init__()
        self.parts = parts
        self.n_past = n_past
        self.is_initialized = True

    def lazy_initialization(self, key_states: torch.Tensor, value_states: torch.Tensor) -> None:
        return

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: object, **kwargs: object
    ) -> tuple[torch.Tensor, torch.Tensor]:
        self.newest = (key_states, value_states)
        n = len(key_states)
        keys = [keys.expand(n, -1, -1, -1) for keys, _ in self.parts]
        values = [values.expand(n, -1, -1, -1) for _, values in self.parts]
        return torch.cat([*keys, key_states], dim=2), torch.cat([*values, value_states], dim=2)

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        return self.n_past + int(query_length), 0

    def get_seq_length(self) -> int:
        return self.n_past

    def get_max_length(self) -> int:
        return -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Machinery:
    """What stems need of their model.

    Attributes:
        runner: The backbone and how it wants its masks.
        logits: From hidden states after the final norm, shape ``(n, D)``, to logits ``(n, V)``.
        n_vocab: V.
        inference: Puts the model into inference while work is done.
        memory: Bytes that the kept keys and values of branches may take.
        max_tokens: Longest text that the model reads, or None.
        describe: Names the model and a text in error messages.
        shares_stem: Whether attention takes the keys and values of a stem as they stand, once for
            all branches; see `likely.models.stem_attention`.
    """

    runner: PassRunner
    logits: Callable[[torch.Tensor], torch.Tensor]
    n_vocab: int
    inference: Callable[[], AbstractContextManager[None]]
    memory: int
    max_tokens: int | None
    describe: Callable[[Sequence[int]], str]
    shares_stem: bool


class ModelStem:
    """A stem that holds the keys, values and last hidden states of its text.

    Args:
        parts: Of the model.
        tokens: Ids, at least one.
    """

    reads_anew = False

    def __init__(self, parts: Machinery, tokens: Sequence[int]) -> None:
        self.parts = parts
        self.tokens = tuple(int(token) for token in tokens)
        self.spending = Spending()
        ids = np.array([self.tokens], dtype=np.int64)
        past: KeysValues = []
        states = []
        for start in range(0, len(self.tokens), _PASS_TOKENS):
            block = ids[:, start : start + _PASS_TOKENS]
            hidden, newest = _forward(parts, block, [past] if past else [], start, self.spending)
            past = _append(past, newest)
            states.append(hidden[0])
        self.keys_values = past
        self.states = torch.cat(states)

    def row(self, length: int) -> Float[np.ndarray, "V"]:
        check_length(self.tokens, length)
        with self.parts.inference():
            logits = self.parts.logits(self.states[length - 1 : length])
            row = log_softmax(logits)[0].cpu().numpy()
        check_log_probs(row, what=self.parts.describe(self.tokens[:length]))
        return np.asarray(row)

    def branches(self, length: int, n: int) -> "ModelBranches":
        check_length(self.tokens, length)
        return ModelBranches(self, length, n)


class ModelBranches:
    """Branches of a `ModelStem`.

    The newest token of each is not evaluated before what comes after it is asked for: the last
    token of a text that is scored never goes through the model.
    """

    def __init__(self, stem: ModelStem, length: int, n: int) -> None:
        self.stem = stem
        self.length = length
        self.grown = np.empty((n, 0), dtype=np.int64)
        self._own: KeysValues = []
        self._last = stem.states[length - 1 : length].expand(n, -1)  # of the newest evaluated
        self._n_read = 0  # how many grown tokens it has seen
        self._is_done = False

    def __len__(self) -> int:
        return len(self.grown)

    def grow(
        self, tokens: Int[np.ndarray, "B k"], *, last: bool = False
    ) -> Float[np.ndarray, "B k"]:
        check_growth(self, tokens, is_done=self._is_done)
        found = np.empty(tokens.shape)
        n_before = self.grown.shape[1]
        n_known = 0  # of the new tokens, those whose row needs no further evaluation
        if tokens.size and n_before == 0:
            found[:, 0] = self.stem.row(self.length)[tokens[:, 0]]
            n_known = 1
        elif tokens.size and n_before == self._n_read:
            found[:, :1] = self._score(self._last[:, None], tokens[:, :1])
            n_known = 1
        self.grown = np.concatenate([self.grown, tokens], axis=1)
        n_new = tokens.shape[1] - n_known
        # Evaluated are the tokens from the first whose keys are not kept to the last but one.
        inputs = self.grown[:, self._n_kept : -1]
        if inputs.size and n_new:

            def score(rows: slice, states: torch.Tensor) -> None:
                found[rows, n_known:] = self._score(states[:, -n_new:], tokens[rows, n_known:])

            self._evaluate(inputs, score, keep=not last)
        self._check(found)
        self._is_done = last
        # Rounding may put a probability of 1 a little above it.
        return np.minimum(found, 0.0)

    def append(self, tokens: Int[np.ndarray, "B k"]) -> None:
        check_growth(self, tokens, is_done=self._is_done)
        self.grown = np.concatenate([self.grown, tokens], axis=1)

    def iter_rows(self) -> Iterator[Float[np.ndarray, "r V"]]:
        if len(self) and self._n_read < self.grown.shape[1]:
            self._evaluate(self.grown[:, self._n_kept :], lambda rows, states: None, keep=True)
        parts, last, grown = self.stem.parts, self._last, self.grown
        size = max(1, _LOGIT_BYTES // (4 * parts.n_vocab))
        for start in range(0, len(grown), size):
            began = time.perf_counter()
            with parts.inference():
                rows = log_softmax(parts.logits(last[start : start + size])).cpu().numpy()
            self.stem.spending.add(0, 0, time.perf_counter() - began)
            bad = np.flatnonzero(~(rows.max(axis=1) <= 1e-9))
            if len(bad):
                check_log_probs(rows[bad[0]], what=self._describe(start + int(bad[0])))
            yield rows

    def keep(self, index: Int[np.ndarray, "b"]) -> None:
        self.grown = self.grown[index]
        at = torch.from_numpy(np.asarray(index, dtype=np.int64)).to(self.stem.states.device)
        self._last = self._last[at]
        for i, (keys, values) in enumerate(self._own):
            self._own[i] = keys[at], values[at]

    @property
    def _n_kept(self) -> int:
        """How many grown tokens have their keys and values kept."""
        return self._own[0][0].shape[2] if self._own else 0

    def _evaluate(
        self,
        inputs: Int[np.ndarray, "B t"],
        use: Callable[[slice, torch.Tensor], None],
        *,
        keep: bool,
    ) -> None:
        """Evaluate tokens after those that are kept; hand over hidden states as they come."""
        parts, stem = self.stem.parts, self.stem
        n_text = self.length + self._n_kept + inputs.shape[1]
        if parts.max_tokens is not None and n_text > parts.max_tokens:
            raise InputError(
                f"branches of {n_text} tokens are longer than the {parts.max_tokens} that the "
                "model reads; shorten the text"
            )
        stored = [(k[:, :, : self.length], v[:, :, : self.length]) for k, v in stem.keys_values]
        n_kept = self._n_kept
        keep = keep and self._fits(len(inputs) * (n_kept + inputs.shape[1]))
        newest: list[KeysValues] = []
        last = []
        size = max(1, _PASS_TOKENS // inputs.shape[1])
        for start in range(0, len(inputs), size):
            rows = slice(start, start + size)
            own = [(keys[rows], values[rows]) for keys, values in self._own]
            past, stands = [own] if own else [], stored
            if not parts.shares_stem:
                past, stands = [stored, *past], []
            states, fresh = _forward(
                parts, inputs[rows], past, self.length + n_kept, stem.spending, stem=stands
            )
            use(rows, states)
            last.append(states[:, -1].clone())
            if keep:
                newest.append(_append(own, fresh))
        self._last, self._n_read = torch.cat(last), n_kept + inputs.shape[1]
        self._own = _stack(newest)

    def _score(
        self, states: torch.Tensor, targets: Int[np.ndarray, "b t"]
    ) -> Float[np.ndarray, "b t"]:
        parts = self.stem.parts
        start = time.perf_counter()
        flat = states.reshape(-1, states.shape[-1])
        # Copied: a suffix that all rows share is a view that may not be written to.
        wanted = torch.from_numpy(targets.flatten()).to(flat.device)
        size = max(1, _LOGIT_BYTES // (4 * parts.n_vocab))
        with parts.inference():
            found = [
                target_log_probs(parts.logits(flat[i : i + size]), wanted[i : i + size])
                for i in range(0, len(flat), size)
            ]
        scores = torch.cat(found).reshape(targets.shape).cpu().numpy()
        self.stem.spending.add(0, 0, time.perf_counter() - start)
        return np.asarray(scores)

    def _check(self, scores: Float[np.ndarray, "B t"]) -> None:
        if not np.all(scores <= 1e-6):
            bad = int(np.flatnonzero(~(scores <= 1e-6).all(axis=1))[0])
            check_log_probs(scores[bad], what=self._describe(bad), slack=1e-6)

    def _describe(self, branch: int) -> str:
        before = self.stem.tokens[: self.length]
        return self.stem.parts.describe((*before, *self.grown[branch].tolist()))

    def _fits(self, n_tokens: int) -> bool:
        """Return whether keys and values of so many tokens may be kept; if not, nothing is.

        What is not kept is evaluated anew at the next step.
        """
        stored = [part for pair in self.stem.keys_values for part in pair]
        taken = sum(part.nelement() * part.element_size() for part in stored)
        return n_tokens * taken <= self.stem.parts.memory * len(self.stem.tokens)


def target_log_probs(
    logits: Float[torch.Tensor, "n V"], targets: Int[torch.Tensor, "n"]
) -> Float[torch.Tensor, "n"]:
    """Return the log-probability of one token after each row of logits, float64; eats the logits.

    The exponentials are taken in the dtype of the logits, float32 at least, which is as fine as
    the logits themselves; they are summed in float64.
    """
    logits = logits if logits.dtype == torch.float64 else logits.to(torch.float32)
    top = logits.amax(dim=-1, keepdim=True)
    centred = logits.sub_(top)
    chosen = centred.gather(1, targets[:, None])[:, 0].to(torch.float64)
    return chosen - torch.log(centred.exp_().sum(dim=-1, dtype=torch.float64))


def _forward(
    parts: Machinery,
    ids: Int[np.ndarray, "B t"],
    past: Sequence[KeysValues],
    n_past: int,
    spending: Spending,
    *,
    stem: KeysValues | None = None,
) -> tuple[torch.Tensor, KeysValues]:
    """Evaluate ``ids`` after ``past``; return hidden states, and their keys and values.

    A ``stem`` stands before ``past``, once for all rows.
    """
    runner = parts.runner
    start = time.perf_counter()
    layers = [_GrowingLayer([kind[i] for kind in past], n_past) for i in range(runner.n_layers)]
    n_rows, n_new = ids.shape
    position = torch.arange(n_past, n_past + n_new, device=runner.device)
    arguments: dict[str, object] = {
        "use_cache": True,
        "position_ids": position[None].expand(n_rows, -1),
        "attention_mask": None if stem else runner.causal_masks(n_new, n_past),
        runner.cache_name: Cache(layers=layers),
    }
    with parts.inference(), over_stem(runner.backbone, stem) if stem else nullcontext():
        tensor = torch.from_numpy(ids.copy(order="C")).to(runner.device)
        states: torch.Tensor = runner.backbone(input_ids=tensor, **arguments).last_hidden_state
    spending.add(ids.size, 1, time.perf_counter() - start)
    return states, [layer.newest for layer in layers]


def _append(past: KeysValues, newest: KeysValues) -> KeysValues:
    if not past:
        return newest
    return [
        (torch.cat([keys, new_keys], dim=2), torch.cat([values, new_values], dim=2))
        for (keys, values), (new_keys, new_values) in zip(past, newest, strict=True)
    ]


def _stack(chunks: list[KeysValues]) -> KeysValues:
    """Return the chunks one below the other, freeing each layer of them as it goes."""
    if len(chunks) <= 1:
        return chunks[0] if chunks else []
    return list(_iter_stacked([list(reversed(chunk)) for chunk in chunks]))


def _iter_stacked(chunks: list[KeysValues]) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    while chunks[0]:
        layers = [chunk.pop() for chunk in chunks]
        yield torch.cat([k for k, _ in layers]), torch.cat([v for _, v in layers])
