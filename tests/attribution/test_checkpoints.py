"""A series of models: means over positions, intervals over prompts, one model at a time."""

import gc
import json
import weakref

import numpy as np
import pytest

import likely
from likely.attribution import attribute, replacement, series
from likely.errors import InputError

PROMPTS = ["abca", "cabb", "bca"]


def model_of(sharpness):
    """Laws that are flat at first and sharper with training."""
    rows = {}
    for i, last in enumerate(["<s>", "a", "b", "c"]):
        weights = np.exp(sharpness * np.cos(np.arange(3) * (i + 1.0)))
        rows[last] = dict(zip("abc", (weights / weights.sum()).tolist(), strict=True))
    return likely.TableModel(list("abc"), lambda c: rows[c[-1]])


def test_means_are_those_of_the_places():
    model = model_of(1.5)
    (found,) = series([("one", model)], PROMPTS, generate=3, method="exact", n_own=10, own_length=3)
    made = [attribute(model, text, generate=3, method="exact") for text in PROMPTS]
    replaced = [replacement(model, one) for one in made]
    assert found.score.value == pytest.approx(np.concatenate([one.scores for one in made]).mean())
    assert found.response_entropy.value == pytest.approx(
        np.concatenate([one.response_entropy for one in made]).mean()
    )
    places = [place for one in replaced for place in one]
    for name in ("count_entropy", "weighted_entropy", "stability"):
        wanted = np.mean([getattr(place, name).value for place in places])
        assert getattr(found, name).value == pytest.approx(wanted)
    assert found.score.diagnostics["n_clusters"] == 3
    assert len(found.readings) == 11
    assert found.n_reached == 11
    assert found.own_gap.gap.low <= 0.0 <= found.own_gap.gap.high
    assert found.gap.gap.value == pytest.approx(found.surprisal.value - found.context_entropy.value)


def test_one_model_is_in_memory_at_a_time():
    alive = []

    def load():
        for sharpness in (0.0, 1.0, 2.0):
            gc.collect()
            assert all(ref() is None for ref in alive)
            model = model_of(sharpness)
            alive.append(weakref.ref(model))
            yield f"step {sharpness}", model
            del model

    found = series(load(), PROMPTS, generate=2, mass=None)
    assert [one.name for one in found] == ["step 0.0", "step 1.0", "step 2.0"]
    entropies = [one.context_entropy.value for one in found]
    assert entropies == sorted(entropies, reverse=True)  # sharper laws leave less open
    assert entropies[0] == pytest.approx(np.log(3))
    assert all(one.count_entropy is None and one.own_gap is None for one in found)


def test_responses_may_be_given():
    found = series(
        [("flat", model_of(0.0)), ("sharp", model_of(2.0))], PROMPTS,
        responses=["ab", "bc", "ca"], method="exact", mass=None,
    )  # fmt: skip
    assert found[0].score.value == pytest.approx(0.0, abs=1e-12)
    assert abs(found[1].score.value) > 1e-6


def test_results_are_tables_text_and_strict_json():
    models = [("flat", model_of(0.0)), ("sharp", model_of(2.0))]
    found = series(models, PROMPTS, generate=2, n_own=6, own_length=3)
    frame = found.to_frame()
    assert frame["name"].tolist() == ["flat", "sharp"]
    assert {"score_low", "own_gap", "weighted_entropy_high"} <= set(frame.columns)
    assert len(found.readings_frame()) == 22
    read = json.loads(found.to_json())
    assert read["checkpoints"][1]["surprisal"]["value"] == found[1].surprisal.value
    assert "sharp (11 positions)" in found.summary()


@pytest.mark.parametrize(
    ("models", "prompts", "options", "message"),
    [
        ([("a", 1.0)], ["abc"], {}, "at least 2 of them"),
        ([], PROMPTS, {}, "at least 1 model"),
        ([("a", 1.0), ("a", 2.0)], PROMPTS, {}, "a name of its own"),
        ([("a", 1.0)], PROMPTS, {"responses": ["a"]}, "each prompt has a response"),
    ],
)
def test_what_cannot_be_asked_is_refused(models, prompts, options, message):
    loaded = [(name, model_of(sharpness)) for name, sharpness in models]
    with pytest.raises(InputError, match=message):
        series(loaded, prompts, mass=None, **{"generate": 1, **options})
