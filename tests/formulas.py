"""Random formulas of every operator, and truth tables to hold compiled ones against."""

import random
from collections.abc import Sequence

from likely.logic.circuits.graph import Graph, element_lists
from likely.logic.formula import FALSE, TRUE, Formula, count_of, var


def random_formula(rng: random.Random, names: Sequence[str], *, depth: int) -> Formula:
    """Return a formula of these variables that nests up to ``depth`` operators."""
    if depth == 0 or rng.random() < 0.15:
        leaf = var(rng.choice(names))
        return rng.choice([leaf, leaf, leaf, ~leaf, ~leaf, TRUE, FALSE])
    op = rng.choice(
        ["not", "and", "or", "xor", "implies", "iff", "card", "all_equal", "odd", "even"]
    )
    n = {"not": 1, "implies": 2, "iff": 2}.get(op) or rng.randint(2, 4)
    parts = tuple(random_formula(rng, names, depth=depth - 1) for _ in range(n))
    if op == "card":
        low = rng.randint(0, n)
        return count_of(*parts, low=low, high=rng.choice([None, low, n + 1]))
    return Formula(op, parts)


def random_cnf(n: int, per_variable: int, *, seed: int) -> tuple[Formula, list[str]]:
    """Return random clauses of three of n variables, so many for each variable."""
    rng = random.Random(seed)
    clauses = []
    for _ in range(n * per_variable):
        chosen = rng.sample(range(1, n + 1), 3)
        literals = [var(f"v{i}") if rng.random() < 0.5 else ~var(f"v{i}") for i in chosen]
        clauses.append(Formula("or", tuple(literals)))
    return Formula("and", tuple(clauses)), [f"v{i}" for i in range(1, n + 1)]


def suite_theory(n: int) -> tuple[Formula, list[str]]:
    """Return the theory in which pairs are equal and neighbouring pairs exclude each other."""
    v = [var(f"v{i}") for i in range(n)]
    equal = [v[i].iff(v[i + 1]) for i in range(0, n, 2)]
    exclusive = [v[i] ^ v[i + 2] for i in range(0, n - 2, 2)]
    return Formula("and", (*equal, *exclusive)), [f"v{i}" for i in range(n)]


def truth_table(formula: Formula, names: Sequence[str]) -> list[bool]:
    """Return the truth under every assignment; in number a, name i is true if a has bit i.

    Written from the definitions, apart from the library's own evaluation.
    """
    n_rows = 1 << len(names)
    if formula.op == "var":
        column = list(names).index(formula.key)
        return [bool(a >> column & 1) for a in range(n_rows)]
    if formula.op in ("true", "false"):
        return [formula.op == "true"] * n_rows
    rows = zip(*(truth_table(part, names) for part in formula.operands), strict=True)
    high = len(formula.operands) if formula.high is None else formula.high
    rule = {
        "not": lambda row: not row[0],
        "and": all,
        "or": any,
        "xor": lambda row: sum(row) % 2 == 1,
        "odd": lambda row: sum(row) % 2 == 1,
        "even": lambda row: sum(row) % 2 == 0,
        "implies": lambda row: row[0] <= row[1],
        "iff": lambda row: row[0] == row[1],
        "all_equal": lambda row: all(row) or not any(row),
        "card": lambda row: formula.low <= sum(row) <= high,
    }[formula.op]
    return [bool(rule(row)) for row in rows]


def graph_table(graph: Graph) -> list[bool]:
    """Return the truth of a graph under every assignment, in the same order."""
    table = []
    for a in range(1 << graph.n_vars):
        bits = [bool(a >> i & 1) for i in range(graph.n_vars)]
        truths = [*bits, *(not bit for bit in bits), True, False]
        for elements in element_lists(graph):
            truths.append(any(truths[p] and truths[s] for p, s in elements))
        table.append(truths[graph.root])
    return table


def true_counts(table: Sequence[bool], n: int) -> tuple[int, tuple[int, ...]]:
    """Return the number of models, and of those in which each variable is true."""
    models = [a for a, holds_there in enumerate(table) if holds_there]
    return len(models), tuple(sum(a >> i & 1 for a in models) for i in range(n))
