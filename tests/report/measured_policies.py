"""What an evaluation would give the report's section, from policies on real items."""

from fractions import Fraction

import number_frames as make
import numpy as np
import pandas as pd

from likely.calibration.data_sets.items import Option, make_item
from likely.core.estimate import Cost, Estimate
from likely.report.numeracy import Measured
from likely.report.section import Job
from likely.report.sections.calibration import choose_items
from likely.stats.bootstrap import cluster_bootstrap


def integer_items(n_items=10):
    made = []
    for i in range(n_items):
        low, n = 3 + 13 * i, 2 + i
        values = range(low, low + n)
        context = f"Every whole number from {low} to {low + n - 1} has the same chance. It is"
        made.append(
            make_item(
                family="distributions", version=1, template_id=f"D{i % 2}", template="D",
                context=context, options=[
                    Option(label=str(v), words=(str(v),), value=Fraction(v)) for v in values
                ], ideal=[Fraction(1, n)] * n, numbers=(low, low + n - 1), has_twin=False,
            )
        )  # fmt: skip
    return made


LAWS = {
    "calibrated": lambda p: p,
    "sharp": lambda p: p**4,
    "flat": lambda p: p**0.1,
    "higher": lambda p: np.where(p == p.max(), 1.0, 1e-9),
    "first": lambda p: p * 0.02 ** np.arange(len(p)),
    "half": lambda p: np.where(np.arange(len(p)) == 0, 0.55, 0.45 / (len(p) - 1)),
}


def item_row(item, shares, mass):
    p = np.array([float(x) for x in item.ideal])
    is_two = len(p) == 2 and item.options[0].value is None
    values = None if is_two else np.array([float(o.value) for o in item.options])
    line = np.nan
    if values is not None:
        gaps = np.abs(np.cumsum(shares - p))[:-1] * np.diff(values)
        line = gaps.sum() / (values[-1] - values[0])
    entropy = [-sum(x * np.log2(x) for x in law if x > 0) for law in (p, shares)]
    return {
        "model": "policy", "id": item.id, "family": item.family, "template": item.template_id,
        "scale": item.scale, "order": item.order, "higher": item.higher,
        "number_pair": item.number_pair_id, "option_pair": item.option_pair_id,
        "option_set": item.option_set_id, "n_options": len(p),
        "p1": p[0] if is_two else np.nan,
        "pi1": shares[0] if is_two and mass else np.nan, "pm": mass,
        "wd01": 0.5 * np.abs(shares - p).sum() if mass else np.nan,
        "wd_paper": np.sqrt(0.5) * np.abs(shares - p).sum() if mass else np.nan,
        "wd_line_norm": line if mass else np.nan, "entropy_ideal": entropy[0],
        "entropy_gap": entropy[1] - entropy[0] if mass else np.nan,
        "is_direction_right": (1 + np.sign(shares[0] - 0.5) * np.sign(p[0] - 0.5)) / 2
        if is_two and mass else np.nan,
    }  # fmt: skip


def measured(policy="sharp", *, mass=0.9, preset="smoke", items=None):
    """Return what a policy does on the items of a report, with some made-up integers."""
    items = items or (*choose_items(Job(preset=preset, seed=0)), *integer_items())
    rows, options = [], []
    for item in items:
        law = LAWS[policy](np.array([float(x) for x in item.ideal]))
        shares = law / law.sum()
        rows.append(item_row(item, shares, mass))
        options += [
            {"id": item.id, "label": o.label, "pi": x}
            for o, x in zip(item.options, shares, strict=True)
        ]
    frame = pd.DataFrame(rows)
    two = frame[frame["pi1"].notna()]
    cells = (
        make.cells_of(two).assign(dominant=lambda c: [pick(x) for x in c["dominant"]])
        if len(two) else pd.DataFrame(columns=["family", "option_pair", "dominant", "a", "b"])
    )  # fmt: skip
    return Measured(
        items=items,
        frame=frame,
        options=pd.DataFrame(options),
        estimates=dict(estimates(frame)),
        baselines=make.baselines_of(frame),
        cells=cells,
        cost=Cost(token_evaluations=1234, model_calls=5),
    )


def pick(name):
    return name if name in ("calibrated", "null", "mixed") else f"pick_{name}"


def estimates(frame):
    for family, own in frame.groupby("family"):
        for metric in ("pm", "wd01", "wd_line_norm", "entropy_gap", "is_direction_right"):
            known = own[own[metric].notna()]
            if len(known) and (metric != "wd01" or own["wd_line_norm"].isna().all()):
                clusters = known["number_pair"].tolist()
                found = cluster_bootstrap(known[metric].to_numpy(dtype=float), clusters)
                yield (family, metric), found


def estimate(value, half=0.01):
    return Estimate(
        value=value, low=value - half, high=value + half, level=0.95, unit="none", method="made up"
    )
