"""Similarity of models: correlations of their errors, and an order that puts like ones together."""

import numpy as np
import pandas as pd
import pytest
from planted import items, line, policy

from likely.calibration.analyses.similarity import model_similarity
from likely.errors import InputError


def four_models():
    base = items()
    return pd.concat(
        [
            line(base, slope=3.0, noise=0.3, seed=1, model="a-higher"),
            line(base, slope=0.0, position=2.0, noise=0.3, seed=2, model="b-first"),
            line(base, slope=3.0, noise=0.3, seed=3, model="c-higher"),
            line(base, slope=0.0, position=2.0, noise=0.3, seed=4, model="d-first"),
        ],
        ignore_index=True,
    )


def test_correlations_are_those_of_errors_over_shared_items():
    frame = four_models()
    found = model_similarity(frame, n_resamples=200)
    wide = frame.assign(e=frame["pi1"] - frame["p1"]).pivot(index="id", columns="model", values="e")
    names = list(wide.columns)
    assert found.matrix().loc[names, names].to_numpy() == pytest.approx(wide.corr().to_numpy())
    assert len(found.table()) == 6
    assert (found.table()["low"] <= found.table()["value"]).all()


def test_models_that_err_alike_stand_side_by_side():
    order = model_similarity(four_models(), n_resamples=100).models
    at = {name: i for i, name in enumerate(order)}
    assert abs(at["a-higher"] - at["c-higher"]) == 1
    assert abs(at["b-first"] - at["d-first"]) == 1


def test_a_model_that_errs_the_other_way_correlates_minus_one():
    first = policy(items(), "higher")
    other = first.assign(model="other", pi1=2 * first["p1"] - first["pi1"])
    found = model_similarity(pd.concat([first, other]), n_resamples=100)
    assert found.correlations["higher", "other"].value == -1.0
    assert found.to_dict()["models"] == ["higher", "other"]


def test_items_that_some_model_lacks_are_left_out_and_counted():
    frame = four_models()
    frame.loc[frame.index[:7], "pi1"] = np.nan
    found = model_similarity(frame.drop(index=frame.index[-3:]), n_resamples=100)
    assert (found.n_items, found.n_left_out) == (len(items()) - 10, 10)


def test_one_model_or_repeated_items_are_refused():
    frame = four_models()
    with pytest.raises(InputError, match="2 models"):
        model_similarity(frame[frame["model"] == "a-higher"])
    with pytest.raises(InputError, match=r"'i0'\] twice"):
        model_similarity(pd.concat([frame, frame.iloc[:1]]))
    with pytest.raises(InputError, match=r"lacks \['pi1'\]"):
        model_similarity(frame.drop(columns="pi1"))
