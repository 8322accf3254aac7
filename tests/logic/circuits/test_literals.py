import math
from fractions import Fraction

import pytest
import torch

from likely.logic.circuits.literals import log1mexp, log_literals


@pytest.mark.parametrize("log_odds", [-800.0, -40.0, -1e-9, 0.0, 0.5, 36.8, 745.0])
def test_both_logs_keep_their_digits_at_both_ends(log_odds):
    log_pos, log_neg = log_literals(torch.tensor(log_odds, dtype=torch.float64))
    expected = [
        -math.log1p(math.exp(-x)) if x >= 0 else x - math.log1p(math.exp(x))
        for x in (log_odds, -log_odds)
    ]
    assert [float(log_pos), float(log_neg)] == pytest.approx(expected, rel=1e-15)


def test_certain_and_impossible_events_have_no_nan():
    log_pos, log_neg = log_literals(torch.tensor([-math.inf, math.inf]))
    assert log_pos.tolist() == [-math.inf, 0.0]
    assert log_neg.tolist() == [0.0, -math.inf]


@pytest.mark.parametrize("prob", [Fraction(1, 10**30), Fraction(1, 3), 1 - Fraction(1, 10**12)])
def test_log1mexp_keeps_its_digits_at_both_ends(prob):
    log_rest = float(log1mexp(torch.tensor(math.log(prob), dtype=torch.float64)))
    # The last digit of log(prob) moves the result by epsilon / (1 - prob).
    assert log_rest == pytest.approx(math.log(1 - prob), rel=4e-16 / float(1 - prob))


def test_log1mexp_of_certainty_is_impossible():
    assert log1mexp(torch.tensor([0.0, -math.inf])).tolist() == [-math.inf, 0.0]
