"""``likely rare-bench``: the library's numbers, a journal to go on from, formats, plain errors."""

import json
import math
from dataclasses import replace

import bench_cases as make
import pandas as pd
import pytest
from command_line import run, run_json

import likely
from likely.cli import rare_bench as module
from likely.errors import InputError
from likely.rare import stored_truths
from likely.rare.bench import plan, running
from likely.rare.bench.running import iter_bench
from likely.rare.bench.summary import summarise
from likely.rare.counting import Counts
from likely.rare.ground_truth import framed
from likely.rare.named import distribution
from likely.report import rare_bench_page
from likely.runs.journal import journal_path
from likely.runs.store import read_rows

PLAN = plan.BenchConfig(
    models=("echo",), distributions=("hex",), methods=("naive", "forecast"), budget=300, seeds=2,
    decades=make.DECADES, per_decade=1, reference="naive", arms=("calls", "seconds"),
)  # fmt: skip


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Put a model that is known exactly behind the preset, and a clock that stands still."""
    monkeypatch.setitem(plan.PRESETS, "smoke", PLAN)
    monkeypatch.setattr(module, "open_setting", make.open_setting)
    monkeypatch.setattr(module, "stored_digest", lambda model, law: f"{model} {law}")
    monkeypatch.setattr(running.time, "perf_counter", ticking())


def ticking():
    """Return a clock on which everything takes a second."""
    times = iter(range(10**6))
    return lambda: float(next(times))


def expected(seed=3):
    run = iter_bench(PLAN, make.open_setting, seed=seed, done={})
    return [row for _, rows in run for row in rows]


def test_the_document_has_the_numbers_of_the_library():
    found = run_json("rare-bench", "--seed", 3)
    rows = expected()
    assert len(found["estimates"]) == len(rows) == 2 * 2 * 2 * 3
    assert found["comparison"]["budget"] == 300
    assert found["comparison"]["arms"] == ["calls", "seconds"]
    for one, row in zip(found["estimates"], rows, strict=True):
        assert one["log_prob"] == ("-inf" if math.isinf(row["log_prob"]) else row["log_prob"])
        assert [one[name] for name in ("arm", "method", "seed", "token", "budget")] == [
            row[name] for name in ("arm", "method", "seed", "token", "budget")
        ]
    for one, summary in zip(found["summaries"], summarise(rows), strict=True):
        assert one["method"] == summary.method
        assert one["bias_decades"] == pytest.approx(summary.bias)
        assert one["losses"]["SPB 1.5"]["mean"] == pytest.approx(summary.losses["SPB 1.5"].mean)
    assert sorted({one["low"] for one in found["decades"]}) == list(make.DECADES[:3])


def test_a_person_sees_both_arms_and_how_to_read_them():
    done = run("rare-bench")
    assert done.exit_code == 0, done.stderr
    assert "3 targets of echo under hex, 2 seeds each" in done.stdout
    assert "equal calls: 300 model calls a target" in done.stdout
    assert "equal seconds: the time that naive takes for 300 calls" in done.stdout
    assert "1e-3..1e-2 (1)" in done.stdout
    assert "bias: decades" in done.stdout


@pytest.mark.parametrize("suffix", module.SUFFIXES)
def test_every_format_is_written(tmp_path, monkeypatch, suffix):
    monkeypatch.setattr(rare_bench_page, "_figures", lambda rows, arm: ())  # the page has its own
    path = tmp_path / f"found{suffix}"
    done = run("rare-bench", "--out", path, "--seed", 3)
    assert done.exit_code == 0, done.stderr
    assert not journal_path(path).exists()  # it is whole
    rows = expected()
    if suffix == ".json":
        assert len(json.loads(path.read_text())["estimates"]) == len(rows)
    elif suffix == ".csv":
        table = pd.read_csv(path)
        assert table["truth"].tolist() == pytest.approx([row["truth"] for row in rows])
    elif suffix == ".html":
        assert "Which method finds how rare an output is?" in path.read_text()
    else:
        assert [one["log_prob"] for one in read_rows(path, module.COLUMNS)] == [
            row["log_prob"] for row in rows
        ]


def test_a_run_that_was_cut_short_goes_on_and_gives_the_same_file(tmp_path, monkeypatch):
    whole = tmp_path / "whole.jsonl"
    assert run("rare-bench", "--out", whole).exit_code == 0
    path, made = tmp_path / "cut.jsonl", []
    true = running.estimate_many

    def failing(*args, **options):
        if len(made) == 3:
            raise KeyboardInterrupt
        made.append(options["method"].name)
        return true(*args, **options)

    monkeypatch.setattr(running, "estimate_many", failing)
    monkeypatch.setattr(running.time, "perf_counter", ticking())
    assert run("rare-bench", "--out", path).exit_code != 0
    assert not path.exists()
    assert journal_path(path).exists()
    monkeypatch.setattr(running, "estimate_many", true)
    done = run("rare-bench", "--out", path)
    assert done.exit_code == 0, done.stderr
    assert path.read_bytes() == whole.read_bytes()


def test_a_journal_of_other_truths_is_not_gone_on_from(tmp_path, monkeypatch):
    path = tmp_path / "found.jsonl"
    monkeypatch.setattr(module, "_write", lambda *args: (_ for _ in ()).throw(KeyboardInterrupt))
    assert run("rare-bench", "--out", path).exit_code != 0
    monkeypatch.undo()
    monkeypatch.setitem(plan.PRESETS, "smoke", PLAN)
    monkeypatch.setattr(module, "stored_digest", lambda model, law: "another")
    done = run("rare-bench", "--out", path)
    assert done.exit_code == 1
    assert "belongs to another run, which differs in" in done.stderr
    assert "truths" in done.stderr


def test_flags_change_what_is_compared(monkeypatch):
    options = (("forecast", "top", 12), ("ga-amls", "n_steps", 3))
    monkeypatch.setitem(plan.PRESETS, "smoke", replace(PLAN, options=options))
    found = run_json(
        "rare-bench", "--methods", "forecast", "--seeds", 1, "--budget", 64, "--arm", "calls"
    )
    assert {one["method"] for one in found["estimates"]} == {"forecast"}
    assert {(one["seed"], one["budget"]) for one in found["estimates"]} == {(0, 64)}
    assert found["comparison"]["options"] == [["forecast", "top", 12]]


def test_no_target_is_said_and_no_error(monkeypatch):
    monkeypatch.setitem(plan.PRESETS, "smoke", replace(PLAN, decades=(1e-9, 1e-8)))
    done = run("rare-bench")
    assert done.exit_code == 0, done.stderr
    assert "nothing was compared" in done.stdout
    assert "no target of the wanted decades for echo under hex" in done.stderr


@pytest.mark.parametrize(
    ("flags", "code", "part"),
    [
        (("--preset", "smok"), 2, "smoke"),
        (("--methods", "naiv"), 1, "did you mean ['naive']"),
        (("--methods", "amls-inputs"), 1, "needs a budget of 2410 calls, got 300"),
        (("--methods", ","), 1, "methods are one or more different names"),
        (("--distributions", "hexx"), 1, "did you mean ['hex']"),
        (("--models", "tiny-3l"), 1, "no truth of 'tiny-3l' under 'hex'"),
        (("--budget", "0"), 2, "--budget"),
        (("--out", "found.txt"), 1, ".html"),
    ],
)
def test_a_wrong_question_gets_one_line_before_anything_runs(monkeypatch, flags, code, part):
    monkeypatch.setattr(module, "open_setting", None)
    monkeypatch.setattr(
        module, "stored_digest", lambda model, law: None if model == "tiny-3l" else "truth"
    )
    done = run("rare-bench", *flags)
    assert done.exit_code == code
    said = " ".join(done.stderr.replace("│", " ").split())
    assert part in said
    assert code == 2 or len(done.stderr.strip().splitlines()) == 1


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return a folder of truths in the place of the package's own."""
    monkeypatch.undo()
    monkeypatch.setattr(stored_truths, "FOLDER", tmp_path)
    stored_truths._read.cache_clear()
    yield tmp_path
    stored_truths._read.cache_clear()


def test_a_truth_of_this_model_under_this_law_is_read(folder):
    model = likely.load("tiny-1l")
    law = distribution("hex", model)
    counts = replace(Counts.none(model.info.n_vocab), n_stems=128)
    framed(model, law, counts, seed=0).save(folder / "tiny-1l-hex.parquet")
    loaded, _, truth = module.open_setting("tiny-1l", "hex")
    assert loaded.info.fingerprint == truth.fingerprint == model.info.fingerprint
    assert truth.counts.n_stems == 128
    assert stored_truths.stored_digest("tiny-1l", "hex") is not None
    other = replace(truth, fingerprint="other")
    other.save(folder / "tiny-1l-hex.parquet")
    stored_truths._read.cache_clear()
    with pytest.raises(InputError, match="no truth of 'tiny-1l' under 'hex' comes with likely"):
        module.open_setting("tiny-1l", "hex")
