"""The record of a lint: how a tokenizer cuts the options of items, and what is wrong with that.

Unit: tokens.
"""

from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Literal

from likely.core.text.surfaces import Level
from likely.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

Kind = Literal[
    "white_space", "unknown", "same_tokens", "prefix_related", "boundary_merge", "shared_first"
]

KINDS: dict[Kind, str] = {
    "white_space": "strip it",
    "unknown": "the tokenizer does not give the text back; choose other words, or another model",
    "same_tokens": "choose words that the tokenizer tells apart",
    "prefix_related": "choose options of which none begins another",
    "boundary_merge": "end the wording before a mark or a word that the tokenizer keeps whole",
    "shared_first": "score whole words, not their first tokens",
}
"""Kinds of findings, the worst first, and what to do about each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that a tokenizer does to the items of a family.

    Attributes:
        kind: ``white_space`` around or (no error) inside a word; ``unknown``: the tokens do not
            give the text back; ``same_tokens``: two options have a spelling in common;
            ``prefix_related``: the tokens of one option begin those of another (no error for
            numbers, whose ends are scored); ``boundary_merge``: a token spans the join of context
            and option (no error for spellings other than the one that the wording asks for: these
            are encoded alone); ``shared_first``: options begin with one token (no error).
        is_error: Whether probabilities of these items would be wrong or undefined.
        family: Of the items.
        cases: The words, joins or option sets concerned.
    """

    kind: Kind
    is_error: bool
    family: str
    cases: tuple[str, ...]

    def __str__(self) -> str:
        more = f" and {len(self.cases) - 3} more" if len(self.cases) > 3 else ""
        shown = ", ".join(map(repr, self.cases[:3]))
        name = self.kind.replace("_", " ")
        return f"{'error' if self.is_error else 'note'}: {self.family}: {name}: {shown}{more}"


@dataclass(frozen=True, slots=True, kw_only=True)
class WordTokens:
    """A word of an option as the wordings ask for it.

    Attributes:
        word: Without its lead.
        lead: What parts it from the context.
        tokens: Ids of lead and word after a context.
        pieces: Their text.
    """

    word: str
    lead: str
    tokens: tuple[int, ...]
    pieces: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionTokens:
    """The options of one or more items, whatever their order.

    Attributes:
        family: Of the items.
        options: Their labels.
        n_tokens: Of each option, of its shortest word.
        is_single_token: Whether each of them is one token.
        shares_first: Whether two options begin with the same token.
        n_items: How many items have these options.
    """

    family: str
    options: tuple[str, ...]
    n_tokens: tuple[int, ...]
    is_single_token: bool
    shares_first: bool
    n_items: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Lint:
    """What `lint` found.

    Attributes:
        model: Name of the model, or the class of a tokenizer.
        level: Of the spellings looked at.
        n_items: How many items.
        words: Each word once.
        sets: Each set of options once.
        findings: Errors first.
    """

    model: str
    level: Level
    n_items: int
    words: tuple[WordTokens, ...]
    sets: tuple[OptionTokens, ...] = field(repr=False)
    findings: tuple[Finding, ...]

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The findings with which the items must not be scored."""
        return tuple(finding for finding in self.findings if finding.is_error)

    def check(self) -> None:
        """Raise if there is an error.

        Raises:
            InputError: Names the worst error, and how many there are.
        """
        if self.errors:
            worst = self.errors[0]
            raise InputError(
                f"{len(self.errors)} kinds of error in {self.n_items} items for {self.model!r}, "
                f"the worst: {worst}; {KINDS[worst.kind]}"
            )

    def to_frame(self) -> "pd.DataFrame":
        """Return a row a word: how many tokens it has with its lead in place, and which."""
        import pandas as pd

        return pd.DataFrame(
            {
                "word": [word.word for word in self.words],
                "lead": [word.lead for word in self.words],
                "n_tokens": [len(word.tokens) for word in self.words],
                "pieces": [" ".join(map(repr, word.pieces)) for word in self.words],
            }
        )

    def sets_to_frame(self) -> "pd.DataFrame":
        """Return a row a set of options."""
        import pandas as pd

        return pd.DataFrame(
            {
                "family": [each.family for each in self.sets],
                "options": ["/".join(each.options) for each in self.sets],
                "n_options": [len(each.options) for each in self.sets],
                "max_tokens": [max(each.n_tokens) for each in self.sets],
                "is_single_token": [each.is_single_token for each in self.sets],
                "shares_first": [each.shares_first for each in self.sets],
                "n_items": [each.n_items for each in self.sets],
            }
        )

    def to_dict(self) -> dict[str, object]:
        """Return the fields as a mapping that `likely.core.jsonio` writes as strict JSON."""
        return asdict(self)

    def summary(self) -> str:
        """Return a line on the words, one on the sets of options, and one a finding."""
        counts = Counter(len(word.tokens) for word in self.words)
        spread = ", ".join(f"{n} of {size}" for size, n in sorted(counts.items()))
        single = sum(each.is_single_token for each in self.sets)
        shared = sum(each.shares_first for each in self.sets)
        lines = [
            f"{self.model}: {self.n_items} items, {len(self.words)} words by number of tokens: "
            f"{spread}",
            f"{len(self.sets)} sets of options: {single} of single tokens, "
            f"{shared} with options that begin with one token",
        ]
        return "\n".join([*lines, *map(str, self.findings)])
