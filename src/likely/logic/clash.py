"""Why a theory cannot hold: a smallest set of its parts that clash. Unit: none."""

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import torch
from scipy.optimize import Bounds, LinearConstraint, milp

from likely.errors import BudgetError, InconsistentTheory, NumericalError
from likely.logic.circuits.compile import compile
from likely.logic.formula import TRUE, Formula, holds, variables, walk

MAX_ROUNDS = 200
"""After so many rounds the search for a smallest clash is content with a minimal one."""


def conjuncts(formula: Formula) -> tuple[Formula, ...]:
    """Return the parts that a formula says must all hold, each once, in order.

    >>> from likely.logic.parser import parse
    >>> [str(part) for part in conjuncts(parse("a & (b -> c) & (d & a)"))]
    ['a', 'b -> c', 'd']
    """
    if formula.op != "and":
        return (formula,)
    parts = [part for operand in formula.operands for part in conjuncts(operand)]
    return tuple(dict.fromkeys(parts))


def conjunction(parts: Sequence[Formula]) -> Formula:
    """Return the formula that holds where all parts do; true of no parts."""
    if not parts:
        return TRUE
    return parts[0] if len(parts) == 1 else Formula("and", tuple(parts))


def smallest_clash(parts: Sequence[Formula]) -> tuple[int, ...]:
    """Return the places of a smallest set of parts that cannot all hold; none if all can.

    A set of parts clashes exactly if it meets every *correction*: every set of parts whose removal
    leaves the rest satisfiable. So a smallest set that meets the corrections seen so far either
    clashes, and then none is smaller, or shows one more correction. It starts from a minimal clash,
    and ends as soon as it needs as many parts.

    Args:
        parts: Ground formulas.

    Returns:
        Places in ``parts``, ascending. Of smallest size, unless `MAX_ROUNDS` rounds did not find
        one: then minimal, which is to say that no part can be left out.

    Sources:
        Ignatiev, Previti, Liffiton and Marques-Silva (2015), "Smallest MUS extraction with minimal
        hitting set dualization".

    >>> from likely.logic.formula import var
    >>> smallest_clash([var("a"), var("b"), ~var("a") | ~var("b"), ~var("b")])
    (1, 3)
    """
    everything = set(range(len(parts)))
    if _model(parts, everything) is not None:
        return ()
    minimal = _minimal(parts)
    corrections = [{i} for i in minimal if _model(parts, everything - {i}) is not None]
    for _ in range(MAX_ROUNDS):
        chosen = _smallest_meeting(corrections, len(parts))
        if len(chosen) == len(minimal):
            break
        grown = _grow(parts, chosen)
        if grown is None:
            return tuple(sorted(chosen))
        corrections.append(everything - grown)
    return minimal


def _grow(parts: Sequence[Formula], chosen: Iterable[int]) -> set[int] | None:
    """Return a satisfiable set around the chosen parts that no part can join; None if they clash.

    Parts that the model at hand happens to satisfy join without a question to a circuit.
    """
    kept = set(chosen)
    model = _model(parts, kept)
    if model is None:
        return None
    for i, part in enumerate(parts):
        if i in kept:
            continue
        if not holds(part, model):
            other = _model(parts, {*kept, i})
            if other is None:
                continue
            model = other
        kept.add(i)
    return kept


def _model(parts: Sequence[Formula], chosen: Iterable[int]) -> dict[str, bool] | None:
    """Return an assignment of all variables under which the chosen parts hold, if there is one."""
    circuit = compile(conjunction([parts[i] for i in sorted(chosen)]))
    if not circuit.is_satisfiable:
        return None
    weights = torch.zeros((1, len(circuit.names)), dtype=torch.float64)
    _, assignments = circuit.most_probable(weights, weights)
    model = {name: False for part in parts for name in variables(part)}
    return model | dict(zip(circuit.names, assignments[0].tolist(), strict=True))


def _smallest_meeting(sets: Sequence[set[int]], n: int) -> set[int]:
    """Return a smallest set of numbers below ``n`` that meets each of the sets."""
    if not sets:
        return set()
    rows = np.array([[float(i in members) for i in range(n)] for members in sets])
    found = milp(
        np.ones(n),
        integrality=np.ones(n),
        bounds=Bounds(0, 1),
        constraints=LinearConstraint(rows, 1),
    )
    if found.x is None:
        raise NumericalError(f"the search for a clash among {n} parts failed: {found.message}")
    return set(np.flatnonzero(found.x > 0.5).tolist())


def _minimal(parts: Sequence[Formula]) -> tuple[int, ...]:
    kept = list(range(len(parts)))
    for i in range(len(parts)):
        fewer = [j for j in kept if j != i]
        if _model(parts, fewer) is None:
            kept = fewer
    return tuple(kept)


def check_possible(
    log_prob: float, parts: Mapping[str, Formula], odds: Mapping[str, float], *, what: str
) -> None:
    """Raise if a theory has probability 0, naming what clashes.

    Args:
        log_prob: Of the theory, nats.
        parts: The theory's parts by the text that names each in the message.
        odds: Log-odds of the events, of those that have any; infinite ones are parts too.
        what: Names the theory in the message.

    Raises:
        InconsistentTheory: ``log_prob`` is ``-inf``.
        NumericalError: It is, though the parts can all hold.
    """
    if log_prob > -math.inf:
        return
    events = {n.key: n for part in parts.values() for n in walk(part) if n.op == "var"}
    certain = {
        f"P({key}) = {int(odds[key] > 0)}": event if odds[key] > 0 else ~event
        for key, event in events.items()
        if math.isinf(odds.get(key, 0.0))
    }
    everything = {**parts, **certain}
    texts = list(everything)
    try:
        clash = tuple(texts[i] for i in smallest_clash(list(everything.values())))
        lead = "these clash" if len(clash) > 1 else "this cannot hold"
    except BudgetError:  # fewer rules may need a larger circuit than all of them
        clash, lead = tuple(texts), "too large to narrow down, but somewhere here is a clash"
    if not clash:
        raise NumericalError(f"{what} can hold but came out with probability 0; report this")
    raise InconsistentTheory(
        f"{what} has probability 0, so nothing can be asked given it: {lead}: "
        f"{', '.join(repr(text) for text in clash)}; drop or weaken one",
        clash=clash,
    )
