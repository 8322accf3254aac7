"""``likely calibrate``: one document, rows that come back, comparisons, and runs broken off."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace

import pandas as pd
import pytest
from command_line import run, run_json, write_table
from policies import write_policy

import likely
from likely.calibration import FAMILIES, build_all, evaluate
from likely.calibration.analyses import frequencies
from likely.calibration.data_sets import family
from likely.calibration.data_sets.family import Joined
from likely.calibration.remedies import comparison
from likely.calibration.remedies.comparison import compare_remedies
from likely.calibration.remedies.evidence import evidence_of
from likely.calibration.rows import COLUMNS, frames_of
from likely.cli import screen
from likely.cli.screen import width
from likely.core.estimate import Cost
from likely.runs.store import read_rows

FAMILY = ("--families", "coin_bias,dice_sum", "--preset", "smoke", "--resamples", 100)


def items():
    return build_all(["coin_bias", "dice_sum"], preset="smoke")


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """Run a leaky policy once; return its spec, the folder, the document and what is printed."""
    folder = tmp_path_factory.mktemp("calibrate")
    spec = write_policy(folder / "leaky.json", items(), "leaky_0.3")
    shown = run(
        "calibrate", spec, *FAMILY, "--no-cache", "--out", folder / "one.json", "--items",
        folder / "items.parquet",
    )  # fmt: skip
    assert shown.exit_code == 0, shown.stderr
    return spec, folder, json.loads((folder / "one.json").read_text()), shown


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    """The spec of a model that always picks the option mentioned first."""
    return write_policy(tmp_path_factory.mktemp("first") / "first.json", items(), "pick_first")


def line_of(document, family, metric):
    lines = document["evaluation"]["lines"]
    [found] = [
        one for one in lines if (one["family"], one["metric"], one["scale"]) == (family, metric, "")
    ]
    return found["estimate"]


def test_the_document_has_the_model_the_items_and_every_part(done):
    spec, _, found, _ = done
    assert (found["command"], found["seed"], found["model"]["name"]) == ("calibrate", 0, spec)
    assert found["items"] == {
        "families": ["coin_bias", "dice_sum"], "preset": "smoke", "design": "balanced",
    }  # fmt: skip
    assert found["evaluation"]["n_items"] == 56
    assert found["evaluation"]["policy"]["chat"] == "none"
    assert [one["family"] for one in found["analyses"]] == ["coin_bias"]
    assert (found["differences"], found["remedies"]) == ([], {})


def test_a_leaky_calibrated_model_has_its_known_numbers(done):
    _, _, found, _ = done
    for name, distance in (("coin_bias", "wd01"), ("dice_sum", "wd_line_norm")):
        assert line_of(found, name, "pm")["value"] == pytest.approx(0.7, abs=1e-12)
        assert line_of(found, name, distance)["value"] == pytest.approx(0.0, abs=1e-12)
        assert line_of(found, name, "entropy_gap")["value"] == pytest.approx(0.0, abs=1e-12)


def test_nothing_but_what_was_written_is_said_where_nobody_watches(done):
    _, folder, _, shown = done
    assert shown.stderr.splitlines() == [
        f"wrote {folder / 'items.parquet'}", f"wrote {folder / 'one.json'}",
    ]  # fmt: skip


def test_every_line_fits_a_page(done):
    assert max(map(width, done[-1].stdout.splitlines())) <= 100


def test_a_narrow_terminal_cuts_nothing(done, monkeypatch):
    spec = done[0]
    monkeypatch.setattr(screen, "screen_width", lambda: 80)
    for module in ("claims", "intervals"):
        monkeypatch.setattr(f"likely.cli.{module}.screen_width", lambda: 80)
    lines = run("calibrate", spec, *FAMILY, "--no-cache").stdout.splitlines()
    assert max(map(width, lines[1:])) <= 80
    assert not any("…" in line for line in lines)


@pytest.mark.parametrize("suffix", ["parquet", "jsonl"])
def test_rows_give_the_frames_back(done, tmp_path, suffix):
    spec, folder, _, _ = done
    path = folder / "items.parquet"
    if suffix == "jsonl":
        path = tmp_path / "items.jsonl"
        run("calibrate", spec, *FAMILY, "--no-cache", "--items", path)
    frame, options = frames_of(read_rows(path, COLUMNS))
    theirs = evaluate(likely.load(spec), items(), n_resamples=100)
    pd.testing.assert_frame_equal(frame, theirs.frame, check_like=True)
    pd.testing.assert_frame_equal(options, theirs.option_frame, check_like=True)


def test_json_is_strict_holds_what_out_writes_and_a_model_does_not_differ_from_itself(done):
    spec, folder, whole, _ = done
    args = ("--no-cache", "--quiet", "--compare", folder / "items.parquet")
    found = run_json("calibrate", spec, *FAMILY, *args)
    for name in ("items", "analyses", "model"):
        assert found[name] == whole[name]
    for name in ("lines", "baselines", "policy", "seed", "surface_shares"):
        assert found["evaluation"][name] == whole["evaluation"][name]
    assert {(one["family"], one["n_items"]) for one in found["differences"]} == {
        ("coin_bias", 36), ("dice_sum", 20),
    }  # fmt: skip
    for one in found["differences"]:
        assert one["delta"]["value"] == one["delta"]["low"] == one["delta"]["high"] == 0.0
        assert one["p_value"] == one["adjusted_p"] == 1.0


def test_another_model_differs_by_what_both_have(done, first, tmp_path):
    _, folder, ours, _ = done
    args = ("--compare", folder / "items.parquet", "--no-cache", "--out", tmp_path / "x.json")
    shown = run("calibrate", first, *FAMILY, *args)
    assert shown.exit_code == 0, shown.stderr
    assert "differences: " in shown.stdout
    found = json.loads((tmp_path / "x.json").read_text())["differences"]
    by_name = {(one["family"], one["metric"]): one for one in found}
    distance = by_name["coin_bias", "wd01"]
    assert distance["first"]["value"] == pytest.approx(0.5)
    theirs = line_of(ours, "coin_bias", "wd01")["value"]
    assert distance["second"]["value"] == pytest.approx(theirs, abs=1e-12)
    assert by_name["coin_bias", "pm"]["delta"]["value"] == pytest.approx(0.3)
    assert all(one["adjusted_p"] >= one["p_value"] for one in found)


def test_a_design_is_told_and_reaches_the_items(tmp_path):
    ties = build_all(["colors"], preset="smoke", design="ties")
    spec = write_policy(tmp_path / "ties.json", ties, "uniform")
    args = ("--preset", "smoke", "--design", "ties", "--resamples", 100, "--no-cache")
    out = tmp_path / "out.json"
    shown = run("calibrate", spec, *args, "--families", "colors, colors,", "--out", out)
    assert shown.exit_code == 0, shown.stderr
    assert "preset smoke, design ties" in shown.stdout
    found = json.loads(out.read_text())
    assert found["items"] == {"families": ["colors"], "preset": "smoke", "design": "ties"}
    assert found["evaluation"]["n_items"] == len(ties)
    assert line_of(found, "colors", "is_direction_right") is None


def test_every_family_goes_through(tmp_path, monkeypatch):
    def few(names, **options):
        return Joined(parts=tuple(part[:8] for part in build_all(names, **options).parts))

    monkeypatch.setattr(family, "build_all", few)
    some = few(FAMILIES.names(), preset="smoke")
    spec = write_policy(tmp_path / "all.json", some, "calibrated")
    args = ("--families", "all", "--preset", "smoke", "--resamples", 100, "--no-cache")
    shown = run("calibrate", spec, *args, "--items", tmp_path / "all.jsonl")
    assert shown.exit_code == 0, shown.stderr
    frame, _ = frames_of(read_rows(tmp_path / "all.jsonl", COLUMNS))
    assert (len(frame), frame["wd01"].max() < 1e-12) == (len(some), True)
    table = shown.stdout.split("\n\n")[1].splitlines()
    assert [row.split()[0] for row in table[1:] if row[0] != " "] == list(FAMILIES.names())
    assert max(map(width, shown.stdout.splitlines()[1:])) <= 100


def test_a_lint_passes_on_words_that_are_tokens_and_fails_on_unknown_ones(done, tmp_path):
    passed = run("calibrate", done[0], *FAMILY, "--lint")
    assert passed.exit_code == 0, passed.stderr
    assert "56 items" in passed.stdout
    found = run_json("calibrate", done[0], *FAMILY, "--lint")
    assert (found["command"], found["lint"]["n_items"]) == ("calibrate", 56)
    failed = run("calibrate", write_table(tmp_path / "t.json"), *FAMILY, "--lint")
    assert failed.exit_code == 1
    assert "error: coin_bias: unknown" in failed.stdout
    assert failed.stderr.count("\n") == 1


def test_remedies_stand_above_a_cost_that_has_theirs(first, tmp_path, monkeypatch):
    coins = build_all(["coin_bias"], preset="smoke")
    before = evaluate(likely.load(first), coins, n_resamples=100)
    evidence = evidence_of(coins, before.scored.masses)
    spent = Cost(token_evaluations=1000, model_calls=3)
    report = replace(
        compare_remedies(evidence, names=["order_arithmetic"], n_resamples=100), cost=spent
    )
    monkeypatch.setattr(comparison, "try_remedies", lambda *args, **options: report)
    args = ("--families", "coin_bias", "--preset", "smoke", "--resamples", 100, "--no-cache")
    shown = run("calibrate", first, *args, "--remedies", "--out", tmp_path / "out.json")
    assert shown.exit_code == 0, shown.stderr
    told = shown.stdout.splitlines()
    row = next(line for line in told if line.startswith("coin_bias") and " order " in line)
    assert row.split()[4:6] == [".500", ".276"]  # the mean of both orders is always one half
    assert "coin_bias: equal shares would score .276" in told
    total = before.cost.token_evaluations + 1000
    assert told[-1].startswith(f"cost: {total} token evaluations")
    assert told[-2] == ""
    assert told[-3] != ""
    kept = json.loads((tmp_path / "out.json").read_text())["remedies"]["coin_bias"]
    assert kept["cost"]["token_evaluations"] == 1000


def test_remedies_that_cannot_be_tried_say_why(first):
    args = ("--families", "coin_bias", "--preset", "smoke", "--resamples", 100, "--no-cache")
    shown = run("calibrate", first, *args, "--remedies")
    assert shown.exit_code == 0, shown.stderr
    assert "coin_bias: no remedies: item " in shown.stdout


def test_counts_of_a_text_bring_the_frequency_of_numbers(done, tmp_path):
    assert "frequency of numbers" not in done[-1].stdout
    jars = build_all(["colors"], preset="smoke")
    spec = write_policy(tmp_path / "jars.json", jars, "pick_first")
    lines = ["number,count", *(f"{n},{1000 // n + n % 7}" for n in range(1, 1000))]
    (tmp_path / "counts.csv").write_text("\n".join(lines))
    args = ("--families", "colors", "--preset", "smoke", "--resamples", 100, "--no-cache")
    args += ("--counts", tmp_path / "counts.csv", "--out", tmp_path / "out.json")
    shown = run("calibrate", spec, *args)
    assert shown.exit_code == 0, shown.stderr
    assert "frequency of numbers" in shown.stdout
    assert "counts.csv (approx)" in " ".join(shown.stdout.split())
    [found] = json.loads((tmp_path / "out.json").read_text())["analyses"]
    assert (found["frequency"]["source"], found["frequency"]["kind"]) == ("counts.csv", "approx")


def test_what_counts_are_is_taken_from_the_flag(monkeypatch, tmp_path):
    (tmp_path / "counts.csv").write_text("number,count\n1,2\n")
    told = []
    read = frequencies.read_counts
    monkeypatch.setattr(
        frequencies, "read_counts", lambda path, *, kind: told.append(kind) or read(path, kind=kind)
    )
    for kind in ("exact", "modelled"):
        args = ("--counts", tmp_path / "counts.csv", "--counts-kind", kind, "--preset", "smoke")
        assert run("calibrate", "table:missing.json", *args).exit_code == 1
    assert told == ["exact", "modelled"]


@pytest.mark.parametrize(
    ("args", "fault"),
    [
        (["--families", "colrs"], "no family named 'colrs'; did you mean ['colors'"),
        (["--families", "paper,icll"], "no family named 'icll'; did you mean ['icl'"),
        (["--families", "icl", "--design", "ties"], "the family 'icl' has no design 'ties'"),
        (["--families", "all", "--design", "grid"], "has no design 'grid', it has ['"),
        (["--wrapper", "finish"], "the bare text has no wrapper, got 'finish'"),
        (["--chat", "answer", "--wrapper", "finsh"], "no wrapper named 'finsh'; did you mean"),
        (["--items", "x.csv"], "one of ['.jsonl', '.parquet']; got 'x.csv'"),
        (["--out", "x.parquet"], "one of ['.json']; got 'x.parquet'"),
        (["--out", "no/such/x.json"], "cannot write 'no/such/x.json'"),
        (["--compare", "none.parquet"], "cannot read 'none.parquet'"),
        (["--compare", "none.csv"], "['.jsonl', '.parquet'], got 'none.csv'"),
        (["--counts", "none.csv"], "counts cannot be read from 'none.csv'"),
    ],
)
def test_what_cannot_be_run_is_told_before_the_model_is_loaded(args, fault):
    done = run("calibrate", "table:missing.json", *args)
    assert done.exit_code == 1
    assert fault in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


def test_figures_do_not_go_to_a_file(tmp_path):
    (tmp_path / "file").write_text("")
    done = run("calibrate", "table:missing.json", "--figures", tmp_path / "file")
    assert (done.exit_code, "go to a folder" in done.stderr) == (1, True)


def test_figures_are_drawn_with_their_data_and_those_of_two_models_side_by_side(tmp_path):
    colors = build_all(["colors"], preset="smoke")
    one, other = (
        write_policy(tmp_path / f"{name}.json", colors, name)
        for name in ("leaky_0.3", "pick_first")
    )
    asked = ("--families", "colors", "--preset", "smoke", "--resamples", 100, "--no-cache")
    assert run("calibrate", other, *asked, "--items", tmp_path / "other.parquet").exit_code == 0
    shown = run(
        "calibrate", one, *asked, "--compare", tmp_path / "other.parquet", "--from-base",
        "--figures", tmp_path / "figures",
    )  # fmt: skip
    assert shown.exit_code == 0, shown.stderr
    made = {path.name for path in (tmp_path / "figures").iterdir()}
    for name in ("F01-mass", "F02-distance", "F05-reliability", "F12-tuning"):
        assert {f"{name}.svg", f"{name}.png", f"{name}.csv"} <= made
    mass = pd.read_csv(tmp_path / "figures" / "F01-mass.csv")
    assert sorted(mass["model"].unique()) == sorted([one, other])
    assert "no figure F13-bounds: every probability is exact" in shown.stdout.replace("\n", " ")


def test_rows_of_other_items_are_refused_before_the_model_is_loaded(done):
    path = done[1] / "items.parquet"
    told = run("calibrate", "table:missing.json", "--families", "icl", "--compare", path)
    assert told.exit_code == 1
    assert "has none of these items; make it with the same --preset" in told.stderr


def test_a_file_without_rows_is_no_other_model(tmp_path):
    (tmp_path / "empty.jsonl").write_text("")
    told = run("calibrate", "table:missing.json", "--compare", tmp_path / "empty.jsonl")
    assert (told.exit_code, "has no rows" in told.stderr) == (1, True)


@pytest.mark.parametrize(
    "args",
    [
        ["--families", ","], ["--resamples", "99"], ["--preset", "huge"], ["--level", "narrow"],
        ["--counts-kind", "exact"],
    ],
)  # fmt: skip
def test_nothing_to_run_is_a_usage_error(args):
    assert run("calibrate", "table:missing.json", *args).exit_code == 2


def test_a_model_without_a_chat_template_says_so_in_one_line(done):
    told = run("calibrate", done[0], *FAMILY, "--chat", "answer")
    assert told.exit_code == 1
    assert "chat template" in told.stderr
    assert told.stderr.count("\n") == 1


_KILLED = """
import os, signal, sys
from likely.calibration import evaluation, scoring
from likely.cli.app import build_app
from likely.models.table import TableModel

evaluation.evaluate.__kwdefaults__["batch"] = 8
own, calls = TableModel.evaluate, []

def evaluate(self, work, sink):
    calls.append(len(work.trie))
    if len(calls) > 2:
        os.kill(os.getpid(), signal.SIGKILL)
    own(self, work, sink)

TableModel.evaluate = evaluate
build_app(sys.argv[1:])(sys.argv[1:])
"""
"""Runs the command, and kills itself when the model is asked for the third time."""


def test_a_run_that_is_killed_costs_only_the_rest(done, tmp_path):
    spec, _, whole, _ = done
    args = [str(one) for one in ("calibrate", spec, *FAMILY, "--json")]
    killed = subprocess.run(
        [sys.executable, "-c", _KILLED, *args], env=os.environ, capture_output=True, check=False
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr.decode()
    assert killed.stdout == b""
    rest = run_json(*args[:-1])
    cost, all_of_it = (one["evaluation"].pop("cost") for one in (rest, dict(whole)))
    assert cost["cached"] > 0
    assert 0 < cost["token_evaluations"] < all_of_it["token_evaluations"]
    assert rest["evaluation"]["lines"] == whole["evaluation"]["lines"]
