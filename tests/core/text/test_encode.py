"""From text to ids: the policies of BOS and of the join, by hypothesis on a table with merges."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import likely
from likely.core.text.encode import encode_context, encode_pair
from likely.errors import InputError

TOKENS = ["a", "b", " ", "ab", " a", "aa", "b "]


def table(**options):
    return likely.TableModel(TOKENS, lambda context: {"a": 1.0}, **options)


parts = st.text("ab ", max_size=8)


@given(parts, parts.filter(bool), st.sampled_from(["joint", "separate"]))
def test_the_ids_of_a_pair_spell_the_text_whatever_the_policy(before, after, boundary):
    model = table()
    pair = encode_pair(model, before, after, boundary=boundary)
    assert pair.context[0] == model.info.bos_id
    assert pair.context.count(model.info.bos_id) == 1
    assert pair.target
    assert model.tokenizer.decode((*pair.context[1:], *pair.target)) == before + after
    if boundary == "joint":
        assert (*pair.context[1:], *pair.target) == model.tokenizer.encode(before + after).tokens
    else:
        assert pair.target == model.tokenizer.encode(after).tokens


@given(parts, parts.filter(bool))
def test_a_merge_is_flagged_exactly_where_the_context_alone_splits_otherwise(before, after):
    model = table()
    kept = before.rstrip(" ")
    own = model.tokenizer.encode(kept).tokens
    whole = model.tokenizer.encode(before + after).tokens
    pair = encode_pair(model, before, after)
    merged = whole[: len(own)] != own
    assert ("boundary_merge" in pair.flags) is merged
    assert ("whitespace_moved" in pair.flags) is (kept != before)
    if merged:
        with pytest.raises(InputError, match="spans the join"):
            encode_pair(model, before, after, boundary="error")
    else:
        assert encode_pair(model, before, after, boundary="error") == pair


@given(parts, parts.filter(bool))
def test_both_spellings_of_a_space_at_the_join_are_one_pair(before, after):
    model = table()
    spaced = encode_pair(model, before + " ", after)
    moved = encode_pair(model, before, " " + after)
    assert (spaced.context, spaced.target) == (moved.context, moved.target)


@given(st.lists(st.integers(0, 6), min_size=1, max_size=5))
def test_ids_are_taken_as_they_are(ids):
    model = table()
    assert encode_context(model, ids)[0] == tuple(ids)
    assert encode_context(model, ids, bos="always")[0] == (model.info.bos_id, *ids)
    assert encode_pair(model, ids, "ab").target == (3,)
    assert encode_pair(model, "ab", ids).context == (model.info.bos_id, 3)


def test_the_bos_policy_on_text():
    model, without = table(), table(bos=None)
    assert encode_context(model, "ab", bos="never")[0] == (3,)
    assert encode_context(model, "", bos="auto")[0] == (model.info.bos_id,)
    assert encode_context(without, "ab")[0] == (3,)
    with pytest.raises(InputError, match="no BOS"):
        encode_context(without, "ab", bos="always")


def test_unusable_parts_are_refused():
    model = table()
    with pytest.raises(InputError, match="empty"):
        encode_pair(model, "a", "")
    with pytest.raises(InputError, match="empty"):
        encode_pair(model, "a", [])
    with pytest.raises(InputError, match="no token of the table"):
        encode_pair(model, "a", "z")
    with pytest.raises(InputError, match="pair 1"):
        likely.score(model, [("a", "b"), ("a", "z")])
