"""Named random streams: the same on every machine, and independent of one another."""

from hypothesis import given
from hypothesis import strategies as st

from likely.core.streams import generator


def test_the_first_numbers_never_change():
    # Golden: written down once from numpy 2.4; PCG64 and SeedSequence are frozen by numpy.
    assert generator(0, "golden").integers(0, 2**32, size=3).tolist() == GOLDEN


@given(st.integers(0, 2**32), st.lists(st.text(max_size=4) | st.integers(0, 9), max_size=3))
def test_seed_and_names_fix_the_stream(seed, names):
    draws = [generator(seed, *names).random(4).tolist() for _ in range(2)]
    assert draws[0] == draws[1]
    assert generator(seed + 1, *names).random(4).tolist() != draws[0]
    assert generator(seed, *names, "more").random(4).tolist() != draws[0]


def test_names_are_told_apart_by_type_and_place():
    streams = [(1,), ("1",), ("1", "2"), ("12",), ("2", "1"), ()]
    assert len({generator(0, *names).random() for names in streams}) == len(streams)


GOLDEN = [2019407516, 2474310830, 974296038]
