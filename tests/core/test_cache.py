"""The score cache: many processes, many models, and every way a file can be wrong."""

import json
import math
import sqlite3
import subprocess
import sys

import numpy as np
import pytest

import likely
from likely.core.cache import content_key
from likely.core.engine import Row, evaluate
from likely.errors import StoreError

WRITER = """
import sys, struct
from pathlib import Path
from likely.core.cache import ScoreCache

path, worker, n = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
with ScoreCache(path) as cache:
    for i in range(n):
        key = struct.pack("<qq", worker, i).ljust(20, b"k")
        cache.put_many([(key, struct.pack("<d", -worker - i / n))])
"""


def table(folder, name, prob):
    """Return a model over A and B that gives A the probability ``prob`` everywhere."""
    path = folder / f"{name}.json"
    rows = [{"after": [], "probs": {"A": prob, "B": 1.0 - prob}}]
    path.write_text(json.dumps({"tokens": ["A", "B"], "bos": "<s>", "rows": rows}))
    return likely.load(f"table:{path}")


def test_four_processes_of_500_writes_leave_2000_readable_rows(tmp_path):
    path = tmp_path / "made by whoever comes first" / "scores.sqlite"
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), str(worker), "500"],
            stderr=subprocess.PIPE, text=True,
        )
        for worker in range(4)
    ]  # fmt: skip
    errors = [writer.communicate(timeout=120)[1] for writer in writers]
    assert [writer.returncode for writer in writers] == [0] * 4, errors
    with likely.ScoreCache(path) as cache:
        assert len(cache) == 2000
        keys = [
            np.array([w, i], dtype="<i8").tobytes().ljust(20, b"k")
            for w in range(4)
            for i in range(500)
        ]
        found = cache.get_many(keys)
        values = [np.frombuffer(found[key], dtype="<f8")[0] for key in keys]
    assert values == [-w - i / 500 for w in range(4) for i in range(500)]


def test_two_models_share_a_cache_and_keep_their_own_scores(tmp_path):
    half, quarter = table(tmp_path, "half", 0.5), table(tmp_path, "quarter", 0.25)
    with likely.ScoreCache(tmp_path / "scores.sqlite") as cache:
        for _ in range(2):
            for model, expected in ((half, -math.log(2)), (quarter, -math.log(4))):
                [score] = likely.score(model, [("B", "A")], cache=cache)
                assert score.log_prob == pytest.approx(expected, abs=1e-12)


def test_the_second_call_costs_nothing_and_gives_the_same_bits(tmp_path):
    model = table(tmp_path, "third", 1 / 3)
    pairs = [("A", "AB"), ("", "B"), ("BBB", "A")]
    with likely.ScoreCache(tmp_path / "scores.sqlite") as cache:
        first = likely.score(model, pairs, cache=cache)
        second = likely.score(model, pairs, cache=cache)
    assert first.cost.token_evaluations > 0
    assert (second.cost.token_evaluations, second.cost.cached) == (0, 3)
    assert second.items == first.items


def test_an_impossible_continuation_comes_back_from_the_cache_as_minus_inf(tmp_path):
    model = table(tmp_path, "sure", 1.0)
    path = tmp_path / "scores.sqlite"
    with likely.ScoreCache(path) as cache:
        likely.score(model, [("A", "B")], cache=cache)
    with likely.ScoreCache(path) as cache:
        scores = likely.score(model, [("A", "B")], cache=cache)
    assert scores.cost.cached == 1
    assert scores[0].log_prob == -math.inf
    assert scores[0].token_log_probs == (-math.inf,)


def test_a_row_keeps_its_shape_and_its_zeros(tmp_path):
    model = table(tmp_path, "sure", 1.0)
    request = Row(prefix=(2, 0))
    with likely.ScoreCache(tmp_path / "scores.sqlite") as cache:
        first = evaluate(model, [request], cache=cache)[0].values
        second = evaluate(model, [request], cache=cache)[0].values
    assert second.tolist() == first.tolist() == [0.0, -math.inf, -math.inf]


def test_every_part_of_a_request_is_part_of_its_key():
    parts = ("model", "planned", "continuation", (1, 2), (3,))
    others = [
        ("other", "planned", "continuation", (1, 2), (3,)),
        ("model", "deterministic", "continuation", (1, 2), (3,)),
        ("model", "planned", "row", (1, 2), (3,)),
        ("model", "planned", "continuation", (1,), (2, 3)),
        ("model", "planned", "continuation", (2, 1), (3,)),
        ("modelplanned", "", "continuation", (1, 2), (3,)),
    ]
    keys = {content_key(*each) for each in [parts, *others]}
    assert len(keys) == len(others) + 1


def test_a_file_that_is_no_cache_is_refused_and_left_alone(tmp_path):
    path = tmp_path / "scores.sqlite"
    path.write_bytes(b"these are not the rows you are looking for" * 100)
    with pytest.raises(StoreError, match=r"no score cache or is damaged; delete it"):
        likely.ScoreCache(path)
    assert path.read_bytes().startswith(b"these are not")


def test_a_cache_of_a_newer_version_is_refused(tmp_path):
    path = tmp_path / "scores.sqlite"
    likely.ScoreCache(path).close()
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version=99")
    db.close()
    with pytest.raises(StoreError, match=r"format 99.*upgrade likely"):
        likely.ScoreCache(path)


def test_a_damaged_value_is_an_error_and_never_a_number(tmp_path):
    path = tmp_path / "scores.sqlite"
    model = table(tmp_path, "half", 0.5)
    with likely.ScoreCache(path) as cache:
        likely.score(model, [("A", "B")], cache=cache)
    with sqlite3.connect(path) as db:
        value = bytearray(db.execute("SELECT value FROM scores").fetchone()[0])
        value[-1] ^= 1
        db.execute("UPDATE scores SET value = ?", (bytes(value),))
    db.close()
    with (
        likely.ScoreCache(path) as cache,
        pytest.raises(StoreError, match="damaged entry; delete the file"),
    ):
        likely.score(model, [("A", "B")], cache=cache)


def test_a_full_disk_is_told_with_a_remedy_and_keeps_what_was_there(tmp_path):
    with likely.ScoreCache(tmp_path / "scores.sqlite") as cache:
        cache.put_many([(b"first".ljust(20), b"kept")])
        pages = cache._db.execute("PRAGMA page_count").fetchone()[0]
        cache._db.execute(f"PRAGMA max_page_count={pages}")
        with pytest.raises(StoreError, match=r"full; free some space"):
            cache.put_many([(b"second".ljust(20), bytes(100_000))])
        assert cache.get_many([b"first".ljust(20)]) == {b"first".ljust(20): b"kept"}
        assert len(cache) == 1


def test_a_folder_that_cannot_be_made_is_told_with_a_remedy(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="name a file in a folder that can be written"):
        likely.ScoreCache(tmp_path / "file" / "scores.sqlite")
