import subprocess
import sys
import types

import pytest

from likely.errors import MissingExtraError
from likely.lazy import lazy_names


@pytest.fixture
def package(monkeypatch):
    module = types.ModuleType("likely.made_up")
    monkeypatch.setitem(sys.modules, "likely.made_up", module)
    return module


def test_a_name_is_loaded_on_first_use_and_then_kept(package):
    load, names, public = lazy_names(
        "likely.made_up", {"likely.errors": ["InputError"]}, more=["x"]
    )
    assert public == names() == ["InputError", "x"]
    from likely.errors import InputError

    assert load("InputError") is InputError
    assert package.InputError is InputError


def test_an_unknown_name_is_an_attribute_error(package):
    load, _, _ = lazy_names("likely.made_up", {})
    with pytest.raises(AttributeError, match="has no attribute 'y'"):
        load("y")


def test_a_library_that_is_not_installed_is_named_with_its_extra(package, monkeypatch):
    broken = types.ModuleType("likely.made_up.home")
    monkeypatch.setitem(sys.modules, "likely.made_up.home", broken)

    def missing(name):
        raise ModuleNotFoundError("No module named 'torch'", name="torch")

    broken.__getattr__ = missing
    load, _, _ = lazy_names("likely.made_up", {"home": ["f"]})
    with pytest.raises(
        MissingExtraError, match=r"made_up.f needs torch; run: pip install 'likely\[hf\]'"
    ):
        load("f")


def test_a_name_that_is_also_a_module_stands_for_what_the_package_says():
    code = (
        "from likely import attribution as a\n"
        "a.attribute_case; a.series\n"
        "assert callable(a.attribute), a.attribute\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
