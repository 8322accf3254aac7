"""Questions to a formula over independent events: probabilities in [0, 1], logs in nats.

Every function takes the formula as a `Formula` or a text, and the events' probabilities either as
``probs`` or as ``log_odds``. The law is the product law: the events are independent before the
formula is known. Nothing is computed as one minus a probability.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from likely.logic.circuits.circuit import Circuit
from likely.logic.circuits.compile import compile
from likely.logic.clash import check_possible, conjuncts
from likely.logic.formula import Formula
from likely.logic.odds import (
    Numbers,
    batches,
    ground,
    literal_weights,
    log_prob_of,
    log_probability,
    odds_row,
    read_odds,
)


def satisfaction(
    formula: Formula | str, probs: Numbers | None = None, *, log_odds: Numbers | None = None
) -> float:
    """Return the probability that the formula holds.

    Args:
        formula: Ground.
        probs: Probability of each event of the formula; further events are ignored.
        log_odds: Log-odds of each event in nats, instead of ``probs``.

    Returns:
        In [0, 1]; 0 for a formula that cannot hold.

    Raises:
        InputError: The formula cannot be read, or an event has no or no valid probability.
        BudgetError: The formula is too large to compile; so for every query.

    Sources:
        Xu, Zhang, Friedman, Liang and Van den Broeck (2018), "A semantic loss function for deep
        learning with symbolic knowledge": minus the log of this number is their loss.

    >>> round(satisfaction("(a <-> b) & (c <-> d)", {"a": .9, "b": .2, "c": .6, "d": .3}), 4)
    0.1196
    """
    return math.exp(log_satisfaction(formula, probs, log_odds=log_odds))


def log_satisfaction(
    formula: Formula | str, probs: Numbers | None = None, *, log_odds: Numbers | None = None
) -> float:
    """Return the log-probability that the formula holds, in nats; ``-inf`` if it cannot.

    Arguments and errors are those of `satisfaction`.

    >>> round(log_satisfaction("a & b", {"a": 0.5, "b": 1e-300}), 3)
    -691.469
    """
    formula = ground(formula)
    return log_prob_of(formula, read_odds([formula], probs=probs, log_odds=log_odds))


def conditional(
    query: Formula | str,
    formula: Formula | str,
    probs: Numbers | None = None,
    *,
    log_odds: Numbers | None = None,
) -> float:
    """Return the probability of the query given that the formula holds.

    Args:
        query: What is asked.
        formula: What is given; rules and evidence joined by ``&``.
        probs: Probability of each event of both.
        log_odds: Log-odds in nats, instead of ``probs``.

    Raises:
        InputError: As for `satisfaction`.
        InconsistentTheory: The formula has probability 0. The error's ``clash`` is a smallest set
            of its conjuncts, and of events with probability 0 or 1, that cannot all hold.

    >>> round(conditional("a", "a ^ c", {"a": 0.7, "c": 0.4}), 4)
    0.7778
    """
    query, formula = ground(query), ground(formula)
    odds = read_odds([query, formula], probs=probs, log_odds=log_odds)
    given = _possible_log_prob(formula, odds)
    joint = log_prob_of(query & formula, odds)
    return math.exp(log_probability(joint - given, what=f"{str(query)!r} given {str(formula)!r}"))


def marginals(
    formula: Formula | str, probs: Numbers | None = None, *, log_odds: Numbers | None = None
) -> dict[str, float]:
    """Return the probability of each event given that the formula holds.

    Small ones are as accurate as large ones: each is a product of probabilities, not a difference.
    Minus the gradient of the loss ``-log P`` with respect to an event's log-odds is what the
    formula adds to its probability: this number minus the one that was given.

    Arguments and errors are those of `conditional`.

    >>> {k: round(q, 4) for k, q in marginals("a -> b", {"a": 0.9, "b": 0.2}).items()}
    {'a': 0.6429, 'b': 0.7143}
    """
    formula = ground(formula)
    odds = read_odds([formula], probs=probs, log_odds=log_odds)
    total = _possible_log_prob(formula, odds)
    circuit = compile(formula)
    if_true, _ = _given_each_event(circuit, odds_row(circuit, odds))
    log_prior, _ = literal_weights(circuit, odds)
    log_posterior = log_prior[0] + if_true - total
    return {
        name: math.exp(log_probability(value, what=f"{name!r} given the formula"))
        for name, value in zip(circuit.names, log_posterior.tolist(), strict=True)
    }


def sensitivities(
    formula: Formula | str, probs: Numbers | None = None, *, log_odds: Numbers | None = None
) -> dict[str, float]:
    """Return how much the probability of the formula gains as an event goes from never to always.

    That is ``P(formula | event) - P(formula | not event)``, the derivative of `satisfaction` with
    respect to the event's probability. Its sign says which way the formula pulls the event; 0 means
    that at these probabilities the event does not matter.

    Arguments and errors are those of `satisfaction`.

    Sources:
        Birnbaum (1969), "On the importance of different components in a multicomponent system".

    >>> {k: round(d, 4) for k, d in sensitivities("a -> b", {"a": 0.9, "b": 0.2}).items()}
    {'a': -0.8, 'b': 0.9}
    """
    formula = ground(formula)
    odds = read_odds([formula], probs=probs, log_odds=log_odds)
    circuit = compile(formula)
    if_true, if_false = _given_each_event(circuit, odds_row(circuit, odds))
    difference = torch.exp(if_true) - torch.exp(if_false)
    return dict(zip(circuit.names, difference.tolist(), strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class PairMarginals:
    """The probability of each pair of events given a formula.

    Attributes:
        names: The events.
        matrix: Probability that both hold, shape (n, n); the diagonal has the marginals.
    """

    names: tuple[str, ...]
    matrix: Float[np.ndarray, "n n"]

    @property
    def covariance(self) -> Float[np.ndarray, "n n"]:
        """The covariances of the events' truth given the formula."""
        alone = np.diagonal(self.matrix)
        return self.matrix - np.outer(alone, alone)

    def to_frame(self) -> pd.DataFrame:
        """Return the matrix with the events as index and columns."""
        return pd.DataFrame(self.matrix, index=list(self.names), columns=list(self.names))

    def to_dict(self) -> dict[str, object]:
        """Return the fields as a mapping that `likely.core.jsonio` writes as strict JSON."""
        return {"names": list(self.names), "matrix": self.matrix.tolist()}


def pair_marginals(
    formula: Formula | str, probs: Numbers | None = None, *, log_odds: Numbers | None = None
) -> PairMarginals:
    """Return the probability that both events of a pair hold, given that the formula holds.

    The circuit is evaluated once for each of the ``n (n - 1) / 2`` pairs, in batches.

    Arguments and errors are those of `conditional`.

    >>> pair_marginals("exactly_one(a, b)", {"a": 0.5, "b": 0.5}).matrix.round(3).tolist()
    [[0.5, 0.0], [0.0, 0.5]]
    """
    formula = ground(formula)
    odds = read_odds([formula], probs=probs, log_odds=log_odds)
    total = _possible_log_prob(formula, odds)
    circuit = compile(formula)
    row = odds_row(circuit, odds)
    first, second = np.triu_indices(len(circuit.names))
    log_prior = literal_weights(circuit, odds)[0][0].numpy()
    log_joint = np.empty(len(first))
    for part in batches(len(first), width=len(circuit.names)):
        i, j = torch.from_numpy(first[part]), torch.from_numpy(second[part])
        rows = row.repeat(len(i), 1)
        rows[torch.arange(len(i)), i] = math.inf
        rows[torch.arange(len(i)), j] = math.inf
        log_joint[part] = circuit.log_prob(rows).numpy()
    log_joint += log_prior[first] + np.where(first == second, 0.0, log_prior[second]) - total
    matrix = np.zeros((len(circuit.names), len(circuit.names)))
    matrix[first, second] = matrix[second, first] = np.exp(np.minimum(log_joint, 0.0))
    return PairMarginals(names=circuit.names, matrix=matrix)


def count_models(formula: Formula | str, *, names: Sequence[str] | None = None) -> int:
    """Return how many assignments satisfy the formula.

    Args:
        formula: Ground.
        names: The events that are assigned, if more than those of the formula.

    Raises:
        InputError: ``names`` lack an event of the formula, or hold one twice.

    >>> count_models("x | !y | !z"), count_models("x | !y | !z", names=["v", "w", "x", "y", "z"])
    (7, 28)
    """
    return compile(ground(formula), names=names).count()


def entails(formula: Formula | str, other: Formula | str) -> bool:
    """Return whether the other formula holds wherever the first one does.

    >>> entails("a <-> b", "a -> b"), entails("a -> b", "a <-> b")
    (True, False)
    """
    return not compile(ground(formula) & ~ground(other)).is_satisfiable


def equivalent(formula: Formula | str, other: Formula | str) -> bool:
    """Return whether both formulas hold for the same assignments.

    >>> equivalent("a -> b", "!b -> !a")
    True
    """
    return not compile(Formula("xor", (ground(formula), ground(other)))).is_satisfiable


def _possible_log_prob(formula: Formula, odds: Mapping[str, float]) -> float:
    log_prob = log_prob_of(formula, odds)
    parts = {str(part): part for part in conjuncts(formula)}
    check_possible(log_prob, parts, odds, what=f"the formula {str(formula)!r}")
    return log_prob


def _given_each_event(
    circuit: Circuit, row: Float[Tensor, "1 n"]
) -> tuple[Float[Tensor, " n"], Float[Tensor, " n"]]:
    """Return the log-probability of the formula given each event, and given its negation."""
    n = row.shape[1]
    values = torch.empty((2, n), dtype=torch.float64)
    for side, value in enumerate((math.inf, -math.inf)):
        for part in batches(n, width=len(circuit.names)):
            columns = torch.arange(part.start, part.stop)
            rows = row.repeat(len(columns), 1)
            rows[torch.arange(len(columns)), columns] = value
            values[side, part] = circuit.log_prob(rows)
    return values[0], values[1]
