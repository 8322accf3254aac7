"""Named laws against SciPy, cut off at 20 integers and renormalised."""

import re
from collections import Counter
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from family_checks import rendered
from scipy import stats

from likely.calibration.data_sets.families.named_dist import LAWS, MAX_OPTIONS, Law, law_of

LITE = rendered("named_dist", "lite")


def reference(law, values):
    a, b = (*(float(x) for x in law.parameters), 0.0)[:2]
    return {
        "uniform": lambda: stats.randint.pmf(values, int(a), int(b) + 1),
        "binomial": lambda: stats.binom.pmf(values, int(a), b),
        "trials": lambda: stats.geom.pmf(values, a),
        "failures": lambda: stats.geom.pmf(values, a, loc=-1),
        "poisson": lambda: stats.poisson.pmf(values, a),
    }[law.kind]()


@pytest.mark.parametrize("law", LAWS, ids=lambda law: f"{law.kind}-{law.parameters}")
def test_a_law_is_the_named_one_given_its_options(law):
    start, ideal, covered = law_of(law)
    values = np.arange(start, start + len(ideal))
    pmf = reference(law, values)
    assert sum(ideal) == 1
    assert np.array(ideal, dtype=float) == pytest.approx(pmf / pmf.sum(), abs=1e-12)
    assert covered == pytest.approx(pmf.sum(), abs=1e-12)
    assert len(ideal) <= MAX_OPTIONS
    assert reference(law, np.array([start - 1]))[0] == 0.0  # the support starts here


def test_a_finite_law_is_not_cut_off():
    for law in LAWS:
        if law.kind in ("uniform", "binomial"):
            assert law_of(law)[2] == 1.0


def test_the_golden_binomial():
    _, ideal, _ = law_of(Law("binomial", (Fraction(4), Fraction(3, 10))))
    assert [float(p) for p in ideal] == [0.2401, 0.4116, 0.2646, 0.0756, 0.0081]


def test_poisson_is_rational_where_its_mean_is():
    _, ideal, _ = law_of(Law("poisson", (Fraction(1, 2),)))
    ratios = [after / before for before, after in pairwise(ideal)]
    assert ratios == [Fraction(1, 2 * k) for k in range(1, MAX_OPTIONS)]


def test_there_are_24_laws_of_each_kind():
    kinds = Counter({"trials": "geometric", "failures": "geometric"}.get(k, k) for k, _ in LAWS)
    assert kinds == {"uniform": 24, "binomial": 24, "geometric": 24, "poisson": 24}
    assert len(set(LAWS)) == len(LAWS)


def test_the_text_states_the_parameters_and_no_other_number():
    for item in LITE:
        shown = [Fraction(x) for x in re.findall(r"\d+(?:\.\d+)?", item.context)]
        assert tuple(shown) == item.numbers, item.context
        assert item.meta["kind"] in item.number_pair_id


def test_options_are_consecutive_integers_with_their_values():
    for item in LITE:
        values = [option.value for option in item.options]
        assert values == list(range(int(values[0]), int(values[0]) + len(values)))
        assert [option.label for option in item.options] == [str(v) for v in values]
        assert item.order == "none"


def test_what_a_geometric_law_counts_is_said():
    for item in LITE:
        if item.meta["kind"] in ("trials", "failures"):
            assert item.meta["kind"] in item.context
            assert item.options[0].value == (1 if item.meta["kind"] == "trials" else 0)
