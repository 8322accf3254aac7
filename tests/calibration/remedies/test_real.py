"""The embedded model: nothing is tempered at temperature 1, and every remedy runs."""

import numpy as np
import pytest

import likely
from likely.calibration.data_sets.family import build
from likely.calibration.remedies.comparison import try_remedies
from likely.calibration.remedies.remedy import REMEDIES
from likely.calibration.remedies.tempering import tempered_masses
from likely.calibration.scoring import score_items

pytest.importorskip("torch")
pytestmark = pytest.mark.real


@pytest.fixture(scope="module")
def model():
    return likely.load("smollm2")


@pytest.fixture(scope="module")
def items():
    """Five number pairs of one pair of colours, in both orders of mention: 20 items."""
    everything = build("colors", preset="smoke")
    few = [spec for spec in everything.specs if set(spec.pair) == set(everything.specs[0].pair)]
    return [everything.family.render(spec) for spec in few if spec.numbers.draw < 5]


@pytest.fixture(scope="module")
def scored(model, items):
    return score_items(model, items)


def test_at_temperature_one_the_masses_are_those_scored(model, items, scored):
    found = tempered_masses(model, items)
    at = int(np.flatnonzero(found.temperatures == 1.0)[0])
    assert found.log_mass[at] == pytest.approx(scored.masses.log_mass, abs=1e-5)
    assert found.cost.token_evaluations == scored.cost.token_evaluations


def test_every_remedy_runs(model, items, scored):
    report = try_remedies(model, items, scored=scored, n_resamples=200)
    assert len(items) == 20
    for result in report.results:
        assert result.status == "ok"
        assert (result.n_items, result.n_undefined) == (20, 0)
        assert np.isfinite(result.changes["wd01"].after.value)
    assert [result.name for result in report.results] == list(REMEDIES.names())
    after = report["temperature"].changes
    assert after["kl"].after.value < after["kl"].before.value
