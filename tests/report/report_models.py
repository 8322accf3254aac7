"""Models for the report's tests: exact tables, hostile names, and a server-like one."""

import re
from collections import Counter, defaultdict
from dataclasses import replace

import numpy as np

import likely
from likely.core.model import Capability, TopTokens

HOSTILE = (
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(1)>",
    '" onmouseover="alert(1)',
    "' style='position:fixed",
    "{{ 7 * 7 }}{% raw %}",
    "<!--<script>",
    "]]>&amp;&#60;",
    "</style></title><svg/onload=alert(1)>",
    "\u202eevil\u2028\x00",
    "x" * 400,
)


def bigram_model(text, **options):
    """Return a table that gives each token its smoothed share after the token before it."""
    pieces = re.findall(r" ?[A-Za-z]+|\n\n| ?[^A-Za-z\s]+| ", text)
    assert "".join(pieces) == text
    vocabulary = sorted(set(pieces))
    after = defaultdict(Counter)
    for last, piece in zip(["<s>", *pieces], pieces, strict=False):
        after[last][piece] += 1

    def next_probs(context):
        counts = after[context[-1]]
        total = sum(counts.values()) + 0.1 * len(vocabulary)
        return {piece: (counts[piece] + 0.1) / total for piece in vocabulary}

    return likely.TableModel(vocabulary, next_probs, **{"name": "table of pairs", **options})


def coin(heads=0.25, **options):
    """Return independent tosses: every number follows from one probability."""
    return likely.TableModel(["H", "T"], lambda _: {"H": heads, "T": 1.0 - heads}, **options)


def hostile_model():
    """Return a uniform table whose tokens, name and details all try to break out of the page."""
    share = {token: 1 / len(HOSTILE) for token in HOSTILE}
    table = likely.TableModel(HOSTILE, lambda _: share, name="".join(HOSTILE[:8]), bos=HOSTILE[1])
    details = {token: token for token in HOSTILE}
    return Changed(table, fingerprint=HOSTILE[1], backend=HOSTILE[0], details=details)


class Changed:
    """A table model with other facts about itself."""

    def __init__(self, table, **changes):
        self.table = table
        self.info = replace(table.info, **changes)
        self.tokenizer = table.tokenizer

    def evaluate(self, work, sink):
        self.table.evaluate(work, sink)


class TopOnly(Changed):
    """A table that tells only the ``k`` likeliest tokens, as many servers do."""

    def __init__(self, table, k, *, has_pairs=True):
        has = {Capability.TOP_TOKENS} | ({Capability.CONTINUATION} if has_pairs else set())
        super().__init__(table, capabilities=frozenset(has))
        self.k = k

    def evaluate(self, work, sink):
        for node in np.union1d(work.pair_nodes, work.top_nodes):
            row = self.table.row(work.trie.prefix(int(node)))
            told = np.argsort(-row, kind="stable")[: self.k]
            mass = float(np.log1p(-np.exp(row[told]).sum()))
            bound = min(mass, float(row[told[-1]]))
            index = np.flatnonzero(work.pair_nodes == node)
            targets = work.pair_targets[index]
            hidden = ~np.isin(targets, told)
            values = np.where(hidden, bound, row[targets])
            if len(index):
                sink.put_pairs(index, values, hidden)
            if node in work.top_nodes:
                sink.put_top(int(node), self.top(row, told[: work.top_k], bound, mass))
        sink.spend(tokens=len(work.trie), calls=1, seconds=0.0)

    def top(self, row, told, bound, mass):
        return TopTokens(
            tokens=tuple(int(i) for i in told),
            pieces=tuple(self.tokenizer.decode([int(i)]) for i in told),
            log_probs=tuple(float(x) for x in row[told]),
            log_prob_elsewhere=bound,
            log_mass_elsewhere=mass,
        )
