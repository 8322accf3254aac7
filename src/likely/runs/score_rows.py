"""A score as a row of a file, and back. Unit: nats."""

from collections.abc import Mapping
from pathlib import Path
from typing import cast

from likely.core.results import Score
from likely.runs.items import Item
from likely.runs.store import Columns, read_rows

SCORE_COLUMNS: Columns = {
    "model": "text",
    "id": "text",
    "context": "text",
    "continuation": "text",
    "log_prob": "float",
    "log_prob_low": "float",
    "n_scored": "int",
    "tokens": "ints",
    "pieces": "texts",
    "token_log_probs": "floats",
    "censored": "bools",
    "context_tokens": "ints",
    "flags": "texts",
}
"""Columns of a file of scores; ``context`` and ``continuation`` are null where ids were given."""


def read_scores(path: Path) -> list[tuple[Item, Score]]:
    """Return the items and scores of a file that `run_scores` wrote.

    Raises:
        InputError, StoreError: As `read_rows`.
    """
    return [(_item_of(row), score_of_row(row)) for row in read_rows(path, SCORE_COLUMNS)]


def score_row(model: str, item: Item, score: Score) -> dict[str, object]:
    """Return a score as a row of `SCORE_COLUMNS`."""
    return {
        "model": model,
        "id": item.id,
        "context": item.context if isinstance(item.context, str) else None,
        "continuation": item.continuation if isinstance(item.continuation, str) else None,
        "log_prob": score.log_prob,
        "log_prob_low": score.bounds[0],
        "n_scored": score.n_scored,
        "tokens": score.tokens,
        "pieces": score.pieces,
        "token_log_probs": score.token_log_probs,
        "censored": score.censored,
        "context_tokens": score.context_tokens,
        "flags": tuple(sorted(score.flags | item.flags)),
    }


def score_of_row(row: Mapping[str, object]) -> Score:
    """Return the score that `score_row` wrote."""
    return Score(
        log_prob=cast(float, row["log_prob"]),
        tokens=cast(tuple[int, ...], row["tokens"]),
        pieces=cast(tuple[str, ...], row["pieces"]),
        token_log_probs=cast(tuple[float | None, ...], row["token_log_probs"]),
        censored=cast(tuple[bool, ...], row["censored"]),
        context_tokens=cast(tuple[int, ...], row["context_tokens"]),
        flags=frozenset(cast(tuple[str, ...], row["flags"])),
    )


def _item_of(row: Mapping[str, object]) -> Item:
    context, continuation = row["context"], row["continuation"]
    return Item(
        id=cast(str, row["id"]),
        context=cast(str | tuple[int, ...], row["context_tokens"] if context is None else context),
        continuation=cast(
            str | tuple[int, ...], row["tokens"] if continuation is None else continuation
        ),
    )
