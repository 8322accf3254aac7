"""``likely probct``: tables of families, claims and hypotheses; documents that can be paired."""

import json

import pytest
from command_line import run, run_json
from small_suite import put_in_place, write_model

import likely
from likely.cli.probct import COLUMNS
from likely.cli.screen import width
from likely.logic.probct import run as run_module
from likely.runs.store import read_rows

FEW = ("--permutations", 20, "--resamples", 100, "--quiet")


@pytest.fixture(autouse=True)
def small_suite(monkeypatch):
    put_in_place(monkeypatch)


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """Run two families with controls once; return the model, the document and what is printed."""
    folder = tmp_path_factory.mktemp("probct")
    spec = write_model(folder / "model.json")
    args = ("probct", spec, "--families", "negation,partition", *FEW, "--no-cache")
    with pytest.MonkeyPatch.context() as patch:
        put_in_place(patch)
        shown = run(*args, "--out", folder / "one.json", "--items", folder / "items.parquet")
    assert shown.exit_code == 0, shown.stderr
    assert shown.stderr == ""
    return spec, folder, json.loads((folder / "one.json").read_text()), shown.stdout


def table_under(lines, head):
    start = next(i for i, line in enumerate(lines) if line.startswith(head))
    block = lines[start + 1 :]
    stop = next((i for i, line in enumerate(block) if not line.strip()), len(block))
    return [line.split() for line in block[:stop]]


def test_families_stand_in_one_table_with_their_controls_beside(done):
    lines = done[-1].splitlines()
    assert lines[1] == "ProbCT: 30 items in 2 families, under duel"
    head = lines[3].split()
    assert head == [
        "family", "items", "rows", "S", "interval", "bits", "kept", "shuffled", "nonsense",
    ]  # fmt: skip
    negation, partition = table_under(lines, "family")
    assert negation[:3] == ["negation", "20", "4"]  # without the comparison
    assert partition[:3] == ["partition", "6", "3"]
    assert len(negation) == len(partition) == len(head)


def test_every_table_fits_a_page_of_100_columns(done):
    assert max(map(width, done[-1].splitlines())) <= 100


def test_every_rescaling_has_s_with_its_interval(done):
    lines = done[-1].splitlines()
    head = next(line for line in lines if line.startswith("S of"))
    assert head.split() == ["S", "of", "duel", "minp", "identity", "closed"]
    negation, partition = table_under(lines, "S of")
    assert len(negation) == 1 + 2 * 3  # closed says nothing where answers have no rivals
    assert len(partition) == 1 + 2 * 4
    for row in (negation, partition):
        for value, ends in zip(row[1::2], row[2::2], strict=True):
            low, high = map(float, ends.split(".."))
            assert low <= float(value) <= high


def test_every_claim_has_its_null(done):
    lines = done[-1].splitlines()
    rows = {row[0]: row for row in table_under(lines, "claim, under duel")}
    assert list(rows)[:8] == ["negation", "Tp", "Tn", "Ts", "Tm", "full", "loose*", "partition"]
    assert rows["Tp"][1:3] == ["4", "4"]
    assert "standard deviations" in done[-1]
    assert "* is no law but shown for comparison" in done[-1]


def test_hypotheses_have_a_verdict_under_each_rescaling(done):
    lines = done[-1].splitlines()
    assert lines[lines.index("hypotheses") + 1].split() == ["duel", "minp", "identity", "closed"]
    verdicts = [line for line in lines if line.startswith(("H1 ", "H6 "))]
    assert [line.split()[0] for line in verdicts] == ["H1", "H6"]
    assert "needs more models" in done[-1]
    assert any(line.strip().startswith("paraphrases agree better") for line in lines)
    assert lines[-1].startswith("cost: ")


def test_the_document_is_that_of_the_library(done):
    spec, _, found, _ = done
    theirs = run_module.run(
        likely.load(spec), families=["partition"], controls=["shuffled"], n_permutations=20,
        n_resamples=100,
    )  # fmt: skip
    own = [
        line
        for line in found["lines"]
        if line["family"] == "partition" and line["control"] != "nonsense"
    ]
    assert own == json.loads(theirs.to_json())["lines"]
    assert found["model"]["name"] == spec
    assert found["settings"] == {
        "multi": "conj", "bos": "auto", "permutations": 20, "resamples": 100,
    }  # fmt: skip
    assert set(found["items"]) == {"negation", "partition"}


def test_items_go_to_a_file_of_rows(done):
    rows = read_rows(done[1] / "items.parquet", COLUMNS)
    assert {row["control"] for row in rows} == {"none", "shuffled", "nonsense"}
    assert sum(row["control"] == "none" and row["rescaling"] == "duel" for row in rows) == 30
    assert {row["null_prob"] is None for row in rows} == {True, False}


def test_another_result_is_compared_item_by_item(done, tmp_path):
    _, folder, _, _ = done
    spec = write_model(tmp_path / "other.json", bias=0.2)
    args = ("probct", spec, "--families", "partition", "--no-controls", *FEW)
    shown = run(*args, "--against", folder / "one.json").stdout.splitlines()
    # The heading has both names, and where they are long it is folded at any place.
    start = next(i for i in range(len(shown)) if "less S of" in " ".join(shown[i : i + 4]))
    [row] = table_under(shown[start:], "family")
    assert (row[0], len(row)) == ("partition", 1 + 2 * 4)
    found = run_json(*args, "--against", folder / "one.json")["against"]
    [whole] = [
        x for x in found["differences"] if (x["claim"], x["rescaling"]) == (None, "identity")
    ]
    difference = whole["difference"]
    assert difference["value"] == pytest.approx(whole["ours"] - whole["theirs"])
    assert difference["low"] <= difference["value"] <= difference["high"]


@pytest.mark.parametrize(
    ("text", "fault"),
    [("{", "is no JSON"), ("[]", "is no result of ProbCT"), ('{"model": 1}', "is no result of")],
)
def test_what_is_no_result_is_told_before_the_model_is_loaded(tmp_path, text, fault):
    (tmp_path / "x.json").write_text(text)
    done = run("probct", "table:missing.json", "--against", tmp_path / "x.json")
    assert done.exit_code == 1
    assert fault in done.stderr
    assert done.stderr.count("\n") == 1


def test_another_version_of_the_suite_is_refused(done, tmp_path):
    spec, _, found, _ = done
    found = {**found, "digests": {**found["digests"], "partition": "0123456789abcdef"}}
    (tmp_path / "old.json").write_text(json.dumps(found))
    args = ("--families", "partition", "--no-controls", *FEW, "--against", tmp_path / "old.json")
    told = run("probct", spec, *args)
    assert told.exit_code == 1
    assert "the family 'partition' is of another version" in told.stderr
    assert told.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("args", "fault"),
    [
        (["--families", "negatoin"], "no family named 'negatoin'; did you mean ['negation']?"),
        (["--rescalings", "duel,clsed"], "no rescaling named 'clsed'"),
        (["--items", "x.csv"], "one of ['.jsonl', '.parquet']; got 'x.csv'"),
        (["--out", "x.jsonl"], "one of ['.json']; got 'x.jsonl'"),
        (["--against", "none.json"], "cannot read 'none.json'"),
    ],
)
def test_what_cannot_be_run_is_told_before_the_model_is_loaded(args, fault):
    done = run("probct", "table:missing.json", *args)
    assert done.exit_code == 1
    assert fault in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("args", [["--families", ","], ["--rescalings", ""], ["--resamples", "9"]])
def test_nothing_to_run_is_a_usage_error(args):
    assert run("probct", "table:missing.json", *args).exit_code == 2
