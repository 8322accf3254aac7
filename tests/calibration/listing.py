"""A model that lists only its likeliest tokens, over a table that knows them all."""

from dataclasses import replace

import numpy as np

from likely.core.model import Capability, TopTokens


class Listing:
    """A table that lists only its likeliest tokens, as some servers do."""

    def __init__(self, table, k):
        self._table, self.tokenizer, self.lists = table, table.tokenizer, []
        self.info = replace(
            table.info, details={"top_k": k},
            capabilities=frozenset({Capability.CONTINUATION, Capability.TOP_TOKENS}),
        )  # fmt: skip

    def top(self, prefix):
        row, k = self._table.row(prefix), self.info.details["top_k"]
        order = np.argsort(-row, kind="stable")[:k]
        rest = np.delete(row, order)
        return TopTokens(
            tokens=tuple(order.tolist()), pieces=tuple(self.tokenizer.strings[i] for i in order),
            log_probs=tuple(row[order].tolist()), log_prob_elsewhere=float(rest.max()),
            log_mass_elsewhere=float(np.logaddexp.reduce(rest)),
        )  # fmt: skip

    def evaluate(self, work, sink):
        for node in np.union1d(work.pair_nodes, work.top_nodes):
            top = self.top(work.trie.prefix(int(node)))
            self.lists.append(int(node))
            first, last = np.searchsorted(work.pair_nodes, [node, node + 1])
            for i in range(first, last):
                token = int(work.pair_targets[i])
                listed = dict(zip(top.tokens, top.log_probs, strict=True))
                value = listed.get(token, top.log_prob_elsewhere)
                sink.put_pairs(np.array([i]), np.array([value]), np.array([token not in listed]))
            if node in work.top_nodes:
                sink.put_top(int(node), top)
        sink.spend(tokens=len(work.trie), calls=1, seconds=0.0)
