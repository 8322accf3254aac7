"""A public name is the same thing whatever was imported before it."""

import subprocess
import sys

import pytest


@pytest.mark.xfail(strict=True, reason="the module attribute.py hides the function of its name")
def test_attribute_is_a_function_after_its_module_was_imported():
    code = (
        "import likely.attribution.attribute\n"
        "from likely import attribution\n"
        "assert callable(attribution.attribute), attribution.attribute"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
