"""The shape of the loss: against many digits, its symmetry, and where numbers nearly cancel."""

import math

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from spb_oracle import shape

from likely.errors import InputError
from likely.rare.loss.shape import asymmetry, log_relative, relative

ALPHAS = [0.0, 0.3, 0.5, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0, 7.25, 50.0]
NEAR = [base + side * step for base in (1.0, 2.0) for side in (-1, 1) for step in (1e-9, 2.3e-16)]
DELTAS = [1e-300, 1e-12, 1e-4, 0.0099, 0.3, 1.0, 2.0, 9.2, 300.0]


@pytest.mark.parametrize("alpha", ALPHAS + NEAR)
def test_the_shape_has_all_its_digits_at_every_alpha(alpha):
    for delta in (sign * size for size in DELTAS for sign in (-1.0, 1.0)):
        with mp.workdps(1000 if abs(delta) < 1e-100 else 250):
            expected = float(mp.log(shape(delta, alpha)))
        assert log_relative(delta, alpha=alpha) == pytest.approx(expected, rel=2e-15, abs=2e-15)


@pytest.mark.parametrize("alpha", [0.0, 1.0, 1.5, 2.0, 4.0])
def test_series_and_closed_form_meet(alpha):
    # The nodes are 1 apart where the one gives way to the other.
    switch = 1.0 / max(1.0, abs(1.0 - alpha), abs(2.0 - alpha))
    for delta in switch * (1.0 + np.array([-1e-15, 0.0, 1e-15, -1e-3, 1e-3])):
        for signed in (float(delta), -float(delta)):
            with mp.workdps(40):
                expected = float(shape(signed, alpha))
            assert relative(signed, alpha=alpha) == pytest.approx(expected, rel=3e-15, abs=0.0)


def test_an_error_of_five_times_costs_what_the_specification_says():
    alphas = np.array([0.5, 1.0, 1.5, 2.0, 3.0])
    expected = [4.3147573, 2.3905621, 1.3665631, 0.80943791, 0.32]
    assert relative(math.log(5.0), alpha=alphas) == pytest.approx(expected, rel=5e-8, abs=0.0)


@given(st.floats(0.0, 3.0), st.floats(1e-6, 60.0))
def test_under_at_alpha_is_over_at_three_minus_alpha(alpha, delta):
    under, over = relative(-delta, alpha=alpha), relative(delta, alpha=3.0 - alpha)
    assert under == pytest.approx(over, rel=1e-14, abs=0.0)


@pytest.mark.parametrize(
    ("alpha", "expected"),
    [
        (0.0, (0.25, 0.01, 1e-4)),
        (1.0, (0.629, 0.209, 0.0383)),
        (1.5, (1.0, 1.0, 1.0)),
        (2.0, (1.589, 4.775, 26.1)),
        (2.5, (2.522, 22.3, 571.0)),
        (3.0, (4.0, 100.0, 1e4)),
    ],
)
def test_ratio_of_under_to_over_is_that_of_the_specification(alpha, expected):
    assert asymmetry(alpha, np.array([2.0, 10.0, 100.0])) == pytest.approx(
        expected, rel=3e-3, abs=0.0
    )


@given(st.floats(1.0001, 1e6))
def test_three_halves_treats_both_sides_exactly_alike(factor):
    assert asymmetry(1.5, factor) == 1.0


@given(st.floats(1.01, 1e6), st.floats(0.0, 3.0), st.floats(0.01, 1.0))
def test_a_larger_alpha_always_makes_underestimates_dearer(factor, alpha, more):
    assert asymmetry(alpha + more, factor) > asymmetry(alpha, factor)


def test_no_error_has_no_side():
    assert asymmetry(2.5, 1.0) == 1.0


@pytest.mark.parametrize("alpha", ALPHAS)
def test_small_errors_cost_half_the_log_squared_error_at_every_alpha(alpha):
    delta = 1e-5
    cubic = (0.5 - alpha / 3.0) * delta**3
    assert relative(delta, alpha=alpha) == pytest.approx(0.5 * delta**2 + cubic, rel=1e-6, abs=0.0)
    assert (
        relative(delta, alpha=alpha) != pytest.approx(0.5 * delta**2, rel=1e-7, abs=0.0)
        or alpha == 1.5
    )


@pytest.mark.parametrize("alpha", [0.0, 0.5, 0.999])
def test_a_zero_has_a_finite_price_below_alpha_one(alpha):
    limit = 1.0 / ((1.0 - alpha) * (2.0 - alpha))
    assert relative(-math.inf, alpha=alpha) == pytest.approx(limit, rel=1e-15, abs=0.0)
    far = -60.0 / (1.0 - alpha)
    assert relative(far, alpha=alpha) == pytest.approx(limit, rel=1e-12, abs=0.0)
    assert relative(math.inf, alpha=3.0 - alpha) == pytest.approx(limit, rel=1e-12, abs=0.0)


@pytest.mark.parametrize("alpha", [1.0, 1.5, 3.0])
def test_a_zero_has_no_finite_price_from_alpha_one_on(alpha):
    assert relative(-math.inf, alpha=alpha) == math.inf
    assert relative(math.inf, alpha=3.0 - alpha) == math.inf


@given(st.floats(-700.0, 700.0), st.floats(0.0, 20.0))
def test_only_no_error_costs_nothing(delta, alpha):
    log_cost = log_relative(delta, alpha=alpha)
    assert (log_cost == -math.inf) == (delta == 0.0)
    assert log_cost < math.inf


def test_arguments_broadcast_and_floats_stay_floats():
    deltas, alphas = np.array([[-1.0], [2.0]]), np.array([0.0, 1.0, 1.5])
    table = relative(deltas, alpha=alphas)
    assert table.shape == (2, 3)
    assert table[1, 2] == relative(2.0, alpha=1.5)
    assert type(relative(2.0, alpha=1.5)) is float
    assert relative(np.array(2.0), alpha=1.5).shape == ()


def test_what_is_no_number_is_refused():
    with pytest.raises(InputError, match="a delta and a finite alpha"):
        relative(math.nan, alpha=1.0)
    with pytest.raises(InputError, match="a delta and a finite alpha"):
        relative(1.0, alpha=math.inf)
    with pytest.raises(InputError, match="factors of at least 1"):
        asymmetry(1.0, 0.5)
