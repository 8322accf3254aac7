"""Which tokens may stand in one place of an input, and how likely each is. Unit: nats."""

import math
import operator
import sys
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from likely.core.model import LanguageModel
from likely.errors import InputError

Number = int | float
Weights = Mapping[int, Number] | Mapping[str, Number] | Mapping[int | str, Number]
"""Tokens of one place, as ids or as texts that are one token each, with weights."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Support:
    """The law of one token: finitely many ids, each with a positive probability.

    Attributes:
        tokens: Shape ``(K,)``, distinct ids in rising order.
        log_probs: Shape ``(K,)``, nats; they sum to 1.
    """

    tokens: Int[np.ndarray, "K"]
    log_probs: Float[np.ndarray, "K"]

    @classmethod
    def of(cls, weights: Mapping[int, Number]) -> "Support":
        """Return the law that gives each id its share of the weights; weights of 0 drop out.

        Raises:
            InputError: A weight is negative or not finite, none is positive, or one is so small
                beside the others that its share is no positive number.

        >>> support = Support.of({7: 3.0, 5: 1.0})
        >>> support.tokens.tolist(), np.exp(support.log_probs).round(3).tolist()
        ([5, 7], [0.25, 0.75])
        """
        for token, weight in weights.items():
            if not 0.0 <= weight <= sys.float_info.max:
                raise InputError(f"the weight of token {token} is a number >= 0, got {weight!r}")
        chosen = sorted(token for token, weight in weights.items() if weight > 0.0)
        if not chosen:
            raise InputError(f"a place needs a token of positive weight, got {dict(weights)!r}")
        # By a power of two, which rounds nothing: the sum does not overflow.
        power = -math.frexp(max(weights[token] for token in chosen))[1]
        scaled = [math.ldexp(weights[token], power) for token in chosen]
        total = math.fsum(scaled)
        shares = np.array([weight / total for weight in scaled], dtype=np.float64)
        if not shares.all():
            token = chosen[int(shares.argmin())]
            raise InputError(
                f"the weight of token {token} is too small beside the others for a positive "
                f"share, got {weights[token]!r}; raise it or leave the token out"
            )
        return cls(tokens=np.array(chosen, dtype=np.int64), log_probs=np.log(shares))

    @classmethod
    def only(cls, token: int) -> "Support":
        """Return the law of a place where one token always stands."""
        return cls(tokens=np.array([token], dtype=np.int64), log_probs=np.zeros(1))

    def __len__(self) -> int:
        return len(self.tokens)

    def draw(self, uniforms: Float[np.ndarray, "n"]) -> Int[np.ndarray, "n"]:
        """Return the tokens that numbers in [0, 1) stand for, by the inverse of the law."""
        edges = np.cumsum(np.exp(self.log_probs))
        places = np.searchsorted(edges / edges[-1], uniforms, side="right")
        return np.asarray(self.tokens[np.minimum(places, len(self) - 1)])

    def log_prob(self, tokens: Int[np.ndarray, "n"]) -> Float[np.ndarray, "n"]:
        """Return how likely ids are, nats; ``-inf`` for those that never stand here."""
        places = np.minimum(np.searchsorted(self.tokens, tokens), len(self) - 1)
        return np.where(self.tokens[places] == tokens, self.log_probs[places], -np.inf)


def read_weights(weights: Weights, model: LanguageModel) -> Support:
    """Return the law of a place that a user wrote down.

    Args:
        weights: Ids, or texts that are one token each, with weights that need not sum to 1.
        model: Whose tokens they are.

    Raises:
        InputError: A text is no single token, an id means nothing, or two keys name one token.
    """
    found: dict[int, Number] = {}
    for key, weight in weights.items():
        token = read_token(key, model)
        if token in found:
            raise InputError(f"the token {key!r} stands twice in one place, as an id and as text")
        found[token] = weight
    return Support.of(found)


def read_token(token: int | str, model: LanguageModel) -> int:
    """Return the id of a token that is given by id or by its text.

    Raises:
        InputError: The text is not exactly one token, or the id is no whole number or none of the
            model.
    """
    if isinstance(token, str):
        ids = model.tokenizer.encode(token).tokens
        if len(ids) != 1:
            pieces = [model.tokenizer.decode([one]) for one in ids]
            raise InputError(
                f"{token!r} is {len(ids)} tokens of {model.info.name!r}, not one: {pieces}; give "
                "one token (a word often begins with its space), or its id"
            )
        return ids[0]
    try:
        found = operator.index(token)
    except TypeError as error:
        raise InputError(f"a token is an id (a whole number) or a text, got {token!r}") from error
    if not 0 <= found < model.info.n_tokens:
        raise InputError(
            f"{model.info.name!r} has ids 0 to {model.info.n_tokens - 1}, got {token!r}"
        )
    return found
