"""Replies that state a probability, and replies that may not be read as one."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from likely.calibration.probability_text import parse_probability

HALF, THIRD, FIFTH = Fraction(1, 2), Fraction(1, 3), Fraction(1, 5)

READ = {
    "30%": Fraction(3, 10),
    "30 %": Fraction(3, 10),
    "**30%**": Fraction(3, 10),
    "About 30 percent.": Fraction(3, 10),
    "30 per cent": Fraction(3, 10),
    "The probability is 37.5%.": Fraction(3, 8),
    "12,5 %": Fraction(1, 8),
    "100%": Fraction(1),
    "0%": Fraction(0),
    "0.5%": Fraction(1, 200),
    "0.25": Fraction(1, 4),
    ".25": Fraction(1, 4),
    "0,125": Fraction(1, 8),
    "p = 0.3": Fraction(3, 10),
    "P(red) = 0.3": Fraction(3, 10),
    "1": Fraction(1),
    "0": Fraction(0),
    "1.0": Fraction(1),
    "3/10": Fraction(3, 10),
    "It's 3 / 10.": Fraction(3, 10),
    "½": HALF,
    "1\u20443": THIRD,
    "３０％": Fraction(3, 10),  # noqa: RUF001  # full-width figures
    "3/10 = 0.3 = 30%": Fraction(3, 10),
    "0.30 (30%)": Fraction(3, 10),
    "1 in 5": FIFTH,
    "1-in-5": FIFTH,
    "a 1 in 5 chance": FIFTH,
    "3 out of 10": Fraction(3, 10),
    "one in five": FIFTH,
    "one out of every five": FIFTH,
    "1 chance in 5": FIFTH,
    "1 in 1,000,000": Fraction(1, 10**6),
    "one in a million": Fraction(1, 10**6),
    "one half": HALF,
    "half": HALF,
    "A half.": HALF,
    "one third": THIRD,
    "two-thirds": Fraction(2, 3),
    "three quarters": Fraction(3, 4),
    "a quarter of the time": Fraction(1, 4),
    "thirty percent": Fraction(3, 10),
    "thirty-seven percent": Fraction(37, 100),
    "Thirty seven per cent": Fraction(37, 100),
    "one hundred percent": Fraction(1),
    "fifty-fifty": HALF,
    "50/50": HALF,
    "50-50": HALF,
    "even": HALF,
    "It is an even chance.": HALF,
    "even odds": HALF,
    "evens": HALF,
    "certain": Fraction(1),
    "Impossible.": Fraction(0),
    "zero": Fraction(0),
    "Unlikely, maybe 5%": Fraction(1, 20),
    "100% = 1": None,  # a number beside the stated one
}

REFUSED = [
    "", "I cannot say.", "likely", "very high", "42 apples", "37", "1.5", "150%", "3/2", "1/0",
    "5 in 2", "-5%", "p=-0.3", "between 20% and 30%", "20% to 30%", "20-30%", "20–30 %",
    "20 or 30%", "twenty to thirty percent", "one or two percent", "30% or 40%", "less than 5%",
    "at most 30%", "at least 1/2", "more than half", "up to 30%", "under 30%", "over 50%",
    "nearly 30%", "<5%", "≥ 30%", "30% ± 5%", "30% +/- 5", "not 30%", "It isn't 30%.", "no chance",
    "odds of 3 to 7", "3 to 7", "3:7", "1 in 4 or 5", "1 in 4 or 1 in 5",
    "100% sure that it is 1/2",
    "1/3, that is 33.3%", "1½", "1 1/2", "seven and a half", "ninety-nine point five percent",
    "zero point three", "1e-3", "3×10^-2", "12/05/2020", "5‰", "30%%", "half a percent",
    "a third bead", "even though", "uncertain", "a certain bead", "1,234%", "30 percentage points",
    "The 3 red beads give 30%", "3/10/2", "0.3.5", "2*3", "1%2", "0,3,5",
]  # fmt: skip


@pytest.mark.parametrize(("text", "value"), READ.items())
def test_a_stated_probability_is_read(text, value):
    assert parse_probability(text) == value


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_ambiguous_or_states_nothing_is_refused(text):
    assert parse_probability(text) is None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("37", Fraction(37, 100)),
        ("37.5", Fraction(3, 8)),
        ("37%", Fraction(37, 100)),
        ("The answer is 37.", Fraction(37, 100)),
        ("twenty-five", Fraction(1, 4)),
        ("1", Fraction(1, 100)),
        ("100", Fraction(1)),
        ("0", Fraction(0)),
        ("0.37", None),  # 0.37 % or 37 %?
        ("0.37%", Fraction(37, 10_000)),
        ("1/4", Fraction(1, 4)),
        ("101", None),
        ("20 30", None),
        ("20 to 30", None),
        ("37 beads", None),
        ("0.5 or so", None),
    ],
)
def test_after_a_question_for_percent_a_bare_figure_is_a_percentage(text, value):
    assert parse_probability(text, unit="percent") == value


@given(st.integers(0, 100))
def test_every_whole_percentage_is_read_in_each_of_its_forms(k):
    p = Fraction(k, 100)
    assert parse_probability(f"{k}%") == p
    assert parse_probability(f"About {k} percent, I would say.") == p
    assert parse_probability(f"{k / 100:.2f}") == p
    assert parse_probability(f"{k}/100") == p
    assert parse_probability(f"{k} in 100") == p
    assert parse_probability(str(k), unit="percent") == p
    assert parse_probability(f"{k / 100:.2f} ({k}%)") == p


@given(st.integers(0, 100), st.integers(0, 100), st.sampled_from(["{}% to {}%", "{}%-{}%"]))
def test_two_different_values_are_never_one(a, b, form):
    assert (parse_probability(form.format(a, b)) is None) == (a != b)


@given(st.integers(0, 100), st.integers(0, 100))
def test_a_range_with_one_sign_is_refused(a, b):
    for form in ("{}-{}%", "{} to {}%", "{} or {} percent", "between {} and {}%"):
        if (a, b) != (50, 50):
            assert parse_probability(form.format(a, b)) is None
            assert parse_probability(form.format(a, b), unit="percent") is None


@given(st.text(max_size=30))
def test_any_text_gives_a_probability_or_nothing(text):
    for unit in ("none", "percent"):
        value = parse_probability(text, unit=unit)
        assert value is None or 0 <= value <= 1
