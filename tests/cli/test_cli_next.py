"""``likely next``, for models with whole rows and for those with the top alone."""

import json
import math

import pytest
from command_line import run, run_json

import likely
from likely.cli import next as next_command
from likely.core.model import Capability
from likely.runs.store import read_rows


class TopOnly:
    """A table model that admits to its likeliest tokens and no more, as some servers do."""

    def __init__(self, model):
        self._model = model
        self.tokenizer = model.tokenizer

    @property
    def info(self):
        from dataclasses import replace

        return replace(
            self._model.info, capabilities=frozenset({Capability.TOP_TOKENS}), name="top only"
        )

    def evaluate(self, work, sink):
        for node in work.top_nodes:
            sink.put_top(
                int(node),
                likely.core.model.TopTokens(
                    tokens=(1, None), pieces=("B", "é"), log_probs=(math.log(0.6), math.log(0.3)),
                    log_prob_elsewhere=math.log(0.1), log_mass_elsewhere=math.log(0.1),
                ),
            )  # fmt: skip
        sink.spend(tokens=len(work.trie), calls=1, seconds=0.0)


def test_a_person_sees_the_likeliest_tokens_first(table):
    done = run("next", table, "--context", "A", "-k", 2)
    lines = done.stdout.splitlines()
    assert lines[2].split()[:5] == ["1", "1", "'B'", "-0.1054", "0.9000"]
    assert len(lines[2].split()[5]) == 18
    assert lines[3].split()[:4] == ["2", "0", "'A'", "-2.9957"]
    assert "entropy 0.3944 nats (0.5690 bits); effective support 1.5 of 5 tokens" in done.stdout
    assert "tokens not shown have 0.0500 of the probability" in done.stdout


def test_the_document_has_the_numbers_of_the_library(table):
    found = run_json("next", table, "--context", "A", "-k", 5)
    row = likely.next_token(likely.load(table), "A")
    assert found["entropy"] == row.entropy
    assert found["context_tokens"] == [4, 0]
    assert [t["log_prob"] for t in found["top"]] == [
        math.log(0.9), math.log(0.05), math.log(0.05), "-inf", "-inf",
    ]  # fmt: skip


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_rows_go_to_a_file(tmp_path, table, suffix):
    out = tmp_path / f"top.{suffix}"
    run("next", table, "--context", "A", "-k", 5, "--out", out)
    rows = read_rows(out, next_command.COLUMNS)
    assert [row["piece"] for row in rows] == ["B", "A", "C", " ", "<s>"]
    assert rows[-1]["log_prob"] == -math.inf


def test_a_model_that_names_only_its_top_tells_the_bound_on_the_rest(table, monkeypatch):
    model = TopOnly(likely.load(table))
    monkeypatch.setattr(next_command, "load_model", lambda choice, output: model)
    done = run("next", "table:x", "--context", "A", "-k", 2)
    assert done.exit_code == 0, done.stderr
    assert "any token not shown has log-prob <= -2.3026 (prob <= 0.1000)" in done.stdout
    assert "no entropy" in done.stdout
    found = run_json("next", "table:x", "--context", "A", "-k", 2)
    assert found["log_prob_elsewhere"] == math.log(0.1)
    assert found["top"][1] == {
        "rank": 2, "token": None, "piece": "é", "log_prob": math.log(0.3),
    }  # fmt: skip


def test_nothing_before_the_token_is_an_error(tmp_path):
    (tmp_path / "t.json").write_text(
        json.dumps({"tokens": ["A"], "rows": [{"after": [], "probs": {"A": 1}}]})
    )
    done = run("next", f"table:{tmp_path}/t.json", "--context", "")
    assert done.exit_code == 1
    assert "nothing stands before" in done.stderr
