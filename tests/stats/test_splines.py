"""Natural splines: what they span, against patsy; straight ends; few distinct values."""

import numpy as np
import pytest

from likely.core.streams import generator
from likely.errors import InputError
from likely.stats.splines import natural_spline


def projector(columns):
    q, r = np.linalg.qr(columns)
    return q[:, np.abs(np.diag(r)) > 1e-9] @ q[:, np.abs(np.diag(r)) > 1e-9].T


def test_the_columns_span_the_natural_cubic_splines_of_patsy():
    patsy = pytest.importorskip("patsy")
    x = generator(0, "spline").uniform(1.0, 5.0, size=60)
    ours = np.column_stack([np.ones(60), natural_spline(x)])
    knots = np.quantile(x, [0.25, 0.5, 0.75])
    theirs = np.asarray(patsy.dmatrix("cr(x, knots=knots) - 1", {"x": x, "knots": knots}))
    assert projector(ours) == pytest.approx(projector(theirs), abs=1e-8)


def test_one_column_is_a_straight_line_and_few_values_give_few_columns():
    x = np.array([0.0, 1.0, 3.0])
    assert natural_spline(x, df=1)[:, 0] == pytest.approx(x / 3.0)
    assert natural_spline(np.full(5, 2.0)).tolist() == [[0.0]] * 5
    two_values = np.column_stack([np.ones(8), natural_spline(np.repeat([1.0, 2.0], 4))])
    assert np.linalg.matrix_rank(two_values) == 2
    with pytest.raises(InputError, match="df >= 1, got 3 and 0"):
        natural_spline(x, df=0)
    with pytest.raises(InputError, match="finite"):
        natural_spline(np.array([np.nan]))
