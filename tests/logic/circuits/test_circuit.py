import math
import pickle
import random

import numpy as np
import pytest
import torch
from assignments import log_sum, model_weights
from formulas import random_formula, true_counts, truth_table

from likely.errors import InputError, NumericalError, ShapeError
from likely.logic.circuits import circuit as circuit_module
from likely.logic.circuits.bdd import build_bdd
from likely.logic.circuits.circuit import Circuit
from likely.logic.circuits.compile import compile
from likely.logic.circuits.graph import check_graph

NAMES = [f"v{i}" for i in range(6)]


def random_case(seed):
    """A compiled formula, its truth table, and random weights of literals for five items."""
    rng = random.Random(seed)
    names = NAMES[: rng.randint(1, 6)]
    formula = random_formula(rng, names, depth=rng.randint(1, 4))
    weight = lambda: rng.choice([*[rng.gauss(0, 3) for _ in range(5)], -math.inf])  # noqa: E731
    weights = [torch.tensor([[weight() for _ in names] for _ in range(5)]).double() for _ in "pn"]
    return compile(formula, names=names), truth_table(formula, names), *weights


@pytest.mark.parametrize("seed", range(40))
def test_the_log_weight_is_the_sum_over_models(seed):
    circuit, table, log_pos, log_neg = random_case(seed)
    found = circuit.log_weight(log_pos, log_neg)
    for item in range(5):
        _, weights = model_weights(table, log_pos[item].numpy(), log_neg[item].numpy())
        assert float(found[item]) == pytest.approx(log_sum(weights), abs=1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_the_slope_of_a_log_weight_is_the_share_of_the_models_with_the_literal(seed):
    circuit, table, log_pos, log_neg = random_case(seed)
    log_pos.requires_grad_()
    log_neg.requires_grad_()
    found = circuit.log_weight(log_pos, log_neg)
    found[torch.isfinite(found)].sum().backward()
    for item in range(5):
        pos, neg = log_pos[item].detach().numpy(), log_neg[item].detach().numpy()
        models, weights = model_weights(table, pos, neg)
        share = np.zeros(len(pos))
        if log_sum(weights) > -np.inf:
            share = np.exp(weights - log_sum(weights)) @ models
            np.testing.assert_allclose(log_neg.grad[item], 1 - share, atol=1e-12)
        np.testing.assert_allclose(log_pos.grad[item], share, atol=1e-12)


@pytest.mark.parametrize("seed", range(40))
def test_best_models_and_counts_are_those_of_all_assignments(seed):
    circuit, table, log_pos, log_neg = random_case(seed)
    n = len(circuit.names)
    assert (circuit.count(), circuit.counts()) == true_counts(table, n)
    assert circuit.is_satisfiable == any(table)
    assert circuit.is_tautology == all(table)
    values, models = circuit.most_probable(log_pos, log_neg)
    best, found = circuit.top(4, log_pos, log_neg)
    assert models.shape == (5, n)
    assert found.shape == (5, 4, n)
    for item in range(5):
        pos, neg = log_pos[item].numpy(), log_neg[item].numpy()
        _, weights = model_weights(table, pos, neg)
        expected = np.sort(np.concatenate([weights, np.full(4, -np.inf)]))[::-1][:4]
        np.testing.assert_allclose(best[item], expected, atol=1e-12)
        assert float(values[item]) == pytest.approx(expected[0], abs=1e-12)
        if expected[0] > -np.inf:
            model = models[item].numpy()
            assert np.where(model, pos, neg).sum() == pytest.approx(expected[0], abs=1e-12)
            assert table[int((model * (1 << np.arange(n))).sum())]


@pytest.mark.parametrize("seed", range(20))
def test_the_graph_of_a_circuit_is_the_formula_again(seed):
    circuit, table, log_pos, log_neg = random_case(seed)
    check_graph(circuit.graph)
    assert circuit.n_nodes == circuit.graph.n_inner
    other = Circuit.from_graph(circuit.graph, circuit.names)
    assert (other.count(), other.is_tautology) == (sum(table), all(table))
    assert other.is_satisfiable == any(table)
    torch.testing.assert_close(
        other.log_weight(log_pos, log_neg), circuit.log_weight(log_pos, log_neg), rtol=0, atol=1e-12
    )


def test_the_order_of_the_batch_and_its_division_change_nothing(monkeypatch):
    circuit = compile("(a -> b & c) & exactly_one(a, c, d) & (e <-> f) & (g | h | !i)")
    log_odds = torch.randn((50, 9), generator=torch.Generator().manual_seed(0)).double()
    weights = -log_odds, log_odds
    ask = lambda: [  # noqa: E731
        circuit.log_prob(log_odds), *circuit.most_probable(*weights), *circuit.top(3, *weights)
    ]  # fmt: skip
    whole = ask()
    monkeypatch.setattr(circuit_module, "CHUNK_NUMBERS", 300)
    monkeypatch.setattr(circuit_module, "CHUNK_ROWS", 3)
    for one, other in zip(whole, ask(), strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-13)
    turned = circuit.log_prob(log_odds.flip(0)).flip(0)
    torch.testing.assert_close(turned, whole[0], rtol=0, atol=1e-13)


def test_an_empty_batch_gives_an_empty_answer():
    circuit = compile("a & (b | c)")
    nothing = torch.zeros((0, 3))
    assert circuit.log_prob(nothing).shape == (0,)
    assert circuit.most_probable(nothing, nothing)[1].shape == (0, 3)
    assert circuit.top(2, nothing, nothing)[1].shape == (0, 2, 3)


def test_one_input_may_feed_several_circuits():
    log_odds = torch.randn((4, 3), generator=torch.Generator().manual_seed(0)).double()
    log_odds.requires_grad_()
    circuits = [compile(text, names=["a", "b", "c"]) for text in ("a | b", "a <-> c", "b & c")]
    total = sum(weight * circuit.log_prob(log_odds) for weight, circuit in enumerate(circuits, 1))
    (together,) = torch.autograd.grad(total.sum(), log_odds)
    apart = sum(
        weight * torch.autograd.grad(circuit.log_prob(log_odds).sum(), log_odds)[0]
        for weight, circuit in enumerate(circuits, 1)
    )
    torch.testing.assert_close(together, apart, rtol=0, atol=1e-15)


def test_slopes_pass_torchs_own_check_through_further_operations():
    circuit = compile("(a -> b) & (b ^ c) & (d | e | a)")
    inputs = torch.randn((3, 5), generator=torch.Generator().manual_seed(0)).double()
    inputs.requires_grad_()
    assert torch.autograd.gradcheck(lambda x: circuit.log_prob(2 * x).exp(), (inputs,))
    weights = (inputs, -inputs.detach().clone().requires_grad_())
    assert torch.autograd.gradcheck(circuit.log_weight, weights)


def test_where_a_formula_cannot_hold_its_slope_is_zero():
    log_odds = torch.tensor([[math.inf, -math.inf], [1.0, 0.5]]).double().requires_grad_()
    value = compile("a -> b").log_prob(log_odds)
    value.sum().backward()
    assert value[0] == -math.inf
    assert log_odds.grad[0].tolist() == [0.0, 0.0]
    assert (log_odds.grad[1] != 0).all()


@pytest.mark.parametrize("text", ["a | !a", "a & !a", "true", "false"])
def test_constant_formulas_are_certain_or_impossible(text):
    circuit = compile(text, names=["a", "b"])
    log_odds = torch.randn((3, 2), generator=torch.Generator().manual_seed(0)).requires_grad_()
    value = circuit.log_prob(log_odds)
    is_true = text in ("a | !a", "true")
    assert value.tolist() == [0.0 if is_true else -math.inf] * 3
    value.sum().backward()
    assert log_odds.grad.abs().sum() == 0.0
    assert circuit.method == "constant"
    assert circuit.count() == (4 if is_true else 0)
    assert circuit.counts() == ((2, 2) if is_true else (0, 0))
    assert (circuit.is_tautology, circuit.is_satisfiable) == (is_true, is_true)


def test_a_thousand_variables_are_counted_and_maximised_exactly():
    circuit = compile(f"exactly_one({', '.join(f'v{i}' for i in range(1000))})")
    assert circuit.count() == 1000
    assert set(circuit.counts()) == {1}
    log_pos = torch.arange(1000.0).double()[None]
    value, model = circuit.most_probable(log_pos, torch.zeros_like(log_pos))
    assert value.tolist() == [999.0]
    assert model[0].nonzero().tolist() == [[999]]


def test_what_cannot_be_evaluated_is_refused_by_name():
    circuit = compile("alpha & beta")
    good = torch.zeros((1, 2))
    with pytest.raises(ShapeError, match="'alpha', 'beta'"):
        circuit.log_prob(torch.zeros((1, 3)))
    with pytest.raises(ShapeError, match="float64 or float32"):
        circuit.log_prob(good.half())
    with pytest.raises(NumericalError, match="'beta'"):
        circuit.log_prob(torch.tensor([[0.0, math.nan]]))
    with pytest.raises(NumericalError, match="below"):
        circuit.log_weight(good, good + math.inf)
    with pytest.raises(ShapeError, match="one shape"):
        circuit.most_probable(good, good.double())
    with pytest.raises(InputError, match="k >= 1"):
        circuit.top(0, good, good)


def test_a_graph_needs_a_name_for_each_variable():
    bdd, root = build_bdd(compile("a | b").formula)
    with pytest.raises(ShapeError, match="each of its 2"):
        Circuit.from_graph(bdd.to_graph(root), ("a", "a"))


def test_circuits_travel_between_processes():
    circuit = compile("(a -> b & c) & exactly_one(a, c, d) & (e <-> f) & atleast(2, g, h, i)")
    log_odds = torch.randn((3, 9), generator=torch.Generator().manual_seed(0)).double()
    copy = pickle.loads(pickle.dumps(circuit))
    assert torch.equal(copy.log_prob(log_odds), circuit.log_prob(log_odds))
    assert copy.counts() == circuit.counts()
