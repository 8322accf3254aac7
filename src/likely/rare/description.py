"""What a law of inputs looks like, on one screen. Entropies in nats."""

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from jaxtyping import Float

from likely.core.model import LanguageModel
from likely.core.streams import generator
from likely.errors import InputError
from likely.rare.inputs import IndependentDistribution, InputDistribution, ListedDistribution
from likely.rare.support import Support


@dataclass(frozen=True, slots=True, kw_only=True)
class PlaceGroup:
    """Places next to each other with one law.

    Attributes:
        first: The first of them, counted from 0.
        last: The last of them.
        n_tokens: How many tokens may stand in each.
        entropy: Of one place, nats.
        likeliest: Texts of the most likely tokens, and their probabilities.
    """

    first: int
    last: int
    n_tokens: int
    entropy: float
    likeliest: tuple[tuple[str, float], ...]

    def line(self) -> str:
        """Return the group as a line for a person."""
        where = f"{self.first}" if self.first == self.last else f"{self.first}-{self.last}"
        if self.n_tokens == 1:
            return f"  {where:>7}  always {self.likeliest[0][0]!r}"
        shown = "  ".join(f"{text!r} {prob:.2g}" for text, prob in self.likeliest)
        return f"  {where:>7}  {self.n_tokens} tokens, {self.entropy:.2f} nats: {shown}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """A law of inputs in a few lines.

    Attributes:
        name: Of the law.
        length: Tokens of an input.
        n_inputs: How many inputs have a positive probability.
        entropy: Of a whole input, nats.
        groups: Its places. Of listed inputs, neighbours that vary are one group, whose law is
            the mean of theirs.
        samples: Texts of inputs drawn from it.
        details: Where it comes from.
    """

    name: str
    length: int
    n_inputs: int
    entropy: float
    groups: tuple[PlaceGroup, ...]
    samples: tuple[str, ...]
    details: tuple[tuple[str, str | int | float], ...]

    def summary(self) -> str:
        """Return it as lines for a person."""
        about = "; ".join(f"{key} {_short(value)}" for key, value in self.details)
        return "\n".join(
            [
                f"{self.name!r}: {self.length} tokens, {_count_text(self.n_inputs)} inputs, "
                f"{self.entropy:.2f} nats",
                *textwrap.wrap(about, 98, initial_indent="  ", subsequent_indent="  "),
                "places:",
                *(group.line() for group in self.groups),
                "samples:",
                *(f"  {sample!r}" for sample in self.samples),
            ]
        )


def describe(
    distribution: InputDistribution,
    model: LanguageModel,
    *,
    n_samples: int = 3,
    n_likeliest: int = 5,
    seed: int = 0,
) -> Description:
    """Return what a law of inputs looks like.

    Args:
        distribution: A law of independent places, or of listed inputs.
        model: Whose tokens they are.
        n_samples: Inputs shown, at least 0.
        n_likeliest: Tokens shown of each place, at least 1.
        seed: Of the inputs shown.

    Raises:
        InputError: The law is of another kind, or a number is too small.
    """
    for what, number, least in (("n_samples", n_samples, 0), ("n_likeliest", n_likeliest, 1)):
        if number < least:
            raise InputError(f"a description has {what} >= {least}, got {number!r}")
    if isinstance(distribution, IndependentDistribution):
        supports: Sequence[Support] = distribution.supports
        entropy = sum(_entropy(one.log_probs) for one in supports)
    elif isinstance(distribution, ListedDistribution):
        supports = _pooled(distribution)
        _, which = np.unique(distribution.inputs, axis=0, return_inverse=True)
        weights = np.bincount(which.ravel(), weights=np.exp(distribution.log_probs))
        entropy = _entropy(np.log(weights))
    else:
        raise InputError(
            f"a description needs independent places or listed inputs, got {distribution.name!r}"
        )
    rng = generator(seed, "rare", "describe")
    drawn = distribution.sample(n_samples, rng=rng)
    return Description(
        name=distribution.name,
        length=distribution.length,
        n_inputs=distribution.n_inputs,
        entropy=entropy,
        groups=_groups(supports, model, n_likeliest),
        samples=tuple(model.tokenizer.decode(one) for one in drawn.tolist()),
        details=tuple(distribution.details.items()),
    )


def _entropy(log_probs: Float[np.ndarray, "K"]) -> float:
    return max(0.0, float(-(np.exp(log_probs) * log_probs).sum()))  # not -0.0


def _pooled(distribution: ListedDistribution) -> list[Support]:
    """Return what stands in each place of a list, neighbours that vary taken together."""
    inputs = distribution.inputs
    varies = (inputs != inputs[:1]).any(axis=0)
    borders = [0, *(np.flatnonzero(varies[1:] != varies[:-1]) + 1), distribution.length]
    found: list[Support] = []
    for first, end in pairwise(borders):
        if varies[first]:
            found += [_mean(distribution, slice(first, end))] * int(end - first)
        else:
            found += [Support.only(int(token)) for token in inputs[0, first:end]]
    return found


def _mean(distribution: ListedDistribution, places: slice) -> Support:
    """Return the mean law of some places of a list."""
    columns = distribution.inputs[:, places]
    tokens, which = np.unique(columns, return_inverse=True)
    each = np.repeat(np.exp(distribution.log_probs), columns.shape[1])
    weights = np.bincount(which.ravel(), weights=each)
    return Support.of(dict(zip(tokens.tolist(), weights.tolist(), strict=True)))


def _groups(
    supports: Sequence[Support], model: LanguageModel, n_likeliest: int
) -> tuple[PlaceGroup, ...]:
    firsts = [0, *(i for i in range(1, len(supports)) if not _same(supports[i - 1], supports[i]))]
    lasts = [*(first - 1 for first in firsts[1:]), len(supports) - 1]
    return tuple(
        _group(first, last, supports[first], model, n_likeliest)
        for first, last in zip(firsts, lasts, strict=True)
    )


def _group(
    first: int, last: int, support: Support, model: LanguageModel, n_likeliest: int
) -> PlaceGroup:
    best = np.argsort(-support.log_probs, kind="stable")[:n_likeliest]
    return PlaceGroup(
        first=first,
        last=last,
        n_tokens=len(support),
        entropy=_entropy(support.log_probs),
        likeliest=tuple(
            (model.tokenizer.decode([int(support.tokens[i])]), float(np.exp(support.log_probs[i])))
            for i in best
        ),
    )


def _same(one: Support, other: Support) -> bool:
    return one is other or (
        np.array_equal(one.tokens, other.tokens) and np.array_equal(one.log_probs, other.log_probs)
    )


def _count_text(n: int) -> str:
    """Return a count, in digits up to a million and then as a power of ten."""
    if n <= 10**6:
        return f"{n:,}"
    digits = str(n)
    return f"{digits[0]}.{digits[1]}e{len(digits) - 1}"


def _short(value: str | int | float) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value[:12]}…" if len(value) == 64 and " " not in value else value  # a hash
