import math
import re

import pytest
from page_parts import Page
from report_models import TopOnly, bigram_model, coin

import likely
from likely import report
from likely.report.candidates import choose_positions, from_row, prefix_of
from likely.report.heatmap import cut_pieces
from likely.report.passage import Passage, load_passage
from likely.report.sections.reading import ReadingSection
from likely.report.totals import add_up


def read(model, text, **options):
    section = ReadingSection(passage=Passage(text=text, source="a test"))
    made = report.build(model, sections=[section], **options)
    return Page(made.html), made.to_dict()["sections"]["reading"]


def plain(html_text):
    return re.sub(r"\s+", " ", html_text)


def main_text(page):
    return plain("".join("".join(t) for tag, _, t in page.elements if tag == "main"))


@pytest.fixture(scope="module")
def passage():
    return load_passage("smoke").text


@pytest.fixture(scope="module")
def model(passage):
    return bigram_model(passage)


def test_heat_map_sums_to_the_texts_log_prob(model, passage):
    text = likely.surprisal(model, passage, with_entropy=True)
    pieces, tail = cut_pieces(text)
    assert "".join(piece.lead + piece.shown for piece in pieces) + tail == passage
    total = -sum(piece.surprisal_bits for piece in pieces) * math.log(2.0)
    assert math.isclose(total, text.log_prob, rel_tol=1e-12)


def test_page_shows_the_whole_text_and_its_own_sum(model, passage):
    page, data = read(model, passage)
    (_, shown), *others = page.with_class("heat")
    assert not others
    assert shown.replace("⏎⏎\n", "\n\n") == passage
    hints = [attributes["title"] for attributes, _ in page.with_class("t") if "title" in attributes]
    bits = [float(re.search(r"([\d.]+) bits, probability", hint)[1]) for hint in hints]
    assert len(bits) == data["totals"]["n_tokens"]
    assert abs(sum(bits) * math.log(2.0) + data["text"]["log_prob"]) < 0.005 * len(bits)


def test_totals_of_a_coin_are_those_on_paper():
    # H has 1/4 and T 3/4: 2 bits and 0.415 bits; the entropy of a toss is 0.8113 bits.
    text = likely.surprisal(coin(), "HTTH", with_entropy=True)
    totals = add_up(text)
    assert totals.bits == pytest.approx(2 * 2 + 2 * math.log2(4 / 3), abs=1e-12)
    assert totals.bits_per_token == totals.bits_per_byte == totals.bits / 4
    entropy = 0.25 * 2 + 0.75 * math.log2(4 / 3)
    assert totals.entropy_bits == pytest.approx(entropy, abs=1e-12)
    assert totals.effective_support == pytest.approx(2**entropy, abs=1e-12)
    # Two differences of d and two of e: mean (d + e) / 2, deviation |d - e| / 2 * sqrt(4 / 3).
    d, e = 2 - entropy, math.log2(4 / 3) - entropy
    half = 1.959964 * abs(d - e) / 2 * math.sqrt(4 / 3) / 2
    assert totals.gap.value == pytest.approx((d + e) / 2, abs=1e-12)
    assert totals.gap.high - totals.gap.value == pytest.approx(half, abs=1e-12)


def test_page_says_whether_the_text_was_as_surprising_as_expected():
    balanced, _ = read(coin(), "HTTT" * 8)
    assert "Here 0 is inside the interval" in main_text(balanced)
    surprising, _ = read(coin(), "HHHHHHHT" * 4)
    assert "more than it expects" in main_text(surprising)
    easy, _ = read(coin(0.5 - 0.45), "T" * 31 + "H")
    assert "−" in main_text(easy)


def test_chosen_positions_are_the_extremes_and_the_middle(model, passage):
    text = likely.surprisal(model, passage)
    choices = choose_positions(text, n_each=2)
    by_reason = {reason: [c for c in choices if c.reason == reason] for reason in
                 ("most surprising", "middling", "least surprising")}  # fmt: skip
    ranked = sorted(text.token_log_probs)
    assert sorted(c.log_prob for c in by_reason["most surprising"]) == ranked[:2]
    assert [c.log_prob for c in by_reason["least surprising"]] == ranked[-1:]
    assert ranked[50] <= by_reason["middling"][0].log_prob <= ranked[-50]
    assert [c.letter for c in choices] == list("ABCD")
    assert [c.index for c in choices] == sorted(c.index for c in choices)


def test_expected_tokens_agree_with_the_score_of_the_one_that_came(model, passage):
    _, data = read(model, passage)
    for position in data["positions"]:
        scored = data["text"]["token_log_probs"][position["index"]]
        assert position["log_prob"] == pytest.approx(scored, abs=1e-12)
        listed = [c["log_prob"] for c in position["candidates"] if c["came"]]
        assert listed in ([], [position["log_prob"]])
        assert bool(listed) == (position["rank"] <= 6) or position["n_tied"]
        mass = sum(math.exp(c["log_prob"]) for c in position["candidates"])
        mass += 0.0 if listed else math.exp(position["log_prob"])
        assert mass + math.exp(position["log_mass_others"]) == pytest.approx(1.0, abs=1e-9)


def test_ties_in_rank_are_counted_and_said():
    model = likely.TableModel("abcdefgh", lambda _: dict.fromkeys("abcdefgh", 1 / 8))
    text = likely.surprisal(model, "hg")
    choice = choose_positions(text, n_each=2)[0]
    row = likely.next_token(model, prefix_of(text, choice))
    found = from_row(text, choice, row, k=6)
    assert (found.rank, found.n_tied, found.is_listed) == (1, 7, False)
    page, _ = read(model, "hg")
    assert "7 other tokens have exactly the probability" in main_text(page)


def test_without_bos_the_first_token_shows_as_not_scored():
    page, data = read(coin(bos=None), "HTHT")
    assert data["text"]["token_log_probs"][0] is None
    classes = [
        attributes["class"] for attributes, _ in page.with_class("t") if "title" in attributes
    ]
    assert classes[0] == "t none"
    assert "1 token is not scored" in main_text(page)
    assert data["totals"]["n_bytes"] == data["totals"]["n_scored"] == 3


def test_a_text_of_one_unscored_token_says_so():
    page, data = read(coin(bos=None), "H")
    assert "none is scored" in data["problem"]
    assert data["problem"] in main_text(page)


def test_a_text_that_the_tokenizer_cannot_split_says_so():
    page, data = read(coin(), "abc")
    assert "no token of the table matches" in data["problem"]
    assert page.with_class("notice")


def test_a_text_longer_than_the_context_is_read_in_windows_and_says_so():
    page, data = read(coin(max_tokens=8), "HTTT" * 6)
    assert data["text"]["window"] == 8
    assert data["totals"]["n_scored"] == 24
    assert "windows of 8 tokens" in main_text(page)
    assert all(position["index"] + 1 <= 8 for position in data["positions"])


def test_impossible_tokens_are_infinite_and_not_averaged_away():
    page, data = read(coin(0.0), "TTHT")
    assert data["totals"]["surprisal_bits"] == math.inf
    assert data["totals"]["gap"] is None
    text = main_text(page)
    assert "A token of probability 0 came" in text
    assert "drawn to the top" in text
    assert "nan" not in text.lower()


def test_a_model_with_part_of_each_row_gives_bounds_and_says_what_is_missing(passage):
    model = TopOnly(bigram_model(passage), k=3)
    page, data = read(model, passage)
    text = main_text(page)
    assert data["text"]["entropies"] is None
    assert any(data["text"]["censored"])
    assert "Entropy and effective support need the whole next-token distribution" in text
    assert "at least this surprising, and so is the sum" in text
    assert "≤ −" in text
    assert "> 3" in text
    full = likely.surprisal(bigram_model(passage), passage)
    assert data["text"]["log_prob"] >= full.log_prob
    assert data["totals"]["gap"] is None
    for position in data["positions"]:
        is_ranked = position["reason"] != "not told, only bounded"
        assert is_ranked == (not data["text"]["censored"][position["index"]])
        assert is_ranked == (position["rank"] is not None) == (not position["is_bound"])
    assert not all(position["rank"] for position in data["positions"])
    assert "most surprising of those told" in text


def test_a_model_that_scores_no_given_text_gets_a_notice(passage):
    model = TopOnly(bigram_model(passage), k=3, has_pairs=False)
    page, data = read(model, passage)
    assert "has no continuation" in data["problem"]
    assert data["problem"] in main_text(page)


def test_tokens_that_share_a_character_are_each_shown_once():
    # Two tokens stand for the two bytes of one character, as in a byte-level tokenizer.
    text = likely.TableModel(["a", "b"], lambda _: {"a": 0.5, "b": 0.5})
    scored = likely.surprisal(text, "ab")
    shared = type(scored)(
        **{name: getattr(scored, name) for name in scored.__dataclass_fields__}
        | {"text": "é!", "spans": ((0, 1), (0, 1)), "byte_spans": ((0, 1), (1, 2))}
    )
    pieces, tail = cut_pieces(shared)
    assert [piece.shown for piece in pieces] == ["é", ""]
    assert tail == "!"
