"""A model of colours of one token and of two, for tests of what lists leave out."""

import math
from fractions import Fraction

import numpy as np

import likely
from likely.calibration.access.spellings import Spelled
from likely.calibration.data_sets.items import Option, make_item

COLOURS = {
    "the": 0.55, "a": 0.3, " red": 0.1, "red": 0.02, " Red": 1e-4, "Red": 3e-7, " blue": 0.03,
    "blue": 1e-9, " Blue": 1e-12, "Blue": 0.0, " go": 2e-5, "ld": 1e-6,
}  # fmt: skip


def colours():
    """Two colours of one token, one of two; the law after a context sums to 1."""
    first = dict(COLOURS)
    first["the"] += 1.0 - math.fsum(first.values())

    def law(context):
        return {"ld": 0.004, "the": 0.9, "a": 0.096} if context[-1] == " go" else first

    return likely.TableModel([*COLOURS, "The draw is"], law, bos=None)


def item(*labels):
    return make_item(
        family="test", version=1, template_id="T", template="", context="The draw is",
        options=[Option(label=label, words=(label,)) for label in labels],
        ideal=[Fraction(1, len(labels))] * len(labels),
    )  # fmt: skip


def spelled(model, *options):
    ids = [tuple(tuple(model.tokenizer.encode(text).tokens) for text in texts) for texts in options]
    return Spelled(context=tuple(model.tokenizer.encode("The draw is").tokens), options=tuple(ids))


def truth(model, one):
    """Log-masses by rows."""
    masses = []
    for surfaces in one.options:
        total = 0.0
        for ids in surfaces:
            steps = [model.row((*one.context, *ids[:n]))[token] for n, token in enumerate(ids)]
            total += math.exp(sum(steps))
        masses.append(math.log(total))
    return np.array(masses)


RED = ("red", " red", "Red", " Red")
BLUE = ("blue", " blue", "Blue", " Blue")
GOLD = (" gold",)
