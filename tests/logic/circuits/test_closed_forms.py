import math
import random
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
import torch
from assignments import EXTREME_ODDS, assert_agrees, rows

from likely.logic.circuits.closed_forms import (
    all_equal,
    cardinality,
    clause,
    closed_form,
    conjunction,
    exactly_one,
    parity,
)

FORMS = {
    "conjunction": (conjunction, lambda count, n: count == n),
    "clause": (clause, lambda count, n: count > 0),
    "all_equal": (all_equal, lambda count, n: (count == 0) | (count == n)),
    "odd": (partial(parity, is_odd=True), lambda count, n: count % 2 == 1),
    "even": (partial(parity, is_odd=False), lambda count, n: count % 2 == 0),
    "exactly_one": (exactly_one, lambda count, n: count == 1),
}


def check(kernel, holds, log_odds):
    value, slope = kernel(torch.tensor(log_odds)[:, None])
    is_possible = bool(value > -math.inf)
    found = slope()[:, 0].numpy() if is_possible else np.zeros(len(log_odds))
    table = holds(rows(len(log_odds)).sum(1), len(log_odds))
    assert_agrees(float(value), found, table, log_odds)


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("n", [1, 2, 3, 6, 10])
def test_closed_forms_agree_with_enumeration(name, n):
    rng = np.random.default_rng(n)
    for scale in (1.0, 5.0, 100.0):
        check(*FORMS[name], rng.normal(scale=scale, size=n))


@pytest.mark.parametrize("name", FORMS)
def test_closed_forms_agree_with_enumeration_at_the_extremes(name):
    rng = random.Random(0)
    for _ in range(30):
        check(*FORMS[name], np.array([rng.choice(EXTREME_ODDS) for _ in range(rng.randint(1, 5))]))


@pytest.mark.parametrize("n", [1, 2, 5, 7])
def test_counts_agree_with_enumeration(n):
    rng = np.random.default_rng(n)
    extremes = np.array(EXTREME_ODDS)
    for low in range(n + 1):
        for high in range(low, n + 1):
            kernel = partial(cardinality, low=low, high=high)
            holds = lambda count, _, low=low, high=high: (low <= count) & (count <= high)  # noqa: E731
            check(kernel, holds, rng.normal(scale=3.0, size=n))
            check(kernel, holds, rng.choice(extremes, size=n))


@pytest.mark.parametrize("op", ["and", "or", "all_equal", "xor", "even", "card"])
def test_slopes_are_those_of_central_differences(op):
    kernel, _ = closed_form(op, n=5, low=2, high=3)
    log_odds = torch.randn((5, 3), dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    _, slope = kernel(log_odds)
    found, step = slope(), 1e-6
    for i in range(5):
        moved = torch.zeros_like(log_odds)
        moved[i] = step
        difference = (kernel(log_odds + moved)[0] - kernel(log_odds - moved)[0]) / (2 * step)
        torch.testing.assert_close(found[i], difference, rtol=1e-6, atol=1e-9)


def test_a_clause_of_rare_events_and_its_negation_keep_their_digits():
    log_odds = torch.full((3, 1), math.log(1e-30), dtype=torch.float64)
    assert float(clause(log_odds)[0]) == pytest.approx(math.log(3e-30), rel=1e-15)
    # log(1 - 1e-48), all of whose digits are lost if it is taken as the log of a sum.
    assert float(clause(torch.full((3, 1), math.log(1e16), dtype=torch.float64))[0]) == (
        pytest.approx(-1e-48, rel=1e-12)
    )


def test_parity_keeps_its_digits_where_it_is_nearly_impossible():
    probs = [Fraction(1, 10**20), Fraction(1, 10**25)]
    log_odds = torch.tensor([[math.log(p / (1 - p))] for p in probs], dtype=torch.float64)
    exact = probs[0] * (1 - probs[1]) + probs[1] * (1 - probs[0])
    odd, _ = parity(log_odds, is_odd=True)
    assert float(odd) == pytest.approx(math.log(exact), rel=1e-15)
    assert float(parity(-log_odds, is_odd=True)[0]) == pytest.approx(math.log(exact), rel=1e-15)


@pytest.mark.parametrize("op", ["and", "or", "all_equal", "xor", "even", "card", "exactly_one"])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_a_thousand_literals_have_finite_values_and_slopes(op, dtype):
    low, high = (1, 1) if op == "exactly_one" else (3, 10)
    kernel, _ = closed_form(op.replace("exactly_one", "card"), n=1000, low=low, high=high)
    log_odds = 3 * torch.randn((1000, 2), generator=torch.Generator().manual_seed(1)).to(dtype)
    value, slope = kernel(log_odds)
    assert value.dtype == dtype
    assert torch.isfinite(value).all()
    assert (slope().abs() <= 1.0 + 1e-5).all()


@pytest.mark.parametrize("op", ["and", "or", "all_equal", "xor", "even", "card"])
def test_single_precision_agrees_to_five_digits(op):
    kernel, _ = closed_form(op, n=6, low=2, high=3)
    log_odds = 2 * torch.randn((6, 50), generator=torch.Generator().manual_seed(2)).double()
    value, slope = kernel(log_odds)
    single_value, single_slope = kernel(log_odds.float())
    torch.testing.assert_close(single_value.double(), value, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(single_slope().double(), slope(), rtol=0, atol=1e-5)
