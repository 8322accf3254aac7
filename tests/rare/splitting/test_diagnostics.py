"""What runs warn of."""

import math
from dataclasses import replace

import pytest

from likely.rare.splitting.config import SplittingConfig
from likely.rare.splitting.diagnostics import excess_spread, levels_table, warnings_of
from likely.rare.splitting.drive import split
from likely.rare.splitting.intervals import combine
from likely.rare.splitting.records import Level, MoveRecord, Run

CONFIG = SplittingConfig(n_particles=200, n_steps=15, n_replicates=5)


@pytest.fixture
def good(spherical, linear, streams):
    return split(linear(1e-3), spherical(2), CONFIG, streams=streams(0))[0]


def test_particles_that_mix_give_no_warning(good):
    assert good.warnings == ()
    assert 0.2 < good.excess < 2.0


def test_the_table_has_a_row_a_level_and_a_column_a_move(good):
    rows = levels_table(good.runs[0])
    assert len(rows) == len(good.runs[0].levels)
    assert set(rows[0]) - set(rows[-1]) == {
        "gaussian_step", "gaussian_prior_acceptance", "gaussian_wall_acceptance", "gaussian_jump",
    }  # fmt: skip
    assert rows[0]["gaussian_prior_acceptance"] == 1.0
    assert math.prod(row["share"] for row in rows) == pytest.approx(math.exp(good.runs[0].log_prob))


def test_particles_that_do_not_move_are_told(spherical, linear, streams):
    config = replace(CONFIG, n_steps=0, n_particles=100, mode="two_stage")
    still = split(linear(1e-3), spherical(2), config, streams=streams(1))[0]
    assert any("descend from one first particle" in one for one in still.warnings) or any(
        "went extinct" in one for one in still.warnings
    )


def run_with(log_prob: float | None, *, stop: str = "threshold") -> Run:
    level = Level(level=0.0, n_particles=100, n_alive=50, log_prob=-1.0, n_ancestors=9)
    return Run(
        log_prob=log_prob, stop=stop, levels=(level,), relative_variance=0.1,
        n_particles=100, n_ancestors=9, n_scored=100, log_reached=-1.0,
    )  # fmt: skip


def told(runs: list[Run], pilot: Run | None = None) -> str:
    return " ".join(warnings_of(combine(runs, level=0.95), runs, pilot, excess=excess_spread(runs)))


def move(acceptance: float) -> MoveRecord:
    return MoveRecord(
        name="joint", step=0.1, prior_acceptance=1.0, wall_acceptance=acceptance,
        acceptance=acceptance, jump=0.0,
    )  # fmt: skip


def test_each_trouble_has_its_sentence():
    calm = [run_with(-20.0 + 0.05 * k) for k in range(4)]
    assert told(calm) == ""
    assert "rests on 2 runs" in told(calm[:2])
    assert "spread" in told([run_with(-20.0 + k) for k in range(4)])
    assert "One run's estimate spreads by" in told([run_with(-20.0 + 2 * k) for k in range(4)])
    lone = [replace(run, n_ancestors=1) for run in calm]
    assert "In 4 of 4 runs all survivors descend" in told(lone)
    given_up = [*calm[:3], run_with(None, stop="stuck")]
    assert "1 of 4 runs were given up (stuck)" in told(given_up)
    assert "pilot was given up (stuck) after 1 levels" in told(calm, given_up[3])
    base = calm[0].levels[0]
    still = replace(base, moves=(move(0.3),), never_moved=0.4, score_kept=0.7)
    sentences = told([replace(run, levels=(still,)) for run in calm])
    assert "40% of the particles never moved" in sentences
    assert "correlation of 0.70" in sentences
    refused = replace(base, moves=(move(0.01),), never_moved=0.05, score_kept=0.0)
    assert "1.0% of the proposals of the move 'joint'" in told(
        [replace(run, levels=(refused,)) for run in calm]
    )
    apart = [
        replace(run, levels=(replace(base, runner_up=((k % 4, 1.0),)),))
        for k, run in enumerate(calm)
    ]
    assert "different closest rivals" in told(apart)
    same = [replace(run, levels=(replace(base, runner_up=((3, 1.0),)),)) for run in calm]
    assert told(same) == ""


def test_the_excess_is_the_spread_over_the_ideal_one():
    runs = [run_with(math.log(p)) for p in (0.9, 1.0, 1.1)]
    # one level of half of 100: ideal relative variance (1 - 1/2) / (1/2) / 100
    assert excess_spread(runs) == pytest.approx(0.1 / 0.1)
    assert excess_spread(runs[:2]) is None
    assert excess_spread([*runs, run_with(None, stop="stuck")]) is None
    assert excess_spread([run_with(-math.inf, stop="extinct")] * 3) is None
