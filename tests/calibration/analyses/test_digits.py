"""Features of numbers: by hand."""

import pandas as pd
import pytest

from likely.calibration.analyses.digits import FEATURES, number_features, varying
from likely.errors import InputError


def test_features_are_those_seen_by_eye():
    frame = pd.DataFrame(
        {"n1": [10.0, 77.0, 5.0, 0.5], "n2": [9.0, 300.0, 333.0, 2.0]}, index=[4, 5, 6, 7]
    )
    found = number_features(frame, count_tokens=lambda n: len(str(n)))
    assert list(found.index) == [4, 5, 6, 7]
    assert found["n_round5"].tolist()[:3] == [1, 1, 1]
    assert found["n_round10"].tolist()[:3] == [1, 1, 0]
    assert found["n_repeated"].tolist()[:3] == [0, 1, 1]
    assert found["digit_difference"].tolist()[:3] == [1, 1, 2]
    assert found["last_high"].tolist()[:3] == [0, 0, 3]
    assert found["last_low"].tolist()[:3] == [9, 7, 5]
    assert found["n_tokens"].tolist()[:3] == [3, 5, 4]
    assert found["token_difference"].tolist()[:3] == [1, 1, 2]
    assert found.loc[7].isna().all()
    assert set(FEATURES) <= set(number_features(frame).columns)
    assert "n_tokens" not in number_features(frame).columns


def test_features_that_never_vary_are_dropped():
    frame = pd.DataFrame({"n1": [12.0, 13.0], "n2": [20.0, 21.0]})
    assert "digit_difference" not in varying(number_features(frame)).columns
    with pytest.raises(InputError, match="none of the features"):
        varying(number_features(frame)[["digit_difference"]])
