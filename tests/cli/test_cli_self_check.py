"""``likely self-check``: a table, and an exit code."""

import pytest
from command_line import run, run_json

import likely
from likely.cli import self_check as command
from likely.core.selfcheck import CheckRow, SelfCheck
from likely.runs.store import read_rows


def test_an_exact_model_passes_and_exits_0(table):
    done = run("self-check", table)
    assert done.exit_code == 0
    assert "self-check passed" in done.stdout
    assert " ok " in done.stdout
    found = run_json("self-check", table)
    assert found["passed"] is True
    assert {row["name"] for row in found["rows"]} >= {"batch size", "cached prefix"}
    assert found["model"]["fingerprint"] == likely.load(table).info.fingerprint


@pytest.fixture
def failing(monkeypatch):
    rows = (
        CheckRow(name="batch size", what="alone", largest_difference=0.5, limit=1e-4, n=3),
        CheckRow(name="order", what="reversed", largest_difference=0.0, limit=1e-4, n=3),
    )
    found = SelfCheck(
        model="x", dtype="float64", rows=rows, left_out=("row normaliser",), cost=likely.Cost()
    )
    monkeypatch.setattr(command, "run_check", lambda model: found)


def test_a_model_that_moves_exits_1_and_names_the_law(table, failing):
    done = run("self-check", table)
    assert done.exit_code == 1
    assert "self-check FAILED" in done.stdout
    [line] = [line for line in done.stdout.splitlines() if "OVER" in line]
    assert line.split()[:4] == ["batch", "size", "5.0e-01", "1e-04"]
    assert "not measured: row normaliser" in done.stdout


def test_the_result_is_written_before_the_exit_code(tmp_path, table, failing):
    out = tmp_path / "check.jsonl"
    assert run("self-check", table, "--out", out).exit_code == 1
    assert [row["passed"] for row in read_rows(out, command.COLUMNS)] == [False, True]
