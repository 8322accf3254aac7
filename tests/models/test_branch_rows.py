"""Branches that keep keys and values give what whole sequences give, whatever was asked before."""

import numpy as np
import pytest
from fixtures import plain_rows

from likely.core.branches import EngineStem, open_stem
from likely.core.model import Settings
from likely.models.branching import ModelStem

TEXT = (3, 14, 15, 9, 26, 53)
TAILS = np.array([[5, 8, 9, 7], [9, 3, 2, 3], [8, 4, 6, 2]])
CLOSE = 1e-5  # nats: float32 in other batch shapes


def wanted_rows(model, length, tails):
    return np.stack([plain_rows(model, [*TEXT[:length], *tail])[-1] for tail in tails])


def rows_of(branches):
    return np.concatenate(list(branches.iter_rows()))


@pytest.fixture(params=["gpt2", "window"])
def model(request):
    return request.getfixturevalue(request.param)


@pytest.mark.parametrize("memory", [1 << 29, 1])
def test_rows_after_branches_are_those_of_their_texts(model, memory):
    stem = open_stem(model, TEXT, settings=Settings(memory=memory))
    assert isinstance(stem, ModelStem)
    branches = stem.branches(4, 3)
    assert np.allclose(rows_of(branches), wanted_rows(model, 4, [()] * 3), atol=CLOSE)
    branches.append(TAILS[:, :3])
    assert np.allclose(rows_of(branches), wanted_rows(model, 4, TAILS[:, :3]), atol=CLOSE)
    assert np.allclose(rows_of(branches), wanted_rows(model, 4, TAILS[:, :3]), atol=CLOSE)
    branches.keep(np.array([2, 0, 0]))
    branches.append(TAILS[:, 3:])
    texts = [[*TAILS[i, :3], TAILS[row, 3]] for row, i in enumerate([2, 0, 0])]
    assert np.allclose(rows_of(branches), wanted_rows(model, 4, texts), atol=CLOSE)


@pytest.mark.parametrize("memory", [1 << 29, 1])
def test_growing_is_the_same_after_rows_were_read_and_tokens_put(model, memory):
    settings = Settings(memory=memory)
    plain = open_stem(model, TEXT, settings=settings).branches(5, 3)
    wanted = np.concatenate([plain.grow(TAILS[:, :2]), plain.grow(TAILS[:, 2:])], axis=1)
    mixed = open_stem(model, TEXT, settings=settings).branches(5, 3)
    mixed.append(TAILS[:, :1])
    rows_of(mixed)
    second = mixed.grow(TAILS[:, 1:2])
    rows_of(mixed)
    rest = mixed.grow(TAILS[:, 2:], last=True)
    assert np.allclose(np.concatenate([second, rest], axis=1), wanted[:, 1:], atol=CLOSE)
    direct = np.stack([plain_rows(model, [*TEXT[:5], *tail]) for tail in TAILS])
    at = np.take_along_axis(direct[:, 4:-1], TAILS[:, :, None], axis=2)[:, :, 0]
    assert np.allclose(wanted, at, atol=CLOSE)


def test_each_token_goes_through_the_model_once(gpt2):
    stem = open_stem(gpt2, TEXT)
    branches = stem.branches(4, 3)
    branches.append(TAILS[:, :3])
    rows_of(branches)
    rows_of(branches)
    branches.append(TAILS[:, 3:])
    rows_of(branches)
    assert stem.spending.cost.token_evaluations == len(TEXT) + TAILS.size


def test_what_does_not_fit_is_not_even_gathered(gpt2):
    branches = open_stem(gpt2, TEXT, settings=Settings(memory=1)).branches(4, 3)
    branches.append(TAILS)
    rows_of(branches)
    assert branches._own == []


@pytest.mark.parametrize("settings", [Settings(method="full"), Settings(deterministic=True)])
def test_settings_that_ask_for_whole_sequences_get_them(gpt2, settings):
    assert isinstance(open_stem(gpt2, TEXT, settings=settings), EngineStem)
