"""Margins taken for normal: exact where they are, and honest about where they are not."""

import math

import numpy as np
import pytest
from jaxtyping import TypeCheckError
from scipy.special import log_ndtr
from scipy.stats import norm

from likely import rare
from likely.errors import InputError
from likely.rare.gld import Gld

ABOVE = rare.Event(name="wins", steps=((0,),))


def read(margins, event=ABOVE, **options):
    return Gld(**options).of_margins(np.asarray(margins), event, level=0.95)


def test_two_tokens_with_normal_logits_are_exact():
    """Against one rival the margin is normal: p = Phi(m / sigma), here from its quantiles."""
    n = 200_000
    quantiles = norm.ppf((np.arange(n) + 0.5) / n)
    for mean, spread in ((-6.0, 1.0), (-1.5, 3.0), (2.0, 1.0)):
        found = read(mean + spread * quantiles)
        assert found.log_prob == pytest.approx(float(log_ndtr(mean / spread)), rel=1e-4)
        assert found.diagnostics["misfit_log_ratio"] == pytest.approx(0.0, abs=0.05)
    # As published the margin is cut at 0, which matters where the event is common.
    assert read(2.0 + quantiles, difference="clipped").log_prob < float(log_ndtr(2.0)) - 0.3
    rare_one = -8.0 + quantiles
    assert read(rare_one, difference="clipped").log_prob == read(rare_one).log_prob


def test_a_threshold_moves_the_mean():
    margins = np.random.default_rng(0).standard_normal(5000)
    event = rare.Event(name="leads", steps=((0,),), above=3.0)
    assert read(margins, event).log_prob == pytest.approx(read(margins - 3.0).log_prob, rel=1e-12)


def test_intervals_cover_the_truth_of_normal_margins():
    rng = np.random.default_rng(1)
    truth = float(log_ndtr(-5.0))
    found = [read(rng.standard_normal(300) - 5.0) for _ in range(400)]
    covered = sum(one.low <= truth <= one.high for one in found)
    assert 340 <= covered <= 398  # between .9 and .99 but for 1e-4


def test_a_skewed_margin_is_found_out():
    """The lead over the best of many rivals: its upper tail is far thinner than a normal one."""
    rng = np.random.default_rng(2)
    margins = rng.standard_normal(20_000) - rng.gumbel(size=(20_000)) * 2.0 - 6.0
    found = read(margins)
    assert found.diagnostics["skewness"] < -0.5
    assert found.diagnostics["misfit_log_ratio"] > 0.5
    assert "does not fit" in found.warnings[1]


def test_margins_without_spread_are_certain_or_impossible_for_the_sample_alone():
    assert read([1.0, 1.0]).log_prob == 0.0
    impossible = read([0.0, 0.0])
    assert impossible.log_prob == -math.inf
    assert impossible.high == 0.0
    assert "no spread" in impossible.warnings[0]


def test_cut_margins_that_all_hit_are_certain():
    margins = 5.0 + 0.5 * np.random.default_rng(0).standard_normal(1000)
    assert margins.min() > 0.0
    certain = read(margins, difference="clipped")
    assert certain.log_prob == certain.high == 0.0
    assert certain.low == -math.inf
    assert "no spread" in certain.warnings[0]
    assert read(margins, difference="signed").log_prob == pytest.approx(0.0, abs=1e-9)
    level = np.where(np.arange(1000) < 250, 0.0, margins)  # a quarter are 0, which is no hit
    assert math.exp(read(level, difference="clipped").log_prob) == pytest.approx(0.75)
    assert read(np.zeros(9), difference="clipped").log_prob == -math.inf


def test_it_runs_on_a_model_and_shares_its_inputs(gpt2):
    law = rare.independent([{i: 1.0 for i in range(30, 60)}] * 5, gpt2)
    events = [rare.token(5, gpt2), rare.any_of([5, 6], gpt2)]
    both = rare.estimate_many(gpt2, law, events, method="gld", budget=600)
    alone = rare.estimate(gpt2, law, events[0], method="gld", budget=600)
    assert both[0].log_prob.value == alone.log_prob.value
    assert both[1].log_prob.value > both[0].log_prob.value
    assert both[0].spent.forwards == 300
    assert both[0].quantity == "activations"
    with pytest.raises((InputError, TypeCheckError), match="'cut'"):
        rare.estimate(gpt2, law, 5, method="gld", budget=10, difference="cut")
