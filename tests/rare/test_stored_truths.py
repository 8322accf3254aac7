"""The truths that come with the package fit the models and laws that come with it."""

import importlib.util
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

import likely
from likely import rare
from likely.core.streams import generator
from likely.rare.named import DISTRIBUTIONS
from likely.rare.reading import Reader
from likely.rare.stored_truths import stored_truth

MODELS = ("tiny-1l", "tiny-2l", "tiny-4l")


@pytest.mark.parametrize("name", MODELS)
def test_each_small_model_has_a_truth_under_each_named_law(name):
    model = likely.load(name)
    for law_name in DISTRIBUTIONS.names():
        found = stored_truth(model, rare.distribution(law_name, model))
        assert found is not None, f"no truth of {name} under {law_name}: run training/truth.py"
        assert max(found.counts.n_inputs, found.effective_rare) >= 2**26
        assert found.probs.sum() + found.tied == pytest.approx(1.0, abs=1e-9)
        assert (found.counts.inputs >= found.counts.stems).all()


def test_inputs_drawn_anew_agree_with_a_stored_truth():
    """Among tokens that win in more than 1 % of inputs, by the binomial law of fresh counts."""
    model = likely.load("tiny-1l")
    law = rare.distribution("hex", model)
    known = stored_truth(model, law)
    n = 2048
    winners = Reader(model).winners(law.sample(n, rng=generator(17, "fresh")))
    counts = np.bincount(winners[winners >= 0], minlength=known.n_vocab)
    common = np.flatnonzero(known.probs > 0.01)
    assert len(common) >= 5
    for token in common:
        q = float(known.probs[token])
        tail = min(binom.cdf(counts[token], n, q), binom.sf(counts[token] - 1, n, q))
        assert tail > 1e-6 / len(common), (token, counts[token] / n, q)


def test_another_law_of_the_same_name_has_no_stored_truth():
    model = likely.load("tiny-1l")
    other = rare.independent([{0: 1.0, 1: 1.0}] * 3, model, name="hex")
    assert stored_truth(model, other) is None


def counting_script(folder, monkeypatch):
    """Return ``training/truth.py`` as a module that keeps its files in a folder of the test."""
    path = Path(__file__).parents[2] / "training" / "truth.py"
    spec = importlib.util.spec_from_file_location("counting_script", path)
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    monkeypatch.setattr(script, "FOLDER", folder)
    return script


@pytest.mark.parametrize("other", [{"n_endings": 7}, {"seed": 1}, {"law": "x"}])
def test_counting_does_not_go_on_from_a_file_of_something_else(tmp_path, monkeypatch, other):
    script = counting_script(tmp_path, monkeypatch)
    model = likely.load("tiny-1l")
    known = stored_truth(model, rare.distribution("icl", model))
    known.save(tmp_path / "tiny-1l-icl.parquet")
    n = known.counts.n_inputs
    assert "inputs before" in script.count(("tiny-1l", "icl"), n_inputs=n, rounds=[2 * n])
    replace(known, **other).save(tmp_path / "tiny-1l-icl.parquet")
    with pytest.raises(SystemExit, match=r"tiny-1l-icl\.parquet is of other .* remove it"):
        script.count(("tiny-1l", "icl"), n_inputs=n, rounds=[2 * n])
