import pytest
from test_evaluation import HEAD, model

from likely.logic.theory import Theory
from likely.logic.validation import validate

GOOD = HEAD + 'theories: {Tp: "a & b", Tc: "c & g"}\n'


def problems(text, *, asked=None):
    return [(p.level, p.where, p.message) for p in validate(Theory.from_text(text), asked).problems]


def test_a_sound_theory_has_notes_at_most():
    found = validate(Theory.from_text(GOOD), model())
    assert found.is_usable
    assert (found.n_rows, found.n_instances, found.n_items, found.n_events) == (2, 2, 4, 8)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"a & b"', '"(a | !a) & b | !b"', "always holds"),
        ('"a & b"', '"a & b & !a"', "can never hold"),
        ("pos: safe", 'pos: "safe "', "has a space at its end"),
        ("pos: safe", 'pos: "un  safe"', "two in a row"),
    ],
)
def test_what_makes_a_theory_useless_is_an_error(old, new, words):
    found = problems(GOOD.replace(old, new, 1))
    assert any(level == "error" and words in message for level, _, message in found)


def test_a_context_with_one_answer_is_noted():
    found = problems(GOOD)
    assert any("closed reading has no competitor" in message for _, _, message in found)


def test_a_row_that_fits_nothing_is_noted():
    text = GOOD.replace("{id: r2, bad: tea, good: gin}", "{id: r2, evil: tea}")
    assert ("note", "row r2", "no pack and claim fits this row") in problems(text)


def test_answers_of_the_same_tokens_are_an_error():
    text = GOOD.replace('g: {frame: pos, answer: "{good}"}', 'g: {frame: pos, answer: "Gin"}')
    found = problems(text, asked=model())
    assert any(level == "error" and "same tokens" in message for level, _, message in found)


def test_a_rule_that_says_nothing_is_an_error_even_among_others():
    text = GOOD.replace('Tp: "a & b"', 'Tp: {rules: {one: "a & b", two: "c | !c"}}')
    found = problems(text)
    assert any(level == "error" and "'two' of 'drinks/all/r1/Tp'" in m for level, _, m in found)
