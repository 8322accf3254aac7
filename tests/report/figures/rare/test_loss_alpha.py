"""R2: curves are mean losses, rings where two are equal, and the strip is sure where it says so."""

import numpy as np
import pytest
import rare_cases as make

from likely.rare.bench.summary import summarise
from likely.rare.loss.data_set import log_optimal_constant, mean_loss_log
from likely.rare.loss.kinds import Spb
from likely.report.figures import Missing
from likely.report.figures.rare.loss_alpha import ALPHAS, loss_against_alpha

METHODS = ("itgis", "qld", "ga-amls")
ROWS = make.rows(METHODS, ("tiny-1l",), laws=("hex",), seeds=2, arms=("calls",))


@pytest.fixture(scope="module")
def drawn():
    return loss_against_alpha(ROWS)


def part(drawn, kind, gamma=0.0):
    data = drawn.data
    return data[(data["kind"] == kind) & (data["gamma"] == gamma)]


def test_a_curve_has_the_losses_of_the_summary(drawn):
    found = drawn.data.set_index(["kind", "gamma", "method", "alpha"])["loss"]
    for one in summarise(ROWS):
        for alpha in (1.0, 1.5, 2.0, 2.5):
            for gamma, ending in ((0.0, ""), (0.25, " premium 0.25")):
                loss = one.losses[f"SPB {alpha:g}{ending}"].mean
                at = ("curve", gamma, one.method, alpha)
                assert found[at] == pytest.approx(loss, rel=1e-10)


def test_lines_are_the_data(drawn):
    axes = drawn.figure.axes[0]
    for method in METHODS:
        (line,) = [one for one in axes.lines if one.get_label() == method]
        own = part(drawn, "curve")
        np.testing.assert_array_equal(line.get_xdata(), ALPHAS)
        np.testing.assert_array_equal(line.get_ydata(), own[own["method"] == method]["loss"])


def test_the_best_constant_is_the_one_of_the_targets(drawn):
    log_q = np.log(sorted({row["truth"] for row in ROWS}))
    loss = Spb(alpha=1.5, weighting="shifted")
    level = np.full_like(log_q, log_optimal_constant(log_q, loss))
    found = part(drawn, "constant").set_index("alpha")["loss"][1.5]
    assert found == pytest.approx(mean_loss_log(log_q, level, loss).mean, rel=1e-10)


def test_at_a_ring_two_methods_change_places(drawn):
    flips = part(drawn, "flip")
    curves = part(drawn, "curve").pivot_table(index="alpha", columns="method", values="loss")
    assert len(flips) > 0
    for one in flips.itertuples():
        below, above = ALPHAS[one.alpha > ALPHAS].max(), ALPHAS[one.alpha < ALPHAS].min()
        gap = curves[one.method] - curves[one.other]
        assert gap[below] > 0.0 > gap[above]
        low, high = sorted([curves[one.method][below], curves[one.method][above]])
        assert low * 0.999 <= one.loss <= high * 1.001
    changes = sum(
        int((np.diff(np.sign(curves[a] - curves[b])) != 0).sum())
        for i, a in enumerate(METHODS)
        for b in METHODS[i + 1 :]
    )
    assert len(flips) == changes


def test_the_best_is_the_lowest_curve_and_sure_only_where_it_leads(drawn):
    curves = part(drawn, "curve").pivot_table(index="alpha", columns="method", values="loss")
    best = part(drawn, "best").set_index("alpha")
    assert (best["method"] == curves.idxmin(axis=1)).all()
    assert best["sure"].any()
    flips = part(drawn, "flip")
    (turn,) = [
        one.alpha for one in flips.itertuples() if {one.method, one.other} == {"itgis", "ga-amls"}
    ][:1]
    near = best.index[np.argmin(np.abs(best.index - turn))]
    assert not best["sure"][near]


def test_a_method_that_is_twice_there_is_never_surely_better():
    twin = [row | {"method": "twin"} for row in ROWS if row["method"] == "itgis"]
    rows = [row for row in ROWS if row["method"] == "itgis"] + twin
    assert not part(loss_against_alpha(rows, gammas=(0.0,)), "best")["sure"].any()


def test_targets_that_a_method_lacks_are_left_out_and_counted():
    rows = [r for r in ROWS if r["method"] != "qld" or r["token"] > 1]
    drawn = loss_against_alpha(rows, gammas=(0.0,))
    written = " ".join(text.get_text() for text in drawn.figure.texts)
    assert "over 6 targets of 8: those that every method has" in written
    own = [row for row in rows if row["token"] > 1]
    curve = part(drawn, "curve").set_index(["method", "alpha"])["loss"]
    (one,) = [one for one in summarise(own) if one.method == "itgis"]
    assert curve["itgis", 1.5] == pytest.approx(one.losses["SPB 1.5"].mean, rel=1e-10)


def test_methods_without_a_common_target_are_not_compared():
    rows = [r for r in ROWS if (r["method"] == "qld") == (r["token"] > 3)]
    assert isinstance(loss_against_alpha(rows), Missing)
