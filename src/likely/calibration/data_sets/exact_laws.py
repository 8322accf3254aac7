"""Laws of coins, dice and evidence in exact fractions. Unit: none, linear scale."""

from collections.abc import Sequence
from fractions import Fraction
from math import comb

from likely.errors import InputError


def binomial(n: int, p: Fraction) -> tuple[Fraction, ...]:
    """Return the law of the number of successes in independent trials.

    Args:
        n: Trials, at least 1.
        p: Probability of a success, from 0 to 1.

    Returns:
        Of 0, 1, ..., n successes.

    Raises:
        InputError: No trials, or no probability.

    >>> [float(x) for x in binomial(4, Fraction(3, 10))]
    [0.2401, 0.4116, 0.2646, 0.0756, 0.0081]
    """
    if n < 1 or not 0 <= p <= 1:
        raise InputError(f"at least 1 trial and a probability are needed, got {n!r} and {p!r}")
    return tuple(comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1))


def dice_total(n_dice: int, n_sides: int) -> tuple[Fraction, ...]:
    """Return the law of the sum of fair dice with faces 1, 2, ..., ``n_sides``.

    Args:
        n_dice: At least 1.
        n_sides: At least 1.

    Returns:
        Of the sums ``n_dice``, ..., ``n_dice * n_sides``.

    Raises:
        InputError: No dice, or no sides.

    >>> [int(36 * p) for p in dice_total(2, 6)]
    [1, 2, 3, 4, 5, 6, 5, 4, 3, 2, 1]
    """
    if n_dice < 1 or n_sides < 1:
        raise InputError(f"at least 1 die and 1 side are needed, got {n_dice!r} and {n_sides!r}")
    ways = [1]
    for _ in range(n_dice):
        wider = [0] * (len(ways) + n_sides - 1)
        for total, count in enumerate(ways):
            for face in range(n_sides):
                wider[total + face] += count
        ways = wider
    return tuple(Fraction(count, n_sides**n_dice) for count in ways)


def proportional(weights: Sequence[int | Fraction]) -> tuple[Fraction, ...]:
    """Return the law that is proportional to weights.

    Raises:
        InputError: They sum to 0.

    >>> proportional((2, 1))
    (Fraction(2, 3), Fraction(1, 3))
    """
    total = sum(weights)
    if not total:
        raise InputError(f"weights with a sum above 0 are needed, got {weights!r}")
    return tuple(Fraction(weight, total) for weight in weights)


def posterior(prior: Sequence[Fraction], likelihood: Sequence[Fraction]) -> tuple[Fraction, ...]:
    """Return the law of the hypotheses after the evidence, by Bayes' rule.

    Args:
        prior: Of each hypothesis.
        likelihood: Probability of the evidence under each.

    Raises:
        InputError: Lengths differ, or the evidence cannot happen.

    >>> posterior((Fraction(1, 100), Fraction(99, 100)), (Fraction(90, 100), Fraction(5, 100)))
    (Fraction(2, 13), Fraction(11, 13))
    """
    if len(prior) != len(likelihood):
        raise InputError(f"one likelihood a hypothesis is needed, got {prior!r}, {likelihood!r}")
    joint = [p * evidence for p, evidence in zip(prior, likelihood, strict=True)]
    if not any(joint):
        raise InputError(f"this evidence has probability 0: {prior!r}, {likelihood!r}")
    return proportional(joint)
