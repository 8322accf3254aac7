"""``likely score``: continuations after a context, from flags or from a file of items."""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Literal

import typer

from likely.cli.deliver import (
    SUFFIXES,
    Result,
    deliver,
    document,
    load_model,
    model_part,
    note,
    out_path,
    show_model,
)
from likely.cli.flags import BosFlag, ModelChoice, Output
from likely.cli.progress import TokenMeter
from likely.cli.screen import Column, show_cost, show_cut, show_log_prob, show_prob, table
from likely.core.choice import choose
from likely.core.model import LanguageModel, Settings
from likely.core.results import Score
from likely.core.text.chat import chat as render_chat
from likely.errors import InputError
from likely.runs.items import Item, check_text, load_items
from likely.runs.paths import open_score_cache
from likely.runs.score_rows import SCORE_COLUMNS, score_row
from likely.runs.scoring import BATCH, ScoreOptions, ScoreRun, run_scores
from likely.runs.store import ROW_SUFFIXES

_TAIL = 40  # characters of a context that a table shows


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is scored."""

    context: Annotated[
        str | None, typer.Option("--context", metavar="TEXT", help="What stands before.")
    ] = None
    continuation: Annotated[
        list[str] | None,
        typer.Option("--continuation", metavar="TEXT", help="What is scored; may be repeated."),
    ] = None
    items: Annotated[
        Path | None,
        typer.Option(
            "--items",
            metavar="FILE.jsonl",
            help="Score a file instead, one object a line with `context`, `continuation` and, if "
            "you like, `id`; text or lists of ids.",
        ),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """How text becomes ids."""

    bos: BosFlag = "auto"
    boundary: Annotated[
        Literal["joint", "separate", "error"],
        typer.Option(
            "--boundary",
            help="Where context and continuation meet: split together, apart, or "
            "refuse a token that spans the join.",
        ),
    ] = "joint"
    leading_space: Annotated[
        bool,
        typer.Option("--leading-space", help="Put a space before continuations without one."),
    ] = False
    deterministic: Annotated[
        bool,
        typer.Option(
            "--deterministic", help="Run each item alone, so that its bits depend on no other."
        ),
    ] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Chat:
    """Whether the context is a message in a chat."""

    chat: Annotated[
        bool, typer.Option("--chat", help="The context is the user's message in a chat.")
    ] = False
    system: Annotated[
        str | None, typer.Option("--system", metavar="TEXT", help="With --chat: a system message.")
    ] = None
    prefill: Annotated[
        str | None,
        typer.Option("--prefill", metavar="TEXT", help="With --chat: how the reply begins."),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """How a file of items is worked through."""

    batch: Annotated[
        int,
        typer.Option(
            "--batch",
            metavar="N",
            min=1,
            help="Items scored together, and the most a kill can lose.",
        ),
    ] = BATCH
    cache: Annotated[
        bool,
        typer.Option("--cache/--no-cache", help="With --items: look up and keep known scores."),
    ] = True
    resume: Annotated[
        bool,
        typer.Option(
            "--resume/--no-resume", help="With --items and --out: go on where a killed run stopped."
        ),
    ] = True
    limit: Annotated[
        int,
        typer.Option(
            "--limit", metavar="N", min=0, help="Rows of the table on the screen; 0 for all."
        ),
    ] = 20


def score(
    question: Question,
    policy: Policy,
    chat: Chat,
    running: Running,
    model: ModelChoice,
    output: Output,
) -> None:
    """Score continuations after a context: exact log-probabilities in nats.

    Give one --context and any number of --continuation, or a file with --items. With --out FILE
    ending in .jsonl or .parquet each batch is durable once done, a killed run goes on where it
    stopped, and FILE.run.json keeps the run's id, its settings and its cost.
    """
    _check_usage(question, chat)
    path = out_path(output, name=f"score {model.model}", suffixes=(*ROW_SUFFIXES, *SUFFIXES[:1]))
    items = _items(question)
    loaded = load_model(model, output)
    if chat.chat:
        items = tuple(_as_chat(loaded, item, chat) for item in items)
    options = ScoreOptions(
        bos=policy.bos, boundary=policy.boundary, leading_space=policy.leading_space,
        settings=Settings(deterministic=policy.deterministic),
    )  # fmt: skip
    run_path = path if path is not None and path.suffix in ROW_SUFFIXES else None
    with (
        open_score_cache() if question.items and running.cache else nullcontext() as cache,
        TokenMeter("scoring", quiet=output.quiet) as meter,
    ):
        run = run_scores(
            loaded, items, out=run_path, options=options, batch=running.batch,
            cache=cache, meter=meter, resume=running.resume,
        )  # fmt: skip
    if run.n_resumed:
        note(f"took over {run.n_resumed} of {len(items)} items from an earlier run", output)
    _deliver(loaded, run, options, output, path, question, running.limit)


def _deliver(
    model: LanguageModel,
    run: ScoreRun,
    options: ScoreOptions,
    output: Output,
    path: Path | None,
    question: Question,
    limit: int,
) -> None:
    rows = [
        score_row(model.info.name, item, s) for item, s in zip(run.items, run.scores, strict=True)
    ]
    is_choice = question.items is None and len(run.scores) > 1
    lines = [show_model(model), *_table(run, limit, has_items=question.items is not None)]
    parts: dict[str, object] = {
        "model": model_part(model), "run": run.run_id, "settings": asdict(options),
        "scores": rows, "cost": run.cost.to_dict(),
    }  # fmt: skip
    if is_choice:
        choice = choose(run.scores)
        parts["choice"] = {"best": choice.best, "undecided": choice.undecided}
        lines.append(_show_choice(run.scores, choice.best, choice.undecided))
    lines.append(show_cost(run.cost))
    deliver(
        Result(document=document("score", output, **parts), lines=lines, rows=rows,
               columns=SCORE_COLUMNS),
        output, path, is_written=run.path is not None,
    )  # fmt: skip


def _check_usage(question: Question, chat: Chat) -> None:
    has_pair = question.context is not None or bool(question.continuation)
    if question.items is not None and has_pair:
        raise typer.BadParameter("give --items, or --context and --continuation, not both")
    if question.items is None and (question.context is None or not question.continuation):
        raise typer.BadParameter(
            "give --context and at least one --continuation, or a file with --items"
        )
    if not chat.chat and (chat.system is not None or chat.prefill is not None):
        raise typer.BadParameter("--system and --prefill need --chat")


def _items(question: Question) -> tuple[Item, ...]:
    if question.items is not None:
        return load_items(question.items)
    context = check_text(question.context or "", what="context")
    return tuple(
        Item(id=str(i), context=context, continuation=check_text(text, what="continuation"))
        for i, text in enumerate(question.continuation or ())
    )


def _as_chat(model: LanguageModel, item: Item, chat: Chat) -> Item:
    if not isinstance(item.context, str):
        raise InputError(f"item {item.id!r}: with --chat a context is a message, got ids")
    messages = [{"role": "user", "content": item.context}]
    if chat.system is not None:
        messages.insert(0, {"role": "system", "content": chat.system})
    if chat.prefill is not None:
        messages.append({"role": "assistant", "content": chat.prefill})
    prompt = render_chat(model, messages)
    return replace(item, context=prompt.text, flags=item.flags | prompt.flags)


def _table(run: ScoreRun, limit: int, *, has_items: bool) -> list[str]:
    n = min(limit or len(run.items), len(run.items))
    columns = [
        Column(title="item" if has_items else "#", is_number=not has_items, gives_way=has_items),
        Column(title="log-prob", is_number=True),
        Column(title="prob", is_number=True),
        Column(title="tokens", is_number=True),
        Column(title="pieces", gives_way=True),
        Column(title="context", gives_way=True, keeps_end=True),
        Column(title="flags", gives_way=True),
    ]
    rows = [
        [
            item.id,
            show_log_prob(s.log_prob, is_bound=any(s.censored)) if s.n_scored else "-",
            show_prob(s.log_prob, is_bound=any(s.censored)) if s.n_scored else "-",
            str(s.n_scored) if s.n_scored == len(s.tokens) else f"{s.n_scored}/{len(s.tokens)}",
            "|".join(repr(piece) for piece in s.pieces),
            _tail(item) if has_items else "",
            ", ".join(sorted(s.flags)),
        ]
        for item, s in zip(run.items[:n], run.scores[:n], strict=True)
    ]
    return [*table(columns, rows), *show_cut(n, len(run.items))]


def _tail(item: Item) -> str:
    """Return the end of a context, where the continuation joins it."""
    if not isinstance(item.context, str):
        return f"{len(item.context)} ids"
    kept = item.context[-_TAIL:]
    return repr(kept) if kept == item.context else "…" + repr(kept)[1:]


def _show_choice(scores: Sequence[Score], best: Sequence[int], undecided: Sequence[int]) -> str:
    names = [repr("".join(scores[i].pieces)) for i in best]
    if undecided:
        open_names = ", ".join(repr("".join(scores[i].pieces)) for i in undecided)
        return f"undecided: {open_names} may beat or join the best; only bounds are known"
    return f"likeliest: {names[0]}" if len(names) == 1 else f"tie: {' = '.join(names)}"
