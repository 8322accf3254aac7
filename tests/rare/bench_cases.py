"""A comparison whose truths are known exactly, and methods whose times are."""

import math

import numpy as np

import likely
from likely import rare
from likely.core.estimate import Cost, Estimate
from likely.rare.event import Event
from likely.rare.result import RareEstimate, Spent

TOKENS = [f"t{i}" for i in range(8)]
PROBS = np.array([0.5, 0.3, 0.1, 0.07, 0.015, 0.01, 0.004, 0.001])
"""Of the last token; the model answers with it, so that they are the truths."""
DECADES = (1e-3, 1e-2, 1e-1, 1.0)


def model():
    """Return a model that answers with the last token."""

    def law(before):
        return {token: 0.9 if token == before[-1] else 0.1 / 7 for token in TOKENS}

    return likely.TableModel(TOKENS, law, name="echo", fingerprint="echo")


def open_setting(model_name, law_name):
    """Return the model, a law of two places and its exact truth."""
    echo = model()
    last = dict(zip(TOKENS, PROBS.tolist(), strict=True))
    law = rare.independent([{"t0": 0.5, "t1": 0.5}, last], echo, name=law_name)
    return echo, law, rare.truth(echo, law, n=100)


class Clock:
    """A clock that only moves when it is told to."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


def timed_estimates(clock, costs, asked):
    """Return a stand-in for `estimate_many` that takes known seconds: some, and some a call.

    Args:
        clock: Is moved on.
        costs: By method: seconds of a run, and of a call for each target.
        asked: Gets what every run was asked for.
    """

    def estimate_many(model, law, targets, *, method, budget, seed):
        asked.append((method, budget, seed))
        method = method.name
        fixed, each = costs[method]
        clock.now += fixed + each * budget * len(targets)
        value = math.log(1e-3) - 0.01 * (seed % 1000)
        levels = ({"level": -1.0, "share": 0.5, "log_prob": value},) if method == "qld" else ()
        return tuple(
            RareEstimate(
                event=Event(name=str(token), steps=((int(token),),)), model="echo",
                fingerprint="echo", distribution=law.name, law=law.fingerprint, inputs="",
                quantity="activations" if method == "qld" else "inputs",
                log_prob=Estimate(
                    value=value, low=value - 1.0, high=value + 1.0, level=0.95, unit="nats",
                    method=method, cost=Cost(), diagnostics={},
                ),
                spent=Spent(forwards=budget, seconds=each), warnings=("a", "b"), replicates=(),
                levels=levels, seed=seed, budget=budget,
            )
            for token in targets
        )  # fmt: skip

    return estimate_many


def row(**changes):
    """Return a row of a comparison; its truth is 1e-6, its estimate the same."""
    made = {
        "arm": "calls", "model": "m", "distribution": "d", "method": "naive", "seed": 0, "token": 1,
        "text": "x", "truth": 1e-6, "low": 5e-7, "high": 2e-6, "stems": 40, "p": 1e-6, "p_low": 0.0,
        "p_high": 1e-5, "quantity": "inputs", "budget": 100, "n_targets": 1, "forwards": 100,
        "gradients": 0, "scores": 0, "token_evaluations": 0, "seconds": 1.0, "warnings": "",
        "levels": "", **changes,
    }  # fmt: skip
    for name, log in (("p", "log_prob"), ("p_low", "log_low"), ("p_high", "log_high")):
        prob = made.pop(name)
        made[log] = math.log(prob) if prob > 0.0 else -math.inf
    return made
