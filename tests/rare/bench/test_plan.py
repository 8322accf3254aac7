"""Plans: the presets hold, and what cannot be compared is refused in one line."""

from dataclasses import replace

import pytest

from likely.errors import InputError, UnknownNameError
from likely.rare.bench.plan import ALL_METHODS, LAWS, MODELS, PRESETS, BenchConfig, preset
from likely.rare.bench.running import check_budget
from likely.rare.method import METHODS
from likely.rare.named import DISTRIBUTIONS

PLAN = BenchConfig(methods=("naive", "itgis"), budget=1000, reference="itgis")


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_names_what_there_is_and_gives_every_method_enough(name):
    plan = preset(name)
    assert set(plan.methods) == set(ALL_METHODS) <= set(METHODS)
    assert set(plan.models) == set(MODELS)
    assert set(plan.distributions) <= set(LAWS) == set(DISTRIBUTIONS)
    assert plan.seeds >= 5
    check_budget(plan)


def test_the_larger_presets_compare_all_laws_in_both_arms():
    for name in ("lite", "full"):
        assert preset(name).distributions == LAWS
        assert preset(name).arms == ("calls", "seconds")
        assert preset(name).decades[0] == 1e-9
        assert preset(name).decades[-1] == 1e-5


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"budget": 0}, "needs a call"),
        ({"seeds": 0}, "needs a call"),
        ({"models": ()}, "models are one or more different names"),
        ({"methods": ("naive", "naive")}, "methods are one or more different names"),
        ({"arms": ("calls", "calls")}, "arms are one or more different names"),
        ({"decades": (1e-5, 1e-6)}, "decades are rising"),
        ({"decades": (0.0, 1e-6)}, "decades are rising"),
        ({"reference": "mhis"}, "the time of 'mhis'"),
        ({"arms": ("seconds",)}, r"got the methods .* and the arms \['seconds'\]"),
    ],
)
def test_an_unusable_plan_is_refused(changes, part):
    with pytest.raises(InputError, match=part):
        replace(PLAN, **changes)


def test_a_method_that_needs_more_calls_is_named_before_anything_runs():
    plan = replace(PLAN, methods=("naive", "amls-inputs"), arms=("calls",))
    with pytest.raises(InputError, match="'amls-inputs' needs a budget of 2410 calls, got 1000"):
        check_budget(plan)
    check_budget(replace(plan, options=(("amls-inputs", "n_steps", 2),)))


def test_unknown_names_are_refused():
    with pytest.raises(UnknownNameError, match="smoke"):
        preset("smok")
    with pytest.raises(UnknownNameError, match="naive"):
        check_budget(replace(PLAN, methods=("naiv",), arms=("calls",)))
    with pytest.raises(InputError, match="no option 'size'"):
        check_budget(replace(PLAN, options=(("naive", "size", 1),)))
