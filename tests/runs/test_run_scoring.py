"""Runs: killed, resumed, finished, and the same file each time."""

import json
import math
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import likely
from likely.errors import InputError, StoreError
from likely.runs.items import Item
from likely.runs.journal import journal_path
from likely.runs.score_rows import read_scores
from likely.runs.scoring import ScoreOptions, record_path, run_scores

CHILD = Path(__file__).parent / "killed_run.py"


def coin(**options):
    def law(context):
        return {"A": 0.25, "B": 0.75} if context[-1] == "A" else {"A": 1.0}

    return likely.TableModel(["A", "B"], law, fingerprint="coin", **options)


def items_of(*pairs):
    return [Item(id=str(i), context=c, continuation=t) for i, (c, t) in enumerate(pairs)]


PAIRS = [("A", "B"), ("B", "B"), ("A", "AB"), ((2, 0), (1,)), ("B", "A"), ("", "A"), ("A", "A")]


class Recorder:
    def __init__(self):
        self.expected, self.done = [], 0

    def expect(self, tokens):
        self.expected.append(tokens)

    def advance(self, tokens):
        self.done += tokens


def run_child(out, marker, *, stop_after):
    return subprocess.Popen(
        [sys.executable, str(CHILD), str(out), str(marker), str(stop_after)],
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip


def finish_child(out, marker):
    """Run to the end and return how many contexts the model was asked about."""
    child = run_child(out, marker, stop_after=0)
    text, _ = child.communicate(timeout=120)
    assert child.returncode == 0
    return int(text)


def kill_child(out, marker, *, after):
    """Run until the model has been asked ``after`` times, and kill the process there."""
    with run_child(out, marker, stop_after=after) as child:
        for _ in range(6000):
            if marker.exists() or child.poll() is not None:
                break
            time.sleep(0.01)
        child.kill()
    assert marker.exists()


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
def test_a_run_killed_after_37_of_100_items_resumes_to_the_same_file(tmp_path, suffix):
    clean, killed = tmp_path / f"clean{suffix}", tmp_path / f"killed{suffix}"
    marker = tmp_path / "reached"
    assert finish_child(clean, marker) == 100

    kill_child(killed, marker, after=37)
    assert not killed.exists()

    assert finish_child(killed, marker) == 70  # three batches of ten were durable
    assert killed.read_bytes() == clean.read_bytes()
    assert not journal_path(killed).exists()
    ours, theirs = (json.loads(record_path(p).read_text()) for p in (killed, clean))
    assert ours["run"] == theirs["run"]
    assert ours["cost"]["token_evaluations"] == theirs["cost"]["token_evaluations"]


def test_scores_are_those_of_one_call_in_the_order_asked():
    run = run_scores(coin(), items_of(*PAIRS), batch=2)
    assert list(run.scores) == list(likely.score(coin(), PAIRS))
    assert run.path is None


def test_the_file_holds_what_the_run_returned(tmp_path):
    for suffix in (".jsonl", ".parquet"):
        out = tmp_path / f"scores{suffix}"
        run = run_scores(coin(name="org/coin:q4"), items_of(*PAIRS), out=out, batch=3)
        back = read_scores(out)
        assert tuple(score for _, score in back) == run.scores
        assert [item.id for item, _ in back] == [item.id for item in run.items]
        assert run.scores[1].log_prob == -math.inf


def test_a_finished_run_is_read_back_and_not_made_again(tmp_path):
    out = tmp_path / "scores.jsonl"
    first = run_scores(coin(), items_of(*PAIRS), out=out)
    when = out.stat().st_mtime_ns
    recorder = Recorder()
    second = run_scores(coin(), items_of(*PAIRS), out=out, meter=recorder)
    assert (second.scores, second.run_id, second.cost) == (first.scores, first.run_id, first.cost)
    assert (second.n_resumed, recorder.done) == (len(PAIRS), 0)
    assert out.stat().st_mtime_ns == when


def test_a_finished_file_that_was_touched_is_made_again(tmp_path):
    out = tmp_path / "scores.jsonl"
    run_scores(coin(), items_of(*PAIRS), out=out)
    good = out.read_bytes()
    out.write_bytes(good.replace(b"-0.2876", b"-0.9999", 1))
    again = run_scores(coin(), items_of(*PAIRS), out=out)
    assert again.n_resumed == 0
    assert out.read_bytes() == good


@pytest.mark.parametrize(
    "change",
    [
        {"options": ScoreOptions(bos="never")},
        {"options": ScoreOptions(boundary="separate")},
        {"options": ScoreOptions(settings=likely.Settings(deterministic=True))},
        {"batch": 5},
    ],
)
def test_another_configuration_is_another_run(tmp_path, change):
    out = tmp_path / "scores.jsonl"
    items = items_of(("A", "B"), ("B", "A"))
    first = run_scores(coin(), items, out=out)
    second = run_scores(coin(), items, out=out, **change)
    assert second.run_id != first.run_id
    assert second.n_resumed == 0


def test_a_run_is_named_by_its_model_and_items_and_not_by_its_place(tmp_path):
    items = items_of(*PAIRS)
    here = run_scores(coin(), items, out=tmp_path / "a.jsonl")
    there = run_scores(coin(), items, out=tmp_path / "b.parquet")
    other = run_scores(coin(), items[:-1], out=tmp_path / "c.jsonl")
    third = run_scores(coin(name="other"), items, out=tmp_path / "d.jsonl")
    assert here.run_id == there.run_id
    assert len({here.run_id, other.run_id, third.run_id}) == 3


def test_the_meter_learns_the_whole_job_first_and_ends_on_it():
    recorder = Recorder()
    run = run_scores(coin(), items_of(*PAIRS), batch=2, meter=recorder)
    assert recorder.expected == [run.cost.token_evaluations]
    assert recorder.done == run.cost.token_evaluations


def test_what_the_cache_knows_leaves_the_total(tmp_path):
    recorder = Recorder()
    with likely.ScoreCache(tmp_path / "scores.sqlite") as cache:
        first = run_scores(coin(), items_of(*PAIRS), batch=2, cache=cache)
        second = run_scores(coin(), items_of(*PAIRS), batch=2, cache=cache, meter=recorder)
    assert second.scores == first.scores
    assert (second.cost.token_evaluations, second.cost.cached) == (0, len(PAIRS))
    assert sum(recorder.expected) == recorder.done == 0


@pytest.mark.parametrize(
    ("item", "fault"),
    [
        (Item(id="bad", context="A", continuation=""), "at least one token"),
        (Item(id="bad", context="Z", continuation="A"), "no token of the table matches 'Z'"),
        (Item(id="bad", context="AAAA", continuation="BB"), "needs 6 tokens of context.* has 4"),
        (Item(id="0", context="A", continuation="B"), "distinct, got '0' twice"),
    ],
)
def test_an_item_that_cannot_be_scored_is_named_before_any_work(tmp_path, item, fault):
    items = [*items_of(("A", "B")), item]
    recorder = Recorder()
    with pytest.raises(InputError, match=fault) as caught:
        run_scores(coin(max_tokens=4), items, out=tmp_path / "o.jsonl", meter=recorder)
    assert repr(item.id) in str(caught.value)
    assert recorder.done == 0
    assert os.listdir(tmp_path) == []


def test_nothing_to_score_is_refused():
    with pytest.raises(InputError, match="no items"):
        run_scores(coin(), [])


def test_a_journal_of_another_run_is_refused(tmp_path):
    out, marker = tmp_path / "scores.jsonl", tmp_path / "reached"
    kill_child(out, marker, after=15)
    with pytest.raises(StoreError, match="belongs to another run"):
        run_scores(coin(), items_of(*PAIRS), out=out)
    assert run_scores(coin(), items_of(*PAIRS), out=out, resume=False).n_resumed == 0


def test_an_output_that_cannot_be_written_stops_the_run_before_any_work(tmp_path):
    recorder = Recorder()
    with pytest.raises(StoreError, match="make its folder first"):
        run_scores(coin(), items_of(*PAIRS), out=tmp_path / "no" / "o.jsonl", meter=recorder)
    assert recorder.done == 0
