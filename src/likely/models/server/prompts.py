"""Prompts in the form that a server takes: ids as they are, or a text proven to give those ids."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from likely.core.model import Tokenizer
from likely.errors import CapabilityError
from likely.models.server.completions import Draw, Question, Reading
from likely.models.server.dialect import Dialect, Facts


@dataclass(kw_only=True)
class Asker:
    """Asks questions about exact ids.

    Attributes:
        dialect: The server.
        tokenizer: For the text of ids.
        facts: For the BOS.
        by_text: Whether prompts go as text.
    """

    dialect: Dialect
    tokenizer: Tokenizer
    facts: Facts
    by_text: bool
    _texts: dict[tuple[int, ...], str] = field(default_factory=dict)

    def ask(
        self,
        ids: tuple[int, ...],
        *,
        own: bool,
        k: int,
        temperature: float = 1.0,
        bias: Mapping[int, float] | None = None,
    ) -> Reading:
        """Return what the server says about a prompt.

        Raises:
            CapabilityError: The server takes only text, and no text gives these ids.
            ServerError: It does not answer, or not in a way that can be used.
        """
        text = self.text(ids)
        question = Question(
            ids=ids, text=text, own=own, k=k, temperature=temperature, bias=bias or {}
        )
        return self.dialect.ask(question, facts=self.facts)

    def draw(self, ids: tuple[int, ...], *, n: int, max_tokens: int, seed: int) -> list[str]:
        """Return texts after a prompt; errors as in `ask`."""
        draw = Draw(ids=ids, text=self.text(ids), n=n, max_tokens=max_tokens, seed=seed)
        return self.dialect.draw(draw, facts=self.facts)

    def text(self, ids: tuple[int, ...]) -> str | None:
        """Return the text that goes instead of ids, or None where ids go.

        Raises:
            CapabilityError: As `ask`.
        """
        return self._text(ids) if self.by_text else None

    def _text(self, ids: tuple[int, ...]) -> str:
        if ids not in self._texts:
            facts = self.facts
            added = facts.adds_bos and ids[:1] == (facts.bos_id,)
            text = self.tokenizer.decode(ids[1:] if added else ids)
            came = self._split(text)
            if came != ids:
                raise CapabilityError(
                    f"the server takes prompts only as text, and splits {text!r} into "
                    f"{list(came)}, not into {list(ids)}; use a server that takes token ids "
                    "(vLLM, llama-server) or move the join of context and continuation"
                )
            self._texts[ids] = text
        return self._texts[ids]

    def _split(self, text: str) -> tuple[int, ...]:
        if self.dialect.has_tokenizer:
            return tuple(token for token, _ in self.dialect.spell(text, special=True))
        begin = (self.facts.bos_id,) if self.facts.adds_bos and self.facts.bos_id else ()
        return (*begin, *self.tokenizer.encode(text).tokens)
