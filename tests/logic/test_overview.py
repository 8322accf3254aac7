"""What a theory says before any model is asked."""

import json

import pytest
from small_suite import NEGATION

from likely.core.jsonio import dumps
from likely.logic.overview import overview
from likely.logic.theory import Theory

MORE = """
  choice: {rules: {only: "exactly_one(x(o) for o in many)"}}
  rare: {rules: {only: "a | c | d | g"}}
  given: {rules: {first: "a", second: {formula: "g", kind: soft, weight: 1.5}}, evidence: "c"}
conditionals:"""


@pytest.fixture(scope="module")
def found():
    text = NEGATION.replace("\nconditionals:", MORE)
    text = text.replace("{id: n1,", "{id: n1, many: [tea, gin, rice],")
    text = text.replace("{id: n2,", "{id: n2, many: [tea, gin],")
    text = text.replace("events:", 'events:\n  x: {frame: pos, each: {o: many}, answer: "{o}"}')
    return overview(Theory.from_text(text))


def claim(found, name):
    return next(claim for claim in found.claims if claim.name == name)


def test_items_and_events_are_counted(found):
    assert (found.n_rows, found.n_packs, found.n_instances) == (4, 1, 4)
    assert claim(found, "Tp").n_items == 4
    assert claim(found, "choice").n_items == 2
    assert found.n_items == sum(one.n_items for one in found.claims)


def test_bits_are_those_of_the_formula(found):
    [info] = claim(found, "Tp").infos
    assert (info.n_variables, info.n_models, info.bits, info.marginal_bits) == (2, 1, 2.0, 2.0)
    [info] = claim(found, "Ts").infos
    assert (info.bits, info.interaction_bits, info.density) == (1.0, 1.0, 0.5)


def test_items_of_several_shapes_are_told_apart(found):
    assert [info.n_variables for info in claim(found, "choice").infos] == [2, 3]


def test_rules_that_are_not_hard_are_named_and_have_no_bits(found):
    given = claim(found, "given")
    assert given.rules == {"first": "a", "second": "soft 1.5: g"}
    assert (given.evidence, given.infos) == ("c", ())


def test_a_reader_is_warned_of_what_chance_keeps_and_of_flat_starts(found):
    notes = {problem.where: problem.message for problem in found.problems}
    assert "with probability 0.94" in notes["claim rare"]
    flat = next(where for where in notes if where.startswith("claims "))
    assert flat == "claims Ts, Tm"
    assert all(problem.level == "note" for problem in found.problems)


def test_a_claim_that_says_nothing_is_an_error_and_stops_nothing():
    found = overview(Theory.from_text(NEGATION.replace('"c <-> d"', '"c | !c"')))
    assert found.problems[0].level == "error"
    assert claim(found, "Ts").infos == ()
    assert json.loads(dumps(found.to_dict()))["claims"][0]["name"] == "Tp"
