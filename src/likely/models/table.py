"""Hand-written next-token laws: every answer is known exactly. Unit: nats."""

import copy
import hashlib
import json
import math
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from likely.core.logspace import tempered
from likely.core.model import Capability, Encoding, ModelInfo, Sink, Tokens, Work
from likely.errors import CapabilityError, InputError, NumericalError, StoreError

_SUM_TOLERANCE = 1e-9  # a law written as decimals may miss 1 by rounding, not by more

NextProbs = Callable[[tuple[str, ...]], Mapping[str, float]]


class TableTokenizer:
    """Splits text by the longest match from the left over a fixed list of strings."""

    def __init__(self, tokens: Sequence[str]) -> None:
        self.strings = tuple(tokens)
        self.index = {text: i for i, text in enumerate(self.strings)}
        self._lengths = sorted({len(text) for text in self.strings if text}, reverse=True)

    def encode(self, text: str) -> Encoding:
        tokens: list[int] = []
        spans: list[tuple[int, int]] = []
        at = byte = 0
        while at < len(text):
            piece = next(
                (text[at : at + n] for n in self._lengths if text[at : at + n] in self.index), None
            )
            if piece is None:
                raise InputError(
                    f"no token of the table matches {text[at : at + 20]!r} at character {at} of "
                    f"{text[:60]!r}; its tokens are {list(self.strings[:20])}"
                )
            size = len(piece.encode())
            tokens.append(self.index[piece])
            spans.append((byte, byte + size))
            at, byte = at + len(piece), byte + size
        return Encoding(tokens=tuple(tokens), byte_spans=tuple(spans))

    def decode(self, tokens: Tokens) -> str:
        return "".join(self.strings[token] for token in tokens)

    def token_bytes(self, token: int) -> bytes:
        return self.strings[token].encode()

    def render_chat(self, messages: Sequence[Mapping[str, str]], *, open_reply: bool) -> str:
        raise CapabilityError(
            "a table model has no chat template; pass the text itself, or use a chat model"
        )


class TableModel:
    """A language model whose next-token law is a function, so that every number is exact.

    Args:
        tokens: Distinct strings; their places are their ids. ``bos`` and ``eos`` are added at the
            end if they are not among them.
        next_probs: From the token strings so far (``bos`` first, if there is one) to the
            probability of each next token; missing tokens have 0; the sum is 1.
        bos: The beginning-of-sequence string, or None for a model without.
        eos: The end-of-sequence string, or None.
        max_tokens: Longest context, or None for no limit.
        name: Shown in results.
        fingerprint: Names the law in cache keys. A function cannot be hashed, so without one each
            instance gets its own, and no cache outlives it.

    Raises:
        InputError: Tokens that are not distinct, or empty.

    >>> coin = TableModel(["H", "T"], lambda context: {"H": 0.5, "T": 0.5})
    >>> coin.info.n_vocab, coin.info.bos_id
    (3, 2)
    """

    def __init__(
        self,
        tokens: Sequence[str],
        next_probs: NextProbs,
        *,
        bos: str | None = "<s>",
        eos: str | None = None,
        max_tokens: int | None = None,
        name: str = "table",
        fingerprint: str | None = None,
    ) -> None:
        strings = list(tokens)
        strings += [special for special in (bos, eos) if special and special not in strings]
        if not all(strings) or len(set(strings)) < len(strings):
            raise InputError(f"a table needs distinct, non-empty tokens, got {list(tokens)!r}")
        self._tokenizer = TableTokenizer(strings)
        self._next_probs = next_probs
        self._temperature = 1.0
        self._info = ModelInfo(
            name=name,
            fingerprint=fingerprint or f"instance {uuid.uuid4().hex}",
            n_vocab=len(strings),
            n_tokens=len(strings),
            max_tokens=max_tokens,
            dtype="float64",
            device="cpu",
            backend="table",
            bos_id=self._tokenizer.index[bos] if bos else None,
            eos_id=self._tokenizer.index[eos] if eos else None,
            adds_bos=bos is not None,
            capabilities=frozenset(
                {
                    Capability.CONTINUATION,
                    Capability.NEXT_TOKEN,
                    Capability.TOP_TOKENS,
                    Capability.SHARED_PREFIX,
                }
            ),
        )

    @property
    def info(self) -> ModelInfo:
        return self._info

    @property
    def tokenizer(self) -> TableTokenizer:
        return self._tokenizer

    def evaluate(self, work: Work, sink: Sink) -> None:
        start = time.perf_counter()
        trie = work.trie
        row_nodes = set(work.row_nodes.tolist())
        wanted = np.union1d(work.row_nodes, work.pair_nodes)
        for node in wanted:
            row = self.row(trie.prefix(int(node)))
            first, last = np.searchsorted(work.pair_nodes, [node, node + 1])
            if first < last:
                index = np.arange(first, last)
                sink.put_pairs(index, row[work.pair_targets[index]])
            if int(node) in row_nodes:
                sink.put_rows(np.array([node]), row[None])
        if len(work.hidden_nodes):
            raise CapabilityError(f"{self.info.name!r} has no hidden states; use an hf: model")
        sink.spend(tokens=len(trie), calls=1, seconds=time.perf_counter() - start)

    def at_temperature(self, temperature: float) -> "TableModel":
        """Return the table with every next-token law to the power 1/temperature.

        Raises:
            InputError: The temperature is not positive and finite.
        """
        other = copy.copy(self)
        other._info = self._info.at_temperature(temperature)
        other._temperature = self._temperature * temperature
        return other

    def row(self, prefix: Tokens) -> np.ndarray:
        """Return the next-token log-probabilities after ``prefix``, shape ``(V,)``.

        Raises:
            InputError: The law names a token that the table does not have.
            NumericalError: The law gives a negative number or does not sum to 1.
        """
        strings = self._tokenizer.strings
        context = tuple(strings[token] for token in prefix)
        law = self._next_probs(context)
        probs = np.zeros(len(strings))
        for text, prob in law.items():
            if text not in self._tokenizer.index:
                raise InputError(
                    f"after {context!r} the law gives a probability to {text!r}, "
                    f"which is not a token of the table: {list(strings[:20])}"
                )
            probs[self._tokenizer.index[text]] = prob
        total = math.fsum(probs)
        if not (probs >= 0).all() or not abs(total - 1.0) <= _SUM_TOLERANCE:
            raise NumericalError(
                f"after {context!r} the law must give probabilities that sum to 1, "
                f"got {dict(law)!r} with sum {total!r}"
            )
        with np.errstate(divide="ignore"):
            return tempered(np.log(probs), self._temperature)


def load_table(rest: str, *, dtype: str, device: str, **options: object) -> TableModel:
    """Return the table of a JSON file.

    The file: ``{"tokens": [...], "bos": "<s>", "eos": null, "rows": [{"after": [...],
    "probs": {...}}, ...]}``; of the rows whose ``after`` ends the context, the longest applies.

    Raises:
        StoreError: The file cannot be read or is no such JSON.
        InputError: Options that a table does not have.
    """
    if options:
        raise InputError(f"a table has no options, got {sorted(options)}")
    path = Path(rest)
    try:
        raw = path.read_bytes()
        data = json.loads(raw)
        rows = {tuple(row["after"]): dict(row["probs"]) for row in data["rows"]}
        tokens = list(data["tokens"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise StoreError(
            f"cannot read the table {rest!r}: {type(error).__name__}: {error}; it needs "
            '{"tokens": [...], "rows": [{"after": [...], "probs": {...}}]}'
        ) from error
    longest = max((len(after) for after in rows), default=0)

    def next_probs(context: tuple[str, ...]) -> Mapping[str, float]:
        for n in range(min(longest, len(context)), -1, -1):
            law = rows.get(context[len(context) - n :])
            if law is not None:
                return law
        raise InputError(f"the table {rest!r} has no row for {context!r}; add one after []")

    return TableModel(
        tokens,
        next_probs,
        bos=data.get("bos"),
        eos=data.get("eos"),
        max_tokens=data.get("max_tokens"),
        name=f"table:{rest}",
        fingerprint=hashlib.blake2b(raw, digest_size=16).hexdigest(),
    )
