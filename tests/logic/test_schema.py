import pytest

from likely.errors import InputError, StoreError
from likely.logic.schema import read_text, read_yaml

GOOD = """
name: driving
events:
  a: {context: "It is not safe to drink", answer: alcohol}
  c: {context: "It is safe to drink", answer: alcohol}
rules:
  says_no: "a"
  no_yes: {formula: "!c", kind: soft, weight: 1.5}
"""


def test_a_theory_is_read_as_written():
    part = read_text(GOOD, where="it")
    assert part.name == "driving"
    assert part.events["a"].answer == "alcohol"
    assert part.rules["no_yes"].weight == 1.5


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("rules:", "ruels:", "at ruels: no such key; did you mean 'rules'"),
        ("weight", "wieght", "at rules.no_yes.wieght: no such key; did you mean 'weight'"),
        ("answer: alcohol", "answer: yes", "at events.a.answer: YAML reads the bare words yes"),
        ("answer: alcohol", "answer: 3", "3 is a number here; put it in quotes"),
        ("kind: soft", "kind: sotf", "at rules.no_yes.kind: Input should be 'hard'"),
        ("no_yes:", "says_no:", "line 8, column 3: the key 'says_no' is given twice"),
        ("name: driving", "nam: driving", "at name: Field required"),
        ('"a"', '"a', "is not YAML at line"),
        ("name: driving", "name: !!python/object:os.system x", "is not YAML"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(old, new, words):
    with pytest.raises(InputError, match=words):
        read_text(GOOD.replace(old, new, 1), where="it")


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(StoreError, match=r"none.yaml' cannot be read: No such file"):
        read_yaml(tmp_path / "none.yaml")
    (tmp_path / "list.yaml").write_text("- a\n")
    with pytest.raises(InputError, match="holds list, not the keys of a theory"):
        read_yaml(tmp_path / "list.yaml")
