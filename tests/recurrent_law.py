"""A law over tokens in plain arrays that looks back over all of its text, fast enough to enumerate.

The state is ``h = decay * h + E[token]``, the next token's logits are ``scale * h @ W``: every
token moves all that comes after it, as in a language model, and rows are peaked.
"""

from functools import cache

import numpy as np

from likely.attribution.readings import Line
from likely.attribution.tree import TreeSearch
from likely.core.branches import Spending, check_growth, check_length

N_VOCAB = 30


class RecurrentStem:
    """A stem of such a law, with the states of its text kept."""

    reads_anew = False
    n_at_once = 40  # rows that come together, as they do of other branches

    def __init__(self, tokens, *, n_vocab, seed=0, width=8, decay=0.8, scale=1.0):
        rng = np.random.default_rng(seed)
        self.embed = rng.normal(size=(n_vocab, width))
        self.head = rng.normal(size=(width, n_vocab)) * scale
        self.decay = decay
        self.tokens = tuple(tokens)
        self.spending = Spending()
        self.states = np.zeros((len(tokens) + 1, width))
        for i, token in enumerate(self.tokens):
            self.states[i + 1] = decay * self.states[i] + self.embed[token]

    def rows(self, states):
        logits = states @ self.head
        top = logits.max(axis=-1, keepdims=True)
        return logits - top - np.log(np.exp(logits - top).sum(axis=-1, keepdims=True))

    def row(self, length):
        check_length(self.tokens, length)
        return self.rows(self.states[length])

    def branches(self, length, n):
        check_length(self.tokens, length)
        return RecurrentBranches(self, np.tile(self.states[length], (n, 1)))


@cache
def typical_text(n_vocab, n, *, seed=0, **options):
    """Draw a text of ``n`` tokens from the law itself, after token 0."""
    stem = RecurrentStem([0], n_vocab=n_vocab, seed=seed, **options)
    branch, rng, text = stem.branches(1, 1), np.random.default_rng(seed), []
    for _ in range(n):
        probs = np.exp(next(branch.iter_rows())[0])
        text.append(int(rng.choice(n_vocab, p=probs / probs.sum())))
        branch.append(np.array([[text[-1]]]))
    return tuple(text)


class RecurrentBranches:
    """Branches of it: their states are all that is kept."""

    def __init__(self, stem, states):
        self.stem, self.states = stem, states

    def __len__(self):
        return len(self.states)

    def append(self, tokens):
        check_growth(self, tokens)
        for column in tokens.T:
            self.states = self.stem.decay * self.states + self.stem.embed[column]
        self.stem.spending.add(tokens.size, 1, 0.0)

    def grow(self, tokens, *, last=False):
        found = np.empty(tokens.shape)
        for i, column in enumerate(tokens.T):
            found[:, i] = self.stem.rows(self.states)[np.arange(len(self)), column]
            self.append(column[:, None])
        return found

    def iter_rows(self):
        for start in range(0, len(self), self.stem.n_at_once):
            yield self.stem.rows(self.states[start : start + self.stem.n_at_once])

    def keep(self, index):
        self.states = self.states[index]


@cache
def open_stem(text, n_vocab, law, scale):
    return RecurrentStem(text, n_vocab=n_vocab, seed=law, scale=scale)


def tree(group, *, law=0, seed=0, n_vocab=N_VOCAB, scale=0.7, n_prompt=7, texts=None, allowed=None):
    """A search of a group in a typical text of a law, for one or more responses."""
    text = typical_text(n_vocab, n_prompt + 4, seed=law, scale=scale)
    prompt, responses = text[:n_prompt], texts or (text[n_prompt:],)
    stem = open_stem((0, *prompt), n_vocab, law, scale)
    line = Line(
        length=1 + group[0], places=group, tokens=np.array(prompt[group[0] :]),
        free=np.isin(np.arange(group[0], n_prompt), group),
        responses=tuple(np.array(one, dtype=np.int64) for one in responses),
    )  # fmt: skip
    allowed = np.arange(n_vocab) if allowed is None else allowed
    return TreeSearch(
        stem=stem, line=line, allowed=[allowed] * len(group),
        log_first=stem.row(line.length)[allowed], log_topic=np.full(n_vocab, -np.inf),
        rng=np.random.default_rng([seed, law, *group]),
    )  # fmt: skip
