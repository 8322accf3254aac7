"""Attributions to be written, shown and compared: exact and drawn, with every odd thing in them."""

import json
from dataclasses import fields, is_dataclass, replace
from functools import cache

import numpy as np
import pytest

import likely
from likely.attribution import adaptive, attribute
from likely.core.estimate import Estimate

LAW = {"a": {"a": 0.7, "b": 0.3}, "b": {"a": 0.2, "b": 0.8}, "<s>": {"a": 0.5, "b": 0.5}}


@cache
def chain():
    """Return the two-state Markov chain of the specification, the same one each time."""
    return likely.TableModel(["a", "b"], lambda before: LAW[before[-1]])


@cache
def words_model(tokens, *, seed=0, eos=None):
    """Return a random law over tokens in which each depends on the three before it."""

    def law(before):
        rng = np.random.default_rng([seed, *(ord(c) for token in before[-3:] for c in token)])
        return dict(zip(tokens, rng.dirichlet(np.ones(len(tokens))), strict=True))

    return likely.TableModel(tokens, law, eos=eos)


def exact(prompt="aab", response="ba", **options):
    """Return an exact attribution on the chain."""
    return attribute(chain(), prompt, response, method="exact", **options)


def draw(prompt=(5, 9), response=(2, 7), *, size=60, **options):
    """Return an attribution of some of 300 candidates, intervals and all.

    The first round is made small, so that a few candidates are few enough to be drawn from.
    """
    model = words_model(tuple(chr(0x4E00 + i) for i in range(300)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(adaptive, "FIRST_SIZE", float(size))
        return attribute(
            model, list(prompt), list(response), kept=9, **{"tolerance": 0.5, **options}
        )


@cache
def drawn():
    """Return such an attribution, the same one each time."""
    found = draw()
    assert not any(place.measures.score.is_exact for place in found.places)
    return found


def with_infinities(found):
    """Return an attribution whose first place holds infinities, as of an impossible candidate."""
    place = found.places[0]
    candidates = replace(place.candidates, log_response=np.full(len(place.candidates), -np.inf))
    endless = Estimate(
        value=float("inf"), low=0.5, high=float("inf"), level=0.9, unit="nats", method="drawn",
        diagnostics={"standard_error": float("inf"), "n_effective": 2.5, "n": 3, "law": "none"},
    )  # fmt: skip
    place = replace(
        place,
        bounds=(float("-inf"), float("inf")),
        candidates=candidates,
        measures=replace(place.measures, reverse_information=endless),
    )
    return replace(found, places=(place, *found.places[1:]))


def grouped(found):
    """Return an attribution whose first two places are one of two tokens."""
    first, second = found.places[:2]
    n = len(first.candidates)
    pair = replace(
        first,
        positions=(first.positions[0], second.positions[0]),
        tokens=first.tokens + second.tokens,
        text=first.text + second.text,
        candidates=replace(first.candidates, tokens=np.arange(2 * n).reshape(n, 2)),
    )
    return replace(found, places=(pair, *found.places[2:]), excluded_mass=found.excluded_mass[1:])


def same(first, second):
    """Return whether two values are of one type and equal to the last bit, arrays too."""
    if type(first) is not type(second):
        return False
    if is_dataclass(first):
        return all(same(getattr(first, f.name), getattr(second, f.name)) for f in fields(first))
    if isinstance(first, np.ndarray):
        return (
            first.dtype == second.dtype
            and first.shape == second.shape
            and first.tobytes() == second.tobytes()
        )
    if isinstance(first, dict):
        return list(first) == list(second) and all(same(first[k], second[k]) for k in first)
    if isinstance(first, tuple):
        return len(first) == len(second) and all(map(same, first, second))
    return first == second


def strict(text):
    """Return the value of strict JSON."""

    def refuse(name):
        raise AssertionError(f"{name} is no JSON")

    return json.loads(text, parse_constant=refuse)
