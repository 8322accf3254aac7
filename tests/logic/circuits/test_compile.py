import itertools
import math
import random

import numpy as np
import pytest
import torch
from assignments import EXTREME_ODDS, assert_agrees, value_and_slope
from formulas import random_cnf, random_formula, suite_theory, truth_table
from hypothesis import given
from hypothesis import strategies as st

import likely.logic.circuits.compile as compiling
from likely.errors import BudgetError, InputError
from likely.logic.circuits.compile import compile
from likely.logic.formula import Domain, Formula, count_of, substitute, var

NAMES = [f"v{i}" for i in range(10)]
seeds = st.integers(0, 2**32)


def random_case(seed, *, most=6, depth=4):
    rng = random.Random(seed)
    names = NAMES[: rng.randint(1, most)]
    return random_formula(rng, names, depth=rng.randint(1, depth)), names, rng


@given(seeds)
def test_any_formula_has_the_value_and_slope_of_enumeration(seed):
    formula, names, rng = random_case(seed)
    circuit, table = compile(formula, names=names), truth_table(formula, names)
    scale = rng.choice([1, 10, 300])
    for log_odds in (
        [rng.gauss(0, scale) for _ in names],
        [rng.choice(EXTREME_ODDS) for _ in names],
    ):
        assert_agrees(*value_and_slope(circuit.log_prob, log_odds), table, log_odds)


@pytest.mark.parametrize("seed", range(6))
def test_ten_variables_agree_with_enumeration(seed):
    rng = random.Random(seed)
    formula = random_formula(rng, NAMES, depth=4) & random_cnf(9, 1, seed=seed)[0]
    log_odds = [rng.gauss(0, 2) for _ in NAMES]
    circuit = compile(formula, names=NAMES)
    table = truth_table(formula, NAMES)
    assert_agrees(*value_and_slope(circuit.log_prob, log_odds), table, log_odds)
    single = torch.tensor([log_odds])
    double = circuit.log_prob(single.double())
    torch.testing.assert_close(circuit.log_prob(single).double(), double, rtol=1e-5, atol=1e-5)


@given(seeds, seeds)
def test_laws_of_logic_change_no_probability(first_seed, second_seed):
    first, second = random_case(first_seed)[0], random_case(second_seed)[0]
    log_odds = torch.tensor([[random.Random(first_seed + i).gauss(0, 3) for i in range(6)]])

    def prob(formula):
        value = compile(formula, names=NAMES[:6]).log_prob(log_odds.double())
        return pytest.approx(math.exp(value), abs=1e-13)

    assert prob(first) == prob(~~first).expected
    assert prob(first & first & second) == prob(second & first).expected
    assert prob(~(first | second)) == prob(~first & ~second).expected
    assert prob(first ^ second) == prob(~first.iff(second)).expected
    assert prob(first) == 1.0 - prob(~first).expected
    union = prob(first).expected + prob(second).expected - prob(first & second).expected
    assert prob(first | second) == union


@given(seeds)
def test_names_and_the_order_of_columns_change_nothing(seed):
    formula, names, rng = random_case(seed)
    log_odds = torch.tensor([[rng.gauss(0, 3) for _ in names]]).double()
    shuffled = rng.sample(range(len(names)), len(names))
    renamed = substitute(formula, lambda leaf: var("event", leaf.name))
    for other, columns in (
        (formula, [names[i] for i in shuffled]),
        (renamed, [f"event({names[i]})" for i in shuffled]),
    ):
        torch.testing.assert_close(
            compile(other, names=columns).log_prob(log_odds[:, shuffled]),
            compile(formula, names=names).log_prob(log_odds),
            rtol=0,
            atol=1e-12,
        )


@given(seeds)
def test_a_probability_is_linear_in_each_probability(seed):
    formula, names, rng = random_case(seed)
    circuit = compile(formula, names=names)
    probs = torch.tensor([rng.random() for _ in names]).double()
    moved = probs.repeat(3, 1)
    moved[:, rng.randrange(len(names))] = torch.tensor([0.0, 0.25, 1.0]).double()
    low, quarter, high = circuit.log_prob(torch.logit(moved)).exp().tolist()
    assert quarter == pytest.approx(0.75 * low + 0.25 * high, abs=1e-14)


def test_components_apart_are_the_formula_together(monkeypatch):
    texts = ["a1 -> a2 & a3", "b1 ^ b2", "exactly_one(c1, !c2, c3)", "d1", "odd(e1, e2, e3)"]
    circuits = [compile(text) for text in texts]
    whole = compile(" & ".join(f"({text})" for text in texts))
    assert len(whole.parts) == 5
    log_odds = torch.randn((7, 12), generator=torch.Generator().manual_seed(0)).double()
    columns = [whole.names.index(name) for circuit in circuits for name in circuit.names]
    pieces = log_odds[:, columns].split([len(circuit.names) for circuit in circuits], dim=1)
    apart = sum(circuit.log_prob(x) for circuit, x in zip(circuits, pieces, strict=True))
    torch.testing.assert_close(whole.log_prob(log_odds), apart, rtol=0, atol=1e-13)
    monkeypatch.setattr(compiling, "conjuncts", lambda formula: [formula])
    unsplit = compile(whole.formula)
    assert len(unsplit.parts) == 1
    torch.testing.assert_close(unsplit.log_prob(log_odds), apart, rtol=0, atol=1e-13)
    assert unsplit.count() == whole.count()


GOLDEN = [  # The specification's table: P at (.9, .2, .6, .3, .7), q; dL / d log-odds is p - q.
    ("a", 0.9, (1,)),
    ("a & b", 0.18, (1, 1)),
    ("a & !b", 0.72, (1, 0)),
    ("a | b", 0.92, (0.9783, 0.2174)),
    ("a -> b", 0.28, (0.6429, 0.7143)),
    ("a <-> b", 0.26, (0.6923, 0.6923)),
    ("a ^ b", 0.74, (0.973, 0.027)),
    ("!(a & b)", 0.82, (0.878, 0.0244)),
    ("a & b & !c & !d", 0.0504, (1, 1, 0, 0)),
    ("(a <-> b) & (c <-> d)", 0.1196, (0.6923, 0.6923, 0.3913, 0.3913)),
    ("(a <-> b) & (c <-> d) & (a ^ c)", 0.0648, (0.7778, 0.7778, 0.2222, 0.2222)),
    ("exactly_one(a, b, c, d)", 0.2504, (0.8051, 0.0224, 0.1342, 0.0383)),
    ("at_most_one(a, b, c, d)", 0.2728, (0.739, 0.0205, 0.1232, 0.0352)),
    ("at_least_one(a, b, c, d)", 0.9776, (0.9206, 0.2046, 0.6137, 0.3069)),
    ("(a -> b) & (b -> c)", 0.2, (0.54, 0.6, 0.84)),
    ("atleast(2, a, b, c)", 0.624, (0.9808, 0.3077, 0.8846)),
    ("all_equal(a, b, c, d, e)", 0.0294, (0.7714,) * 5),
]


@pytest.mark.parametrize(("text", "prob", "posterior"), GOLDEN, ids=[row[0] for row in GOLDEN])
def test_the_golden_table(text, prob, posterior):
    circuit = compile(text)
    probs = np.array([0.9, 0.2, 0.6, 0.3, 0.7])[: len(circuit.names)]
    value, slope = value_and_slope(circuit.log_prob, np.log(probs / (1 - probs)))
    assert math.exp(value) == pytest.approx(prob, abs=1e-12)
    assert probs + slope == pytest.approx(posterior, abs=5e-5)


@pytest.mark.parametrize(
    ("text", "method"),
    [
        ("a & !b", "and x2"),
        ("a -> b", "or"),
        ("(a <-> b) & (c ^ d)", "all_equal x2"),
        ("exactly_one(a, b, c)", "exactly_one"),
        ("atleast(2, a, b, c)", "card"),
        ("odd(a, b, c)", "xor"),
        ("(a -> b) & (b -> c)", "table"),
        ("true", "constant"),
    ],
)
def test_each_shape_gets_its_method(text, method):
    assert compile(text).method == method


def test_long_theories_are_compiled_to_diagrams_and_short_lists_to_tables():
    formula, names = suite_theory(20)
    assert compile(formula).method == "bdd"
    assert compile(formula).names == tuple(names)
    assert compile(suite_theory(10)[0]).method == "table"
    many_models = "(a -> b & c) & (d | e | f | g) & (g -> a | h | i) & (i | j | k)"
    assert compile(many_models).method == "bdd"


def test_items_of_one_shape_share_one_kernel():
    texts = ["(a -> b) & (b -> c)", "(x(n1) -> y(n1)) & (y(n1) -> z(n2))"]
    kernels = [compile(text).parts[0].unit for text in texts]
    assert kernels[0] is kernels[1]
    both = compile(" & ".join(f"({text})" for text in texts))
    assert [part.n_components for part in both.parts] == [2]


def test_shapes_compiled_first_under_other_names_keep_their_own_columns():
    first, second = compile("(p | q) & (q -> r)"), compile("(b | a) & (a -> c)", names="abc")
    log_odds = torch.tensor([[1.0, -2.0, 0.5]]).double()
    assert torch.equal(second.log_prob(log_odds), first.log_prob(log_odds[:, [1, 0, 2]]))


def test_an_irrelevant_variable_changes_no_probability_and_has_no_slope():
    circuit = compile("a & (b | !b)", names=["z", "a", "b"])
    value, slope = value_and_slope(circuit.log_prob, np.array([3.0, 0.0, -1.0]))
    assert value == pytest.approx(math.log(0.5))
    assert slope.tolist() == [0.0, 0.5, 0.0]
    assert circuit.counts() == (2, 4, 2)


def test_a_thousand_events_have_finite_losses():
    events = [var(f"v{i}") for i in range(1000)]
    log_odds = torch.randn((2, 1000), generator=torch.Generator().manual_seed(0)).double()
    log_odds.requires_grad_()
    chain = tuple(first >> second for first, second in itertools.pairwise(events))
    for formula in (
        count_of(*events, low=1, high=1),
        Formula("and", chain),
        Formula("all_equal", tuple(events)),
    ):
        value = compile(formula).log_prob(log_odds)
        (slope,) = torch.autograd.grad(value.sum(), log_odds)
        assert torch.isfinite(value).all()
        assert (slope.abs() <= 1).all()


def test_too_large_a_formula_is_refused_with_what_to_do():
    formula, _ = random_cnf(20, 2, seed=0)
    with pytest.raises(BudgetError, match="larger budget"):
        compile(formula, budget=100)


def test_diagrams_over_budget_become_sentential_ones(monkeypatch):
    formula, names = random_cnf(13, 1, seed=1)
    log_odds = torch.randn((5, 13), generator=torch.Generator().manual_seed(0)).double()
    expected = compile(formula, names=names).log_prob(log_odds)

    def refuse(formula, **_):
        raise BudgetError("too large")

    monkeypatch.setattr(compiling, "build_bdd", refuse)
    circuit = compile(formula, names=names, budget=199_999)
    assert "sdd" in circuit.method
    torch.testing.assert_close(circuit.log_prob(log_odds), expected, rtol=0, atol=1e-12)


def test_names_that_do_not_fit_are_refused():
    with pytest.raises(InputError, match="without \\['b'\\]"):
        compile("a & b", names=["a"])
    with pytest.raises(InputError, match="no event twice"):
        compile("a", names=["a", "a"])
    with pytest.raises(InputError, match="ground it"):
        compile(Formula("and", (var("a"),), domain=Domain(variables=("r",), source="rows")))
