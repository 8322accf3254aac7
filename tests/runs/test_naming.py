"""File names from names that no file system would take."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from likely.errors import InputError
from likely.runs.naming import file_stem

SAFE = re.compile(r"[A-Za-z0-9._-]{1,64}")


@pytest.mark.parametrize("name", ["org/name:q4", "http://localhost:8000/v1", "con", "..", "a\0b"])
def test_a_name_with_anything_in_it_gives_a_safe_file_name(name):
    stem = file_stem(name)
    assert SAFE.fullmatch(stem)
    assert not stem.startswith((".", "-"))


@given(st.lists(st.text(min_size=1), min_size=2, max_size=20, unique=True))
def test_different_names_give_different_files(names):
    stems = [file_stem(name) for name in names]
    assert len({stem.lower() for stem in stems}) == len(names)
    assert all(SAFE.fullmatch(stem) for stem in stems)


def test_names_that_differ_only_in_case_or_in_what_is_replaced_stay_apart():
    names = ["org/name", "org:name", "Org/name", "org name"]
    assert len({file_stem(name).lower() for name in names}) == len(names)


def test_an_empty_name_is_refused():
    with pytest.raises(InputError, match="empty name"):
        file_stem("")
