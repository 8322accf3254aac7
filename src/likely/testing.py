"""The contract of an adapter as code: `check_model` raises where a law is broken. Unit: nats.

For packages that add a model, in one line of one test: ``check_model(MyModel())``.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from likely.core.model import Capability, LanguageModel
from likely.core.probe import compare
from likely.core.scoring import next_tokens, score, surprisal
from likely.core.selfcheck import LIMITS, TEXTS, made_up_texts, self_check
from likely.core.text.encode import with_bos
from likely.core.text.windows import plan_windows
from likely.errors import ContractError, InputError, NumericalError

EXACT = 1e-12
"""Largest difference that passes for a table, nats a token: its rows are the truth."""


def check_model(
    model: LanguageModel, *, texts: Sequence[str] | None = None, tolerance: float | None = None
) -> None:
    """Raise unless the model keeps the laws that every number of likely rests on.

    The laws: batch size and order do not matter; a cached prefix gives what the full forward
    gives; each scored token is counted exactly once, on every path; a full row sums to 1; the ids
    that are scored are the ids that are reported.

    Args:
        model: Any model that gives continuations.
        texts: What is read; by default as in `self_check`.
        tolerance: Nats a token; by default `EXACT` for a table, and else the limits of
            `self_check`, which for 16-bit weights are wide.

    Raises:
        ContractError: A law is broken; the message begins with its name.
        CapabilityError: The model gives no continuation scores.
    """
    dtype = model.info.dtype
    if tolerance is None:
        is_table = model.info.backend == "table"
        tolerance = EXACT if is_table else LIMITS.get(dtype, LIMITS["bfloat16"])
    read = _texts(model) if texts is None else tuple(texts)
    try:
        _check_information(model)
        for text in read:
            _check_ids(model, text)
            _check_reported(model, text)
        _check_measured(model, read, tolerance)
        for text in read:
            _check_counted_once(model, text, tolerance)
    except NumericalError as error:
        raise ContractError(f"finite numbers: {error}") from error


def _texts(model: LanguageModel) -> tuple[str, ...]:
    try:
        for text in TEXTS:
            model.tokenizer.encode(text)
    except InputError:
        return made_up_texts(model)
    return TEXTS


def _check_information(model: LanguageModel) -> None:
    info = model.info
    if not 0 < info.n_tokens <= info.n_vocab:
        raise ContractError(
            f"information: n_tokens lies in 1..n_vocab, got {info.n_tokens} and {info.n_vocab}"
        )
    for name, token in (("bos_id", info.bos_id), ("eos_id", info.eos_id)):
        if token is not None and not 0 <= token < info.n_vocab:
            raise ContractError(f"information: {name} is an id or None, got {token!r}")
    if info.adds_bos and info.bos_id is None:
        raise ContractError("information: adds_bos needs a bos_id, got None")


def _check_ids(model: LanguageModel, text: str) -> None:
    """The ids of a text spell it, byte for byte, and their spans tile it."""
    encoding = model.tokenizer.encode(text)
    pieces = [model.tokenizer.token_bytes(token) for token in encoding.tokens]
    raw = b"".join(pieces)
    n_added = int(raw == b" " + text.encode())  # some tokenizers put one space before a text
    if raw[n_added:] != text.encode():
        raise ContractError(f"same ids: the ids of {text!r} spell {raw!r}")
    back = model.tokenizer.decode(encoding.tokens)
    if back[n_added:] != text:
        raise ContractError(f"same ids: {text!r} comes back as {back!r}")
    ends = [max(0, int(end) - n_added) for end in np.cumsum([len(piece) for piece in pieces])]
    spans = tuple(zip([0, *ends[:-1]], ends, strict=True))
    if encoding.byte_spans != spans:
        raise ContractError(
            f"same ids: the byte spans of {text!r} are {encoding.byte_spans}, its pieces {spans}"
        )
    if encoding.tokens and max(encoding.tokens) >= model.info.n_tokens:
        raise ContractError(f"same ids: {text!r} has an id past n_tokens={model.info.n_tokens}")


def _check_reported(model: LanguageModel, text: str) -> None:
    """What a score reports is the encoding, with exactly the BOS that the policy says."""
    own = model.tokenizer.encode(text).tokens
    limit = model.info.max_tokens
    if limit is not None and len(own) > limit:
        return
    for bos in ("auto", "never"):
        ids, _ = with_bos(model, own, bos=bos)
        if len(ids) < 2:
            continue
        result = surprisal(model, text, bos=bos)
        if (*result.context_tokens, *result.tokens) != ids:
            raise ContractError(
                f"same ids: with bos={bos!r} {text!r} is {list(ids)}, reported as "
                f"{[*result.context_tokens, *result.tokens]}"
            )
        head, tail = text[: len(text) // 2], text[len(text) // 2 :]
        pair = score(model, [(head, tail)], bos=bos)[0] if tail else None
        if pair is not None and (*pair.context_tokens, *pair.tokens) != ids:
            raise ContractError(
                f"same ids: {head!r} + {tail!r} is {list(ids)}, reported as "
                f"{[*pair.context_tokens, *pair.tokens]}"
            )


def _check_measured(model: LanguageModel, texts: Sequence[str], tolerance: float) -> None:
    for row in self_check(model, texts=texts, tolerance=tolerance).rows:
        if not row.passed:
            raise ContractError(
                f"{row.name}: {row.what} differ by {row.largest_difference!r} nats, more than "
                f"{row.limit!r}, on {model.info.name!r}"
            )


def _check_counted_once(model: LanguageModel, text: str, tolerance: float) -> None:
    """Windows of every stride, pairs and single steps give each token the same score, once."""
    ids, _ = with_bos(model, model.tokenizer.encode(text).tokens, bos="auto")
    n_added = len(ids) - len(model.tokenizer.encode(text).tokens)
    limit = model.info.max_tokens
    if len(ids) < 2:
        return
    for window, stride in _window_sizes(len(ids), limit):
        rolling = surprisal(model, text, window=window, stride=stride)
        scored = [x for x in rolling.token_log_probs if x is not None]
        if len(scored) != len(ids) - max(1, n_added):
            raise ContractError(
                f"counted once: window={window} stride={stride} scores {len(scored)} of the "
                f"{len(ids)} ids of {text!r}"
            )
        starts = [
            (w.start, i)
            for w in plan_windows(len(ids), window=window, stride=stride)
            for i in range(w.first, w.stop)
        ]
        if [i for _, i in starts] != list(range(1, len(ids))):
            raise ContractError(
                f"counted once: window={window} stride={stride} plans the places "
                f"{[i for _, i in starts]} of {len(ids)} ids"
            )
        steps = _steps(model, ids, starts)
        measured = compare([np.array(scored)] * len(steps), steps)
        if not measured.largest <= tolerance:
            raise ContractError(
                f"counted once: at window={window} stride={stride} the rolling and the "
                f"step-by-step scores of {text!r} differ by {measured.largest!r} nats a token"
            )


def _steps(
    model: LanguageModel, ids: tuple[int, ...], starts: Sequence[tuple[int, int]]
) -> list[np.ndarray]:
    """Return each id's score after ``ids[start:i]``, as a pair and from the whole row."""
    contexts = [ids[start:i] for start, i in starts]
    targets = [ids[i] for _, i in starts]
    pairs = [(context, [token]) for context, token in zip(contexts, targets, strict=True)]
    paths = [np.array([item.log_prob for item in score(model, pairs)])]
    if Capability.NEXT_TOKEN in model.info.capabilities:
        rows = next_tokens(model, contexts)
        paths.append(
            np.array([row.log_prob(token) for row, token in zip(rows, targets, strict=True)])
        )
    return paths


def _window_sizes(n_ids: int, limit: int | None) -> Iterator[tuple[int, int]]:
    """Yield windows with strides: a short window with every stride, and one of the whole text."""
    most = n_ids - 1 if limit is None else min(n_ids - 1, limit)
    short = min(4, most)
    yield from ((short, stride) for stride in range(1, short + 1))
    if most > short:
        yield most, max(1, most // 2)
