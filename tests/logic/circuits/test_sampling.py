import math

import numpy as np
import pytest
import torch
from assignments import value_and_slope

from likely.errors import InputError, NumericalError, ShapeError
from likely.logic.circuits.compile import compile
from likely.logic.circuits.sampling import estimate_log_prob
from likely.logic.parser import parse

# Intervals at this level miss once in ten thousand; the seeds below are fixed all the same.
LEVEL = 1 - 1e-4


@pytest.mark.parametrize(
    "text", ["a & b", "exactly_one(a, b, c)", "(a -> b) & (b -> c) & (c ^ d)", "odd(a, b, c, d)"]
)
def test_intervals_hold_the_exact_value_and_slope(text):
    formula = parse(text) if "odd" not in text else compile(text).formula
    circuit = compile(formula)
    log_odds = np.linspace(-1.5, 2.0, len(circuit.names))
    value, slope = value_and_slope(circuit.log_prob, log_odds)
    found = estimate_log_prob(formula, log_odds, n_samples=20_000, level=LEVEL)
    assert found.log_prob.low <= value <= found.log_prob.high
    assert found.log_prob.method == "monte-carlo"
    assert found.log_prob.unit == "nats"
    assert (found.gradient_low <= slope).all()
    assert (slope <= found.gradient_high).all()
    assert (found.gradient_low <= found.gradient).all()
    assert (found.gradient <= found.gradient_high).all()


def test_the_interval_shrinks_with_the_square_root_of_the_samples():
    log_odds = np.array([0.5, -0.5])
    widths = []
    for n_samples in (1_000, 100_000):
        log_prob = estimate_log_prob(parse("a | b"), log_odds, n_samples=n_samples).log_prob
        widths.append(math.exp(log_prob.high) - math.exp(log_prob.low))
    assert widths[0] / widths[1] == pytest.approx(10, rel=0.2)


def test_without_a_hit_the_interval_says_how_rare_it_may_be():
    found = estimate_log_prob(parse("a & !a"), np.array([0.0]), n_samples=1_000)
    assert found.log_prob.value == found.log_prob.low == -math.inf
    assert found.log_prob.high == pytest.approx(math.log(3.682e-3), abs=1e-3)
    assert found.gradient is found.gradient_low is found.gradient_high is None


def test_with_nothing_but_hits_the_interval_ends_at_certainty():
    found = estimate_log_prob(parse("a | b"), np.array([math.inf, -math.inf]), n_samples=1_000)
    assert found.log_prob.value == found.log_prob.high == 0.0
    assert found.gradient.tolist() == [0.0, 0.0]


def test_a_seed_names_its_samples_and_blocks_join():
    log_odds = np.zeros(3)
    draw = lambda seed: estimate_log_prob(  # noqa: E731
        parse("exactly_one(a, b, c)"), log_odds, n_samples=3_000_000, seed=seed
    )
    first, again, other = draw(0), draw(0), draw(1)
    assert first.log_prob == again.log_prob
    assert first.log_prob.value != other.log_prob.value
    assert first.log_prob.value == pytest.approx(math.log(3 / 8), abs=0.005)


def test_extra_names_are_free_events():
    found = estimate_log_prob(parse("b"), np.array([1.0, 0.0]), names=["a", "b"], n_samples=50_000)
    assert found.gradient[0] == pytest.approx(0.0, abs=0.02)
    assert found.gradient[1] == pytest.approx(0.5)


def test_what_cannot_be_sampled_is_refused():
    formula = parse("a & b")
    with pytest.raises(InputError, match="'b'"):
        estimate_log_prob(formula, np.zeros(1), names=["a"])
    with pytest.raises(ShapeError, match="2 events"):
        estimate_log_prob(formula, np.zeros(3))
    with pytest.raises(NumericalError, match="NaN"):
        estimate_log_prob(formula, np.array([0.0, math.nan]))
    with pytest.raises(InputError, match="n_samples"):
        estimate_log_prob(formula, np.zeros(2), n_samples=0)


def test_sampling_agrees_with_a_diagram_of_many_variables():
    text = " & ".join(f"(v{i} | !v{i + 1} | v{i + 2})" for i in range(18))
    circuit = compile(text)
    log_odds = torch.linspace(-1, 1, len(circuit.names)).double()
    exact = float(circuit.log_prob(log_odds[None]))
    found = estimate_log_prob(circuit.formula, log_odds.numpy(), level=LEVEL)
    assert found.log_prob.low <= exact <= found.log_prob.high


def test_a_constant_needs_no_event():
    found = estimate_log_prob(parse("true"), np.zeros(0), n_samples=10)
    assert found.log_prob.value == 0.0
    assert found.gradient.shape == (0,)
