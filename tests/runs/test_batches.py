"""Batches of a run and its length foretold."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from likely.errors import InputError
from likely.runs.batches import Share, count_tokens, plan_batches
from likely.runs.items import Item

CONTEXTS = st.sampled_from(["", "a", "b", (1,), (1, 2), "abc"])


def items_of(contexts):
    return [Item(id=str(i), context=c, continuation="x") for i, c in enumerate(contexts)]


class Recorder:
    def __init__(self):
        self.total = self.done = 0

    def expect(self, tokens):
        self.total += tokens

    def advance(self, tokens):
        self.done += tokens


@given(st.lists(CONTEXTS), st.integers(1, 7))
def test_each_item_is_in_one_batch_and_none_is_too_big(contexts, size):
    batches = plan_batches(items_of(contexts), size=size)
    assert sorted(i for batch in batches for i in batch) == list(range(len(contexts)))
    assert all(1 <= len(batch) <= size for batch in batches)


@given(st.lists(CONTEXTS), st.integers(1, 7))
def test_a_context_that_fits_a_batch_is_in_one_batch_alone(contexts, size):
    batches = plan_batches(items_of(contexts), size=size)
    for context in set(contexts):
        places = {i for i, c in enumerate(contexts) if c == context}
        if len(places) <= size and context not in ("", ()):
            assert sum(bool(places & set(batch)) for batch in batches) == 1


def test_a_batch_of_nothing_is_refused():
    with pytest.raises(InputError, match="at least 1 item, got 0"):
        plan_batches([], size=0)


def test_shared_prefixes_are_counted_once():
    assert count_tokens([(1, 2, 3), (1, 2, 4), (1, 2), (5,)]) == 5
    assert count_tokens([]) == 0


def test_a_batch_that_needs_less_than_announced_corrects_the_total():
    recorder = Recorder()
    recorder.expect(10)
    share = Share(meter=recorder, planned=10)
    share.expect(4)
    share.advance(4)
    share.settle()
    assert (recorder.total, recorder.done) == (4, 4)
