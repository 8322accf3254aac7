"""Answers as token sequences, and the rule that turns steps into the whole. Unit: nats.

An answer is a prefix-free set of token sequences. They form a trie; at each inner node the tokens
that go on within it are one merged event with probability ``P``, rescaled, and

    V(node) = P(node) * sum_c (p_c / p_C) V(child c),        V(end) = 1.

So an answer's value is an average over its sequences, weighted by how likely each is given that it
is one of them, of the product of ``P`` along it. Under the raw probability that is the sum of the
sequences' probabilities; for single tokens it is *merge, then rescale*; for one sequence it is the
conjunction of its steps.
"""

import hashlib
import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal, TypeAlias, get_args

import numpy as np

from likely.core.logspace import log1mexp, log_sum, log_union
from likely.core.model import LanguageModel
from likely.core.text.encode import Bos, Boundary, Context, HasText
from likely.core.text.surfaces import encode_surface, is_numeral, uncovered
from likely.core.text.word_ends import Kind, word_ends
from likely.errors import InputError

Multi = Literal["conj", "geo", "min", "first", "seq_ratio"]
ClashKind = Literal["same", "prefix", "first_token"]
Ids: TypeAlias = tuple[int, ...]
Pair: TypeAlias = tuple[float, float]
"""The logs of a probability and of its complement."""


def spellings(model: LanguageModel, context: Context, words: Sequence[str]) -> tuple[str, ...]:
    """Return the spellings of words that stand for one answer: as given, and capitalised.

    Each follows one space; none where the context is empty or ends in white space.

    Raises:
        InputError: No words, an empty one, or white space around one.
    """
    if not words:
        raise InputError("an answer needs at least one word, got none")
    for word in words:
        if not word or word != word.strip():
            raise InputError(
                f"an answer is a word without white space around it, got {word!r}; strip it, or "
                "give exact spellings"
            )
    text = _tail_of(model, context)
    lead = "" if not text or text[-1].isspace() else " "
    forms = [form for word in words for form in (word, word[:1].upper() + word[1:])]
    return tuple(lead + form for form in dict.fromkeys(forms))


def _tail_of(model: LanguageModel, context: Context) -> str:
    if isinstance(context, str):
        return context
    if isinstance(context, HasText):
        return context.text
    return model.tokenizer.decode([int(token) for token in context][-1:])


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenisedAnswer:
    """An answer after a context, as ids.

    Attributes:
        context: Ids of the context, BOS included.
        sequences: Ids of those spellings that no other one contains.
        surfaces: Their text.
        pieces: The text of each id.
        ends: For each sequence the kind of word that must end after it; None where none must.
        flags: Such as ``boundary_merge``; ``multi_token`` if a sequence has several tokens.
    """

    context: tuple[int, ...]
    sequences: tuple[Ids, ...]
    surfaces: tuple[str, ...]
    pieces: tuple[tuple[str, ...], ...]
    ends: tuple[Kind, ...] | None
    flags: frozenset[str]

    @property
    def key(self) -> str:
        """What makes two events one variable: their context and their set of sequences."""
        digest = hashlib.blake2b(digest_size=16)
        digest.update(repr(self.ends is not None).encode())
        for ids in (self.context, *sorted(self.sequences)):
            digest.update(struct.pack(f"<q{len(ids)}q", len(ids), *ids))
        return digest.hexdigest()

    @property
    def branches(self) -> dict[Ids, tuple[int, ...]]:
        """For each inner node of the trie, as ids after the context, the tokens that go on."""
        return branches(self.sequences)


def tokenise(
    model: LanguageModel,
    context: Context,
    surfaces: Sequence[str],
    *,
    bos: Bos = "auto",
    boundary: Boundary = "joint",
    word_end: bool = False,
) -> TokenisedAnswer:
    """Return the ids of the spellings of one answer after a context.

    Args:
        model: For its tokenizer.
        context: Text, ids or a rendered chat.
        surfaces: Exact spellings.
        bos: As in `likely.score`.
        boundary: As in `likely.score`; a spelling that a token joins to the context is encoded
            alone, and the answer flagged ``boundary_merge``.
        word_end: Whether each spelling is followed by the start of a new word.

    Raises:
        InputError: No spellings, an unusable one, or one that begins another such that both are
            events of their own (only with ``word_end``).
    """
    if not surfaces or not all(surfaces):
        raise InputError(f"an answer needs spellings, none of them empty, got {surfaces!r}")
    pairs = [encode_surface(model, context, s, bos=bos, boundary=boundary) for s in surfaces]
    targets = [pair.target for pair in pairs]
    kinds: list[Kind] = ["numeral" if is_numeral(surface) else "word" for surface in surfaces]
    kind_of = dict(zip(targets, kinds, strict=True))

    def ends_word(ids: Ids, token: int) -> bool:
        return not word_end or token in word_ends(model, kind_of[ids])

    kept = uncovered(targets, ends_word)
    chosen = tuple(targets[i] for i in kept)
    for i, j in ((i, j) for i in kept for j in kept if i != j):
        if targets[j][: len(targets[i])] == targets[i]:
            raise InputError(
                f"the spelling {surfaces[i]!r} begins {surfaces[j]!r}; with word ends give them "
                "as two answers"
            )
    flags = frozenset[str]().union(*(pairs[i].flags for i in kept))
    if any(len(ids) > 1 for ids in chosen):
        flags |= {"multi_token"}
    return TokenisedAnswer(
        context=pairs[0].context,
        sequences=chosen,
        surfaces=tuple(surfaces[i] for i in kept),
        pieces=tuple(tuple(model.tokenizer.decode([t]) for t in ids) for ids in chosen),
        ends=tuple(kinds[i] for i in kept) if word_end else None,
        flags=flags,
    )


def first_tokens(answer: TokenisedAnswer) -> TokenisedAnswer:
    """Return the answer cut to the distinct first tokens of its sequences."""
    places = {ids[0]: i for i, ids in reversed(list(enumerate(answer.sequences)))}
    kept = sorted(places.values())
    return replace(
        answer,
        sequences=tuple(answer.sequences[i][:1] for i in kept),
        surfaces=tuple(answer.surfaces[i] for i in kept),
        pieces=tuple(answer.pieces[i][:1] for i in kept),
    )


def branches(sequences: Sequence[Ids]) -> dict[Ids, tuple[int, ...]]:
    """Return for each inner node of a trie the tokens that go on within it, sorted.

    >>> branches([(1, 2), (1, 3), (4,)])
    {(): (1, 4), (1,): (2, 3)}
    """
    found: dict[Ids, set[int]] = {}
    for ids in sequences:
        for n, token in enumerate(ids):
            found.setdefault(ids[:n], set()).add(token)
    return {node: tuple(sorted(tokens)) for node, tokens in found.items()}


def log_shares(
    sequences: Sequence[Ids], token_log_probs: Mapping[Ids, Mapping[int, float]]
) -> list[float]:
    """Return for each sequence the log of the product of ``p_c / p_C`` along it, nats.

    Args:
        sequences: Prefix-free.
        token_log_probs: For each inner node the log-probabilities of the tokens that go on.

    Returns:
        Logs of weights that sum to 1; where a node is impossible, its children share evenly, which
        no value depends on.
    """
    share: dict[Ids, dict[int, float]] = {}
    for node, log_probs in token_log_probs.items():
        total = log_sum(list(log_probs.values()))
        even = -math.log(len(log_probs))
        share[node] = {
            token: even if total == -math.inf else value - total
            for token, value in log_probs.items()
        }
    return [sum(share[ids[:n]][token] for n, token in enumerate(ids)) for ids in sequences]


def together(steps: Sequence[Pair], *, multi: Multi) -> Pair:
    """Return one sequence's value from its steps, with its complement.

    Args:
        steps: For each step the logs of its probability and complement, nats.
        multi: ``conj`` multiplies, ``geo`` takes the geometric mean, ``min`` the weakest step.

    >>> half = (math.log(0.5), math.log(0.5))
    >>> [round(math.exp(x), 6) for x in together([half, half], multi="conj")]
    [0.25, 0.75]
    """
    if len(steps) == 1:
        return steps[0]
    if multi == "min":
        return min(steps, key=odds_of)
    log_probs = [log_prob for log_prob, _ in steps]
    if multi == "geo":
        mean = math.fsum(log_probs) / len(steps) if -math.inf not in log_probs else -math.inf
        return mean, float(log1mexp(np.array(mean)))
    before = 0.0
    failures = []  # the complement: the first failure is at this step
    for log_prob, log_not in steps:
        failures.append(before + log_not)
        before += log_prob
    return before, log_union(failures)


def average(log_weights: Sequence[float], values: Sequence[Pair]) -> Pair:
    """Return the weighted average of values and of their complements; the weights sum to 1."""
    if len(values) == 1:
        return values[0]
    return (
        log_union([w + value for w, (value, _) in zip(log_weights, values, strict=True)]),
        log_union([w + log_not for w, (_, log_not) in zip(log_weights, values, strict=True)]),
    )


def odds_of(value: Pair) -> float:
    """Return the log-odds of a probability and its complement, nats.

    >>> odds_of((0.0, -math.inf)), odds_of((-math.inf, 0.0))
    (inf, -inf)
    """
    return value[0] - value[1]


def pair_of(log_odds: float) -> Pair:
    """Return the logs of the probability and of its complement, each to full precision."""
    return -float(np.logaddexp(0.0, -log_odds)), -float(np.logaddexp(0.0, log_odds))


@dataclass(frozen=True, slots=True, kw_only=True)
class Clash:
    """Two answers of one context whose sequences are not apart.

    Attributes:
        kind: ``same`` if both have one sequence; ``prefix`` if one of the first answer begins one
            of the second; ``first_token`` if they only begin with the same token.
        answers: Their names; for ``prefix`` the shorter one first.
        pieces: The text of the ids of the sequence of each.
    """

    kind: ClashKind
    answers: tuple[str, str]
    pieces: tuple[tuple[str, ...], tuple[str, ...]]

    def summary(self) -> str:
        """Return one line for a person."""
        a, b = self.answers
        what = {
            "same": "are the same tokens",
            "prefix": "share tokens: the first begins the second",
            "first_token": "begin with the same token",
        }[self.kind]
        return f"{a!r} {list(self.pieces[0])} and {b!r} {list(self.pieces[1])} {what}"


def clashes(
    model: LanguageModel,
    context: Context,
    answers: Mapping[str, Sequence[str]] | Sequence[str],
    *,
    bos: Bos = "auto",
    boundary: Boundary = "joint",
) -> tuple[Clash, ...]:
    """Return which competing answers of one context share tokens, the worst of each pair.

    Args:
        model: For its tokenizer.
        context: Text, ids or a rendered chat.
        answers: Words with their default spellings, or names with exact spellings.
        bos: As in `likely.score`.
        boundary: As in `likely.score`.

    Raises:
        InputError: As `spellings` and `tokenise`.
    """
    forms = (
        {name: tuple(given) for name, given in answers.items()}
        if isinstance(answers, Mapping)
        else {word: spellings(model, context, [word]) for word in answers}
    )
    return find_clashes(
        [
            (name, tokenise(model, context, given, bos=bos, boundary=boundary))
            for name, given in forms.items()
        ]
    )


def find_clashes(answers: Sequence[tuple[str, TokenisedAnswer]]) -> tuple[Clash, ...]:
    """Return the clashes between named answers of one context, at most one for each pair."""
    holders: dict[int, list[int]] = {}
    for i, (_, answer) in enumerate(answers):
        for token in {ids[0] for ids in answer.sequences}:
            holders.setdefault(token, []).append(i)
    sharing = {pair for places in holders.values() for pair in combinations(places, 2)}
    return tuple(_worst_clash(answers[i], answers[j]) for i, j in sorted(sharing))


def _worst_clash(a: tuple[str, TokenisedAnswer], b: tuple[str, TokenisedAnswer]) -> Clash:
    found = [
        _clash((a[0], ids_a, pieces_a), (b[0], ids_b, pieces_b))
        for ids_a, pieces_a in zip(a[1].sequences, a[1].pieces, strict=True)
        for ids_b, pieces_b in zip(b[1].sequences, b[1].pieces, strict=True)
        if ids_a[0] == ids_b[0]
    ]
    return min(found, key=lambda clash: get_args(ClashKind).index(clash.kind))


def _clash(a: tuple[str, Ids, tuple[str, ...]], b: tuple[str, Ids, tuple[str, ...]]) -> Clash:
    short, long = (a, b) if len(a[1]) <= len(b[1]) else (b, a)
    kind: ClashKind = "first_token"
    if short[1] == long[1]:
        kind = "same"
    elif long[1][: len(short[1])] == short[1]:
        kind = "prefix"
    return Clash(kind=kind, answers=(short[0], long[0]), pieces=(short[2], long[2]))
