"""Runs: rows are the library's numbers, a resumed run is the whole run, equal seconds are equal."""

import json
import math

import bench_cases as make
import pytest

from likely import rare
from likely.rare.bench import running
from likely.rare.bench.plan import BenchConfig
from likely.rare.bench.running import bench_keys, calls_for, iter_bench

PLAN = BenchConfig(
    models=("echo",), distributions=("one", "two"), methods=("naive", "forecast"), budget=400,
    seeds=2, decades=make.DECADES, per_decade=1, arms=("calls",),
)  # fmt: skip
TIMED = BenchConfig(
    models=("echo",), distributions=("one",), methods=("itgis", "naive", "qld", "mhis"),
    budget=4000, seeds=2, decades=make.DECADES, per_decade=1, reference="itgis",
    options=(("qld", "ridge", 1e-4),),
)  # fmt: skip
COSTS = {"itgis": (0.0, 1e-3), "naive": (0.0, 1e-4), "qld": (6.0, 1e-4), "mhis": (60.0, 1e-3)}


@pytest.fixture
def clock(monkeypatch):
    clock = make.Clock()
    monkeypatch.setattr(running.time, "perf_counter", clock)
    return clock


@pytest.fixture
def asked(monkeypatch, clock):
    """Put methods of known times in the place of the true ones; return what they are asked."""
    asked = []
    stand_in = make.timed_estimates(clock, COSTS, asked)
    monkeypatch.setattr(running, "estimate_many", stand_in)
    return asked


def test_keys_go_through_all_there_is_model_by_model():
    keys = bench_keys(TIMED)
    assert len(keys) == len(set(keys)) == 1 * 1 * 2 * 4 * 2
    assert keys[0] == ("calls", "echo", "one", "itgis", 0)
    assert keys[8] == ("seconds", "echo", "one", "itgis", 0)


def test_rows_are_the_numbers_of_the_library(clock):
    found = dict(iter_bench(PLAN, make.open_setting, seed=3, done={}))
    assert list(found) == list(bench_keys(PLAN))
    echo, law, _ = make.open_setting("echo", "two")
    rows = found["calls", "echo", "two", "naive", 1]
    tokens = [row["token"] for row in rows]
    expected = rare.estimate_many(echo, law, tokens, method="naive", budget=400, seed=3001)
    for row, one in zip(rows, expected, strict=True):
        assert row["log_prob"] == one.log_prob.value
        assert (row["log_low"], row["log_high"]) == (one.log_prob.low, one.log_prob.high)
        assert row["truth"] == pytest.approx(make.PROBS[row["token"]], rel=1e-12)
        assert (row["budget"], row["n_targets"], row["levels"]) == (400, 3, "")
        assert row["forwards"] == math.ceil(400 / 3)  # a pass for all of them, divided


def test_a_resumed_run_gives_the_rows_of_a_run_at_once(clock):
    whole = dict(iter_bench(PLAN, make.open_setting, seed=3, done={}))
    first = dict(list(whole.items())[:3])
    opened = []

    def open_setting(*names):
        opened.append(names)
        return make.open_setting(*names)

    rest = dict(iter_bench(PLAN, open_setting, seed=3, done=first))
    assert first | rest == whole
    assert not set(first) & set(rest)
    assert opened == [("echo", "one"), ("echo", "two")]  # once for a model and a law
    assert not list(iter_bench(PLAN, make.open_setting, seed=3, done=whole))


def test_the_arm_of_equal_seconds_gives_all_methods_the_time_of_the_reference(asked):
    found = dict(iter_bench(TIMED, make.open_setting, seed=0, done={}))
    seconds = {key[3]: rows[0] for key, rows in found.items() if key[0] == "seconds"}
    # Three targets: itgis takes 12 s for all. naive gets 12 / 3e-4; qld (12 - 6) / 3e-4 calls.
    assert {name: row["budget"] for name, row in seconds.items()} == {
        "itgis": 4000, "naive": 40000, "qld": 20000, "mhis": 256,
    }  # fmt: skip
    for name in ("itgis", "naive", "qld"):
        assert seconds[name]["seconds"] == pytest.approx(4.0)
    assert seconds["mhis"]["seconds"] > 20.0  # no budget brings it down: it is shown
    assert all(rows[0]["budget"] == 4000 for key, rows in found.items() if key[0] == "calls")


def test_the_reference_is_run_once_for_both_arms(asked):
    found = dict(iter_bench(TIMED, make.open_setting, seed=0, done={}))
    assert [method.name for method, _, _ in asked].count("itgis") == 2  # seeds
    for number in range(2):
        calls = found["calls", "echo", "one", "itgis", number]
        seconds = found["seconds", "echo", "one", "itgis", number]
        assert seconds == [{**row, "arm": "seconds"} for row in calls]


def test_seeds_share_a_budget_and_a_resumed_arm_takes_it_over(asked, clock):
    whole = dict(iter_bench(TIMED, make.open_setting, seed=0, done={}))
    n_pilots = len(asked) - (len(whole) - TIMED.seeds)
    assert n_pilots == 3  # one for each method but the reference
    key = ("seconds", "echo", "one", "qld", 1)
    done = {one: rows for one, rows in whole.items() if one != key}
    asked.clear()
    rest = dict(iter_bench(TIMED, make.open_setting, seed=0, done=done))
    assert [(method.name, budget) for method, budget, _ in asked] == [("qld", 20000)]
    strip = [{**row, "seconds": 0.0} for row in rest[key]]
    assert strip == [{**row, "seconds": 0.0} for row in whole[key]]


def test_options_go_to_their_method_alone(asked):
    list(iter_bench(TIMED, make.open_setting, seed=0, done={}))
    ridges = {method.name: getattr(method, "ridge", None) for method, _, _ in asked}
    assert ridges == {"itgis": None, "naive": None, "qld": 1e-4, "mhis": None}


def test_levels_are_kept_of_the_first_run_of_the_rarest_target(asked):
    rows = [row for _, own in iter_bench(TIMED, make.open_setting, seed=0, done={}) for row in own]
    (row,) = [row for row in rows if row["levels"]]
    assert (row["arm"], row["method"], row["seed"]) == ("calls", "qld", 0)
    assert row["truth"] == min(one["truth"] for one in rows)
    kept = json.loads(row["levels"])
    assert kept["runs"] == 1
    assert kept["levels"][0]["share"] == 0.5
    assert row["warnings"] == "a | b"


def test_a_pair_without_targets_has_no_rows():
    plan = BenchConfig(
        models=("echo",), distributions=("one",), methods=("naive",), budget=10, seeds=1,
        decades=(1e-9, 1e-8), arms=("calls",),
    )  # fmt: skip
    assert dict(iter_bench(plan, make.open_setting, seed=0, done={})) == {bench_keys(plan)[0]: []}


@pytest.mark.parametrize(
    ("given", "first", "second", "calls"),
    [
        (4.0, (10, 2.0), (20, 3.0), 30),
        (1.0, (10, 2.0), (20, 3.0), 1),  # less than any run takes
        (6.0, (10, 3.0), (20, 3.0), 40),  # calls cost nothing that is seen: in proportion
        (3.0, (20, 6.0), (20, 6.0), 10),
    ],
)
def test_calls_follow_from_two_times(given, first, second, calls):
    assert calls_for(given, first, second) == calls
