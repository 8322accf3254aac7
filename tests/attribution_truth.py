"""What tests of the attribution study are held against: enumeration that uses none of its code."""

import math
from contextlib import contextmanager
from dataclasses import dataclass

import jaxtyping
import numpy as np

import likely
from likely.attribution.adaptive import found_by, hunt_score, run_hunts
from likely.attribution.search import Search
from likely.attribution.search import guide as guide_draws
from likely.core.branches import Spending


def random_table(n_tokens=4, *, seed=0, bos="<s>", eos=None, concentration=0.7, max_tokens=None):
    """Return a table whose law after each context is a draw of its own, all of the context read."""
    tokens = [chr(ord("a") + i) for i in range(n_tokens)]

    def law(before):
        key = [seed, *(ord(piece[0]) for piece in before)]
        probs = np.random.default_rng(key).dirichlet(np.full(n_tokens, concentration))
        return dict(zip(tokens, (probs / probs.sum()).tolist(), strict=True))

    return likely.TableModel(tokens, law, bos=bos, eos=eos, max_tokens=max_tokens)


def chain(transition, start, names="ab"):
    """Return the table of a first-order Markov chain."""
    laws = {name: dict(zip(names, row, strict=True)) for name, row in zip(names, transition,
                                                                          strict=True)}  # fmt: skip
    laws["<s>"] = dict(zip(names, start, strict=True))
    return likely.TableModel(list(names), lambda before: laws[before[-1]])


def lse(log_weights, axis=-1):
    """Return the log of a sum, ``-inf`` for nothing."""
    return np.logaddexp.reduce(log_weights, axis=axis)


@dataclass(frozen=True)
class Truth:
    """Every number of one place by its definition, from w, a and b of every candidate.

    ``log_w`` and ``log_a`` have shape ``(V,)``, ``steps`` has shape ``(V, R)``, ``actual`` is the
    place of the token that stands there.
    """

    log_w: np.ndarray
    log_a: np.ndarray
    steps: np.ndarray
    actual: int

    @property
    def log_b(self):
        return self.steps.sum(axis=1)

    @property
    def log_d(self):
        return lse(self.log_w + self.log_a)

    @property
    def log_n(self):
        return lse(self.log_w + self.log_a + self.log_b)

    @property
    def log_q(self):
        return self.log_w + self.log_a - self.log_d

    @property
    def log_q_response(self):
        return self.log_w + self.log_a + self.log_b - self.log_n

    @property
    def scores(self):
        """AS(v) of every candidate."""
        return self.log_b - self.log_n + self.log_d

    def numbers(self):
        """Return what `Measures` calls its fields, each by its definition."""
        q, r = np.exp(self.log_q), np.exp(self.log_q_response)
        middle = (q + r) / 2
        return {
            "score": self.log_b[self.actual] - (self.log_n - self.log_d),
            "interventional": self.log_b[self.actual] - lse(self.log_w + self.log_b)
            + lse(self.log_w),
            "context_entropy": _entropy(q),
            "response_entropy": _entropy(r),
            "entropy_change": _entropy(q) - _entropy(r),
            "information": _divergence(r, q),
            "reverse_information": _divergence(q, r),
            "jensen_shannon": (_divergence(q, middle) + _divergence(r, middle)) / 2,
            "left_surprisal": -self.log_w[self.actual],
            "surprisal": -self.log_q[self.actual],
            "response_surprisal": -self.log_q_response[self.actual],
            "log_prompt_likelihood": self.log_d,
            "log_response_rest": self.log_n - self.log_d,
        }  # fmt: skip

    def laws(self):
        """Return the posterior after 0..R response tokens, shape ``(R + 1, V)``."""
        steps = np.cumsum(np.hstack([np.zeros((len(self.steps), 1)), self.steps]), axis=1)
        logs = (self.log_w + self.log_a)[:, None] + steps
        return np.exp(logs - lse(logs, axis=0)).T

    def matrix(self):
        """Return the share of each response token, shape ``(R,)``."""
        found = []
        for t in range(self.steps.shape[1]):
            before = self.log_w + self.log_a + self.steps[:, :t].sum(axis=1)
            after = before + self.steps[:, t]
            found.append(self.steps[self.actual, t] - (lse(after) - lse(before)))
        return np.array(found)

    def entropy_trace(self):
        return np.array([_entropy(law) for law in self.laws()])

    def information_trace(self):
        laws = self.laws()
        return np.array([_divergence(law, laws[0]) for law in laws])


def _entropy(law):
    held = law[law > 0.0]
    return float(-np.sum(held * np.log(held)))


def _divergence(law, other):
    held = law > 0.0
    with np.errstate(divide="ignore"):
        return float(np.sum(law[held] * (np.log(law[held]) - np.log(other[held]))))


def table_rows(model):
    """Return what `enumerated` reads of a table: from ids to the row after each of them."""
    return lambda ids: np.array([model.row(ids[: i + 1]) for i in range(len(ids))])


def enumerated(rows, case, position, *, n_tokens):
    """Return the truth of one position, each candidate put into the hole and read as a whole.

    Args:
        rows: From ids to the log-probabilities of the next one after each, shape ``(n, V)``.
        case: What is attributed.
        position: Of the prompt.
        n_tokens: Candidates are the ids below it.
    """
    before = case.context + case.prompt[:position]
    suffix = case.prompt[position + 1 :] + case.response
    log_w = rows(before)[-1, :n_tokens]
    log_w = log_w - lse(log_w)
    read = np.full((n_tokens, len(suffix)), -np.inf)
    for token in np.flatnonzero(np.isfinite(log_w)).tolist() if suffix else ():
        found = rows((*before, token, *suffix[:-1]))[len(before) :]
        read[token] = found[np.arange(len(suffix)), list(suffix)]
    n_prompt = len(case.prompt) - 1 - position
    return Truth(log_w, read[:, :n_prompt].sum(axis=1), read[:, n_prompt:], case.prompt[position])


def check_measures(measures, truth, *, atol):
    """Assert that exact measures are the truth's numbers, all of them, and claim to be exact."""
    for name, number in truth.numbers().items():
        found = getattr(measures, name)
        if name != "left_surprisal":
            assert found.is_exact, name
            found = found.value
        np.testing.assert_allclose(found, number, atol=atol, rtol=0.0, err_msg=name)
    np.testing.assert_allclose(measures.matrix, truth.matrix(), atol=atol, rtol=0.0)
    np.testing.assert_allclose(measures.entropy_trace, truth.entropy_trace(), atol=atol)
    np.testing.assert_allclose(measures.information_trace, truth.information_trace(), atol=atol)
    assert not measures.matrix_error.any()
    assert measures.omitted_context == 0.0
    assert measures.omitted_response == 0.0


class ArrayStem:
    """A stem over a matrix of log-probabilities: what a model would say of one place.

    Args:
        law: Of the place.
    """

    reads_anew = False

    def __init__(self, law):
        self.law = law
        self.tokens = (0,)
        self.spending = Spending()

    def row(self, length):
        return self.law.log_w

    def branches(self, length, n):
        return ArrayBranches(self, n)


class ArrayBranches:
    """Branches of an `ArrayStem`: the first token is the candidate, the rest must be the suffix."""

    def __init__(self, stem, n):
        self.stem = stem
        self.chosen = np.empty(n, dtype=np.int64)
        self.n_read = -1

    def __len__(self):
        return len(self.chosen)

    def grow(self, tokens, *, last=False):
        law = self.stem.law
        assert tokens.shape[0] == len(self)
        if self.n_read < 0:
            self.chosen, self.n_read = tokens[:, 0].copy(), 0
            return np.hstack([law.log_w[tokens[:, :1]], self.grow(tokens[:, 1:], last=last)])
        at = slice(self.n_read, self.n_read + tokens.shape[1])
        assert (tokens == law.suffix[at]).all()
        self.stem.spending.add(tokens.size, 1, 0.0)
        self.n_read += tokens.shape[1]
        return law.read[self.chosen, at]

    def keep(self, index):
        self.chosen = self.chosen[index]

    def append(self, tokens):
        raise AssertionError("a search scores every token that it appends")

    def iter_rows(self):
        raise AssertionError("a search asks for no rows of branches")


@dataclass(frozen=True)
class Law:
    """What a model says of every candidate of one place.

    ``log_w`` has shape ``(V,)``, ``read`` shape ``(V, T)``: of each suffix token after each
    candidate; the first ``n_prompt`` belong to the prompt. Candidate ``actual`` stands there.
    """

    name: str
    log_w: np.ndarray
    read: np.ndarray
    n_prompt: int
    actual: int

    @property
    def suffix(self):
        return np.arange(self.read.shape[1]) % 7

    @property
    def truth(self):
        return Truth(self.log_w, self.read[:, : self.n_prompt].sum(axis=1),
                     self.read[:, self.n_prompt :], self.actual)  # fmt: skip

    def search(self, seed, *, guide=None):
        """Return a search of the place, nothing evaluated yet; the prior guides it by default."""
        return Search(
            stem=ArrayStem(self), length=1, place=0, actual=self.actual,
            allowed=np.arange(len(self.log_w)), log_prior=self.log_w, suffix=self.suffix,
            n_prompt=self.n_prompt, rng=np.random.default_rng([91, seed]),
            log_guide=_unguided(self.log_w) if guide is None else guide,
        )  # fmt: skip


def _unguided(log_w):
    """Return how draws are allotted where no later text says what to look for."""
    return guide_draws(log_w, np.full(len(log_w), -np.inf))


def peaked_law(
    name,
    *,
    seed,
    n_vocab=5000,
    n_prompt=8,
    n_response=10,
    zipf=1.1,
    first=2.5,
    response=0.4,
    rank=3,
    lead=0.8,
):
    """Return a law as language models have them.

    The prior falls off as a power of the rank. The first suffix tokens tell candidates apart, the
    later ones less and less, down to a floor that never ends; the actual candidate does better
    than most.

    Args:
        name: Of the law.
        seed: Of everything drawn.
        n_vocab: Candidates.
        n_prompt: Suffix tokens of the prompt.
        n_response: Suffix tokens of the response.
        zipf: Power by which the prior falls off.
        first: Spread of the log-odds of the first suffix token.
        response: Spread of those of the first response token, which falls off as well.
        rank: Of the actual candidate under the prior.
        lead: Of the actual candidate over the mean one, in spreads.
    """
    rng = np.random.default_rng(seed)
    log_w = -zipf * np.log(np.arange(n_vocab) + 2.7) + 0.3 * rng.standard_normal(n_vocab)
    actual = int(np.argsort(-log_w)[rank])
    log_w = log_w - lse(log_w)
    spread = np.concatenate(
        [first * 0.6 ** np.arange(n_prompt), response * 0.6 ** np.arange(n_response)]
    )
    spread = np.maximum(0.05, spread)
    noise = rng.standard_normal((n_vocab, len(spread)))
    noise[actual] = lead * np.abs(noise[actual])
    log_odds = -1.5 * rng.exponential(size=len(spread)) + noise * spread
    return Law(name, log_w, -np.logaddexp(0.0, -log_odds), n_prompt, actual)


def peaked_laws():
    """Return laws that are hard in different ways."""
    return (
        peaked_law("ordinary", seed=1),
        peaked_law("long prompt", seed=2, n_prompt=30, n_response=20, rank=0),
        peaked_law("last position", seed=3, n_prompt=0, n_response=20, response=1.2, rank=30),
        peaked_law("flat prior", seed=4, zipf=0.4, n_prompt=3, first=1.5, rank=200),
        peaked_law("response decides", seed=5, n_prompt=4, first=0.8, response=3.0, rank=60),
        peaked_law("next token decides", seed=6, n_prompt=10, first=6.0, rank=0),
        peaked_law("forced", seed=7, n_prompt=10, first=4.0, rank=0, lead=4.0),
    )


def found_within(search, *, tolerance, level=0.95, budget=math.inf):
    """Return what a hunt for the score of one place finds within a budget."""
    hunt = hunt_score(search, tolerance=tolerance, level=level)
    run_hunts([hunt], budget=budget)
    return found_by(hunt, level=level)


def found_exactly(search, *, level=0.95):
    """Return what all candidates of one place say."""
    hunt = hunt_score(search, tolerance=1.0, level=level)
    hunt.exhaust()
    return found_by(hunt, level=level)


@contextmanager
def unchecked_shapes():
    """Leave types and shapes unchecked for a while: thousands of rounds take twice as long else."""
    jaxtyping.config.update("jaxtyping_disable", True)
    try:
        yield
    finally:
        jaxtyping.config.update("jaxtyping_disable", False)
