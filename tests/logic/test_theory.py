import pytest

from likely.errors import InputError, UnknownNameError
from likely.logic.theory import Theory

TEXT = """
name: negation
frames: {pos: "It is safe to drink", neg: "It is not safe to drink"}
rows: [{id: n1, bad: bleach}, {id: n2, bad: petrol}]
events:
  a: {frame: neg, answer: "{bad}"}
  c: {frame: pos, answer: "{bad}"}
theories:
  Tp: "a"
  Tn: "!c"
  full: "Tp & Tn"
  weighed: {rules: {r: {formula: "a ^ c", kind: noisy, weight: 0.9}}, evidence: "a | c"}
queries: {CLOSE: "full"}
"""


def test_a_claim_may_use_the_names_of_those_above_it():
    theory = Theory.from_text(TEXT)
    assert str(theory.claim("full").formula) == "a & !c"
    assert str(theory.queries["CLOSE"]) == "a & !c"


def test_rules_alone_make_one_claim_of_the_theorys_name():
    text = TEXT[: TEXT.index("theories:")] + 'rules: {one: "a", two: "!c"}\nevidence: "a | c"\n'
    (claim,) = Theory.from_text(text).claims
    assert claim.name == "negation"
    assert str(claim.formula) == "a & !c"
    assert str(claim.evidence) == "a | c"


def test_the_digest_follows_what_the_theory_says_and_not_how():
    theory = Theory.from_text(TEXT)
    assert Theory.from_text("# a remark\n" + TEXT).digest == theory.digest
    assert Theory.from_text(TEXT.replace("bleach", "bleech")).digest != theory.digest


def test_rows_in_python_are_a_file_in_python():
    made = Theory.from_rows(
        [{"id": "n1", "bad": "bleach"}],
        name="t",
        frames={"pos": "It is safe to drink"},
        events={"c": {"frame": "pos", "answer": "{bad}"}},
        theories={"Tn": "!c"},
    )
    text = 'name: t\nframes: {pos: "It is safe to drink"}\nrows: [{id: n1, bad: bleach}]\n'
    text += 'events: {c: {frame: pos, answer: "{bad}"}}\ntheories: {Tn: "!c"}\n'
    assert made.digest == Theory.from_text(text).digest


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"a"', '"q"', "no event named 'q'"),
        ('"a"', '"a &"', "'negation': the formula 'a &' has the end at column 4"),
        ("frame: neg", "frame: neq", "no frame .of the event 'a'. named 'neq'; did you mean"),
        ("id: n2", "id: n1", "more than one row 'n1'"),
        ("weight: 0.9", "weight: 1.9", "is a probability, got 1.9"),
        ("kind: noisy, ", "", "the hard rule 'r' takes no weight, got 0.9"),
        (", weight: 0.9", "", "the noisy rule 'r' takes a weight, got None"),
        ("frame: neg, ", "", "'a' needs either frame: or context:"),
        (', answer: "{bad}"', "", "'a' needs either answer: or spellings:"),
        ("full:", "a:", "'a' names both an event and a theory"),
        ('"full"', '"weighed"', "has the noisy rule 'r', so it is no plain formula"),
        ("id: n2, ", "", "row 1 has no id"),
        ('"full"', '"e(n1)"', "no event named 'e'"),
    ],
)
def test_a_part_that_does_not_fit_is_named(old, new, words):
    with pytest.raises(InputError, match=words):
        Theory.from_text(TEXT.replace(old, new, 1))


def test_an_event_that_nothing_uses_is_refused():
    extra = TEXT.replace("events:\n", "events:\n  idle: {frame: pos, answer: water}\n")
    with pytest.raises(InputError, match="declares the event 'idle', which no rule"):
        Theory.from_text(extra)


def test_an_unknown_claim_has_its_neighbours_named():
    with pytest.raises(UnknownNameError, match="no claim named 'ful'; did you mean"):
        Theory.from_text(TEXT).claim("ful")
