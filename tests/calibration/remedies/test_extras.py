"""What else the model is asked: blanks and stems, each once."""

from dataclasses import replace

import numpy as np
import pytest
from known import colors, said
from questions import answering, question

from likely.calibration.data_sets.wording import NUMBER
from likely.calibration.remedies.extras import FILLERS, blanked, gather_evidence, stem
from likely.calibration.scoring import score_items

LAW = {"C1": (0.3, 0.5), "C2": (0.2, 0.2), "C5": (0.05, 0.6)}
SHIFT = {"some": 0.02, "N/A": 0.03, "[n]": 0.04}


def table(items):
    """A table that answers contexts, blanks and stems by known laws; what it lacks, it never says.

    Behind a blank the first option has a little more than behind the context itself, by filler;
    behind the stem each colour has its own mass.
    """
    laws = {}
    for item in items:
        p, q = LAW[item.template_id]
        laws[item.context] = said(item.options, [p, q])
        for filler, more in SHIFT.items():
            laws[blanked(item, filler)] = said(item.options, [p + more, q])
        behind = said(item.options, [STEM[option.label] for option in item.options])
        laws[stem(item.context)] = laws.get(stem(item.context), {}) | behind
    return answering(laws)


STEM = {"black": 0.1, "green": 0.2, "red": 0.4}


def test_blanks_and_stems_are_read_once_and_reach_every_item():
    items = colors(n_draws=3)
    model = table(items)
    scored = score_items(model, items)
    found = gather_evidence(model, items, scored, needs=("prior", "stem"))
    assert found.masses is scored.masses
    assert found.tempered is None
    assert found.prior.n_contexts == len(FILLERS) * 3 * 4
    assert found.stem.n_contexts == 3
    assert found.prior.cost.token_evaluations < scored.cost.token_evaluations
    priors = np.exp(found.prior.log_mass).reshape(-1, 2)
    stems = np.exp(found.stem.log_mass).reshape(-1, 2)
    for item, prior, behind in zip(items, priors, stems, strict=True):
        p, q = LAW[item.template_id]
        wanted = np.mean([(p + more) / (p + more + q) for more in SHIFT.values()])
        assert prior == pytest.approx([wanted, 1 - wanted])
        assert behind == pytest.approx([STEM[option.label] for option in item.options])


def test_an_item_without_a_blank_or_with_one_sentence_has_neither():
    items = [
        replace(colors()[0], blank=None, context="A jar of 3 black beads and 4 green ones holds"),
        replace(colors()[0], blank="No number", context="Of 3 black and 4 green beads one is"),
    ]
    model = answering({item.context: said(item.options, [0.4, 0.1]) for item in items})
    found = gather_evidence(model, items, score_items(model, items), needs=("prior", "stem"))
    for extra in (found.prior, found.stem):
        assert np.isnan(extra.log_mass).all()
        assert extra.n_contexts == extra.cost.token_evaluations == 0


@pytest.mark.parametrize(
    ("context", "wanted"),
    [
        ("A jar holds 3 beads. Mia draws one. Its colour is", "Its colour is"),
        ("Chance: 3.5 percent. Tomorrow brings", "Tomorrow brings"),
        ("Is it 3? No! It is", "It is"),
        ("盒子里有3个红球。抽到的颜色是", "抽到的颜色是"),
        ("random_integer([3, 5)) ->", None),
        ("Two dice are rolled. The sum of 2 dice is", None),
        ("No end here", None),
    ],
)
def test_the_stem_is_the_last_sentence_if_it_tells_of_no_number(context, wanted):
    assert stem(context) == wanted


def test_a_blank_has_the_filler_for_every_number():
    item = colors()[0]
    assert item.blank.count(NUMBER) == 2
    assert blanked(item, "some").count("some") == 2
    assert NUMBER not in blanked(item, "some")
    assert blanked(replace(item, blank="A jar of beads"), "some") is None
    assert blanked(question("Q", ["a", "b"]), "some") is None
