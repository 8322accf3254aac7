"""How often each token stands in a long random hexadecimal string. Unit: probabilities.

Every character of the string is one of ``0123456789abcdef`` with probability 1/16, independently.
The tokens that a tokenizer cuts it into are no independent draws: where ``ab`` is a token, an
``a`` is seldom followed by a ``b``. Two chains of tokens say how they follow each other:

* `exact_chain`. A byte-pair tokenizer cuts a text into tokens ``t1 t2 …`` if and only if it cuts
  each pair of neighbours ``t1t2``, ``t2t3``, … just so. So strings of ``n`` characters and walks
  of length ``n`` in the graph of such pairs are the same thing, and the chain of tokens is
  ``P(u, v) = 16^-len(v) r(v) / r(u)`` on those pairs, where ``r`` is the right eigenvector of the
  matrix ``16^-len(v)`` on the pairs: ``r(v)`` is in proportion to how likely what follows leaves
  ``v`` alone. Its eigenvalue is 1. Of any tokenizer whose pairs do not decide, the matrix has a
  larger one, since then there are more walks than strings; so the eigenvalue is a test.
* `published_chain`. What Wu and Hilton (2024) took: ``P(u, v)`` in proportion to
  ``16^-len(v) (1 - sum of 16^-len(m))``, over the shortest ``m`` that would make a longer token of
  ``v m`` or of ``u v m``. It is exact for a prefix code. Of a byte-pair tokenizer it is wrong in
  two ways: it lets a ``v`` follow a ``u`` that would have taken the beginning of ``v`` to itself,
  and it forgets that ``m`` may belong to a token that begins after ``v``.

Sources:
    van Antwerpen and Neubeck (2024), "So many tokens, so little time": pairs of neighbours decide
    whether tokens are those of byte-pair encoding. Parry (1964), "Intrinsic Markov chains": the
    chain from the eigenvectors of a graph's matrix.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
from jaxtyping import Bool, Float, Int

from likely.core.model import LanguageModel, Tokenizer
from likely.errors import InputError, NumericalError
from likely.rare.frequencies import encode_each
from likely.rare.support import Support

DIGITS = "0123456789abcdef"
TOLERANCE = 1e-9
"""By how much the eigenvalue of pairs that decide may miss 1, by rounding."""

_BEFORE = ("", "\n")  # a tokenizer may put a space before a text, but not before a second line
_PAIRS_AT_ONCE = 1 << 16
_ROUNDS = 100_000
_POLISHING = 32  # rounds
_DIGITS = 12  # of a share


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TokenChain:
    """Tokens made of hexadecimal digits, and how they follow each other.

    Attributes:
        tokens: Shape ``(K,)``, ids in rising order.
        strings: What each says.
        transitions: Shape ``(K, K)``: how likely each token is to follow each; rows sum to 1.
        stationary: Shape ``(K,)``: the share of each token in a long string; sums to 1.
        growth: The eigenvalue of the pairs: 1 where the chain is exact.
    """

    tokens: Int[np.ndarray, "K"]
    strings: tuple[str, ...]
    transitions: Float[np.ndarray, "K K"]
    stationary: Float[np.ndarray, "K"]
    growth: float

    @property
    def support(self) -> Support:
        """The law of one token of the string; shares have twelve digits, the same on any machine.

        What two machines make of a sum differs in the last digit or two of sixteen, and a law is
        known by all digits of its shares.
        """
        shares = (float(f"{share:.{_DIGITS - 1}e}") for share in self.stationary)
        return Support.of({int(t): p for t, p in zip(self.tokens, shares, strict=True)})

    @property
    def is_exact(self) -> bool:
        """Whether pairs of neighbours decide how this tokenizer cuts a string."""
        return abs(self.growth - 1.0) <= TOLERANCE


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Pairs:
    """Tokens made of hexadecimal digits, and which of them may be neighbours."""

    tokens: Int[np.ndarray, "K"]
    strings: tuple[str, ...]
    allowed: Bool[np.ndarray, "K K"]

    @property
    def weights(self) -> Float[np.ndarray, "K"]:
        """Return how likely the characters of each token are."""
        return 16.0 ** -np.array([len(one) for one in self.strings], dtype=np.float64)


_KNOWN: WeakKeyDictionary[Tokenizer, _Pairs] = WeakKeyDictionary()


def exact_chain(model: LanguageModel) -> TokenChain:
    """Return the chain of tokens that pairs of neighbours decide.

    It is exact where `TokenChain.is_exact`, so for every byte-pair tokenizer. Asking the tokenizer
    about all pairs takes ``K²`` short texts, about 30 microseconds each, once per tokenizer.

    Args:
        model: For its tokenizer.

    Raises:
        InputError: The tokenizer cuts such strings into tokens that are not made of these digits.
        NumericalError: The eigenvectors do not settle.
    """
    pairs = _pairs(model)
    matrix = pairs.allowed * pairs.weights[None, :]
    right, growth = _leading(matrix)
    if growth < 1.0 - TOLERANCE:
        raise InputError(
            f"strings of hexadecimal digits are not always cut into tokens of such digits by "
            f"{model.info.name!r} (eigenvalue {growth!r}, 1 is needed); write down a distribution "
            "of your own with rare.independent"
        )
    left, _ = _leading(matrix.T)
    right, left = _polished(matrix, right), _polished(matrix.T, left)
    with np.errstate(divide="ignore", invalid="ignore"):
        transitions = matrix * right[None, :] / (growth * right[:, None])
    share = left * right
    return TokenChain(
        tokens=pairs.tokens,
        strings=pairs.strings,
        transitions=np.where(right[:, None] > 0.0, transitions, 0.0),
        stationary=share / math.fsum(share.tolist()),
        growth=growth,
    )


def published_chain(model: LanguageModel) -> TokenChain:
    """Return the chain of Wu and Hilton (2024); see the module for what it leaves out.

    Args:
        model: For its tokenizer.

    Raises:
        InputError: No token is made of hexadecimal digits.
        NumericalError: The chain has no unique stationary law.
    """
    pairs = _pairs(model)
    weights = pairs.weights
    tails = _tails(pairs.strings)
    alone = {v: _covered(tails[v] - {""}) for v in pairs.strings}
    transitions = np.empty((len(weights), len(weights)))
    for i, u in enumerate(pairs.strings):
        for j, v in enumerate(pairs.strings):
            joint = tails.get(u + v)
            covered = alone[v] if joint is None else _covered((tails[v] - {""}) | joint)
            transitions[i, j] = weights[j] * (1.0 - covered)
    transitions /= transitions.sum(axis=1, keepdims=True)
    _, growth = _leading(pairs.allowed * weights[None, :])
    return TokenChain(
        tokens=pairs.tokens,
        strings=pairs.strings,
        transitions=transitions,
        stationary=_polished(transitions.T, _stationary(transitions)),
        growth=growth,
    )


def hexadecimal_chain(model: LanguageModel) -> TokenChain:
    """Return the exact chain where pairs decide, else the published one.

    Raises:
        InputError: The tokenizer cuts such strings into tokens that are not made of these digits.
    """
    chain = exact_chain(model)
    return chain if chain.is_exact else published_chain(model)


def count_in_random_string(
    model: LanguageModel, chain: TokenChain, *, n_characters: int, rng: np.random.Generator
) -> Int[np.ndarray, "K"]:
    """Return how often each token of a chain stands in one random string: the truth to compare.

    Args:
        model: For its tokenizer.
        chain: Whose tokens are counted.
        n_characters: Of the string.
        rng: Draws the characters.

    Raises:
        InputError: A token comes that the chain does not have.
    """
    text = "".join(DIGITS[one] for one in rng.integers(0, 16, size=n_characters))
    (tokens,) = encode_each([text], model.tokenizer)
    counts = np.bincount(tokens, minlength=model.info.n_tokens)
    found = counts[chain.tokens]
    if found.sum() != counts.sum():
        other = sorted(set(np.flatnonzero(counts).tolist()) - set(chain.tokens.tolist()))
        raise InputError(
            f"{model.info.name!r} cut a hexadecimal string into other tokens too, ids {other[:5]}"
        )
    return np.asarray(found, dtype=np.int64)


def _pairs(model: LanguageModel) -> _Pairs:
    """Return the tokens of digits that stand for themselves, and which may be neighbours."""
    known = _KNOWN.get(model.tokenizer)
    if known is not None:
        return known
    made_of = {
        token: raw.decode()
        for token in range(model.info.n_tokens)
        if (raw := model.tokenizer.token_bytes(token)) and not raw.strip(DIGITS.encode())
    }
    found: dict[int, str] = {}
    before = ""
    for start in _BEFORE:
        own = _standing_alone(made_of, start, model.tokenizer)
        if len(own) > len(found):
            found, before = own, start
    if not found:
        raise InputError(
            f"no token of {model.info.name!r} stands for hexadecimal digits alone; write down a "
            "distribution of your own with rare.independent"
        )
    tokens = sorted(found)
    pairs = _Pairs(
        tokens=np.array(tokens, dtype=np.int64),
        strings=tuple(found[token] for token in tokens),
        allowed=_allowed([(token, found[token]) for token in tokens], before, model.tokenizer),
    )
    _KNOWN[model.tokenizer] = pairs
    return pairs


def _standing_alone(made_of: dict[int, str], before: str, tokenizer: Tokenizer) -> dict[int, str]:
    """Return the tokens that the tokenizer itself gives for what they say."""
    try:
        head = tokenizer.encode(before).tokens
        cut = encode_each([before + text for text in made_of.values()], tokenizer)
    except InputError:  # a table whose tokens do not spell this
        return {}
    return {
        token: text
        for (token, text), ids in zip(made_of.items(), cut, strict=True)
        if ids == (*head, token)
    }


def _allowed(
    tokens: Sequence[tuple[int, str]], before: str, tokenizer: Tokenizer
) -> Bool[np.ndarray, "K K"]:
    """Return which tokens the tokenizer leaves beside each other."""
    head = tokenizer.encode(before).tokens
    rows = max(1, _PAIRS_AT_ONCE // len(tokens))
    found: list[bool] = []
    for start in range(0, len(tokens), rows):
        part = [(u, v) for u in tokens[start : start + rows] for v in tokens]
        cut = encode_each([before + u[1] + v[1] for u, v in part], tokenizer)
        found += [ids == (*head, u[0], v[0]) for (u, v), ids in zip(part, cut, strict=True)]
    return np.array(found, dtype=bool).reshape(len(tokens), len(tokens))


def _leading(matrix: Float[np.ndarray, "K K"]) -> tuple[Float[np.ndarray, "K"], float]:
    """Return the right eigenvector of the largest eigenvalue, summing to 1, and that value."""
    vector = np.full(len(matrix), 1.0 / len(matrix))
    for _ in range(_ROUNDS):
        image = matrix @ vector
        growth = float(image.sum())
        following = 0.5 * (vector + image / growth) if growth > 0.0 else vector  # never in a cycle
        if growth == 0.0 or np.abs(following - vector).max() <= 1e-16:
            return vector, growth
        vector = following / following.sum()
    raise NumericalError(f"the eigenvector of {len(matrix)} tokens did not settle")


def _polished(
    matrix: Float[np.ndarray, "K K"], vector: Float[np.ndarray, "K"]
) -> Float[np.ndarray, "K"]:
    """Return an eigenvector, summing to 1, to the last digit: by rounds of exactly rounded sums.

    Products of matrices depend on the processor in their last digits, and small entries of what
    they converge to in more. Terms are not negative, so that each round halves relative errors.

    Args:
        matrix: No entry is negative.
        vector: Its leading right eigenvector, nearly.
    """
    for _ in range(_POLISHING):
        image = np.array([math.fsum((row * vector).tolist()) for row in matrix])
        vector = 0.5 * (vector + image / math.fsum(image.tolist()))
        vector = vector / math.fsum(vector.tolist())
    return vector


def _stationary(transitions: Float[np.ndarray, "K K"]) -> Float[np.ndarray, "K"]:
    """Return the law that a chain keeps; shares that rounding puts down to -1e-12 are 0."""
    system = np.eye(len(transitions)) - transitions.T
    system[-1] = 1.0
    wanted = np.zeros(len(transitions))
    wanted[-1] = 1.0
    try:
        found = np.asarray(np.linalg.solve(system, wanted))
    except np.linalg.LinAlgError as error:
        raise NumericalError("the chain of tokens has no unique stationary law") from error
    if not found.min() >= -1e-12:
        raise NumericalError(f"a stationary share is {float(found.min())!r}, at least 0 is needed")
    return np.asarray(np.maximum(found, 0.0))


def _tails(strings: Sequence[str]) -> dict[str, set[str]]:
    """Return for each beginning of a token everything that makes it a token."""
    found: dict[str, set[str]] = {}
    for one in strings:
        for cut in range(1, len(one) + 1):
            found.setdefault(one[:cut], set()).add(one[cut:])
    return found


def _covered(tails: set[str]) -> float:
    """Return how likely a random string begins with one of some strings."""
    shortest = [one for one in tails if not any(one[:n] in tails for n in range(len(one)))]
    return math.fsum(16.0 ** -len(one) for one in shortest)
