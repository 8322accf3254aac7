"""Paired comparison: one set of weights for both, exact signs, Holm against statsmodels."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from likely.core.streams import generator
from likely.errors import InputError, ShapeError
from likely.stats.comparison import compare_paired, holm, sign_flip
from likely.stats.pigeonhole import pigeonhole_bootstrap


def two_models(n=120):
    rng = generator(0, "two models")
    rows, columns = np.arange(n) % 6, np.arange(n) // 6 % 10
    hard = rng.normal(size=6)[rows] + rng.normal(size=10)[columns]
    first, second = (hard + shift + 0.2 * rng.normal(size=n) for shift in (0.3, 0.0))
    return first, second, {"row": rows, "column": columns}


def test_the_difference_is_that_of_the_means_and_surer_than_both():
    first, second, factors = two_models()
    found = compare_paired(first, second, factors, cells=factors["column"])
    assert found.delta.value == pytest.approx(found.first.value - found.second.value)
    assert found.delta.low > 0.0
    assert found.first.low < found.second.high
    assert found.test.p_value == pytest.approx(2 / 2**10)
    assert found.to_dict()["is_exact"] is True


def test_items_that_one_model_lacks_count_for_neither():
    first, second, factors = two_models()
    first[:10], second[5:20] = np.nan, np.nan
    found = compare_paired(first, second, factors, cells=factors["column"])
    kept = {name: codes[20:] for name, codes in factors.items()}
    alone = pigeonhole_bootstrap(first[20:], kept)
    assert found.first.value == pytest.approx(alone.value)
    assert found.first.diagnostics["n_undefined"] == 20
    first[:] = np.nan
    with pytest.raises(InputError, match="defined for both, got 0 of 120"):
        compare_paired(first, second, factors, cells=factors["column"])


def test_equal_models_have_a_difference_of_exactly_zero():
    first, _, factors = two_models()
    found = compare_paired(first, first.copy(), factors, cells=factors["row"])
    assert (found.delta.low, found.delta.value, found.delta.high) == (0.0, 0.0, 0.0)
    assert found.test.p_value == 1.0


@given(st.lists(st.integers(-6, 6), min_size=1, max_size=7))
def test_signs_are_all_tried(sums):
    patterns = list(itertools.product((-1, 1), repeat=len(sums)))
    totals = [abs(sum(s * x for s, x in zip(signs, sums, strict=True))) for signs in patterns]
    expected = sum(total >= abs(sum(sums)) for total in totals) / len(patterns)
    found = sign_flip(np.array(sums, dtype=float) * 0.1, list(range(len(sums))))
    assert found.p_value == expected
    assert found.is_exact


@pytest.mark.parametrize("n_cells", [3, 8, 12])
def test_cells_that_agree_in_sign_give_the_formula(n_cells):
    found = sign_flip(np.arange(1.0, n_cells + 1), list(range(n_cells)))
    assert found.p_value == 2.0 ** (1 - n_cells)


def test_items_of_a_cell_change_sign_together():
    values = np.array([1.0, -0.25, 0.5, 0.25])
    assert sign_flip(values, [0, 0, 1, 1]) == sign_flip(np.array([0.75, 0.75]), [0, 1])


def test_drawn_signs_come_near_the_normal_law_and_never_to_zero():
    values = generator(1, "drawn").normal(size=200)
    values += 1.5 * np.sqrt(np.sum(values**2)) / 200 - values.mean()
    found = sign_flip(values, np.arange(200), n_patterns=20_000)
    z = values.sum() / np.sqrt(np.sum(values**2))
    assert found.p_value == pytest.approx(2 * norm.sf(z), abs=0.015)
    assert not found.is_exact
    sure = sign_flip(np.ones(40), np.arange(40), n_patterns=99)
    assert sure.p_value == 0.01


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_is_that_of_statsmodels(p_values):
    from statsmodels.stats.multitest import multipletests

    expected = multipletests(p_values, method="holm")[1]
    assert holm(np.array(p_values)) == pytest.approx(expected, abs=1e-12)


def test_what_cannot_be_compared_is_refused():
    with pytest.raises(ShapeError, match="1, 1 and 2"):
        compare_paired(np.ones(1), np.ones(1), {"row": [0]}, cells=[0, 1])
    with pytest.raises(ShapeError, match="1 differences and 2 cells"):
        sign_flip(np.ones(1), [0, 1])
    with pytest.raises(InputError, match="finite differences"):
        sign_flip(np.array([np.nan]), [0])
    with pytest.raises(InputError, match=r"got \[1\.5\]"):
        holm(np.array([1.5]))
