"""Small items, and tables that answer them by a law that is known."""

import hashlib
import math
from fractions import Fraction
from functools import cache

import numpy as np

import likely
from likely.calibration.data_sets.items import Option, make_item


def question(context, labels, *, ideal=None, words=None, lead=" ", number=0):
    """Return an item of these options; numbers get their values."""
    n = len(labels)
    options = tuple(
        Option(
            label=label,
            words=(label,) if words is None else tuple(words[label]),
            value=Fraction(label) if label.isdigit() else None,
        )
        for label in labels
    )
    return make_item(
        family="tests", version=1, template_id="T", template=context, context=context,
        options=options, ideal=ideal or (Fraction(1, n),) * n, lead=lead, has_twin=False,
        meta={"number": number},
    )  # fmt: skip


def answering(laws, **options):
    """Return a table of one token a context and a spelling.

    Args:
        laws: From the text of a context to the probability of each spelling after it; the rest is
            that of another token, which also follows everything else.
        options: Of the table.
    """
    spellings = dict.fromkeys(form for law in laws.values() for form in law)

    def law(context):
        known = laws.get(context[-1], {})
        rest = 1.0 - math.fsum(known.values())
        return {**known, "~": max(0.0, rest)}

    return likely.TableModel([*laws, *spellings, "~"], law, **options)


def hashed(tokens, **options):
    """Return a table whose law differs after every prefix, without any pattern."""

    @cache
    def law(context):
        digest = hashlib.blake2b(repr(context).encode(), digest_size=8).digest()
        weights = np.random.default_rng(int.from_bytes(digest, "little")).exponential(
            size=len(tokens)
        )
        return dict(zip(tokens, (weights / weights.sum()).tolist(), strict=True))

    return likely.TableModel(tokens, law, **options)


def naive_log_prob(model, context, tokens):
    """Return the log-probability of ids after ids, one row of the table at a time."""
    prefix = list(context)
    total = 0.0
    for token in tokens:
        total += float(model.row(prefix)[token])
        prefix.append(token)
    return total
