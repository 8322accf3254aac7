"""Items and one-word models for tests of samples."""

from fractions import Fraction

import likely
from likely.calibration.data_sets.items import Option, make_item


def item(labels, ideal, values=None, lang="en", lead=" "):
    values = values or [None] * len(labels)
    return make_item(
        family="test", version=1, template_id="T", template="", context="It is", lang=lang,
        lead=lead, ideal=[Fraction(p) for p in ideal],
        options=[
            Option(label=label, words=(label,), value=None if v is None else Fraction(v))
            for label, v in zip(labels, values, strict=True)
        ],
    )  # fmt: skip


def words(probs):
    """A model that says one word and a full stop."""
    return likely.TableModel(
        ["It is", ".", *probs], lambda c: {".": 1.0} if c[-1] in probs else probs
    )


TWO = item(["red", "blue"], ["3/5", "2/5"])
