"""Items on servers: exact where prompt log-probs come, else bounds from one request an item."""

import numpy as np
import pytest
from questions import hashed, question

from likely.calibration.scored import Policy
from likely.calibration.scoring import iter_scored, score_items

LETTERS = [*"ABCDEFGH", " "]
ITEMS = [question(context, ["A", "B"], lead="") for context in ("AB", "BA", "CC", "DH", "EA", "FB")]


PROBE = "ABBA"


@pytest.fixture
def served(loopback, connect):
    def load(dialect, **options):
        table = hashed(LETTERS)
        state = loopback.serve(table, dialect)
        return table, connect(**options), state

    return load


def test_a_server_that_tells_prompt_log_probs_gives_exact_masses(served):
    table, model, _ = served("vllm")
    served = score_items(model, ITEMS, level="exact")
    assert served.masses.is_exact.all()
    assert not served.partial
    truth = score_items(table, ITEMS, level="exact").masses.log_mass
    assert served.masses.log_mass == pytest.approx(truth, abs=1e-9)


def test_a_server_that_lists_the_likeliest_gives_bounds_for_one_request_an_item(served):
    table, model, state = served("llama.cpp", top_k=2)
    stream = iter_scored(model, ITEMS, policy=Policy(level="exact"), batch=3)
    first = next(stream)
    assert first.scored.partial
    state.hits.clear()
    second = next(stream)
    assert sum(n for path, n in state.hits.items() if "completion" in path) == 3
    truth = np.exp(score_items(table, ITEMS, level="exact").masses.log_mass).reshape(-1, 2)
    for batch in (first, second):
        for i, row in batch.scored.partial.items():
            extra = truth[batch.places[i]] - row.listed
            assert (extra >= -1e-9).all()
            assert (extra <= row.n_unlisted * row.cap + row.slack + 1e-9).all()
            assert extra.sum() <= row.rest + row.slack.sum() + 1e-9
