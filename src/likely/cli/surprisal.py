"""``likely surprisal``: a text, token by token or word by word."""

import math
import sys
from dataclasses import dataclass
from pathlib import Path
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
from likely.cli.progress import TokenMeter
from likely.cli.screen import Column, bar, show_cost, show_cut, show_log_prob, show_prob, table
from likely.core.results import TextScore
from likely.core.scoring import surprisal as read
from likely.errors import InputError
from likely.runs.items import check_text, decode_text, read_text
from likely.runs.store import Columns, Row

TOKEN_COLUMNS: Columns = {
    "place": "int", "token": "int", "piece": "text", "start": "int", "stop": "int",
    "log_prob": "float", "entropy": "float",
}  # fmt: skip
WORD_COLUMNS: Columns = {
    "place": "int", "word": "text", "start": "int", "stop": "int", "n_tokens": "int",
    "n_scored": "int", "log_prob": "float",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where the text comes from: one of three."""

    text: Annotated[str | None, typer.Option("--text", metavar="TEXT", help="The text itself.")] = (
        None
    )
    file: Annotated[
        Path | None,
        typer.Option("--file", metavar="FILE", help="A UTF-8 file, read to the letter."),
    ] = None
    stdin: Annotated[str | None, typer.Argument(metavar="-", help="- reads standard input.")] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How it is read and shown."""

    window: Annotated[
        int | None,
        typer.Option(
            "--window",
            metavar="N",
            min=1,
            help="Most tokens of an evaluation, for a text longer than the "
            "context; never chosen silently.",
        ),
    ] = None
    stride: Annotated[
        int | None,
        typer.Option(
            "--stride",
            metavar="N",
            min=1,
            help="How far each window moves on; half of it if unset.",
        ),
    ] = None
    bos: BosFlag = "auto"
    leading_space: Annotated[
        bool, typer.Option("--leading-space", help="Put a space before a text without one.")
    ] = False
    entropy: Annotated[
        bool, typer.Option("--entropy", help="Add the entropy of each predicting distribution.")
    ] = False
    words: Annotated[bool, typer.Option("--words", help="A row a word, not a token.")] = False
    limit: Annotated[
        int,
        typer.Option(
            "--limit", metavar="N", min=0, help="Rows of the table on the screen; 0 for all."
        ),
    ] = 100


def surprisal(source: Source, reading: Reading, model: ModelChoice, output: Output) -> None:
    """Read a text: the log-probability of each token after those before it, in nats.

    Give the text with --text, --file, or - for standard input. It is read to the letter; a
    newline at its end is scored too. A token that nothing stands before is not scored, and is
    left out of the sums: shown as a dash, null in files.
    """
    _check_usage(source, reading)
    path = out_path(output, name=f"surprisal {model.model}")
    text = _text(source)
    loaded = load_model(model, output)
    with TokenMeter("reading", quiet=output.quiet) as meter:
        found = read(
            loaded, text, window=reading.window, stride=reading.stride, bos=reading.bos,
            leading_space=reading.leading_space, with_entropy=reading.entropy, meter=meter,
        )  # fmt: skip
    rows = _word_rows(found) if reading.words else _token_rows(found)
    parts = {"model": model_part(loaded), "bos": reading.bos, **found.to_dict()}
    if reading.words:
        parts["words"] = rows
    result = Result(
        document=document("surprisal", output, **parts),
        lines=[show_model(loaded), *_lines(found, rows, reading)],
        rows=rows,
        columns=WORD_COLUMNS if reading.words else TOKEN_COLUMNS,
    )
    deliver(result, output, path)


def _check_usage(source: Source, reading: Reading) -> None:
    if source.stdin not in (None, "-"):
        raise typer.BadParameter(
            f"a text is given with --text, --file or -, got {source.stdin!r}", param_hint="-"
        )
    given = [x for x in (source.text, source.file, source.stdin) if x is not None]
    if len(given) != 1:
        raise typer.BadParameter(f"give one of --text, --file and -; got {len(given)} of them")
    if reading.words and reading.entropy:
        raise typer.BadParameter("--entropy is of tokens; leave --words out")


def _text(source: Source) -> str:
    if source.text is not None:
        return check_text(source.text, what="text")
    if source.file is not None:
        return read_text(source.file)
    return decode_text(sys.stdin.buffer.read(), where="standard input")


def _token_rows(found: TextScore) -> list[Row]:
    entropies = found.entropies or (None,) * len(found.tokens)
    columns = zip(
        found.tokens, found.pieces, found.spans, found.token_log_probs, entropies, strict=True
    )
    return [
        {
            "place": i, "token": token, "piece": piece, "start": start, "stop": stop,
            "log_prob": log_prob, "entropy": entropy,
        }
        for i, (token, piece, (start, stop), log_prob, entropy) in enumerate(columns)
    ]  # fmt: skip


def _word_rows(found: TextScore) -> list[Row]:
    return [
        {
            "place": i, "word": word.text, "start": word.span[0], "stop": word.span[1],
            "n_tokens": len(word.tokens), "n_scored": word.n_scored, "log_prob": word.log_prob,
        }
        for i, word in enumerate(found.words())
    ]  # fmt: skip


def _lines(found: TextScore, rows: list[Row], reading: Reading) -> list[str]:
    n = min(reading.limit or len(rows), len(rows))
    name = "word" if reading.words else "piece"
    values = [_number(row["log_prob"]) for row in rows]
    top = max((-x for x in values if x is not None and x != -math.inf), default=0.0) or 1.0
    columns = [
        Column(title="#", is_number=True),
        Column(title=name, gives_way=True),
        Column(title="log-prob", is_number=True),
        Column(title="prob", is_number=True),
        Column(title="entropy", is_number=True),
        Column(title="surprisal"),
    ]
    bounds = _bounds(found, reading)
    cells = [
        [
            str(row["place"]),
            repr(row[name]),
            show_log_prob(value, is_bound=is_bound),
            show_prob(value, is_bound=is_bound),
            show_log_prob(_number(row["entropy"])) if reading.entropy else "",
            "" if value is None else bar(-value / top),
        ]
        for row, value, is_bound in zip(rows[:n], values, bounds, strict=False)
    ]
    notes = [f"flags: {', '.join(sorted(found.flags))}"] if found.flags else []
    if found.window is not None:
        notes.append(f"read in windows of {found.window} tokens, {found.stride} apart")
    total = ("at most " if any(found.censored) else "") + found.summary()
    return [*table(columns, cells), *show_cut(n, len(rows)), total, *notes, show_cost(found.cost)]


def _bounds(found: TextScore, reading: Reading) -> list[bool]:
    if not reading.words:
        return list(found.censored)
    return [any(found.censored[i] for i in word.tokens) for word in found.words()]


def _number(value: object) -> float | None:
    if value is None or isinstance(value, float):
        return value
    raise InputError(f"a log-probability is a float or None, got {value!r}")
