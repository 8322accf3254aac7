import math
from dataclasses import replace

import numpy as np
import pytest
from attributed_models import exact, loose, many, surprised, translator

from likely.attribution.cells import EDGES_NATS
from likely.attribution.question import attribute
from likely.core.estimate import Estimate
from likely.report.attributed import (
    ENTROPY_EDGES,
    entropy_shade,
    lay_out_prompt,
    lay_out_response,
    look,
    quarters,
    remarks_of,
    score_shade,
    warnings_of,
    windows,
)
from likely.report.attribution_table import COLUMNS, how_known, to_record


@pytest.fixture(scope="module")
def found():
    return exact()


@pytest.fixture(scope="module")
def unsure():
    return loose()


def test_shades_of_scores_mirror_at_0():
    for x in (0.05, 0.1, 0.29, 0.3, 1.7, 40.0):
        assert score_shade(x).replace("up", "") == score_shade(-x).replace("down", "")
    assert [score_shade(edge) for edge in EDGES_NATS] == ["up1", "up2", "up3", "up4"]
    assert score_shade(np.nextafter(0.1, 0.0)) == ""
    assert [entropy_shade(edge) for edge in ENTROPY_EDGES] == [f"s{i}" for i in range(1, 7)]


def test_tokens_and_tail_are_the_text(found):
    for laid, text in [
        (lay_out_prompt(found), found.case.prompt_text),
        (lay_out_response(found), found.case.response_text),
    ]:
        assert "".join(token.lead + token.shown for token in laid.tokens) + laid.tail == text
    assert [token.place for token in lay_out_prompt(found).tokens] == [0, 1]


def test_what_was_not_attributed_has_no_place():
    found = exact(positions=[1])
    assert [token.place for token in lay_out_prompt(found).tokens] == [None, 0]


def test_tokens_of_a_group_share_its_place(found):
    group = replace(found.places[0], positions=(0, 1))
    tokens = lay_out_prompt(replace(found, places=(group,))).tokens
    assert [token.place for token in tokens] == [0, 0]


def test_pieces_of_one_character_are_shown_once_and_written_as_bytes(toy_bytes):
    found = attribute(toy_bytes, "né", "!", context=[1], method="exact")
    tokens = lay_out_prompt(found).tokens
    assert [(token.shown, token.place) for token in tokens] == [("n", 0), ("é", 1), ("", 2)]
    assert [place.text for place in found.places] == ["n", r"\xc3", r"\xa9"]


def test_windows_hold_every_token_once(found):
    laid = lay_out_prompt(many(found, 7))
    made = windows(laid, 3)
    assert [len(window) for window in made] == [3, 3, 1]
    assert [token.index for window in made for token in window] == list(range(7))


def test_what_is_seen_follows_the_law_of_the_model(found):
    seen = look(found)
    # Red, blue or "and" stand there with 0.5, 0.3, 0.2; "rouge" follows with 0.8, 0 and 1/8.
    without = 0.5 * 0.8 + 0.2 / 8
    assert seen.best.text == " red"
    assert seen.factor == pytest.approx(0.8 / without, abs=1e-12)
    assert seen.is_clear
    assert seen.heaviest == 0
    assert seen.worst is None


def test_a_token_that_hurt_is_seen():
    found = attribute(translator(), "say and", " rouge", method="exact")
    # "rouge" follows "and" with 1/8; red, blue and "and" stand there with 0.5, 0.3 and 0.2.
    assert found.scores[1] == pytest.approx(math.log(0.125 / (0.5 * 0.8 + 0.2 / 8)), abs=1e-12)
    seen = look(found)
    assert seen.worst is not None
    assert seen.worst.text == " and"
    assert not seen.is_clear


def test_tokens_near_0_that_the_rest_settles_are_counted():
    found = surprised()  # "a" begins every text
    seen = look(found)
    assert (seen.n_near, seen.n_determined) == (1, 1)


def test_a_high_score_at_low_entropy_needs_a_token_that_the_rest_did_not_expect():
    """It can be: a score is at most the token's surprisal, which no entropy bounds."""
    found = surprised()
    place = found.places[-1]
    entropy = -(0.99 * math.log(0.99) + 0.01 * math.log(0.01))
    assert place.measures.context_entropy.value == pytest.approx(entropy, abs=1e-12)
    assert place.measures.score.value == pytest.approx(-math.log(0.01 + 0.99 * 0.001), abs=1e-12)
    assert place.measures.score.value <= place.measures.surprisal.value
    cases = {(q.is_high_score, q.is_high_entropy): q.places for q in quarters(found)}
    assert cases[True, False] == (place,)


def test_each_place_with_no_low_score_is_in_one_quarter(found, unsure):
    for one in (found, unsure):
        cases = [place for quarter in quarters(one) for place in quarter.places]
        kept = [place for place in one.places if place.measures.score.value > -0.3]
        assert sorted(place.positions for place in cases) == [place.positions for place in kept]


def test_a_place_is_sure_of_its_quarter_where_no_interval_holds_a_border(found):
    assert all(all(quarter.is_sure) for quarter in quarters(found))
    place = found.places[0]

    def is_sure(score=(0.1, 0.1, 0.2), entropy=(0.1, 0.1, 0.2)):
        def estimate(ends):
            return replace(place.measures.score, low=ends[0], value=ends[1], high=ends[2])

        measures = replace(place.measures, score=estimate(score), context_entropy=estimate(entropy))
        one = replace(found, places=(replace(place, measures=measures),))
        ((told,),) = [quarter.is_sure for quarter in quarters(one) if quarter.places]
        return told

    assert is_sure()
    assert is_sure(score=(0.3, 0.4, 0.5))
    assert is_sure(entropy=(1.0, 1.1, 2.0))
    assert is_sure(score=(-0.3, 0.0, 0.2))
    assert not is_sure(score=(0.2, 0.4, 0.5))
    assert not is_sure(score=(-0.1, 0.0, 0.3))
    assert not is_sure(score=(-0.4, 0.0, 0.2))
    assert not is_sure(entropy=(0.9, 1.1, 2.0))


def test_warnings_count_what_is_not_known(found, unsure):
    assert warnings_of(found) == ()
    (line,) = warnings_of(unsure)
    n = sum(not place.converged for place in unsure.places)
    assert line.startswith(f"Not known to ±1e-06 nats: {n} of {len(unsure.places)} scores")
    widest = max(np.max(unsure.high - unsure.scores), np.max(unsure.scores - unsure.low))
    assert f"up to {widest:.2f}" in line


def test_warnings_say_what_else_a_reader_should_know(found):
    excluded = replace(found, excluded_mass=np.array([0.0, 0.25]))
    assert "up to 25.0 %" in warnings_of(excluded)[0]
    noisy = replace(found, noise=0.05)
    assert "by up to 0.050 nats" in warnings_of(noisy)[0]
    empty = attribute(translator(), "say red", "", method="exact")
    assert warnings_of(empty) == ("The response is empty, so that every score is 0.",)
    flags = frozenset({"boundary_merge", "generated", "unheard_of"})
    flagged = replace(found, case=replace(found.case, flags=flags))
    assert warnings_of(flagged) == (
        "A token spans the end of the prompt and the start of the response; it counts as response.",
        "Flag of the text: unheard_of.",
    )
    assert len(remarks_of(flagged)) == 1


def test_every_estimate_of_a_place_has_a_column(found):
    """A number that the study adds shows as a test that fails, not as a hole in the table."""
    place = found.places[1]
    names = place.measures.estimates()
    values = {name: Estimate.exact(3.0 + i, unit="nats", method="") for i, name in enumerate(names)}
    known = replace(place, measures=replace(place.measures, **values))
    written = {column.write(known).shown.lstrip("+") for column in COLUMNS}
    assert {f"{value.value:.3f}" for value in values.values()} <= written
    assert len(names) >= 12


def test_exact_numbers_have_no_interval_and_others_do(found, unsure):
    assert not any(column.write(place).ends for place in found.places for column in COLUMNS)
    score = COLUMNS[0].write(unsure.places[0])
    low = unsure.places[0].measures.score.low
    assert f"{abs(low):.3f}" in score.ends
    assert how_known(found.places[0]) == "exact"
    assert {how_known(place) for place in unsure.places} >= {"adaptive, not converged"}


def test_record_holds_the_numbers_of_each_place(found):
    record = to_record(found)
    assert [place["score"]["value"] for place in record["places"]] == found.scores.tolist()
    assert [place["matrix"] for place in record["places"]] == found.matrix.tolist()
    own = record["places"][1]["substitutes"]
    assert {one["text"]: round(one["prob"], 9) for one in own} == {
        " red": 0.5, " blue": 0.3, " and": 0.2,
    } | {one["text"]: 0.0 for one in own if one["prob"] == 0.0}  # fmt: skip
