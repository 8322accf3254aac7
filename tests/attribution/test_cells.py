"""A prompt as pieces: all of it once, tokens of one character together."""

from dataclasses import replace

import pytest
from attributions import chain, exact

from likely.attribution import contrast
from likely.attribution.case import Case
from likely.attribution.cells import (
    EDGES_NATS,
    cells,
    farthest,
    n_shared,
    scored_cells,
    shade,
    strongest,
)


def shown_as(text, spans, *, positions=None):
    """Return an attribution whose prompt is this text, with the scores 0, 0 and .575."""
    found = exact()
    case = Case(
        context=(0,), prompt=tuple(range(len(spans))), response=found.case.response,
        prompt_text=text, spans=tuple(spans), response_text="", response_spans=(),
        roles=("text",) * len(spans), positions=tuple(positions or range(len(spans))),
        flags=frozenset(),
    )  # fmt: skip
    places = [
        replace(place, positions=(i,))
        for place, i in zip(found.places, positions or range(len(spans)), strict=False)
    ]
    return replace(found, case=case, places=tuple(places))


def test_shades_are_symmetrical_and_begin_at_the_edges():
    for i, edge in enumerate(EDGES_NATS, start=1):
        assert (shade(edge), shade(-edge)) == (i, -i)
        assert shade(edge * (1 - 1e-12)) == i - 1
    assert shade(0.0) == shade(-0.0) == 0


def test_cells_are_the_prompt_and_its_scores():
    found = exact()
    made = cells(found)
    assert "".join(cell.text for cell in made) == found.case.prompt_text
    assert [cell.score for cell in made] == found.scores.tolist()
    assert [cell.shade for cell in made] == [0, 0, 2]


def test_tokens_of_one_character_are_one_cell_with_the_farthest_score():
    found = shown_as("a🙂b", [(0, 1), (1, 2), (1, 2), (2, 3)])
    made = cells(found)
    assert [cell.text for cell in made] == ["a", "🙂", "b"]
    assert [cell.positions for cell in made] == [(0,), (1, 2), (3,)]
    assert made[1].score == pytest.approx(0.5754, abs=1e-4)
    assert made[2].score is None
    assert made[2].shade is None


def test_a_token_that_goes_on_from_a_shared_character_joins_it():
    found = shown_as("🙂b", [(0, 1), (0, 2), (2, 2)])
    assert [cell.text for cell in cells(found)] == ["🙂b", ""]


def test_what_was_not_attributed_has_no_score():
    made = cells(exact(positions=[1]))
    assert [cell.shade for cell in made] == [None, 0, None]
    assert all(cell.is_converged for cell in made)


def test_the_strongest_places_stay_in_order():
    found = exact()
    assert [place.positions for place in strongest(found, 0)] == [(0,), (1,), (2,)]
    assert [place.positions for place in strongest(found, 1)] == [(2,)]
    assert len(strongest(found, 99)) == 3


def test_every_token_of_a_group_has_its_score_and_the_first_group_shows_where_two_overlap():
    found = exact(groups=[(0, 2), (1, 2)])
    made = cells(found)
    assert [cell.score for cell in made] == [found.scores[0], found.scores[1], found.scores[0]]
    assert n_shared(found.places) == 1
    assert n_shared(exact(groups=[(0, 1), (2,)]).places) == 0


def test_a_contrast_is_coloured_by_its_differences():
    found = contrast(chain(), "aab", "b", "a", method="exact")
    made = scored_cells(found.first.case, found.places, found.differences.tolist())
    assert [cell.score for cell in made] == found.differences.tolist()
    assert [cell.shade for cell in made] == [0, 0, 3]
    assert farthest(found.differences.tolist(), 1) == (2,)
