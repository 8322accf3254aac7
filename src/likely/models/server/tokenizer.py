"""A tokenizer at the other end of a wire: ids, spans and pieces through two endpoints."""

from collections.abc import Mapping, Sequence
from itertools import accumulate

from likely.core.model import Encoding, Tokens
from likely.errors import CapabilityError
from likely.models.server.dialect import Dialect

_BROKEN = "\ufffd"
_LONGEST_CHARACTER = 8  # tokens that together spell one character: never more than a few bytes
_REMEDY = "pass tokenizer=<folder of its transformers tokenizer>"


class ServerTokenizer:
    """Asks a server for ids and texts, and remembers both.

    A token's bytes are read off its text behind an ordinary token, since some tokenizers drop a
    space at the start of a text. Tokens that only together spell a character share its span.

    Args:
        dialect: The server.
        anchor: An ordinary token, with a text of its own.

    Raises:
        CapabilityError: The server gives no text for the anchor.
    """

    def __init__(self, dialect: Dialect, *, anchor: int) -> None:
        self._dialect = dialect
        self._encodings: dict[str, Encoding] = {}
        self._bytes: dict[int, bytes | None] = {}
        self._anchor = anchor
        text = dialect.text_of([anchor])
        if not text or _BROKEN in text:
            raise CapabilityError(f"the server gives no text for its token {anchor}; {_REMEDY}")
        self._anchor_text = text

    def encode(self, text: str) -> Encoding:
        if text not in self._encodings:
            self._encodings[text] = self._encode(text)
        return self._encodings[text]

    def decode(self, tokens: Tokens) -> str:
        known = [self._bytes_of(int(token)) for token in tokens]
        if all(raw is not None for raw in known):
            return b"".join(raw for raw in known if raw is not None).decode("utf-8", "replace")
        whole = self._text_behind_anchor(tokens)
        if whole is not None:
            return whole
        return "".join(_BROKEN if raw is None else raw.decode("utf-8", "replace") for raw in known)

    def token_bytes(self, token: int) -> bytes:
        raw = self._bytes_of(int(token))
        if raw is None:
            raise CapabilityError(f"the server does not tell the bytes of token {token}; {_REMEDY}")
        return raw

    def render_chat(self, messages: Sequence[Mapping[str, str]], *, open_reply: bool) -> str:
        raise CapabilityError(
            f"a server's chat template cannot be read from here; {_REMEDY}, or pass the "
            "rendered prompt as text"
        )

    def _encode(self, text: str) -> Encoding:
        spelled = self._dialect.spell(text, special=False) if text else ()
        for token, raw in spelled:
            if raw is not None:
                self._bytes[token] = raw
        tokens = tuple(token for token, _ in spelled)
        return Encoding(tokens=tokens, byte_spans=self._spans(text.encode(), tokens))

    def _spans(self, wanted: bytes, tokens: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
        groups = self._groups(tokens)
        raw = b"".join(part for _, part in groups)
        n_added = len(raw) - len(wanted)  # a tokenizer may put one space before a text
        if n_added not in (0, 1) or raw != b" " * n_added + wanted:
            raise CapabilityError(
                f"the server's pieces spell {raw[:40]!r}, not the text {wanted[:40]!r} (special "
                f"tokens or a normalising tokenizer); {_REMEDY}"
            )
        ends = [max(0, end - n_added) for end in accumulate(len(part) for _, part in groups)]
        starts = [0, *ends[:-1]]
        return tuple(
            (start, end)
            for (n_tokens, _), start, end in zip(groups, starts, ends, strict=True)
            for _ in range(n_tokens)
        )

    def _groups(self, tokens: tuple[int, ...]) -> list[tuple[int, bytes]]:
        """Return runs of tokens whose bytes are known, as (number of tokens, bytes)."""
        groups: list[tuple[int, bytes]] = []
        at = 0
        while at < len(tokens):
            raw = self._bytes_of(tokens[at])
            size = 1
            while raw is None:
                size += 1
                if size > _LONGEST_CHARACTER or at + size > len(tokens):
                    raise CapabilityError(
                        f"the server gives no text for tokens {list(tokens[at : at + size])}; "
                        f"{_REMEDY}"
                    )
                raw = self._strict_bytes(tokens[at : at + size])
            groups.append((size, raw))
            at += size
        return groups

    def _bytes_of(self, token: int) -> bytes | None:
        if token not in self._bytes:
            self._bytes[token] = self._strict_bytes([token])
        return self._bytes[token]

    def _strict_bytes(self, tokens: Tokens) -> bytes | None:
        text = self._text_behind_anchor(tokens)
        return None if text is None or _BROKEN in text else text.encode()

    def _text_behind_anchor(self, tokens: Tokens) -> str | None:
        text = self._dialect.text_of([self._anchor, *tokens])
        if text is None or not text.startswith(self._anchor_text):
            return None
        return text[len(self._anchor_text) :]
