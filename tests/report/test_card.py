import math

import numpy as np
from page_parts import Page
from report_models import Changed, TopOnly, coin

import likely
from likely import report
from likely.core.estimate import Cost
from likely.core.selfcheck import CheckRow, SelfCheck
from likely.errors import CapabilityError
from likely.report.sections.selfcheck import SelfCheckSection


def card(model):
    made = report.build(model, sections=["card"])
    page = Page(made.html)
    text = " ".join("".join("".join(t) for tag, _, t in page.elements if tag == "main").split())
    return text, made.to_dict()["sections"]["card"], made.cost


def sky_model(**options):
    tokens = ["The", " sky", " is", " blue"]
    return likely.TableModel(tokens, lambda _: dict.fromkeys(tokens, 0.25), **options)


def test_card_shows_first_ids_and_pieces_of_the_sample():
    text, data, _ = card(sky_model())
    assert data["sample_tokens"] == (4, 0, 1, 2)
    assert data["sample_pieces"] == ("<s>", "The", " sky", " is")
    assert "puts BOS <s> (id 4) before every text" in text
    assert "<s> 4, The 0, ␣sky 1, ␣is 2." in text


def test_card_says_that_there_is_no_bos():
    text, data, _ = card(sky_model(bos=None))
    assert data["sample_tokens"] == (0, 1, 2)
    assert "There is no BOS token: the first token of a text is not scored." in text


def test_card_of_a_tokenizer_that_cannot_split_the_sample_says_so():
    text, data, _ = card(coin())
    assert "“The sky is” cannot be split" in text
    assert "no token of the table matches" in data["sample_problem"]


class Wide(Changed):
    """A table with output rows that no token uses, uniform over all of them."""

    def __init__(self, n_unused):
        table = sky_model()
        super().__init__(table, n_vocab=table.info.n_vocab + n_unused)

    def evaluate(self, work, sink):
        row = np.full((1, self.info.n_vocab), -math.log(self.info.n_vocab))
        for node in work.row_nodes:
            sink.put_rows(np.array([node]), row)
        sink.spend(tokens=len(work.trie), calls=1, seconds=0.0)


def test_unused_rows_are_counted_and_weighed():
    text, data, cost = card(Wide(n_unused=15))  # 5 tokens in 20 rows
    assert data["n_unused"] == 15
    assert math.isclose(data["unused_prob"], 0.75, rel_tol=1e-12)
    assert "15 rows are no token; together they have probability 0.75" in text
    assert cost.token_evaluations == 4


def test_unused_mass_of_a_model_without_rows_is_unknown_and_not_zero():
    table = TopOnly(sky_model(), k=2)
    text, data, _ = card(Changed(table, n_vocab=9, capabilities=table.info.capabilities))
    assert data["unused_prob"] is None
    assert "does not tell how probable they are" in text


def test_no_unused_rows_cost_no_evaluation():
    text, data, cost = card(sky_model())
    assert (data["n_unused"], data["unused_prob"], cost) == (0, 0.0, Cost())
    assert "Every row is a token." in text


def self_check(check):
    made = report.build(coin(), sections=[SelfCheckSection(check=check)])
    page = Page(made.html)
    text = " ".join("".join("".join(t) for tag, _, t in page.elements if tag == "main").split())
    return text, page, made


def checks_of(*differences):
    rows = tuple(
        CheckRow(
            name=f"law {i}", what="one against other", largest_difference=x, limit=1e-4, n=1234
        )
        for i, x in enumerate(differences)
    )
    cost = Cost(token_evaluations=11)
    return SelfCheck(model="m", dtype="float32", rows=rows, left_out=("row law",), cost=cost)


def test_self_check_shows_each_row_with_its_limit_and_passes_on_its_cost():
    text, page, made = self_check(lambda _: checks_of(3.1e-7, 0.0))
    assert "All 2 checks passed" in text
    assert "3.1 × 10⁻⁷" in text
    assert "1.0 × 10⁻⁴" in text
    assert "1,234" in text
    assert "Not measured, since this model cannot give what it takes: row law." in text
    assert made.cost.token_evaluations == 11
    assert len(page.with_class("pass")) == 2
    assert page.data()["self-check"]["rows"][0]["largest_difference"] == 3.1e-7


def test_a_failed_check_is_said_in_words_and_never_by_colour_alone():
    text, page, _ = self_check(lambda _: checks_of(0.0, 0.5, math.inf))
    assert "2 of 3 checks failed" in text
    assert text.count("✗ failed") == 2
    assert "∞" in text
    assert len(page.with_class("fail")) == 2


def test_a_model_that_cannot_be_checked_gets_a_notice():
    def refuse(_):
        raise CapabilityError("no <continuations>")

    text, page, _ = self_check(refuse)
    assert "Not shown. no <continuations>" in text
    assert page.data()["self-check"] == {"problem": "no <continuations>"}


def test_the_real_self_check_of_a_table_passes():
    made = report.build(coin(), sections=["self-check"])
    assert "checks passed" in made.html
