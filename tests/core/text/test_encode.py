"""What is no text and no ids is refused by name, and what cannot be scored says so."""

import subprocess
import sys

import numpy as np
import pytest

import likely
from likely.errors import InputError

COIN = likely.TableModel(["H", "T"], lambda context: {"H": 0.25, "T": 0.75})


# Run outside the tests' own type checks, which would stop such calls before they arrive.
WRONG_CALLS = """
import likely
coin = likely.TableModel(["H", "T"], lambda context: {"H": 0.25, "T": 0.75})
for wrong in (b"HT", [1.5], [None], ["H"], 7, [], ""):
    for pair in (("H", wrong), (wrong, "H")):
        if pair in ((("", "H")), ([], "H")):
            continue
        try:
            likely.score(coin, [pair])
        except likely.InputError as error:
            assert "pair 0" in str(error), error
            assert len(str(error).splitlines()) == 1
        else:
            raise SystemExit(f"{pair!r} was scored")
for policy in ("bos", "boundary"):
    try:
        likely.score(coin, [("H", "T")], **{policy: "sometimes"})
    except likely.InputError as error:
        assert "'sometimes'" in str(error), error
    else:
        raise SystemExit(f"{policy}='sometimes' was accepted")
"""


def test_what_is_neither_text_nor_ids_nor_a_policy_is_refused():
    done = subprocess.run([sys.executable, "-c", WRONG_CALLS], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_ids_of_numpy_are_ids():
    scores = likely.score(COIN, [(np.array([0]), np.array([1, 1]))])
    assert scores[0].tokens == (1, 1)


def test_half_a_surrogate_pair_is_named_with_its_place():
    with pytest.raises(InputError, match="character 1"):
        likely.surprisal(COIN, "H\ud83d")
    with pytest.raises(InputError, match="character 1"):
        likely.score(COIN, [("", "H\udc00")])


def test_a_score_of_nothing_is_flagged_and_not_shown_as_a_number():
    scores = likely.score(COIN, [("", "T")], bos="never")
    assert scores[0].token_log_probs == (None,)
    assert {"nothing_scored", "first_token_not_scored"} <= scores[0].flags
    assert scores.summary().startswith("not scored")
    with pytest.raises(InputError, match="no token is scored"):
        _ = scores[0].mean_log_prob
