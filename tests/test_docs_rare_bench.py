"""What the page of the comparison shows is what the stored rows say."""

import importlib
import json
import re
import subprocess
import sys
from dataclasses import asdict

import bench_cases as make
import numpy as np
import pytest
from doc_blocks import DOCS

import likely
from likely import rare
from likely.core.jsonio import dumps
from likely.rare.bench.plan import BenchConfig
from likely.rare.bench.summary import summarise

FOLDER = DOCS / "replication"
PAGE = (FOLDER / "rare-bench.md").read_text(encoding="utf-8")
PLAN = BenchConfig(
    models=("a", "b"), distributions=("d",), methods=("naive", "qld"), budget=100, seeds=2,
    reference="naive",
)  # fmt: skip


@pytest.fixture(scope="module")
def tables():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(FOLDER))
        yield importlib.import_module("rare_tables")


def rows_of(model):
    return [
        make.row(model=model, method=method, seed=seed, token=token, arm=arm, truth=q,
                 p=q * factor * (token > 0 or method == "qld"),
                 quantity="activations" if method == "qld" else "inputs")
        for arm in ("calls", "seconds")
        for method, factor in (("naive", 1.5), ("qld", 4.0))
        for seed in range(2)
        for token, q in enumerate((2e-9, 2e-8, 2e-7, 2e-6, 3e-6))
    ]  # fmt: skip


def document(path, model, plan=PLAN):
    found = {"likely": "0", "comparison": asdict(plan), "estimates": rows_of(model)}
    path.write_text(dumps(found))
    return path


def test_the_tables_of_the_page_are_those_of_the_stored_rows():
    command = [sys.executable, str(FOLDER / "rare_tables.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_every_place_on_the_page_is_filled():
    empty = re.findall(r"<!-- table (\w+) -->\n<!-- end -->", PAGE)
    assert not empty


def test_the_text_written_by_hand_has_no_number_of_a_run():
    by_hand = re.sub(r"<!-- table \w+ -->\n.*?<!-- end -->", "", PAGE, flags=re.S)
    assert set(re.findall(r"(?<![\w.])\d+\.\d+", by_hand)) <= {"1.5"}


def test_the_stored_rows_are_small(tables):
    assert tables.ROWS.stat().st_size < 1_000_000


def test_stored_estimates_can_be_judged_by_the_truths_there_are_now(tables, monkeypatch, tmp_path):
    monkeypatch.setattr(tables, "ROWS", tmp_path / "rows.parquet")
    old = tables.pq.read_table(FOLDER / "rare-rows.parquet").slice(0, 40)
    at = old.schema.get_field_index("truth")
    wrong = old.set_column(at, old.schema.field(at), tables.pa.array([0.5] * 40, "float32"))
    tables.pq.write_table(wrong, tables.ROWS)
    tables.main(["--truths"])
    new = tables.pq.read_table(tables.ROWS)
    assert new.schema.equals(old.schema, check_metadata=True)
    assert new["log_prob"].equals(old["log_prob"])
    for row in new.to_pylist():
        model = likely.load(row["model"])
        truth = rare.stored_truth(model, rare.distribution(row["distribution"], model))
        assert row["truth"] == pytest.approx(truth.probs[row["token"]], rel=1e-6)
        assert row["low"] < row["truth"] < row["high"] < 0.5
        assert row["stems"] == truth.counts.stems[row["token"]]


def test_rows_keep_their_numbers_when_they_are_packed(tables, tmp_path):
    parts = [document(tmp_path / f"{model}.json", model) for model in "ab"]
    path = tmp_path / "rows.parquet"
    tables.pq.write_table(tables.packed(parts), path)
    rows, plan = tables.stored(path)
    expected = [*rows_of("a"), *rows_of("b")]
    assert len(rows) == len(expected)
    for name in ("log_prob", "truth", "log_high"):
        np.testing.assert_allclose(
            [row[name] for row in rows], [row[name] for row in expected], rtol=1e-6
        )
    assert (plan["models"], plan["budget"], plan["options"]) == (["a", "b"], 100, [])
    one, other = summarise(rows)[0], summarise(expected)[0]
    assert one.bias == pytest.approx(other.bias, abs=1e-6)
    assert one.losses["SPB 2"].mean == pytest.approx(other.losses["SPB 2"].mean, rel=1e-5)


def test_parts_of_different_comparisons_are_not_packed_together(tables, tmp_path):
    one = document(tmp_path / "one.json", "a")
    plan = BenchConfig(**{**asdict(PLAN), "budget": 200})
    with pytest.raises(SystemExit, match=r"they differ in \['budget'\]"):
        tables.packed([one, document(tmp_path / "other.json", "b", plan)])


def test_a_table_has_the_numbers_of_the_summary(tables, tmp_path):
    plan = {**json.loads(dumps(asdict(PLAN))), "likely": "0"}
    made = tables.Comparison([*rows_of("a"), *rows_of("b")], plan).tables()
    lines = made["bench_methods_calls"].splitlines()
    naive = next(line for line in lines if line.startswith("| naive "))
    assert [cell.strip() for cell in naive.split("|")[2:5]] == ["20%", "+0.18", "0"]
    assert "| qld \\* | 0% | +0.60 |" in made["bench_methods_calls"]
    assert "| naive | +0.18 (0%)" not in made["bench_decades_calls"]
    assert "| naive | −∞ (100%) | +0.18 (0%)" in made["bench_decades_calls"]
    assert made["bench_winners_calls"].splitlines()[2].startswith("| all | qld \\* 1.92 (")
    assert "| a | 1 | 1 | 1 | 2 |" in made["bench_counts"]
    last = made["bench_winners_calls"].splitlines()[3].split("|")[-2]
    q = np.array([2e-9, 2e-8, 2e-7, 2e-6, 3e-6])
    ratio = 4 * q / (q.sum() - q)  # to the mean of the others
    constant = float(np.mean(ratio - np.log(ratio) - 1))
    assert last.strip().endswith(f"({tables.number(constant)})")
    with pytest.raises(SystemExit, match="no table is called bench_nothing"):
        tables.filled("<!-- table bench_nothing -->\n<!-- end -->", made)
    other = "<!-- table faults -->\n1\n<!-- end -->"  # of another script
    assert tables.filled(other, made) == other


def test_splitting_has_the_least_log_squared_error_on_two_of_three_models(tables):
    rows, _ = tables.stored()
    own = [one for one in summarise(rows) if one.arm == "calls" and len(one.models) == 1]
    least = {
        models: min(
            (one for one in own if one.models == models), key=lambda one: one.losses["logMSE"].mean
        ).method
        for models in {one.models for one in own}
    }
    assert list(least.values()).count("ga-amls") == 2
    assert least["tiny-1l",] == "forecast"
