"""Write the sha256 of every data set: ``python tests/calibration/update_hashes.py``.

A hash changes when an item changes, and then the version of its family must change too. Read the
difference of ``hashes.json`` before it is committed. With ``--print`` nothing is written, and what
was found goes to the standard output: the tests read it, for this process runs without the type
checks of the tests, under which the full sets take minutes.
"""

import hashlib
import json
import sys
from pathlib import Path

from likely.calibration.data_sets.family import FAMILIES, PRESETS, build

HASHES = Path(__file__).with_name("hashes.json")


def examine(name):
    """Return the hashes of a family's sets, and what is wrong with their items."""
    family = FAMILIES.load(name)
    hashes, faults, ids = {}, [], {}
    for preset in PRESETS:
        for design in family.designs if preset == "smoke" else family.designs[:1]:
            label = f"{design} {preset}"
            hashes[label], ids[label] = _read(build(name, preset=preset, design=design))
            if len(ids[label]) < hashes[label]["n_items"]:
                faults.append(f"{name} {label}: two items have one id")
    default = [ids[f"{family.designs[0]} {preset}"] for preset in PRESETS]
    for small, large, preset in zip(default, default[1:], PRESETS, strict=False):
        if not small < large:
            faults.append(f"{name} {preset}: not part of the next larger preset")
    return hashes, faults


def _read(items):
    digest, ids = hashlib.sha256(), set()
    for item in items:
        digest.update(item.to_json().encode() + b"\n")
        ids.add(item.id)
    entry = {"version": items.family.version, "n_items": len(items), "sha256": digest.hexdigest()}
    return entry, ids


def main():
    found = {name: examine(name) for name in FAMILIES}
    hashes = {name: sets for name, (sets, _) in found.items()}
    if "--print" in sys.argv[1:]:
        faults = [fault for _, own in found.values() for fault in own]
        print(json.dumps({"hashes": hashes, "faults": faults}))
    else:
        HASHES.write_text(json.dumps(hashes, indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
