"""The engine: answers in order, nothing evaluated twice, and bad numbers stopped at the door."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import likely
from likely.core.engine import Continuation, Hidden, Reduction, Row, Top, evaluate
from likely.core.model import Capability, TopTokens
from likely.errors import CapabilityError, InputError, NumericalError

TOKENS = ["a", "b", "c"]


def law(context):
    weights = [1.0 + context.count("a"), 2.0, 1.0 + len(context) % 2]
    return {t: w / sum(weights) for t, w in zip(TOKENS, weights, strict=True)}


def table(**options):
    return likely.TableModel(TOKENS, law, fingerprint="engine", **options)


class Wrapped:
    """A table whose numbers pass through ``change`` on their way to the sink."""

    def __init__(self, change=lambda kind, array: array, capabilities=None):
        self._table = table()
        self._change = change
        self.info = replace(
            self._table.info, capabilities=capabilities or self._table.info.capabilities
        )
        self.tokenizer = self._table.tokenizer
        self.n_calls = 0

    def evaluate(self, work, sink):
        self.n_calls += 1
        self._table.evaluate(work, _Between(sink, self._change))


class _Between:
    def __init__(self, sink, change):
        self._sink, self._change = sink, change
        self.spend = sink.spend

    def put_pairs(self, index, log_probs, censored=None):
        changed = self._change("pairs", log_probs)
        if changed is not None:
            self._sink.put_pairs(index, changed, censored)

    def put_rows(self, nodes, log_probs):
        changed = self._change("rows", log_probs)
        if changed is not None:
            self._sink.put_rows(nodes, changed)

    def put_hidden(self, nodes, vectors):
        raise AssertionError("a table has no hidden states")

    def put_top(self, node, top):
        raise AssertionError("a table gives whole rows")


class Dict:
    """A score cache in memory that counts what it is asked."""

    def __init__(self):
        self.kept = {}
        self.n_put = []

    def get_many(self, keys):
        return {key: self.kept[key] for key in keys if key in self.kept}

    def put_many(self, items):
        items = list(items)
        self.n_put.append(len(items))
        self.kept.update(items)


ids = st.lists(st.integers(0, 2), min_size=1, max_size=4).map(tuple)
biggest = Reduction(name="biggest", apply=lambda rows: rows.max(axis=1))
# Plain data, made into requests inside the test: the annotation hook draws random numbers when a
# request is made, which hypothesis forbids inside a strategy.
plain = st.lists(
    st.tuples(
        st.sampled_from(["continuation", "row", "reduced", "top"]), ids, ids, st.integers(1, 3)
    ),
    max_size=12,
)


def requests(drawn):
    made = {
        "continuation": lambda prefix, target, k: Continuation(prefix=prefix, target=target),
        "row": lambda prefix, target, k: Row(prefix=prefix),
        "reduced": lambda prefix, target, k: Row(prefix=prefix, reduction=biggest),
        "top": lambda prefix, target, k: Top(prefix=prefix, k=k),
    }
    return [made[kind](prefix, target, k) for kind, prefix, target, k in drawn]


def expected(request):
    model = table()
    if isinstance(request, Continuation):
        heads = [request.prefix + request.target[:i] for i in range(len(request.target))]
        return [model.row(h)[t] for h, t in zip(heads, request.target, strict=True)]
    row = model.row(request.prefix)
    if isinstance(request, Top):
        return np.sort(row)[::-1][: request.k]
    return row.max() if request.reduction else row


@given(plain)
def test_answers_come_in_the_order_of_the_requests(drawn):
    asked = requests(drawn)
    answers = evaluate(table(), asked)
    assert len(answers) == len(asked)
    for request, answer in zip(asked, answers.answers, strict=True):
        assert answer.values == pytest.approx(expected(request), abs=1e-12)


@given(plain)
def test_each_distinct_prefix_costs_one_evaluation_however_often_it_is_asked(drawn):
    asked = requests(drawn)
    heads = [
        request.prefix + (request.target[:-1] if isinstance(request, Continuation) else ())
        for request in asked
    ]
    distinct = {head[:n] for head in heads for n in range(1, len(head) + 1)}
    assert evaluate(table(), asked * 2).cost.token_evaluations == len(distinct)


@given(plain)
def test_what_the_cache_knows_costs_nothing_and_is_the_same(drawn):
    asked = requests(drawn)
    cache = Dict()
    first = evaluate(table(), asked, cache=cache)
    kept = [r for r in asked if not isinstance(r, Top)]
    again = evaluate(table(), kept, cache=cache)
    assert again.cost.token_evaluations == again.cost.model_calls == 0
    assert again.cost.cached == len(kept)
    fresh = [a for r, a in zip(asked, first.answers, strict=True) if not isinstance(r, Top)]
    for a, b in zip(fresh, again.answers, strict=True):
        assert a.values.shape == b.values.shape
        assert a.values.tobytes() == b.values.tobytes()


def test_only_what_is_missing_is_evaluated():
    cache, model = Dict(), Wrapped()
    known, new = Continuation(prefix=(0,), target=(1,)), Continuation(prefix=(2,), target=(1, 0))
    evaluate(model, [known], cache=cache)
    mixed = evaluate(model, [new, known], cache=cache)
    assert (mixed.cost.cached, mixed.cost.token_evaluations) == (1, 2)
    assert model.n_calls == 2
    evaluate(model, [new, known], cache=cache)
    assert model.n_calls == 2


def test_the_key_tells_kinds_and_modes_apart():
    cache = Dict()
    asked = [
        Row(prefix=(0,)),
        Row(prefix=(0,), reduction=biggest),
        Continuation(prefix=(0,), target=(1,)),
        Continuation(prefix=(0, 1), target=(1,)),
        Continuation(prefix=(0,), target=(1, 1)),
    ]
    evaluate(table(), asked, cache=cache)
    evaluate(table(), asked, cache=cache, settings=likely.Settings(deterministic=True))
    assert len(cache.kept) == 2 * len(asked)


def test_deterministic_mode_keeps_each_finished_request():
    cache = Dict()
    asked = [Continuation(prefix=(0,), target=(i,)) for i in range(3)]
    answers = evaluate(table(), asked, cache=cache, settings=likely.Settings(deterministic=True))
    assert cache.n_put == [1, 1, 1]
    assert answers.cost.model_calls == 3


def test_progress_done_before_a_failure_is_kept():
    def fail_on_third(kind, array):
        seen.append(kind)
        return np.full_like(array, np.nan) if len(seen) == 3 else array

    seen, cache = [], Dict()
    asked = [Continuation(prefix=(0,), target=(i,)) for i in range(3)]
    with pytest.raises(NumericalError):
        evaluate(
            Wrapped(fail_on_third), asked, cache=cache,
            settings=likely.Settings(deterministic=True),
        )  # fmt: skip
    assert len(cache.kept) == 2


@pytest.mark.parametrize("bad", [math.nan, 0.5, math.inf])
def test_a_number_that_is_no_log_prob_is_an_error_that_names_the_text(bad):
    model = Wrapped(lambda kind, array: np.full_like(array, bad))
    with pytest.raises(NumericalError, match=r"'table' after 'ab'"):
        evaluate(model, [Continuation(prefix=(0, 1), target=(2,))])


def test_the_culprit_is_named_among_many():
    def spoil(kind, array):
        places.append(len(array))
        return np.where(len(places) == 2, np.nan, array)

    places = []
    asked = [Continuation(prefix=(i,), target=(0,)) for i in (2, 0, 1)]
    with pytest.raises(NumericalError, match=r"after 'b'"):
        evaluate(Wrapped(spoil), asked)


@pytest.mark.parametrize("shift", [1e-3, math.nan])
def test_a_row_that_does_not_sum_to_one_is_an_error_that_names_the_text(shift):
    model = Wrapped(lambda kind, array: array + shift)
    with pytest.raises(NumericalError, match=r"after 'a'.*sum to"):
        evaluate(model, [Row(prefix=(0,))])


@pytest.mark.parametrize(
    "request_", [Continuation(prefix=(0,), target=(1,)), Row(prefix=(0,)), Top(prefix=(0,), k=1)]
)
def test_an_answer_that_never_comes_is_an_error(request_):
    with pytest.raises(NumericalError, match="after 'a'"):
        evaluate(Wrapped(lambda kind, array: None), [request_])


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        (Continuation(prefix=(), target=(1,)), "nothing stands before"),
        (Continuation(prefix=(0,), target=()), "at least one token"),
        (Continuation(prefix=(0,), target=(4,)), "token id 4 is out of range"),
        (Continuation(prefix=(-1,), target=(0,)), "token id -1 is out of range"),
        (Row(prefix=(0, 9)), "token id 9"),
        (Row(prefix=(0, 1, 2)), "has 2"),
        (Continuation(prefix=(0, 1), target=(2, 0)), "has 2"),
    ],
)
def test_requests_that_cannot_be_answered_are_refused_before_any_cost(request_, said):
    with pytest.raises(InputError, match=said):
        evaluate(table(max_tokens=2), [request_])


def test_the_last_target_needs_no_place_in_the_context():
    answers = evaluate(table(max_tokens=2), [Continuation(prefix=(0,), target=(1, 2))])
    assert answers.cost.token_evaluations == 2


def test_capabilities_are_asked_before_the_model():
    model = Wrapped(capabilities=frozenset({Capability.CONTINUATION}))
    for request_ in (Row(prefix=(0,)), Top(prefix=(0,), k=1), Hidden(prefix=(0,))):
        with pytest.raises(CapabilityError, match="those that have"):
            evaluate(model, [request_])
    assert model.n_calls == 0


def test_the_meter_is_told_all_tokens_once():
    class Meter:
        expected = done = 0

        def expect(self, tokens):
            self.expected += tokens

        def advance(self, tokens):
            self.done += tokens

    meter = Meter()
    evaluate(table(), [Continuation(prefix=(0, 1), target=(2, 0)), Row(prefix=(0, 1))], meter=meter)
    assert meter.expected == meter.done == 3


class TopOnly:
    """A model that knows only its two likeliest tokens, and censors every other score."""

    def __init__(self):
        self._table = table()
        self.tokenizer = self._table.tokenizer
        self.info = replace(
            self._table.info,
            capabilities=frozenset({Capability.CONTINUATION, Capability.TOP_TOKENS}),
        )

    def evaluate(self, work, sink):
        for i, (node, target) in enumerate(zip(work.pair_nodes, work.pair_targets, strict=True)):
            row = self._table.row(work.trie.prefix(int(node)))
            second = np.sort(row)[-2]
            value = max(float(row[target]), float(second))
            sink.put_pairs(np.array([i]), np.array([value]), np.array([row[target] < second]))
        for node in work.top_nodes.tolist():
            row = self._table.row(work.trie.prefix(node))
            order = np.argsort(-row)[: work.top_k]
            rest = np.delete(row, order)
            sink.put_top(
                node,
                TopTokens(
                    tokens=tuple(order.tolist()), pieces=tuple(TOKENS[i] for i in order),
                    log_probs=tuple(row[order].tolist()), log_prob_elsewhere=float(rest.max()),
                    log_mass_elsewhere=float(np.logaddexp.reduce(rest)),
                ),
            )  # fmt: skip
        sink.spend(tokens=len(work.trie), calls=1, seconds=0.0)


def test_bounds_stay_bounds_through_the_engine_and_the_cache():
    cache = Dict()
    asked = [Continuation(prefix=(0, 1), target=(t,)) for t in range(3)]
    fresh, again = (evaluate(TopOnly(), asked, cache=cache) for _ in range(2))
    for answers in (fresh, again):
        censored = [a.censored is not None and bool(a.censored[0]) for a in answers.answers]
        assert censored == [False, False, True]
    scores = likely.score(TopOnly(), [("ab", "c")], bos="never")
    assert scores[0].bounds[0] == -math.inf
    assert "censored" in scores[0].flags
    assert scores.summary().startswith("<=")


def test_a_model_without_rows_gives_its_top_tokens_with_a_bound():
    top, _ = likely.top_tokens(TopOnly(), [0], 2)
    row = table().row((0,))
    assert top.log_probs == pytest.approx(sorted(row)[::-1][:2])
    assert top.log_prob_elsewhere == pytest.approx(sorted(row)[::-1][2])


def test_answers_over_bounds_are_bounds():
    answers = likely.score_answers(TopOnly(), [[0, 1]], {"a": ["a"], "c": ["c"]}, word_end="never")[
        0
    ]
    assert [sorted(a.flags) for a in answers] == [[], ["censored"]]
    with pytest.raises(InputError, match="bound"):
        answers.renormalised()
    with pytest.raises(CapabilityError, match="word_end='never'"):
        likely.score_answers(TopOnly(), [[0]], ["a", "b"], level="exact", word_end="always")


@pytest.mark.parametrize("model", [TopOnly(), table()])
def test_lists_of_the_likeliest_come_back_from_the_cache_whole(model):
    cache = Dict()
    asked = [Top(prefix=(0, 1), k=2), Top(prefix=(0,), k=2), Top(prefix=(0,), k=1)]
    asked = asked[:2] if isinstance(model, TopOnly) else [*asked, Top(prefix=(0,), k=9)]
    fresh, again = (evaluate(model, asked, cache=cache) for _ in range(2))
    assert (again.cost.token_evaluations, again.cost.cached) == (0, len(asked))
    for a, b in zip(fresh.answers, again.answers, strict=True):
        assert a.top == b.top
        assert np.array_equal(a.values, b.values)


def test_no_requests_cost_nothing():
    answers = evaluate(table(), [])
    assert (len(answers), answers.cost.model_calls) == (0, 0)
