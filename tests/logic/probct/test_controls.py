"""Controls keep the sentences' form and take away what could be known about them."""

import re
from collections import Counter
from dataclasses import replace

import pytest

from likely.errors import InputError
from likely.logic.instances import instances
from likely.logic.probct.controls import CONTROLS, nonsense, shuffled
from likely.logic.probct.suites import FAMILIES, load_family
from likely.logic.theory import Theory

FRAMES = {"f": "{lead} {thing} is", "g": "{lead} {thing} is not"}
EVENTS = {
    "a": {"frame": "f", "answer": "{good}"},
    "b": {"frame": "g", "answer": "{bad}"},
}


def theory(rows, **more):
    parts = {"targets": ["good", "bad"], "content": ["thing", "good", "bad"], **more}
    return Theory.from_rows(
        rows, name="toy", events=EVENTS, theories={"T": "a & !b"},
        packs=[
            {"id": "one", "frames": FRAMES, "where": "kind == 'one'"},
            {"id": "two", "frames": FRAMES, "where": "kind == 'two'"},
        ],
        **parts,
    )  # fmt: skip


def plain_rows(n=12):
    return [
        {
            "id": f"r{i}", "kind": "one" if i % 3 else "two", "lead": "The", "thing": f"thing{i}",
            "good": f"good{i}", "bad": f"bad{i}",
        }
        for i in range(n)
    ]  # fmt: skip


def donors(before, after):
    """For each row the one that its targets come from, all of them from the same one."""
    own = {row.columns["good"]: row for row in before.rows}
    found = {}
    for row in after.rows:
        donor = own[row.columns["good"]]
        assert row.columns["bad"] == donor.columns["bad"]
        found[row.id] = donor
    return found


@pytest.mark.parametrize("seed", range(8))
def test_shuffled_gives_each_row_the_targets_of_another_of_its_packs(seed):
    before = theory(plain_rows())
    found = donors(before, shuffled(before, seed=seed))
    by_id = {row.id: row for row in before.rows}
    for name, donor in found.items():
        assert donor.id != name
        assert donor.columns["kind"] == by_id[name].columns["kind"]
    assert sorted(donor.id for donor in found.values()) == sorted(by_id)


def test_shuffled_changes_nothing_but_targets_and_the_name():
    before = theory(plain_rows())
    after = shuffled(before, seed=0)
    assert after.name == "toy-shuffled"
    assert after.digest != before.digest
    assert [row.id for row in after.rows] == [row.id for row in before.rows]
    for old, new in zip(before.rows, after.rows, strict=True):
        kept = {"kind", "lead", "thing"}
        assert {k: new.columns[k] for k in kept} == {k: old.columns[k] for k in kept}
        assert set(new.columns) == set(old.columns)
    assert (after.packs, after.events, after.claims) == (before.packs, before.events, before.claims)


def test_texts_and_lists_are_no_partners():
    rows = plain_rows(4)
    for row in rows:
        row["kind"] = "one"
    for row in rows[:2]:
        row["bad"] = [row["bad"], "more"]
    lists = {"b": {"frame": "g", "each": {"o": "bad"}, "answer": "{o}"}}
    made = Theory.from_rows(
        rows, name="toy", events={"a": EVENTS["a"], **lists}, frames=FRAMES,
        theories={"T": "a & none(b(o) for o in bad)", "U": "a"}, targets=["bad"],
    )  # fmt: skip
    after = {row.id: row.columns["bad"] for row in shuffled(made, seed=0).rows}
    assert after == {
        "r0": ("bad1", "more"), "r1": ("bad0", "more"), "r2": "bad3", "r3": "bad2",
    }  # fmt: skip


@pytest.mark.parametrize("control", CONTROLS.values())
def test_a_seed_decides_everything(control):
    made = theory(plain_rows())
    assert control(made, seed=3).digest == control(made, seed=3).digest
    assert control(made, seed=3).digest != control(made, seed=4).digest


def test_shuffled_needs_targets_and_partners():
    with pytest.raises(InputError, match="names no targets"):
        shuffled(theory(plain_rows(), targets=[]), seed=0)
    lone = plain_rows(4)
    lone[0]["kind"], lone[3]["kind"] = "two", "one"
    with pytest.raises(InputError, match="row 'r0' of 'toy' has no partner"):
        shuffled(theory(lone), seed=0)


def test_nonsense_needs_content():
    with pytest.raises(InputError, match="names no content"):
        nonsense(theory(plain_rows(), content=[]), seed=0)


SENTENCES = [
    {"id": "r1", "kind": "one", "lead": "Some", "thing": "driving in the rain", "good": "Boats",
     "bad": "rain"},
    {"id": "r2", "kind": "two", "lead": "Some", "thing": "a cat's jumped boats, not Rain",
     "good": "Paris", "bad": "an in-law"},
]  # fmt: skip


def columns(made):
    return {row.id: dict(row.columns) for row in made.rows}


def words(text):
    return re.findall(r"[^\W_]+", text)


@pytest.mark.parametrize("seed", range(5))
def test_nonsense_replaces_content_words_and_keeps_form(seed):
    before = theory(SENTENCES)
    after = columns(nonsense(before, seed=seed))
    assert nonsense(before, seed=seed).name == "toy-nonsense"
    mapping = {}
    kept = {"in", "the", "a", "not", "an"}
    for row in SENTENCES:
        for name in ("thing", "good", "bad"):
            old, new = words(row[name]), words(after[row["id"]][name])
            assert len(old) == len(new)
            assert re.sub(r"[^\W_]+", "w", row[name]) == re.sub(
                r"[^\W_]+", "w", after[row["id"]][name]
            )
            for was, now in zip(old, new, strict=True):
                assert (was == now) == (was in kept)
                assert was[0].isupper() == now[0].isupper()
                assert mapping.setdefault(was.lower(), now.lower()) == now.lower()
        assert {k: after[row["id"]][k] for k in ("kind", "lead")} == {
            k: row[k] for k in ("kind", "lead")
        }
    invented = {was: now for was, now in mapping.items() if was not in kept}
    assert len(set(invented.values())) == len(invented)
    assert not set(invented.values()) & set(mapping)
    assert invented["driving"].endswith("ing")
    assert invented["jumped"].endswith("ed")
    assert invented["boats"].endswith("s")


def test_nonsense_replaces_lists_text_by_text():
    rows = [{"id": "r1", "thing": "coin", "sides": ["heads", "tails", "coin"]}]
    made = Theory.from_rows(
        rows, name="toy", events={"x": {"context": "A {thing} is", "answer": "{o}",
                                        "each": {"o": "sides"}}},
        theories={"T": "exactly_one(x(o) for o in sides)"}, content=["thing", "sides"],
    )  # fmt: skip
    after = columns(nonsense(made, seed=0))["r1"]
    heads, tails, coin = after["sides"]
    assert coin == after["thing"]
    assert heads.endswith("s")
    assert tails.endswith("s")
    assert len({heads, tails, coin}) == 3


def test_a_small_word_stays_in_a_phrase_and_is_replaced_where_it_is_the_answer():
    rows = [
        {"id": "r1", "kind": "one", "lead": "The", "thing": "cat on the roof", "good": "on",
         "bad": "off"},
        {"id": "r2", "kind": "one", "lead": "The", "thing": "lamp", "good": "on", "bad": "at"},
    ]  # fmt: skip
    after = columns(nonsense(theory(rows), seed=0))
    assert words(after["r1"]["thing"])[1:3] == ["on", "the"]
    assert after["r1"]["good"] == after["r2"]["good"] != "on"
    assert after["r2"]["bad"] != "at"


def test_a_made_up_word_depends_on_its_word_alone():
    few = columns(nonsense(theory([SENTENCES[0], {**SENTENCES[1], "bad": "x"}]), seed=0))
    many = columns(nonsense(theory(SENTENCES), seed=0))
    assert few["r1"] == many["r1"]


def one_of_each(made):
    """Instances of one row of each kind, so that every pack has some."""
    kinds = {(row.columns.get("kind"), row.columns.get("source")): row for row in made.rows}
    return instances(replace(made, rows=tuple(kinds.values())))


@pytest.mark.parametrize("family", FAMILIES)
def test_controls_of_a_family_have_its_items(family):
    before = load_family(family)
    shapes = [
        [(i.pack, i.row, [c.name for c in i.claims]) for i in one_of_each(made)]
        for made in (before, *(control(before, seed=0) for control in CONTROLS.values()))
    ]
    assert shapes[1:] == shapes[:1] * len(CONTROLS)


@pytest.mark.parametrize("family", FAMILIES)
def test_shuffling_a_family_moves_targets_as_wholes(family):
    before = load_family(family)
    after = shuffled(before, seed=0)

    def targets(row):
        return tuple(sorted((k, v) for k, v in row.columns.items() if k in before.targets))

    assert Counter(map(targets, after.rows)) == Counter(map(targets, before.rows))
    assert all(targets(a) != targets(b) for a, b in zip(before.rows, after.rows, strict=True))


@pytest.mark.parametrize("family", FAMILIES)
def test_every_content_word_of_a_family_is_made_up(family):
    before = load_family(family)
    after = nonsense(before, seed=0)

    def texts(row):
        for name in before.content:
            column = row.columns.get(name, ())
            yield from (column,) if isinstance(column, str) else column

    own = {text.lower() for row in before.rows for text in texts(row)}
    made_up = {text.lower() for row in after.rows for text in texts(row)}
    assert not own & made_up
    assert len(made_up) == len(own)
