"""Stated distributions from exact masses, and the gaps between stated, revealed and true."""

import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import likely
from likely.calibration.data_sets.family import build
from likely.calibration.tables import Masses, exact_masses
from likely.calibration.verbalised import (
    compare_stated,
    join_revealed,
    stated_distribution,
    stated_replies,
)
from likely.errors import InputError, ShapeError

STATED = tuple(build("verbalised", preset="smoke"))
REVEALED = tuple(build("verbalised", preset="smoke", design="revealed"))


def masses(rows):
    probs = np.zeros((len(rows), 101))
    for row, law in zip(probs, rows, strict=True):
        for k, p in law.items():
            row[k] = p
    with np.errstate(divide="ignore"):
        log_mass = np.log(probs).ravel()
    return exact_masses(np.arange(len(rows) + 1) * 101, log_mass)


def test_mean_median_and_mode_of_a_stated_law():
    found = stated_distribution(
        masses([{10: 0.2, 30: 0.1, 90: 0.1}, {37: 0.5}, {0: 0.3, 100: 0.3}])
    )
    assert found.mass == pytest.approx([0.4, 0.5, 0.6])
    assert found.mean == pytest.approx([0.35, 0.37, 0.5])
    assert found.median == pytest.approx([0.1, 0.37, 0.0])
    assert found.mode == pytest.approx([0.1, 0.37, 0.0])


def test_no_mass_states_nothing():
    found = stated_distribution(masses([{}, {50: 1.0}]))
    assert found.mass.tolist() == [0.0, 1.0]
    for figure in (found.mean, found.median, found.mode):
        assert math.isnan(figure[0])
        assert figure[1] == 0.5


def test_tiny_masses_state_as_much_as_large_ones():
    large = masses([{10: 0.2, 30: 0.1, 90: 0.1}])
    tiny = exact_masses(large.offsets, large.log_mass - 2000.0)
    a, b = stated_distribution(large), stated_distribution(tiny)
    assert b.mass[0] == 0.0
    assert (a.mean, a.median, a.mode) == (
        pytest.approx(b.mean), pytest.approx(b.median), pytest.approx(b.mode),
    )  # fmt: skip


@given(st.dictionaries(st.integers(0, 100), st.floats(1e-6, 1.0), min_size=1, max_size=20))
def test_a_stated_law_has_the_figures_of_its_sorted_sample(law):
    total = sum(law.values())
    found = stated_distribution(masses([{k: p / total for k, p in law.items()}]))
    assert found.mean[0] == pytest.approx(sum(k * p for k, p in law.items()) / total / 100)
    below, median = 0.0, 0
    for k in sorted(law):
        below += law[k] / total
        if below >= 0.5 - 1e-12:
            median = k
            break
    assert found.median[0] == pytest.approx(median / 100)
    assert law[round(100 * found.mode[0])] == pytest.approx(max(law.values()), rel=1e-12)


def test_items_with_other_options_or_bounds_are_refused():
    with pytest.raises(InputError, match="items with \\[2\\] options"):
        stated_distribution(exact_masses(np.array([0, 2]), np.log([0.5, 0.5])))
    exact = masses([{50: 1.0}])
    loose = Masses(
        offsets=exact.offsets, log_mass=np.zeros(101), log_mass_low=np.full(101, -np.inf)
    )
    with pytest.raises(InputError, match="bounds for 1 items"):
        stated_distribution(loose)


def test_a_model_of_digits_states_the_law_that_it_was_given():
    begun = {
        "": {"7": 0.3, "2": 0.4, "1": 0.2, "no": 0.1},
        "2": {"5": 1.0},
        "1": {"0": 1.0},
        "10": {"0": 1.0},
    }

    def next_probs(context):
        said = "".join(context[context.index("?") + 1 :])
        return begun.get(said, {"%": 1.0})

    model = likely.TableModel(["?", "%", "no", " ", *"0123456789"], next_probs)
    item = STATED[0]
    scores = likely.score_answers(model, ["?"], [option.words[0] for option in item.options])
    log_mass = np.array([scores[0].log_prob(option.label) for option in item.options])
    found = stated_distribution(exact_masses(np.array([0, 101]), log_mass))
    assert found.mass[0] == pytest.approx(0.9)
    assert found.mean[0] == pytest.approx((0.3 * 0.07 + 0.4 * 0.25 + 0.2) / 0.9)
    assert found.median[0] == found.mode[0] == 0.25


def revealed_like(items):
    """What a calibrated model would reveal, read from the text of each item."""
    shares = []
    for item in items:
        n1, n2 = (int(x) for x in re.findall(r"\d+", item.context))
        shares.append(n1 / (n1 + n2))
    return np.array(shares)


def test_a_calibrated_model_reveals_the_truth_of_every_event_asked_for():
    joined = join_revealed(STATED, REVEALED, revealed_like(REVEALED))
    assert joined.revealed == pytest.approx(joined.ideal, abs=1e-15)
    assert joined.ideal == pytest.approx([item.meta["percent"] / 100 for item in STATED])
    assert joined.number_pairs == tuple(item.number_pair_id for item in STATED)


def test_stated_items_need_their_revealed_ones():
    with pytest.raises(InputError, match="no revealed one"):
        join_revealed(STATED, REVEALED[:1], np.array([0.5]))
    with pytest.raises(ShapeError):
        join_revealed(STATED, REVEALED, np.array([0.5]))


def test_gaps_of_a_model_that_says_what_is_true_and_reveals_the_likelier():
    joined = join_revealed(STATED, REVEALED, (revealed_like(REVEALED) > 0.5).astype(float))
    found = compare_stated(
        joined.ideal, joined.revealed, joined.ideal, number_pairs=joined.number_pairs
    )
    assert found.stated_ideal.size.value == found.stated_ideal.size.high == 0.0
    lower = np.minimum(joined.ideal, 1.0 - joined.ideal)
    assert found.revealed_ideal.size.value == pytest.approx(lower.mean(), abs=1e-12)
    assert found.stated_revealed.size == found.revealed_ideal.size
    assert found.stated_ideal.size.diagnostics["n_clusters"] == len(set(joined.number_pairs))
    assert (found.n_items, found.n_unstated, found.n_unrevealed) == (len(STATED), 0, 0)


@given(st.lists(st.tuples(*[st.floats(0, 1)] * 3), min_size=4, max_size=20))
def test_the_mean_gaps_add_up(rows):
    stated, revealed, ideal = np.array(rows).T
    found = compare_stated(
        stated, revealed, ideal, number_pairs=[f"p{i % 4}" for i in range(len(rows))],
        n_resamples=100,
    )  # fmt: skip
    parts = found.stated_revealed.mean.value + found.revealed_ideal.mean.value
    assert found.stated_ideal.mean.value == pytest.approx(parts, abs=1e-12)


def test_failures_are_counted_and_left_out_of_all_gaps():
    stated = stated_replies(["30", "hard to say", "50%", "25 to 30", "one half"])
    assert np.isnan(stated).tolist() == [False, True, False, True, False]
    revealed = np.array([0.4, 0.4, np.nan, np.nan, 0.6])
    ideal = np.array([0.3, 0.3, 0.5, 0.25, 0.5])
    found = compare_stated(stated, revealed, ideal, number_pairs=["a", "b", "c", "d", "e"])
    assert (found.n_items, found.n_unstated, found.n_unrevealed) == (2, 2, 2)
    assert found.stated_ideal.mean.value == 0.0
    assert found.revealed_ideal.size.value == pytest.approx(0.1)
    assert "2 not stated, 2 not revealed" in found.summary()
    assert found.to_dict()["n_unstated"] == 2


def test_numbers_that_are_no_probabilities_are_refused():
    half = np.full(2, 0.5)
    with pytest.raises(InputError, match=r"stated probabilities lie in \[0, 1\], got 37"):
        compare_stated(np.array([37.0, 0.5]), half, half, number_pairs=["a", "b"])
    with pytest.raises(ShapeError):
        compare_stated(half, half, half, number_pairs=["a"])
