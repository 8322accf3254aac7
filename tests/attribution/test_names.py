"""A public name is the same thing whatever was imported before it."""

from pathlib import Path

import pytest

from likely import attribution, calibration, logic


@pytest.mark.parametrize("package", [attribution, calibration, logic])
def test_no_module_hides_a_public_name_of_its_package(package):
    """Importing a module puts it into its package under its own name."""
    modules = {path.stem for path in Path(package.__file__).parent.iterdir()}
    assert modules.isdisjoint(package.__all__)
