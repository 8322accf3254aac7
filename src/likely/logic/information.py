"""How much a formula says beyond what chance satisfies, by exact counting. Unit: bits.

Chance is a model that gives every event probability one half. All counts are exact integers.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch

from likely.core.streams import generator
from likely.logic.chance import LN2
from likely.logic.chance import Scores as Scores
from likely.logic.circuits.circuit import Circuit
from likely.logic.circuits.compile import compile
from likely.logic.clash import check_possible, conjuncts
from likely.logic.formula import FALSE, TRUE, Formula, substitute
from likely.logic.odds import Numbers, ground, log_prob_of, read_odds


@dataclass(frozen=True, slots=True, kw_only=True)
class Informativeness:
    """How much a formula says, over the events that it truly depends on (its support).

    Attributes:
        bits: The surprisal of the formula under chance, ``n - log2(number of models)``; 0 for a
            tautology. Normalised log-ratio scores share out these.
        marginal_bits: The part that the events tell one by one,
            ``sum_i (1 - h2(share of models in which i is true))``: it drives the first step of
            learning from ignorance.
        interaction_bits: The rest, which is in how the events hang together (total correlation):
            it gives no gradient at probability one half.
        n_models: Assignments of the support that satisfy the formula.
        n_variables: Size of the support.
        share_true: For each event of the support, the share of models in which it is true.
        gradient_norm_squared: Of the gradient of ``-log P`` with respect to all log-odds at
            probability one half, ``sum_i (1/2 - share_i)^2``; at most ``bits * ln(2) / 2``.
        log_chance: Log-probability of the formula under chance, nats.
        log_chance_broken: Log-probability of its negation under chance, nats; ``-inf`` for a
            tautology.
    """

    bits: float
    marginal_bits: float
    interaction_bits: float
    n_models: int
    n_variables: int
    share_true: Mapping[str, float]
    gradient_norm_squared: float
    log_chance: float
    log_chance_broken: float

    @property
    def density(self) -> float:
        """Bits for each event of the support; 0 for a tautology, which has none."""
        return self.bits / self.n_variables if self.n_variables else 0.0

    @property
    def log2_chance(self) -> float:
        """The log-probability of the formula under chance, in bits: minus ``bits``."""
        return 0.0 - self.bits

    @property
    def is_tautology(self) -> bool:
        """Whether the formula says nothing, so that no score on it is worth anything."""
        return self.log_chance_broken == -math.inf

    def to_dict(self) -> dict[str, object]:
        """Return the fields as a mapping that `likely.core.jsonio` writes as strict JSON."""
        return {
            "bits": self.bits,
            "marginal_bits": self.marginal_bits,
            "interaction_bits": self.interaction_bits,
            "n_models": self.n_models,
            "n_variables": self.n_variables,
            "density": self.density,
            "share_true": dict(self.share_true),
            "gradient_norm_squared": self.gradient_norm_squared,
            "log_chance": self.log_chance,
            "log_chance_broken": self.log_chance_broken,
        }


def informativeness(formula: Formula | str) -> Informativeness:
    """Return how much a formula says, by exact counting.

    Args:
        formula: Ground. Events that it mentions without depending on them change nothing.

    Raises:
        InputError: The formula cannot be read.
        InconsistentTheory: No assignment satisfies it: it would say infinitely much.

    >>> info = informativeness("exactly_one(a, b, c, d)")
    >>> info.bits, round(info.marginal_bits, 4), round(info.interaction_bits, 4), info.n_models
    (2.0, 0.7549, 1.2451, 4)
    """
    formula = ground(formula)
    circuit = compile(formula)
    count, n = circuit.count(), len(circuit.names)
    bits = _surprisal_bits(count, n)
    parts = {str(part): part for part in conjuncts(formula)}
    check_possible(-bits, parts, {}, what=f"the formula {str(formula)!r}")
    true_counts = dict(zip(circuit.names, circuit.counts(), strict=True))
    support = _support(formula, circuit, true_counts)
    # Twice the distance of each share from one half: exact up to the one division.
    leans = {name: (2 * true_counts[name] - count) / count for name in support}
    marginal_bits = math.fsum(_lean_bits(lean) for lean in leans.values())
    return Informativeness(
        bits=bits,
        marginal_bits=marginal_bits,
        interaction_bits=bits - marginal_bits,
        n_models=count >> (n - len(support)),
        n_variables=len(support),
        share_true={name: true_counts[name] / count for name in support},
        gradient_norm_squared=math.fsum(lean * lean for lean in leans.values()) / 4.0,
        log_chance=0.0 - bits * LN2,
        log_chance_broken=0.0 - _surprisal_bits(2**n - count, n) * LN2,
    )


def scores(
    formula: Formula | str, probs: Numbers | None = None, *, log_odds: Numbers | None = None
) -> Scores:
    """Return what a model with these event probabilities earns on the formula.

    Args:
        formula: Ground.
        probs: Probability of each event of the formula.
        log_odds: Log-odds of each event in nats, instead of ``probs``.

    Raises:
        InputError: The formula cannot be read, or an event has no or no valid probability.
        InconsistentTheory: No assignment satisfies the formula.

    >>> earned = scores("a & !b", {"a": 0.9, "b": 0.2})
    >>> round(earned.chance_corrected, 4), round(earned.log_ratio_bits, 4)
    (0.6267, 1.5261)
    """
    formula = ground(formula)
    odds = read_odds([formula], probs=probs, log_odds=log_odds)
    info = informativeness(formula)
    return Scores(
        log_prob=log_prob_of(formula, odds),
        log_broken=log_prob_of(~formula, odds),
        log_chance=info.log_chance,
        log_chance_broken=info.log_chance_broken,
    )


def _surprisal_bits(count: int, n: int) -> float:
    """Return ``-log2(count / 2**n)`` without overflow, and without cancellation near 0."""
    if count == 0:
        return math.inf
    rest = 2**n - count
    return n - math.log2(count) if rest >= count else -math.log1p(-(rest / 2**n)) / LN2


def _lean_bits(lean: float) -> float:
    """Return ``1 - h2((1 + lean) / 2)``, which is of the order of ``lean**2`` near 0."""
    if abs(lean) == 1.0:
        return 1.0
    return (lean * math.atanh(lean) + 0.5 * math.log1p(-lean * lean)) / LN2


def _support(formula: Formula, circuit: Circuit, true_counts: Mapping[str, int]) -> tuple[str, ...]:
    """Return the events whose value can make a difference to the formula.

    Three tests, from cheap to dear: an event that is true in other than half of the models matters;
    so does one whose flip turns some model into none; for the rest, both cofactors are compared.
    """
    count = circuit.count()
    matters = {name for name, true in true_counts.items() if 2 * true != count}
    unsure = [name for name in circuit.names if name not in matters]
    if count == 2 ** len(circuit.names):
        return ()
    matters |= _flip_breaks_a_model(circuit, unsure)
    matters |= {name for name in unsure if name not in matters and _cofactors_differ(formula, name)}
    return tuple(name for name in circuit.names if name in matters)


_N_WITNESSES = 4
"""How many models are tried: parity-like formulas, for which counts say nothing, need one."""


def _flip_breaks_a_model(circuit: Circuit, names: Sequence[str]) -> set[str]:
    if not names:
        return set()
    n = len(circuit.names)
    rng = generator(0, "logic", "support")
    weights = torch.from_numpy(rng.normal(size=(2, _N_WITNESSES, n)))
    _, models = circuit.most_probable(weights[0], weights[1])
    columns = torch.tensor([circuit.names.index(name) for name in names])
    breaks = torch.zeros(len(names), dtype=torch.bool)
    for model in models:
        if bool(breaks.all()):
            break
        rows = torch.where(model, math.inf, -math.inf).to(torch.float64).repeat(len(names), 1)
        rows[torch.arange(len(names)), columns] *= -1.0
        breaks |= circuit.log_prob(rows) == -math.inf
    return {name for name, broke in zip(names, breaks.tolist(), strict=True) if broke}


def _cofactors_differ(formula: Formula, name: str) -> bool:
    def fix(value: Formula) -> Formula:
        return substitute(formula, lambda event: value if event.key == name else event)

    return compile(Formula("xor", (fix(TRUE), fix(FALSE)))).is_satisfiable
