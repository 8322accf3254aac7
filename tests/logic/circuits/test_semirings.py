import random

import numpy as np
import pytest
import torch
from assignments import model_weights
from formulas import random_formula, truth_table

from likely.logic.circuits.bdd import build_bdd
from likely.logic.circuits.graph import smooth
from likely.logic.circuits.layers import Layers
from likely.logic.circuits.semirings import best_model, best_models

NAMES = [f"v{i}" for i in range(6)]
IMPOSSIBLE = -np.inf


def random_case(seed):
    """A formula's table, its graph, and random weights of literals, some of them impossible."""
    rng = random.Random(seed)
    names = NAMES[: rng.randint(1, 6)]
    formula = random_formula(rng, names, depth=3)
    bdd, root = build_bdd(formula, names=names)
    weight = lambda: rng.choice([rng.gauss(0, 3), rng.gauss(0, 3), rng.gauss(0, 3), IMPOSSIBLE])  # noqa: E731
    log_pos, log_neg = (np.array([[weight() for _ in range(4)] for _ in names]) for _ in range(2))
    return truth_table(formula, names), bdd.to_graph(root), log_pos, log_neg


def sorted_weights(table, log_pos, log_neg):
    _, weights = model_weights(table, log_pos, log_neg)
    return np.sort(weights[weights > IMPOSSIBLE])[::-1]


def weight_of(model, log_pos, log_neg):
    return np.where(model, log_pos, log_neg).sum()


def holds(table, model):
    return table[sum(bool(value) << i for i, value in enumerate(model))]


@pytest.mark.parametrize("seed", range(25))
def test_the_best_model_is_the_heaviest_of_all(seed):
    table, graph, log_pos, log_neg = random_case(seed)
    for form in (graph, smooth(graph)):
        best, models = best_model(Layers(form), torch.tensor(log_pos), torch.tensor(log_neg))
        for item in range(4):
            pos, neg = log_pos[:, item], log_neg[:, item]
            expected = sorted_weights(table, pos, neg)
            if len(expected) == 0:
                assert best[item] == -torch.inf
                continue
            model = models[:, item].numpy()
            assert float(best[item]) == pytest.approx(expected[0], abs=1e-12)
            assert weight_of(model, pos, neg) == pytest.approx(expected[0], abs=1e-12)
            assert holds(table, model)


@pytest.mark.parametrize("seed", range(25))
@pytest.mark.parametrize("k", [1, 3, 70])
def test_the_best_models_are_the_heaviest_in_order_and_all_different(seed, k):
    table, graph, log_pos, log_neg = random_case(seed)
    layers = Layers(smooth(graph))
    best, models = best_models(layers, k, torch.tensor(log_pos), torch.tensor(log_neg))
    for item in range(4):
        pos, neg = log_pos[:, item], log_neg[:, item]
        expected = sorted_weights(table, pos, neg)[:k]
        found = best[:, item].numpy()
        np.testing.assert_allclose(found[: len(expected)], expected, atol=1e-12)
        assert (found[len(expected) :] == IMPOSSIBLE).all()
        chosen = [tuple(model) for model in models[:, :, item].T.tolist()]
        assert len(set(chosen[: len(expected)])) == len(expected)
        assert not any(any(model) for model in chosen[len(expected) :])
        for value, model in zip(expected, chosen, strict=False):
            assert holds(table, model)
            assert weight_of(model, pos, neg) == pytest.approx(value, abs=1e-12)


def test_the_best_of_the_best_models_is_the_best_model():
    for seed in range(20):
        _, graph, log_pos, log_neg = random_case(seed)
        weights = torch.tensor(log_pos), torch.tensor(log_neg)
        value, _ = best_model(Layers(graph), *weights)
        values, _ = best_models(Layers(smooth(graph)), 2, *weights)
        torch.testing.assert_close(values[0], value)
