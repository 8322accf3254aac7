"""The edit distance is the length of a shortest path of single edits."""

from collections import deque
from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from likely.stats.edit_distance import edit_distance

ALPHABET = (0, 1)


def neighbours(word, longest):
    for i in range(len(word)):
        yield word[:i] + word[i + 1 :]
        for letter in ALPHABET:
            yield (*word[:i], letter, *word[i + 1 :])
    if len(word) < longest:
        for i in range(len(word) + 1):
            for letter in ALPHABET:
                yield (*word[:i], letter, *word[i:])


def shortest_paths(start, longest):
    found, queue = {start: 0}, deque([start])
    while queue:
        word = queue.popleft()
        for other in neighbours(word, longest):
            if other not in found:
                found[other] = found[word] + 1
                queue.append(other)
    return found


def test_it_is_the_shortest_path_between_all_short_words():
    words = [word for n in range(4) for word in product(ALPHABET, repeat=n)]
    for start in words:
        paths = shortest_paths(start, 4)
        assert {word: edit_distance(start, word) for word in words} == {
            word: paths[word] for word in words
        }


tokens = st.lists(st.integers(0, 3), max_size=8)


@given(tokens, tokens, tokens)
def test_it_is_a_metric(a, b, c):
    assert edit_distance(a, b) == edit_distance(b, a)
    assert (edit_distance(a, b) == 0) == (a == b)
    assert edit_distance(a, c) <= edit_distance(a, b) + edit_distance(b, c)
