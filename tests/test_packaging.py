"""What the package says of itself: its licences are those of all that is in it."""

import json
import tomllib
from importlib.resources import files
from pathlib import Path

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_the_licence_names_the_terms_of_every_text_of_the_corpora():
    manifest = json.loads(files("likely.rare").joinpath("corpora/manifest.json").read_text())
    terms = {part["licence"] for part in manifest["sources"]} - {"public-domain"}
    stated = [part.strip("()") for part in PROJECT["license"].split(" AND ")]
    assert stated[0] == "Apache-2.0"
    assert set(stated[1:]) == terms
    assert len(stated) == len(terms) + 1


def test_every_licence_file_is_there():
    named = PROJECT["license-files"]
    assert all(list(ROOT.glob(pattern)) for pattern in named)
    texts = {path.name for pattern in named for path in ROOT.glob(pattern)}
    assert texts == {"LICENSE", "LICENCES.md", "GPL-2.0.txt", "GPL-3.0.txt"}
