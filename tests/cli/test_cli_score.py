"""``likely score``, from flags and from files."""

import json
import math

import pytest
from command_line import run, run_json, write_items, write_table

import likely
from likely.runs.score_rows import read_scores

PAIRS = [("A", "B"), ("A", " "), ("B", "AB"), ("", "A")]


def test_the_numbers_are_those_of_the_library(table):
    found = run_json("score", table, "--context", "A", "--continuation", "B", "--continuation", " ")
    theirs = likely.score(likely.load(table), [("A", "B"), ("A", " ")])
    assert [row["log_prob"] for row in found["scores"]] == [theirs[0].log_prob, "-inf"]
    assert found["scores"][0]["context_tokens"] == [4, 0]
    assert found["model"]["dtype"] == "float64"
    assert found["settings"]["bos"] == "auto"
    assert found["choice"] == {"best": [0], "undecided": []}
    assert found["cost"]["token_evaluations"] == 2


def test_a_person_sees_nats_probability_pieces_and_flags(table):
    done = run("score", table, "--context", "A ", "--continuation", "B", "--continuation", "AA")
    lines = done.stdout.splitlines()
    assert lines[1].split() == ["#", "log-prob", "prob", "tokens", "pieces", "flags"]
    assert lines[2].split() == ["0", "-inf", "0", "2", "'", "'|'B'", "whitespace_moved"]
    done = run("score", table, "--context", "A", "--continuation", "B")
    assert done.stdout.splitlines()[2].split() == ["0", "-0.1054", "0.9000", "1", "'B'"]


def test_a_tie_is_told_and_not_broken(table):
    done = run("score", table, "--context", "B", "--continuation", "A", "--continuation", "C")
    assert "tie: 'A' = 'C'" in done.stdout
    found = run_json("score", table, "--context", "B", "--continuation", "A", "--continuation", "C")
    assert found["choice"]["best"] == [0, 1]


def test_the_policies_reach_the_score(table):
    pair = ("--context", "", "--continuation", "AB")
    [auto] = run_json("score", table, *pair)["scores"]
    [never] = run_json("score", table, *pair, "--bos", "never")["scores"]
    assert auto["n_scored"] == 2
    assert never["token_log_probs"] == [None, math.log(0.9)]
    assert "first_token_not_scored" in never["flags"]
    [spaced] = run_json("score", table, *pair, "--leading-space")["scores"]
    assert spaced["pieces"] == [" ", "A", "B"]
    [apart] = run_json(
        "score", table, "--context", "A ", "--continuation", "B", "--boundary", "separate"
    )["scores"]
    assert (apart["pieces"], apart["flags"]) == (["B"], ["trailing_space"])


def test_a_token_that_is_not_scored_is_shown_as_a_dash_and_never_as_0(table):
    done = run("score", table, "--context", "", "--continuation", "A", "--bos", "never")
    assert done.stdout.splitlines()[2].split()[:4] == ["0", "-", "-", "0/1"]


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_a_file_of_items_goes_to_a_file_of_rows_with_its_record(tmp_path, table, suffix):
    items = write_items(tmp_path / "items.jsonl", PAIRS)
    out = tmp_path / f"scores.{suffix}"
    done = run("score", table, "--items", items, "--out", out, "--batch", 2)
    assert done.exit_code == 0, done.stderr
    theirs = likely.score(likely.load(table), PAIRS)
    assert [score for _, score in read_scores(out)] == list(theirs)
    record = json.loads((tmp_path / f"scores.{suffix}.run.json").read_text())
    assert record["model"]["name"] == table
    assert record["cost"]["token_evaluations"] > 0
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(
        ["items.jsonl", "table.json", out.name, f"{out.name}.run.json"]
    )


def test_a_second_run_takes_over_the_first(tmp_path, table):
    items = write_items(tmp_path / "items.jsonl", PAIRS)
    out = tmp_path / "scores.jsonl"
    args = ("score", table, "--items", items, "--out", out)
    first, second, third = run(*args), run(*args), run(*args, "--no-resume", "--no-cache")
    assert "took over" not in first.stderr
    assert "took over 4 of 4 items" in second.stderr
    assert "took over" not in third.stderr
    assert "from the cache" not in third.stdout


def test_a_file_of_items_uses_the_cache_unless_told_otherwise(tmp_path, table, own_cache):
    items = write_items(tmp_path / "items.jsonl", PAIRS)
    run("score", table, "--items", items, "--no-cache")
    assert list(own_cache.iterdir()) == []
    run("score", table, "--items", items)
    found = run_json("score", table, "--items", items)
    assert found["cost"]["cached"] == len(PAIRS)
    assert found["cost"]["token_evaluations"] == 0


def test_one_document_of_everything_goes_to_json(tmp_path, table):
    out = tmp_path / "scores.json"
    done = run("score", table, "--context", "A", "--continuation", "B", "--out", out)
    assert done.exit_code == 0
    assert json.loads(out.read_text())["scores"][0]["pieces"] == ["B"]


@pytest.mark.parametrize(
    ("args", "fault"),
    [
        (["--context", "A"], "at least one --continuation"),
        (["--continuation", "A"], "give --context"),
        (["--items", "x.jsonl", "--context", "A"], "not both"),
        (["--context", "A", "--continuation", "B", "--system", "S"], "need --chat"),
    ],
)
def test_a_question_that_is_none_is_a_usage_error(table, args, fault):
    done = run("score", table, *args)
    assert done.exit_code == 2
    assert fault in " ".join(done.stderr.split())


@pytest.mark.parametrize(
    ("args", "fault"),
    [
        (["--context", "A", "--continuation", ""], "at least one token"),
        (["--context", "Z", "--continuation", "A"], "no token of the table matches 'Z'"),
        (["--context", "AAAA", "--continuation", "BB"], "needs 5 tokens of context"),
        (["--context", "A", "--continuation", "B", "--chat"], "no chat"),
        (["--context", "A", "--continuation", "\udcff"], "not valid Unicode"),
        (["--items", "no such file.jsonl"], "cannot read 'no such file.jsonl'"),
    ],
)
def test_what_cannot_be_scored_is_one_line(tmp_path, args, fault):
    spec = write_table(tmp_path / "t.json", max_tokens=4, bos=None)
    done = run("score", spec, *args)
    assert done.exit_code == 1
    assert fault in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_bad_line_of_the_file_is_named(tmp_path, table):
    items = tmp_path / "items.jsonl"
    items.write_text('{"context": "A", "continuation": "B"}\n{"context": "A"}\n')
    done = run("score", table, "--items", items)
    assert done.exit_code == 1
    assert f"error: {items}:2: " in done.stderr


def test_limit_0_shows_every_row(tmp_path, table):
    items = write_items(tmp_path / "items.jsonl", [("A", "B")] * 30)
    assert "10 more rows" in run("score", table, "--items", items).stdout
    shown = run("score", table, "--items", items, "--limit", 0).stdout
    assert "more rows" not in shown
    assert shown.count("'B'") == 30


def test_a_chat_scores_the_reply_and_keeps_its_opening_to_the_letter(toy_bpe_folder):
    model = f"hf:{toy_bpe_folder}"
    args = ("score", model, "--context", "hi", "--chat", "--system", "be kind")
    [plain] = run_json(*args, "--continuation", "Answer")["scores"]
    assert plain["context"] == "[system] be kind\n[user] hi\n[assistant] "
    [opened] = run_json(*args, "--prefill", "wor  ", "--continuation", "ld")["scores"]
    assert opened["context"].endswith("[assistant] wor  ")
    assert "template_trims" in opened["flags"]


def test_with_chat_a_context_of_ids_is_refused(tmp_path, toy_bpe_folder):
    items = write_items(tmp_path / "items.jsonl", [([1, 2], [3])])
    done = run("score", f"hf:{toy_bpe_folder}", "--items", items, "--chat")
    assert done.exit_code == 1
    assert "a context is a message, got ids" in done.stderr
