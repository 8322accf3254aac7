"""Exact masses from short lists, by a bias on tokens that the lists do not show. Unit: nats.

Adding ``b`` to the logits of some tokens multiplies their probabilities by ``exp(b)`` against
those of all others. A token that the plain list leaves out shows up with the bias, beside a token
of known probability without it; their ratio, less the bias, is the ratio that the model has. So
ratios of options are exact, and so is their mass.

A server must tell log-probs from after the bias. Many tell those from before; `check_bias` finds
out with two tokens that the plain list shows.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from likely.calibration.access.spellings import Ids, Spelled, lists_needed
from likely.calibration.tables import Masses
from likely.core.engine import Row, evaluate, list_likeliest
from likely.core.logspace import log_sum, log_union, logsumexp
from likely.core.model import LanguageModel, Tokenizer, Tokens, TopTokens
from likely.errors import CapabilityError, InputError

FIRST_BIAS = 20.0
"""Nats at first: lifts a token of 1e-9 into view."""

MOST_BIAS = 80.0
"""Nats at most: interfaces accept 100, and a server's probabilities in float32 end at e^-87."""

_PROBE_BIAS = 2.0  # nats: clear of rounding, and too little to push either token off a list
_AGREEMENT = 0.05  # nats by which a server may contradict itself about a likely token

Interval = tuple[float, float]


@runtime_checkable
class BiasedLists(Protocol):
    """Something that lists the likeliest tokens of biased logits."""

    def top_with_bias(self, prefix: Tokens, bias: Mapping[int, float], *, k: int) -> TopTokens:
        """Return the ``k`` likeliest tokens after ``prefix``, some logits raised by ``bias``.

        Raises:
            CapabilityError: No bias can be given, or lists are shorter than ``k``.
        """
        ...


@dataclass(frozen=True, slots=True)
class BiasedRows:
    """Biased lists of a model that gives whole rows: exact, for comparison and for tests.

    Attributes:
        model: With whole next-token rows.
    """

    model: LanguageModel

    def top_with_bias(self, prefix: Tokens, bias: Mapping[int, float], *, k: int) -> TopTokens:
        """Return the list as `BiasedLists` says."""
        row = np.array(evaluate(self.model, [Row(prefix=tuple(prefix))])[0].values)
        row[list(bias)] += np.array(list(bias.values()))
        return list_likeliest(self.model, row - logsumexp(row), k=k)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BiasedMasses:
    """Masses of the options of N items, and what they took.

    Attributes:
        masses: Exact but for options so unlikely that no bias showed them, and for rounding.
        n_calls: Requests, those of the probe among them.
    """

    masses: Masses
    n_calls: int


def check_bias(lists: BiasedLists, prefix: Tokens, *, tokenizer: Tokenizer) -> None:
    """Raise unless lists tell log-probs from after the bias.

    Args:
        lists: Whose behaviour is in question.
        prefix: Ids after which at least two tokens are possible.
        tokenizer: For lists that name their tokens by text only.

    Raises:
        CapabilityError: They tell values from before the bias, or values that the bias moves in
            some other way; or the plain list shows no two tokens to try it on.
    """
    plain = lists.top_with_bias(prefix, {}, k=2)
    ids = [plain.id_at(place, tokenizer) for place in range(len(plain.tokens))]
    first, second = [*ids, None, None][:2]
    if first is None or second is None:
        raise CapabilityError(
            "to see whether a bias moves the log-probs takes two listed tokens with known ids, the "
            f"list shows {plain.pieces!r}; try it after another text"
        )
    biased = lists.top_with_bias(prefix, {second: _PROBE_BIAS}, k=2)
    gaps = [_gap(top, first, second, tokenizer) for top in (plain, biased)]
    if gaps[0] is not None and gaps[1] is not None:
        moved = gaps[1] - gaps[0]
        if abs(moved - _PROBE_BIAS) <= _AGREEMENT:
            return
        if abs(moved) <= _AGREEMENT:
            raise CapabilityError(
                "the log-probs are those from before the bias, so a bias brings no token into "
                "view; use bounds from the plain lists, or sampling"
            )
        seen = f"it moved by {moved:.4f} nats"
    else:
        seen = f"the list became {biased.pieces!r}"
    raise CapabilityError(
        f"a bias of {_PROBE_BIAS} nats on {plain.pieces[1]!r} must raise it by as much against "
        f"{plain.pieces[0]!r}, but {seen}; use bounds from the plain lists, or sampling"
    )


def biased_masses(
    lists: BiasedLists,
    items: Sequence[Spelled],
    *,
    tokenizer: Tokenizer,
    k: int,
    rounding: float = 0.0,
    at_once: int = 1,
) -> BiasedMasses:
    """Return the log-mass of each option of each item, after a check that the bias works.

    Each surface of several tokens is taken step by step, so each of its beginnings needs lists of
    its own.

    Args:
        lists: Such as a server.
        items: As `spellings.spell` gives them.
        tokenizer: For lists that name their tokens by text only.
        k: How many tokens a list names, at least 2.
        rounding: Nats by which a value may be off: half the last digit that the server gives.
        at_once: Items under way at once.

    Raises:
        InputError: No items, or ``k`` below 2.
        CapabilityError: As `check_bias`.
    """
    if not items or k < 2:
        raise InputError(f"at least 1 item and lists of 2 tokens are needed, got {len(items)}, {k}")
    check_bias(lists, items[0].context, tokenizer=tokenizer)
    solver = _Solver(lists=lists, tokenizer=tokenizer, k=k, rounding=rounding)
    with ThreadPoolExecutor(max_workers=at_once) as pool:
        solved = list(pool.map(solver.solve, items))
    ends = [end for found, _ in solved for end in found]
    sizes = [len(item.options) for item in items]
    return BiasedMasses(
        masses=Masses(
            offsets=np.concatenate([[0], np.cumsum(sizes)]),
            log_mass=np.array([high for _, high in ends]),
            log_mass_low=np.array([low for low, _ in ends]),
        ),
        n_calls=2 + sum(n_calls for _, n_calls in solved),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Solver:
    lists: BiasedLists
    tokenizer: Tokenizer
    k: int
    rounding: float

    def solve(self, item: Spelled) -> tuple[list[Interval], int]:
        """Return the ends of each option's log-mass, and the number of calls."""
        steps: dict[Ids, Interval] = {}
        n_calls = 0
        for head, nexts in lists_needed(item.options).items():
            found, n = self._next_tokens((*item.context, *head), nexts)
            steps |= {(*head, token): ends for token, ends in found.items()}
            n_calls += n
        options = []
        for surfaces in item.options:
            ends = [_total([steps[ids[: n + 1]] for n in range(len(ids))]) for ids in surfaces]
            lows, highs = zip(*ends, strict=True)
            options.append((log_sum(lows), log_union(highs)))
        return options, n_calls

    def _next_tokens(self, prefix: Ids, tokens: Sequence[int]) -> tuple[dict[int, Interval], int]:
        """Return the ends of the log-probabilities of ``tokens`` after ``prefix``."""
        plain = self.lists.top_with_bias(prefix, {}, k=self.k)
        n_calls = 1
        found: dict[int, Interval] = {}
        for token in tokens:
            ends = self._listed(plain, token)
            if ends is not None:
                found[token] = ends
        pending = [token for token in tokens if token not in found]
        if not plain.log_probs:
            return found | {token: (-math.inf, 0.0) for token in pending}, n_calls
        while pending:
            batch, pending = pending[: self.k - 1], pending[self.k - 1 :]
            shown, n = self._raise(prefix, batch, plain)
            found |= shown
            n_calls += n
        return found, n_calls

    def _raise(
        self, prefix: Ids, batch: Sequence[int], plain: TopTokens
    ) -> tuple[dict[int, Interval], int]:
        """Raise tokens until a list names them, and weigh them against the likeliest token."""
        found: dict[int, Interval] = {}
        hidden, bias, n_calls = list(batch), FIRST_BIAS, 0
        slack = 2 * self.rounding  # of the two values that a listed one is weighed with
        highest = {token: min(0.0, plain.log_prob_elsewhere + self.rounding) for token in batch}
        while hidden:
            top = self.lists.top_with_bias(prefix, dict.fromkeys(hidden, bias), k=self.k)
            n_calls += 1
            weight = _like(top, plain)
            if weight is None:
                break  # the likeliest token fell off the list, so nothing can be weighed
            shift = plain.log_probs[0] - weight - bias
            for token in list(hidden):
                ends = self._listed(top, token)
                if ends is None:
                    most = top.log_prob_elsewhere + self.rounding + shift + slack
                    highest[token] = min(highest[token], most)
                else:
                    found[token] = ends[0] + shift - slack, min(0.0, ends[1] + shift + slack)
                    hidden.remove(token)
            if bias == MOST_BIAS:
                break
            bias = min(MOST_BIAS, 2 * bias)
        return found | {token: (-math.inf, highest[token]) for token in hidden}, n_calls

    def _listed(self, top: TopTokens, token: int) -> Interval | None:
        return listed_interval(top, token, tokenizer=self.tokenizer, rounding=self.rounding)


def _total(steps: Iterable[Interval]) -> Interval:
    ends = list(steps)
    return sum(low for low, _ in ends), sum(high for _, high in ends)


def _like(top: TopTokens, plain: TopTokens) -> float | None:
    """Return what a list gives the likeliest token of the plain one."""
    for token, piece, value in zip(top.tokens, top.pieces, top.log_probs, strict=True):
        if (token, piece) == (plain.tokens[0], plain.pieces[0]):
            return value
    return None


def _gap(top: TopTokens, first: int, second: int, tokenizer: Tokenizer) -> float | None:
    """Return how much likelier the second token is than the first, None if one is not listed."""
    ends = [listed_interval(top, token, tokenizer=tokenizer) for token in (first, second)]
    if ends[0] is None or ends[1] is None:
        return None
    return ends[1][0] - ends[0][0]


def listed_interval(
    top: TopTokens, token: int, *, tokenizer: Tokenizer, rounding: float = 0.0
) -> tuple[float, float] | None:
    """Return between which ends the log-probability of a listed token lies; None if it is not.

    Args:
        top: A list; of tokens named by text only it keeps one of several with the same text, the
            least likely, so a likelier one may hide behind a text of one byte.
        token: Its id.
        tokenizer: For the token's text.
        rounding: Nats by which a value may be off.
    """
    if None not in top.tokens:
        if token not in top.tokens:
            return None
        value = top.log_probs[top.tokens.index(token)]
        return value - rounding, min(0.0, value + rounding)
    piece = tokenizer.decode([token])
    if piece not in top.pieces:
        return None
    value = top.log_probs[top.pieces.index(piece)]
    high = min(0.0, value + rounding)
    if len(piece.strip().encode()) < 2:
        high = max(high, top.log_mass_elsewhere)
    return value - rounding, high
