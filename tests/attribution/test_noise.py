"""What batches do to a number is measured, and told where it is more than the tolerance."""

import warnings

import numpy as np
import pytest

import likely
from likely.attribution import attribute
from likely.errors import LikelyWarning


class Wobbly:
    """A table whose numbers move with how many texts are evaluated together."""

    def __init__(self, table, *, by):
        self.table, self.by = table, by
        self.info, self.tokenizer = table.info, table.tokenizer

    def evaluate(self, work, sink):
        n_texts = len(work.trie.leaves())
        self.table.evaluate(work, _Moved(sink, self.by if n_texts > 1 else 0.0))


class _Moved:
    def __init__(self, sink, by):
        self.sink, self.by = sink, by

    def put_pairs(self, index, log_probs, censored=None):
        self.sink.put_pairs(index, np.asarray(log_probs) - self.by, censored)

    def __getattr__(self, name):
        return getattr(self.sink, name)


LAW = {"a": 0.5, "b": 0.3, "c": 0.2}


def coin():
    return likely.TableModel(list(LAW), lambda context: LAW, bos=None)


CASE = {"prompt": "abc", "response": "ba", "context": "a", "method": "exact"}


def test_a_table_has_no_noise():
    assert attribute(coin(), **CASE).noise < 1e-12


def test_noise_within_the_tolerance_is_told_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = attribute(Wobbly(coin(), by=0.004), **CASE, tolerance=0.02)
    assert found.noise == pytest.approx(2 * 0.004, abs=1e-12)  # two tokens of the response


def test_noise_above_the_tolerance_is_a_warning_that_names_the_dtype():
    with pytest.warns(LikelyWarning, match="computes in float64"):
        found = attribute(Wobbly(coin(), by=0.05), **CASE, tolerance=0.02)
    assert found.noise == pytest.approx(0.1, abs=1e-12)


def test_without_a_response_there_is_nothing_to_move():
    assert attribute(Wobbly(coin(), by=0.05), **(CASE | {"response": ""})).noise == 0.0


def test_branches_of_a_real_model_are_its_plain_forward(gpt2):
    found = attribute(gpt2, "Answer: Cold", "er", positions=[0], method="exact")
    assert found.noise < 1e-4
