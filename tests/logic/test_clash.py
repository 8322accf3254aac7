"""The smallest clash against a search of all sets of parts."""

import itertools
import math

import pytest
from enumeration import models
from hypothesis import given
from hypothesis import strategies as st
from strategies import formulas

from likely.errors import BudgetError, InconsistentTheory, NumericalError
from likely.logic import clash
from likely.logic.clash import check_possible, conjunction, conjuncts, smallest_clash
from likely.logic.formula import TRUE, var, variables
from likely.logic.parser import parse

some_parts = st.lists(formulas("a", "b", "c", max_leaves=4), min_size=1, max_size=6)


def smallest_size(parts):
    for size in range(1, len(parts) + 1):
        for chosen in itertools.combinations(parts, size):
            if not models(conjunction(chosen)):
                return size
    return 0


@given(some_parts)
def test_the_clash_found_is_one_and_none_is_smaller(parts):
    found = smallest_clash(parts)
    assert len(found) == smallest_size(parts)
    assert list(found) == sorted(set(found))
    if found:
        assert not models(conjunction([parts[i] for i in found]))


def test_of_two_clashes_the_smaller_one_is_named():
    parts = [parse(text) for text in ("a", "a -> b", "b -> c", "!c", "d", "d <-> !e", "e")]
    assert smallest_clash(parts) == (4, 5, 6)


def test_a_long_chain_among_bystanders():
    chain = [parse(f"x{i} -> x{i + 1}") for i in range(12)]
    bystanders = [parse(f"y{i} | y{i + 1}") for i in range(12)]
    parts = [parse("x0"), *chain, *bystanders, parse("!x12")]
    assert smallest_clash(parts) == (*range(13), 25)


def test_the_search_that_gives_up_still_returns_a_minimal_clash(monkeypatch):
    monkeypatch.setattr(clash, "MAX_ROUNDS", 0)
    parts = [parse(text) for text in ("a", "!a & b", "b -> c", "!c")]
    found = smallest_clash(parts)
    assert not models(conjunction([parts[i] for i in found]))
    for i in found:
        assert models(conjunction([parts[j] for j in found if j != i]))


def test_conjuncts_are_what_a_formula_demands():
    formula = parse("a & ((b | c) & a) & !(d & e)")
    assert [str(part) for part in conjuncts(formula)] == ["a", "b | c", "!(d & e)"]
    assert conjunction([]) == TRUE
    assert conjunction([var("a")]) == var("a")


def test_a_possible_theory_passes_and_a_contradiction_in_numbers_is_not_hidden():
    parts = {"a": var("a")}
    check_possible(-5.0, parts, {"a": 0.0}, what="the theory")
    with pytest.raises(NumericalError, match="came out with probability 0"):
        check_possible(-math.inf, parts, {"a": 0.0}, what="the theory")


def test_one_part_that_cannot_hold_is_named_alone():
    with pytest.raises(InconsistentTheory, match="this cannot hold: 'a & !a'") as error:
        check_possible(-math.inf, {"a & !a": parse("a & !a")}, {}, what="the theory")
    assert error.value.clash == ("a & !a",)
    assert variables(parse("a & !a")) == ("a",)


def test_a_clash_too_large_to_narrow_down_names_all_parts(monkeypatch):
    def refuse(_):
        raise BudgetError("too large")

    monkeypatch.setattr(clash, "smallest_clash", refuse)
    parts = {text: parse(text) for text in ("a", "!a", "b")}
    with pytest.raises(InconsistentTheory, match="too large to narrow down") as error:
        check_possible(-math.inf, parts, {}, what="the theory")
    assert error.value.clash == ("a", "!a", "b")
