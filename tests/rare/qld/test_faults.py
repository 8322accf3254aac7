"""The two faults of the released code, as the replication script makes them on purpose."""

import importlib.util
import math
from pathlib import Path

SCRIPT = Path(__file__).parents[3] / "docs" / "replication" / "rare_qld_faults.py"


def test_either_fault_moves_estimates_by_orders_and_the_corrected_ones_stay():
    spec = importlib.util.spec_from_file_location("rare_qld_faults", SCRIPT)
    faults = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(faults)
    every = faults.gaussian_rows(4096, 8, seed=1)
    rows = [row for row in every if row[1] > math.log(1e-4)]  # seen by 4,096 activations
    assert len(rows) >= 4
    off = {
        name: [abs(log_probs[name] - log_truth) for _, log_truth, log_probs in rows]
        for name in [*faults.VARIANTS, "gld"]
    }
    assert max(off["corrected"]) < math.log(2.0)
    assert min(off["without projection"]) > math.log(3.0)
    assert max(off["without centring"]) > math.log(5.0)
    assert max(off["as released"]) > math.log(30.0)
    assert max(off["gld"]) > math.log(10.0)
