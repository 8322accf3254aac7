"""No remedy is judged on a number pair that it has seen."""

from dataclasses import replace

import numpy as np
import pytest
from known import answered, colors, everything, ideal_of

from likely.calibration.remedies.folds import cross_validate, number_pair_folds
from likely.calibration.remedies.remedy import REMEDIES, Remedy, Repair
from likely.errors import InputError


def mixed():
    return [*colors(), *colors(scale="100-999")]


@pytest.mark.parametrize("n_folds", [2, 3, 5])
def test_items_of_a_number_pair_share_a_fold_and_each_scale_is_dealt_evenly(n_folds):
    items = mixed()
    folds = number_pair_folds(answered(items, ideal_of(items)), n_folds=n_folds)
    of_pair = {}
    for item, fold in zip(items, folds.tolist(), strict=True):
        of_pair.setdefault((item.scale, item.number_pair_id), set()).add(fold)
    assert all(len(found) == 1 for found in of_pair.values())
    for scale in ("10-100", "100-999"):
        n = np.bincount([min(f) for (s, _), f in of_pair.items() if s == scale], minlength=n_folds)
        assert n.sum() == 10
        assert np.ptp(n) <= 1


def test_folds_follow_from_the_seed_and_not_from_the_order_of_items():
    items = mixed()
    evidence = answered(items, ideal_of(items))
    turned = np.random.default_rng(0).permutation(len(items))
    folds = number_pair_folds(evidence, seed=3)
    assert (number_pair_folds(evidence.take(turned), seed=3) == folds[turned]).all()
    assert (number_pair_folds(evidence, seed=4) != folds).any()


@pytest.mark.parametrize("n_folds", [2, 5])
def test_what_is_judged_was_never_part_of_the_fit(n_folds):
    items = mixed()
    evidence = answered(items, ideal_of(items))
    seen = []

    def spy(fitted_on, rng):
        known = set(fitted_on.number_pairs)

        def apply(judged):
            seen.append((known, set(judged.number_pairs), judged.n_items))
            return judged.masses.log_mass

        return Repair(apply=apply, parameters={"n": float(fitted_on.n_items)})

    remedy = Remedy(name="spy", what="looks", fit=spy, is_fitted=True)
    found = cross_validate(evidence, remedy, n_folds=n_folds)
    assert len(seen) == n_folds
    assert all(known.isdisjoint(judged) for known, judged, _ in seen)
    assert all(known | judged == set(evidence.number_pairs) for known, judged, _ in seen)
    assert sum(n for _, _, n in seen) == len(items)
    np.testing.assert_array_equal(found.log_probs, evidence.masses.log_mass)
    for fit, (known, _, n) in zip(found.fits, seen, strict=True):
        assert fit.n_number_pairs == len(known)
        assert fit.n_items == fit.parameters["n"] == len(items) - n
    seen.clear()
    cross_validate(evidence, replace(remedy, is_fitted=False))
    assert [(known == judged, n) for known, judged, n in seen] == [(True, len(items))]


@pytest.mark.parametrize("name", [n for n in REMEDIES.names() if REMEDIES.load(n).is_fitted])
def test_what_items_of_the_other_fold_ask_for_does_not_matter_to_how_they_are_repaired(name):
    items = colors()
    shares = np.random.default_rng(5).uniform(0.1, 0.9, len(items))
    evidence = everything(answered(items, shares))
    folds = number_pair_folds(evidence)
    ideal = evidence.targets.ideal.copy()
    judged = np.repeat(folds == 0, 2)
    ideal[judged] = 1.0 - ideal[judged]
    lied = replace(evidence, targets=replace(evidence.targets, ideal=ideal))
    remedy = REMEDIES.load(name)
    told, untold = (cross_validate(e, remedy).log_probs[judged] for e in (evidence, lied))
    np.testing.assert_array_equal(told, untold)


def test_folds_need_number_pairs():
    items = [item for item in colors() if item.number_pair_id == colors()[0].number_pair_id]
    evidence = answered(items, ideal_of(items))
    with pytest.raises(InputError, match="2 folds and 1 number pairs"):
        number_pair_folds(evidence)
    with pytest.raises(InputError, match="1 folds"):
        number_pair_folds(answered(colors(), ideal_of(colors())), n_folds=1)


def test_what_a_remedy_needs_has_to_be_gathered():
    with pytest.raises(InputError, match=r"'pmi' needs \['stem'\]"):
        cross_validate(answered(colors(), ideal_of(colors())), REMEDIES.load("pmi"))


def test_a_parameter_that_is_no_number_is_an_error():
    def broken(evidence, rng):
        return Repair(apply=lambda e: e.masses.log_mass, parameters={"slope": float("nan")})

    remedy = Remedy(name="broken", what="breaks", fit=broken)
    with pytest.raises(InputError, match="'broken' found"):
        cross_validate(answered(colors(), ideal_of(colors())), remedy)
