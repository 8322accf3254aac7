"""``likely report``: a page, or the data of its figures."""

import json

import pytest
from command_line import run, run_json, write_table
from small_suite import put_in_place

from likely.report.sections import attribution, calibration, logic


@pytest.fixture(autouse=True)
def small_suite(monkeypatch):
    """Put few rows and few items in the place of all, which a table of characters reads slowly."""
    put_in_place(monkeypatch)
    monkeypatch.setattr(logic, "_FAMILIES", {"smoke": ("partition",)})
    monkeypatch.setattr(calibration, "_FAMILIES", {"smoke": ("distributions",)})
    short = attribution.Worked(why="", prompt="ab", response="c", generate=None, focus="b")
    section = attribution.AttributionSection(worked=(short,))
    monkeypatch.setattr(attribution, "ATTRIBUTION", section)


@pytest.fixture
def reader(tmp_path):
    """Return the spec of a table model that can read the report's own texts."""
    tokens = [chr(code) for code in range(32, 127)] + ["\n"]
    rows = [{"after": [], "probs": {token: 1 / len(tokens) for token in tokens}}]
    return write_table(tmp_path / "reader.json", tokens=tokens, rows=rows)


def test_a_page_is_written_where_it_is_asked_for(tmp_path, reader):
    out = tmp_path / "page.html"
    done = run("report", reader, "--out", out, "--seed", 3)
    assert done.exit_code == 0, done.stderr
    assert "<html" in out.read_text(encoding="utf-8")
    assert "token evaluations" in done.stdout
    assert done.stderr == f"wrote {out}\n"


def test_without_out_the_page_is_report_html_here(tmp_path, reader, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = run_json("report", reader, "--no-cache", "--seed", 3)
    assert (tmp_path / "report.html").is_file()
    assert found["seed"] == 3
    assert found["preset"] == "smoke"
    assert found["model"]["name"] == reader


def test_the_data_of_the_figures_go_to_json(tmp_path, reader):
    out = tmp_path / "report.json"
    assert run("report", reader, "--out", out).exit_code == 0
    assert set(json.loads(out.read_text())["sections"]) >= {"card", "self-check"}


def test_a_second_report_is_read_from_the_cache(reader, own_cache, tmp_path):
    out = tmp_path / "page.html"
    first = run_json("report", reader, "--out", out)
    second = run_json("report", reader, "--out", out)
    assert second["cost"]["cached"] > first["cost"]["cached"]
    assert (own_cache / "scores.sqlite").is_file()


def test_an_unknown_preset_is_a_usage_error(reader):
    assert run("report", reader, "--preset", "huge").exit_code == 2
