"""Methods by name: what their options may be, and one line for what they may not."""

import math

import numpy as np
import pytest
from jaxtyping import TypeCheckError

from likely import rare
from likely.errors import InputError
from likely.rare.gld import Gld
from likely.rare.method import METHODS, make_method


@pytest.mark.parametrize(
    ("method", "option", "value", "wanted"),
    [
        ("itgis", "batch", "abc", "a whole number, got 'abc'"),
        ("itgis", "batch", 64.5, "a whole number, got 64.5"),
        ("itgis", "batch", True, "a whole number, got True"),
        ("itgis", "gradient_share", "x", "a number, got 'x'"),
        ("itgis", "decay", None, "a number, got None"),
        ("itgis", "temperature", "warm", "a number or 'auto', got 'warm'"),
        ("mhis", "chains", 32.0, "a whole number, got 32.0"),
        ("mhis", "estimator", 1, "'self-normalised' or 'bridge' or 'ladder', got 1"),
        ("qld", "ridge", "x", "a number, got 'x'"),
        ("qld", "tail", "fat", "'none' or 'gpd' or 'gaussian', got 'fat'"),
        ("forecast", "top", 50.5, r"a whole number or None \(null\), got 50.5"),
        ("ga-amls", "prior", 3, "a text, got 3"),
        ("ga-amls", "n_particles", [4], r"a whole number, got \[4\]"),
        ("qld", "ridge", 10**400, "a number, got 10+"),
    ],
)
def test_an_option_of_another_type_gets_one_line(method, option, value, wanted):
    with pytest.raises(InputError, match=f"option '{option}' of method '{method}' is {wanted}$"):
        make_method(method, {option: value})


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("itgis", {"temperature": 2, "gradient_share": 1, "batch": np.int64(64)}),
        ("itgis", {"temperature": math.inf, "decay": np.float64(0.5)}),
        ("mhis", {"temperature": "auto", "chains": 64}),
        ("forecast", {"top": None, "tail": "gpd"}),
        ("forecast", {"top": 50}),
        ("qld", {"ridge": 0}),
    ],
)
def test_a_whole_number_is_a_number_and_alternatives_are_taken(method, options):
    made = make_method(method, options)
    found = {name: getattr(made, name) for name in options}
    assert found == options
    assert all(type(one) in (int, float, str, type(None)) for one in found.values())


def test_objects_are_the_matter_of_the_method(gpt2):
    law = rare.independent([{40: 1, 41: 1}], gpt2)
    assert make_method("proposal", {"proposal": law}).proposal is law
    with pytest.raises((InputError, TypeCheckError)):
        make_method("proposal", {"proposal": 3})
    with pytest.raises(InputError, match="needs its option 'proposal'"):
        make_method("proposal", {})


def test_every_method_takes_its_own_defaults():
    for name in METHODS.names():
        if name == "proposal":
            continue
        usual = METHODS.load(name)()
        options = {one: getattr(usual, one) for one in usual.__slots__}
        assert make_method(name, options) == usual
    assert make_method("gld", {}) == Gld()
