"""The loss of one estimate: against its definition in many digits, NMF, and its own laws."""

import itertools
import math
import subprocess
import sys

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.decomposition._nmf import _beta_divergence
from spb_oracle import by_quadrature, closed_form

from likely import rare
from likely.errors import InputError
from likely.rare.loss.pointwise import (
    EPSILON,
    itakura_saito,
    log_spb,
    log_squared_error,
    spb,
    spb_log,
)
from likely.rare.loss.shape import relative

ALPHAS = [0.0, 0.5, 1.0 - 1e-9, 1.0, 1.5, 2.0, 2.0 + 1e-9, 2.5, 3.0, 8.0]
EPSILONS = [0.0, EPSILON, 1e-3]
PROBS = [1e-300, 1e-12, 3e-9, 3.000001e-9, 1e-5, 0.2, 1.0]

prob = st.floats(1e-300, 1.0)
log_prob = st.floats(-3000.0, 0.0)
alphas = st.floats(0.0, 6.0)
shifts = st.sampled_from([0.0, 1e-12, EPSILON, 1e-3])


def digits(*probs):
    """How many digits a difference of these needs where the shift dwarfs them."""
    return 700 if max(probs) < 1e-100 else 80


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0, 1.5, 2.0, 3.0])
@pytest.mark.parametrize("epsilon", [0.0, 1e-3])
def test_closed_form_is_the_integral_that_defines_the_loss(alpha, epsilon):
    for q, p in [(3e-2, 7e-2), (0.5, 0.1), (0.01, 0.9)]:
        integral = by_quadrature(q, p, alpha, epsilon)
        assert float(closed_form(q, p, alpha, epsilon)) == pytest.approx(
            float(integral), rel=1e-9, abs=0.0
        )


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_loss_has_all_its_digits(alpha, epsilon):
    for q, p in itertools.permutations(PROBS, 2):
        with mp.workdps(digits(q, p)):
            exact = closed_form(q, p, alpha, epsilon)
            expected, expected_log = float(exact), float(mp.log(exact))
        assert spb(q, p, alpha=alpha, epsilon=epsilon) == pytest.approx(
            expected, rel=2e-12, abs=0.0
        )
        found = log_spb(math.log(q), math.log(p), alpha=alpha, epsilon=epsilon)
        # The logs of q and p are rounded: 1e-16 of them is 1e-9 of the gap at (3, 3.000001) e-9.
        near = 1e-8 if max(q, p) < 1.1 * min(q, p) else 1e-12
        assert found == pytest.approx(expected_log, abs=near, rel=1e-12)


@pytest.mark.parametrize(("log_q", "log_p"), [(-2000.0, -1995.0), (-800.0, -3000.0)])
@pytest.mark.parametrize("alpha", [0.0, 1.0, 1.5, 2.0, 3.0])
def test_probabilities_below_any_float_have_a_loss(log_q, log_p, alpha):
    with mp.workdps(60):
        exact = mp.log(closed_form(mp.exp(log_q), mp.exp(log_p), alpha, 0))
    found = log_spb(log_q, log_p, alpha=alpha, epsilon=0.0)
    assert found == pytest.approx(float(exact), rel=1e-13, abs=0.0)
    with np.errstate(over="ignore"):
        assert spb_log(log_q, log_p, alpha=alpha, epsilon=0.0) == float(np.exp(found))


def test_examples_of_the_specification():
    assert spb(3e-8, 7e-7, alpha=2.0, epsilon=0.0) == pytest.approx(
        2.192740096238392, rel=1e-14, abs=0.0
    )
    assert itakura_saito(3e-8, 7e-7) == pytest.approx(2.192740096238392, rel=1e-14, abs=0.0)
    assert spb(3e-8, 7e-7, alpha=0.0, epsilon=0.0) == pytest.approx(2.2445e-13, rel=1e-12, abs=0.0)


def test_closed_forms_of_whole_and_half_alphas():
    q, p, shift = 2e-7, 3e-8, EPSILON
    big_q, big_p = q + shift, p + shift
    delta = math.log(big_p / big_q)
    expected = {
        0.0: (p - q) ** 2 / 2.0,
        1.0: big_p - big_q - big_q * delta,
        1.5: math.sqrt(big_q) * 4.0 * (math.cosh(delta / 2.0) - 1.0),
        2.0: big_q / big_p + delta - 1.0,
        3.0: (p - q) ** 2 / (2.0 * big_q * big_p**2),
    }
    for alpha, loss in expected.items():
        assert spb(q, p, alpha=alpha, epsilon=shift) == pytest.approx(loss, rel=1e-9, abs=0.0)


@pytest.mark.parametrize("alpha", [0.0, 0.5, 1.0, 1.5, 2.0, 2.5])
def test_it_is_the_beta_divergence_of_matrix_factorisation(alpha):
    rng = np.random.default_rng(5)
    q, p = np.exp(rng.uniform(-12.0, 0.0, (2, 50)))
    theirs = _beta_divergence(q[None, :], np.ones((1, 1)), p[None, :], beta=2.0 - alpha)
    assert spb(q, p, alpha=alpha, epsilon=0.0).sum() == pytest.approx(theirs, rel=1e-8, abs=0.0)


@pytest.mark.parametrize("alpha", [0.5, 1.0, 1.5, 2.0, 2.5])
@pytest.mark.parametrize("q", [0.01, 3e-7])
def test_the_loss_is_proper_and_the_bare_integral_is_not(alpha, q):
    epsilon = q / 10.0
    grid = q * np.geomspace(1e-2, 1e2, 401)
    expected = q * spb(1.0, grid, alpha=alpha, epsilon=epsilon)
    expected += (1.0 - q) * spb(0.0, grid, alpha=alpha, epsilon=epsilon)
    assert grid[np.argmin(expected)] == pytest.approx(q, rel=1e-9, abs=0.0)

    def bare(y):
        with mp.workdps(30):
            primitive = np.array([float(_primitive(x + epsilon, alpha)) for x in (*grid, y)])
        return np.abs(primitive[:-1] - primitive[-1])

    assert np.argmin(q * bare(1.0) + (1.0 - q) * bare(0.0)) == 0


def _primitive(t, alpha):
    """Of t^(-alpha)."""
    t = mp.mpf(t)
    return mp.log(t) if alpha == 1.0 else t ** (1 - mp.mpf(alpha)) / (1 - mp.mpf(alpha))


@given(prob, prob, alphas, shifts)
def test_an_error_costs_and_the_truth_does_not(q, p, alpha, epsilon):
    assert spb(q, q, alpha=alpha, epsilon=epsilon) == 0.0
    loss = spb(q, p, alpha=alpha, epsilon=epsilon)
    assert loss >= 0.0
    if abs(math.log(p / q)) > 1e-6 and max(p, q) > 1e-20:  # else it may be below any float
        assert loss > 0.0 or alpha > 5.0


@given(log_prob, log_prob, alphas, shifts)
def test_only_the_truth_costs_nothing_in_logs(log_q, log_p, alpha, epsilon):
    log_loss = log_spb(log_q, log_p, alpha=alpha, epsilon=epsilon)
    seen = abs(log_p - log_q) * math.exp(max(log_q, log_p)) > 1e-290 * epsilon
    assert log_loss < math.inf
    if log_q == log_p:
        assert log_loss == -math.inf
    elif seen:
        assert log_loss > -math.inf


@given(prob, st.floats(1.001, 50.0), st.floats(1.001, 50.0), alphas, shifts)
def test_the_further_off_the_dearer(q, once, again, alpha, epsilon):
    for first, second in [(q * once, q * once * again), (q / once, q / once / again)]:
        with np.errstate(over="ignore"):
            near = log_spb(math.log(q), math.log(first), alpha=alpha, epsilon=epsilon)
            far = log_spb(math.log(q), math.log(second), alpha=alpha, epsilon=epsilon)
        assert near <= far


@given(log_prob, log_prob, shifts)
def test_linear_and_log_entries_agree(log_q, log_p, epsilon):
    log_q, log_p = max(log_q, -600.0), max(log_p, -600.0)
    linear = spb(math.exp(log_q), math.exp(log_p), alpha=1.5, epsilon=epsilon)
    logs = spb_log(log_q, log_p, alpha=1.5, epsilon=epsilon)
    exact = abs(log_q - log_p) > 1e-3
    assert linear == pytest.approx(logs, rel=1e-8 if exact else 1.0, abs=1e-300)


@given(prob, prob, st.floats(0.0, 3.0))
def test_without_a_shift_only_the_ratio_counts(q, p, alpha):
    shape = relative(math.log(p) - math.log(q), alpha=alpha)
    log_scaled = log_spb(math.log(q), math.log(p), alpha=alpha, epsilon=0.0)
    with np.errstate(divide="ignore"):
        expected = float(np.log(shape)) + (2.0 - alpha) * math.log(q)
    if abs(math.log(p / q)) > 1e-3 and math.isfinite(expected):
        assert log_scaled == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("alpha", [0.0, 0.5, 0.9, 1.0, 1.5, 1.9, 2.0, 3.0])
def test_zeros_have_their_true_limits_without_a_shift(alpha):
    q = 1e-7
    zero_estimate = spb(q, 0.0, alpha=alpha, epsilon=0.0)
    if alpha < 1.0:
        limit = q ** (2.0 - alpha) / ((1.0 - alpha) * (2.0 - alpha))
        assert zero_estimate == pytest.approx(limit, rel=1e-12, abs=0.0)
        assert spb(q, 1e-300, alpha=0.5 * alpha, epsilon=0.0) == pytest.approx(
            spb(q, 0.0, alpha=0.5 * alpha, epsilon=0.0), rel=1e-9, abs=0.0
        )
    else:
        assert zero_estimate == math.inf
    zero_truth = spb(0.0, q, alpha=alpha, epsilon=0.0)
    if alpha < 2.0:
        assert zero_truth == pytest.approx(q ** (2.0 - alpha) / (2.0 - alpha), rel=1e-12, abs=0.0)
    else:
        assert zero_truth == math.inf
    assert spb(0.0, 0.0, alpha=alpha, epsilon=0.0) == 0.0


@pytest.mark.parametrize("alpha", [0.0, 1.0, 1.5, 2.0, 3.0])
def test_a_shift_makes_zeros_finite_and_continuous(alpha):
    for q, p in [(1e-7, 0.0), (0.0, 1e-7)]:
        at_zero = spb(q, p, alpha=alpha)
        logs = [math.log(x) if x else -math.inf for x in (q, p)]
        beside = spb(max(q, 1e-30), max(p, 1e-30), alpha=alpha)
        assert 0.0 < at_zero < math.inf
        assert at_zero == pytest.approx(beside, rel=1e-12, abs=0.0)
        assert spb_log(*logs, alpha=alpha) == pytest.approx(at_zero, rel=1e-12, abs=0.0)


def test_log_squared_error_is_in_nats_and_knows_zeros():
    assert log_squared_error(1e-7, 1e-9) == pytest.approx(math.log(100.0) ** 2, rel=1e-14, abs=0.0)
    assert log_squared_error(0.0, 0.0) == itakura_saito(0.0, 0.0) == 0.0
    for q, p in [(0.0, 1e-9), (1e-9, 0.0)]:
        assert log_squared_error(q, p) == itakura_saito(q, p) == math.inf


def test_public_name_takes_floats_and_arrays():
    assert rare.loss.spb is spb
    loss = rare.loss.spb(1e-7, 1e-8)
    assert type(loss) is float
    assert loss == rare.loss.spb(1e-7, 1e-8, alpha=1.5, epsilon=2**-32)
    table = rare.loss.spb(np.array([1e-7, 1e-6])[:, None], np.array([0.0, 1e-8, 1e-7]))
    assert table.shape == (2, 3)
    assert table[0, 1] == loss
    assert rare.loss.spb(1e-7, 1e-8, alpha=np.array([1.0, 1.5])).shape == (2,)
    assert rare.loss.spb(np.array([]), np.array([])).shape == (0,)


def test_the_losses_wake_up_only_when_they_are_asked_for():
    code = (
        "import sys\nfrom likely import rare\nrare.loss\n"
        "assert not {'numpy', 'torch'} & set(sys.modules), 'heavy'\n"
        "rare.loss.noise_floor\nassert 'torch' not in sys.modules\n"
        "assert set(rare.loss.__all__) == set(dir(rare.loss))\n"
        "[getattr(rare.loss, name) for name in rare.loss.__all__]\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("bad", [-1e-9, math.nan, math.inf])
def test_what_is_no_probability_is_refused(bad):
    for loss in (spb, itakura_saito, log_squared_error):
        with pytest.raises(InputError, match="q needs finite numbers of at least 0"):
            loss(bad, 0.5)
        with pytest.raises(InputError, match="p needs finite numbers of at least 0"):
            loss(0.5, bad)
    for name in ("alpha", "epsilon"):
        with pytest.raises(InputError, match=f"{name} needs finite numbers"):
            spb(0.5, 0.5, **{name: bad})
    if bad != -1e-9:
        with pytest.raises(InputError, match="log_p needs logs of probabilities"):
            spb_log(-1.0, bad)
