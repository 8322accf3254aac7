"""Samples of a table model find the masses, shares and distances that the table has."""

import math

import numpy as np
import pytest
from sampled_words import TWO, item, words

from likely.calibration.access.sampling import (
    SampleCounts,
    draw_counts,
    has_first_word,
    option_reader,
    sample_metrics,
    sampled_item,
)
from likely.calibration.data_sets.family import build
from likely.calibration.tables import targets
from likely.core.generation import ExactSampler
from likely.errors import InputError


def test_the_text_of_a_sample_is_read_by_surface_and_word_end():
    read = option_reader(TWO)
    answers = {
        " red": 0, "red.": 0, "Red, then": 0, " Blue!": 1, "blue\n": 1, "reddish": None,
        " red-hot": None, "\nred": None, "": None, "it is red": None, "RED": None,
    }  # fmt: skip
    assert {text: read(text) for text in answers} == answers
    assert option_reader(TWO, level="wide")("\nred") == 0
    assert option_reader(TWO, word_end="never")("reddish") == 0


def test_the_longest_option_is_the_one_that_was_said():
    read = option_reader(item(["1", "12"], ["1/2", "1/2"], [1, 12]))
    assert [read(text) for text in (" 1.", "12", " 123", "1st")] == [0, 1, None, 0]


def test_languages_without_spaces_need_no_word_end():
    read = option_reader(item(["红色", "蓝色"], ["1/2", "1/2"], lang="zh", lead=""))
    assert read("红色的") == 0


def test_counts_follow_the_model_and_keep_what_is_no_option():
    model = words({" red": 0.4, "Blue": 0.2, "red": 0.1, " green": 0.3})
    n = 20_000
    counts = draw_counts(ExactSampler(model=model, stop=has_first_word), [TWO, TWO], n, seed=3)
    assert counts.n.tolist() == [n, n]
    seen = np.array([*counts.of(0), counts.other[0]]) / n
    assert seen == pytest.approx([0.5, 0.2, 0.3], abs=4 * math.sqrt(0.25 / n))
    assert np.exp(counts.masses().log_mass[:2]) == pytest.approx(seen[:2])


def test_estimates_hold_the_truth_that_rows_tell():
    model = words({" red": 0.4, "Blue": 0.2, "red": 0.1, " green": 0.3})
    pm, share = 0.7, 0.5 / 0.7
    covered = {"pm": 0, "pi1": 0, "wd01": 0}
    repeats = 60
    for seed in range(repeats):
        counts = draw_counts(ExactSampler(model=model), [TWO], 60, max_tokens=2, seed=seed)
        found = sample_metrics(targets([TWO]), counts, level=0.9)
        for name, truth in (("pm", pm), ("pi1", share), ("wd01", abs(share - 0.6))):
            covered[name] += found[f"{name}_low"][0] <= truth <= found[f"{name}_high"][0]
    limit = 0.9 - 4 * math.sqrt(0.09 / repeats)
    assert all(hits / repeats >= limit for hits in covered.values()), covered


def test_a_calibrated_model_stays_in_its_null_band_and_passes_its_test():
    rng = np.random.default_rng(0)
    counts = SampleCounts(
        offsets=np.arange(0, 2 * 400 + 1, 2),
        counts=rng.multinomial(50, [0.6, 0.4], size=400).ravel(),
        other=np.zeros(400, dtype=np.int64),
    )
    found = sample_metrics(targets([TWO] * 400), counts)
    for share in ((found["wd01_plug_in"] > found["wd01_null_high"]).mean(),
                  (found["fit_p"] <= 0.05).mean()):  # fmt: skip
        assert share <= 0.05 + 4 * math.sqrt(0.05 * 0.95 / 400)
    assert found["wd01_null_mean"].mean() == pytest.approx(
        found["wd01_plug_in"].mean(), abs=4 * found["wd01_plug_in"].std() / 20
    )
    assert abs(found["wd01_corrected"].mean()) < 0.65 * found["wd01_plug_in"].mean()


def test_a_model_that_is_off_is_found_out():
    counts = SampleCounts(offsets=np.array([0, 2]), counts=np.array([95, 5]), other=np.array([20]))
    found = sample_metrics(targets([TWO]), counts)
    assert found["wd01_low"][0] > 0.25
    assert found["wd01_plug_in"][0] > found["wd01_null_high"][0]
    assert found["fit_p"][0] < 1e-6
    assert found["pm"][0] == pytest.approx(100 / 120)


def test_numbers_are_also_tested_along_their_line():
    four = item(list("1234"), ["1/4"] * 4, [1, 2, 3, 4])
    counts = SampleCounts(
        offsets=np.array([0, 4]), counts=np.array([12, 12, 2, 2]), other=np.array([0])
    )
    found = sample_metrics(targets([four]), counts)
    assert found["line_fit_p"][0] < 0.01
    assert np.isnan(found["pi1"][0])
    assert np.isnan(sample_metrics(targets([TWO]), SampleCounts(
        offsets=np.array([0, 2]), counts=np.array([5, 5]), other=np.array([0])
    ))["line_fit_p"][0])  # fmt: skip


def test_an_item_without_any_hit_has_a_mass_and_nothing_else():
    one = sampled_item(np.array([0, 0]), 30, np.array([0.6, 0.4]))
    assert (one.pm.value, one.pm.low) == (0.0, 0.0)
    assert 0.0 < one.pm.high < 0.15
    assert one.shares is one.wd01 is one.fit is None
    assert one.to_dict()["fit_p"] is None


def test_a_certain_model_has_estimates_too():
    one = sampled_item(np.array([30, 0]), 0, np.array([0.6, 0.4]))
    assert one.wd01.value == pytest.approx(0.4)
    assert one.shares[0].value == one.shares[0].high == 1.0
    assert set(one.to_dict()) == {"pm", "shares", "wd01", "fit_p", "line_fit_p"}


def test_what_cannot_be_sampled_is_refused():
    sampler = ExactSampler(model=words({" red": 1.0}))
    with pytest.raises(InputError, match="at least 1 item"):
        draw_counts(sampler, [], 5)
    with pytest.raises(InputError, match="same items"):
        sample_metrics(
            targets(build("colors", preset="smoke")[:2]),
            SampleCounts(offsets=np.array([0, 2]), counts=np.array([1, 1]), other=np.array([0])),
        )
