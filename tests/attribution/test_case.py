"""Which ids are attributed: the response begins where it should, and nothing is dropped."""

import pytest
from attribution_truth import chain, random_table

import likely
from likely.attribution import frame_case
from likely.errors import InputError, LikelyWarning


def _text(model, ids):
    return model.tokenizer.decode(ids)


def test_a_text_and_its_response_are_the_ids_of_their_joined_text(toy_bpe):
    case = frame_case(toy_bpe, "Answer: ABBA", " world")
    assert case.context == (toy_bpe.info.bos_id,)
    joined = toy_bpe.tokenizer.encode("Answer: ABBA world").tokens
    assert case.prompt + case.response == joined
    assert (case.prompt_text, case.response_text) == ("Answer: ABBA", " world")
    assert case.stem == case.context + case.prompt
    assert case.roles == ("text",) * len(case.prompt)
    assert case.positions == tuple(range(len(case.prompt)))
    assert case.flags == frozenset()


def test_spans_give_back_the_text_of_each_token(toy_bpe):
    case = frame_case(toy_bpe, "Answer: we were", " world")
    pieces = [case.prompt_text[start:stop] for start, stop in case.spans]
    assert pieces == [_text(toy_bpe, [token]) for token in case.prompt]
    pieces = [case.response_text[start:stop] for start, stop in case.response_spans]
    assert pieces == [_text(toy_bpe, [token]) for token in case.response]


def test_the_suffix_is_what_comes_after(toy_bpe):
    case = frame_case(toy_bpe, "ABBA", "XY")
    assert case.suffix(1) == case.prompt[2:] + case.response
    assert case.suffix(len(case.prompt) - 1) == case.response


def test_a_token_over_the_join_counts_to_the_response(toy_bpe):
    case = frame_case(toy_bpe, "Answer:", " Cat")
    assert "boundary_merge" in case.flags
    assert _text(toy_bpe, case.response).startswith(": C")
    assert _text(toy_bpe, case.prompt) == "Answer"
    apart = frame_case(toy_bpe, "Answer:", " Cat", boundary="separate")
    assert _text(toy_bpe, apart.prompt) == "Answer:"
    assert _text(toy_bpe, apart.response) == " Cat"
    with pytest.raises(InputError, match="spans the join"):
        frame_case(toy_bpe, "Answer:", " Cat", boundary="error")


def test_spaces_at_the_end_of_a_prompt_belong_to_the_response(toy_bpe):
    one, other = frame_case(toy_bpe, "we ", "do"), frame_case(toy_bpe, "we", " do")
    assert (one.prompt, one.response) == (other.prompt, other.response)
    assert "whitespace_moved" in one.flags
    assert "whitespace_moved" not in other.flags


def test_ids_are_taken_as_they_are(toy_bpe):
    case = frame_case(toy_bpe, [5, 9, 4], [7, 3])
    assert (case.prompt, case.response) == ((5, 9, 4), (7, 3))
    assert case.context == (toy_bpe.info.bos_id,)


def test_a_bos_that_the_ids_begin_with_is_not_doubled(toy_bpe):
    bos = toy_bpe.info.bos_id
    case = frame_case(toy_bpe, [bos, 5, 9], [7])
    assert case.context == (bos,)
    assert case.prompt == (5, 9)


def test_a_table_that_adds_its_bos_has_it_once():
    model = random_table()
    case = frame_case(model, "abca", "d")
    assert case.context == (model.info.bos_id,)
    assert case.prompt == (0, 1, 2, 0)


def test_without_a_bos_the_end_token_stands_before_the_prompt():
    model = random_table(bos=None, eos=".")
    assert frame_case(model, "ab", "c").context == (model.info.eos_id,)


def test_without_either_a_context_must_be_given(toy_bytes):
    with pytest.raises(InputError, match=r"no BOS and no end token.*give context"):
        frame_case(toy_bytes, "ab", "c")
    case = frame_case(toy_bytes, "ab", "c", context="xyz")
    assert _text(toy_bytes, case.context) == "xyz"
    assert _text(toy_bytes, case.prompt) == "ab"
    with pytest.raises(InputError, match="at least one token"):
        frame_case(toy_bytes, "ab", "c", context="")


def test_a_context_is_conditioned_on_and_not_attributed():
    model = random_table()
    case = frame_case(model, "ab", "c", context="dd")
    assert case.context == (model.info.bos_id, 3, 3)
    assert case.prompt == (0, 1)
    assert case.positions == (0, 1)


def test_a_prompt_that_begins_like_its_context_keeps_its_words(toy_bytes):
    case = frame_case(toy_bytes, "the the cat", " sat", context="the ")
    assert _text(toy_bytes, case.prompt) == "the the cat"


def test_an_empty_response_is_one():
    model = random_table()
    for response in ("", (), []):
        case = frame_case(model, "ab", response)
        assert case.response == ()
        assert case.response_text == ""
        assert case.response_spans == ()
        assert case.prompt == (0, 1)


def test_a_generated_response_is_the_likeliest_one():
    model = chain(((0.3, 0.7), (0.8, 0.2)), (0.5, 0.5))
    case = frame_case(model, "aa", generate=5)
    assert case.response_text == "babab"
    assert "generated" in case.flags


def test_a_generated_response_ends_with_the_end_token():
    model = likely.TableModel(["a", "."], lambda c: {"a": 0.9, ".": 0.1} if len(c) < 4 else
                              {".": 1.0}, eos=".")  # fmt: skip
    case = frame_case(model, "aa", generate=9)
    assert case.response_text == "a."
    assert case.flags == {"generated"}
    whole = frame_case(model, "aa", generate=3, stop_at_end=False)
    assert whole.response_text == "a.."


def test_a_response_is_cut_after_its_first_end_token():
    model = random_table(eos=".")
    with pytest.warns(LikelyWarning, match="end-of-sequence"):
        case = frame_case(model, "ab", "c.d.a")
    assert case.response_text == "c."
    assert "response_cut_at_end" in case.flags
    whole = frame_case(model, "ab", "c.d.a", stop_at_end=False)
    assert whole.response_text == "c.d.a"
    assert "response_cut_at_end" not in whole.flags
    ended = frame_case(model, "ab", "cd.")
    assert ended.response_text == "cd."
    assert "response_cut_at_end" not in ended.flags


def test_an_end_token_inside_the_prompt_stays():
    case = frame_case(random_table(eos="."), "a.b", "c")
    assert case.prompt_text == "a.b"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "not both"),
        ({"response": "a", "generate": 2}, "not both"),
        ({"generate": 0}, "at least 1, got 0"),
        ({"response": "a", "positions": [4]}, r"positions 0 to 1, got 4"),
        ({"response": "a", "positions": [0, -1]}, r"positions 0 to 1, got -1"),
    ],
)
def test_unusable_options_are_named(options, words):
    with pytest.raises(InputError, match=words):
        frame_case(random_table(), "ab", **options)


def test_a_prompt_of_nothing_is_refused():
    with pytest.raises(InputError, match="no tokens"):
        frame_case(random_table(), (), (1,))
    with pytest.raises(InputError, match="no tokens"):
        frame_case(random_table(), (4,), (1,))  # the BOS alone


def test_positions_come_sorted_and_once():
    case = frame_case(random_table(), "abcd", "a", positions=[3, 1, 3])
    assert case.positions == (1, 3)


def test_text_that_no_encoding_has_is_refused(toy_bytes):
    with pytest.raises(InputError, match="surrogate"):
        frame_case(toy_bytes, "a\ud800", "b", context="x")


def test_part_of_a_character_has_the_span_of_what_is_shown(toy_bytes):
    """Three bytes of a character: each token shows it; a lone one shows as a replacement."""
    case = frame_case(toy_bytes, "a€b", "c", context="x")
    assert len(case.prompt) == 5
    assert case.prompt_text == "a€b"
    assert case.spans == ((0, 1), (1, 2), (1, 2), (1, 2), (2, 3))
    broken = frame_case(toy_bytes, case.prompt[:2], case.prompt[2:], context="x")
    assert broken.prompt_text == "a\ufffd"
    assert broken.spans == ((0, 1), (1, 2))
    assert len(broken.response_spans) == 3


def test_tokens_after_a_broken_character_have_their_own_spans(toy_bytes):
    rest = frame_case(toy_bytes, "€b", "c", context="x").prompt[1:]
    case = frame_case(toy_bytes, rest, "c", context="x")
    assert case.prompt_text == "\ufffd\ufffdb"
    assert case.spans == ((0, 1), (1, 2), (2, 3))


# Chats. The toy template writes "[role] content\n" and opens a reply with "[assistant] ".


MESSAGES = (
    {"role": "system", "content": "Be kind."},
    {"role": "user", "content": "  Is 2 > 1?  "},
)


def test_words_of_the_user_are_what_is_attributed(toy_bpe):
    case = frame_case(toy_bpe, MESSAGES, "yes")
    assert case.prompt_text == "[system] Be kind.\n[user] Is 2 > 1?\n[assistant]"
    attributed = "".join(_text(toy_bpe, [case.prompt[i]]) for i in case.positions)
    assert attributed == "Is 2 > 1?"
    assert {case.roles[i] for i in case.positions} == {"user"}
    system = "".join(
        _text(toy_bpe, [token])
        for token, role in zip(case.prompt, case.roles, strict=True) if role == "system"
    )  # fmt: skip
    assert system == "Be kind."
    assert case.response_text == " yes"
    assert set(case.roles) == {"system", "user", "template"}


def test_other_roles_and_positions_can_be_chosen(toy_bpe):
    case = frame_case(toy_bpe, MESSAGES, "yes", roles=("system",))
    assert "".join(_text(toy_bpe, [case.prompt[i]]) for i in case.positions) == "Be kind."
    template = frame_case(toy_bpe, MESSAGES, "yes", positions=[0])
    assert template.positions == (0,)
    assert template.roles[0] == "template"
    assert frame_case(toy_bpe, MESSAGES, "yes", roles=("tool",)).positions == ()


def test_the_same_words_of_two_messages_are_told_apart(toy_bpe):
    case = frame_case(
        toy_bpe,
        [
            {"role": "user", "content": "xyz"},
            {"role": "assistant", "content": "xyz"},
            {"role": "user", "content": "xyz"},
        ],
        "q",
    )
    found = [role for role in case.roles if role != "template"]
    assert found == ["user"] * 3 + ["assistant"] * 3 + ["user"] * 3


def test_words_that_the_template_writes_too_are_told_apart(toy_bpe):
    case = frame_case(toy_bpe, [{"role": "user", "content": "use"}], "q")
    first = case.prompt_text.index("] ") + 2
    spans = [case.spans[i] for i in case.positions]
    assert (spans[0][0], spans[-1][1]) == (first, first + 3)


def test_a_rendered_chat_is_text(toy_bpe):
    rendered = likely.chat(toy_bpe, list(MESSAGES))
    case = frame_case(toy_bpe, rendered, "yes")
    assert case.prompt == frame_case(toy_bpe, MESSAGES, "yes").prompt
    assert set(case.roles) == {"text"}


def test_an_open_reply_that_the_template_would_trim_is_flagged(toy_bpe):
    messages = [*MESSAGES, {"role": "assistant", "content": "Well,  "}]
    case = frame_case(toy_bpe, messages, "yes")
    assert "template_trims" in case.flags


def test_positions_and_roles_are_not_both_given():
    with pytest.raises(InputError, match="both say what is attributed"):
        frame_case(random_table(), "ab", "a", positions=[0], roles=["text"])
