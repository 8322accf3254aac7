"""Attributions for tests of pages: exact ones of small tables, and one that is not converged."""

from dataclasses import replace

import numpy as np
import pytest

import likely
from likely.attribution import adaptive
from likely.attribution.question import attribute

WORDS = ("say", " red", " blue", " and", "\n", " rouge", " bleu", ".")
TRANSLATION = {" red": " rouge", " blue": " bleu"}
HOSTILE_WORDS = ("<script>alert(1)</script>", '" onmouseover="x', "</style>", "{{ 7 }}", "\u202e")


def translator(**options):
    """Return a model that says a colour, then its French, and that colours are alike likely."""

    def law(before):
        if before[-1] in TRANSLATION:
            rest = {" and": 0.1, "\n": 0.1}
            return {TRANSLATION[before[-1]]: 0.8} | rest
        if before[-1] == "say":
            return {" red": 0.5, " blue": 0.3, " and": 0.2}
        return dict.fromkeys(WORDS, 1 / len(WORDS))

    return likely.TableModel(WORDS, law, **{"name": "translator", **options})


def exact(**options):
    """Return how the colour of a prompt made its translation likely: exact."""
    return attribute(translator(), "say red", " rouge.", **options)


def surprised():
    """Return an attribution whose last token the rest of the prompt all but rules out.

    After "a" comes "b" in 99 of 100 cases; the response follows what does come.
    """
    law = {"a": {"b": 0.99, "c": 0.01}, "b": {"x": 0.999, "y": 0.001}, "c": {"y": 1.0}}
    model = likely.TableModel("abcxy", lambda before: law.get(before[-1], {"a": 1.0}))
    return attribute(model, "ac", "y", method="exact")


def hostile():
    """Return an attribution whose tokens and name try to break out of the page."""
    share = dict.fromkeys(HOSTILE_WORDS, 1 / len(HOSTILE_WORDS))
    model = likely.TableModel(HOSTILE_WORDS, lambda _: share, name=HOSTILE_WORDS[0])
    return attribute(model, "".join(HOSTILE_WORDS), HOSTILE_WORDS[1], method="exact")


def loose():
    """Return an attribution by draws that a small budget leaves wide."""
    tokens = [f" {i}" for i in range(400)]
    prior = np.arange(1.0, 401.0) ** -1.5
    prior /= prior.sum()
    rows = [
        dict(zip(tokens, np.roll(prior, 7 * shift).tolist(), strict=True)) for shift in range(10)
    ]
    model = likely.TableModel(tokens, lambda before: rows[len(before[-1]) + before[-1].count("1")])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(adaptive, "FIRST_SIZE", 40.0)
        found = attribute(model, " 10 3 11", " 50 6", tolerance=1e-6, budget=100.0)
    assert not found.converged
    return found


def many(found, n):
    """Return an attribution of a prompt of ``n`` tokens, with the places of another by turns."""
    case, places = found.case, found.places
    turns = [places[i % len(places)] for i in range(n)]
    stops = np.cumsum([len(place.text) for place in turns]).tolist()
    long = replace(
        case,
        prompt=tuple(place.tokens[0] for place in turns),
        prompt_text="".join(place.text for place in turns),
        spans=tuple(zip([0, *stops[:-1]], stops, strict=True)),
        roles=("text",) * n,
        positions=tuple(range(n)),
    )
    return replace(
        found,
        case=long,
        places=tuple(replace(place, positions=(i,)) for i, place in enumerate(turns)),
        excluded_mass=np.zeros(n),
    )
