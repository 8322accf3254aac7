"""Every result of the study comes back from JSON as it was, and only from its own kind."""

import json
from functools import cache

import numpy as np
import pytest
from attributions import chain, drawn, exact, same, strict, words_model

import likely
from likely import attribution
from likely.core.records import from_record, to_record
from likely.core.stored import SCHEMA_VERSION, kind_of
from likely.errors import InputError, StoreError


@cache
def scores(name="shapley", prompt="aab"):
    return attribution.baseline(chain(), prompt, "ba", name=name)


@cache
def impossible():
    """Return scores that hold infinities: without "a" the response cannot be."""

    def law(before):
        return {"y": 0.5, "n": 0.5} if "a" in before else {"n": 1.0}

    model = likely.TableModel(["a", "b", "y", "n"], law)
    return model, attribution.baseline(model, "ab", "y", name="deletion")


@cache
def faithful(prompt="aab"):
    return attribution.measure_faithfulness(
        chain(), scores(prompt=prompt), reference=scores("deletion", prompt)
    )


@cache
def contrasted():
    model = words_model(tuple(chr(0x4E00 + i) for i in range(300)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("likely.attribution.adaptive.FIRST_SIZE", 60.0)
        found = attribution.contrast(
            model, (5, 9), (2, 7), (2,), groups=[(0, 1), (0,)], kept=9, tolerance=0.5, budget=2e4
        )
    assert not all(place.difference.is_exact for place in found.places)
    return found


MADE = {
    "baseline": lambda: scores(),
    "baseline with options": lambda: attribution.baseline(
        chain(), "aab", "ba", name="replacement", token="b"
    ),
    "baseline with infinities": lambda: impossible()[1],
    "faithfulness": lambda: faithful(),
    "faithfulness with infinities": lambda: attribution.measure_faithfulness(*impossible()),
    "mean faithfulness": lambda: attribution.average_faithfulness(
        [faithful(), faithful("ab"), faithful("bba")], n_grid=3
    ),
    "replacement": lambda: attribution.replacement(chain(), exact(), mass=0.8),
    "stability": lambda: attribution.stability(
        chain(), "ab", top_p=[0.5, 1.0], n=20, max_tokens=3
    ),
    "gap": lambda: attribution.calibration_gap(chain(), n=6, length=3, seed=1),
    "series": lambda: attribution.series(
        [("one", chain())], ["aa", "ab"], generate=2, n_own=6, own_length=3
    ),
    "series without substitutes": lambda: attribution.series(
        [("one", chain())], ["aa", "ab"], generate=1, method="exact", mass=None
    ),
    "comparison": lambda: attribution.compare(exact(), exact("ab", "b", positions=[1])),
    "contrast": lambda: contrasted(),
    "exact contrast": lambda: attribution.contrast(chain(), "aa", "a", "", method="exact"),
    "attribution": lambda: drawn(),
}  # fmt: skip


@cache
def made(name):
    return MADE[name]()


@pytest.fixture(params=MADE)
def found(request):
    return made(request.param)


def alike(first, second):
    """Return whether two results hold the same numbers; Python's and numpy's are of one kind."""
    return strict(first.to_json()) == strict(second.to_json()) and same(
        from_record(type(first), to_record(first)), second
    )


def test_a_result_comes_back_from_its_record_and_its_file(found, tmp_path):
    kind = type(found)
    assert alike(found, kind.from_dict(found.to_dict()))
    assert alike(found, kind.from_dict(strict(found.to_json())))
    text = found.to_json(tmp_path / "a.json")
    assert (tmp_path / "a.json").read_text() == text + "\n"
    read = attribution.read_json if kind is attribution.Attribution else kind.from_json
    assert alike(found, read(tmp_path / "a.json"))
    if hasattr(found, "summary"):
        assert read(tmp_path / "a.json").summary() == found.summary()


def test_infinities_and_numbers_that_are_keys_come_back():
    found = attribution.measure_faithfulness(*impossible())
    back = attribution.Faithfulness.from_dict(strict(found.to_json()))
    assert back.drops == found.drops
    assert list(back.drops) == [1]
    assert back.drops[1].value == np.inf
    assert back.deletion.log_ratios == found.deletion.log_ratios
    assert impossible()[1].estimates == attribution.BaselineScores.from_dict(
        strict(impossible()[1].to_json())
    ).estimates  # fmt: skip


def test_a_contrast_that_was_read_can_be_worked_with():
    found = contrasted()
    back = attribution.Contrast.from_dict(strict(found.to_json()))
    assert back.differences.tolist() == found.differences.tolist()
    assert back.low.tolist() == found.low.tolist()
    assert back.to_frame().equals(found.to_frame())
    assert back.places == found.places


def test_a_record_of_another_kind_says_which_it_is(found, tmp_path):
    found.to_json(tmp_path / "a.json")
    other = attribution.Gap if type(found) is not attribution.Gap else attribution.Series
    with pytest.raises(StoreError) as error:
        other.from_json(tmp_path / "a.json")
    assert f"a record of kind {kind_of(other)!r} is needed, got {kind_of(type(found))!r}" in str(
        error.value
    )
    assert "\n" not in str(error.value)
    with pytest.raises(InputError, match="a record of kind"):
        other.from_dict(found.to_dict())


@pytest.mark.parametrize(
    ("name", "change", "fault"),
    [
        ("gap", lambda r: r.update(schema_version=SCHEMA_VERSION + 1), "update likely"),
        ("gap", lambda r: r.pop("kind"), "is needed, got None"),
        ("gap", lambda r: r["gap"].pop("low"), "'gap.low' is missing"),
        ("baseline", lambda r: r["estimates"].pop(), "'estimates' has 3 entries, got 2"),
        ("baseline", lambda r: r["options"].update(a=[1]), "'options.a' is one of"),
        ("faithfulness", lambda r: r["drops"].update(x=r["drops"]["1"]), "whole numbers, got 'x'"),
        (
            "faithfulness",
            lambda r: r["insertion"]["log_ratios"].pop(),
            "'insertion.log_ratios' has 4 entries, got 3",
        ),
        ("mean faithfulness", lambda r: r["deletion"].pop(), "'deletion' has 3 entries, got 2"),
        ("stability", lambda r: r["draws"][0].update(n=2.5), "'draws.0.n' is a value of type int"),
        ("series", lambda r: r["checkpoints"][0].update(gap=None), "'checkpoints.0.gap' is an obj"),
        ("replacement", lambda r: r["places"][0].update(more=1), "'places.0.more' is unknown"),
        ("contrast", lambda r: r["places"].pop(), "'first.places' has 1 entries, got 2"),
        (
            "contrast",
            lambda r: r["second"]["excluded_mass"].pop(),
            "'second.excluded_mass' has 2 entries, got 1",
        ),
        ("contrast", lambda r: r["places"][1].update(reason="luck"), "'places.1.reason' is one of"),
    ],
)
def test_a_record_that_is_damaged_is_one_line_with_the_field(name, change, fault, tmp_path):
    kind = type(made(name))
    record = strict(made(name).to_json())
    change(record)
    path = tmp_path / "a.json"
    path.write_text(json.dumps(record))
    with pytest.raises(StoreError) as error:
        kind.from_json(path)
    assert fault in str(error.value)
    assert "\n" not in str(error.value)
    with pytest.raises((InputError, StoreError)):
        kind.from_dict(record)


@pytest.mark.parametrize("raw", [b"", b"{", b"[1]", b"null", b'{"a": NaN}', b"\xff\xfe"])
def test_what_is_no_record_is_one_line(raw, tmp_path):
    path = tmp_path / "a.json"
    path.write_bytes(raw)
    with pytest.raises(StoreError, match="damaged or is another kind of result"):
        attribution.Stability.from_json(path)
    with pytest.raises(StoreError, match="cannot read"):
        attribution.Stability.from_json(tmp_path / "none")
    with pytest.raises(StoreError, match="cannot write"):
        made("gap").to_json(tmp_path / "no folder" / "a.json")
