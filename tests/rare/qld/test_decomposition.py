"""Intervals and pairs: against every pair counted one by one, and closed forms."""

import math

import numpy as np
import pytest
from clouds import (
    exact_gaussian,
    gaussian,
    intervals_of,
    pair_hits,
    pairs_of,
    split_of,
    winning,
)
from scipy.special import ndtr
from scipy.stats import norm

from likely.core.logspace import log1mexp
from likely.rare.qld.cloud import Cloud
from likely.rare.qld.decomposition import intervals, log_total
from likely.rare.qld.lines import Bounds, Moved
from likely.rare.qld.split import split
from likely.rare.qld.survey import survey
from likely.rare.qld.survival import Counted, Extended

EVENTS = [
    winning(0), winning(7), winning(8), winning(5, above=1.5), winning(1, above=-1.0),
    winning(0, 7), winning(4, 6, 9, above=0.5), winning(*range(11)),
]  # fmt: skip


class Normal:
    """The standard normal law on the line."""

    last = np.inf

    def log_mass(self, low, high):
        start = norm.logsf(low)
        ratio = np.full(len(low), -np.inf)
        alive = np.isfinite(start)
        ratio[alive] = np.minimum(norm.logsf(high[alive]) - start[alive], 0.0)
        return np.where((low < high) & alive, start + log1mexp(ratio), -np.inf)


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: f"{event.winners}>{event.above}")
def test_the_count_is_that_of_all_pairs(event):
    cloud = gaussian(150)
    parts, found, pairs = pairs_of(cloud, event)
    hits = pair_hits(cloud, parts.direction, event)
    assert pairs.count == hits.sum()
    assert pairs.count > 0
    margins = cloud.points @ cloud.weight.T + cloud.offset
    ranked = np.delete(margins, event.winners, axis=1).max(axis=1)
    own = margins[:, list(event.winners)].max(axis=1) - ranked > event.above
    np.testing.assert_array_equal(np.diag(hits), own)  # an activation with its own part is itself
    assert (np.diff(found.low[found.rows == found.rows[0]]) >= 0).all()


@pytest.mark.parametrize("tokens", [(5,), (24,), (8, 41)])
def test_setting_activations_aside_by_a_few_rivals_changes_no_interval(tokens):
    """Enough activations and rivals that scouts are sent and most are never fully checked."""
    cloud = gaussian(4000, d=8, n_tokens=300, world=1)
    parts, found, pairs = pairs_of(cloud, winning(*tokens))
    law = Counted(values=parts.values)
    ends = []
    for lines in parts.lines:
        rivals = np.flatnonzero(lines.contest.is_rival)
        growth = lines.growth[rivals]
        leads = cloud.points @ lines.contest.slopes(rivals).T + lines.contest.leads(rivals)
        level = parts.along[:, None] - leads / growth
        low = np.where(growth > 0, level, -np.inf).max(axis=1)
        high = np.where(growth < 0, level, np.inf).min(axis=1)
        ends.append((low, high))
    both = np.max([low for low, _ in ends], axis=0), np.min([high for _, high in ends], axis=0)
    counts = [np.subtract(*law.ranks(*one)[::-1]).sum() for one in ends]
    shared = np.subtract(*law.ranks(*both)[::-1]).sum() if len(tokens) == 2 else 0
    assert pairs.count == sum(counts) - shared > 0
    assert 0 < len(found.rows) < 4000
    if len(tokens) == 1:
        np.testing.assert_allclose(found.low, ends[0][0][found.rows], rtol=1e-9, atol=1e-9)


def test_what_is_left_out_with_a_tail_is_less_than_was_allowed():
    cloud = gaussian(3000, d=8, n_tokens=300, world=1)
    parts = split_of(cloud, winning(3))
    law = Extended.fit(parts.values, "gaussian")
    whole = intervals_of(parts, cloud, law)
    part = intervals_of(parts, cloud, law, negligible=1e-3)
    assert 0 < len(part.rows) < len(whole.rows)
    missing = -math.expm1(log_total(part, law, 3000) - log_total(whole, law, 3000))
    assert 0.0 < missing <= 1e-3


def test_many_events_together_are_each_as_alone():
    """Together their activations are checked block by block, alone one by one."""
    cloud = gaussian(2000, d=8, n_tokens=60, world=1)
    events = [winning(token) for token in range(40)] + [winning(3, 5)]
    parts = [one for one in split(cloud, events) if one is not None]
    laws = [Counted(values=one.values) for one in parts]
    seen = survey(cloud, events)
    together = intervals(parts, seen, laws)
    assert sum(len(one.rows) for one in together) > 2000
    for one, law, found in zip(parts, laws, together, strict=True):
        (alone,) = intervals([one], seen, [law])
        order = np.argsort(alone.rows, kind="stable")
        np.testing.assert_array_equal(np.sort(found.rows), alone.rows[order])
        np.testing.assert_allclose(
            found.low[np.argsort(found.rows, kind="stable")], alone.low[order], atol=1e-9
        )


def test_the_best_tokens_lose_no_activation_that_can_win():
    cloud = gaussian(1500, d=8, n_tokens=60, world=1)
    for event in (winning(3), winning(8), winning(8, 41, above=1.0)):
        parts = split_of(cloud, event)
        for lines in parts.lines:
            kept = survey(cloud, []).may_win(lines, parts.along, 2.0)
            everyone = Moved(rows=np.arange(1500), along=parts.along)
            exact, _ = lines.sweep(everyone, Bounds.whole(1500))
            possible = np.flatnonzero(exact.low < np.minimum(exact.high, 2.0))
            assert set(possible.tolist()) <= set(kept.tolist())
            assert len(kept) < 1500


def test_a_token_that_loses_everywhere_has_no_direction():
    weight = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 0.0]])
    cloud = Cloud(points=np.eye(2), weight=weight, offset=np.array([-1.0, 0.0, -0.6]))
    assert split_of(cloud, winning(2)) is None
    assert split_of(cloud, winning(0, 2)).distance == 0.5  # of two winners the other one can


def test_three_tokens_have_the_orthant_probability():
    """Two differences of mean 0 and correlation r are both positive with 1/4 + asin(r) / 2 pi."""
    for r in (-0.5, 0.0, 0.6):
        points = np.random.default_rng(3).standard_normal((4000, 2))
        other = np.array([r, math.sqrt(1.0 - r * r)])
        weight = np.vstack([np.zeros(2), [-1.0, 0.0], -other])
        cloud = Cloud.of(points, weight, np.zeros(3), ridge=0.0)
        parts, _, pairs = pairs_of(cloud, winning(0))
        truth = 0.25 + math.asin(r) / (2.0 * math.pi)
        assert abs(pairs.share - truth) < 4.0 * math.sqrt(pairs.variance)
        exact = Cloud(points=points, weight=weight, offset=np.zeros(3))
        parts = split_of(exact, winning(0))
        integral = log_total(intervals_of(parts, exact, Normal()), Normal(), len(points))
        assert integral == pytest.approx(math.log(truth), abs=0.03)


def test_exchangeable_tokens_have_equal_shares():
    points = np.random.default_rng(4).standard_normal((3000, 6))
    cloud = Cloud.of(points, np.eye(6), np.zeros(6), ridge=0.0)
    for token in range(6):
        *_, pairs = pairs_of(cloud, winning(token))
        assert abs(pairs.share - 1 / 6) < 4.0 * math.sqrt(pairs.variance)


def test_on_gaussian_activations_the_mean_over_samples_is_the_truth():
    """The reference integrates the part along the direction; its own error is below 1 %."""
    exact = exact_gaussian(20_000, d=8, n_tokens=20, world=2)
    n, runs = 1024, 60
    events = [winning(token) for token in (0, 4, 9)]
    truths = []
    for event in events:
        parts = split_of(exact, event)
        found = intervals_of(parts, exact, Normal(), negligible=1e-6)
        truths.append(math.exp(log_total(found, Normal(), len(exact.points))))
    shares = np.array([
        [pairs_of(cloud, event)[2].share for event in events]
        for cloud in (gaussian(n, d=8, n_tokens=20, world=2, seed=run) for run in range(runs))
    ])  # fmt: skip
    ratios = shares.mean(axis=0) / truths
    errors = shares.std(axis=0) / truths / math.sqrt(runs)
    assert errors.max() < 0.05
    assert (np.abs(ratios - 1.0) < 0.01 + 4.0 * errors).all()


def test_an_affine_map_of_activations_changes_nothing():
    rng = np.random.default_rng(5)
    activations = rng.standard_normal((300, 5)) @ rng.standard_normal((5, 5))
    weight, bias = rng.standard_normal((12, 5)), rng.standard_normal(12)
    plain = Cloud.of(activations, weight, bias, ridge=0.0)
    turn = np.linalg.qr(rng.standard_normal((5, 5)))[0]
    shift = rng.standard_normal(5)
    for matrix, ridge in ((rng.standard_normal((5, 5)), 0.0), (turn, 1e-2)):
        back = np.linalg.inv(matrix)
        mapped = Cloud.of(
            activations @ matrix.T + shift, weight @ back, bias - weight @ back @ shift, ridge=ridge
        )
        reference = plain if ridge == 0.0 else Cloud.of(activations, weight, bias, ridge=ridge)
        for event in (winning(0), winning(2, 5)):
            ours, theirs = pairs_of(reference, event), pairs_of(mapped, event)
            assert ours[2].count > 0
            assert abs(ours[2].count - theirs[2].count) <= 2  # positions are float32
            assert ours[0].distance == pytest.approx(theirs[0].distance, rel=1e-9, abs=1e-12)
            low, other = (
                ours[1].low[np.argsort(ours[1].rows)],
                theirs[1].low[np.argsort(theirs[1].rows)],
            )
            if len(low) == len(other):
                np.testing.assert_allclose(low, other, atol=1e-5)


def test_the_order_of_the_vocabulary_changes_nothing():
    cloud = gaussian(300)
    order = np.random.default_rng(6).permutation(12)
    place = np.argsort(order)
    other = Cloud(points=cloud.points, weight=cloud.weight[order], offset=cloud.offset[order])
    for event in (winning(0), winning(4, 6)):
        same = winning(*(int(place[token]) for token in event.winners))
        assert pairs_of(cloud, event)[2].count == pairs_of(other, same)[2].count > 0


def test_two_tokens_are_decided_along_the_direction_alone():
    """With one rival the rest does not matter: every pair with one part agrees."""
    cloud = gaussian(400, n_tokens=2)
    event = winning(int(np.argmin(cloud.offset)))
    parts, found, pairs = pairs_of(cloud, event)
    leads = np.sort(found.low)
    assert leads[-1] - leads[0] < 1e-5
    assert leads[0] == pytest.approx(parts.distance, abs=1e-5)
    counted = (cloud.points @ cloud.weight.T + cloud.offset).argmax(axis=1) == event.winners[0]
    assert pairs.share == pytest.approx(counted.mean(), rel=1e-3)
    assert ndtr(-parts.distance) == pytest.approx(pairs.share, rel=0.5)
