"""Variance components: against statsmodels, against the closed form of a balanced design."""

import numpy as np
import pytest

from likely.core.streams import generator
from likely.errors import InputError, ShapeError
from likely.stats.crossed_effects import fit_crossed_effects


def crossed(seed=0, *, shape=(6, 8), n=3, sds=(0.8, 0.5, 1.0)):
    rng = generator(seed, "crossed effects")
    rows, columns = (x.ravel() for x in np.meshgrid(*map(np.arange, shape), indexing="ij"))
    rows, columns = np.repeat(rows, n), np.repeat(columns, n)
    x = rng.normal(size=len(rows))
    y = 1.5 * x + 0.3 + sds[0] * rng.normal(size=shape[0])[rows]
    y += sds[1] * rng.normal(size=shape[1])[columns] + sds[2] * rng.normal(size=len(rows))
    return y, np.column_stack([np.ones(len(x)), x]), {"row": rows, "column": columns}


def test_the_fit_is_that_of_statsmodels():
    import pandas as pd
    import statsmodels.formula.api as smf

    y, design, factors = crossed()
    found = fit_crossed_effects(y, design, factors, names=("constant", "x"))
    frame = pd.DataFrame({"y": y, "x": design[:, 1], **factors, "one": 1})
    theirs = smf.mixedlm(
        "y ~ x", frame, groups="one", re_formula="0",
        vc_formula={"row": "0 + C(row)", "column": "0 + C(column)"},
    ).fit(reml=True)  # fmt: skip
    ours = {name: found.variances[name].value for name in ("row", "column")}
    expected = dict(zip(("column", "row"), theirs.vcomp, strict=True))
    assert ours == pytest.approx(expected, rel=2e-3)
    assert found.residual == pytest.approx(theirs.scale, rel=1e-3)
    assert found.fixed["x"].value == pytest.approx(theirs.fe_params["x"], rel=1e-4)
    assert found.status == "converged"


def test_a_balanced_crossing_has_the_variances_of_its_mean_squares():
    y, design, factors = crossed(1, n=2)
    found = fit_crossed_effects(y, design[:, :1], factors, names=("constant",))
    cube = y.reshape(6, 8, 2)
    r, c, n = cube.shape
    by_row, by_column, grand = cube.mean(axis=(1, 2)), cube.mean(axis=(0, 2)), cube.mean()
    ms_row = c * n * np.sum((by_row - grand) ** 2) / (r - 1)
    ms_column = r * n * np.sum((by_column - grand) ** 2) / (c - 1)
    left = cube - by_row[:, None, None] - by_column[None, :, None] + grand
    ms_left = np.sum(left**2) / (r * c * n - r - c + 1)
    assert found.residual == pytest.approx(ms_left, rel=1e-4)
    assert found.variances["row"].value == pytest.approx((ms_row - ms_left) / (c * n), rel=1e-3)
    assert found.variances["column"].value == pytest.approx(
        (ms_column - ms_left) / (r * n), rel=1e-3
    )


def test_planted_variances_lie_in_their_intervals():
    hits = 0
    for seed in range(8):
        y, design, factors = crossed(10 + seed, n=2)
        found = fit_crossed_effects(y, design, factors, names=("constant", "x"))
        row, column = found.variances["row"], found.variances["column"]
        hits += (row.low <= 0.64 <= row.high) + (column.low <= 0.25 <= column.high)
        assert 0.0 <= row.low <= row.value <= row.high
    assert hits >= 13


def test_a_factor_without_effect_is_named_in_the_status():
    rng = generator(3, "nothing")
    factors = {"row": np.arange(60) % 5, "column": np.arange(60) // 5}
    y = rng.normal(size=60)
    for name in factors:
        means = np.bincount(factors[name], y) / np.bincount(factors[name])
        y = y - means[factors[name]]
    found = fit_crossed_effects(y, np.ones((60, 1)), factors, names=("constant",))
    assert found.status == "boundary: row, column"
    assert found.variances["row"].low == 0.0
    assert found.variances["row"].value == pytest.approx(0.0, abs=1e-6)
    assert found.variances["row"].high > 0.01


def test_what_cannot_be_fitted_is_refused():
    y, design, factors = crossed()
    with pytest.raises(InputError, match="got 144 of 'item' for 144 items"):
        fit_crossed_effects(y, design, {"item": np.arange(144)}, names=("a", "b"))
    with pytest.raises(InputError, match="explain the response exactly"):
        fit_crossed_effects(design @ [1.0, 2.0], design, factors, names=("a", "b"))
    with pytest.raises(InputError, match="tell apart"):
        fit_crossed_effects(y, np.ones((144, 2)), factors, names=("a", "b"))
    with pytest.raises(ShapeError, match="144 and 1"):
        fit_crossed_effects(y, design, factors, names=("a",))
    with pytest.raises(ShapeError, match="'row' has 3 levels for 144"):
        fit_crossed_effects(y, design, {"row": [0, 1, 2]}, names=("a", "b"))
