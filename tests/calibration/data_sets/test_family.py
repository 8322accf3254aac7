import pytest

from likely.calibration.data_sets.family import FAMILIES, PAPER, build
from likely.errors import InputError, UnknownNameError

each_family = pytest.mark.parametrize("name", PAPER)


def ids(name, **choice):
    return [item.id for item in build(name, **choice)]


@each_family
def test_a_data_set_is_a_function_of_its_name_preset_and_seed(name):
    assert list(build(name, preset="smoke", seed=7)) == list(build(name, preset="smoke", seed=7))
    assert ids(name, preset="smoke", seed=7) != ids(name, preset="smoke", seed=8)


@each_family
def test_an_item_has_one_id_under_every_seed(name):
    one, other = build(name, preset="smoke"), build(name, preset="smoke", seed=1)
    contexts = {item.context: item.id for item in one}
    assert all(contexts.get(item.context, item.id) == item.id for item in other)


def test_a_slice_is_a_set_of_the_same_items():
    items = build("distributions", preset="smoke")
    assert list(items[3:7]) == list(items)[3:7]
    assert items[-1] == list(items)[-1]
    assert (len(items[3:7]), items[3:7].preset) == (4, "smoke")


@each_family
def test_no_design_gives_a_record_without_family_and_version(name):
    family = FAMILIES.load(name)
    for design in family.designs:
        item = build(name, preset="smoke", design=design)[0]
        assert (item.family, item.version) == (family.name, family.version) == (name, 1)
        assert item.template_id in family.templates


def test_unknown_names_are_told_with_the_known_ones():
    with pytest.raises(UnknownNameError, match=r"did you mean \['colors'\]"):
        build("colours")
    with pytest.raises(UnknownNameError, match="no preset named 'tiny'"):
        build("colors", preset="tiny")
    with pytest.raises(InputError, match="the designs of 'distributions' are"):
        build("distributions", design="grid")
