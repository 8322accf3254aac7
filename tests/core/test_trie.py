"""The prefix trie against a set of prefixes built by brute force."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from likely.core.trie import build_trie

sequences = st.lists(st.lists(st.integers(0, 2), max_size=6).map(tuple), min_size=0, max_size=12)


def prefixes(texts):
    return {ids[:n] for ids in texts for n in range(1, len(ids) + 1)}


@given(sequences)
def test_each_distinct_prefix_is_one_node(texts):
    trie, _ = build_trie(texts)
    nodes = [trie.prefix(node) for node in range(len(trie))]
    assert len(trie) == len(prefixes(texts))
    assert set(nodes) == prefixes(texts)
    assert nodes == sorted(nodes)


@given(sequences)
def test_the_path_of_a_sequence_spells_its_prefixes(texts):
    trie, paths = build_trie(texts)
    for ids, path in zip(texts, paths, strict=True):
        assert [trie.prefix(int(node)) for node in path] == [
            ids[:n] for n in range(1, len(ids) + 1)
        ]
        if ids:
            assert trie.path(int(path[-1])).tolist() == path.tolist()


@given(sequences)
def test_a_node_sees_exactly_its_prefixes(texts):
    trie, _ = build_trie(texts)
    every = np.arange(len(trie))
    sees = trie.sees(every[:, None], every[None, :])
    for query in range(len(trie)):
        for key in range(len(trie)):
            long, short = trie.prefix(query), trie.prefix(key)
            assert sees[query, key] == (long[: len(short)] == short)


@given(sequences)
def test_depths_parents_and_leaves_agree_with_the_prefixes(texts):
    trie, _ = build_trie(texts)
    for node in range(len(trie)):
        ids = trie.prefix(node)
        assert trie.depth[node] == len(ids)
        parent = int(trie.parent[node])
        assert (trie.prefix(parent) if parent >= 0 else ()) == ids[:-1]
    longest = {
        ids
        for ids in prefixes(texts)
        if not any(other[: len(ids)] == ids and other != ids for other in prefixes(texts))
    }
    assert {trie.prefix(int(leaf)) for leaf in trie.leaves()} == longest


def test_the_path_of_no_node_is_empty():
    trie, _ = build_trie([(1, 2)])
    assert trie.path(-1).tolist() == []
