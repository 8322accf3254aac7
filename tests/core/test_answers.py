"""Answers as sets of spellings: exact sums, disjoint events and word ends."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jaxtyping import TypeCheckError

import likely
from likely.core.answers import plan_answers
from likely.core.engine import Top, evaluate
from likely.core.text.surfaces import is_numeral, surfaces, uncovered
from likely.core.text.word_ends import word_ends
from likely.errors import InputError

REFUSED = (InputError, TypeCheckError)  # the annotation hook of the tests may speak first


def yes_no(**options):
    law = {" Yes": 0.30, "Yes": 0.25, " yes": 0.10, " No": 0.32, "no": 0.03}
    tokens = [*law, "yes", "No", " no", "?"]
    return likely.TableModel(tokens, lambda context: law, **options)


def animals():
    """The law of case O-42: after ``cat`` a word may end, go on as ``catfish`` or otherwise."""

    def law(context):
        if context[-1] == "<s>":
            return {"cat": 0.5, "dog": 0.3, "s": 0.2}
        if context[-1] == "cat":
            return {"</s>": 0.2, "fish": 0.3, "s": 0.5}
        return {"</s>": 1.0}

    return likely.TableModel(["cat", "dog", "fish", "s"], law, eos="</s>")


def prob(x):
    return math.exp(x)


def test_surfaces_of_each_level_hold_those_of_the_one_before():
    assert surfaces("cat", level="exact") == ("cat",)
    assert set(surfaces("cat")) == {"cat", " cat", "Cat", " Cat"}
    wide = surfaces("cat", level="wide")
    assert {*surfaces("cat"), "CAT", '"cat', "**cat", "\ncat"} <= set(wide)
    assert len(set(wide)) == len(wide)


def test_surfaces_of_a_number_are_not_doubled():
    assert surfaces("12") == ("12", " 12")


@pytest.mark.parametrize("word", ["", " yes", "yes\n"])
def test_a_word_with_white_space_around_it_is_refused(word):
    with pytest.raises(InputError, match="white space"):
        surfaces(word)


def test_numerals_are_told_from_words():
    assert [is_numeral(x) for x in ("7", " 12", "$3.5", "B2", "2nd", "five", "")] == [
        True, True, True, False, False, False, False,
    ]  # fmt: skip


def test_an_answer_is_the_sum_of_its_spellings():
    scores = likely.score_answers(
        yes_no(), ["?"], {"yes": ["Yes", " Yes", " yes", "yes"], "no": [" No"]}
    )
    answers = scores[0]
    assert prob(answers.log_prob("yes")) == pytest.approx(0.65, abs=1e-12)
    assert prob(answers.log_prob("no")) == pytest.approx(0.32, abs=1e-12)
    assert prob(answers.log_mass) == pytest.approx(0.97, abs=1e-12)
    assert prob(answers.log_other) == pytest.approx(0.03, abs=1e-12)
    assert answers[0].best_part.surface == " Yes"
    shares = {k: prob(v) for k, v in answers[0].log_shares().items()}
    assert shares == pytest.approx(
        {" Yes": 0.30 / 0.65, "Yes": 0.25 / 0.65, " yes": 0.10 / 0.65, "yes": 0.0}, abs=1e-12
    )
    assert not scores.has_word_ends


def test_words_are_spelled_out_by_the_level():
    answers = likely.score_answers(yes_no(), ["?", "?no"], ["yes", "no"])
    for item in answers:
        assert prob(item.log_prob("yes")) == pytest.approx(0.65, abs=1e-12)
        assert prob(item.log_prob("no")) == pytest.approx(0.35, abs=1e-12)


def test_a_word_that_begins_another_needs_its_word_end():
    scores = likely.score_answers(animals(), [""], ["cat", "catfish", "dog"], level="exact")
    answers = scores[0]
    raw = [prob(answer.log_prob) for answer in answers]
    assert raw == pytest.approx([0.10, 0.15, 0.30], abs=1e-12)
    assert prob(answers.log_mass) == pytest.approx(0.55, abs=1e-12)
    shared = [prob(x) for x in answers.renormalised().values()]
    assert shared == pytest.approx([10 / 55, 15 / 55, 30 / 55], abs=1e-12)
    assert scores.has_word_ends
    assert not answers.flags


def test_without_word_ends_an_overlap_is_flagged_and_never_counted_twice():
    scores = likely.score_answers(
        animals(), [""], ["cat", "catfish", "dog"], level="exact", word_end="never"
    )
    answers = scores[0]
    assert [prob(a.log_prob) for a in answers] == pytest.approx([0.5, 0.15, 0.3], abs=1e-12)
    assert prob(answers.log_mass) == pytest.approx(0.8, abs=1e-12)
    assert [sorted(a.flags) for a in answers] == [["overlap"], ["overlap"], []]
    with pytest.raises(InputError, match="overlap"):
        answers.renormalised()


def test_digits_always_need_their_word_end():
    law = {"1": 0.5, "2": 0.2, ".": 0.2, "a": 0.1}
    model = likely.TableModel(list(law), lambda context: law)
    answers = likely.score_answers(model, [""], ["1", "2", "12"], level="exact")[0]
    assert [prob(a.log_prob) for a in answers] == pytest.approx(
        [0.5 * 0.3, 0.2 * 0.3, 0.5 * 0.2 * 0.3], abs=1e-12
    )
    apart = likely.score_answers(model, [""], ["1", "2"], level="exact")
    assert apart.has_word_ends
    assert not likely.score_answers(model, [""], ["1", "a"], level="exact").has_word_ends


def test_of_two_spellings_of_one_answer_the_shorter_holds_the_longer():
    answers = likely.score_answers(animals(), [""], {"cat": ["catfish", "cat"], "dog": ["dog"]})[0]
    assert [part.surface for part in answers[0].parts] == ["cat"]
    assert prob(answers.log_prob("cat")) == pytest.approx(0.5, abs=1e-12)


def test_with_word_ends_both_spellings_of_one_answer_count():
    answers = likely.score_answers(
        animals(), [""], {"cat": ["catfish", "cat"], "dog": ["dog"]}, word_end="always"
    )[0]
    assert prob(answers.log_prob("cat")) == pytest.approx(0.25, abs=1e-12)


def test_a_phrase_that_begins_with_another_answer_overlaps_even_with_word_ends():
    law = {"New": 0.5, " York": 0.25, ".": 0.25}
    model = likely.TableModel(list(law), lambda context: law)
    answers = likely.score_answers(model, [""], ["New", "New York"], level="exact")[0]
    assert prob(answers.log_prob("New")) == pytest.approx(0.25, abs=1e-12)
    assert prob(answers.log_mass) == pytest.approx(0.25, abs=1e-12)
    assert answers.flags == {"overlap"}


def test_answers_that_share_a_spelling_are_refused():
    with pytest.raises(InputError, match="belongs to both 'yes' and 'Yes'"):
        likely.score_answers(yes_no(), ["?"], ["yes", "Yes"])


@pytest.mark.parametrize(
    "answers",
    ["yes", [], {}, {"yes": "yes"}, {"yes": []}, {"yes": [""]}, ["yes", "yes"]],
)
def test_answers_that_are_no_sets_of_spellings_are_refused(answers):
    with pytest.raises(InputError):
        likely.score_answers(yes_no(), ["?"], answers)


def test_a_text_in_place_of_contexts_is_refused():
    with pytest.raises(InputError, match="sequence of contexts"):
        likely.score_answers(yes_no(), "?", ["yes"])
    with pytest.raises(InputError, match="sequence of contexts"):
        likely.next_tokens(yes_no(), "?")


def test_an_unknown_policy_is_refused():
    with pytest.raises(REFUSED, match="word_end"):
        likely.score_answers(yes_no(), ["?"], ["yes"], word_end="maybe")
    with pytest.raises(REFUSED, match="level"):
        likely.score_answers(yes_no(), ["?"], ["yes"], level="most")


def test_impossible_answers_stay_impossible_and_cannot_be_renormalised():
    answers = likely.score_answers(yes_no(), ["?"], {"a": ["?"], "b": [" no"]})[0]
    assert answers.log_mass == -math.inf
    assert answers.log_other == 0.0
    with pytest.raises(InputError, match="probability 0"):
        answers.renormalised()
    with pytest.raises(InputError, match="probability 0"):
        answers[0].log_shares()
    json.loads(answers_json(answers), parse_constant=pytest.fail)


def answers_json(answers):
    from likely.core.jsonio import dumps

    return dumps(answers.to_dict())


def test_a_merge_across_the_join_is_encoded_alone_and_flagged():
    probs = {"A": 0.2, "B": 0.3, "AB": 0.5}
    model = likely.TableModel(["A", "B", "AB"], lambda context: probs)
    answers = likely.score_answers(model, ["A"], {"b": ["B"], "a": ["A"]})[0]
    assert prob(answers.log_prob("b")) == pytest.approx(0.3, abs=1e-12)
    assert answers[0].flags == {"boundary_merge"}
    assert answers[0].parts[0].tokens == (1,)
    assert answers[1].flags == frozenset()
    assert prob(answers.log_mass) == pytest.approx(0.5, abs=1e-12)


def test_a_context_that_ends_in_a_space_scores_the_same_words():
    model = yes_no()
    declared = {"yes": [" Yes", " yes"], "no": [" No"]}
    bare = likely.score_answers(model, ["?"], declared)[0]
    spaced = likely.score_answers(
        model, ["? "], {name: [form[1:] for form in forms] for name, forms in declared.items()}
    )[0]
    assert [a.log_prob for a in spaced] == [a.log_prob for a in bare]
    assert "whitespace_moved" in spaced.flags


def test_shared_prefixes_are_evaluated_once():
    model = animals()
    scores = likely.score_answers(model, [""], ["cat", "catfish", "dog"], level="exact")
    # <s>, cat, dog, cat fish: each once, word ends included.
    assert scores.cost.token_evaluations == 4
    assert scores.cost.model_calls == 1


def test_the_results_of_an_answer_call_read_as_a_frame_json_and_text():
    scores = likely.score_answers(yes_no(), ["?", "no"], ["yes", "no"])
    frame = scores.to_frame()
    assert list(frame["answer"]) == ["yes", "no", "yes", "no"]
    assert list(frame["context"]) == [0, 0, 1, 1]
    parsed = json.loads(scores.to_json(), parse_constant=pytest.fail)
    assert parsed["contexts"][0]["answers"][0]["log_prob"] == scores[0][0].log_prob
    assert "'yes', most as ' Yes'" in scores.summary()
    with pytest.raises(InputError, match="no answer named 'maybe'"):
        scores[0].log_prob("maybe")


def test_word_ends_are_the_tokens_that_cannot_go_on():
    tokens = ["a", " a", "é", "7", "-x", "'s", "\u2019", ".", "\n", "🙂", " 7", "─"]
    model = likely.TableModel(tokens, lambda context: {"a": 1.0}, eos="</s>")
    ends = {kind: word_ends(model, kind) for kind in ("word", "numeral")}
    strings = model.tokenizer.strings
    assert {s for i, s in enumerate(strings) if i in ends["word"]} == {
        " a", ".", "\n", "🙂", " 7", "─", "<s>", "</s>",
    }  # fmt: skip
    assert {s for i, s in enumerate(strings) if i not in ends["numeral"]} == {"7"}
    assert word_ends(model, "word") is ends["word"]
    assert ends["word"].reduction.name != ends["numeral"].reduction.name


ids = st.lists(st.integers(0, 2), min_size=1, max_size=4).map(tuple)


@given(st.lists(ids, min_size=1, max_size=12), st.sets(st.integers(0, 2)))
def test_uncovered_events_are_disjoint_and_cover_all(sequences, enders):
    kept = [sequences[i] for i in uncovered(sequences, lambda head, token: token in enders)]

    def worlds(event):
        """The texts of 6 ids in which the event happens."""
        return {w for w in WORLDS if w[: len(event)] == event and w[len(event)] in enders}

    union = set().union(*(worlds(s) for s in sequences))
    assert sum(len(worlds(s)) for s in kept) == len(union)
    assert set().union(*(worlds(s) for s in kept)) == union


WORLDS = {tuple(int(x) for x in np.base_repr(i, 3).rjust(6, "0")) for i in range(3**6)}


def test_answers_for_each_context_are_those_of_one_context_at_a_time():
    model = animals()
    each = [
        {"cat": ["cat"], "catfish": ["catfish"], "dog": ["dog"]},
        {"dog": ["dog"], "s": ["s"]},
        {"cat": ["cat"], "dog": ["dog"]},
    ]
    together = likely.score_answers(model, ["", "", "s"], each)
    for answers, declared, context in zip(together, each, ["", "", "s"], strict=True):
        alone = likely.score_answers(model, [context], declared)[0]
        assert answers == alone
    # Only the first needs to know where a word ends.
    assert [item.has_word_ends for item in together] == [True, False, False]
    assert not together.has_word_ends


def test_answers_for_each_context_share_its_prefixes():
    model = animals()
    each = [{"cat": ["cat"], "dog": ["dog"]}, {"fish": ["fish"], "dog": ["dog"]}]
    scores = likely.score_answers(model, ["cat", "catdog"], each)
    # <s>, cat, cat dog: each once.
    assert scores.cost.token_evaluations == 3


@pytest.mark.parametrize(
    "answers",
    [
        [{"cat": ["cat"]}],
        [{"cat": ["cat"]}, {"dog": ["dog"]}, {"s": ["s"]}],
        [{"cat": ["cat"]}, "dog"],
        ["dog", {"cat": ["cat"]}],
    ],
)
def test_answers_for_each_context_are_as_many_mappings(answers):
    with pytest.raises(REFUSED, match=r"as many mappings|answers"):
        likely.score_answers(animals(), ["", "s"], answers)


def test_a_plan_of_answers_leaves_room_for_other_requests():
    model = animals()
    plan = plan_answers(model, ["", "s"], ["cat", "dog"], level="exact")
    asked = plan.requests
    answered = evaluate(model, [*asked, Top(prefix=plan.contexts[0].events[0].context, k=2)])
    assert plan.read(answered.answers[: len(asked)]) == tuple(
        likely.score_answers(model, ["", "s"], ["cat", "dog"], level="exact")
    )
    assert answered[len(asked)].top.pieces == ("cat", "dog")
