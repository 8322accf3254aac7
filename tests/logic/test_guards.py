import pytest

from likely.errors import InputError
from likely.logic.guards import guard_holds, normal_guard

ROW = {"id": "n1", "lang": "en", "tags": ("x", "y"), "n": 3}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("lang == 'en'", True),
        ("lang != 'en' or n > 2", True),
        ("1 < n <= 3", True),
        ("3 < n <= 3", False),
        ("'x' in tags and 'z' not in tags", True),
        ("not (lang in ['de', 'fr'])", True),
        ("r.lang == lang and r.id < 'n2'", True),
        ("n == -3", False),
        ("n < 2 and missing == 1", False),
    ],
)
def test_guards_mean_what_python_means(text, expected):
    scope = {**ROW, "r": ROW}
    assert guard_holds(text, scope) is expected


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')",
        "(lambda: 1)()",
        "[x for x in tags]",
        "lang.upper() == 'EN'",
        "tags[0] == 'x'",
        "n + 1 == 4",
        "f'{lang}' == 'en'",
        "lang if n else lang",
        "(m := 3) == 3",
    ],
)
def test_nothing_but_comparisons_is_read(text):
    with pytest.raises(InputError, match="a guard compares columns and constants"):
        normal_guard(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("lang = 'en'", "cannot be read"),
        ("kind == 'x'", "names 'kind'; there are"),
        ("lang < 3", "cannot compare 'en' with 3"),
        ("lang", "is a condition, got the value 'en'"),
        ("lang and n == 3", "'lang' is 'en', not a condition"),
        ("n.lang == 'en'", "'n' is not a bound row"),
    ],
)
def test_a_guard_that_cannot_be_decided_says_why(text, words):
    with pytest.raises(InputError, match=words):
        guard_holds(text, ROW)


def test_attributes_reach_columns_only():
    with pytest.raises(InputError, match="names '__class__'"):
        guard_holds("r.__class__ == 'x'", {"r": ROW})
