"""The places of an input, set down one after another with a note of where each comes from.

Probabilities of a place are shares of counts.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from likely.core.model import LanguageModel
from likely.errors import InputError
from likely.rare.frequencies import Frequencies
from likely.rare.support import Support, read_token


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """Which tokens may stand in a place, by their text.

    Attributes:
        name: What it asks, in words.
        keeps: Whether a token of this text may stand there; a token whose bytes are no text never
            may.
    """

    name: str
    keeps: Callable[[str], bool]


class Layout:
    """The places of an input so far, and what they rest on.

    Args:
        name: Of the distribution, for errors.
        model: Whose tokens they are.
        frequencies: Of the texts that places draw on; None for a layout without such places.

    Attributes:
        supports: One law a place, BOS first if the model has one.
        details: Where the laws come from.
    """

    def __init__(self, name: str, model: LanguageModel, frequencies: Frequencies | None) -> None:
        self.name = name
        self.model = model
        self.supports: list[Support] = []
        self.details: dict[str, str | int | float] = {}
        self._frequencies = frequencies
        if frequencies is not None:
            self.details |= {
                "texts": frequencies.texts,
                "sha256": frequencies.sha256,
                "documents": frequencies.n_documents,
                "tokens": frequencies.n_tokens,
            }
        if model.info.bos_id is not None:
            self.supports.append(Support.only(model.info.bos_id))

    def always(self, text: str) -> None:
        """Set down a text that always stands there, as many tokens as it has."""
        self.supports += [Support.only(one) for one in self.model.tokenizer.encode(text).tokens]

    def one_of(self, texts: Sequence[str]) -> None:
        """Set down a place where each of some texts is equally likely.

        Raises:
            InputError: One of them is not one token.
        """
        self.supports.append(Support.of({read_token(one, self.model): 1.0 for one in texts}))

    def drawn(self, support: Support, times: int) -> None:
        """Set down places that share a law."""
        self.supports += [support] * times

    def frequent(
        self, rule: Rule | None, times: int, *, most: int | None = None, label: str = ""
    ) -> None:
        """Set down places where tokens stand as often as in the texts.

        Args:
            rule: Which tokens may stand there; None for any.
            times: How many places share the law.
            most: How many tokens at most, the most frequent ones; of equals the lower id.
            label: Which places these are, in the details; empty where there is one kind.

        Raises:
            InputError: No token of the texts may stand there.
        """
        counts = self._counts()
        seen = np.flatnonzero(counts).tolist()
        if rule is not None:
            seen = [token for token in seen if self._passes(token, rule)]
        what = "any token" if rule is None else rule.name
        if not seen:
            raise InputError(
                f"the distribution {self.name!r} needs a token of {self.model.info.name!r} that "
                f"is {what} and stands in the texts {self.details['texts']!r}, got none; "
                "give other texts (texts=[...]) or a model of more tokens"
            )
        kept = sorted(seen, key=lambda token: (-int(counts[token]), token))[:most]
        support = Support.of({token: float(counts[token]) for token in kept})
        self.drawn(support, times)
        mass = float(counts[kept].sum() / counts.sum())
        self._note(label, {"filter": what, "support": len(kept), "mass": mass})
        if most is not None:
            self._note(label, {"passing": len(seen), "most": most})

    def _counts(self) -> np.ndarray:
        if self._frequencies is None:
            raise InputError(f"the distribution {self.name!r} has places that need texts, got none")
        return self._frequencies.counts

    def _passes(self, token: int, rule: Rule) -> bool:
        try:
            return rule.keeps(self.model.tokenizer.token_bytes(token).decode())
        except UnicodeDecodeError:
            return False

    def _note(self, label: str, facts: dict[str, str | int | float]) -> None:
        self.details |= {f"{label} {key}".strip(): value for key, value in facts.items()}
