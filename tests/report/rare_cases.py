"""Estimates of rare events, truths and rows of a comparison with numbers that are known."""

import math

import numpy as np

from likely.core.estimate import Estimate
from likely.rare.counting import Counts
from likely.rare.event import Event
from likely.rare.ground_truth import Truth
from likely.rare.result import RareEstimate, Spent

MODEL, FINGERPRINT, LAW = "tiny-2l", "a1b2c3", "f00d"


def log(prob):
    return math.log(prob) if prob > 0.0 else -math.inf


def estimate(
    value=2.5e-9,
    low=1.1e-9,
    high=5.8e-9,
    *,
    name=" dog",
    token=3,
    event=None,
    method="naive",
    quantity="inputs",
    warnings=(),
    runs=(),
    levels=(),
    diagnostics=None,
    **options,
):
    """Return an estimate of the event that one token wins; numbers are probabilities."""
    log_prob = Estimate(
        value=log(value), low=log(low), high=log(high), level=0.95, unit="nats", method=method,
        diagnostics=diagnostics or {},
    )  # fmt: skip
    return RareEstimate(
        event=event or Event(name=name, steps=((token,),)),
        model=MODEL, fingerprint=FINGERPRINT, distribution=options.pop("distribution", "hex"),
        law=LAW, inputs=options.pop("inputs", ""), quantity=quantity, log_prob=log_prob,
        spent=Spent(forwards=4096, token_evaluations=4096 * 33, seconds=1.5),
        warnings=tuple(warnings), replicates=tuple(log(x) for x in runs), levels=tuple(levels),
        seed=0, budget=4096, **options,
    )  # fmt: skip


def zero(high=7.3e-4, **options):
    """Return an estimate of 0 with an upper limit."""
    warning = "no hit among 4,096 inputs: only the upper limit says something"
    return estimate(0.0, 0.0, high, **{"warnings": (warning,), "name": " cat", **options})


def levels_of_run(n=30, *, final=2e-9):
    """Return the levels of a run in even steps, its moves getting dearer towards the end."""
    rows = []
    for i in range(n):
        done = (i + 1) / n
        row = {
            "level": -8.0 * (1.0 - done) ** 1.3,
            "share": 0.5 if i + 1 < n else 0.83,
            "log_prob": done * math.log(final),
            "n_ancestors": max(2, round(600 * 0.8**i)),
        }
        if i + 1 < n:
            row |= {
                "score_lag1": 0.9 + 0.08 * done, "score_kept": 0.1 + 0.3 * done,
                "never_moved": 0.2 * done**3,
                "gaussian_step": 0.5 - 0.4 * done, "mixing_step": 0.4,
                "gaussian_prior_acceptance": 1.0, "mixing_prior_acceptance": 0.9 - 0.1 * done,
                "gaussian_wall_acceptance": 0.7 - 0.4 * done,
                "mixing_wall_acceptance": 0.8 - 0.2 * done,
                "gaussian_jump": 0.02, "mixing_jump": 0.01,
            }  # fmt: skip
        rows.append(row)
    return tuple(rows)


def split(value=2.1e-9, *, name=" dog", token=3, **options):
    """Return an estimate of a fitted law, from eight runs."""
    runs = options.pop("runs", tuple(value * f for f in (0.6, 0.8, 0.9, 1.0, 1.1, 1.2, 1.4, 1.0)))
    return estimate(
        value, value * 0.75, value * 1.35, name=name, token=token, method="ga-amls",
        quantity="activations", runs=runs, levels=levels_of_run(final=value),
        diagnostics={"mode": "two_stage", "levels": 30, "log_floor": log(value) + log(0.05)},
        **options,
    )  # fmt: skip


def truth(probs=(0.9, 0.05, 1e-6, 3.1e-9, 0.0), *, n_stems=10**9, exact=False):
    """Return the truth of a model of as many tokens, as if that share of stems had hit."""
    total = np.array([*(p * n_stems for p in probs), 0.0])
    hits = np.maximum(np.rint(total), (total > 0)).astype(np.int64)
    counts = Counts(
        n_stems=1 if exact else n_stems, n_inputs=n_stems,
        total=total / n_stems if exact else total, squares=total, largest=np.where(hits, 1.0, 0.0),
        stems=hits, inputs=hits, spent=Spent(),
    )  # fmt: skip
    return Truth(
        model=MODEL, fingerprint=FINGERPRINT, distribution="hex", law=LAW, seed=0, is_exact=exact,
        n_endings=1, effective_endings=1.0, counts=counts,
    )  # fmt: skip


METHODS = {
    "naive": {"bias": 0.0, "spread": 0.0, "floor": 1e-6},
    "itgis": {"bias": 0.05, "spread": 0.25, "floor": 3e-10},
    "qld": {"bias": 0.8, "spread": 0.35, "floor": 0.0},
    "ga-amls": {"bias": -0.35, "spread": 0.15, "floor": 0.0},
}


def rows(
    methods=("naive", "itgis", "qld", "ga-amls"),
    models=("tiny-1l", "tiny-2l"),
    *,
    laws=("hex", "camel"),
    per_decade=2,
    seeds=5,
    arms=("calls", "seconds"),
    text=" dog",
):
    """Return rows of a comparison whose errors are drawn from laws that are known.

    A method misses by its bias and spread, in decades, and says 0 below its floor.
    """
    rng = np.random.default_rng(0)
    made = []
    targets = [
        (model, law, decade * per_decade + k, 10.0 ** (-9.0 + decade + (k + 0.5) / per_decade))
        for model in models for law in laws for decade in range(4) for k in range(per_decade)
    ]  # fmt: skip
    for arm in arms:
        for method in methods:
            look = METHODS[method]
            for model, law, token, q in targets:
                for seed in range(seeds):
                    error = look["bias"] + look["spread"] * rng.standard_normal()
                    p = 0.0 if q * 10.0**error < look["floor"] else q * 10.0**error
                    wide = 10.0 ** (2.0 * look["spread"] + 0.1)
                    made.append(
                        {
                            "arm": arm,
                            "model": model,
                            "distribution": law,
                            "method": method,
                            "seed": seed,
                            "token": token,
                            "text": text,
                            "truth": q,
                            "low": q / 1.3,
                            "high": q * 1.3,
                            "stems": 40,
                            "log_prob": log(p),
                            "log_low": log(p / wide),
                            "log_high": log(p * wide if p else 9e-4),
                            "quantity": "activations" if method in ("qld", "ga-amls") else "inputs",
                            "budget": 4096,
                            "n_targets": 4 * per_decade,
                            "forwards": 4096,
                            "gradients": 0,
                            "scores": 0,
                            "token_evaluations": 4096 * 33,
                            "seconds": 1.0,
                            "warnings": "",
                            "levels": "",
                        }
                    )  # fmt: skip
    return made
