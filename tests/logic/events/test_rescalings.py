"""Rescalings against loops over probabilities, limits, and central differences."""

import math
from decimal import Decimal, getcontext

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from likely.errors import InputError, ShapeError, UnknownNameError
from likely.logic.events import RESCALINGS, clamp_log_odds, rescaling

V = 7
NEUTRAL = np.array([0.3, 0.2, 0.1, 0.1, 0.1, 0.1, 0.1])
CANDIDATES = [0, 2, 4, 5]
PARAMETERS = {
    "ratio_soft": {"tau": 3.0},
    "duel": {"tau": 0.4},
    "minp": {"kappa": 0.2, "tau": 0.7},
    "epsilon": {"epsilon": 0.05, "tau": 2.0},
    "eta": {"epsilon": 0.3, "tau": 0.5},
    "nucleus": {"level": 0.6, "tau": 0.3, "duel_tau": 2.0},
    "typical": {"delta": 0.3, "tau": 0.8},
    "pmi": {"offset": 0.2, "tau": 1.5},
    "rank": {"k": 2.0},
}
VARIANTS = [(name, {}) for name in RESCALINGS] + list(PARAMETERS.items())
SMOOTH = [
    *((name, values) for name, values in VARIANTS if name not in ("rank", "tail")),
    ("minp", {"beta": 4.0}),
    ("eta", {"beta": 4.0, "epsilon": 0.1}),
]


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def probability(name, probs, members, values):
    """Return P(event) by loops, straight from the table of the specification."""
    p = sum(probs[i] for i in members)
    others = [probs[i] for i in range(len(probs)) if i not in members]
    merged = [p, *others]
    entropy = -sum(q * math.log(q) for q in merged)

    def duel(tau):
        total = p
        for q in others:
            total += q * sigmoid((math.log(p) - math.log(q)) / tau)
        return total

    top = max(merged)
    eps = values.get("epsilon", 9e-4)
    tau = values.get("tau", 1.0)
    neutral = sum(NEUTRAL[i] for i in members)
    closed = p + sum(probs[i] for i in CANDIDATES if i not in members)
    rank = 1 + sum(q > p for q in others)
    k = values.get("k", 10.0)
    log_eta = min(math.log(eps), 0.5 * math.log(eps) - entropy)
    return {
        "identity": lambda: p,
        "ratio": lambda: p / top,
        "ratio_soft": lambda: min((p / top) ** (1 / tau), 1 - 1e-6),
        "tail": lambda: 1 - sum(q for q in others if q > p),
        "duel": lambda: duel(tau),
        "minp": lambda: sigmoid((math.log(p / top) - math.log(values.get("kappa", 0.05))) / tau),
        "epsilon": lambda: sigmoid((math.log(p) - math.log(eps)) / tau),
        "eta": lambda: sigmoid((math.log(p) - log_eta) / tau),
        "nucleus": lambda: sigmoid(
            (values.get("level", 0.9) - (1 - duel(values.get("duel_tau", 1.0))))
            / values.get("tau", 0.05)
        ),
        "typical": lambda: sigmoid((values.get("delta", 1.0) - abs(math.log(p) + entropy)) / tau),
        "pmi": lambda: sigmoid((math.log(p) - math.log(neutral) - values.get("offset", 0.0)) / tau),
        "closed": lambda: p / closed,
        "rank": lambda: k / (k + rank - 1),
    }[name]()


def log_odds(name, log_probs, members, values=None):
    rows = torch.as_tensor(log_probs, dtype=torch.float64)
    chosen = rescaling(name, **(values or {}))
    neutral = torch.log(torch.as_tensor(NEUTRAL)).expand(len(rows), -1)
    if rows.shape[1] != V:
        neutral = torch.log_softmax(torch.zeros_like(rows), dim=-1)
    candidates = [CANDIDATES] * len(rows)
    return chosen.log_odds(rows, members, neutral=neutral, candidates=candidates)


def of_logits(name, logits, members, values=None):
    return torch.sigmoid(log_odds(name, torch.log_softmax(logits, dim=-1), members, values))


def random_rows(n, *, seed=0, scale=2.0):
    rng = np.random.default_rng(seed)
    members = [sorted(rng.choice(V, size=rng.integers(1, 4), replace=False).tolist())
               for _ in range(n)]  # fmt: skip
    return rng.normal(scale=scale, size=(n, V)), members


@pytest.mark.parametrize(("name", "values"), VARIANTS)
def test_each_rescaling_agrees_with_loops_over_probabilities(name, values):
    logits, members = random_rows(40)
    probs = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    got = torch.sigmoid(log_odds(name, np.log(probs), members, values)).numpy()
    want = [
        probability(name, list(row), own, values) for row, own in zip(probs, members, strict=True)
    ]
    np.testing.assert_allclose(got, want, rtol=1e-10)


@pytest.mark.parametrize(
    ("name", "value"),
    [("ratio", 1.0), ("tail", 1.0), ("duel", 0.5 + 1 / (2 * V)), ("closed", 1 / 4), ("rank", 1.0)],
)
def test_under_a_uniform_row(name, value):
    got = of_logits(name, torch.zeros(1, V, dtype=torch.float64), [[0]])
    assert float(got[0]) == pytest.approx(value, abs=1e-14)


def test_the_duel_goes_to_one_and_to_zero_with_the_event():
    row = torch.zeros(2, V, dtype=torch.float64)
    row[0, 1], row[1, 1] = 60.0, -60.0
    assert of_logits("duel", row, [[1], [1]]).tolist() == pytest.approx([1.0, 0.0], abs=1e-20)


def test_the_duel_becomes_the_hard_tail_with_ties_counted_half_as_tau_vanishes():
    probs = [0.1, 0.2, 0.2, 0.5]
    got = rescaling("duel", tau=1e-3).log_odds(
        torch.log(torch.tensor([probs] * 4, dtype=torch.float64)), [[0], [1], [2], [3]]
    )
    want = [0.1, 0.2 + 0.1 + 0.2 / 2, 0.2 + 0.1 + 0.2 / 2, 1.0]  # the event itself in full
    np.testing.assert_allclose(torch.sigmoid(got).numpy(), want, rtol=1e-12)


@pytest.mark.parametrize(("name", "values"), [v for v in VARIANTS if v[0] != "typical"])
def test_the_event_rises_with_its_logit_except_under_typical(name, values):
    assert rescaling(name).is_monotone
    logits, _ = random_rows(1, seed=3)
    grid = torch.as_tensor(logits).repeat(81, 1)
    grid[:, 2] = torch.linspace(-8, 8, 81)
    steps = torch.diff(log_odds(name, torch.log_softmax(grid, dim=-1), [[2]] * 81, values))
    assert not (steps < -1e-12).any()  # inf - inf, where the event is on top, is no fall


def test_typical_falls_once_the_event_is_likelier_than_the_entropy_says():
    grid = torch.zeros(2, V, dtype=torch.float64)
    grid[0, 2], grid[1, 2] = 1.0, 3.0
    lower, upper = of_logits("typical", grid, [[2], [2]]).tolist()
    assert upper < lower


@pytest.mark.parametrize(("name", "values"), SMOOTH)
def test_gradients_agree_with_central_differences(name, values):
    logits, members = random_rows(4, seed=5)
    z = torch.as_tensor(logits).requires_grad_()
    (gradient,) = torch.autograd.grad(of_logits(name, z, members, values).sum(), z)
    h = 1e-6
    for k in range(V):
        step = torch.zeros(V, dtype=torch.float64)
        step[k] = h
        with torch.no_grad():
            up = of_logits(name, z + step, members, values)
            down = of_logits(name, z - step, members, values)
        numeric = (up - down) / (2 * h)
        np.testing.assert_allclose(gradient[:, k].numpy(), numeric.numpy(), rtol=1e-6, atol=2e-9)


@pytest.mark.parametrize("tau", [0.5, 1.0, 2.0])
def test_the_gradient_of_the_duel_has_its_closed_form(tau):
    logits, _ = random_rows(1, seed=8)
    z = torch.as_tensor(logits).requires_grad_()
    t = 3
    value = of_logits("duel", z, [[t]], {"tau": tau})
    (gradient,) = torch.autograd.grad(value.sum(), z)
    p = torch.softmax(z.detach(), dim=-1)[0]
    s = torch.sigmoid((z.detach()[0, t] - z.detach()[0]) / tau)
    s[t] = 1.0
    pull = p * s * (1 - s) / tau
    want = p * (s - value.detach()) - pull
    want[t] = p[t] * (1.0 - value.detach()[0]) + pull.sum()
    np.testing.assert_allclose(gradient[0].numpy(), want.numpy(), rtol=1e-12, atol=1e-15)


def test_the_gradient_of_the_entropy_has_its_closed_form():
    from likely.logic.events.statistics import row_statistics

    logits, _ = random_rows(1, seed=9)
    z = torch.as_tensor(logits).requires_grad_()
    log_probs = torch.log_softmax(z, dim=-1)
    entropy = row_statistics(log_probs, [[0]], ["entropy"])["entropy"]
    (gradient,) = torch.autograd.grad(entropy.sum(), z)
    lp = log_probs.detach()
    want = -torch.exp(lp) * (lp + entropy.detach()[0])
    np.testing.assert_allclose(gradient.numpy(), want.numpy(), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("name", list(RESCALINGS))
@pytest.mark.parametrize("shift", [-300.0, 7.3, 300.0])
def test_a_shift_of_the_logits_changes_nothing(name, shift):
    logits, members = random_rows(60, seed=1)
    z = torch.as_tensor(logits)
    before, after = of_logits(name, z, members), of_logits(name, z + shift, members)
    np.testing.assert_allclose(after.numpy(), before.numpy(), atol=1e-10)


@pytest.mark.parametrize("name", list(RESCALINGS))
@pytest.mark.parametrize("scale", [0.01, 3.0, 300.0])
def test_finite_logits_give_no_nan_and_keep_inside_what_the_table_says(name, scale):
    logits, members = random_rows(60, seed=2, scale=scale)
    got = log_odds(name, torch.log_softmax(torch.as_tensor(logits), dim=-1), members)
    assert not torch.isnan(got).any()
    if not rescaling(name).saturates:
        assert torch.isfinite(got).all()


@pytest.mark.parametrize(("name", "values"), VARIANTS)
@pytest.mark.parametrize(
    "probs",
    [[1.0, 0, 0, 0, 0, 0, 0], [0.5, 0, 0.5, 0, 0, 0, 0], [0, 0, 0, 0.25, 0.25, 0.25, 0.25]],
)
@pytest.mark.parametrize("own", [[0], [1], [0, 1], [1, 6]])
def test_probabilities_of_zero_and_one_give_no_nan_in_values_or_gradients(name, values, probs, own):
    rows = torch.log(torch.tensor([probs], dtype=torch.float64)).requires_grad_()
    got = log_odds(name, rows, [own], values)
    assert not torch.isnan(got).any()
    if sum(probs[i] for i in own) == 0 and name not in ("rank", "nucleus"):
        assert torch.isneginf(got).all()
    finite = torch.where(torch.isfinite(got), torch.sigmoid(got), 0.0).sum()
    if finite.requires_grad and torch.isfinite(got).all():
        (gradient,) = torch.autograd.grad(finite, rows)
        assert not torch.isnan(gradient).any()


def test_certain_and_impossible_events_have_infinite_log_odds():
    row = torch.log(torch.tensor([[1.0, 0.0]] * 2, dtype=torch.float64))
    for name in ("identity", "duel"):
        assert rescaling(name).log_odds(row, [[0], [1]]).tolist() == [math.inf, -math.inf]


@given(seed=st.integers(0, 1000))
def test_a_merged_event_has_the_sum_of_its_tokens_under_identity(seed):
    logits, members = random_rows(5, seed=seed)
    got = of_logits("identity", torch.as_tensor(logits), members).numpy()
    probs = torch.softmax(torch.as_tensor(logits), dim=-1).numpy()
    want = [row[own].sum() for row, own in zip(probs, members, strict=True)]
    np.testing.assert_allclose(got, want, rtol=1e-12)


@pytest.mark.parametrize("name", [n for n in RESCALINGS if n not in ("pmi", "closed")])
def test_a_merged_event_is_scored_as_one_token_of_a_smaller_vocabulary(name):
    logits, members = random_rows(12, seed=4)
    probs = torch.softmax(torch.as_tensor(logits), dim=-1)
    merged = log_odds(name, torch.log(probs), members)
    for i, own in enumerate(members):
        kept = [j for j in range(V) if j not in own]
        small = torch.cat([probs[i, own].sum()[None], probs[i, kept]])
        alone = rescaling(name).log_odds(torch.log(small)[None], [[0]])
        assert float(merged[i]) == pytest.approx(float(alone[0]), rel=1e-9, abs=1e-12)


def exact_log_odds(gap):
    """Return the log-odds of identity and duel for two tokens ``gap`` nats apart, by decimals."""
    getcontext().prec = 120
    odds = Decimal(gap).exp()
    p = odds / (1 + odds)
    lose = (1 - p) / (1 + odds)
    return float((p / (1 - p)).ln()), float(((1 - lose) / lose).ln())


@pytest.mark.parametrize("gap", [-90, -40, -1, 0, 1, 40, 90])
def test_log_odds_are_exact_near_zero_and_one(gap):
    row = torch.log_softmax(torch.tensor([[float(gap), 0.0]], dtype=torch.float64), dim=-1)
    identity, duel = exact_log_odds(gap)
    got = [float(rescaling(name).log_odds(row, [[0]])[0]) for name in ("identity", "duel")]
    assert got == pytest.approx([identity, duel], rel=1e-13, abs=1e-13)


def test_chunks_do_not_change_the_numbers(monkeypatch):
    from likely.logic.events import statistics

    logits, members = random_rows(9)
    whole = {name: log_odds(name, torch.log_softmax(torch.as_tensor(logits), -1), members)
             for name in RESCALINGS}  # fmt: skip
    monkeypatch.setattr(statistics, "_CHUNK", 2 * V)
    for name, want in whole.items():
        got = log_odds(name, torch.log_softmax(torch.as_tensor(logits), -1), members)
        np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=1e-13)


def test_the_smooth_maximum_of_minp_lies_above_the_maximum_and_nears_it():
    logits, members = random_rows(5)
    z = torch.log_softmax(torch.as_tensor(logits), dim=-1)
    hard, soft, softer = (
        log_odds("minp", z, members, values) for values in ({}, {"beta": 400.0}, {"beta": 4.0})
    )
    assert (softer < soft).all()
    assert (soft <= hard).all()
    np.testing.assert_allclose(soft.numpy(), hard.numpy(), atol=math.log(V) / 400)


def test_eta_is_the_smaller_of_epsilon_and_the_entropy_rule():
    flat = torch.zeros(1, 1000, dtype=torch.float64)
    chosen = rescaling("eta", epsilon=0.04)
    got = chosen.log_odds(torch.log_softmax(flat, dim=-1), [[0]])
    assert float(got[0]) == pytest.approx(-math.log(1000) - math.log(0.2 / 1000))
    peaked = torch.tensor([[20.0, 0.0]], dtype=torch.float64)
    got = chosen.log_odds(torch.log_softmax(peaked, dim=-1), [[0]])
    assert float(got[0]) == pytest.approx(-math.log(0.04), abs=1e-8)


def test_a_lift_of_an_impossible_event_is_impossible():
    never = torch.log(torch.tensor([[0.0, 1.0]], dtype=torch.float64))
    some = torch.log(torch.tensor([[0.5, 0.5]], dtype=torch.float64))
    pmi = rescaling("pmi")
    assert pmi.log_odds(never, [[0]], neutral=never).tolist() == [-math.inf]
    assert pmi.log_odds(some, [[0]], neutral=never).tolist() == [math.inf]


def test_clamping_keeps_probabilities_off_the_ends_and_tells_which():
    values = torch.tensor([math.inf, 1.0, -math.inf], dtype=torch.float64)
    clamped, moved = clamp_log_odds(values, epsilon=1e-6)
    np.testing.assert_allclose(torch.sigmoid(clamped).numpy(), [1 - 1e-6, sigmoid(1.0), 1e-6])
    assert moved.tolist() == [True, False, True]
    with pytest.raises(InputError, match="between 0 and 1/2"):
        clamp_log_odds(values, epsilon=0.5)


def test_a_label_names_the_parameters_that_are_not_the_defaults():
    assert rescaling("minp").label == "minp"
    assert rescaling("minp", kappa=0.1, tau=1.0).label == "minp(kappa=0.1)"
    assert rescaling("duel", tau=1) == rescaling("duel")
    assert rescaling(rescaling("duel")).id == "R3"


def test_every_entry_of_the_table_makes_the_rescaling_of_its_name():
    made = [rescaling(name) for name in RESCALINGS]
    assert [r.name for r in made] == list(RESCALINGS)
    assert len({r.id for r in made}) == len(made) == 13


def test_an_unknown_name_is_refused_with_the_closest_ones():
    with pytest.raises(UnknownNameError, match="duel"):
        rescaling("dual")


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("duel", {"tau": 0.0}),
        ("duel", {"tau": math.inf}),
        ("minp", {"kappa": 1.5}),
        ("minp", {"beta": -1.0}),
        ("epsilon", {"epsilon": 0.0}),
        ("nucleus", {"level": 1.0}),
        ("ratio_soft", {"cap": 0.7}),
        ("typical", {"delta": -0.1}),
        ("pmi", {"offset": math.nan}),
        ("rank", {"k": 0.0}),
        ("duel", {"temperature": 1.0}),
    ],
)
def test_a_parameter_out_of_range_is_refused(name, values):
    with pytest.raises(InputError, match=next(iter(values))):
        rescaling(name, **values)


def test_events_that_do_not_fit_their_rows_are_refused():
    rows = torch.log_softmax(torch.zeros(1, 3, dtype=torch.float64), dim=-1)
    duel = rescaling("duel")
    with pytest.raises(ShapeError, match="1 rows"):
        duel.log_odds(rows, [[0], [1]])
    for bad in ([], [3], [-1], [1, 1]):
        with pytest.raises(InputError, match="event"):
            duel.log_odds(rows, [bad])
    with pytest.raises(InputError, match="neutral"):
        rescaling("pmi").log_odds(rows, [[0]])
    with pytest.raises(InputError, match="candidates"):
        rescaling("closed").log_odds(rows, [[0]])
    with pytest.raises(InputError, match="besides"):
        rescaling("closed").log_odds(rows, [[0]], candidates=[[0]])
