"""What the page on the replication of rare events shows is what the saved results say."""

import importlib
import json
import math
import re
import subprocess
import sys

import numpy as np
import pytest
from doc_blocks import DOCS

import likely
from likely import rare

FOLDER = DOCS / "replication"
PAGE = (FOLDER / "rare.md").read_text(encoding="utf-8")
HOWTO = (DOCS / "rare.md").read_text(encoding="utf-8")
TESTS = DOCS.parent / "tests"
BY_HAND = {"3.7", "0.101", "0.166", "4.3", "0.1001", "0.1635", "2607.18454", "2410.13211"}
"""Numbers that the page has in its text: limits, papers, and floors before and after."""
MEASURED = re.compile(r"<!-- measured (\w+) -->\n(.*?)<!-- end -->", flags=re.S)


@pytest.fixture(scope="module")
def scripts():
    """Return the scripts as modules: findings, runs, smollm2."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(FOLDER))
        yield [
            importlib.import_module(name) for name in ("rare_findings", "rare_runs", "rare_smollm2")
        ]


@pytest.fixture(scope="module")
def findings(scripts):
    return scripts[0]


def test_the_tables_of_both_pages_are_those_of_the_saved_results():
    command = [sys.executable, str(FOLDER / "rare_findings.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_every_table_that_is_made_has_its_place_on_one_page(findings):
    placed = [name for page in (PAGE, HOWTO) for name, _ in MEASURED.findall(page)]
    assert sorted(placed) == sorted(findings.measured())


def test_the_text_written_by_hand_has_no_number_of_a_run():
    by_hand = re.sub(r"<!-- (?:measured|table) \w+ -->\n.*?<!-- end -->", "", PAGE, flags=re.S)
    found = set(re.findall(r"(?<![\w.])\d+\.\d+", by_hand))
    assert found <= BY_HAND, found - BY_HAND


def test_every_test_that_the_page_names_is_there():
    named = re.findall(r"`(rare/[\w/]+\.py)::(\w+)`", PAGE)
    assert len(named) >= 10
    for file, name in named:
        assert f"def {name}(" in (TESTS / file).read_text("utf-8"), (file, name)


def test_the_saved_results_are_small_and_of_the_models_at_hand(findings):
    assert findings.RUNS.stat().st_size < 300_000
    assert findings.SMOLLM2.stat().st_size < 300_000
    runs = findings.saved(findings.RUNS)
    rows = findings.model_rows(runs)
    assert {row["model"] for row in rows} == {"tiny-1l", "tiny-2l", "tiny-4l"}
    assert {row["law"] for row in rows} <= set(rare.DISTRIBUTIONS.names())
    for row in rows:
        assert 1e-9 <= row["truth"] < 1e-5
        assert row["low"] <= row["truth"] <= row["high"]


def test_the_saved_targets_are_tokens_of_the_models(findings):
    rows = findings.model_rows(findings.saved(findings.RUNS))
    model = likely.load("tiny-1l")
    for row in rows:
        assert model.tokenizer.decode([row["token"]]) == row["text"]


def test_the_probabilities_of_the_real_question_are_a_law(findings, scripts):
    result = findings.saved(findings.SMOLLM2)
    truth = result["truth"]
    assert math.fsum(truth["probs"].values()) + truth["tied"] == pytest.approx(1.0, abs=1e-5)
    assert sum(truth["inputs"].values()) == result["head"]["inputs"]
    events = [tuple(one) for one in result["head"]["events"]]
    assert events == list(scripts[2].EVENTS)
    for (word, share), prob in zip(events, truth["events"], strict=True):
        if share == 1.0:
            assert prob == pytest.approx(truth["probs"].get(word, 0.0), rel=1e-4)
    assert {run["event"] for run in result["runs"]} == set(range(scripts[2].ASKED))


# The rules of the tables, on made-up results.


def made_up(factors, *, n=4):
    """Return results of targets of which every estimate is a stated factor off."""
    rows = []
    for i in range(n):
        log_q = math.log(1e-6) - i
        logs = {name: log_q + math.log(times) for name, times in factors.items()}
        rows.append(
            {
                "token": i, "text": "t", "truth": math.exp(log_q), "low": 0.0, "high": 1.0,
                "log_probs": {
                    name: logs["qld"] for name in
                    ("corrected", "without projection", "without centring", "as released", "gld")
                },
                "kernels": {
                    name: {"log_prob": logs[name], "replicates": [logs[name]] * 2, "tail": 4.0}
                    for name in ("aug", "mala_radial", "mala")
                },
            }
        )  # fmt: skip
    own = [
        {"token": row["token"], "log_prob": math.log(row["truth"]), "prior": "last_place"}
        for row in rows
    ]
    parts = {"tiny-1l hex": rows, "tiny-1l hex as_it_comes": own, "gaussian": [], "student": []}
    return {"head": {"budget": 8}, "parts": parts}


def compared(factors):
    """Return rows of a comparison in which every method is a stated factor off."""
    return [
        {
            "arm": arm, "model": "tiny-1l", "distribution": "hex", "method": method, "seed": seed,
            "token": token, "truth": 1e-6 / 3**token,
            "log_prob": math.log(1e-6 / 3**token) + math.log(times) * (arm == "calls"),
        }
        for arm in ("calls", "seconds")
        for method, times in factors.items()
        for seed in range(2)
        for token in range(3)
    ]  # fmt: skip


def test_a_method_that_errs_high_overtakes_one_that_errs_low_at_three_halves(findings):
    lines = findings.flips(compared({"high": 10.0, "low": 0.1, "far": 100.0})).splitlines()[2:]
    cells = {line.split(" | ")[0].strip("| "): line.strip("|").split(" | ") for line in lines}
    pair = cells["high, low"]
    assert [pair[1].strip(), pair[3].strip()] == ["low", "high"]
    assert float(pair[2]) == pytest.approx(1.5, abs=0.06)  # the shift moves it a little
    assert "high, far" not in cells


def test_the_ranking_is_by_the_mean_loss_and_knows_the_best_constant(findings):
    lines = findings.ranking(compared({"high": 10.0, "low": 0.1, "near": 1.5})).splitlines()[2:]
    assert [line.strip("| ").split(" ")[0] for line in lines] == ["1", "1.5", "2", "2.5"]
    for line in lines:
        cells = [cell.strip() for cell in line.strip("|").split("|")][1:]
        losses = [float(cell.rpartition(" ")[2]) for cell in cells]
        assert losses == sorted(losses)
        assert cells[0].startswith("near ")
        assert sum(cell.startswith("*best constant*") for cell in cells) == 1
    assert lines[0].index(" low ") < lines[0].index(" high ")
    assert lines[3].index(" high ") < lines[3].index(" low ")


def test_faults_are_counted_in_factors_of_the_truth(findings):
    runs = made_up({"qld": 20.0, "aug": 1.0, "mala_radial": 2.0, "mala": 1e-3})
    assert "| all | QLD corrected | 4 | 0 | 20 | 20 | 20 to 20 | 0% |" in findings.faults(runs)
    rows = runs["parts"]["tiny-1l hex"]
    for row in rows[:3]:
        row["log_probs"]["corrected"] = None
    assert "| all | QLD corrected | 4 | 3 | 0 | 20 | 20 to 20 | 0% |" in findings.faults(runs)
    rows[3]["log_probs"]["corrected"] = None
    assert "| all | QLD corrected | 4 | 4 | 0 | – | – | 0% |" in findings.faults(runs)
    kernels = findings.kernels_models(
        made_up({"qld": 1.0, "aug": 1.0, "mala_radial": 2.0, "mala": 1e-3})
    )
    assert "| tiny-1l | 4 | 4 to 4 | 2 | 2 to 2 | 1/1000 | 1/1000 to 1/1000 |" in kernels


def test_the_misfit_of_both_laws_is_told_by_its_mean_square(findings):
    table = findings.misfit(made_up({"qld": 1.0, "aug": 0.1, "mala_radial": 1.0, "mala": 1.0}))
    square = f"{math.log(10.0) ** 2:.2g}"
    for row in ("tiny-1l | hex", "all | all"):
        assert (
            f"| {row} | 4 | 1/10 | 1/10 to 1/10 | {square} | last_place | 1 | 1 to 1 | 0 |" in table
        )


def test_factors_are_written_both_ways(findings):
    written = [findings.factor(math.log(x)) for x in (1.0, 2.0, 0.5, 3e9, 1e-9)]
    assert written == ["1", "2", "1/2", "1e9", "1/1e9"]
    assert findings.factor(-math.inf) == "0"
    assert findings.within([0.0, math.log(20.0)], 10.0) == "50%"
    assert findings.spread([math.log(1.0), math.log(3.0)]) == pytest.approx(math.sqrt(2) / 2)
    assert findings.spread([None, None]) == 0.0


def test_a_result_that_is_missing_is_said_to_be(findings, monkeypatch, tmp_path):
    monkeypatch.setattr(findings, "RUNS", tmp_path / "none.json")
    assert findings.measured()["faults"] == findings.NOT_RUN


# The runs, on a model that is at hand.


def test_the_real_question_runs_on_any_model_and_goes_on(scripts, tmp_path, monkeypatch):
    smollm2 = scripts[2]
    monkeypatch.setattr(smollm2, "CHILDREN", ("child", "boy"))
    complaints = {100: "fever cough", 10: "asthma", 1: "alcoholism addiction"}
    monkeypatch.setattr(smollm2, "COMPLAINTS", complaints)
    words = [f" {word}" for own in complaints.values() for word in own.split()]
    always = ["The", " child", " boy", " has", " and", ",", " so", " prescribe"]

    def law(before):
        is_both = {" addiction", " alcoholism"} <= set(before)
        return {" alcohol" if is_both else " antibiotics": 0.8, " has": 0.2}

    answers = dict.fromkeys(word for word, _ in smollm2.EVENTS)
    model = likely.TableModel([*words, *always, *answers], law, name="prescriber")
    monkeypatch.setattr(likely, "load", lambda spec: model)
    out = tmp_path / "out.json"
    arguments = ["--budget", "50", "--seeds", "1", "--out", str(out), "--methods", "naive"]
    smollm2.main(arguments)
    result = json.loads(out.read_text("utf-8"))
    assert result["head"]["inputs"] == 2 * 5**2
    assert result["truth"]["probs"][" alcohol"] == pytest.approx(2 / 212**2, rel=1e-5)
    assert result["truth"]["events"][3] == result["truth"]["probs"][" alcohol"]
    assert [run["event"] for run in result["runs"]] == list(range(smollm2.ASKED))
    before = out.read_bytes()
    smollm2.main(arguments)
    assert out.read_bytes() == before
    with pytest.raises(SystemExit, match="give --out FILE of its own"):
        smollm2.main([*arguments[:1], "51", *arguments[2:]])
    assert "| naive | " in scripts[0].smollm2(result)
    assert "| ` alcohol` is the likeliest word | 4.45e-05 | 22,500 |" in scripts[0].smollm2_truth(
        result
    )


def test_replicates_and_zeros_are_stored_for_json(scripts):
    runs = scripts[1]
    assert runs.logs({"a": -math.inf, "b": np.log(0.5)}) == {"a": None, "b": -0.693147}
    assert runs.short(math.nan) == "nan"
