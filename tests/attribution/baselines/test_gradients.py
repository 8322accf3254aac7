"""Gradient methods against numerical differentiation on a tiny float64 transformer, and O-38."""

import math

import numpy as np
import pytest
from fixtures import random_gpt2, toy_bpe_tokenizer

from likely import attribution
from likely.errors import InputError, NumericalError, UnknownNameError

torch = pytest.importorskip("torch")
pytest.importorskip("captum")

from likely.attribution.baselines.differentiable import Differentiated, differentiate  # noqa: E402
from likely.attribution.baselines.gradients import check_steps  # noqa: E402
from likely.attribution.baselines.method import Task  # noqa: E402
from likely.models.transformers import TransformersModel  # noqa: E402


@pytest.fixture(scope="module")
def model():
    tokenizer = toy_bpe_tokenizer()
    return TransformersModel(random_gpt2(len(tokenizer), seed=3).double(), tokenizer, name="tiny")


@pytest.fixture(scope="module")
def case(model):
    return attribution.frame_case(model, "Answer: two words", " we", positions=[0, 2, 4, 5])


def _function(model, case, **options):
    return Differentiated(
        Task(model=model, case=case, level=0.95, seed=0, settings=None, meter=None, **options)
    )


def test_the_gradient_is_that_of_finite_differences(model, case):
    function = _function(model, case)
    value, gradient = differentiate(function, function.point)
    rng = np.random.default_rng(0)
    step = 1e-6
    for _ in range(12):
        i, j = int(rng.integers(len(case.positions))), int(rng.integers(32))
        moved = torch.cat([function.point, function.point]).clone()
        moved[0, i, j] += step
        moved[1, i, j] -= step
        with torch.no_grad():
            up, down = function(moved).tolist()
        assert float(gradient[0, i, j]) == pytest.approx((up - down) / (2 * step), abs=1e-7)
    assert value == pytest.approx(
        attribution.baseline(model, case, name="deletion").log_response, abs=1e-9
    )


def test_gradient_times_input_is_the_slope_of_shrinking_the_embedding(model, case):
    found = attribution.baseline(model, case, name="gradient_x_input")
    function = _function(model, case)
    step = 1e-6
    for i in range(len(case.positions)):
        scaled = torch.cat([function.point, function.point]).clone()
        scaled[0, i] *= 1 + step
        scaled[1, i] *= 1 - step
        with torch.no_grad():
            up, down = function(scaled).tolist()
        assert found.scores[i] == pytest.approx((up - down) / (2 * step), abs=1e-7)
    assert all(one.is_exact for one in found.estimates)
    assert found.positions == (0, 2, 4, 5)


def test_what_gradients_cost_is_told_forward_and_backward(model, case):
    length = len(case.stem) + len(case.response) - 1
    found = attribution.baseline(model, case, name="gradient_x_input")
    # By ids and by embeddings to compare them, and once more with the gradient.
    assert found.cost.token_evaluations == 3 * length
    assert found.diagnostics["backward_token_evaluations"] == length
    assert abs(found.diagnostics["embedding_gap"]) < 1e-12
    many = attribution.baseline(model, case, name="integrated_gradients", n_steps=7)
    assert many.diagnostics["backward_token_evaluations"] == 7 * length
    assert many.cost.token_evaluations == (2 + 2 + 7) * length


def test_integrated_gradients_add_up_and_say_by_how_much_not(model, case):
    found = attribution.baseline(
        model,
        case,
        name="integrated_gradients",
        n_steps=60,
        from_zero=True,
    )
    function = _function(model, case)
    with torch.no_grad():
        change = float(function(function.point)) - float(function(0.0 * function.point))
    assert found.diagnostics["change"] == pytest.approx(change, abs=1e-9)
    assert found.scores.sum() - change == pytest.approx(
        found.diagnostics["completeness_gap"], abs=1e-9
    )
    assert abs(found.diagnostics["completeness_gap"]) < 1e-3
    assert found.flags == frozenset()
    assert "sum" in found.estimates[0].method
    strict = attribution.baseline(
        model, case, name="integrated_gradients", n_steps=2, gap_limit=1e-9
    )
    assert strict.flags == {"incomplete"}
    assert "flags: incomplete" in strict.summary()


def test_integrated_gradients_are_the_integral_by_another_rule(model, case):
    function = _function(model, case)
    total = torch.zeros_like(function.point)
    n = 150
    for k in range(n):
        total += differentiate(function, function.point * ((k + 0.5) / n))[1] / n
    expected = (total * function.point).sum(dim=-1)[0].numpy()
    found = attribution.baseline(
        model,
        case,
        name="integrated_gradients",
        n_steps=60,
        from_zero=True,
    )
    np.testing.assert_allclose(found.scores, expected, atol=1e-3)


def test_the_line_may_start_from_a_token(model, case):
    own = case.prompt[0]
    found = attribution.baseline(model, case, name="integrated_gradients", token=own, n_steps=20)
    assert found.scores[0] == 0.0  # that token stands there
    replaced = attribution.frame_case(model, case.prompt, case.response, positions=case.positions)
    swap = tuple(own if i in case.positions else t for i, t in enumerate(replaced.prompt))
    other = attribution.baseline(
        model, attribution.frame_case(model, swap, case.response), name="deletion"
    )
    assert found.diagnostics["change"] == pytest.approx(
        found.log_response - other.log_response, abs=1e-9
    )


def test_memory_changes_how_many_points_go_at_once_and_no_score(model, case):
    from likely.core.model import Settings

    found = attribution.baseline(model, case, name="integrated_gradients", n_steps=9)
    few = attribution.baseline(
        model, case, name="integrated_gradients", n_steps=9, settings=Settings(memory=1)
    )
    np.testing.assert_allclose(found.scores, few.scores, atol=1e-6)
    assert few.cost.model_calls > found.cost.model_calls


def _o38(points):
    return torch.nn.functional.logsigmoid(points[:, 0] + 3.0 * points[:, 1])


def test_o38_completeness_is_reported_for_any_rule():
    """Case O-38: f = log sigmoid(x1 + 3 x2) at (2, -1) from 0; captum #1413, #1334."""
    point = torch.tensor([[2.0, -1.0]], dtype=torch.float64)
    start = torch.zeros_like(point)
    found = attribution.integrate_gradients(_o38, point, start, n_steps=50, rule="riemann_middle")
    assert found.change == pytest.approx(-0.62011, abs=5e-6)
    assert found.change == pytest.approx(math.log(0.5) * -1 - math.log1p(math.e), abs=1e-12)
    assert found.attributions[0].tolist() == pytest.approx([1.24023, -1.86035], abs=5e-6)
    assert found.gap == pytest.approx(float(found.attributions.sum()) - found.change, abs=1e-15)
    assert 0.0 < abs(found.gap) < 1e-4
    coarse = attribution.integrate_gradients(_o38, point, start, n_steps=2, rule="riemann_middle")
    # Of log sigmoid(-t) at the middles of two halves.
    slope = (1.0 / (1.0 + math.exp(-0.25)) + 1.0 / (1.0 + math.exp(-0.75))) / 2.0
    assert coarse.attributions[0].tolist() == pytest.approx([2 * slope, -3 * slope], abs=1e-6)
    assert coarse.share > found.share
    # Exactly integrated, x1 gets -2 and x2 gets 3 times the change along the line.
    fine = attribution.integrate_gradients(_o38, point, start, n_steps=50)
    assert fine.attributions[0].tolist() == pytest.approx(
        [-2 * found.change, 3 * found.change], abs=1e-6
    )


def test_o38_more_steps_can_be_worse_and_the_gap_tells():
    """A kink on the line: the rule with more steps may miss it by more."""
    point = torch.tensor([[1.0]], dtype=torch.float64)

    def kink(x):
        return torch.relu(x[:, 0] - 0.5)

    even, odd = (
        attribution.integrate_gradients(kink, point, 0 * point, n_steps=n, rule="riemann_middle")
        for n in (2, 3)
    )
    assert abs(even.gap) < 1e-7 < 0.1 < abs(odd.gap)
    assert odd.share > 0.05


def test_a_gap_beside_no_change_is_infinite_and_ends_must_be_finite():
    point = torch.tensor([[1.0]], dtype=torch.float64)
    bump = attribution.integrate_gradients(
        lambda x: x[:, 0] ** 3 * (1.0 - x[:, 0]), point, 0 * point, n_steps=1
    )
    assert bump.change == 0.0
    assert bump.gap == pytest.approx(0.25)  # 3 t^2 - 4 t^3 at the middle
    assert bump.share == math.inf
    with pytest.raises(InputError, match="finite"):
        attribution.integrate_gradients(lambda x: x[:, 0].log(), point, 0 * point)
    with pytest.raises(InputError, match="shape"):
        attribution.integrate_gradients(_o38, point, torch.zeros(1, 2, dtype=torch.float64))


def test_a_model_that_reads_embeddings_another_way_is_refused(model, case, monkeypatch):
    embed = TransformersModel.embed
    monkeypatch.setattr(TransformersModel, "embed", lambda self, tokens: 2.0 * embed(self, tokens))
    with pytest.raises(NumericalError, match="of another function"):
        attribution.baseline(model, case, name="gradient_x_input")


def test_options_and_responses_that_cannot_be_used(model, case):
    with pytest.raises(InputError, match="at least 1 steps, got 0"):
        attribution.baseline(model, case, name="integrated_gradients", n_steps=0)
    with pytest.raises(InputError, match="at least 2 steps"):
        attribution.baseline(
            model, case, name="integrated_gradients", n_steps=1, rule="riemann_trapezoid"
        )
    with pytest.raises(UnknownNameError, match="no rule named 'simpson'"):
        check_steps("simpson", 5)
    with pytest.raises(InputError, match="zero or a token, got token=3"):
        attribution.baseline(model, case, name="integrated_gradients", token=3, from_zero=True)
    with pytest.raises(InputError, match="limit"):
        attribution.baseline(model, case, name="integrated_gradients", gap_limit=-1.0)
    with pytest.raises(InputError, match="empty response"):
        attribution.baseline(model, "An", "", name="gradient_x_input")
