"""Targets: of every decade, as many as asked for, and only those that are known well."""

import bench_cases as make
import numpy as np
import pytest

from likely.rare.bench.plan import BenchConfig
from likely.rare.bench.targets import choose_targets
from likely.rare.counting import Counts
from likely.rare.ground_truth import Truth
from likely.rare.result import Spent

ARGUMENTS = {"methods": ("naive",), "budget": 10, "arms": ("calls",)}


def counted(total, stems):
    """Return a truth of 1,000 stems."""
    total = np.array([*total, 0.0])
    counts = Counts(
        n_stems=1000, n_inputs=1000, total=total, squares=total, largest=np.minimum(total, 1.0),
        stems=np.array([*stems, 0]), inputs=np.array([*stems, 0]), spent=Spent(),
    )  # fmt: skip
    return Truth(
        model="echo", fingerprint="echo", distribution="d", law="law", seed=0, is_exact=False,
        n_endings=1, effective_endings=1.0, counts=counts,
    )  # fmt: skip


def test_every_decade_gives_as_many_as_asked_for():
    echo, _, truth = make.open_setting("echo", "d")
    plan = BenchConfig(decades=make.DECADES, per_decade=2, **ARGUMENTS)
    found = choose_targets(echo, truth, plan, seed=0)
    assert [sum(low <= one.truth < 10 * low for one in found) for low in make.DECADES[:3]] == [
        2
    ] * 3
    for one in found:
        assert one.text == make.TOKENS[one.token]
        assert one.truth == pytest.approx(make.PROBS[one.token], rel=1e-12)
        assert one.low == one.high == one.truth  # the truth is exact


def test_a_draw_depends_on_the_seed_and_not_on_the_other_decades():
    echo, _, truth = make.open_setting("echo", "d")
    plan = BenchConfig(decades=make.DECADES, per_decade=1, **ARGUMENTS)
    drawn = [tuple(t.token for t in choose_targets(echo, truth, plan, seed=k)) for k in range(12)]
    assert drawn[3] == tuple(t.token for t in choose_targets(echo, truth, plan, seed=3))
    assert len(set(drawn)) > 1
    fewer = BenchConfig(decades=make.DECADES[:2], per_decade=1, **ARGUMENTS)
    assert choose_targets(echo, truth, fewer, seed=3)[0].token == drawn[3][0]


def test_a_target_rests_on_enough_stems():
    total, stems = [5.0, 5.0, 50.0, 0.0], [19, 20, 40, 0]
    plan = BenchConfig(decades=(1e-3, 1e-2), per_decade=9, **ARGUMENTS)
    (found,) = choose_targets(make.model(), counted(total, stems), plan, seed=0)
    assert (found.token, found.stems) == (1, 20)
    assert found.truth == pytest.approx(0.005)
    assert found.low < found.truth < found.high
