"""What the caller believes of each event, read once: log-odds by event, in nats."""

import difflib
import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from likely.core.logspace import check_log_probs
from likely.errors import InputError
from likely.logic.circuits.circuit import Circuit
from likely.logic.circuits.compile import compile
from likely.logic.formula import Formula, variables, walk
from likely.logic.parser import as_formula

Numbers = Mapping[str, float | int]
"""A probability, or log-odds, by the key of an event."""

_CELLS = 2**22
"""How many numbers a batch of altered rows may hold: 32 MiB of float64."""


def ground(formula: Formula | str) -> Formula:
    """Return a formula, parsed if it is a text, that ranges over no rows.

    Raises:
        InputError: It has a quantifier over rows, which a data set must fill in first.
    """
    formula = as_formula(formula)
    for node in walk(formula):
        if node.domain is not None:
            raise InputError(f"{str(node)!r} ranges over rows; ground it on a data set first")
    return formula


def read_odds(
    formulas: Iterable[Formula], *, probs: Numbers | None, log_odds: Numbers | None
) -> dict[str, float]:
    """Return the log-odds of every event of the formulas, in order of first appearance.

    Args:
        formulas: Ground formulas.
        probs: Probability of each event, in [0, 1]; events of no formula are left out.
        log_odds: The same as ``log p - log(1 - p)`` in nats, where ``p`` is too near to 1 to be
            written as such; infinities mean 0 and 1.

    Raises:
        InputError: Neither or both are given; an event has none, or one out of range.

    >>> read_odds([as_formula("a -> b")], probs={"a": 0.5, "b": 1, "c": 0.1}, log_odds=None)
    {'a': 0.0, 'b': inf}
    """
    names = tuple(dict.fromkeys(name for formula in formulas for name in variables(formula)))
    if probs is not None and log_odds is not None:
        raise InputError("give the events' probs or their log_odds, not both")
    given = probs if probs is not None else log_odds if log_odds is not None else {}
    missing = [name for name in names if name not in given]
    if missing:
        raise InputError(_explain_missing(missing, given))
    if probs is not None:
        return {name: _log_odds(name, float(probs[name])) for name in names}
    odds = {name: float(given[name]) for name in names}
    for name, value in odds.items():
        if math.isnan(value):
            raise InputError(f"the log-odds of {name!r} are a number or infinite, got {value!r}")
    return odds


def _explain_missing(missing: Sequence[str], given: Numbers) -> str:
    shown = ", ".join(repr(name) for name in missing[:5])
    more = f" and {len(missing) - 5} more" if len(missing) > 5 else ""
    close = [m for name in missing[:5] for m in difflib.get_close_matches(name, given, n=1)]
    if close:
        return f"no probability for {shown}{more}; did you mean {list(dict.fromkeys(close))}?"
    return f"no probability for {shown}{more}; given: {sorted(given)[:20]}"


def _log_odds(name: str, prob: float) -> float:
    if not 0.0 <= prob <= 1.0:
        raise InputError(f"the probability of {name!r} lies in [0, 1], got {prob!r}")
    if prob in (0.0, 1.0):
        return math.inf if prob else -math.inf
    return math.log(prob) - math.log1p(-prob)


def odds_row(circuit: Circuit, odds: Mapping[str, float]) -> Float[Tensor, "1 n"]:
    """Return the log-odds of a circuit's events, in its order, as a batch of one."""
    return torch.tensor([[odds[name] for name in circuit.names]], dtype=torch.float64)


def literal_weights(
    circuit: Circuit, odds: Mapping[str, float]
) -> tuple[Float[Tensor, "1 n"], Float[Tensor, "1 n"]]:
    """Return the log-probabilities of a circuit's events and of their negations, in nats."""
    return log_sides(odds_row(circuit, odds))


def log_sides(
    log_odds: Float[Tensor, "*rows n"],
) -> tuple[Float[Tensor, "*rows n"], Float[Tensor, "*rows n"]]:
    """Return the log-probabilities of events and of their negations, in nats.

    By numpy: on small tensors torch's own function spends milliseconds on starting threads.
    """
    values = log_odds.numpy()
    return (
        torch.from_numpy(-np.logaddexp(0.0, -values)),
        torch.from_numpy(-np.logaddexp(0.0, values)),
    )


def log_prob_of(formula: Formula, odds: Mapping[str, float]) -> float:
    """Return the log-probability that a formula holds, in nats; ``-inf`` where it cannot."""
    circuit = compile(formula)
    return log_probability(float(circuit.log_prob(odds_row(circuit, odds))[0]), what=str(formula))


def log_probability(value: float, *, what: str) -> float:
    """Return a computed log-probability, with what rounding put above 0 back at 0.

    Raises:
        NumericalError: It is NaN, or further above 0 than rounding explains (1e-9).
    """
    check_log_probs(np.array(value), what=what)
    return min(value, 0.0)


def batches(n_rows: int, *, width: int) -> list[slice]:
    """Return slices that cover ``n_rows`` rows of that width in batches of bounded memory."""
    size = max(1, _CELLS // max(1, width))
    return [slice(start, min(start + size, n_rows)) for start in range(0, n_rows, size)]
