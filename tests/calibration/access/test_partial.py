"""Bounds from lists hold every law that a list allows, and no more where that can be seen."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from likely.calibration.access import polytope as geometry
from likely.calibration.access.partial import partial_metrics
from likely.calibration.access.polytope import (
    Feasible,
    entropy_interval,
    feasible,
    least_total_variation,
    line_distance_interval,
)
from likely.calibration.partial_rows import partial_row
from likely.calibration.tables import PartialRow, Targets
from likely.core.answer_scores import AnswerPart, AnswerScore, ContextAnswers
from likely.core.model import TopTokens
from likely.errors import InputError
from likely.models.table import TableTokenizer

TIGHT = 1e-9  # bounds are found by halving and by a linear program, both exact but for rounding
NAMES = ("pm", "pi1", "wd01", "wd_line_norm", "entropy_gap")
TOKENIZER = TableTokenizer([chr(97 + i) for i in range(26)])


def one(ideal, values=None):
    values = np.full(len(ideal), np.nan) if values is None else np.array(values, dtype=float)
    return Targets(offsets=np.array([0, len(ideal)]), ideal=np.array(ideal), values=values)


def row(listed, n_unlisted, cap, rest, slack=None):
    return PartialRow(
        listed=np.array(listed, dtype=float), n_unlisted=np.array(n_unlisted), cap=cap, rest=rest,
        slack=None if slack is None else np.array(slack, dtype=float),
    )  # fmt: skip


def exact(ideal, masses, values=None):
    """The metrics of known masses, straight from their definitions."""
    law = masses / masses.sum()
    found = {
        "pm": masses.sum(),
        "wd01": 0.5 * np.abs(law - ideal).sum(),
        "entropy_gap": bits(law) - bits(ideal),
    }
    if len(ideal) == 2:
        found["pi1"] = law[0]
    if values is not None:
        order = np.argsort(values)
        apart = np.abs(np.cumsum((law - ideal)[order])[:-1])
        reach = np.max(values) - np.min(values)
        found["wd_line_norm"] = apart @ np.diff(np.sort(values)) / reach
    return found


def bits(law):
    law = np.asarray(law)
    return -sum(p * math.log2(p) for p in law if p > 0)


def holds(found, truth, tolerance=TIGHT):
    for name, value in truth.items():
        assert found[f"{name}_low"][0] <= value + tolerance, name
        assert found[f"{name}_high"][0] >= value - tolerance, name


def random_masses(space, rng):
    """A point of the feasible set: inside it, on its faces and at its corners."""
    added = space.extra * rng.choice(
        [rng.random(len(space.low)), rng.integers(0, 2, len(space.low))]
    )
    total = added.sum()
    if total > space.budget:
        added = added * space.budget / total
    return space.low + added


def full_row(rng, n_tokens):
    weights = rng.gamma(0.3, size=n_tokens)
    return weights / weights.sum()


def top_of(probs, k):
    order = np.argsort(-probs, kind="stable")
    listed, rest = order[:k], order[k:]
    with np.errstate(divide="ignore"):
        return TopTokens(
            tokens=tuple(int(t) for t in listed),
            pieces=tuple(TOKENIZER.strings[int(t)] for t in listed),
            log_probs=tuple(np.log(probs[listed]).tolist()),
            log_prob_elsewhere=float(np.log(probs[rest].max())) if len(rest) else -math.inf,
            log_mass_elsewhere=float(np.log(probs[rest].sum())) if len(rest) else -math.inf,
        )


@st.composite
def cases(draw, most_options=5):
    """A full distribution, options made of some of its tokens, and an ideal."""
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    n_options = draw(st.integers(2, most_options))
    n_tokens = draw(st.integers(2 * n_options, 20))
    probs = full_row(rng, n_tokens)
    tokens = rng.permutation(n_tokens)
    sizes = rng.integers(1, 3, n_options)
    ends = np.cumsum(sizes)
    options = [[(int(t),) for t in tokens[e - s : e]] for s, e in zip(sizes, ends, strict=True)]
    ideal = rng.dirichlet(np.ones(n_options))
    values = rng.permutation(30)[:n_options].astype(float) if draw(st.booleans()) else None
    return probs, options, ideal, values


def part_of(ids, tops):
    """One spelling as a model scores it that lists only its likeliest tokens."""
    value, is_bound = 0.0, False
    for n, token in enumerate(ids):
        top = tops[ids[:n]]
        is_listed = token in top.tokens
        step = top.log_probs[top.tokens.index(token)] if is_listed else top.log_prob_elsewhere
        value, is_bound = value + step, is_bound or not is_listed
    pieces = tuple(TOKENIZER.strings[token] for token in ids)
    return AnswerPart(
        surface="".join(pieces), tokens=ids, pieces=pieces, log_prob=value, log_word_end=None,
        is_bound=is_bound,
    )  # fmt: skip


def row_of_tops(options, tops):
    """What the lists tell of options, by way of their scores."""
    answers = []
    for i, surfaces in enumerate(options):
        parts = tuple(part_of(ids, tops) for ids in surfaces)
        total = math.fsum(math.exp(part.log_prob) for part in parts)
        log_prob = math.log(total) if total > 0 else -math.inf
        answers.append(AnswerScore(name=str(i), log_prob=log_prob, parts=parts, flags=frozenset()))
    scored = ContextAnswers(
        answers=tuple(answers), context_tokens=(), log_mass=0.0, log_other=-math.inf,
        has_word_ends=False, flags=frozenset(),
    )  # fmt: skip
    return partial_row(scored, tops[()])


def measured(probs, options, ideal, values, k):
    bounds = row_of_tops(options, {(): top_of(probs, k)})
    return partial_metrics(one(ideal, values), [bounds])


def test_the_worked_example_has_its_known_ends():
    found = partial_metrics(one([0.7, 0.3]), [row([0.62, 0.0], [1, 2], 0.004, 0.03)])
    ends = {name: (found[f"{name}_low"][0], found[f"{name}_high"][0]) for name in NAMES}
    assert ends["pi1"] == pytest.approx((0.987261, 1.0), abs=5e-7)
    assert ends["pm"] == pytest.approx((0.62, 0.632), abs=1e-12)
    assert ends["wd01"] == pytest.approx((0.287261, 0.3), abs=5e-7)
    assert ends["entropy_gap"] == pytest.approx((-0.881291, -0.782844), abs=5e-7)
    assert not found["is_resolved"][0]
    assert not found["is_outer"][0]


@given(case=cases(), k=st.integers(0, 20))
def test_bounds_hold_the_truth_of_any_full_distribution(case, k):
    probs, options, ideal, values = case
    masses = np.array([sum(probs[t] for (t,) in surfaces) for surfaces in options])
    holds(measured(*case, k), exact(ideal, masses, values))


@given(case=cases())
def test_bounds_shrink_as_the_list_grows_and_end_at_the_truth(case):
    probs, options, ideal, values = case
    masses = np.array([sum(probs[t] for (t,) in surfaces) for surfaces in options])
    truth = exact(ideal, masses, values)
    widths = []
    for k in range(len(probs) + 1):
        found = measured(*case, k)
        widths.append([found[f"{n}_high"][0] - found[f"{n}_low"][0] for n in truth])
    assert np.all(np.diff(widths, axis=0) <= TIGHT)
    assert np.all(np.array(widths[-1]) <= 1e-12)
    for name, value in truth.items():
        assert found[f"{name}_low"][0] == pytest.approx(value, abs=1e-12)
    assert found["is_resolved"][0]


@pytest.mark.parametrize("with_slack", [False, True])
@pytest.mark.parametrize("n_options", [2, 3, 5, 14])
def test_no_law_that_a_row_allows_lies_outside_its_bounds(n_options, with_slack):
    rng = np.random.default_rng(n_options)
    values = np.arange(n_options, dtype=float) * 2.0
    for _ in range(25):
        listed = rng.dirichlet(np.ones(n_options)) * rng.choice([0.0, 1e-9, 0.1, 0.9])
        listed[rng.random(n_options) < 0.4] = 0.0
        slack = rng.random(n_options) * 0.02 if with_slack else None
        bounds = row(
            listed, rng.integers(0, 3, n_options), float(rng.choice([1e-12, 1e-3, 0.1])),
            float(rng.choice([1e-9, 0.01, 0.1])), slack,
        )  # fmt: skip
        ideal = rng.dirichlet(np.ones(n_options))
        found = partial_metrics(one(ideal, values), [bounds])
        space = feasible(bounds)
        for _ in range(40):
            masses = random_masses(space, rng)
            if masses.sum() > 0:
                holds(found, exact(ideal, masses, values))


@given(case=cases(), k=st.integers(1, 6))
def test_each_corner_is_a_law_that_the_row_allows(case, k):
    _, options, ideal, values = case
    bounds = row_of_tops(options, {(): top_of(case[0], k)})
    found = partial_metrics(one(ideal, values), [bounds])
    space = feasible(bounds)
    if space.known == 0.0:  # any direction can be reached with a small enough mass
        return
    high, most = space.low + space.extra, space.known + space.budget
    for law in space.corners:
        some = law > 0
        totals = (space.low[some] / law[some]).max(), (high[some] / law[some]).min()
        assert totals[0] <= min(totals[1], most) * (1 + TIGHT)
        assert not space.low[~some].any()
    seen = [exact(ideal, law, values) for law in space.corners]
    assert found["entropy_gap_low"][0] == pytest.approx(min(m["entropy_gap"] for m in seen))
    for name in {"wd01", "wd_line_norm"} & seen[0].keys():
        assert found[f"{name}_high"][0] == pytest.approx(max(m[name] for m in seen), abs=TIGHT)


@given(seed=st.integers(0, 2**32 - 1), n_options=st.integers(3, 8))
def test_the_least_total_variation_is_that_of_the_linear_program(seed, n_options):
    rng = np.random.default_rng(seed)
    low = rng.dirichlet(np.ones(n_options)) * 0.5
    low[rng.random(n_options) < 0.3] = 0.0
    extra = rng.random(n_options) * 0.2
    space = Feasible(low=low, extra=extra, budget=min(0.3, float(extra.sum())))
    if space.known < 1e-3:
        return
    ideal = rng.dirichlet(np.ones(n_options))
    assert least_total_variation(space, ideal) == pytest.approx(
        total_variation_by_program(space, ideal), abs=1e-7
    )


def total_variation_by_program(space, ideal):
    from scipy.optimize import linprog

    n = len(ideal)
    # v, s, t with t >= ideal - share and t >= 0; the total variation is the sum of t
    share = np.hstack([np.eye(n), space.low[:, None]])
    upper = np.vstack([
        np.hstack([np.eye(n), -space.extra[:, None], np.zeros((n, n))]),
        np.concatenate([np.ones(n), [-space.budget], np.zeros(n)])[None],
        np.hstack([-share, -np.eye(n)]),
    ])  # fmt: skip
    right = np.concatenate([np.zeros(n + 1), -ideal])
    equal = np.concatenate([np.ones(n), [space.known], np.zeros(n)])[None]
    cost = np.concatenate([np.zeros(n + 1), np.ones(n)])
    return linprog(cost, A_ub=upper, b_ub=right, A_eq=equal, b_eq=[1.0], method="highs").fun


@st.composite
def spaces(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(2, 7))
    low = rng.dirichlet(np.ones(n)) * draw(st.sampled_from([1e-3, 0.1, 0.6]))
    low[rng.random(n) < 0.3] = 0.0
    low[0] += 1e-3
    extra = rng.random(n) * draw(st.sampled_from([1e-3, 0.2]))
    return Feasible(low=low, extra=extra, budget=float(extra.sum()) * draw(st.floats(0.05, 1.0)))


@given(space=spaces(), seed=st.integers(0, 2**32 - 1))
def test_the_least_distance_on_the_line_is_that_of_the_least_transport(space, seed):
    rng = np.random.default_rng(seed)
    n = len(space.low)
    ideal, places = rng.dirichlet(np.ones(n)), np.sort(rng.random(n))
    low, _, _ = line_distance_interval(space, ideal, np.diff(places))
    assert low == pytest.approx(least_transport(space, ideal, places), abs=1e-7)


def least_transport(space, ideal, places):
    """The least cost of moving a feasible law onto the ideal, over laws and plans together."""
    from scipy.optimize import linprog

    n = len(ideal)
    cost = np.concatenate([np.zeros(n + 1), np.abs(places[:, None] - places).ravel()])
    rows = np.kron(np.eye(n), np.ones(n))
    columns = np.kron(np.ones(n), np.eye(n))
    upper = np.vstack([
        np.hstack([np.eye(n), -space.extra[:, None], np.zeros((n, n * n))]),
        np.concatenate([np.ones(n), [-space.budget], np.zeros(n * n)])[None],
    ])  # fmt: skip
    equal = np.vstack([
        np.hstack([-np.eye(n), -space.low[:, None], rows]),
        np.hstack([np.zeros((n, n + 1)), columns]),
    ])  # fmt: skip
    right = np.concatenate([np.zeros(n), ideal])
    found = linprog(cost, A_ub=upper, b_ub=np.zeros(n + 1), A_eq=equal, b_eq=right, method="highs")
    return found.fun


@given(space=spaces())
def test_the_largest_entropy_is_that_of_the_best_even_filling(space):
    levels = np.linspace(0.0, float((space.low + space.extra).max()), 20001)[1:]
    masses = np.clip(levels[:, None], space.low, space.low + space.extra)
    masses = masses[masses.sum(axis=1) <= space.known + space.budget]
    laws = masses / masses.sum(axis=1, keepdims=True)
    seen = -(laws * np.log(np.where(laws > 0, laws, 1.0))).sum(axis=1)
    high = entropy_interval(space)[1]
    assert seen.max() <= high + 1e-12
    assert high - seen.max() < 2e-3  # between two levels, and up to where the budget ends


@given(case=cases(), k=st.integers(1, 10))
def test_bounds_beyond_the_limit_on_corners_hold_those_within_it(case, k):
    tight = measured(*case, k)
    limit, geometry.MAX_OPEN = geometry.MAX_OPEN, 0
    try:
        loose = measured(*case, k)
    finally:
        geometry.MAX_OPEN = limit
    for name in NAMES:
        if not np.isnan(tight[f"{name}_low"][0]):
            assert loose[f"{name}_low"][0] <= tight[f"{name}_low"][0] + TIGHT
            assert loose[f"{name}_high"][0] >= tight[f"{name}_high"][0] - TIGHT
    if loose["is_outer"][0]:
        return
    assert all(np.array_equal(loose[key], tight[key], equal_nan=True) for key in tight)


def test_wide_items_are_flagged_and_narrow_ones_are_not():
    n = geometry.MAX_OPEN + 1
    wide = row(np.full(n, 0.05), np.ones(n, dtype=int), 0.001, 0.01)
    assert partial_metrics(one(np.full(n, 1 / n)), [wide])["is_outer"][0]
    known = row(np.full(n, 0.05), np.zeros(n, dtype=int), 0.001, 0.01)
    found = partial_metrics(one(np.full(n, 1 / n)), [known])
    assert not found["is_outer"][0]
    assert found["wd01_low"][0] == found["wd01_high"][0] == pytest.approx(0.0, abs=1e-12)


def test_options_without_any_mass_have_no_law():
    found = partial_metrics(one([0.5, 0.5]), [row([0.0, 0.0], [0, 0], 0.1, 0.1)])
    assert found["pm_low"][0] == found["pm_high"][0] == 0.0
    assert all(np.isnan(found[f"{name}_high"][0]) for name in NAMES[1:])


def test_unlisted_options_may_have_any_law_between_them():
    found = partial_metrics(one([0.2, 0.8]), [row([0.0, 0.0], [1, 1], 1e-3, 0.5)])
    assert (found["pi1_low"][0], found["pi1_high"][0]) == (0.0, 1.0)
    assert (found["wd01_low"][0], found["wd01_high"][0]) == pytest.approx((0.0, 0.8))
    assert found["entropy_gap_high"][0] == pytest.approx(1.0 - bits([0.2, 0.8]))


def test_later_steps_multiply_and_unseen_starts_are_counted_once():
    tops = {
        (): top_of(np.array([0.5, 0.2, 0.1, 0.1, 0.06, 0.04]), 3),
        (0,): top_of(np.array([0.7, 0.2, 0.06, 0.04]), 2),
        (1,): top_of(np.array([1.0]), 0),
        (4,): top_of(np.array([1.0]), 0),
    }
    options = [[(0, 0), (0, 3)], [(4, 1), (4, 2)], [(5,)], [(1, 2)]]
    bounds = row_of_tops(options, tops)
    assert bounds.listed == pytest.approx([0.35, 0.0, 0.0, 0.0])
    assert bounds.slack == pytest.approx([0.5 * 0.06, 0.0, 0.0, 0.2])
    assert bounds.n_unlisted.tolist() == [0, 1, 1, 0]
    assert (bounds.cap, bounds.rest) == pytest.approx((0.1, 0.2))


def test_a_list_by_text_gives_the_values_of_its_texts():
    top = TopTokens(
        tokens=(None,), pieces=("a",), log_probs=(math.log(0.6),),
        log_prob_elsewhere=math.log(0.1), log_mass_elsewhere=math.log(0.4),
    )  # fmt: skip
    unsure = replace(part_of((0,), {(): top_of(np.array([0.6, 0.4]), 1)}), is_bound=True)
    options = [unsure, part_of((2,), {(): top})]  # another token may also read "a"
    answers = tuple(
        AnswerScore(name=p.surface, log_prob=p.log_prob, parts=(p,), flags=frozenset())
        for p in options
    )
    scored = ContextAnswers(
        answers=answers, context_tokens=(), log_mass=0.0, log_other=-math.inf,
        has_word_ends=False, flags=frozenset(),
    )  # fmt: skip
    bounds = partial_row(scored, top)
    assert bounds.listed.tolist() == [0.0, 0.0]
    assert bounds.slack == pytest.approx([0.6, 0.0])
    assert bounds.n_unlisted.tolist() == [0, 1]


def test_rows_and_items_must_match():
    with pytest.raises(InputError, match="as many partial rows, got 0"):
        partial_metrics(one([0.5, 0.5]), [])
    with pytest.raises(InputError, match="item 0 has 2 options"):
        partial_metrics(one([0.5, 0.5]), [row([0.1], [0], 0.1, 0.1)])
    with pytest.raises(InputError, match="numbers of 0 or more"):
        row([0.1], [0], -0.1, 0.1)
