"""Tokenizers of the transformers library, with exact byte spans and nothing cleaned up."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING

from likely.core.model import Encoding, Tokens
from likely.errors import CapabilityError, MissingExtraError, StoreError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

_TEXTS_KEPT = 64  # encodings of the latest texts
_META_SPACE = "\u2581"


class HfTokenizer:
    """A fast tokenizer of transformers behind likely's tokenizer protocol.

    Args:
        tokenizer: A tokenizer with a `tokenizers` backend.

    Raises:
        CapabilityError: The tokenizer has no such backend, so offsets are not to be had.
    """

    def __init__(self, tokenizer: "PreTrainedTokenizerFast") -> None:
        if not tokenizer.is_fast:
            raise CapabilityError(
                f"the tokenizer {type(tokenizer).__name__} gives no offsets; save it as "
                "tokenizer.json (use_fast=True) and load that"
            )
        self.inner = tokenizer
        self.bos_id: int | None = tokenizer.bos_token_id
        self.eos_id: int | None = tokenizer.eos_token_id
        self.n_tokens = len(tokenizer)
        self._is_byte_level = _is_byte_level(tokenizer)
        self._special: dict[int, str] = {
            index: str(token.content) for index, token in tokenizer.added_tokens_decoder.items()
        }
        self._bytes: dict[int, bytes] = {}
        # Many continuations of one context come one after another.
        self._encode = lru_cache(maxsize=_TEXTS_KEPT)(self._encode_anew)

    @classmethod
    def load(cls, path: str) -> "HfTokenizer":
        """Return the tokenizer of a folder or a Hub id; a folder never opens a socket.

        Raises:
            MissingExtraError: transformers is not installed.
            StoreError: There is no usable tokenizer there.
        """
        try:
            from transformers import AutoTokenizer
        except ImportError as error:
            raise MissingExtraError(
                "tokenizers need transformers: pip install 'likely[hf]'"
            ) from error
        try:
            inner = AutoTokenizer.from_pretrained(path, local_files_only=Path(path).is_dir())
        except (OSError, ValueError, KeyError) as error:
            reason = str(error).strip().splitlines()[0]
            raise StoreError(f"cannot load a tokenizer from {path!r}: {reason}") from error
        return cls(inner)

    @property
    def adds_bos(self) -> bool:
        """Whether the tokenizer by its own setting begins a text with its BOS."""
        with_special = self.inner("a", add_special_tokens=True)["input_ids"]
        return self.bos_id is not None and with_special[:1] == [self.bos_id]

    @property
    def fingerprint(self) -> str:
        """A hash of all that decides which ids a text becomes, the library's version among it."""
        import tokenizers

        whole = f"{tokenizers.__version__} {self.inner.backend_tokenizer.to_str()}"
        return hashlib.blake2b(whole.encode(), digest_size=16).hexdigest()

    @property
    def has_chat_template(self) -> bool:
        """Whether conversations can be rendered."""
        return bool(self.inner.chat_template)

    def encode(self, text: str) -> Encoding:
        return self._encode(text)

    def encode_many(self, texts: Sequence[str]) -> list[tuple[int, ...]]:
        """Return the ids of each text, as `encode` does, without their spans."""
        if not texts:
            return []
        encoded = self.inner(
            list(texts), add_special_tokens=False, return_attention_mask=False,
            return_token_type_ids=False, verbose=False,
        )  # fmt: skip
        return [tuple(ids) for ids in encoded["input_ids"]]

    def _encode_anew(self, text: str) -> Encoding:
        encoded = self.inner(
            text, add_special_tokens=False, return_offsets_mapping=True, verbose=False
        )
        tokens = tuple(int(token) for token in encoded["input_ids"])
        spans = self._exact_spans(text, tokens) or _byte_offsets(text, encoded["offset_mapping"])
        return Encoding(tokens=tokens, byte_spans=spans)

    def decode(self, tokens: Tokens) -> str:
        return b"".join(self.token_bytes(token) for token in tokens).decode("utf-8", "replace")

    def token_bytes(self, token: int) -> bytes:
        token = int(token)
        if token not in self._bytes:
            self._bytes[token] = self._read_bytes(token)
        return self._bytes[token]

    def render_chat(self, messages: Sequence[Mapping[str, str]], *, open_reply: bool) -> str:
        if not self.has_chat_template:
            raise CapabilityError(
                "this tokenizer has no chat template; pass the prompt as text instead"
            )
        text = self.inner.apply_chat_template(
            [dict(message) for message in messages],
            tokenize=False,
            add_generation_prompt=open_reply,
        )
        return str(text)

    def _read_bytes(self, token: int) -> bytes:
        if token in self._special:
            return self._special[token].encode()
        piece = self.inner.convert_ids_to_tokens(token) if token < self.n_tokens else None
        if piece is None:
            return b""
        if self._is_byte_level:
            table = _byte_of_char()
            if all(char in table for char in piece):
                return bytes(table[char] for char in piece)
            return str(piece).encode()
        if len(piece) == 6 and piece.startswith("<0x") and piece.endswith(">"):
            return bytes([int(piece[3:5], 16)])
        return str(piece).replace(_META_SPACE, " ").encode()

    def _exact_spans(self, text: str, tokens: Tokens) -> tuple[tuple[int, int], ...]:
        """Return running byte spans if the tokens' bytes are the text's, else nothing."""
        sizes = [len(self.token_bytes(token)) for token in tokens]
        raw = b"".join(self.token_bytes(token) for token in tokens)
        wanted = text.encode()
        added = len(raw) - len(wanted)  # a tokenizer may put one space before a text
        if added not in (0, 1) or raw != b" " * added + wanted:
            return ()
        ends = [max(0, end - added) for end in accumulate(sizes)]
        return tuple(zip([0, *ends][: len(ends)], ends, strict=True))


def _byte_offsets(text: str, offsets: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Return character offsets as byte offsets."""
    at = list(accumulate((len(char.encode()) for char in text), initial=0))
    return tuple((at[start], at[stop]) for start, stop in offsets)


def _is_byte_level(tokenizer: "PreTrainedTokenizerFast") -> bool:
    parts = json.loads(tokenizer.backend_tokenizer.to_str())
    steps = [parts.get("decoder") or {}, parts.get("pre_tokenizer") or {}]
    for step in list(steps):
        steps += step.get("decoders", []) + step.get("pretokenizers", [])
    return any(step.get("type") == "ByteLevel" for step in steps)


@lru_cache(maxsize=1)
def _byte_of_char() -> dict[str, int]:
    """Return the byte that each character of a byte-level vocabulary stands for.

    Sources:
        Radford et al. (2019), GPT-2: printable bytes stand for themselves, the other ones for
        the characters from U+0100 on, in order.
    """
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    table = {chr(byte): byte for byte in printable}
    others = [byte for byte in range(256) if byte not in set(printable)]
    table |= {chr(0x100 + i): byte for i, byte in enumerate(others)}
    return table
