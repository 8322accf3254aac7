"""``likely attribute``: numbers, files, and what a person sees."""

import csv
import json
import re
import sys
from types import ModuleType

import numpy as np
import pandas as pd
import pytest
from attributions import same, strict
from command_line import run, run_json, write_table

import likely
from likely.attribution import (
    Attribution,
    Contrast,
    attribute,
    contrast,
    read_json,
    read_npz,
)
from likely.cli.attribute import SUFFIXES, columns
from likely.errors import StoreError
from likely.runs.store import read_rows

ROWS = [
    {"after": [], "probs": {"A": 0.25, "B": 0.4, "C": 0.25, " ": 0.1}},
    {"after": ["A"], "probs": {"B": 0.9, "A": 0.05, "C": 0.05}},
]
PAIR = ("--prompt", "AB CA", "--response", "BA")


def known(found):
    """Return an attribution without its seconds, which no two runs share."""
    text = re.sub(r'"seconds": [^,}]+', '"seconds": 0', found.to_json())
    return re.sub(r'"name": "[^"]*", "identity": "[^"]*"', "", text)


@pytest.fixture
def table(tmp_path):
    """Return a law in which A B is likely."""
    return write_table(tmp_path / "table.json", rows=ROWS)


@pytest.fixture
def theirs(table):
    """Return what the library says of the same case."""
    return attribute(likely.load(table), "AB CA", "BA")


def test_the_numbers_are_those_of_the_library(table, theirs):
    found = run_json("attribute", table, *PAIR)
    assert known(Attribution.from_dict(found["attribution"])) == known(theirs)
    assert found["command"] == "attribute"
    assert found["model"]["fingerprint"]
    assert found["seed"] == 0


def test_json_and_npz_are_read_back(tmp_path, table, theirs):
    for suffix, read in ((".json", read_json), (".npz", read_npz)):
        path = tmp_path / f"found{suffix}"
        done = run("attribute", table, *PAIR, "--out", path)
        assert done.exit_code == 0, done.stderr
        assert known(read(path)) == known(theirs)
    first, second = read_json(tmp_path / "found.json"), read_npz(tmp_path / "found.npz")
    assert same(first.places[3].candidates, second.places[3].candidates)


def test_tables_are_the_frame(tmp_path, table, theirs):
    frame = theirs.to_frame().drop(columns="seconds")
    for suffix in (".parquet", ".jsonl"):
        path = tmp_path / f"found{suffix}"
        assert run("attribute", table, *PAIR, "--out", path).exit_code == 0
        found = pd.DataFrame(read_rows(path, columns(theirs.to_frame().to_dict("records"))))
        pd.testing.assert_frame_equal(found.drop(columns="seconds"), frame, check_exact=True)
    path = tmp_path / "found.csv"
    assert run("attribute", table, *PAIR, "--out", path).exit_code == 0
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["text"] for row in rows] == frame["text"].tolist()
    for name in ("score", "score_low", "reverse_information_high", "left_surprisal"):
        assert [float(row[name]) for row in rows] == frame[name].tolist()


def test_tex_is_a_whole_document(tmp_path, table):
    path = tmp_path / "found.tex"
    assert run("attribute", table, *PAIR, "--out", path).exit_code == 0
    made = path.read_text()
    assert made.startswith(r"\documentclass")
    assert r"\texttt{\textvisiblespace{}}" in made


def test_html_is_the_page_of_the_report(tmp_path, table, monkeypatch):
    page = ModuleType("likely.report.attribution_page")
    page.attribution_page = lambda found: f"<p>{found.scores[0]:.3f} é</p>"
    monkeypatch.setitem(sys.modules, "likely.report.attribution_page", page)
    path = tmp_path / "found.html"
    done = run("attribute", table, *PAIR, "--out", path)
    assert done.exit_code == 0, done.stderr
    assert path.read_text(encoding="utf-8") == "<p>0.000 é</p>"
    assert "wrote" in done.stderr


def test_a_person_sees_the_prompt_the_table_and_the_cost(table):
    done = run("attribute", table, "--prompt", "ABA", "--response", "B", "--method", "exact")
    lines = done.stdout.splitlines()
    assert "  ABA" in lines
    assert any(line.startswith("score in nats, from: ░ 0.1") for line in lines)
    assert "response: -0.1054 nats over 1 token" in lines
    head = next(i for i, line in enumerate(lines) if line.split()[:3] == ["#", "token", "score"])
    assert [line.split()[0] for line in lines[head + 1 : head + 4]] == ["0", "1", "2"]
    assert lines[head + 3].split()[1] == "A"
    assert "scores: 3 exact" in lines
    assert any(line.startswith("cost: ") for line in lines)
    assert "\x1b" not in done.stdout


def test_the_score_of_a_chain_is_what_the_formula_says(table):
    """Before B a hole has A with 1/4; after A comes B with .9, after all others with .4."""
    found = run_json("attribute", table, "--prompt", "BA", "--response", "B", "--positions", 1)
    place = found["attribution"]["places"][0]
    wanted = np.log(0.9) - np.log(0.25 * 0.9 + 0.75 * 0.4)
    assert place["measures"]["score"]["value"] == pytest.approx(wanted, abs=1e-12)


def test_colours_come_if_asked_for_and_a_matrix_too(table):
    done = run("attribute", table, *PAIR, "--color", "always", "--matrix")
    assert "\x1b[" in done.stdout
    assert "share of each response token" in done.stdout
    plain = run("attribute", table, *PAIR, "--matrix").stdout
    rows = plain[plain.index("share of each") :].splitlines()
    assert rows[1].split() == ["B", "A"]
    assert len(rows[2].split()) == 3


def test_long_tables_are_cut_to_the_strongest(table):
    done = run("attribute", table, *PAIR, "--limit", 2)
    assert "3 more rows" in done.stdout
    assert "more rows" not in run("attribute", table, *PAIR, "--limit", 0).stdout


def test_positions_and_excluded_ids_are_lists_with_ranges(table):
    found = run_json("attribute", table, *PAIR, "--positions", "0,2-3", "--exclude", "1")
    places = found["attribution"]["places"]
    assert [place["positions"] for place in places] == [[0], [2], [3]]
    assert all([1] not in place["candidates"]["tokens"] for place in places)
    assert found["attribution"]["excluded_mass"][0] == pytest.approx(0.4)


def test_a_prompt_may_come_from_a_file_to_the_letter(tmp_path, table):
    path = tmp_path / "prompt.txt"
    path.write_text("AB CA")
    given = run_json("attribute", table, "--prompt-file", path, "--response", "BA")
    told = run_json("attribute", table, *PAIR)
    for name in ("case", "excluded_mass"):
        assert given["attribution"][name] == told["attribution"][name]


def test_an_answer_can_be_generated(table):
    found = run_json("attribute", table, "--prompt", "A", "--generate", 3)
    assert found["attribution"]["case"]["response_text"] == "BBB"
    assert found["attribution"]["case"]["flags"] == ["generated"]


def test_kept_candidates_and_the_seed_are_in_the_file(table):
    found = run_json("attribute", table, *PAIR, "--kept", 1, "--seed", 5)
    assert found["attribution"]["seed"] == 5
    assert {len(place["candidates"]["score"]) for place in found["attribution"]["places"]} <= {1, 2}


def test_groups_are_units_or_lists_and_rules_choose_the_candidates(table):
    found = run_json("attribute", table, *PAIR, "--groups", "words")["attribution"]
    assert [place["positions"] for place in found["places"]] == [[0, 1], [2, 3, 4]]
    found = run_json("attribute", table, *PAIR, "--groups", "words", "--positions", "1,3")
    places = found["attribution"]["places"]
    assert [place["positions"] for place in places] == [[1], [3]]
    found = run_json("attribute", table, *PAIR, "--groups", "3;0-1, 4")["attribution"]
    theirs = attribute(likely.load(table), "AB CA", "BA", groups=[(3,), (0, 1, 4)])
    assert known(Attribution.from_dict(found)) == known(theirs)
    words = ("--candidates", "word_start", "--positions", "3")
    found = run_json("attribute", table, *PAIR, *words)["attribution"]
    assert found["rule"] == "word_start"
    assert [3] not in found["places"][0]["candidates"]["tokens"]


def test_every_token_of_a_group_is_shown_and_overlaps_are_told(table):
    pair = ("--prompt", "BA", "--response", "B", "--method", "exact")
    done = run("attribute", table, *pair, "--groups", "0,1")
    lines = done.stdout.splitlines()
    bars = lines[lines.index("  BA") - 1].split()
    assert len(bars) == 1
    assert len(bars[0]) == 2
    head = next(i for i, line in enumerate(lines) if line.split()[:3] == ["#", "text", "score"])
    assert lines[head + 1].split()[:2] == ["0,1", "BA"]
    assert "groups overlap" not in done.stdout
    assert "procedure" not in done.stdout  # theirs has no groups
    done = run("attribute", table, *pair, "--groups", "0,1;1")
    assert "groups overlap: 1 token is in more than one" in done.stdout


@pytest.fixture
def versus(table):
    """Return the library's contrast of two responses."""
    return contrast(likely.load(table), "AB CA", "BA", "A")


def test_a_contrast_is_that_of_the_library(tmp_path, table, versus):
    found = run_json("attribute", table, *PAIR, "--contrast", "A")
    assert known(Contrast.from_dict(found["contrast"])) == known(versus)
    assert set(found) == {"command", "likely", "seed", "model", "contrast"}
    path = tmp_path / "found.json"
    done = run("attribute", table, *PAIR, "--contrast", "A", "--out", path)
    assert done.exit_code == 0, done.stderr
    assert known(Contrast.from_json(path)) == known(versus)
    with pytest.raises(StoreError, match=r"needed, got 'likely.attribution.Contrast'"):
        read_json(path)


def test_a_contrast_is_written_as_a_table_a_page_and_latex(tmp_path, table, versus):
    frame = versus.to_frame().drop(columns="seconds")
    for suffix in (".parquet", ".csv", ".html", ".tex"):
        path = tmp_path / f"found{suffix}"
        done = run("attribute", table, *PAIR, "--contrast", "A", "--out", path)
        assert done.exit_code == 0, done.stderr
    rows = read_rows(tmp_path / "found.parquet", columns(versus.to_frame().to_dict("records")))
    found = pd.DataFrame(rows).drop(columns="seconds")
    pd.testing.assert_frame_equal(found, frame, check_exact=True)
    with (tmp_path / "found.csv").open(newline="", encoding="utf-8") as file:
        assert [float(row["difference"]) for row in csv.DictReader(file)] == list(
            frame["difference"]
        )
    assert "Why this response rather than the other?" in (tmp_path / "found.html").read_text()
    assert "Difference in nats:" in (tmp_path / "found.tex").read_text()


def test_a_person_sees_the_differences_and_both_responses(table):
    pair = ("--prompt", "BA", "--response", "B", "--contrast", "AB", "--method", "exact")
    done = run("attribute", table, *pair, "--matrix")
    lines = done.stdout.splitlines()
    assert lines[lines.index("  BA") - 1] == "   ▓"  # 1 to 3 nats
    assert any(line.startswith("difference in nats, from: ") for line in lines)
    assert "response: -0.1054 nats over 1 token" in lines
    assert f"the other: {np.log(0.05 * 0.9):.4f} nats over 2 tokens" in lines
    assert "log-odds +2.996: the response is 20 times as likely as the other" in lines
    row = next(line.split() for line in lines if line.startswith("1"))
    # Before "BA" a hole has A with 1/4, after which come B with .9 and A with .05, and B after it;
    # after all others they come with .4 and .25.
    first = np.log(0.9) - np.log(0.25 * 0.9 + 0.75 * 0.4)
    second = np.log(0.05) - np.log(0.25 * 0.05 + 0.75 * 0.25)
    assert row[:2] == ["1", "A"]
    assert row[3] == "exact"
    shown = [f"{x:+.3f}".replace("0.", ".") for x in (first - second, first, second)]
    assert [row[2], row[4], row[5]] == shown
    assert "differences: 2 exact" in lines
    assert sum(line.startswith("share of each response token") for line in lines) == 2
    assert "the authors' procedure: " in done.stdout


def test_a_contrast_may_have_a_generated_response(table):
    found = run_json("attribute", table, "--prompt", "A", "--generate", 2, "--contrast", "C")
    first, second = (found["contrast"][name]["case"] for name in ("first", "second"))
    assert (first["response_text"], second["response_text"]) == ("BB", "C")
    assert (first["flags"], second["flags"]) == (["generated"], [])


def test_a_boundary_is_that_of_the_library(tmp_path):
    path = tmp_path / "table.json"
    rows = [{"after": [], "probs": {"A": 0.25, "B": 0.4, "AB": 0.25, "C": 0.1}}]
    table = write_table(path, tokens=["A", "B", "AB", "C"], rows=rows)
    for boundary, response in (("joint", ["AB"]), ("separate", ["B"])):
        found = run_json(
            "attribute", table, "--prompt", "CA", "--response", "B", "--boundary", boundary
        )  # fmt: skip
        case = Attribution.from_dict(found["attribution"]).case
        assert [case.response_text[a:b] for a, b in case.response_spans] == response


@pytest.mark.parametrize(
    ("args", "fault"),
    [
        (["--response", "B"], "give one of --prompt, --prompt-file and --chat; got 0"),
        (["--prompt", "A", "--chat", "x", "--response", "B"], "got 2 of them"),
        (["--prompt", "A"], "give --response or --generate; got 0"),
        (["--prompt", "A", "--response", "B", "--generate", "2"], "got 2 of them"),
        (["--prompt", "A", "--response", "B", "--positions", "1-"], "got '1-'"),
        (["--prompt", "A", "--response", "B", "--positions", "-1"], "got '-1'"),
        (["--prompt", "A", "--response", "B", "--positions", ","], "got ','"),
        (["--prompt", "A", "--response", "B", "--positions", "3-1"], "from low to high"),
        (["--prompt", "A", "--response", "B", "--exclude", "0-99999999999"], "below 1000000"),
        (["--prompt", "A", "--response", "B", "--roles", "system"], "--roles goes with --chat"),
        (["--prompt", "A", "--response", "B", "--method", "guess"], "guess"),
        (["--prompt", "A", "--response", "B", "--candidates", "some"], "some"),
        (["--prompt", "A", "--response", "B", "--groups", "wrods"], "such as 0-2;5,7, got 'wrods'"),
        (["--prompt", "A", "--response", "B", "--groups", "0;;1"], "got ''"),
        (["--prompt", "A", "--response", "B", "--groups", "2-0"], "from low to high"),
        (
            ["--prompt", "A", "--response", "B", "--groups", "0", "--positions", "0"],
            "names its positions itself",
        ),
        (["--prompt", "A", "--contrast", "B"], "give --response or --generate; got 0"),
        (
            ["--chat", "x", "--response", "B", "--roles", "system", "--positions", "0"],
            "give --positions or --roles, one of them",
        ),
    ],
)
def test_a_flag_that_makes_no_sense_is_a_usage_error(table, args, fault):
    done = run("attribute", table, *args)
    assert done.exit_code == 2
    assert fault in re.sub(r"[\s│]+", " ", done.stderr)


@pytest.mark.parametrize(
    ("args", "fault"),
    [
        (["--prompt", "", "--response", "B"], "the prompt has no tokens"),
        (["--prompt", "AX", "--response", "B"], "no token of the table matches"),
        (["--prompt", "A", "--response", "B", "--positions", "4"], "positions 0 to 0, got 4"),
        (["--prompt", "A", "--response", "B", "--exclude", "0"], "is no candidate there"),
        (["--prompt", "A", "--response", "B", "--tolerance", "0"], "positive number of nats"),
        (["--prompt", "A", "--response", "B", "--level", "1"], "lies in (0, 1), got 1.0"),
        (["--prompt", "A", "--response", " "], "the response is impossible"),
        (["--prompt-file", "no such file", "--response", "B"], "cannot read 'no such file'"),
        (["--prompt", "A", "--response", "B", "--out", "a.txt"], "the format comes from"),
        (
            ["--prompt", "A", "--response", "B", "--contrast", "A", "--out", "a.npz"],
            "one of ['.json', '.html', '.tex', '.csv', '.parquet', '.jsonl']; got 'a.npz'",
        ),
        (["--prompt", "AB", "--response", "B", "--groups", "0,0"], "each of its positions once"),
        (["--prompt", "AB", "--response", "B", "--groups", "0,1;0-1"], "each group is named once"),
        (["--prompt", "AB", "--response", "B", "--groups", "0-2"], "positions 0 to 1, got 2"),
        (["--prompt", "AB", "--response", "B", "--groups", "turns"], "the prompt as messages"),
        (
            ["--prompt", "AB", "--response", "B", "--groups", "0,1", "--candidates", "round_trip"],
            "take candidates='all' or 'word_start'",
        ),
        (["--prompt", "A", "--response", "B", "--contrast", " "], "the response is impossible"),
        (["--prompt", "A", "--response", "B", "--out", "no folder/a.json"], "make its folder"),
    ],
)
def test_what_cannot_be_done_is_one_line(table, args, fault):
    done = run("attribute", table, *args)
    assert done.exit_code == 1
    assert fault in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("raw", "fault"),
    [
        ("{", "is no JSON"),
        ('{"role": "user"}', "is a list of messages"),
        ("[1]", "is a list of messages"),
        ('[{"role": "user", "content": 3}]', "is a list of messages"),
        ("[]", "the prompt has no tokens"),
        ('[{"role": "user", "content": "A"}]', "chat template"),
    ],
)
def test_a_chat_that_is_none_is_one_line(tmp_path, table, raw, fault):
    path = tmp_path / "chat.json"
    path.write_text(raw)
    done = run("attribute", table, "--chat", path, "--response", "B")
    assert done.exit_code == 1
    assert fault in done.stderr
    assert done.stderr.count("\n") == 1


def test_the_words_of_a_role_in_a_chat_are_attributed(tmp_path):
    from fixtures import random_gpt2, toy_bpe_tokenizer

    folder = tmp_path / "model"
    tokenizer = toy_bpe_tokenizer()
    tokenizer.save_pretrained(folder)
    random_gpt2(len(tokenizer) + 5).save_pretrained(folder)
    path = tmp_path / "chat.json"
    messages = [{"role": "system", "content": "we"}, {"role": "user", "content": "Answer"}]
    path.write_text(json.dumps(messages))
    found = run_json("attribute", f"hf:{folder}", "--chat", path, "--response", "An")
    case = found["attribution"]["case"]
    assert case["prompt_text"].startswith("[system] we")
    chosen = {case["roles"][place["positions"][0]] for place in found["attribution"]["places"]}
    assert chosen == {"user"}
    found = run_json(
        "attribute", f"hf:{folder}", "--chat", path, "--response", "An", "--roles", "system,user"
    )
    case = found["attribution"]["case"]
    chosen = {case["roles"][place["positions"][0]] for place in found["attribution"]["places"]}
    assert chosen == {"system", "user"}


# 5 ids in each place, each read with what comes after the place, and the text once.
ALONE = 5 * (6 + 5 + 4 + 3 + 2) + 6


@pytest.mark.parametrize(
    ("flags", "most", "n_places"),
    [
        (["--method", "exact"], ALONE, 5),
        (["--method", "adaptive"], ALONE, 5),
        (["--method", "exact", "--groups", "0,2;4"], 5 * 2 + 25 * 5 + 5 * 2 + 6, 2),
        (["--method", "exact", "--contrast", "A", "--positions", "3"], 5 * 5 + 6, 1),
    ],
)
def test_the_bar_expects_what_a_model_that_keeps_its_cache_spends(
    table, flags, most, n_places, monkeypatch
):
    told = []

    class Meter:
        def __init__(self, label, *, quiet):
            pass

        def expect(self, tokens):
            told.append(("expect", tokens))

        def advance(self, tokens):
            told.append(("advance", tokens))

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

    monkeypatch.setattr("likely.cli.attribute.TokenMeter", Meter)
    done = run("attribute", table, *PAIR, *flags, "--budget", "1e6", "--json")
    assert done.exception is None, repr(done.exception)
    found = strict(done.stdout)
    assert told[0] == ("expect", most)
    spent = [tokens for kind, tokens in told[1:] if kind == "advance"]
    assert len(spent) == n_places
    cost = found["contrast" if "--contrast" in flags else "attribution"]["cost"]
    assert 0 < sum(spent) <= cost["token_evaluations"]


def test_a_folder_gets_a_json_file_named_after_the_model(tmp_path, table):
    folder = tmp_path / "results"
    folder.mkdir()
    assert run("attribute", table, *PAIR, "--out", folder).exit_code == 0
    (path,) = folder.iterdir()
    assert path.suffix == SUFFIXES[0] == ".json"
    assert strict(path.read_text())["command"] == "attribute"


def test_control_codes_of_a_prompt_never_reach_the_terminal(tmp_path):
    path = tmp_path / "odd.json"
    rows = [{"after": [], "probs": {"A": 0.5, "\x1b[31m": 0.5}}]
    spec = write_table(path, tokens=["A", "\x1b[31m"], rows=rows)
    done = run("attribute", spec, "--prompt", "A\x1b[31mA", "--response", "\x1b[31m", "--matrix")
    assert done.exit_code == 0, done.stderr
    assert "\x1b" not in done.stdout
    assert "⟨U+001B⟩" in done.stdout


@pytest.mark.real
def test_a_real_model_writes_and_is_attributed_in_seconds(tmp_path):
    path = tmp_path / "found.npz"
    done = run(
        "attribute", "smollm2", "--prompt", "The capital of France is", "--response", " Paris",
        "--positions", 4, "--budget", 1500, "--out", path,
    )  # fmt: skip
    assert done.exit_code == 0, done.stderr
    (place,) = read_npz(path).places
    assert place.text == " is"
    assert place.measures.score.low <= place.measures.score.value <= place.measures.score.high
    assert "␣is" in done.stdout
