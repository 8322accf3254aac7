"""What is shown of a theory without a model: how much it says, and what is wrong with it."""

from collections.abc import Sequence
from pathlib import Path

from likely.cli.claims import STARRED, folded
from likely.cli.screen import Column, show_cut, table
from likely.logic.information import Informativeness
from likely.logic.overview import ClaimOverview, Overview
from likely.logic.probct.suites import load_family
from likely.logic.theory import Theory
from likely.logic.validation import Problem, Validation
from likely.runs.store import Columns

INFO_COLUMNS: Columns = {
    "claim": "text", "formula": "text", "evidence": "text", "where": "text", "items": "int",
    "events": "int", "models": "int", "bits": "float", "marginal_bits": "float",
    "interaction_bits": "float", "density": "float",
}  # fmt: skip
PROBLEM_COLUMNS: Columns = {"theory": "text", "level": "text", "where": "text", "message": "text"}


def load_theory(name: str) -> Theory:
    """Return the theory of a file, or the family of ProbCT of that name if there is no such file.

    Raises:
        StoreError: The file cannot be read.
        InputError: It is no theory; or there is neither a file nor a family of that name.
    """
    if not Path(name).exists() and not Path(name).suffix:
        return load_family(name)
    return Theory.load(name)


def info_lines(found: Overview, limit: int) -> list[str]:
    """Return a theory's claims with how much each says, for a person."""
    return [
        *folded(f"{found.theory} {found.version} ({found.digest}): {found.about}".rstrip(": ")),
        f"{_count(found.n_rows, 'row')}, {_count(found.n_packs, 'pack')}, "
        f"{_count(found.n_instances, 'row read in a pack', 'rows read in packs')}, "
        f"{_count(found.n_items, 'item')}, {_count(found.n_events, 'event')}",
        "",
        *_claims_table(found.claims),
        "",
        *folded(
            "bits is what chance (every event at one half) would pay to keep a claim; marginal is "
            "the part that events tell one by one, interaction the part in how they hang together; "
            "density is bits an event."
        ),
        *problem_lines([(found.theory, problem) for problem in found.problems], limit),
    ]


def info_rows(found: Overview) -> list[dict[str, object]]:
    """Return a row a claim and shape."""
    return [
        {
            "claim": claim.name, "formula": "; ".join(claim.rules.values()),
            "evidence": claim.evidence, "where": claim.where, "items": claim.n_items,
            "events": info and info.n_variables, "models": info and info.n_models,
            "bits": info and info.bits, "marginal_bits": info and info.marginal_bits,
            "interaction_bits": info and info.interaction_bits, "density": info and info.density,
        }
        for claim in found.claims
        for info in claim.infos or (None,)
    ]  # fmt: skip


def validation_lines(found: Sequence[Validation], limit: int) -> list[str]:
    """Return what is wrong with theories, for a person."""
    columns = [
        Column(title="theory"),
        *(Column(title=title, is_number=True) for title in ("rows", "items", "events")),
        *(Column(title=title, is_number=True) for title in ("errors", "notes")),
    ]
    rows = [
        [
            one.theory, str(one.n_rows), str(one.n_items), str(one.n_events),
            str(_n_errors(one)), str(len(one.problems) - _n_errors(one)),
        ]
        for one in found
    ]  # fmt: skip
    n_errors = sum(map(_n_errors, found))
    verdict = f"NOT usable: {_count(n_errors, 'error')}" if n_errors else "usable: no errors"
    problems = [(one.theory, problem) for one in found for problem in one.problems]
    problems.sort(key=lambda pair: pair[1].level)
    return [*table(columns, rows), *problem_lines(problems, limit), "", verdict]


def problem_rows(found: Sequence[Validation]) -> list[dict[str, object]]:
    """Return a row a problem."""
    return [
        {"theory": one.theory, **problem.to_dict()} for one in found for problem in one.problems
    ]


def problem_lines(problems: Sequence[tuple[str, Problem]], limit: int) -> list[str]:
    """Return problems in words, errors first."""
    n = min(limit or len(problems), len(problems))
    lines = [""] if problems else []
    for theory, problem in problems[:n]:
        where = problem.where.removeprefix(f"{theory}/")
        lines += folded(f"{problem.level}: {theory}, {where}: {problem.message}")
    return [*lines, *show_cut(n, len(problems))]


def _claims_table(claims: Sequence[ClaimOverview]) -> list[str]:
    columns = [
        Column(title="claim"),
        *(Column(title=title, is_number=True) for title in ("items", "events", "models", "bits")),
        *(Column(title=title, is_number=True) for title in ("marginal", "interaction", "density")),
        Column(title="formula", gives_way=True),
    ]
    rows = []
    for claim in claims:
        infos = claim.infos
        several = len(claim.rules) > 1
        formula = "" if several else next(iter(claim.rules.values()))
        given = f"given {claim.evidence}" if claim.evidence else ""
        where = f"where {claim.where}" if claim.where else ""
        rows.append(
            [
                claim.name + ("*" if claim.is_comparison else ""),
                str(claim.n_items),
                _range([info.n_variables for info in infos]),
                _range([info.n_models for info in infos]),
                *(_bits(infos, name) for name in ("bits", "marginal_bits", "interaction_bits")),
                _bits(infos, "density"),
                " ".join(part for part in (formula, given, where) if part),
            ]
        )
        if several:
            rows += [[f"  {name}", *[""] * 7, text] for name, text in claim.rules.items()]
    is_starred = any(claim.is_comparison for claim in claims)
    return [*table(columns, rows), *([STARRED] if is_starred else [])]


def _bits(infos: Sequence[Informativeness], name: str) -> str:
    return _range([float(getattr(info, name)) for info in infos])


def _range(values: Sequence[int] | Sequence[float]) -> str:
    """Return the least and the largest of some numbers, or the one that all of them are."""
    shown = [str(x) if isinstance(x, int) else f"{x:.2f}" for x in sorted(values)]
    if not shown:
        return "-"
    return shown[0] if shown[0] == shown[-1] else f"{shown[0]}..{shown[-1]}"


def _n_errors(found: Validation) -> int:
    return sum(problem.level == "error" for problem in found.problems)


def _count(n: int, one: str, many: str | None = None) -> str:
    return f"{n} {one if n == 1 else many or f'{one}s'}"
