"""What a tokenizer makes of options: can they be told apart, and at what cost? Unit: tokens.

Only distinct wordings and options are looked at, so a large set is linted in the time that it takes
to make its items.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from likely.calibration.data_sets.items import Item, Option
from likely.calibration.data_sets.lint_record import (
    KINDS,
    Finding,
    Kind,
    Lint,
    OptionTokens,
    WordTokens,
)
from likely.core.model import LanguageModel, Tokenizer
from likely.core.text.surfaces import Level, is_numeral, surfaces
from likely.errors import InputError

_Ids: TypeAlias = tuple[int, ...]

_TAIL = 24
"""Characters of a last word that are looked at, for languages that put no spaces."""


def lint(
    model: LanguageModel | Tokenizer, items: Iterable[Item], *, level: Level = "paper"
) -> Lint:
    """Return what a tokenizer makes of the options of items.

    Args:
        model: A model, or its tokenizer alone.
        items: Of any families. Items that share family, wording, last word of the context and
            options are taken to be cut alike.
        level: Which spellings of a word are looked at, as in scoring; the one that the context
            asks for always is.

    Raises:
        InputError: No items, or an unknown level.

    >>> import likely
    >>> from likely.calibration.data_sets.family import build
    >>> letters = [chr(i) for i in range(32, 127)]
    >>> model = likely.TableModel(letters, lambda context: {" ": 1.0}, name="letters")
    >>> print(lint(model, build("distributions", preset="smoke")[:5]).summary())
    letters: 5 items, 10 words by number of tokens: 2 of 2, 4 of 3, 4 of 4
    5 sets of options: 0 of single tokens, 5 with options that begin with one token
    note: distributions: shared first: '6/7', '28/29', '44/45' and 2 more
    """
    tokenizer = model.tokenizer if isinstance(model, LanguageModel) else model
    name = model.info.name if isinstance(model, LanguageModel) else type(model).__name__
    joins, groups = _distinct(items)
    if not joins:
        raise InputError("there is nothing to lint: got no items")
    found = _Found()
    cuts = _cut_words(tokenizer, joins, level, found)
    sets = [_option_tokens(group, cuts, found) for group in groups]
    return Lint(
        model=name,
        level=level,
        n_items=sum(group.n_items for group in groups),
        words=tuple(
            WordTokens(
                word=word,
                lead=lead,
                tokens=forms[lead + word],
                pieces=tuple(tokenizer.decode([token]) for token in forms[lead + word]),
            )
            for (lead, word), forms in cuts.items()
        ),
        sets=tuple(each for each in sets if each is not None),
        findings=found.findings(),
    )


class _Join(NamedTuple):
    """Where options meet a context; ``tail`` is the context's last word, or the end of it."""

    family: str
    template_id: str
    tail: str
    lead: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Group:
    """The items that have the same options, in either order."""

    family: str
    lead: str
    options: tuple[Option, ...]
    n_items: int


def _distinct(items: Iterable[Item]) -> tuple[dict[_Join, dict[str, str]], list[_Group]]:
    """Return the words that follow each join, each with a context before it, and the groups."""
    joins: dict[_Join, dict[str, str]] = {}
    seen: set[tuple[_Join, str]] = set()
    counts: Counter[tuple[str, str, str]] = Counter()
    options_of: dict[tuple[str, str, str], tuple[Option, ...]] = {}
    for item in items:
        tail = item.context[item.context.rfind(" ") + 1 :][-_TAIL:]
        join = _Join(item.family, item.template_id, tail, item.lead)
        if (join, item.option_pair_id) not in seen:
            seen.add((join, item.option_pair_id))
            for word in (word for option in item.options for word in option.words):
                joins.setdefault(join, {}).setdefault(word, item.context)
        key = (item.family, item.lead, item.option_set_id)
        counts[key] += 1
        options_of.setdefault(key, item.options)
    groups = [
        _Group(family=key[0], lead=key[1], options=options_of[key], n_items=n)
        for key, n in counts.items()
    ]
    return joins, groups


class _Found:
    """Cases of findings as they come up, each once."""

    def __init__(self) -> None:
        self._cases: dict[tuple[Kind, bool, str], dict[str, None]] = {}

    def add(self, kind: Kind, family: str, case: str, *, is_error: bool) -> None:
        self._cases.setdefault((kind, is_error, family), {})[case] = None

    def findings(self) -> tuple[Finding, ...]:
        """Return errors first, then by kind, the worst first."""
        kinds = list(KINDS)
        order = sorted(self._cases, key=lambda key: (not key[1], kinds.index(key[0]), key[2]))
        return tuple(
            Finding(
                kind=kind,
                is_error=is_error,
                family=family,
                cases=tuple(self._cases[kind, is_error, family]),
            )
            for kind, is_error, family in order
        )


def _cut_words(
    tokenizer: Tokenizer,
    joins: Mapping[_Join, Mapping[str, str]],
    level: Level,
    found: _Found,
) -> dict[tuple[str, str], dict[str, _Ids]]:
    """Return the ids of each spelling of each lead and word; words in trouble are left out."""
    cuts: dict[tuple[str, str], dict[str, _Ids]] = {}
    for join, words in joins.items():
        for word, context in words.items():
            forms = _cut_word(tokenizer, join, context, word, level, found)
            if join.lead + word in forms:
                cuts.setdefault((join.lead, word), forms)
    return cuts


def _cut_word(
    tokenizer: Tokenizer, join: _Join, context: str, word: str, level: Level, found: _Found
) -> dict[str, _Ids]:
    """Return the ids of each spelling of a word after a context, and note what is odd."""
    if not word or word != word.strip():
        found.add("white_space", join.family, word, is_error=True)
        return {}
    if len(word.split()) > 1:
        found.add("white_space", join.family, word, is_error=False)
    asked = join.lead + word
    forms: dict[str, _Ids] = {}
    for form in dict.fromkeys((asked, *(surfaces(word, level=level) if level != "exact" else ()))):
        where = f"{join.template_id}: {join.tail}{form}"
        try:
            ids, is_merged = _encode(tokenizer, context, form)
        except InputError:
            found.add("unknown", join.family, where, is_error=True)
            continue
        if is_merged:
            found.add("boundary_merge", join.family, where, is_error=form == asked)
        elif tokenizer.decode(ids) != form:
            found.add("unknown", join.family, where, is_error=True)
            continue
        forms[form] = ids
    return forms


def _encode(tokenizer: Tokenizer, context: str, form: str) -> tuple[_Ids, bool]:
    """Return the ids that `likely.core.text.surfaces.encode_surface` gives, and whether merged."""
    before = tokenizer.encode(context).tokens
    whole = tokenizer.encode(context + form).tokens
    if len(before) < len(whole) and whole[: len(before)] == before:
        return whole[len(before) :], False
    return tokenizer.encode(form).tokens, True


def _option_tokens(
    group: _Group, cuts: Mapping[tuple[str, str], Mapping[str, _Ids]], found: _Found
) -> OptionTokens | None:
    """Return how the options of a group are cut, and note where two of them collide."""
    owners: dict[_Ids, str] = {}  # of each spelling's ids
    asked: dict[_Ids, str] = {}  # of those that the context asks for
    for option in group.options:
        for word in option.words:
            forms = cuts.get((group.lead, word), {})
            for form, ids in forms.items():
                twin = owners.setdefault(ids, option.label)
                if twin != option.label:
                    case = f"{form!r} of {twin}/{option.label}"
                    found.add("same_tokens", group.family, case, is_error=True)
                if form == group.lead + word:
                    asked.setdefault(ids, option.label)
    labels = tuple(option.label for option in group.options)
    if set(asked.values()) < set(labels):
        return None  # why is noted already
    _note_prefixes(group, asked, found)
    firsts: dict[int, set[str]] = {}
    for ids, label in asked.items():
        firsts.setdefault(ids[0], set()).add(label)
    shares_first = any(len(sharing) > 1 for sharing in firsts.values())
    if shares_first:
        found.add("shared_first", group.family, "/".join(labels), is_error=False)
    return OptionTokens(
        family=group.family,
        options=labels,
        n_tokens=tuple(
            min(len(ids) for ids, label in asked.items() if label == option.label)
            for option in group.options
        ),
        is_single_token=all(len(ids) == 1 for ids in asked),
        shares_first=shares_first,
        n_items=group.n_items,
    )


def _note_prefixes(group: _Group, asked: Mapping[_Ids, str], found: _Found) -> None:
    words = [word for option in group.options for word in option.words]
    is_error = not all(map(is_numeral, words))
    for ids, label in asked.items():
        for n in range(1, len(ids)):
            head = asked.get(ids[:n], label)
            if head != label:
                found.add("prefix_related", group.family, f"{head}/{label}", is_error=is_error)
