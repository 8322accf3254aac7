"""Answers as tries of tokens: spellings, the trie rule by independent recursion, clashes."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import likely
from likely.errors import InputError
from likely.logic.events import clashes, spellings
from likely.logic.events.answers import (
    average,
    branches,
    first_tokens,
    log_shares,
    odds_of,
    pair_of,
    together,
    tokenise,
)

LETTERS = ["A", "B", "C", "AB", " ", " A", " B", "\n", "?"]


def letters(**options):
    law = {token: 1 / len(LETTERS) for token in LETTERS}
    return likely.TableModel(LETTERS, lambda context: law, **options)


@st.composite
def tries(draw):
    """Draw a prefix-free set of sequences with step probabilities and token log-probs."""
    paths = draw(st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=4), min_size=1))
    sequences = list(dict.fromkeys(tuple(path) for path in paths))
    sequences = [s for s in sequences if not any(s[: len(t)] == t for t in sequences if t != s)]
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    log_probs = {
        node: {token: float(np.log(rng.uniform(0.01, 1.0) / 4)) for token in tokens}
        for node, tokens in branches(sequences).items()
    }
    return sequences, log_probs, rng


def by_recursion(node, log_probs, rescaled):
    """Return V(node) of the trie rule, as it is written."""
    if node not in log_probs:
        return 1.0
    probs = {token: math.exp(value) for token, value in log_probs[node].items()}
    whole = sum(probs.values())
    children = {token: by_recursion((*node, token), log_probs, rescaled) for token in probs}
    return rescaled[node] * sum(p / whole * children[token] for token, p in probs.items())


def by_paths(sequences, log_probs, rescaled, multi="conj"):
    pairs = {node: pair_of(math.log(p) - math.log1p(-p)) for node, p in rescaled.items()}
    values = [together([pairs[ids[:n]] for n in range(len(ids))], multi=multi) for ids in sequences]
    return average(log_shares(sequences, log_probs), values)


def raw(log_probs):
    return {node: sum(map(math.exp, values.values())) for node, values in log_probs.items()}


@given(tries())
def test_the_average_over_paths_is_the_trie_rule(drawn):
    sequences, log_probs, rng = drawn
    rescaled = {node: float(rng.uniform(0.01, 0.99)) for node in log_probs}
    value, complement = by_paths(sequences, log_probs, rescaled)
    want = by_recursion((), log_probs, rescaled)
    assert math.exp(value) == pytest.approx(want, rel=1e-12)
    assert math.exp(complement) == pytest.approx(1 - want, rel=1e-9, abs=1e-12)


@given(tries())
def test_under_raw_probabilities_the_rule_is_the_sum_over_sequences(drawn):
    sequences, log_probs, _ = drawn
    value, _ = by_paths(sequences, log_probs, raw(log_probs))
    want = sum(
        math.prod(math.exp(log_probs[ids[:n]][token]) for n, token in enumerate(ids))
        for ids in sequences
    )
    assert math.exp(value) == pytest.approx(want, rel=1e-12)


@given(st.floats(0.01, 0.99), st.integers(1, 4))
def test_for_single_tokens_the_rule_is_merge_then_rescale(p, n_tokens):
    sequences = [(i,) for i in range(n_tokens)]
    log_probs = {(): {i: math.log(0.1 * (i + 1)) for i in range(n_tokens)}}
    value, complement = by_paths(sequences, log_probs, {(): p})
    assert (math.exp(value), math.exp(complement)) == pytest.approx((p, 1 - p), rel=1e-12)


@given(st.lists(st.floats(0.01, 0.99), min_size=1, max_size=5))
def test_for_one_sequence_the_rule_is_the_conjunction_of_its_steps(probs):
    ids = tuple(range(len(probs)))
    log_probs = {ids[:n]: {n: -1.0} for n in ids}
    rescaled = {ids[:n]: p for n, p in enumerate(probs)}
    value, _ = by_paths([ids], log_probs, rescaled)
    assert math.exp(value) == pytest.approx(math.prod(probs), rel=1e-12)


@pytest.mark.parametrize(
    ("multi", "want"), [("conj", 0.081), ("geo", 0.081 ** (1 / 3)), ("min", 0.1)]
)
def test_the_modes_of_one_sequence(multi, want):
    steps = [pair_of(math.log(p) - math.log1p(-p)) for p in (0.9, 0.1, 0.9)]
    value, complement = together(steps, multi=multi)
    assert math.exp(value) == pytest.approx(want, rel=1e-12)
    assert math.exp(complement) == pytest.approx(1 - want, rel=1e-12)


@pytest.mark.parametrize("multi", ["conj", "geo", "min"])
def test_certain_and_impossible_steps_give_no_nan(multi):
    one, none, half = pair_of(math.inf), pair_of(-math.inf), pair_of(0.0)
    assert odds_of(together([one, one], multi=multi)) == math.inf
    assert odds_of(together([one, none, half], multi=multi)) == -math.inf
    assert odds_of(together([half, none], multi=multi)) == -math.inf
    assert not math.isnan(odds_of(together([one, half], multi=multi)))


def test_the_complement_of_a_conjunction_near_one_is_exact():
    tiny = pair_of(60.0)
    assert odds_of(together([tiny, tiny], multi="conj")) == pytest.approx(60 - math.log(2))


def test_impossible_nodes_share_evenly():
    shares = log_shares([(1,), (2,)], {(): {1: -math.inf, 2: -math.inf}})
    assert shares == pytest.approx([-math.log(2)] * 2)


def test_a_word_follows_one_space_as_given_and_capitalised():
    assert spellings(letters(), "A?", ["yes", "true"]) == (" yes", " Yes", " true", " True")
    assert spellings(letters(), "A?", ["Paris"]) == (" Paris",)


@pytest.mark.parametrize("context", ["", "A\n", "A "])
def test_after_white_space_or_nothing_a_word_stands_alone(context):
    assert spellings(letters(), context, ["yes"]) == ("yes", "Yes")


def test_contexts_given_as_ids_are_read_by_their_last_token():
    model = letters()
    assert spellings(model, [0, 8], ["yes"])[0] == " yes"
    assert spellings(model, [0, 7], ["yes"])[0] == "yes"


@pytest.mark.parametrize("words", [[], [""], [" yes"], ["yes\n"]])
def test_words_that_are_none_are_refused(words):
    with pytest.raises(InputError, match="word"):
        spellings(letters(), "A", words)


def test_a_spelling_that_another_one_contains_is_left_out():
    answer = tokenise(letters(), "?", ["A", "A?", "B"])
    assert answer.surfaces == ("A", "B")
    assert answer.sequences == ((0,), (1,))
    assert answer.flags == frozenset()


def test_spellings_of_one_split_are_one_sequence():
    answer = tokenise(letters(), "?", [" A", " A"])
    assert answer.sequences == ((5,),)


def test_a_token_that_spans_the_join_is_flagged_and_the_spelling_encoded_alone():
    answer = tokenise(letters(bos=None), "A", ["B"])
    assert "boundary_merge" in answer.flags
    assert (answer.context, answer.sequences) == ((0,), ((1,),))


def test_several_tokens_are_flagged_and_their_pieces_shown():
    answer = tokenise(letters(), "?", ["BA"])
    assert answer.flags == {"multi_token"}
    assert answer.pieces == (("B", "A"),)


def test_keys_tell_contexts_and_sets_apart_and_nothing_else():
    model = letters()
    one = tokenise(model, "?", ["A", "B"])
    assert one.key == tokenise(model, "?", ["B", "A", "B?"]).key
    others = [
        tokenise(model, "?", ["A"]),
        tokenise(model, "??", ["A", "B"]),
        tokenise(model, "?", ["A", "B"], word_end=True),
    ]
    assert len({one.key, *(other.key for other in others)}) == 4


def test_with_word_ends_a_spelling_that_begins_another_word_is_refused():
    with pytest.raises(InputError, match="begins"):
        tokenise(letters(), "?", ["C", "CA"], word_end=True)
    assert tokenise(letters(), "?", ["C", "C?"], word_end=True).surfaces == ("C",)


def test_first_tokens_are_distinct_and_in_order():
    answer = first_tokens(tokenise(letters(), "?", ["BA", "CA", "BC"]))
    assert (answer.sequences, answer.pieces) == (((1,), (2,)), (("B",), ("C",)))


def test_no_spellings_are_refused():
    with pytest.raises(InputError, match="spellings"):
        tokenise(letters(), "?", [])


def test_clashes_are_named_with_answers_and_pieces():
    model = letters()
    found = clashes(model, "?", {"one": ["C"], "two": ["CA"], "three": ["B"], "four": ["BA", "CC"]})
    assert [(c.kind, c.answers) for c in found] == [
        ("prefix", ("one", "two")),
        ("prefix", ("one", "four")),
        ("first_token", ("two", "four")),
        ("prefix", ("three", "four")),
    ]
    assert found[0].pieces == (("C",), ("C", "A"))
    assert "'one' ['C'] and 'two' ['C', 'A']" in found[0].summary()
    same = clashes(model, "?", {"x": ["C", "A"], "y": ["B", "A"]})
    assert [(c.kind, c.pieces) for c in same] == [("same", (("A",), ("A",)))]
    assert clashes(model, "?", ["A", "B"]) == ()
