"""``likely rare``: laws, events and methods from flags, and every number in the document."""

import json
import math
import re

import pandas as pd
import pytest
from command_line import run, run_json

import likely
from likely import rare
from likely.cli.rare_screen import ABOUT, COUNTED, between, columns, often
from likely.runs.store import read_rows


@pytest.fixture
def model(tmp_path):
    """A table whose winner is told by the last token: after "A" "B", after "C" "A", else "C"."""
    rows = [
        {"after": [], "probs": {"A": 0.1, "B": 0.1, "C": 0.8}},
        {"after": ["A"], "probs": {"A": 0.2, "B": 0.7, "C": 0.1}},
        {"after": ["C"], "probs": {"A": 0.6, "B": 0.3, "C": 0.1}},
    ]
    path = tmp_path / "model.json"
    path.write_text(json.dumps({"tokens": ["A", "B", "C"], "bos": "<s>", "rows": rows}))
    return f"table:{path}"


@pytest.fixture
def law(tmp_path):
    """Two places; "C" comes last once in 10,000 inputs."""
    path = tmp_path / "places.json"
    path.write_text(json.dumps([{"A": 1, "B": 1}, {"A": 1, "B": 9998, "C": 1}]))
    return path


def test_the_document_has_the_numbers_of_the_library(model, law):
    found = run_json(
        "rare", model, "--inputs", law, "--target", "B", "--target", "#0", "--method", "naive",
        "--budget", 3000, "--truth", 100, "--seed", 3,
    )  # fmt: skip
    loaded = likely.load(model)
    places = rare.independent([{"A": 1, "B": 1}, {"A": 1, "B": 9998, "C": 1}], loaded)
    expected = rare.estimate_many(loaded, places, ["B", "A"], method="naive", budget=3000, seed=3)
    for one, other in zip(found["estimates"], expected, strict=True):
        assert one["log_prob"]["value"] == (
            "-inf" if other.is_zero else pytest.approx(other.log_prob.value)
        )
        assert one["log_prob"]["high"] == pytest.approx(other.log_prob.high)
    assert [one["value"] for one in found["truth"]] == [pytest.approx(1e-4)] * 2
    assert found["distribution"]["inputs"] == 6
    assert found["distribution"]["log10_inputs"] == pytest.approx(math.log10(6))


def test_a_person_sees_what_is_known_and_what_is_doubted(model, law):
    done = run(
        "rare", model, "--inputs", law, "--target", "A", "--method", "naive", "--budget", 100,
        "--truth", 100,
    )  # fmt: skip
    assert done.exit_code == 0, done.stderr
    said = done.stdout.splitlines()
    assert said[1] == "inputs  'places': 3 tokens each, 6 inputs in all"
    assert said[2] == "method  naive: draws inputs and counts"
    assert said[3].startswith("read    100 inputs: 300 tokens; ")
    titles = ["likeliest next token", "estimate", "interval at 95 %", "probability", "truth"]
    cells = ["'A'", "not seen", "at most 1 in 28", "0", "1 in 10,000"]
    assert [re.split(r"\s{2,}", line) for line in said[5:7]] == [titles, cells]
    assert said[8:] == [
        COUNTED,
        "The truth is exact: every input was read.",
        "warning: no hit among 100 inputs: only the upper limit says something",
    ]


def test_warnings_of_several_events_say_whose_they_are(model, law):
    done = run(
        "rare", model, "--inputs", law, "--target", "A", "--continuation", "AB", "--method",
        "naive", "--budget", 100,
    )  # fmt: skip
    assert "event" in done.stdout
    assert "warning: 'A': no hit" in done.stdout
    assert "warning: 'AB': no hit" in done.stdout


def test_probabilities_and_intervals_are_told_as_once_in_so_many():
    assert often(math.log(2e-7)) == "1 in 5.0 million"
    assert often(math.log(0.25)) == "25 %"
    assert often(0.0) == "100 %"
    cases = {
        (1e-7, 2e-7): "1 in 10 to 5.0 million",
        (1e-10, 1e-8): "1 in 10 billion to 1 in 100 million",
        (1e-4, 5e-4): "1 in 10,000 to 1 in 2,000",
        (0.05, 0.5): "1 in 20 to 50 %",
    }
    for (low, high), text in cases.items():
        assert between(math.log(low), math.log(high)) == text
    assert between(-math.inf, math.log(0.01)) == "at most 1 in 100"


def test_every_method_is_told_in_words():
    assert set(ABOUT) == set(rare.METHODS.names())


def test_a_proposal_is_a_law_of_inputs_from_a_file(model, law, tmp_path):
    proposal = tmp_path / "often.json"
    proposal.write_text(json.dumps([{"A": 1, "B": 1}, {"A": 1, "B": 1, "C": 1}]))
    found = run_json(
        "rare", model, "--inputs", law, "--target", "A", "--method", "proposal", "--proposal",
        proposal, "--budget", 2000,
    )["estimates"][0]["log_prob"]  # fmt: skip
    assert found["low"] < math.log(1e-4) < found["high"]
    assert found["value"] == pytest.approx(math.log(1e-4), abs=0.3)


def test_sets_continuations_and_margins_come_from_flags(model, law):
    found = run_json(
        "rare", model, "--inputs", law, "--any-of", "A|B", "--continuation", "CAB", "--above", 0.5,
        "--method", "naive", "--budget", 500,
    )  # fmt: skip
    events = [one["event"] for one in found["estimates"]]
    assert events[0]["steps"] == [[0, 1]]
    assert events[1]["steps"] == [[2], [0], [1]]
    assert {one["above"] for one in events} == {0.5}
    assert found["estimates"][1]["log_prob"]["value"] == pytest.approx(0.0, abs=0.01)


def test_options_of_a_method_are_given_by_name(model, law):
    done = run(
        "rare", model, "--inputs", law, "--target", "A", "--method", "forecast", "--option",
        "top=3",
    )  # fmt: skip
    assert done.exit_code == 1
    assert "got top=3" in done.stderr


def test_an_infinite_temperature_is_read_and_draws_from_the_law_itself(tmp_path):
    path = tmp_path / "places.json"
    path.write_text(json.dumps([{"#40": 1, "#41": 1}, {"#42": 3, "#43": 1}]))
    found = run_json(
        "rare", "tiny-1l", "--inputs", path, "--target", "#36", "--method", "itgis", "--option",
        "temperature=inf", "--option", "batch=64", "--budget", 128,
    )["estimates"][0]["log_prob"]  # fmt: skip
    assert found["diagnostics"]["largest_share"] == pytest.approx(1 / found["diagnostics"]["hits"])
    assert math.exp(found["value"]) == pytest.approx(found["diagnostics"]["hits"] / 128)


@pytest.mark.parametrize(
    ("option", "wanted"),
    [
        ("batch=abc", "a whole number, got 'abc'"), ("batch=64.5", "a whole number, got 64.5"),
        ("gradient_share=x", "a number, got 'x'"), ("temperature=hot", "'auto', got 'hot'"),
    ],
)  # fmt: skip
def test_an_option_of_another_type_gets_one_line(model, law, option, wanted):
    done = run(
        "rare", model, "--inputs", law, "--target", "A", "--method", "itgis", "--option", option
    )
    assert done.exit_code == 1
    assert len(done.stderr.strip().splitlines()) == 1
    assert wanted in done.stderr


@pytest.mark.parametrize("suffix", [".json", ".csv", ".parquet", ".jsonl", ".html"])
def test_every_format_is_written(model, law, tmp_path, suffix):
    path = tmp_path / f"found{suffix}"
    done = run(
        "rare", model, "--inputs", law, "--target", "B", "--method", "naive", "--budget", 64,
        "--out", path,
    )  # fmt: skip
    assert done.exit_code == 0, done.stderr
    if suffix == ".json":
        found = json.loads(path.read_text())["estimates"]
        assert rare.RareEstimate.from_dict(found[0]).budget == 64
    elif suffix == ".csv":
        assert pd.read_csv(path).loc[0, "event"] == "B"
    elif suffix == ".html":
        assert "<html" in path.read_text()
    else:
        assert next(iter(read_rows(path, columns())))["budget"] == 64


@pytest.mark.parametrize(
    ("flags", "code", "part"),
    [
        (("--target", "B"), 2, "give one of --distribution, --inputs and --corpus"),
        (("--inputs", "LAW"), 2, "give --target, --any-of or --continuation"),
        (("--inputs", "LAW", "--target", "B", "--option", "x"), 2, "NAME=VALUE"),
        (("--inputs", "LAW", "--target", "AB"), 1, "2 tokens"),
        (("--inputs", "LAW", "--target", "B", "--method", "nave"), 1, "did you mean"),
        (("--inputs", "LAW", "--target", "B"), 1, "naive, forecast, proposal and amls-inputs"),
        (("--inputs", "LAW", "--target", "B", "--method", "proposal"), 2, "go together"),
        (("--inputs", "LAW", "--target", "B", "--proposal", "LAW"), 2, "go together"),
        (("--distribution", "hexx", "--target", "B"), 1, "did you mean"),
    ],
)
def test_a_wrong_question_gets_one_line(model, law, flags, code, part):
    given = [str(law) if flag == "LAW" else flag for flag in flags]
    done = run("rare", model, *given, "--budget", 64)
    assert done.exit_code == code
    said = " ".join(done.stderr.replace("│", " ").split())
    assert part in said
