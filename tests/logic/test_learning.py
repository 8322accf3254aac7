"""Losses against enumeration, closed forms and differences; what they refuse and warn of."""

import itertools
import math

import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from strategies import formulas

from likely.errors import InputError, LikelyWarning, NumericalError, ShapeError
from likely.logic.formula import holds, variables
from likely.logic.learning import ConstraintLoss, kl_anchor, preference_loss
from likely.logic.parser import parse
from likely.logic.theory import Claim, Rule

NAMES = ("a", "b", "c", "d")
odds_rows = st.lists(st.lists(st.floats(-6, 6), min_size=4, max_size=4), min_size=1, max_size=3)


def quiet(theory, **options):
    """Return the loss of a theory that may be no good to train on."""
    return ConstraintLoss(theory, warn=False, **options)


def worlds(probs):
    """Yield each assignment of the events with its weight."""
    for values in itertools.product([False, True], repeat=len(probs)):
        weight = math.prod(
            p if value else 1 - p for p, value in zip(probs.values(), values, strict=True)
        )
        yield dict(zip(probs, values, strict=True)), weight


def mass(probs, factor):
    """Return the sum over assignments of their weights times a factor."""
    return math.fsum(weight * factor(world) for world, weight in worlds(probs))


def probs_of(row, names=NAMES):
    odds = torch.tensor(row, dtype=torch.float64)
    return dict(zip(names, torch.sigmoid(odds).tolist(), strict=True))


def slope_at_half(theory, **options):
    loss = quiet(theory, **options)
    odds = torch.zeros((1, len(loss.names)), dtype=torch.float64, requires_grad=True)
    loss(odds).backward()
    return odds.grad[0]


# Values


@given(formulas(*NAMES), odds_rows)
def test_the_loss_is_minus_the_log_of_the_enumerated_probability(formula, rows):
    try:
        loss = quiet(formula, names=NAMES, reduction="none")
    except InputError:
        n_models = sum(holds(formula, world) for world, _ in worlds(probs_of([0.0] * 4)))
        assert n_models in (0, 16)
        return
    expected = [-math.log(mass(probs_of(row), lambda world: holds(formula, world))) for row in rows]
    odds = torch.tensor(rows, dtype=torch.float64)
    assert loss(odds).tolist() == pytest.approx(expected, rel=1e-9, abs=1e-9)


@given(formulas(*NAMES), formulas(*NAMES), odds_rows)
def test_with_evidence_the_loss_is_that_of_the_conditional_probability(formula, evidence, rows):
    def both(world):
        return holds(formula, world) and holds(evidence, world)

    even = probs_of([0.0] * 4)
    n_both, n_given = mass(even, both), mass(even, lambda world: holds(evidence, world))
    assume(0 < n_both < n_given)
    loss = quiet(formula, names=NAMES, evidence=evidence, reduction="none")
    odds = torch.tensor(rows, dtype=torch.float64)
    expected = [
        -math.log(mass(probs_of(row), both) / mass(probs_of(row), lambda w: holds(evidence, w)))
        for row in rows
    ]
    assert loss(odds).tolist() == pytest.approx(expected, rel=1e-9, abs=1e-9)


def claim(*rules, evidence=None, name="claim"):
    return Claim(
        name=name,
        rules=tuple(
            Rule(name=f"r{i}", formula=parse(text), kind=kind, weight=weight)
            for i, (text, kind, weight) in enumerate(rules)
        ),
        evidence=None if evidence is None else parse(evidence),
    )


ROW = [2.0, -1.0, 0.5, -0.25]


def test_rules_of_all_kinds_match_explicit_factors():
    mixed = claim(
        ("a -> b", "hard", None),
        ("b <-> c", "soft", 1.25),
        ("c | d", "soft", -0.5),
        ("a ^ d", "noisy", 0.7),
        ("a & c", "score", 2.0),
        evidence="a | b",
    )
    probs = probs_of(ROW)
    a_or_b, a_and_c = parse("a | b"), parse("a & c")

    def granted(world):
        soft = 1.25 * holds(parse("b <-> c"), world) - 0.5 * holds(parse("c | d"), world)
        return holds(a_or_b, world) * math.exp(soft)

    def judged(world):
        noisy = 1.0 if holds(parse("a ^ d"), world) else 0.3
        return holds(parse("a -> b"), world) * noisy * granted(world)

    beside = mass(probs, lambda w: holds(a_and_c, w) and holds(a_or_b, w)) / mass(
        probs, lambda w: holds(a_or_b, w)
    )
    expected = -math.log(mass(probs, judged) / mass(probs, granted)) - 2.0 * math.log(beside)
    loss = quiet(mixed)
    order = [ROW[NAMES.index(name)] for name in loss.names]
    assert float(loss(torch.tensor([order], dtype=torch.float64))) == pytest.approx(expected)


def test_a_noisy_rule_is_hard_at_one_and_void_at_zero():
    odds = torch.tensor([[0.3, -0.8]], dtype=torch.float64)
    hard = quiet("a & b")(odds)
    sure = claim(("a", "hard", None), ("b", "noisy", 1.0))
    void = claim(("a", "hard", None), ("b", "noisy", 0.0))
    assert float(quiet(sure)(odds)) == pytest.approx(float(hard))
    assert float(quiet(void)(odds)) == pytest.approx(float(quiet("a", names="ab")(odds)))


def test_a_soft_rule_alone_is_refused_and_its_noisy_twin_is_its_relative_weight():
    with pytest.raises(InputError, match=r"1 - exp\(-w\)"):
        quiet(claim(("a", "soft", 1.5)))
    noisy = quiet(claim(("a", "noisy", 1.0 - math.exp(-1.5))))
    p = probs_of([0.4], names=["a"])
    expected = -math.log(mass(p, lambda world: math.exp(1.5 * (world["a"] - 1))))
    assert float(noisy(torch.tensor([[0.4]], dtype=torch.float64))) == pytest.approx(expected)


def test_claims_are_joined_not_added():
    odds = torch.tensor([[0.3, -0.8, 1.1]], dtype=torch.float64)
    first = claim(("a & b", "hard", None), name="one")
    second = claim(("b & c", "hard", None), name="two")
    joined, whole = quiet([first, second])(odds), quiet("a & b & c")(odds)
    assert float(joined) == pytest.approx(float(whole))
    assert float(joined) < float(quiet(first)(odds[:, :2]) + quiet(second)(odds[:, 1:]))


def test_one_event_of_exactly_one_is_softmax_cross_entropy():
    # Golden numbers: the softmax of (1.2, -.3, .5, 2.0), section 1.5 of the specification.
    odds = torch.tensor([[1.2, -0.3, 0.5, 2.0]], dtype=torch.float64)
    found = [
        math.exp(-float(quiet(name, names=NAMES, evidence="exactly_one(a, b, c, d)")(odds)))
        for name in NAMES
    ]
    assert found == pytest.approx([0.25347, 0.05656, 0.12587, 0.56411], abs=5e-6)
    expected = torch.nn.functional.cross_entropy(odds, torch.tensor([2]))
    loss = quiet("c", names=NAMES, evidence="exactly_one(a, b, c, d)")(odds)
    assert float(loss) == pytest.approx(float(expected))


def test_reductions_agree():
    odds = torch.tensor([[0.3, -0.8], [1.0, 2.0], [-1.0, 0.2]])
    each = quiet("a | b", reduction="none")(odds)
    assert each.shape == (3,)
    assert float(quiet("a | b", reduction="sum")(odds)) == pytest.approx(float(each.sum()))
    assert float(quiet("a | b")(odds)) == pytest.approx(float(each.mean()))


def test_a_thousand_literals_have_a_finite_loss():
    names = [f"x{i}" for i in range(1000)]
    loss = quiet(" & ".join(names))
    odds = torch.full((1, 1000), -40.0)
    assert float(loss(odds)) == pytest.approx(40_000.0)
    assert loss.chance == pytest.approx(1000 * math.log(2))


# Gradients


@given(formulas(*NAMES), odds_rows)
def test_the_slope_agrees_with_central_differences(formula, rows):
    try:
        loss = quiet(formula, names=NAMES)
    except InputError:
        return
    odds = torch.tensor(rows, dtype=torch.float64, requires_grad=True)
    torch.autograd.gradcheck(loss, (odds,), eps=1e-6, atol=1e-7, rtol=1e-5)


@settings(max_examples=10)
@given(odds_rows)
def test_the_slope_with_soft_and_noisy_rules_and_evidence_agrees_with_central_differences(rows):
    loss = quiet(
        claim(
            ("a -> b", "hard", None), ("b <-> c", "soft", 1.25), ("a ^ d", "noisy", 0.7),
            ("a & c", "score", 2.0), evidence="a | b",
        )
    )  # fmt: skip
    odds = torch.tensor(rows, dtype=torch.float64, requires_grad=True)
    torch.autograd.gradcheck(loss, (odds,), eps=1e-6, atol=1e-7, rtol=1e-5)


@given(formulas(*NAMES), odds_rows)
def test_the_slope_is_prior_minus_posterior(formula, rows):
    try:
        loss = quiet(formula, names=NAMES, reduction="sum")
    except InputError:
        return
    odds = torch.tensor(rows, dtype=torch.float64, requires_grad=True)
    loss(odds).backward()
    for row, slope in zip(rows, odds.grad.tolist(), strict=True):
        probs = probs_of(row)
        total = mass(probs, lambda world: holds(formula, world))
        for name, found in zip(NAMES, slope, strict=True):
            joint = mass(probs, lambda w, name=name: w[name] and holds(formula, w))
            assert found == pytest.approx(probs[name] - joint / total, abs=1e-9)


@given(formulas(*NAMES), odds_rows)
def test_the_squared_slope_is_at_most_half_the_loss(formula, rows):
    try:
        loss = quiet(formula, names=NAMES, reduction="none")
    except InputError:
        return
    odds = torch.tensor(rows, dtype=torch.float64, requires_grad=True)
    losses = loss(odds)
    losses.sum().backward()
    assert (odds.grad.square().sum(dim=1) <= losses / 2 + 1e-12).all()


@pytest.mark.parametrize(
    ("theory", "expected"),  # the column |g0|^2 of the golden table, section 9
    [
        ("a", 0.25), ("a & b", 0.5), ("a & !b", 0.5), ("a | b", 0.0556), ("a -> b", 0.0556),
        ("a <-> b", 0.0), ("a ^ b", 0.0), ("!(a & b)", 0.0556), ("a & b & !c & !d", 1.0),
        ("(a <-> b) & (c <-> d)", 0.0), ("exactly_one(a, b, c, d)", 0.25),
        ("at_most_one(a, b, c, d)", 0.36), ("at_least_one(a, b, c, d)", 0.0044),
        ("(a -> b) & (b -> c)", 0.125), ("atleast(2, a, b, c)", 0.1875),
        ("all_equal(a, b, c, d, e)", 0.0),
    ],
)  # fmt: skip
def test_from_ignorance_a_theory_pulls_by_its_marginal_bits_alone(theory, expected):
    assert float(slope_at_half(theory).square().sum()) == pytest.approx(expected, abs=5e-5)


def test_from_ignorance_the_bound_of_informativeness_holds():
    for theory in ("a & b", "a | b", "exactly_one(a, b, c)", "(a -> b) & (b -> c)"):
        bits = quiet(theory).chance / math.log(2)
        assert float(slope_at_half(theory).square().sum()) <= math.log(2) / 2 * bits + 1e-12


# Refusals and warnings


def test_a_row_where_the_theory_cannot_hold_is_named():
    loss = quiet("a & b")
    odds = torch.tensor([[0.0, 1.0], [1.0, -math.inf], [-math.inf, 0.0]])
    with pytest.raises(NumericalError, match=r"row 1: .*'b': -inf.*\(2 of 3 rows"):
        loss(odds)
    assert math.isfinite(loss(odds[:1]))


def test_evidence_that_cannot_hold_is_named():
    with pytest.raises(NumericalError, match="row 0: 'a' or its evidence has probability 0"):
        quiet("a", evidence="b")(torch.tensor([[0.0, -math.inf]]))


def test_certain_events_are_legal_where_the_theory_can_hold():
    odds = torch.tensor([[math.inf, 0.0]], requires_grad=True)
    loss = quiet("a & b")(odds)
    loss.backward()
    assert float(loss.detach()) == pytest.approx(math.log(2))
    assert odds.grad.tolist() == [[0.0, -0.5]]


def test_nan_log_odds_are_named():
    with pytest.raises(NumericalError, match="of 'b' in row 1 are NaN"):
        quiet("a & b")(torch.tensor([[0.0, 1.0], [0.0, math.nan]]))


@pytest.mark.parametrize(
    ("theory", "options", "message"),
    [
        ("a & !a", {}, "cannot hold"),
        ("a", {"evidence": "!a"}, "cannot hold"),
        ("a | !a", {}, "holds whatever"),
        ("a | b", {"evidence": "a"}, "holds whatever"),
        ("true", {}, "at least one"),
        ("a & b", {"names": ["a"]}, "column of its own"),
        ("a & b", {"names": ["a", "b", "a"]}, "column of its own"),
        ("forall r in rows: a(r)", {}, "ranges over rows"),
        ("a", {"evidence": "exists r in rows: a(r)"}, "ranges over rows"),
    ],
)
def test_a_theory_that_teaches_nothing_is_refused(theory, options, message):
    with pytest.raises(InputError, match=message):
        quiet(theory, **options)


def test_a_clause_of_sixty_literals_is_no_tautology():
    assert quiet(" | ".join(f"x{i}" for i in range(60))).chance == pytest.approx(2.0**-60)


def test_log_odds_of_another_width_or_without_rows_are_refused():
    with pytest.raises(ShapeError, match=r"\(1, 3\)"):
        quiet("a & b")(torch.zeros((1, 3)))
    with pytest.raises(ShapeError, match=r"\(0, 2\)"):
        quiet("a & b")(torch.zeros((0, 2)))


@pytest.mark.parametrize("theory", ["a <-> b", "a ^ b", "odd(a, b, c)", "all_equal(a, b, c)"])
def test_pure_consistency_warns_of_its_zero_gradient(theory):
    with pytest.warns(LikelyWarning, match="says nothing of single events"):
        ConstraintLoss(theory)


@pytest.mark.parametrize("theory", ["!c & !d", "!c", "at_most_one(a, b, c)", "!a & (b <-> c)"])
def test_a_theory_that_only_pushes_down_warns(theory):
    with pytest.warns(LikelyWarning, match="only pushes events down"):
        ConstraintLoss(theory)


@pytest.mark.parametrize("theory", ["a & !b", "a -> b", "exactly_one(a, b, c)", "(a <-> b) & a"])
def test_a_theory_with_something_to_raise_does_not_warn(theory):
    assert ConstraintLoss(theory).chance > 0.0


# Preferences


def golden(**options):
    odds = {"w": torch.tensor([0.3]).double().logit(), "l": torch.tensor([0.2]).double().logit()}
    loss = float(preference_loss("l -> w", odds, **options))
    return -math.log(math.expm1(loss))  # of -log sigmoid(x), x


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        # The log ratio of both counts at p_w = .3, p_l = .2 (section 0), and its closed form.
        ({"condition": "exactly_one(w, l)"}, 0.5390),
        ({"condition": "w | l", "additional": "w & l"}, 0.4055),
        ({}, 1.8153),
    ],
)
def test_preference_structures_have_the_golden_log_ratios(options, expected):
    assert golden(**options) == pytest.approx(expected, abs=5e-5)


def test_preference_structures_have_the_closed_forms_of_known_losses():
    odds_ratio = math.log(0.3 / 0.7) - math.log(0.2 / 0.8)
    assert golden(condition="exactly_one(w, l)") == pytest.approx(odds_ratio)
    assert golden(condition="w | l", additional="w & l") == pytest.approx(math.log(0.3 / 0.2))


@given(formulas("a", "b", "c"), formulas("a", "b", "c"), odds_rows)
def test_without_additional_the_preference_loss_is_the_conditional_one(core, condition, rows):
    even = probs_of([0.0] * 3, names="abc")

    def both(world):
        return holds(core, world) and holds(condition, world)

    assume(0 < mass(even, both) < mass(even, lambda world: holds(condition, world)))
    table = torch.tensor(rows, dtype=torch.float64)[:, :3]
    odds = dict(zip("abc", table.unbind(dim=1), strict=True))
    found = preference_loss(core, odds, condition=condition, reduction="none")
    expected = quiet(core, names="abc", evidence=condition, reduction="none")(table)
    assert found.tolist() == pytest.approx(expected.tolist(), rel=1e-9, abs=1e-9)


def test_the_preference_loss_has_the_gradient_of_central_differences():
    def loss(w, l):  # noqa: E741  # the loser's name in the literature
        return preference_loss("l -> w", {"w": w, "l": l}, condition="w | l", additional="w & l")

    w, l = (torch.randn(4, dtype=torch.float64, requires_grad=True) for _ in range(2))  # noqa: E741
    torch.autograd.gradcheck(loss, (w, l), eps=1e-6, atol=1e-8, rtol=1e-6)


def test_the_preference_loss_is_zero_where_nothing_speaks_against():
    odds = {"a": torch.tensor([math.inf]), "b": torch.tensor([0.0])}
    assert float(preference_loss("a", odds, condition="a | b")) == 0.0


def test_the_preference_loss_names_the_row_where_nothing_speaks_for_it():
    odds = {"a": torch.tensor([0.0, -math.inf])}
    with pytest.raises(NumericalError, match="row 1"):
        preference_loss("a", odds)


def test_the_preference_loss_needs_the_log_odds_of_all_events():
    with pytest.raises(InputError, match=r"no log-odds for the events \['l'\]"):
        preference_loss("l -> w", {"w": torch.zeros(1)})


# The anchor


def test_the_anchor_is_the_mean_divergence_over_tokens():
    frozen = torch.tensor([[0.5, 0.25, 0.25], [1.0, 0.0, 0.0]], dtype=torch.float64)
    current = torch.tensor([[0.25, 0.5, 0.25], [0.5, 0.25, 0.25]], dtype=torch.float64)
    expected = (0.5 * math.log(2) + 0.25 * math.log(0.5) + math.log(2)) / 2
    logits = torch.log(current) + torch.tensor([[3.0], [-7.0]])  # a shift changes nothing
    assert float(kl_anchor(logits, torch.log(frozen))) == pytest.approx(expected)


def test_the_anchor_counts_only_what_it_is_told_to():
    frozen = torch.log(torch.tensor([[[0.5, 0.5], [0.9, 0.1]]]))
    logits = torch.log(torch.tensor([[[0.25, 0.75], [0.1, 0.9]]]))
    first = kl_anchor(logits, frozen, is_counted=torch.tensor([[True, False]]))
    assert float(first) == pytest.approx(0.5 * math.log(2) + 0.5 * math.log(2 / 3))
    with pytest.raises(InputError, match="no token that counts"):
        kl_anchor(logits, frozen, is_counted=torch.tensor([[False, False]]))


def test_the_anchor_is_zero_and_flat_at_the_frozen_model():
    logits = torch.randn((5, 7), dtype=torch.float64, requires_grad=True)
    kl = kl_anchor(logits, torch.log_softmax(logits.detach(), dim=-1))
    kl.backward()
    assert float(kl.detach()) == pytest.approx(0.0, abs=1e-12)
    assert logits.grad.abs().max() < 1e-12


def test_the_anchor_has_the_gradient_of_central_differences():
    frozen = torch.log_softmax(torch.randn((3, 5), dtype=torch.float64), dim=-1)
    logits = torch.randn((3, 5), dtype=torch.float64, requires_grad=True)
    torch.autograd.gradcheck(lambda z: kl_anchor(z, frozen), (logits,), eps=1e-6, atol=1e-8)


def test_the_anchor_refuses_what_has_become_impossible():
    with pytest.raises(NumericalError, match="inf"):
        kl_anchor(torch.tensor([[0.0, -math.inf]]), torch.log(torch.tensor([[0.5, 0.5]])))


def test_all_names_of_a_formula_come_in_order_of_appearance():
    assert quiet("b & (a | c)").names == variables(parse("b & (a | c)")) == ("b", "a", "c")
