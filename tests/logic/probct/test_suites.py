"""The seven families: enough items, every claim says something, and the truth satisfies all."""

import pickle
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from functools import cache

import pytest
from beliefs import ignorant

from likely.errors import InconsistentTheory, InputError, UnknownNameError
from likely.logic.evaluation import evaluate
from likely.logic.formula import holds, variables
from likely.logic.parser import parse
from likely.logic.probct.suites import FAMILIES, load_family
from likely.logic.queries import entails
from likely.logic.theory import Claim, Rule
from likely.logic.validation import validate

GOLD = {
    "negation": {"a", "b", "g"},
    "exclusivity": {"g", "k", "w"},
    "paraphrase": {"a1", "a2", "a3"},
    "implication": {
        "isa", "hyper_has", "hypo_has", "given_hypo", "given_hyper", "given_has",
        "denied_hyper_no", "denied_hypo_no", "fill_hyper", "fill_hyper_has", "fill_hypo_has",
        "fill_without",
    },
    "relations": {
        "sym_xy", "sym_yx", "asym_xy", "asym_yx_no", "trans_xy", "trans_yz", "trans_xz", "inv_xy",
        "inv_yx",
    },
    "partition": {"rest_left"},
    "antonyms": {
        "is_p", "given_p", "follows", "leap_no", "fill_p", "opposed", "back", "strong", "weak",
        "converse_no", "denied_weak_no", "denied_strong_no",
    },
}  # fmt: skip
"""Names of the events that are true of every row; of an event over a list the first alternative."""

STRONGER = {
    "negation": [("full", ["Tp", "Tn", "Ts", "Tm"]), ("Tflip", ["Tg"])],
    "exclusivity": [("alone", ["known", "exactly", "at_most"]), ("exactly", ["at_most"])],
    "paraphrase": [("full", ["known", "reject", "same", "same_wrong", "choice"])],
    "implication": [
        ("knows", ["member", "inherits", "excludes", "contrapositive"]),
        ("given_knows", ["entails", "given_inherits", "given_excludes", "given_contrapositive"]),
        ("fill_contrast", ["fill_excludes"]),
    ],
    "relations": [
        ("symmetric_facts", ["symmetric"]), ("symmetric_denied_facts", ["symmetric_denied"]),
        ("asymmetric_facts", ["asymmetric"]), ("transitive_facts", ["transitive", "acyclic"]),
        ("inverse_facts", ["inverse", "inverse_excludes"]),
    ],
    "partition": [
        ("closed", ["one"]), ("one", ["some", "no_two"]), ("said_one", ["said_some"]),
        ("remainder", ["remainder_one"]),
    ],
    "antonyms": [
        ("differs", ["not_both"]), ("fill_differs", ["fill_not_both"]),
        ("given_facts", ["given_excludes"]), ("opposites", ["mutual"]),
    ],
}  # fmt: skip


READ_ALL = """
import pickle, sys
from likely.logic.instances import instances
from likely.logic.probct.suites import FAMILIES, load_family
from likely.logic.validation import validate

theories = {family: load_family(family) for family in FAMILIES}
read = {family: (instances(x), validate(x)) for family, x in theories.items()}
sys.stdout.buffer.write(pickle.dumps(read))
"""


@cache
def read():
    """Instances and validation of each family.

    In a process of its own: here every call is checked for types, which for 5,520 items takes ten
    times as long.
    """
    done = subprocess.run([sys.executable, "-c", READ_ALL], capture_output=True, check=True)
    return pickle.loads(done.stdout)


def made(family):
    return read()[family][0]


def truth(family, instance):
    """The truth of each event; of those that run over a list exactly the first is true."""
    seen = set()
    facts = {}
    for key in instance.events:
        name, _, argument = key.partition("(")
        facts[key] = name in GOLD[family] if not argument else name not in seen
        seen.add(name)
    return facts


def test_there_is_no_family_of_another_name():
    with pytest.raises(UnknownNameError, match="negation"):
        load_family("negations")


def test_the_suite_is_large_enough_and_its_rows_are_reviewed():
    n_items = 0
    ids = Counter()
    for family in FAMILIES:
        theory = load_family(family)
        assert theory.name == family
        assert theory.about
        assert len(theory.rows) >= 30
        ids.update(row.id for row in theory.rows)
        for row in theory.rows:
            assert row.columns["review"] == "read"
        for column in (*theory.targets, *theory.content):
            assert any(column in row.columns for row in theory.rows)
        n_items += sum(len(instance.claims) for instance in made(family))
    assert n_items >= 1500
    assert [name for name, n in ids.items() if n > 1] == []


@pytest.mark.parametrize("family", FAMILIES)
def test_every_claim_of_a_family_says_something_and_can_hold(family):
    _, found = read()[family]
    assert found.is_usable
    assert found.problems == ()
    assert found.digest == load_family(family).digest


VALIDATE_ALL = """
import likely
from likely.logic.probct.suites import FAMILIES, load_family
from likely.logic.validation import validate

model = likely.load("smollm2")
for family in FAMILIES:
    for problem in validate(load_family(family), model).problems:
        print(problem.level, problem.where, problem.message)
"""


@pytest.mark.real
def test_no_two_answers_of_a_context_are_the_same_tokens_of_smollm2():
    # in a process of its own, as above
    done = subprocess.run(
        [sys.executable, "-c", VALIDATE_ALL], capture_output=True, text=True, check=True
    )
    assert done.stdout == ""  # no errors, and no answers with a first token in common


@pytest.mark.parametrize("family", FAMILIES)
def test_the_truth_satisfies_a_family(family):
    for instance in made(family):
        facts = truth(family, instance)
        for claim in instance.claims:
            assert holds(claim.formula, facts), (instance.id, claim.name)
        for name, (given, then) in instance.conditionals.items():
            assert holds(given, facts), (instance.id, name)
            assert holds(then, facts), (instance.id, name)
        for name, (more, less) in instance.orderings.items():
            assert (facts[more.key], facts[less.key]) == (True, False), (instance.id, name)
        for name, query in instance.queries.items():
            assert holds(query, facts), (instance.id, name)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_claim_can_fail_by_a_single_event(family):
    # a claim that stays true whichever event one gets wrong would not measure knowledge
    for instance in made(family):
        facts = truth(family, instance)
        for claim in instance.claims:
            flips = [{**facts, key: not facts[key]} for key in variables(claim.formula)]
            assert not all(holds(claim.formula, flipped) for flipped in flips), claim.name


@pytest.mark.parametrize("family", FAMILIES)
def test_claims_of_knowledge_imply_those_of_consistency(family):
    wanted = {(whole, part) for whole, parts in STRONGER[family] for part in parts}
    checked = set()
    shapes = set()
    for instance in made(family):
        claims = {claim.name: claim.formula for claim in instance.claims}
        for whole, part in wanted:
            if whole in claims and part in claims and (claims[whole], claims[part]) not in shapes:
                assert entails(claims[whole], claims[part]), (instance.id, whole, part)
                checked.add((whole, part))
                shapes.add((claims[whole], claims[part]))
    assert checked == wanted


def with_claim(family, text):
    theory = load_family(family)
    sentinel = Claim(name="sentinel", rules=(Rule(name="sentinel", formula=parse(text)),))
    return replace(theory, rows=theory.rows[:2], claims=(*theory.claims, sentinel))


@pytest.mark.parametrize(
    ("family", "text"),
    [("negation", "a | !a"), ("negation", "(a <-> c) | (a ^ c)"), ("exclusivity", "u -> u | v"),
     ("partition", "at_least_one(x(o) for o in alternatives) | none(x(o) for o in alternatives)")],
)  # fmt: skip
def test_a_tautology_is_rejected(family, text):
    theory = with_claim(family, text)
    errors = [p for p in validate(theory).problems if p.level == "error"]
    assert errors
    assert all("sentinel" in problem.where for problem in errors)
    with pytest.raises(InputError, match=r"'sentinel'.*always holds"):
        evaluate(ignorant([theory]), theory)


@pytest.mark.parametrize(
    ("family", "text"),
    [("negation", "a & !a"), ("negation", "(a <-> c) & (a ^ c)"), ("exclusivity", "!(u -> u | v)"),
     ("partition", "exactly_one(x(o) for o in alternatives) & none(x(o) for o in alternatives)")],
)  # fmt: skip
def test_a_contradiction_is_rejected(family, text):
    theory = with_claim(family, text)
    errors = [p for p in validate(theory).problems if p.level == "error"]
    assert errors
    assert all("sentinel" in problem.where for problem in errors)
    with pytest.raises(InconsistentTheory, match=r"'sentinel'.*can never hold"):
        evaluate(ignorant([theory]), theory)


def test_events_that_are_one_event_are_one_variable():
    for family in FAMILIES:
        for instance in made(family):
            identities = [event.identity for event in instance.events.values()]
            assert len(set(identities)) == len(identities)


def test_no_event_answers_itself():
    # an answer that stands at the end of its own context would be a repetition, not a belief
    for family in FAMILIES:
        for instance in made(family):
            for event in instance.events.values():
                for answer in event.answers:
                    assert not event.context.endswith(f" {answer}"), event.context
