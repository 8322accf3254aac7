"""``likely self-check``: does a model give the same numbers however it is asked?"""

import typer

from likely.cli.deliver import (
    Result,
    deliver,
    document,
    load_model,
    model_part,
    out_path,
    show_model,
)
from likely.cli.failures import FAILED
from likely.cli.flags import ModelChoice, Output
from likely.cli.progress import waiting
from likely.cli.screen import Column, show_cost, table
from likely.core.selfcheck import SelfCheck
from likely.core.selfcheck import self_check as run_check
from likely.runs.store import Columns

COLUMNS: Columns = {
    "name": "text", "what": "text", "largest_difference": "float", "limit": "float",
    "passed": "bool", "n": "int",
}  # fmt: skip


def self_check(model: ModelChoice, output: Output) -> None:
    """Measure how far a model's numbers move where they must not.

    Batch size, order, a cached prefix and the split of a text change no probability; what they
    change here is the largest difference, in nats a token. Exit code 1 if one is over its limit.
    """
    path = out_path(output, name=f"self-check {model.model}")
    loaded = load_model(model, output)
    with waiting(f"checking {model.model}", quiet=output.quiet):
        found = run_check(loaded)
    verdict = "passed" if found.passed else "FAILED"
    result = Result(
        document=document("self-check", output, **found.to_dict() | {"model": model_part(loaded)}),
        lines=[show_model(loaded), *_table(found), f"self-check {verdict}", show_cost(found.cost)],
        rows=[row.to_dict() for row in found.rows],
        columns=COLUMNS,
    )
    deliver(result, output, path)
    if not found.passed:
        raise typer.Exit(FAILED)


def _table(found: SelfCheck) -> list[str]:
    columns = [
        Column(title="law"),
        Column(title="difference", is_number=True),
        Column(title="limit", is_number=True),
        Column(title="numbers", is_number=True),
        Column(title=""),
        Column(title="what is compared", gives_way=True),
    ]
    rows = [
        [
            row.name,
            f"{row.largest_difference:.1e}" if row.largest_difference else "0",
            f"{row.limit:.0e}" if row.limit else "0",
            str(row.n),
            "ok" if row.passed else "OVER",
            row.what,
        ]
        for row in found.rows
    ]
    left = [f"not measured: {name}" for name in found.left_out]
    return [*table(columns, rows), *left]
