"""``likely surprisal``: a text from a flag, a file or standard input."""

import math

import pytest
from command_line import run, run_json, write_table

import likely
from likely.cli.surprisal import TOKEN_COLUMNS, WORD_COLUMNS
from likely.runs.store import read_rows

TEXT = "AB AA"


def test_the_numbers_are_those_of_the_library(table):
    found = run_json("surprisal", table, "--text", TEXT)
    theirs = likely.surprisal(likely.load(table), TEXT)
    shown = [-math.inf if x == "-inf" else x for x in found["token_log_probs"]]
    assert shown == list(theirs.token_log_probs)
    assert found["spans"] == [list(span) for span in theirs.spans]


def test_a_flag_a_file_and_standard_input_give_one_answer(tmp_path, table):
    path = tmp_path / "text.txt"
    path.write_text(TEXT)
    documents = [
        run_json("surprisal", table, "--text", TEXT),
        run_json("surprisal", table, "--file", path),
        run_json("surprisal", table, "-", input=TEXT),
    ]
    for document in documents:
        document["cost"]["seconds"] = 0
    assert documents[0] == documents[1] == documents[2]


def test_a_person_sees_a_row_a_token_and_the_total(table):
    done = run("surprisal", table, "--text", "ABA")
    lines = done.stdout.splitlines()
    assert lines[1].split() == ["#", "piece", "log-prob", "prob", "surprisal"]
    assert lines[2].split()[:4] == ["0", "'A'", "-1.3863", "0.2500"]
    assert lines[3].split()[:4] == ["1", "'B'", "-0.1054", "0.9000"]
    assert "-2.8779 nats over 3 tokens; 0.9593 nats a token, perplexity 2.61" in lines[5]


def test_a_token_that_is_not_scored_is_a_dash_and_left_out(table):
    done = run("surprisal", table, "--text", "AB", "--bos", "never")
    lines = done.stdout.splitlines()
    assert lines[2].split() == ["0", "'A'", "-", "-"]
    assert "-0.1054 nats over 1 tokens, 1 left out" in done.stdout
    assert "flags: first_token_not_scored" in done.stdout


def test_words_add_up_to_the_text(table):
    found = run_json("surprisal", table, "--text", "AB BA", "--words", "--bos", "never")
    assert [word["word"] for word in found["words"]] == ["AB", " BA"]
    done = run("surprisal", table, "--text", "ABBA", "--words")
    assert done.stdout.splitlines()[2].split()[:3] == ["0", "'ABBA'", "-3.5711"]


def test_entropies_come_if_asked_for(tmp_path, table):
    out = tmp_path / "tokens.parquet"
    run("surprisal", table, "--text", "AB", "--entropy", "--out", out)
    rows = read_rows(out, TOKEN_COLUMNS)
    assert rows[0]["entropy"] == pytest.approx(1.5 * math.log(2))
    run("surprisal", table, "--text", "AB", "--out", out)
    assert read_rows(out, TOKEN_COLUMNS)[0]["entropy"] is None


def test_minus_inf_and_not_scored_stay_apart_in_files(tmp_path, table):
    for suffix in ("jsonl", "parquet"):
        out = tmp_path / f"tokens.{suffix}"
        run("surprisal", table, "--text", "A A", "--bos", "never", "--out", out)
        assert [row["log_prob"] for row in read_rows(out, TOKEN_COLUMNS)] == [
            None, -math.inf, math.log(0.25),
        ]  # fmt: skip
        run("surprisal", table, "--text", "A A", "--words", "--out", out)
        assert [row["n_tokens"] for row in read_rows(out, WORD_COLUMNS)] == [1, 2]


def test_a_text_past_the_context_needs_a_window_and_says_so(short_table):
    text = "ABABABABA"
    done = run("surprisal", short_table, "--text", text)
    assert done.exit_code == 1
    assert "needs 9 tokens of context" in done.stderr
    assert "window=4" in done.stderr
    done = run("surprisal", short_table, "--text", text, "--window", 4, "--stride", 2)
    assert done.exit_code == 0
    assert "over 9 tokens" in done.stdout
    assert "read in windows of 4 tokens, 2 apart" in done.stdout


@pytest.mark.parametrize(
    ("args", "fault"),
    [
        ([], "give one of --text, --file and -; got 0"),
        (["--text", "A", "-"], "got 2 of them"),
        (["A B"], "got 'A B'"),
        (["--text", "A", "--words", "--entropy"], "--entropy is of tokens"),
    ],
)
def test_a_text_that_is_given_twice_or_not_at_all_is_a_usage_error(table, args, fault):
    done = run("surprisal", table, *args)
    assert done.exit_code == 2
    assert fault in " ".join(done.stderr.split())


@pytest.mark.parametrize(
    ("args", "fault"),
    [
        (["--text", ""], "got an empty string"),
        (["--file", "no such file"], "cannot read 'no such file'"),
        (["--text", "A", "--stride", "2"], "a stride needs a window"),
        (["--text", "A", "--window", "9"], "window=9 is past the 4 tokens"),
    ],
)
def test_what_cannot_be_read_is_one_line(tmp_path, args, fault):
    done = run("surprisal", write_table(tmp_path / "t.json", max_tokens=4), *args)
    assert done.exit_code == 1
    assert fault in done.stderr
    assert done.stderr.count("\n") == 1


def test_bytes_that_are_no_text_are_one_line(table):
    done = run("surprisal", table, "-", input=b"A\xff")
    assert done.exit_code == 1
    assert "standard input is not UTF-8 at byte 1" in done.stderr


def test_a_long_text_is_cut_on_the_screen_and_says_so(table):
    done = run("surprisal", table, "--text", "AB" * 100, "--limit", 10)
    assert "190 more rows" in done.stdout
    assert done.stdout.count("'A'") == 5
