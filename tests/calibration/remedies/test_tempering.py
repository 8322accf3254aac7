"""Masses at other temperatures are those of a model whose every row is ``softmax(logits / T)``."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from questions import hashed, question

import likely
from likely.calibration.remedies.tempering import GRID, TemperatureGrid, tempered_masses
from likely.calibration.scored import Policy
from likely.calibration.scoring import score_items
from likely.core.cache import ScoreCache
from likely.core.model import Capability
from likely.errors import CapabilityError, InputError

CHARS = ["\n", *(chr(code) for code in range(32, 127))]
SMALL = TemperatureGrid(hottest=1, coldest=-1, per_octave=2)
ITEMS = [
    question(context, labels)
    for labels, context in itertools.product(
        (["ab", "cab"], ["a", "ab", "abc"], ["10", "1", "100"], ["7", "8"]), ["abc", "cab: 1"]
    )
]
"""Options of several tokens; some begin others and some are numbers, so that words have to end."""


@pytest.fixture(scope="module")
def model():
    return hashed(CHARS, eos="</s>")


def at_temperature(model, temperature):
    """The table whose every row is that of another at a temperature, written out."""
    names = [*CHARS, "<s>", "</s>"]
    ids = [model.tokenizer.index[name] for name in names]

    def law(context):
        row = model.row([model.tokenizer.index[piece] for piece in context])[ids]
        weights = np.exp(row / temperature)
        return dict(zip(names, (weights / weights.sum()).tolist(), strict=True))

    return likely.TableModel(CHARS, law, eos="</s>")


@pytest.mark.parametrize("level", ["paper", "wide"])
def test_masses_are_those_of_a_model_whose_every_row_is_at_the_temperature(model, level):
    items = ITEMS if level == "paper" else ITEMS[1::3]
    found = tempered_masses(model, items, policy=Policy(level=level), grid=SMALL)
    assert found.temperatures.tolist() == pytest.approx([2.0, 2.0**0.5, 1.0, 0.5**0.5, 0.5])
    for temperature, log_mass in zip(found.temperatures, found.log_mass, strict=True):
        there = score_items(at_temperature(model, float(temperature)), items, level=level)
        assert log_mass == pytest.approx(there.masses.log_mass, abs=1e-10)


def test_at_temperature_one_masses_are_those_of_scoring(model):
    found = tempered_masses(model, ITEMS)
    scored = score_items(model, ITEMS)
    at = int(np.flatnonzero(found.temperatures == 1.0)[0])
    assert found.log_mass[at] == pytest.approx(scored.masses.log_mass, abs=1e-12)
    assert found.cost.token_evaluations >= scored.cost.token_evaluations


def test_masses_do_not_depend_on_order_batch_or_grid(model):
    found = tempered_masses(model, ITEMS, grid=SMALL)
    back = tempered_masses(model, ITEMS[::-1], grid=SMALL, batch=2)
    offsets = np.cumsum([0, *(len(item.options) for item in ITEMS)])
    turned = [back.log_mass[:, ::-1][:, a:b][:, ::-1] for a, b in itertools.pairwise(offsets)]
    assert np.concatenate(turned, axis=1) == pytest.approx(found.log_mass, abs=1e-12)
    fine = tempered_masses(model, ITEMS)
    shared = [int(np.argmin(np.abs(GRID.temperatures - t))) for t in SMALL.temperatures]
    assert fine.log_mass[shared] == pytest.approx(found.log_mass, abs=1e-10)


def test_what_is_impossible_stays_so_and_what_is_certain_too():
    item = question("Q", ["yes", "no"])
    forms = [form for label in ("yes", "no") for form in likely.surfaces(label)]
    model = likely.TableModel(["Q", *forms], lambda context: {" yes": 1.0})
    found = tempered_masses(model, [item], grid=SMALL)
    assert (found.log_mass == np.array([0.0, -np.inf])).all()


def test_sums_of_rows_are_kept_under_the_name_of_their_grid(model, tmp_path):
    with ScoreCache(tmp_path / "scores") as cache:
        first = tempered_masses(model, ITEMS, grid=SMALL, cache=cache)
        again = tempered_masses(model, ITEMS, grid=SMALL, cache=cache)
        other = tempered_masses(model, ITEMS, grid=replace(SMALL, coldest=0), cache=cache)
    assert again.cost.token_evaluations == 0 < other.cost.token_evaluations
    np.testing.assert_array_equal(first.log_mass, again.log_mass)
    assert other.log_mass == pytest.approx(first.log_mass[:3], abs=1e-12)


def test_a_meter_ends_at_what_it_was_told_to_expect(model):
    class Told:
        def __init__(self):
            self.expected = self.done = 0

        def expect(self, tokens):
            self.expected += tokens

        def advance(self, tokens):
            self.done += tokens

    told = Told()
    tempered_masses(model, ITEMS, grid=SMALL, meter=told, batch=3)
    assert told.done == told.expected > 0


def test_a_model_without_whole_rows_has_no_other_temperature(model):
    class Blind:
        info = replace(model.info, capabilities=frozenset({Capability.CONTINUATION}))
        tokenizer = model.tokenizer

        def evaluate(self, work, sink):
            raise AssertionError("asked")

    with pytest.raises(CapabilityError):
        tempered_masses(Blind(), ITEMS[:1])


def test_a_grid_has_temperature_one():
    assert 1.0 in GRID.temperatures.tolist()
    assert len(GRID.temperatures) == 49
    with pytest.raises(InputError, match="temperature 1"):
        TemperatureGrid(hottest=-1)
