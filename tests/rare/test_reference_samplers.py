"""The plain re-implementations that benchmarks compare with: right on a toy, as ours are."""

import importlib.util
import math
import sys
from pathlib import Path

import numpy as np
import pytest
from rare_toys import Enumerated, skewed_law, tiny_transformer

from likely import rare
from likely.rare.gradient.places import Places
from likely.rare.gradient.whole import Gradients
from likely.rare.reading import Meter

PLACE = Path(__file__).parents[2] / "benchmarks" / "rare_reference.py"


@pytest.fixture(scope="module")
def plain():
    spec = importlib.util.spec_from_file_location("rare_reference", PLACE)
    module = importlib.util.module_from_spec(spec)
    sys.modules["rare_reference"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["rare_reference"]


@pytest.mark.parametrize("name", ["itgis", "mhis"])
def test_the_reference_is_right_on_average_where_all_inputs_are_known(plain, name, tmp_path):
    """Within four standard errors of six seeds, and a bias that short chains may have."""
    model, law = tiny_transformer(tmp_path, seed=3), skewed_law(seed=3, power=2.0)
    reference = plain.Reference.of(model, law, 1)
    landscape = Enumerated(Gradients(model, rare.token(1, model), Places.of(law), Meter()))
    if name == "itgis":
        found = [plain.itgis(reference, temperature=0.8, n=2048, seed=seed) for seed in range(6)]
    else:
        found = [
            plain.mhis(reference, temperature=1.6, n_steps=40, burn_in=20, chains=128, seed=seed)
            for seed in range(6)
        ]
    ratios = np.exp(np.array(found) - math.log(landscape.prob))
    error = ratios.std(ddof=1) / math.sqrt(6)
    assert error < 0.3
    assert abs(ratios.mean() - 1.0) < 4 * error + 0.03
