"""The LASSO against scikit-learn, planted linear models, and intervals against all ablations."""

import math

import numpy as np
import pytest

import likely
from likely import attribution
from likely.attribution.baselines.lasso import fit_lasso
from likely.errors import InputError

LETTERS = "abcdefghij"


def planted(weights, *, pairs=0.0, intercept=-0.5):
    """Log-odds of "y" that are linear in which letters are there, but for ``pairs``."""
    weight = dict(zip(LETTERS, weights, strict=False))

    def law(before):
        letters = set(before) & set(LETTERS)
        log_odds = intercept + sum(weight[t] for t in letters) + pairs * ({"a", "b"} <= letters)
        prob = 1.0 / (1.0 + math.exp(-log_odds))
        return {"y": prob, "n": 1.0 - prob}

    return likely.TableModel([*LETTERS, "y", "n"], law)


SPARSE = [2.0, 0.0, 0.0, -1.5, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0]


@pytest.mark.parametrize("alpha", [0.0, 0.01, 0.3])
def test_weighted_rows_are_rows_that_come_so_often(alpha):
    rng = np.random.default_rng(0)
    x = (rng.random((40, 6)) < 0.5).astype(float)
    y = x @ np.array([1.0, 0.0, -2.0, 0.3, 0.0, 0.0]) + 0.3 * rng.standard_normal(40)
    count = rng.integers(0, 3, 40)
    rows = np.repeat(np.arange(40), count)
    once = fit_lasso(x, y, count.astype(float), alpha=alpha)
    often = fit_lasso(x[rows], y[rows], np.ones(len(rows)), alpha=alpha)
    np.testing.assert_allclose(once.coefficients, often.coefficients, atol=1e-6)
    assert once.intercept == pytest.approx(often.intercept)


@pytest.mark.parametrize("alpha", [0.01, 0.3])
def test_the_lasso_satisfies_the_conditions_of_its_optimum(alpha):
    rng = np.random.default_rng(1)
    x = (rng.random((40, 6)) < 0.5).astype(float)
    y = x @ np.array([1.0, 0.0, -2.0, 0.3, 0.0, 0.0]) + 0.3 * rng.standard_normal(40)
    weights = rng.random(40)
    fit = fit_lasso(x, y, weights, alpha=alpha)
    share = weights / weights.sum()
    z = (x - share @ x) / np.sqrt(share @ (x - share @ x) ** 2)
    slope = (share * (y - fit.predict(x))) @ z
    is_zero = fit.coefficients == 0.0
    np.testing.assert_allclose(
        slope[~is_zero], alpha * np.sign(fit.coefficients[~is_zero]), atol=1e-5
    )
    assert (np.abs(slope[is_zero]) <= alpha + 1e-5).all()
    assert share @ (y - fit.predict(x)) == pytest.approx(0.0, abs=1e-9)


def test_a_column_that_does_not_vary_is_an_error():
    with pytest.raises(InputError, match="column 1 does not vary"):
        fit_lasso(np.array([[0.0, 1.0], [1.0, 1.0]]), np.zeros(2), np.ones(2), alpha=0.1)


def test_a_planted_sparse_model_is_recovered():
    model = planted(SPARSE)
    found = attribution.baseline(model, LETTERS, "y", name="context_cite")
    assert np.flatnonzero(found.scores).tolist() == [0, 3, 7]
    # The penalty takes alpha / sd = .02 off each coefficient, nearly; columns correlate by chance.
    np.testing.assert_allclose(found.scores, SPARSE, atol=0.04)
    assert found.diagnostics["held_out_r2"] > 0.99
    assert found.diagnostics["n_nonzero"] == 3
    assert found.diagnostics["n_ablations"] == 64
    plain = attribution.baseline(model, LETTERS, "y", name="context_cite", alpha=0.0)
    np.testing.assert_allclose(plain.scores, SPARSE, atol=1e-7)
    assert plain.diagnostics["intercept"] == pytest.approx(-0.5, abs=1e-7)


def test_all_ablations_of_few_tokens_give_exact_coefficients():
    model = planted([1.0, -1.0, 0.5], pairs=2.0)
    found = attribution.baseline(model, "abc", "y", name="context_cite", alpha=0.0)
    # Under independent halves the interaction gives half of itself to each of its two.
    assert found.scores.tolist() == pytest.approx([2.0, 0.0, 0.5])
    assert all(one.is_exact for one in found.estimates)
    assert found.diagnostics["n_ablations"] == 8
    kept = attribution.baseline(model, "abc", "y", name="context_cite", alpha=0.0, keep=0.75)
    assert kept.scores.tolist() == pytest.approx([2.5, 0.5, 0.5])
    shrunk = attribution.baseline(model, "abc", "y", name="context_cite", alpha=0.1)
    assert shrunk.scores.tolist() == pytest.approx([1.8, 0.0, 0.3])  # alpha / sd = .2 each


def test_alpha_counts_against_log_odds_per_response_token():
    def law(before):
        if before[-1] == "y":
            return {"y": 1.0}
        prob = 1.0 / (1.0 + math.exp(-("a" in before) + 2 * ("b" in before)))
        return {"y": prob, "n": 1.0 - prob}

    model = likely.TableModel(["a", "b", "y", "n"], law)
    one = attribution.baseline(model, "ab", "y", name="context_cite", alpha=0.2)
    two = attribution.baseline(model, "ab", "yy", name="context_cite", alpha=0.1)
    np.testing.assert_allclose(one.scores, two.scores, atol=1e-12)


def test_intervals_cover_the_coefficients_of_all_ablations():
    model = planted([2.0, -1.0, 0.6, 0.0, 1.2, -0.5], pairs=1.5)
    case = attribution.frame_case(model, "abcdef", "y")
    truth = attribution.baseline(model, case, name="context_cite", n_ablations=64).scores
    hits, n = np.zeros(6), 25
    for seed in range(n):
        found = attribution.baseline(
            model, case, name="context_cite", n_ablations=48, seed=seed, level=0.9,
            n_resamples=200,
        )  # fmt: skip
        assert not any(one.is_exact for one in found.estimates)
        hits += (found.low <= truth) & (truth <= found.high)
    # 25 runs of six dependent intervals at 90 %: below .66 by chance in no more than 1 of 10^4.
    assert hits.sum() / (6 * n) >= 0.66
    assert (found.high - found.low).max() < 1.0


def test_held_out_r2_says_when_a_line_does_not_fit():
    good = attribution.baseline(planted(SPARSE), LETTERS, "y", name="context_cite")

    def law(before):
        prob = 0.9 if sum(t in LETTERS for t in before) % 2 else 0.1
        return {"y": prob, "n": 1.0 - prob}

    parity = likely.TableModel([*LETTERS, "y", "n"], law)
    bad = attribution.baseline(parity, LETTERS, "y", name="context_cite")
    assert bad.diagnostics["held_out_r2"] < 0.2 < good.diagnostics["held_out_r2"]
    flat = likely.TableModel([*LETTERS, "y", "n"], lambda before: {"y": 0.5, "n": 0.5})
    found = attribution.baseline(flat, LETTERS, "y", name="context_cite")
    assert found.diagnostics["held_out_r2"] is None
    assert found.scores.tolist() == [0.0] * 10


def test_log_odds_that_are_not_finite_are_refused():
    model = likely.TableModel(["a", "b", "y"], lambda b: {"y": 1.0} if "a" in b else {"b": 1.0})
    with pytest.raises(InputError, match=r"without positions \[.*\] the response has probability"):
        attribution.baseline(model, "ab", "y", name="context_cite")
    for odd in ({"n_ablations": 1}, {"keep": 1.0}, {"alpha": -1.0}, {"n_resamples": 5}):
        with pytest.raises(InputError):
            attribution.baseline(model, "ab", "y", name="context_cite", **odd)
    with pytest.raises(InputError, match="raise n_ablations"):
        attribution.baseline(planted(SPARSE), LETTERS, "y", name="context_cite", n_ablations=2)
