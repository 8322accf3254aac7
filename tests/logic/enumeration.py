"""Formulas over all their assignments: the slow truth that queries are compared with."""

import itertools
import math

import numpy as np
from hypothesis import strategies as st
from strategies import formulas

from likely.logic.formula import TRUE, holds, variables

NAMES = ("a", "b", "c", "d", "e")


def assignments(names):
    names = list(names)
    return [
        dict(zip(names, values, strict=True))
        for values in itertools.product((False, True), repeat=len(names))
    ]


def weight(assignment, probs):
    factors = (probs[name] if value else 1.0 - probs[name] for name, value in assignment.items())
    return math.prod(factors)


def models(formula, names=None):
    names = variables(formula) if names is None else names
    return [x for x in assignments(names) if holds(formula, x)]


def mass(formula, probs):
    """The probability of a formula, summed over the assignments of all names of ``probs``."""
    return math.fsum(weight(x, probs) for x in models(formula, probs))


def mass_given(query, formula, probs):
    return mass(query & formula, probs) / mass(formula, probs)


def some_probs(*, extremes=False):
    """Strategy of a probability for each of `NAMES`; with extremes 0 and 1 are among them."""
    inner = st.floats(0.001, 0.999)
    value = st.one_of(inner, st.sampled_from([0.0, 1.0, 1e-30, 1 - 1e-16])) if extremes else inner
    return st.fixed_dictionaries(dict.fromkeys(NAMES, value))


def some_formulas():
    """Strategy of ground formulas over `NAMES`."""
    return formulas(*NAMES, max_leaves=10)


def satisfiable():
    return some_formulas().filter(lambda formula: bool(models(formula)))


def log_odds(probs):
    return {name: float(np.log(p) - np.log1p(-p)) for name, p in probs.items()}


__all__ = [
    "NAMES", "TRUE", "assignments", "log_odds", "mass", "mass_given", "models", "satisfiable",
    "some_formulas", "some_probs", "weight",
]  # fmt: skip
