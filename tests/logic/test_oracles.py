"""Queries against two programs that share no code with ours: ProbLog and PySDD."""

import math
from itertools import count

import pytest
from enumeration import NAMES, models, some_probs
from golden import PROBS
from hypothesis import Phase, assume, given, settings
from hypothesis import strategies as st
from strategies import formulas

from likely.logic.formula import Formula, variables
from likely.logic.parser import parse
from likely.logic.queries import conditional, count_models, marginals, satisfaction
from likely.logic.weights import weighted

problog = pytest.importorskip("problog")
pysdd = pytest.importorskip("pysdd.sdd")

BASIC = ("var", "true", "false", "not", "and", "or", "xor", "implies", "iff")
some_basic = formulas(*NAMES[:4], max_leaves=6).filter(
    lambda f: all(node.op in BASIC for node in walk(f))
)


def walk(formula):
    yield formula
    for part in formula.operands:
        yield from walk(part)


class Program:
    """A ProbLog program that says when formulas hold, a predicate for every inner node."""

    def __init__(self, probs):
        self.lines = [f"{p!r}::{name}." for name, p in probs.items()]
        self.names = (f"n{i}" for i in count())

    def says(self, formula):
        """Return a goal that succeeds where the formula holds."""
        if formula.op == "var":
            return formula.name
        parts = [self.says(part) for part in formula.operands]
        if formula.op == "not":
            return self.rule([self.no(parts[0])])
        name = next(self.names)
        bodies = self.bodies(formula.op, parts)
        self.lines += [f"{name} :- {body}." for body in bodies] or [f"{name} :- fail."]
        return name

    def rule(self, goals):
        name = next(self.names)
        self.lines.append(f"{name} :- {', '.join(goals)}.")
        return name

    def no(self, goal):
        return rf"\+{goal}"

    def bodies(self, op, parts):
        if op in ("true", "false"):
            return ["true"] * (op == "true")
        if op == "and":
            return [", ".join(parts)]
        if op == "or":
            return parts
        if op == "implies":
            return [self.no(parts[0]), parts[1]]
        if op == "iff":
            return [f"{parts[0]}, {parts[1]}", f"{self.no(parts[0])}, {self.no(parts[1])}"]
        so_far = parts[0]
        for part in parts[1:-1]:
            name = next(self.names)
            self.lines += [f"{name} :- {body}." for body in self.bodies("xor", [so_far, part])]
            so_far = name
        return [f"{so_far}, {self.no(parts[-1])}", f"{self.no(so_far)}, {parts[-1]}"]

    def ask(self, goals, *, evidence=None):
        from problog import get_evaluatable
        from problog.program import PrologString

        lines = [*self.lines, *(f"query({goal})." for goal in goals)]
        if evidence is not None:
            lines.append(f"evidence({evidence}).")
        found = get_evaluatable().create_from(PrologString("\n".join(lines))).evaluate()
        return {str(term): value for term, value in found.items()}


def test_problog_agrees_on_an_exclusive_pair():
    probs = {"a": 0.7, "c": 0.4}
    program = Program(probs)
    found = program.ask(["a", "c"], evidence=program.says(parse("a ^ c")))
    assert found == pytest.approx({"a": 0.7778, "c": 0.2222}, abs=5e-5)
    assert marginals("a ^ c", probs) == pytest.approx(found, rel=1e-12)


@settings(max_examples=10, phases=[Phase.generate])
@given(some_basic, some_basic, some_probs())
def test_problog_agrees_on_satisfaction_and_conditionals(formula, query, probs):
    assume(models(formula))
    program = Program(probs)
    holds, asked = program.says(formula), program.says(query)
    assert program.ask([program.rule([holds])]).popitem()[1] == pytest.approx(
        satisfaction(formula, probs), rel=1e-9, abs=1e-12
    )
    asked = program.rule([asked])
    found = program.ask([asked], evidence=program.rule([holds]))
    expected = conditional(query, formula, probs)
    assert found[asked] == pytest.approx(expected, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("text", ["(a -> b) & (b <-> !c)", "!(a & b) & (c | d | e)"])
def test_problog_agrees_where_each_conjunct_may_be_violated(text):
    formula = parse(text)
    program = Program(PROBS)
    for rule in formula.operands:
        program.lines.append(f"viol :- {program.no(program.says(rule))}.")
    program.lines.append(r"kept :- \+viol.")
    assert program.ask(["kept"])["kept"] == pytest.approx(satisfaction(formula, PROBS), rel=1e-12)


@settings(max_examples=10, phases=[Phase.generate])
@given(some_basic, some_basic, some_probs(), st.floats(0.01, 0.99))
def test_problog_agrees_on_noisy_rules(hard, noisy, probs, pi):
    theory = weighted(hard, noisy=[(noisy, pi)])
    assume(theory.satisfaction(probs) > 1e-9)
    program = Program(probs | {"switch": pi})
    held, ruled = program.says(hard), program.says(Formula("implies", (parse("switch"), noisy)))
    kept = program.rule([held, ruled])
    for name in {*variables(hard), *variables(noisy)}:
        found = program.ask([name], evidence=kept)
        assert found[name] == pytest.approx(theory.marginals(probs)[name], rel=1e-9, abs=1e-12)


class Manager:
    """PySDD's diagrams of formulas over `NAMES`."""

    def __init__(self):
        self.manager = pysdd.SddManager.from_vtree(pysdd.Vtree(var_count=len(NAMES)))
        self.manager.auto_gc_and_minimize_off()

    def node(self, formula):
        if formula.op == "var":
            return self.manager.literal(NAMES.index(formula.name) + 1)
        if formula.op in ("true", "false"):
            return self.manager.true() if formula.op == "true" else self.manager.false()
        parts = [self.node(part) for part in formula.operands]
        head, *rest = parts
        if formula.op == "not":
            return ~head
        for part in rest:
            if formula.op == "and":
                head = head & part
            elif formula.op == "or":
                head = head | part
            elif formula.op == "implies":
                head = ~head | part
            else:
                both, neither = head & part, ~head & ~part
                head = both | neither if formula.op == "iff" else ~both & ~neither
        return head

    def log_weight(self, formula, probs):
        counter = self.node(formula).wmc(log_mode=True)
        for i, name in enumerate(NAMES, start=1):
            counter.set_literal_weight(self.manager.literal(i), math.log(probs[name]))
            counter.set_literal_weight(self.manager.literal(-i), math.log1p(-probs[name]))
        total = counter.propagate()
        own = {n: counter.literal_pr(self.manager.literal(i)) for i, n in enumerate(NAMES, 1)}
        return total, {name: math.exp(value) for name, value in own.items()}


def test_pysdd_agrees_on_the_cases_written_down():
    manager = Manager()
    first = "(a | b) & !c"
    probs = PROBS | {"a": 0.9, "b": 0.2, "c": 0.4}
    assert math.exp(manager.log_weight(parse(first), probs)[0]) == pytest.approx(0.552)
    assert satisfaction(first, probs) == pytest.approx(0.552, rel=1e-12)
    second, probs = "(a | b) & (!a | c)", PROBS | {"a": 0.3, "b": 0.6, "c": 0.9}
    assert math.exp(manager.log_weight(parse(second), probs)[0]) == pytest.approx(0.69)
    assert satisfaction(second, probs) == pytest.approx(0.69, rel=1e-12)


@given(some_basic, some_probs())
def test_pysdd_agrees_on_weights_marginals_and_counts(formula, probs):
    manager = Manager()
    assume(models(formula))
    total, posterior = manager.log_weight(formula, probs)
    assert math.log(satisfaction(formula, probs)) == pytest.approx(total, abs=1e-11)
    for name, q in marginals(formula, probs).items():
        assert q == pytest.approx(posterior[name], rel=1e-9, abs=1e-12)
    counter = manager.node(formula).wmc(log_mode=False)
    assert count_models(formula, names=NAMES) == round(counter.propagate())
