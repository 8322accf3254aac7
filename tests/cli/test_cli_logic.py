"""``likely logic``: a theory on a model, explained, described and validated."""

import json
import math

import pytest
from command_line import run, run_json
from small_suite import FAMILIES, NEGATION, put_in_place, write_model

import likely
from likely import logic
from likely.cli.evaluations import COLUMNS
from likely.cli.theories import INFO_COLUMNS, PROBLEM_COLUMNS
from likely.runs.store import read_rows

RULED = NEGATION.replace(
    'Tm: "a ^ c"',
    'Tm: "a ^ c"\n  pair: {rules: {first: "a", second: "!c"}, evidence: "exactly_one(c, g)"}',
)


@pytest.fixture(autouse=True)
def small_suite(monkeypatch):
    put_in_place(monkeypatch)


@pytest.fixture
def spec(tmp_path):
    return write_model(tmp_path / "model.json")


@pytest.fixture
def theory(tmp_path):
    path = tmp_path / "negation.yaml"
    path.write_text(RULED)
    return path


@pytest.fixture
def single(tmp_path):
    path = tmp_path / "single.yaml"
    rows = RULED.index("rows:")
    first = RULED.index("  - {id: n2")
    path.write_text(RULED[:first] + RULED[RULED.index("frames:") :])
    assert rows < first
    return path


@pytest.fixture(scope="module")
def put(tmp_path_factory):
    """Return the theory on the model, once: its document and what a person sees."""
    folder = tmp_path_factory.mktemp("put")
    spec = write_model(folder / "model.json")
    (folder / "negation.yaml").write_text(RULED)
    args = ("logic", spec, folder / "negation.yaml", "--also", "identity", "--no-cache")
    return spec, folder / "negation.yaml", run_json(*args), run(*args).stdout


def row_of(lines, name):
    [line] = [line for line in lines if line.split()[:1] == [name]]
    return line.split()


def test_the_numbers_are_those_of_the_library(put):
    spec, theory, found, _ = put
    model = likely.load(spec)
    theirs = logic.evaluate(model, logic.Theory.load(theory), also=["identity"])
    assert found["rescalings"] == ["duel", "identity"]
    assert [item["id"] for item in found["items"]] == [item.id for item in theirs.items]
    assert found["items"][0]["readings"]["duel"]["prob"] == (
        theirs.items[0].readings["duel"].scores.prob
    )
    assert found["model"]["fingerprint"] == model.info.fingerprint
    assert len(found["worst"]) == 3
    line = next(x for x in found["lines"] if (x["claim"], x["rescaling"]) == ("Ts", "duel"))
    values = [item.readings["duel"].scores for item in theirs.items if item.claim == "Ts"]
    mean = math.fsum(scores.chance_corrected for scores in values) / len(values)
    assert line["chance_corrected"]["value"] == pytest.approx(mean)


def test_every_claim_has_a_line_with_its_interval_and_rules_by_name(put):
    lines = put[-1].splitlines()
    top = lines[: lines.index("asked beside, means under duel")]
    claims = top[: next(i for i, line in enumerate(top) if line.startswith("S of"))]
    assert lines[1] == "negation: 28 items on 4 rows, under duel, and beside it identity"
    head = row_of(claims, "claim")
    assert head == ["claim", "items", "rows", "P", "S", "interval", "bits", "kept"]
    cells = row_of(claims, "Ts")
    assert cells[1:3] == ["4", "4"]
    low, high = map(float, cells[5].split(".."))
    assert low <= float(cells[4]) <= high
    assert len(row_of(claims, "first")) == len(row_of(claims, "second")) == 2
    assert row_of(claims, "all")[2:4] == ["24", "4"]  # the comparison is not in it
    assert any(line.startswith("loose*") for line in claims)
    assert "* is no law but shown for comparison, and left out of totals" in claims
    assert any(line.startswith("known: broken with probability") for line in lines)
    assert any(line.startswith("a_over_c: the event that should be likelier") for line in lines)
    assert any(line.startswith("CLOSE: probability") for line in lines)
    assert lines[-1].startswith("cost: ")


def test_the_worst_items_are_explained_in_words(put):
    _, _, found, shown = put
    for account in found["worst"]:
        assert f"\n{account['item']['id']}: " in shown
    earned = [
        item["readings"]["duel"]["log_ratio_bits"]
        for item in found["items"]
        if not item["is_comparison"]
    ]
    worst = [one["item"]["readings"]["duel"]["log_ratio_bits"] for one in found["worst"]]
    assert worst == sorted(earned)[:3]
    assert shown.count("most probable violation") == 3
    assert shown.count("cheapest repair") == 3


def test_a_theory_of_one_row_has_a_line_a_claim_and_no_interval(spec, single):
    lines = run("logic", spec, single, "--worst", 0).stdout.splitlines()
    assert not any("worst item" in line for line in lines)
    assert lines[1].startswith("negation: 7 items on 1 row, under duel")
    assert lines[3].split()[:7] == ["claim", "P", "chance", "S", "bits", "of", "kept"]
    model = likely.load(spec)
    item = logic.evaluate(model, logic.Theory.load(single)).item("n1/Tp")
    cells = row_of(lines, "Tp")
    assert float(cells[1]) == pytest.approx(item.readings["duel"].scores.prob, abs=5e-5)
    assert cells[2] == "0.2500"
    assert cells[-3:] == ["a", "&", "g"]
    assert len(row_of(lines, "first")) == 2


def test_one_item_is_explained_and_nothing_else(spec, theory):
    lines = run("logic", spec, theory, "--explain", "n2/Tp").stdout.splitlines()
    assert lines[1] == "negation/all/n2/Tp: a & g"
    assert any("unsafe to eat [glue]" in line for line in lines)
    assert lines[-1].startswith("cost: ")
    assert not any(line.startswith("claim") for line in lines)
    account = run_json("logic", spec, theory, "--explain", "n2/Tp")["account"]
    assert account["item"]["id"] == "negation/all/n2/Tp"


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("all/n2/Tq", "error: no item is named 'all/n2/Tq'; did you mean ['negation/all/n2/T"),
        ("Tp", "error: 4 items are named 'Tp'; did you mean ['negation/all/n1/Tp', "),
        ("zzzzzzzz", "error: no item is named 'zzzzzzzz'; items are named like 'negation/all/n1/"),
    ],
)
def test_an_item_that_is_none_is_told_before_the_model_is_loaded(theory, name, fault):
    done = run("logic", "table:missing.json", theory, "--explain", name)
    assert done.exit_code == 1
    assert done.stderr.startswith(fault)
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_items_go_to_a_file_of_rows(tmp_path, spec, theory, suffix):
    out = tmp_path / f"items.{suffix}"
    assert run("logic", spec, theory, "--also", "", "--out", out).exit_code == 0
    rows = read_rows(out, COLUMNS)
    assert len(rows) == 28
    assert {row["rescaling"] for row in rows} == {"duel"}
    assert rows[0]["id"] == "negation/all/n1/Tp"


def test_a_second_run_is_read_from_the_cache(spec, single):
    args = ("logic", spec, single, "--also", "", "--worst", 0)
    assert run_json(*args)["cost"]["token_evaluations"] > 0
    assert run_json(*args)["cost"]["token_evaluations"] == 0
    assert run_json(*args, "--no-cache")["cost"]["token_evaluations"] > 0


def test_info_says_how_much_each_claim_says_without_a_model(tmp_path, theory):
    lines = run("logic", "--info", theory).stdout.splitlines()
    assert row_of(lines, "Tp")[1:8] == ["4", "2", "1", "2.00", "2.00", "0.00", "1.00"]
    assert row_of(lines, "Ts")[1:8] == ["4", "2", "2", "1.00", "0.00", "1.00", "0.50"]
    assert row_of(lines, "pair")[1:8] == ["4", "-", "-", "-", "-", "-", "-"]
    assert "claims Ts, Tm: all bits are in how events hang together" in " ".join(lines)
    found = run_json("logic", "--info", theory)
    assert (found["n_rows"], found["n_items"], len(found["claims"])) == (4, 28, 7)
    out = tmp_path / "info.jsonl"
    run("logic", "--info", theory, "--out", out)
    assert read_rows(out, INFO_COLUMNS)[1]["formula"] == "!c & !d"


def test_a_sound_theory_validates(theory, tmp_path):
    done = run("logic", "--validate", theory)
    assert done.exit_code == 0
    assert row_of(done.stdout.splitlines(), "negation")[1:5] == ["4", "28", "16", "0"]
    assert done.stdout.endswith("usable: no errors\n")
    assert run_json("logic", "--validate", theory)["is_usable"] is True


def test_a_theory_with_an_error_is_told_written_and_exits_1(tmp_path, theory):
    theory.write_text(RULED.replace('Ts: "c <-> d"', 'Ts: "c | !c"'))
    out = tmp_path / "problems.jsonl"
    done = run("logic", "--validate", theory, "--limit", 2, "--out", out)
    assert done.exit_code == 1
    assert "error: negation, all/n1/Ts: the claim 'Ts'" in done.stdout
    assert "more rows; --limit 0 shows all" in done.stdout
    assert done.stdout.endswith("NOT usable: 4 errors\n")
    levels = [row["level"] for row in read_rows(out, PROBLEM_COLUMNS)]
    assert levels.count("error") == 4


def test_a_tokenizer_adds_what_it_makes_of_answers(spec, theory):
    found = run_json("logic", "--validate", theory, "--tokenizer", spec)
    assert found["tokenizer"]["name"] == spec
    assert run_json("logic", "--validate", theory)["tokenizer"] is None


def test_without_a_theory_every_family_is_validated():
    found = run_json("logic", "--validate")
    assert [one["theory"] for one in found["theories"]] == list(FAMILIES)


def test_a_family_can_stand_for_a_file():
    assert run_json("logic", "--info", "partition")["theory"] == "partition"
    done = run("logic", "--info", "partitoin")
    assert done.exit_code == 1
    assert done.stderr == "error: no family named 'partitoin'; did you mean ['partition']?\n"


@pytest.mark.parametrize(
    ("args", "fault"),
    [
        ([], "give MODEL and THEORY, or --info or --validate with THEORY; got 0 of them"),
        (["smollm2"], "got 1 of them"),
        (["--info"], "--info needs a THEORY"),
        (["--info", "m", "t.yaml"], "with --info give THEORY alone"),
        (["--validate", "m", "t.yaml"], "with --validate give THEORY alone"),
        (["--info", "--validate", "t.yaml"], "not both"),
        (["m", "t.yaml", "--tokenizer", "m"], "--tokenizer goes with --validate"),
        (["--info", "t.yaml", "--explain", "x"], "--explain needs MODEL and THEORY"),
    ],
)
def test_a_question_that_is_none_is_a_usage_error(args, fault):
    done = run("logic", *args)
    assert done.exit_code == 2
    assert fault in " ".join(done.stderr.split())


@pytest.mark.parametrize(
    ("args", "fault"),
    [
        (["--rescaling", "duell"], "no rescaling named 'duell'; did you mean ['duel']?"),
        (["--also", "minp,minq"], "no rescaling named 'minq'"),
        (["--multi", "seq_ratio"], "multi='seq_ratio' is of ratio, ratio_soft and minp"),
    ],
)
def test_what_cannot_be_read_so_is_one_line(spec, theory, args, fault):
    done = run("logic", spec, theory, *args)
    assert done.exit_code == 1
    assert fault in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("name: [", "is not YAML"),
        ("name: x\nevents: {}\n", "has no rules"),
        ("name: x\nrules: {r: 'a &'}\nevents: {a: {context: c, answer: d}}\n", "the theory 'x'"),
    ],
)
def test_a_file_that_is_no_theory_is_one_line(spec, tmp_path, text, fault):
    (tmp_path / "bad.yaml").write_text(text)
    for args in (["--info"], ["--validate"], [spec]):
        done = run("logic", *args, tmp_path / "bad.yaml")
        assert done.exit_code == 1
        assert fault in done.stderr
        assert done.stderr.count("\n") == 1


def test_a_file_that_is_not_there_is_one_line(spec):
    done = run("logic", spec, "none.yaml")
    assert (done.exit_code, done.stderr.count("\n")) == (1, 1)
    assert "the theory 'none.yaml' cannot be read" in done.stderr


def test_impossible_and_clamped_items_are_counted(tmp_path, theory):
    spec = write_model(tmp_path / "sparse.json")
    data = json.loads((tmp_path / "sparse.json").read_text())
    law = data["rows"][0]["probs"]
    law["a"] += law.pop("Gin", 0.0) + law.pop(" Gin", 0.0) + law.pop(" gin")
    for letter in "gG":
        law["a"] += law.pop(letter)
    (tmp_path / "sparse.json").write_text(json.dumps(data))
    done = run("logic", spec, theory, "--rescaling", "identity", "--also", "")
    assert done.exit_code == 0, done.stderr
    assert "probability 0: " in done.stdout
    assert "-inf" in done.stdout
    found = run_json("logic", spec, theory, "--rescaling", "identity", "--also", "")
    assert found["worst"][0]["item"]["readings"]["identity"]["log_ratio_bits"] == "-inf"
