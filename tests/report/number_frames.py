"""Tidy frames of calibration from policies whose every number is known, for figures and pages."""

from itertools import combinations

import numpy as np
import pandas as pd

COLOURS = ("black", "blue", "brown", "gold", "green", "orange", "pink", "purple", "red", "white",
           "yellow")  # fmt: skip
SCALES = {"1-10": (1, 10), "10-100": (10, 100), "100-999": (100, 999)}
STRENGTHS = dict(zip(COLOURS, np.linspace(-1.0, 1.0, len(COLOURS)), strict=True))


def logit(p):
    return np.log(p) - np.log1p(-p)


def sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))


def two_option_items(colours=COLOURS, *, n_pairs=10, templates=("C1", "C2"), scales=SCALES, seed=0):
    """Return the columns of the frame that do not depend on a model."""
    rng = np.random.default_rng(seed)
    rows = []
    for scale, (low, high) in scales.items():
        numbers = []
        while len(numbers) < n_pairs:
            pair = tuple(sorted(rng.integers(low, high + 1, 2).tolist()))
            if pair[0] < pair[1] and pair not in numbers:
                numbers.append(pair)
        for template in templates:
            for one, other in combinations(colours, 2):
                for labels in ((one, other), (other, one)):
                    for pair in numbers:
                        for n1, n2 in (pair, pair[::-1]):
                            rows.append((template, scale, *labels, float(n1), float(n2)))
    frame = pd.DataFrame(rows, columns=["template", "scale", "label1", "label2", "n1", "n2"])
    ends = np.sort(frame[["n1", "n2"]].to_numpy(), axis=1).astype(int)
    frame["id"] = [f"colors-{i:06d}" for i in range(len(frame))]
    frame["family"], frame["lang"], frame["notation"] = "colors", "en", "counts"
    frame["order"] = np.where(frame["label1"] < frame["label2"], "forward", "reversed")
    frame["higher"] = np.where(frame["n1"] > frame["n2"], "first", "second")
    frame["number_pair"] = [f"{a}:{b}" for a, b in ends]
    frame["option_pair"] = frame["label1"] + "/" + frame["label2"]
    frame["option_set"] = ["/".join(sorted(p.split("/"))) for p in frame["option_pair"]]
    frame["n_options"], frame["weight"] = 2, 1.0
    frame["p1"] = frame["n1"] / (frame["n1"] + frame["n2"])
    return frame


POLICIES = {
    "calibrated": lambda f, rng: f["p1"].to_numpy(),
    "pick_higher": lambda f, rng: (f["p1"] > 0.5).to_numpy(dtype=float),
    "higher_0.7": lambda f, rng: np.where(f["p1"] > 0.5, 0.7, 0.3),
    "noisy_higher": lambda f, rng: sigmoid(
        3.0 * logit(f["p1"].to_numpy()) + rng.normal(0.0, 0.8, len(f))
    ),
    "first": lambda f, rng: sigmoid(
        1.0 * logit(f["p1"].to_numpy())
        + 2.0
        + f["label1"].map(STRENGTHS).to_numpy()
        - f["label2"].map(STRENGTHS).to_numpy()
        + rng.normal(0.0, 0.5, len(f))
    ),
    "flat": lambda f, rng: sigmoid(0.2 * logit(f["p1"].to_numpy()) + rng.normal(0.0, 0.2, len(f))),
}


def with_policy(items, policy, *, model=None, mass=1.0, seed=0):
    """Return the whole frame of one model: what `metrics.measure` would say of this policy."""
    frame = items.copy()
    rng = np.random.default_rng([seed, len(policy)])
    pi = POLICIES[policy](items, rng)
    pm = np.clip(mass + rng.normal(0.0, 0.05, len(frame)), 0.0, 1.0) if mass < 1.0 else 1.0
    frame["model"], frame["pm"], frame["pi1"] = model or policy, pm, pi
    frame["m1"], frame["m2"] = pi * frame["pm"], (1.0 - pi) * frame["pm"]
    frame["other"], frame["is_gated"] = 1.0 - frame["pm"], frame["pm"] >= 0.75
    frame["wd01"] = np.abs(pi - frame["p1"])
    frame["wd_paper"] = np.sqrt(2.0) * frame["wd01"]
    frame["wd_line"] = frame["wd_line_norm"] = frame["wd_n"] = np.nan
    frame["entropy_ideal"], frame["entropy_model"] = two_way(frame["p1"]), two_way(frame["pi1"])
    frame["entropy_gap"] = frame["entropy_model"] - frame["entropy_ideal"]
    right = np.sign(pi - 0.5) * np.sign(frame["p1"] - 0.5)
    frame["is_direction_right"] = np.where(frame["p1"] == 0.5, np.nan, (1.0 + right) / 2.0)
    return frame


def two_way(p):
    p = p.to_numpy(dtype=float)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(p > 0, -p * np.log2(p), 0.0) + np.where(
            p < 1, -(1 - p) * np.log2(1 - p), 0.0
        )


def integer_tables(model, *, favourite=7, pull=1.5, seed=0, n_starts=12):
    """Return frame and option rows of uniform integers for a model that likes low and 7s."""
    rng = np.random.default_rng(seed)
    items, options = [], []
    for n in (2, 3, 4, 5, 6, 8, 10, 16):
        for k, low in enumerate(rng.choice(np.arange(0, 900), n_starts, replace=False).tolist()):
            values = np.arange(low, low + n)
            weight = np.exp(
                pull * (values % 10 == favourite)
                - pull * np.linspace(0, 1, n)
                + rng.normal(0, 0.2, n)
            )
            pi, p = weight / weight.sum(), np.full(n, 1.0 / n)
            id_ = f"distributions-{n:02d}-{k:02d}"
            line = np.abs(np.cumsum(pi - p))[:-1].sum()
            h = float(-(pi * np.log2(pi)).sum())
            items.append(
                {
                    "model": model, "id": id_, "family": "distributions", "template": f"D{k % 5}",
                    "lang": "en", "scale": "", "notation": "closed", "order": "none",
                    "higher": "none", "number_pair": f"{low}:{low + n - 1}",
                    "option_pair": id_, "option_set": id_, "n_options": n, "weight": 1.0,
                    "label1": None, "label2": None, "p1": np.nan, "pi1": np.nan, "pm": 0.9,
                    "is_gated": True, "other": 0.1, "wd01": 0.5 * np.abs(pi - p).sum(),
                    "wd_paper": np.sqrt(0.5) * np.abs(pi - p).sum(), "wd_line": line,
                    "wd_line_norm": line / (n - 1), "wd_n": line / n, "entropy_ideal": np.log2(n),
                    "entropy_model": h, "entropy_gap": h - np.log2(n),
                    "is_direction_right": np.nan, "n1": np.nan, "n2": np.nan, "m1": np.nan,
                    "m2": np.nan,
                }
            )  # fmt: skip
            options += [
                {"model": model, "id": id_, "value": float(v), "ideal": a, "pi": b}
                for v, a, b in zip(values, p, pi, strict=True)
            ]
    return pd.DataFrame(items), pd.DataFrame(options)


def cells_of(frame):
    """Return one row a model and ordered pair, in the published format (rates, ties half)."""
    rows = []
    for (model, pair), own in frame.groupby(["model", "option_pair"], sort=False):
        first = 0.5 * (1.0 + np.sign(own["pi1"] - 0.5)).to_numpy()
        is_up = (own["higher"] == "first").to_numpy()
        a, b = first[is_up].mean(), first[~is_up].mean()
        rates = {
            "calibrated": float((own["wd01"] <= 0.1).mean()),
            "pref_higher": (a + 1 - b) / 2,
            "pref_lower": 1 - (a + 1 - b) / 2,
            "pref_first": (a + b) / 2,
            "pref_second": 1 - (a + b) / 2,
        }
        dominant = max(rates, key=rates.get)
        if rates["calibrated"] >= 0.5:
            dominant = "calibrated"
        rows.append(
            {"model": model, "family": "colors", "option_pair": pair, **rates, "null": 0.0,
             "dominant": dominant.removeprefix("pref_"), "dominant_rate": rates[dominant],
             "avg_wd": own["wd_paper"].mean(), "n": len(own), "a": a, "b": b}
        )  # fmt: skip
    return pd.DataFrame(rows)


def baselines_of(frame):
    """Return the baselines of the two-option families of a frame, and one of the integers."""
    p = frame["p1"].dropna().to_numpy()
    high = np.maximum(p, 1 - p)
    values = {
        "pick_higher": (1 - high).mean(),
        "higher_0.7": np.abs(0.7 - high).mean(),
        "uniform": (high - 0.5).mean(),
        "best_constant": np.abs(np.median(high) - high).mean(),
    }
    rows = [("colors", name, value) for name, value in values.items()]
    rows += [("distributions", "pick_first", 0.5), ("distributions", "uniform", 0.0)]
    metrics = (("wd01", 1.0), ("wd_paper", np.sqrt(2.0)), ("wd_line_norm", 1.0))
    return pd.DataFrame(
        [
            {"baseline": name, "family": family, "scale": "", "metric": metric,
             "value": value * factor}
            for family, name, value in rows
            for metric, factor in metrics
            if (metric == "wd_line_norm") == (family == "distributions")
        ]
    )  # fmt: skip


def estimates_of(frame, metrics=("pm", "wd01", "wd_paper", "wd_line_norm", "entropy_gap")):
    """Return means with plain intervals: what figures do with intervals needs no better ones."""
    rows = []
    for (model, family), own in frame.groupby(["model", "family"], sort=False):
        for metric in metrics:
            x = own[metric].dropna().to_numpy(dtype=float)
            if len(x):
                half = 1.96 * x.std() / np.sqrt(len(x) / 20)
                rows.append((model, family, "", metric, x.mean(), x.mean() - half, x.mean() + half))
    return pd.DataFrame(
        rows, columns=["model", "family", "scale", "metric", "value", "low", "high"]
    )


def frequency_of(frame):
    """Return gap and distance by pair of numbers, with what three policies would have there."""
    own = frame[frame["n1"].notna()]
    table = own.groupby(["model", "scale", "number_pair"], sort=False, as_index=False).agg(
        wd=("wd01", "mean"), p1=("p1", "first")
    )
    high = np.maximum(table["p1"], 1 - table["p1"])
    table["gap"] = np.abs(logit(table["p1"])) / np.log(10.0)
    table["null_pick_higher"], table["null_uniform"] = 1 - high, high - 0.5
    table["null_higher_0.7"] = np.abs(0.7 - high)
    return table.drop(columns="p1")


def strengths_of(models):
    return pd.DataFrame(
        [
            {"model": model, "option": name, "strength": s / (k + 1), "low": s / (k + 1) - 0.2,
             "high": s / (k + 1) + 0.25}
            for k, model in enumerate(models)
            for name, s in STRENGTHS.items()
        ]
    )  # fmt: skip


def with_bounds(frame, *, width=0.1):
    """Return the frame as a server's likeliest tokens would leave it: intervals around pi1."""
    out = frame.copy()
    spread = width * (np.arange(len(out)) % 3) / 2
    out["pi1_low"] = np.clip(out["pi1"] - spread, 0, 1)
    out["pi1_high"] = np.clip(out["pi1"] + spread / 2, 0, 1)
    out["is_resolved"] = out["pi1_high"] - out["pi1_low"] <= 0.01
    return out
