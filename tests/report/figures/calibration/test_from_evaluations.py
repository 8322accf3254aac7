"""All figures from evaluations of policies on real items: every number is known beforehand."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from policies import policy_masses

from likely.calibration import build, partial_metrics
from likely.calibration.analyses.frequencies import NumberCounts
from likely.calibration.assigners import Rules
from likely.calibration.evaluation import Evaluation
from likely.calibration.metrics import measure
from likely.calibration.scored import Policy, Scored
from likely.calibration.surface_kinds import KINDS
from likely.calibration.tables import Masses, PartialRow, targets
from likely.core.estimate import Cost
from likely.errors import InputError
from likely.report.evaluated import balanced_items
from likely.report.figures import Drawing, Missing, save_all
from likely.report.figures.calibration import draw, draw_all, tables_of

COLOURS = [
    item
    for item in build("colors", preset="lite")
    if item.template_id in ("C1", "C2") and item.scale in ("1-10", "10-100")
]
_SETS = sorted({(item.scale, item.number_pair_id) for item in COLOURS})
_KEPT = _SETS[:2] + _SETS[-3:]
ITEMS = [
    *(item for item in COLOURS if (item.scale, item.number_pair_id) in _KEPT),
    *build("distributions", preset="smoke"),
]
NAMED = [item for item in ITEMS if item.family == "colors"]


def evaluated(policy, items=ITEMS, *, slack=0.0):
    """What `evaluate` would return of a policy; each mass known to within ``slack``."""
    goal = targets(items)
    masses = policy_masses(goal, policy)
    n, partial = len(items), {}
    if slack:
        mass = np.exp(masses.log_mass)
        for i, (start, end) in enumerate(pairwise(goal.offsets)):
            n_open = np.ones(end - start, dtype=np.int64)
            listed = np.maximum(mass[start:end] - slack, 0.0)
            partial[i] = PartialRow(listed=listed, n_unlisted=n_open, cap=2 * slack, rest=0.3)
        masses = Masses(
            offsets=masses.offsets, log_mass=np.log(mass + slack),
            log_mass_low=np.log(np.maximum(mass - slack, 0.0)),
        )  # fmt: skip
    scored = Scored(
        policy=Policy(), masses=masses, log_other=np.zeros(n), shares=np.zeros((n, len(KINDS))),
        n_surfaces=np.ones(n, dtype=np.int64), has_word_ends=np.zeros(n, dtype=bool),
        flags=(frozenset(),) * n, partial=partial, cost=Cost(),
    )  # fmt: skip
    metrics = measure(goal, masses)
    if slack:
        metrics |= partial_metrics(goal, scored.rows())
    return Evaluation(
        model=f"policy:{policy}", items=items, targets=goal, scored=scored, metrics=metrics,
        n_resamples=200, level=0.95, seed=0,
    )  # fmt: skip


@pytest.fixture(scope="module")
def evaluations():
    return {name: evaluated(name) for name in ("calibrated", "pick_higher", "pick_first")}


@pytest.fixture(scope="module")
def tables(evaluations):
    pair = ("policy:calibrated", "policy:pick_higher")
    return tables_of(list(evaluations.values()), pairs=[pair])


def of(drawn, policy):
    return drawn.data[drawn.data["model"] == f"policy:{policy}"]


def test_twelve_figures_are_drawn_and_the_bounds_of_exact_models_are_missing(tables):
    missing = [one for one in draw_all(tables) if isinstance(one, Missing)]
    assert [one.name for one in missing] == ["F13-bounds"]


def test_a_calibrated_policy_has_all_mass_and_no_distance(tables):
    mass, distance, entropy = (draw(name, tables) for name in ("mass", "distance", "entropy"))
    for drawn, value in ((mass, 1.0), (distance, 0.0), (entropy, 0.0)):
        ends = of(drawn, "calibrated")[["value", "low", "high"]].to_numpy(dtype=float)
        np.testing.assert_allclose(ends, value, atol=1e-9)
    assert (of(mass, "calibrated")["share_gated"] == 1.0).all()


def test_a_policy_scores_what_its_baseline_is_drawn_at(tables):
    data = draw("distance", tables).data
    for name in ("pick_higher", "pick_first"):
        model = data[(data["model"] == f"policy:{name}") & (data["family"] == "colors")]
        line = data[(data["model"] == name) & (data["family"] == "colors")]
        assert model["value"].iloc[0] == pytest.approx(line["value"].iloc[0], abs=1e-12)


def test_a_certain_policy_stands_on_the_floor_of_entropy(tables):
    own = of(draw("entropy", tables), "pick_first")
    np.testing.assert_allclose(own["value"], own["floor"], atol=1e-9)
    np.testing.assert_allclose(own["low"], own["floor"], atol=1e-9)


@pytest.mark.parametrize(
    ("policy", "behaviour", "place"),
    [("pick_higher", "higher", (1.0, 0.0)), ("pick_first", "first", (1.0, 1.0)),
     ("calibrated", "calibrated", (1.0, 0.0))],
)  # fmt: skip
def test_every_cell_shows_the_policy(tables, policy, behaviour, place):
    cells = of(draw("behaviours", tables), policy)
    assert len(cells) == 22
    assert set(cells["behaviour"]) == {behaviour}
    assert {(a, b) for a, b in zip(cells["a"], cells["b"], strict=True)} == {place}


def test_no_policy_is_drawn_to_a_name(tables):
    np.testing.assert_allclose(draw("strengths", tables).data["strength"], 0.0, atol=1e-9)


def test_distance_by_frequency_is_that_of_the_policy_itself(tables):
    own = of(draw("frequency", tables), "pick_higher")
    assert len(own) == len(_KEPT)
    np.testing.assert_allclose(own["wd"], own["null_pick_higher"], atol=1e-12)
    for row in own.to_dict("records"):
        low, high = map(int, row["number_pair"].split(":"))
        assert row["gap"] == pytest.approx(np.log10(high / low), abs=1e-12)
    assert set(own["source"]) == {"1/n, modelled"}


def test_counts_of_numbers_replace_the_law(evaluations):
    counts = NumberCounts(source="my text", kind="exact", counts=dict.fromkeys(range(1, 101), 5))
    data = draw("frequency", tables_of([evaluations["calibrated"]], counts=counts)).data
    assert set(data["gap"]) == {0.0}
    assert set(data["source"]) == {"my text, exact"}


def test_integers_are_fair_or_all_mass_is_on_the_smallest(tables):
    profile = draw("profile", tables)
    np.testing.assert_allclose(of(profile, "calibrated")["value"], 1.0, atol=1e-9)
    first = of(profile, "pick_first").set_index("by").loc["position"]
    assert (first["value"] > 0).tolist() == [True] + [False] * (len(first) - 1)
    assert (first["low"] <= first["value"]).all()
    assert (first["value"] <= first["high"]).all()


def test_an_arrow_goes_from_base_to_instruct(tables, evaluations):
    data = draw("tuning", tables).data.set_index("family")
    assert data.loc["colors", "wd_base"] == pytest.approx(0.0, abs=1e-12)
    end = evaluations["pick_higher"].line("colors", "wd01").estimate
    assert data.loc["colors", "wd_instruct"] == end.value


def test_a_family_with_an_unbalanced_cell_has_no_cells(evaluations):
    frame = evaluations["calibrated"].frame
    assert set(balanced_items(frame)["family"]) == {"colors"}
    one = (frame["family"] == "colors") & (frame["higher"] == "first")
    assert balanced_items(frame.drop(index=frame.index[one][0])).empty


def test_what_the_items_do_not_hold_is_missing_with_its_reason(tmp_path):
    integers = list(build("distributions", preset="smoke"))
    drawn = draw_all(tables_of([evaluated("calibrated", integers)]))
    reasons = {one.name[:3]: one.reason for one in drawn if isinstance(one, Missing)}
    assert list(reasons) == ["F04", "F05", "F06", "F07", "F08", "F09", "F12", "F13"]
    assert "balanced cells" in reasons["F04"] == reasons["F07"]
    assert "crossed options" in reasons["F08"]
    assert "two numbers of a scale" in reasons["F09"]
    paths = save_all(drawn, tmp_path, formats=["svg"])
    assert len(list(tmp_path.iterdir())) == len(paths) == 2 * 5 + 1
    lines = paths[-1].read_text(encoding="utf-8").splitlines()
    assert lines[0] == "F01-mass: F1  Probability mass on the options"
    assert lines[3] == f"F04-behaviours: not drawn; {reasons['F04']}"
    assert len(lines) == 13


def test_names_alone_have_no_profile_of_integers():
    drawn = draw("profile", tables_of([evaluated("calibrated", NAMED)]))
    assert isinstance(drawn, Missing)
    assert "equally likely" in drawn.reason


def test_a_server_like_model_has_bounds_that_hold_the_truth():
    found = tables_of([evaluated("leaky_0.3", NAMED, slack=0.05)])
    bounds = draw("bounds", found)
    assert isinstance(bounds, Drawing)
    data = bounds.data
    assert (data["pi1_low"] <= data["p1"] + 1e-9).all()
    assert (data["p1"] <= data["pi1_high"] + 1e-9).all()
    assert isinstance(draw("behaviours", found), Missing)


def test_a_model_without_any_mass_shows_that_and_nothing_else():
    drawn = {one.name[:3]: one for one in draw_all(tables_of([evaluated("null")]))}
    assert [name for name, one in drawn.items() if isinstance(one, Drawing)] == ["F01", "F04"]
    assert (drawn["F01"].data["value"] == 0.0).all()
    assert set(drawn["F04"].data["behaviour"]) == {"null"}
    assert "cannot be told" in drawn["F08"].reason


def test_shares_alone_place_cells_of_any_mass_if_that_is_asked_for():
    little = evaluated("calibrated", NAMED)
    masses = replace(little.scored.masses, log_mass=little.scored.masses.log_mass - 5.0,
                     log_mass_low=little.scored.masses.log_mass_low - 5.0)  # fmt: skip
    little = replace(
        little, scored=replace(little.scored, masses=masses),
        metrics=measure(little.targets, masses),
    )  # fmt: skip
    assert set(draw("behaviours", tables_of([little])).data["behaviour"]) == {"null"}
    found = tables_of([little], rules=Rules(null_pm=0.0))
    assert set(draw("behaviours", found).data["behaviour"]) == {"calibrated"}
    texts = [text.get_text() for text in draw("plane", found).figure.texts]
    assert any("however small the mass" in text for text in texts)


def test_models_are_compared_on_the_same_items_and_by_different_names(evaluations):
    one, other = evaluations["calibrated"], evaluations["pick_first"]
    with pytest.raises(InputError, match="at least one evaluation"):
        tables_of([])
    with pytest.raises(InputError, match="apart by name"):
        tables_of([one, replace(other, model=one.model)])
    with pytest.raises(InputError, match="on the same items"):
        tables_of([one, evaluated("pick_first", NAMED)])
    with pytest.raises(InputError, match=r"a pair names .* got \['x'\]"):
        tables_of([one], pairs=[(one.model, "x")])
