"""Tables of items whose probabilities follow a law with known parameters."""

from itertools import permutations, product

import numpy as np
import pandas as pd

from likely.calibration.data_sets.number_pairs import number_pairs
from likely.core.streams import generator

COLOURS = ("blue", "green", "red", "white")


def items(
    *, templates=("C1", "C2", "C3"), scales=("10-100",), n_pairs=6, options=COLOURS,
    design="balanced",
):  # fmt: skip
    """The crossed table of two-option items, in the columns of the tidy frame."""
    numbers = {scale: number_pairs(scale, n_pairs, design=design) for scale in scales}
    rows = []
    for template, (a, b), scale in product(templates, permutations(options, 2), scales):
        for both in numbers[scale]:
            n1, n2 = both.first, both.second
            rows.append(
                {
                    "model": "planted", "id": f"i{len(rows)}", "family": "colors",
                    "template": template, "lang": "en", "scale": scale, "notation": "counts",
                    "order": "forward" if a < b else "reversed",
                    "higher": "tie" if n1 == n2 else ("first" if n1 > n2 else "second"),
                    "number_pair": f"{min(n1, n2)}:{max(n1, n2)}", "option_pair": f"{a}/{b}",
                    "option_set": "/".join(sorted((a, b))), "n_options": 2,
                    "weight": float(both.weight), "n1": float(n1), "n2": float(n2), "label1": a,
                    "label2": b, "p1": n1 / (n1 + n2),
                }
            )  # fmt: skip
    return pd.DataFrame(rows)


def answered(frame, pi1, *, model="planted"):
    """The table with a model's probabilities and what follows from them."""
    pi1 = np.asarray(pi1, dtype=float)
    return frame.assign(
        model=model, pi1=pi1, m1=pi1, m2=1.0 - pi1, pm=1.0, wd01=np.abs(pi1 - frame["p1"])
    )


def log_odds(p):
    return np.log(p) - np.log1p(-p)


def line(
    frame, *, slope=1.0, position=0.0, strengths=None, templates=None, noise=0.0, seed=0,
    model="planted",
):  # fmt: skip
    """Answers whose log-odds are a line in the ideal ones, strengths and templates beside it."""
    strengths, templates = strengths or {}, templates or {}
    y = slope * log_odds(frame["p1"].to_numpy()) + position
    y += np.array([strengths.get(a, 0.0) for a in frame["label1"]])
    y -= np.array([strengths.get(b, 0.0) for b in frame["label2"]])
    y += np.array([templates.get(t, 0.0) for t in frame["template"]])
    y += noise * generator(seed, "planted").normal(size=len(frame))
    return answered(frame, 1.0 / (1.0 + np.exp(-y)), model=model)


def policy(frame, name, *, share=0.7, model=None):
    """Answers of a policy: higher, lower, first, uniform, higher_q (a share on the higher)."""
    is_first = (frame["n1"] > frame["n2"]).to_numpy(dtype=float)
    is_first = np.where((frame["n1"] == frame["n2"]).to_numpy(), 0.5, is_first)
    pi1 = {
        "higher": is_first,
        "lower": 1.0 - is_first,
        "first": np.ones(len(frame)),
        "uniform": np.full(len(frame), 0.5),
        "higher_q": share * is_first + (1.0 - share) * (1.0 - is_first),
        "calibrated": frame["p1"].to_numpy(),
    }[name]
    return answered(frame, pi1, model=model or name)
