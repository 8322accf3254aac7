"""The study as records: those of the library, through JSON and back, and summed up."""

import json

import numpy as np
import pytest

import likely
from likely import rare
from likely.core.jsonio import dumps
from likely.errors import InputError
from likely.rare.study import Question, StudyConfig
from likely.runs.studies import STUDIES

STUDY = STUDIES.load("rare")
CONFIG = StudyConfig(method="naive", budget=300, level=0.9)


def model():
    """A model that says the last token again."""
    even = {"a": 0.1, "b": 0.1, "Foo": 0.1}
    return likely.TableModel(list(even), lambda before: {**even, before[-1]: 0.8})


def law(name="mine"):
    return rare.independent([{"a": 1, "b": 9}], model(), name=name)


def records(items, *, seed=0):
    rng = np.random.default_rng(seed)
    made = list(STUDY.iter_records(model(), items, CONFIG, rng=rng))
    return [json.loads(dumps(one)) for one in made]


def test_records_are_the_estimates_of_the_library_and_come_back_from_json():
    found = records([Question(law=law(), targets=("a", "b", "Foo"))])
    seed = int(np.random.default_rng(0).integers(2**31))
    expected = rare.estimate_many(
        model(), law(), ["a", "b", "Foo"], method="naive", budget=300, seed=seed, level=0.9
    )
    values = [rare.RareEstimate.from_dict(one).log_prob.value for one in found]
    assert values == [one.log_prob.value for one in expected]
    assert [one["budget"] for one in found] == [300] * 3


def test_a_question_has_the_same_records_in_any_company():
    one, other = Question(law=law(), targets=("a",)), Question(law=law("x"), targets=("b",))
    [alone] = records([one])
    [_, second] = records([other, one])
    strip = [{k: v for k, v in record.items() if k == "event"} for record in (alone, second)]
    assert strip[0] == strip[1]
    values = [rare.RareEstimate.from_dict(record).log_prob.value for record in (alone, second)]
    assert values[0] == values[1]


def test_a_summary_is_the_probability_of_each_event_with_its_interval():
    found = STUDY.summarise(records([Question(law=law(), targets=("a", "Foo"))]))
    assert list(found) == ["mine/a", "mine/Foo"]
    assert found["mine/a"].low < 0.1 < found["mine/a"].high
    assert (found["mine/Foo"].value, found["mine/Foo"].unit) == (0.0, "prob")
    assert found["mine/Foo"].high == pytest.approx(1.0 - 0.05 ** (1 / 300))
    assert found["mine/a"].cost.model_calls == 150


def test_events_and_laws_that_read_alike_are_told_apart():
    other = rare.independent([{"a": 9, "b": 1}], model(), name="mine")
    alike = rare.Event(name="a", steps=((1, 2),)), rare.Event(name="a", steps=((0,),), above=-0.5)
    made = records(
        [
            Question(law=law(), targets=("a", "b", *alike)),
            Question(law=other, targets=("b",)),
            Question(law=law("x"), targets=("Foo",)),
        ]
    )
    found = STUDY.summarise(made)
    one, two = law().fingerprint[:8], other.fingerprint[:8]
    assert list(found) == [
        f"mine ({one})/a (0)", f"mine ({one})/b", f"mine ({one})/a (1|2)",
        f"mine ({one})/a (0 by -0.5 nats)", f"mine ({two})/b", "x/Foo",
    ]  # fmt: skip
    assert found[f"mine ({one})/b"].low < 0.9 < found[f"mine ({one})/b"].high
    assert found[f"mine ({two})/b"].low < 0.1 < found[f"mine ({two})/b"].high
    with pytest.raises(InputError, match=r"'mine \(\w+\)/b' twice; sum up one run"):
        STUDY.summarise([*made, made[1]])


def test_named_laws_are_made_for_the_model():
    class Corpus:
        name, documents, sha256 = "code", ("FooaFoob",), "x"

    items = [Question(law="camel", targets=("a",))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("likely.rare.named.read_texts", lambda texts: Corpus())
        [found] = records(items)
    assert found["distribution"] == "camel"


@pytest.mark.parametrize(
    ("items", "config", "part"),
    [
        ([Question(law=law(), targets=("a",))], {"budget": 3}, "takes a StudyConfig"),
        (["hex"], CONFIG, "takes Questions"),
    ],
)
def test_another_studys_items_and_configs_get_one_line(items, config, part):
    with pytest.raises(InputError, match=part):
        list(STUDY.iter_records(model(), items, config, rng=np.random.default_rng(0)))


def test_records_that_cannot_be_summed_up_get_one_line():
    with pytest.raises(InputError, match="one model, got 0"):
        STUDY.summarise([])
    twice = records([Question(law=law(), targets=("a", "a"))])
    with pytest.raises(InputError, match="'mine/a' twice"):
        STUDY.summarise(twice)
