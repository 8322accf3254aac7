"""What must not depend on the device; runs where there is a CUDA device."""

import numpy as np
import pytest
import torch

import likely
from likely import logic
from likely.core.streams import generator
from likely.logic.circuits.compile import compile
from likely.logic.learning import ConstraintLoss

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device"),
]

SHAPES = [
    "a & !b & c",
    "a | b | !c",
    "all_equal(a, b, c, d)",
    "a ^ b ^ c",
    "exactly_one(a, b, c, d, e)",
    "between(1, 3, a, b, c, d, e)",
    "(a <-> b) & (c <-> d) & (a ^ c)",
    "(a | b | c) & (b -> d) & (c ^ e | f) & (f <-> a) & (d | e | !f)",
]


def pairs(n):
    equal = " & ".join(f"(v{i} <-> v{i + 1})" for i in range(0, n, 2))
    apart = " & ".join(f"(v{i} ^ v{i + 2})" for i in range(0, n - 2, 2))
    return f"{equal} & {apart}"


@pytest.mark.filterwarnings("ignore::likely.LikelyWarning")
@pytest.mark.parametrize("text", [*SHAPES, pairs(20)])
@pytest.mark.parametrize(("dtype", "tolerance"), [(torch.float64, 1e-12), (torch.float32, 1e-4)])
def test_a_circuit_gives_the_same_on_both_devices(text, dtype, tolerance):
    circuit = compile(text)
    rng = generator(0, "gpu", text)
    odds = torch.from_numpy(3.0 * rng.standard_normal((500, len(circuit.names)))).to(dtype)
    odds[0, 0], odds[1, 0] = torch.inf, -torch.inf
    here, there = odds.clone().requires_grad_(), odds.cuda().requires_grad_()
    value, other = circuit.log_prob(here), circuit.log_prob(there)
    assert other.device.type == "cuda"
    torch.testing.assert_close(other.cpu(), value, rtol=tolerance, atol=tolerance)
    finite = torch.isfinite(value)
    value[finite].sum().backward()
    other[finite.cuda()].sum().backward()
    torch.testing.assert_close(there.grad.cpu(), here.grad, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("text", ["(a <-> b) & (c <-> d)", pairs(20)])
def test_best_models_are_the_same_on_both_devices(text):
    circuit = compile(text)
    odds = torch.from_numpy(generator(1, "gpu").standard_normal((50, len(circuit.names))))
    pos, neg = torch.nn.functional.logsigmoid(odds), torch.nn.functional.logsigmoid(-odds)
    values, models = circuit.top(4, pos, neg)
    values_there, models_there = circuit.top(4, pos.cuda(), neg.cuda())
    torch.testing.assert_close(values_there.cpu(), values)
    assert torch.equal(models_there.cpu(), models)


def test_a_loss_trains_on_the_device():
    loss = ConstraintLoss("(a -> b) & a").cuda()
    odds = torch.zeros(8, 2, device="cuda", requires_grad=True)
    optimiser = torch.optim.SGD([odds], lr=4.0)
    first = None
    for _ in range(50):
        optimiser.zero_grad()
        value = loss(odds)
        first = float(value.detach()) if first is None else first
        value.backward()
        optimiser.step()
    assert first == pytest.approx(2.0 * np.log(2.0))
    assert float(value.detach()) < 0.2


def test_events_are_the_same_on_both_devices(random_gpt2_folder):
    events = [
        logic.Event(id=f"e{i}", context=context, answers=(answer,))
        for i, (context, answer) in enumerate(
            [("the cat", "sat"), ("the dog", "ran"), ("a", "the")]
        )
    ]
    labels = ["duel", "minp", "identity", "eta", "nucleus", "tail"]
    found = [
        logic.score_events(likely.load(f"hf:{random_gpt2_folder}", device=device), events, labels)
        for device in ("cpu", "cuda")
    ]
    for label in labels:
        np.testing.assert_allclose(found[1].log_odds[label], found[0].log_odds[label], atol=2e-3)
