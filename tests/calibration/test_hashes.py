"""Every data set, whole, in a process of its own: under the type checks it would take minutes."""

import json
import subprocess
import sys

import pytest
from update_hashes import HASHES

from likely.calibration.data_sets.family import FAMILIES, PRESETS, build
from likely.calibration.data_sets.files import items_sha256


@pytest.fixture(scope="module")
def found():
    command = [sys.executable, str(HASHES.with_name("update_hashes.py")), "--print"]
    run = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(run.stdout)


def test_no_item_has_changed_unless_its_version_has(found):
    known = json.loads(HASHES.read_text("utf-8"))
    assert found["hashes"] == known, "run `python tests/calibration/update_hashes.py` and read it"


def test_ids_are_distinct_and_each_preset_is_part_of_the_next(found):
    assert found["faults"] == []


def test_every_family_and_preset_has_a_hash():
    known = json.loads(HASHES.read_text("utf-8"))
    assert set(known) == set(FAMILIES)
    for name, sets in known.items():
        design = FAMILIES.load(name).designs[0]
        assert {f"{design} {preset}" for preset in PRESETS} <= set(sets)


def test_the_hash_of_a_set_is_that_of_its_file():
    known = json.loads(HASHES.read_text("utf-8"))
    for name in ("colors", "wordproblems", "distributions"):
        items = build(name, preset="smoke")
        design = items.design
        assert items_sha256(items) == known[name][f"{design} smoke"]["sha256"]
