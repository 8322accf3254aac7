"""``likely next``: the likeliest next tokens after a context."""

import math
from dataclasses import dataclass
from typing import Annotated

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
from likely.cli.flags import BosFlag, ModelChoice, Output
from likely.cli.screen import Column, bar, show_cost, show_log_prob, show_prob, table
from likely.core.model import Capability, LanguageModel
from likely.core.scoring import next_token as next_row
from likely.core.scoring import top_tokens
from likely.runs.items import check_text
from likely.runs.store import Columns

COLUMNS: Columns = {"rank": "int", "token": "int", "piece": "text", "log_prob": "float"}
_LN_2 = math.log(2.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked."""

    context: Annotated[
        str,
        typer.Option("--context", metavar="TEXT", help="What stands before.", show_default=False),
    ]
    k: Annotated[
        int, typer.Option("--top", "-k", metavar="N", min=1, help="How many tokens to show.")
    ] = 10
    bos: BosFlag = "auto"


def next_token(question: Question, model: ModelChoice, output: Output) -> None:
    """Show the likeliest next tokens after a context, and how uncertain the model is.

    A model that gives whole rows also gives their entropy. A server that names only its top
    tokens gives a bound on every other one, and that is said.
    """
    path = out_path(output, name=f"next {model.model}")
    check_text(question.context, what="context")
    loaded = load_model(model, output)
    if Capability.NEXT_TOKEN in loaded.info.capabilities:
        result = _whole_row(loaded, question, output)
    else:
        result = _top_only(loaded, question, output)
    deliver(result, output, path)


def _whole_row(model: LanguageModel, question: Question, output: Output) -> Result:
    row = next_row(model, question.context, bos=question.bos)
    top = row.top(question.k)
    shown = sum(t.prob for t in top)
    rows = [
        {"rank": i, "token": t.token, "piece": t.piece, "log_prob": t.log_prob}
        for i, t in enumerate(top, start=1)
    ]
    lines = [
        show_model(model),
        *_table([(t.token, t.piece, t.log_prob) for t in top]),
        f"entropy {row.entropy:.4f} nats ({row.entropy / _LN_2:.4f} bits); effective support "
        f"{row.effective_support:.1f} of {row.n_tokens} tokens",
        f"tokens not shown have {_show_mass(1.0 - shown)} of the probability, "
        f"ids that no token uses {_show_mass(row.unused_mass)}",
        *([f"flags: {', '.join(sorted(row.flags))}"] if row.flags else []),
        show_cost(row.cost),
    ]
    parts = {"model": model_part(model), "bos": question.bos, **row.to_dict(question.k)}
    return Result(
        document=document("next", output, context=question.context, **parts), lines=lines,
        rows=rows, columns=COLUMNS,
    )  # fmt: skip


def _top_only(model: LanguageModel, question: Question, output: Output) -> Result:
    top, cost = top_tokens(model, question.context, question.k, bos=question.bos)
    triples = list(zip(top.tokens, top.pieces, top.log_probs, strict=True))
    rows = [
        {"rank": i, "token": token, "piece": piece, "log_prob": log_prob}
        for i, (token, piece, log_prob) in enumerate(triples, start=1)
    ]
    lines = [
        show_model(model),
        *_table(triples),
        f"any token not shown has log-prob {show_log_prob(top.log_prob_elsewhere, is_bound=True)} "
        f"(prob {show_prob(top.log_prob_elsewhere, is_bound=True)}); together they have "
        f"{show_prob(top.log_mass_elsewhere)}",
        "this model names only its likeliest tokens, so it has no entropy here",
        show_cost(cost),
    ]
    parts = {
        "model": model_part(model),
        "context": question.context,
        "bos": question.bos,
        "top": rows,
        "log_prob_elsewhere": top.log_prob_elsewhere,
        "log_mass_elsewhere": top.log_mass_elsewhere,
        "cost": cost.to_dict(),
    }
    return Result(
        document=document("next", output, **parts), lines=lines, rows=rows, columns=COLUMNS
    )


def _show_mass(mass: float) -> str:
    return show_prob(math.log(mass) if mass > 0.0 else -math.inf)


def _table(tokens: list[tuple[int | None, str, float]]) -> list[str]:
    columns = [
        Column(title="#", is_number=True),
        Column(title="id", is_number=True),
        Column(title="piece", gives_way=True),
        Column(title="log-prob", is_number=True),
        Column(title="prob", is_number=True),
        Column(title=""),
    ]
    rows = [
        [
            str(i),
            "" if token is None else str(token),
            repr(piece),
            show_log_prob(log_prob),
            show_prob(log_prob),
            bar(math.exp(log_prob)),
        ]
        for i, (token, piece, log_prob) in enumerate(tokens, start=1)
    ]
    return table(columns, rows)
