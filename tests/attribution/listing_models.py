"""Models that tell no whole rows, and a table fast enough to have many tokens."""

from dataclasses import replace

import numpy as np

import likely
from likely.core.engine import list_likeliest
from likely.core.model import Capability


class Listing:
    """A table that lists its ``k`` likeliest next tokens and scores any text, as servers do."""

    def __init__(self, table, *, k, untold=(), name="listing"):
        self.table = table
        self.tokenizer = table.tokenizer
        self.untold = untold  # ids of which it tells no more than a bound
        gives = {Capability.CONTINUATION, Capability.TOP_TOKENS}
        self.info = replace(
            table.info, name=name, capabilities=frozenset(gives), details={"top_k": k}
        )

    def evaluate(self, work, sink):
        assert not len(work.row_nodes)
        for pair, (node, target) in enumerate(zip(work.pair_nodes, work.pair_targets, strict=True)):
            row = self.table.row(work.trie.prefix(int(node)))
            is_bound = int(target) in self.untold
            value = self._top(row, self.info.details["top_k"]).log_prob_elsewhere
            sink.put_pairs(
                np.array([pair]), np.array([value if is_bound else row[target]]),
                np.array([is_bound]),
            )  # fmt: skip
        for node in work.top_nodes:
            row = self.table.row(work.trie.prefix(int(node)))
            sink.put_top(int(node), self._top(row, work.top_k))
        tokens = sum(len(work.trie.prefix(int(leaf))) + 1 for leaf in work.trie.leaves())
        sink.spend(tokens=tokens, calls=len(work.trie.leaves()), seconds=0.0)

    def _top(self, row, k):
        """What servers list; tokens of probability 0 are kept back."""
        return list_likeliest(self, row, k=min(k, int(np.isfinite(row).sum())))


def wide_table(n, *, seed=0, order=3, scale=2.5):
    """A law over n tokens, all possible, that depends on the last few tokens."""
    words = [f"{i:04d}" for i in range(n)]
    table = likely.TableModel(words, lambda context: {}, bos=None, fingerprint=f"wide {n} {seed}")
    known = {}

    def row(prefix):
        key = tuple(int(token) for token in prefix[-order:])
        if key not in known:
            logits = scale * np.random.default_rng([seed, *key]).standard_normal(n)
            known[key] = logits - np.logaddexp.reduce(logits)
        return known[key]

    table.row = row
    return table
