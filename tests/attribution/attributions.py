"""Attributions to be written, shown and compared: exact and drawn, with every odd thing in them."""

import json
from dataclasses import fields, is_dataclass, replace

import numpy as np

import likely
from likely.attribution import attribute
from likely.core.estimate import Estimate

LAW = {"a": {"a": 0.7, "b": 0.3}, "b": {"a": 0.2, "b": 0.8}, "<s>": {"a": 0.5, "b": 0.5}}


def chain(name="chain"):
    """Return the two-state Markov chain of the specification."""
    return likely.TableModel(["a", "b"], lambda before: LAW[before[-1]])


def words_model(tokens, *, seed=0, eos=None):
    """Return a random law over tokens in which each depends on the three before it."""

    def law(before):
        rng = np.random.default_rng([seed, *(ord(c) for token in before[-3:] for c in token)])
        return dict(zip(tokens, rng.dirichlet(np.ones(len(tokens))), strict=True))

    return likely.TableModel(tokens, law, eos=eos)


def exact(prompt="aab", response="ba", **options):
    """Return an exact attribution on the chain."""
    return attribute(chain(), prompt, response, method="exact", **options)


def drawn():
    """Return an attribution of some of 3,000 candidates, intervals and all."""
    letters = [chr(0x4E00 + i) for i in range(3000)]
    weight = 1.0 / np.arange(1, len(letters) + 1)

    def law(before):
        shift = sum(map(ord, before[-1])) % 997
        rolled = np.roll(weight, shift)
        return dict(zip(letters, (rolled / rolled.sum()).tolist(), strict=True))

    model = likely.TableModel(letters, law)
    return attribute(model, letters[5] + letters[9], letters[2] + letters[7], tolerance=0.3, kept=9)


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
