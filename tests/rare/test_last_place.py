"""States by the last place: every token often enough, and the law put right by weights."""

import numpy as np
import pytest

from likely import rare
from likely.errors import InputError
from likely.rare.activations import collect
from likely.rare.last_place import by_turns, collect_by_last_place, serves
from likely.rare.method import Task


@pytest.fixture(scope="module")
def law(gpt2):
    rng = np.random.default_rng(0)
    ids = rng.choice(gpt2.info.n_tokens, size=12, replace=False).tolist()
    last = {token: 0.5**k for k, token in enumerate(ids)}
    return rare.independent([dict.fromkeys(ids, 1.0)] * 4 + [last, {ids[0]: 1.0}], gpt2)


def task_of(model, law, budget):
    return Task(model=model, distribution=law, events=(rare.token(3, model),), budget=budget)


def test_every_token_is_read_and_weights_put_the_law_right(gpt2, law):
    task = task_of(gpt2, law, 1024)
    found = collect_by_last_place(task)
    counts = np.bincount(found.groups, minlength=12)
    assert counts.min() >= 1024 // 24 - 1  # half of them go to all tokens alike
    assert found.weights.sum() == pytest.approx(1.0, abs=1e-12)
    held = np.bincount(found.groups, weights=found.weights)
    np.testing.assert_allclose(held, np.exp(law.supports[law.varying[-1]].log_probs), atol=1e-12)
    assert found.activations.spent.forwards == 1024
    plain = collect(task).states
    states = found.activations.states
    error = plain.std(axis=0) / np.sqrt(1024)
    assert (np.abs(found.weights @ states - plain.mean(axis=0)) < 6.0 * error).all()


def test_the_place_is_the_last_that_varies_and_its_token_is_the_group(gpt2, law):
    found = collect_by_last_place(task_of(gpt2, law, 256))
    place = law.varying[-1]
    assert place == law.length - 2
    means = np.stack([found.activations.states[found.groups == g].mean(axis=0) for g in (0, 1)])
    rng = np.random.default_rng(1)
    for g in (0, 1):
        inputs = law.sample(64, rng=rng)
        inputs[:, place] = law.supports[place].tokens[g]
        listed = rare.listed(inputs.tolist(), gpt2)
        mean = collect(task_of(gpt2, listed, 256)).states.mean(axis=0)
        away = [float(np.linalg.norm(mean - one)) for one in means]
        assert int(np.argmin(away)) == g


def test_each_number_stands_as_often_as_its_law_says():
    log_probs = np.log(np.array([0.7, 0.2, 0.06, 0.04]))
    counts = np.bincount(by_turns(log_probs, 1000), minlength=4)
    assert np.abs(counts - 1000 * np.exp(log_probs)).max() <= 1.0


def test_where_it_does_not_serve_is_told(gpt2, law):
    assert serves(task_of(gpt2, law, 48))
    assert not serves(task_of(gpt2, law, 47))
    listed = rare.listed([[1, 2], [3, 4]], gpt2)
    assert not serves(task_of(gpt2, listed, 1024))
    for distribution, budget in ((law, 47), (listed, 1024)):
        with pytest.raises(InputError, match="take prior='student'"):
            collect_by_last_place(task_of(gpt2, distribution, budget))
