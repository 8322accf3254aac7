"""Intervals from what was left out: the formulas by brute force, and that the truth is inside."""

import math

import numpy as np
import pytest
from attribution_truth import Law, lse, peaked_laws
from attributions import words_model

from likely import attribution
from likely.attribution.evidence import NOTHING_OMITTED, Evidence, Omitted
from likely.attribution.intervals import (
    Truncated,
    assumed,
    entropy_interval,
    entropy_intervals,
    score_interval,
    truncated,
)

SLACK = 1e-12


def _law(rng, *, n_vocab=30, n_prompt=3, n_response=3, spread=1.5):
    log_w = rng.standard_normal(n_vocab) * 2.0
    log_w -= lse(log_w)
    read = -np.logaddexp(0.0, spread * rng.standard_normal((n_vocab, n_prompt + n_response)))
    return Law("random", log_w, read, n_prompt, int(rng.integers(n_vocab)))


def _partly(law, n_read):
    """Return the evidence where candidate v was read for n_read[v] suffix tokens, -1 for none."""
    n_all = law.read.shape[1]
    done = np.flatnonzero((n_read == n_all) | (np.arange(len(n_read)) == law.actual))
    done = done[np.argsort(done != law.actual, kind="stable")]
    rest = np.setdiff1d(np.arange(len(n_read)), done)
    x_bound, y_bound, b_bound = law.log_w.copy(), law.log_w.copy(), np.zeros(len(n_read))
    for v in rest:
        n = max(0, n_read[v])
        x_bound[v] += law.read[v, : min(n, law.n_prompt)].sum()
        y_bound[v] += law.read[v, :n].sum()
        b_bound[v] = law.read[v, law.n_prompt : max(n, law.n_prompt)].sum()
    return Evidence(
        places=(0,),
        tokens=done[:, None],
        log_prior=law.log_w[done],
        log_prompt=law.read[done, : law.n_prompt].sum(axis=1),
        log_response=law.read[done, law.n_prompt :],
        inclusion=np.ones(len(done)),
        prompt_inclusion=np.ones(len(done)),
        resolution=0.0 if not len(rest) else 1e-3,
        omitted=Omitted(
            log_prior=law.log_w[rest], log_prompt_bound=x_bound[rest],
            log_response_bound=y_bound[rest], log_b_bound=b_bound[rest],
        ) if len(rest) else NOTHING_OMITTED,
    )  # fmt: skip


def test_the_bounds_of_the_ratio_are_those_of_brute_force():
    rng = np.random.default_rng(0)
    n_kinds = {"beta below": 0, "y binds": 0, "beta x binds": 0}
    for _ in range(300):
        n, d, x_most, y_most = np.exp(rng.normal(0.0, 1.5, 4))
        n = min(n, d)
        beta = float(np.exp(rng.normal(-0.5, 1.5)))
        sums = Truncated(log_n=math.log(n), log_d=math.log(d), log_x=math.log(x_most),
                         log_y=math.log(y_most), log_beta=math.log(beta))  # fmt: skip
        kind = ("beta below" if beta <= n / d else
                "y binds" if y_most < beta * x_most else "beta x binds")  # fmt: skip
        n_kinds[kind] += 1
        corner = min(x_most, y_most / beta)  # the ratio is monotone in x on either side of it
        x = np.append(np.linspace(0.0, x_most, 400), corner)[:, None]
        y = np.linspace(0.0, 1.0, 50)[None] * np.minimum(y_most, beta * x)
        ratios = (n + y) / (d + x)
        low, high = sums.log_ratio_bounds()
        assert math.exp(low) == pytest.approx(float(ratios.min()), rel=1e-9)
        assert math.exp(high) == pytest.approx(float(ratios.max()), rel=1e-9)
    assert min(n_kinds.values()) > 20


def test_nothing_left_out_leaves_a_point():
    sums = Truncated(log_n=-3.0, log_d=-1.0, log_x=-math.inf, log_y=-math.inf, log_beta=-math.inf)
    assert sums.log_ratio_bounds() == (-2.0, -2.0)
    assert score_interval(-1.5, sums) == (0.5, 0.5)
    assert sums.log_ratio == -2.0


def test_the_truncation_identity():
    rng = np.random.default_rng(1)
    for _ in range(100):
        law = _law(rng)
        truth = law.truth
        done = np.union1d(rng.choice(30, rng.integers(1, 30), replace=False), [law.actual])
        n_read = np.where(np.isin(np.arange(30), done), law.read.shape[1], -1)
        sums = truncated(_partly(law, n_read))
        log_b = truth.log_b[law.actual]
        kept, kept_response = (
            math.exp(lse(law_part[done])) for law_part in (truth.log_q, truth.log_q_response)
        )
        exact = truth.numbers()["score"]
        of_kept = log_b - sums.log_ratio
        assert of_kept + math.log(kept_response) - math.log(kept) == pytest.approx(exact, abs=1e-12)
        most = max(-math.log(kept), -math.log(kept_response))
        assert abs(exact - of_kept) <= most + SLACK


@pytest.mark.parametrize("n_prompt", [0, 3])
def test_the_interval_that_always_holds_always_holds(n_prompt):
    rng = np.random.default_rng(2 + n_prompt)
    widths = []
    for _ in range(400):
        law = _law(rng, n_prompt=n_prompt, spread=float(rng.uniform(0.1, 5.0)))
        n_all = law.read.shape[1]
        n_read = rng.integers(-1, n_all + 1, 30)
        if rng.random() < 0.5:  # most candidates to the end
            n_read = np.where(rng.random(30) < 0.8, n_all, n_read)
        evidence = _partly(law, n_read)
        log_b = law.truth.log_b[law.actual]
        low, high = score_interval(log_b, truncated(evidence))
        assert low - SLACK <= law.truth.numbers()["score"] <= high + SLACK
        widths.append(high - low)
    assert min(widths) < 0.5 < max(widths)  # sometimes it even says something


def test_it_holds_after_any_rounds_of_a_search():
    for i, law in enumerate(peaked_laws()):
        search = law.search(i)
        exact = law.truth.numbers()["score"]
        widths = []
        for size in (50.0, 400.0, 3000.0, 1e5):
            search.draw(size)
            low, high = score_interval(law.truth.log_b[law.actual], truncated(search.evidence()))
            assert low - 1e-9 <= exact <= high + 1e-9
            widths.append(high - low)
        assert widths[-1] < widths[0]


def test_the_interval_under_an_assumption_holds_where_the_assumption_does():
    rng = np.random.default_rng(4)
    for _ in range(300):
        law = _law(rng, spread=float(rng.uniform(0.1, 4.0)))
        truth = law.truth
        n_read = rng.integers(-1, law.read.shape[1] + 1, 30)
        evidence = _partly(law, n_read)
        done = evidence.tokens[:, 0]
        rest = np.setdiff1d(np.arange(30), done)
        if not len(rest):
            continue
        needed = max(
            truth.log_a[rest].max() - truth.log_a[done].max(),
            truth.log_b[rest].max() - truth.log_b[done].max(),
            0.0,
        )
        log_b = truth.log_b[law.actual]
        exact = truth.numbers()["score"]
        low, high = score_interval(log_b, assumed(evidence, kappa=math.exp(needed)))
        assert low - SLACK <= exact <= high + SLACK
        wide = score_interval(log_b, truncated(evidence))
        assert wide[0] - SLACK <= low
        assert high <= wide[1] + SLACK


def test_the_interval_under_an_assumption_can_fail_where_the_assumption_does():
    """One candidate that nobody looked at makes prompt and response likely, the others neither."""
    log_w = np.log(np.full(4, 0.25))
    read = np.log(np.array([[1e-3, 1e-3], [1e-3, 1e-3], [1e-3, 1e-3], [0.9, 0.9]]))
    law = Law("surprise", log_w, read, 1, 0)
    evidence = _partly(law, np.array([2, 2, 2, -1]))
    exact = law.truth.numbers()["score"]
    log_b = law.truth.log_b[0]
    low, high = score_interval(log_b, assumed(evidence))
    assert not low <= exact <= high
    low, high = score_interval(log_b, truncated(evidence))
    assert low <= exact <= high


def test_the_assumption_of_e_holds_on_laws_like_those_of_language_models():
    for law in peaked_laws():
        search = law.search(0)
        search.draw(256.0)
        log_b = law.truth.log_b[law.actual]
        low, high = score_interval(log_b, assumed(search.evidence()))
        wide_low, wide_high = score_interval(log_b, truncated(search.evidence()))
        assert low - 1e-9 <= law.truth.numbers()["score"] <= high + 1e-9
        assert high - low <= wide_high - wide_low + 1e-9


def test_an_entropy_lies_in_its_interval_and_the_ends_are_met():
    rng = np.random.default_rng(5)
    for _ in range(200):
        law = rng.dirichlet(np.full(12, rng.uniform(0.05, 2.0)))
        law = np.maximum(law, 1e-12) / np.maximum(law, 1e-12).sum()
        n_kept = int(rng.integers(1, 12))
        eps = float(law[n_kept:].sum())
        part = law[:n_kept] / (1.0 - eps)
        entropy = float(-part @ np.log(part))
        n_omitted = 12 - n_kept
        most = min(1.0, eps * float(rng.uniform(1.0, 3.0)))
        low, high = entropy_interval(entropy, most_omitted=most, n_omitted=n_omitted)
        assert low - SLACK <= float(-law @ np.log(law)) <= high + SLACK
        # By brute force over the omitted mass, with the least and the most that it may add.
        masses = (
            np.linspace(0.0, most, 20001)[1:-1] if most < 1.0 else np.linspace(0, 1, 20001)[1:-1]
        )
        two = -masses * np.log(masses) - (1 - masses) * np.log1p(-masses)
        least = (1 - masses) * entropy + two
        assert low == pytest.approx(min(float(least.min()), entropy), abs=2e-3)
        assert high == pytest.approx(float((least + masses * math.log(n_omitted)).max()), abs=2e-3)


def test_an_entropy_of_which_nothing_is_left_out_is_a_point():
    assert entropy_interval(1.3, most_omitted=0.0, n_omitted=5) == (1.3, 1.3)
    assert entropy_interval(1.3, most_omitted=0.5, n_omitted=0) == (1.3, 1.3)
    assert entropy_interval(0.0, most_omitted=1.0, n_omitted=4)[1] == pytest.approx(math.log(5))


def _entropy(log_law):
    log_law = log_law[log_law > -np.inf]
    return float(-np.exp(log_law) @ log_law)


@pytest.mark.parametrize("n_prompt", [0, 3])
def test_entropies_lie_in_the_intervals_that_always_hold(n_prompt):
    rng = np.random.default_rng(6 + n_prompt)
    widths = []
    for _ in range(300):
        law = _law(rng, n_prompt=n_prompt, spread=float(rng.uniform(0.1, 5.0)))
        n_all = law.read.shape[1]
        n_read = rng.integers(-1, n_all + 1, 30)
        if rng.random() < 0.7:  # most candidates to the end
            n_read = np.where(rng.random(30) < 0.9, n_all, n_read)
        evidence = _partly(law, n_read)
        found = entropy_intervals(evidence, n_omitted=evidence.omitted.n)
        truth = law.truth
        for (low, high), log_law in zip(found, (truth.log_q, truth.log_q_response), strict=True):
            assert low >= 0.0
            assert low - SLACK <= _entropy(log_law) <= high + SLACK
            widths.append(high - low)
    assert min(widths) < 0.3 < max(widths)  # sometimes they even say something


def test_entropies_of_which_nothing_is_left_out_are_points():
    law = _law(np.random.default_rng(8))
    evidence = _partly(law, np.full(30, law.read.shape[1]))
    of_context, of_response = entropy_intervals(evidence, n_omitted=0)
    assert of_context[0] == of_context[1] == pytest.approx(_entropy(law.truth.log_q))
    assert of_response[0] == of_response[1] == pytest.approx(_entropy(law.truth.log_q_response))


@pytest.mark.parametrize("group", [(1,), (0, 2)])
def test_a_place_has_the_bounds_of_its_entropies(group):
    tokens = tuple("abcdefghij")
    model = words_model(tokens)
    exact = attribution.attribute(model, "cab", "de", groups=[group], method="exact").places[0]
    for name in ("context_entropy", "response_entropy"):
        value = getattr(exact.measures, name).value
        assert getattr(exact, f"{name}_bounds") == pytest.approx((value, value), abs=1e-9)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("likely.attribution.adaptive.FIRST_SIZE", 5.0 if len(group) == 1 else 12.0)
        found = attribution.attribute(
            model, "cab", "de", groups=[group], tolerance=1e-9, budget=30.0
        )  # fmt: skip
    place = found.places[0]
    assert place.method == "adaptive"
    assert place.n_candidates < 10 ** len(group)
    for name in ("context_entropy", "response_entropy"):
        low, high = getattr(place, f"{name}_bounds")
        assert low < getattr(exact.measures, name).value < high
        assert high <= len(group) * math.log(10) + math.log(2)
        entropy = getattr(place.measures, name)
        assert low <= entropy.low <= entropy.value <= entropy.high <= high
    row = found.to_frame().iloc[0]
    assert (row["context_entropy_bound_low"], row["context_entropy_bound_high"]) == (
        place.context_entropy_bounds
    )
