"""Items on models: exact masses, the same whatever the order, and nothing evaluated twice."""

import gc
import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from listing import Listing
from questions import answering, hashed, naive_log_prob, question

import likely
from likely.calibration import scoring
from likely.calibration.access.partial import partial_metrics
from likely.calibration.data_sets.family import build
from likely.calibration.data_sets.items import Item, Option
from likely.calibration.metrics import measure
from likely.calibration.scoring import iter_scored, score_items
from likely.calibration.surface_kinds import KINDS, option_surfaces, surface_kind
from likely.calibration.tables import targets
from likely.core.model import Capability
from likely.core.trie import build_trie
from likely.errors import CapabilityError, InputError, NumericalError

POLICIES = {
    "calibrated": lambda item: [float(p) for p in item.ideal],
    "pick_first": lambda item: [1.0, 0.0],
    "pick_second": lambda item: [0.0, 1.0],
    "pick_higher": lambda item: [float(p == max(item.ideal)) for p in item.ideal],
    "uniform": lambda item: [0.5, 0.5],
    "null": lambda item: [0.0, 0.0],
    "leaky": lambda item: [0.7 * float(p) for p in item.ideal],
}
SPREAD = (0.1, 0.6, 0.05, 0.25)
"""Shares of the four spellings of a word: bare, spaced, bare and spaced capitalised."""


def items_of_colors(n=40):
    items = build("colors", preset="smoke")
    return [items[i] for i in range(0, len(items), len(items) // n)][:n]


def policy_model(items, policy, *, spread=(0.0, 1.0, 0.0, 0.0), **options):
    """Return a table that gives each option of each item its share, over the four spellings."""
    laws = {}
    for item in items:
        law = laws.setdefault(item.context, {})
        for option, share in zip(item.options, POLICIES[policy](item), strict=True):
            forms = likely.surfaces(option.label)
            law |= {form: share * part for form, part in zip(forms, spread, strict=True)}
    return answering(laws, **options)


@pytest.mark.parametrize("spread", [(0.0, 1.0, 0.0, 0.0), SPREAD])
@pytest.mark.parametrize("policy", POLICIES)
def test_the_law_of_a_policy_comes_back_exactly(policy, spread):
    items = items_of_colors()
    scored = score_items(policy_model(items, policy, spread=spread), items)
    wanted = np.array([POLICIES[policy](item) for item in items])
    assert np.exp(scored.masses.log_mass) == pytest.approx(wanted.ravel(), abs=1e-12)
    assert np.exp(scored.log_other) == pytest.approx(1 - wanted.sum(axis=1), abs=1e-9)
    assert scored.masses.is_exact.all()
    assert (scored.n_surfaces == 8).all()
    assert not scored.has_word_ends.any()
    if policy == "null":
        assert np.isnan(scored.shares).all()
    else:
        assert scored.shares == pytest.approx(np.tile([*spread, 0.0], (len(items), 1)), abs=1e-9)


def test_the_exact_level_has_the_spelling_that_the_context_needs_alone():
    items = items_of_colors(4)
    scored = score_items(policy_model(items, "calibrated", spread=SPREAD), items, level="exact")
    wanted = np.array([[0.6 * float(p) for p in item.ideal] for item in items])
    assert np.exp(scored.masses.log_mass) == pytest.approx(wanted.ravel(), abs=1e-12)
    assert (scored.n_surfaces == 2).all()


CHARS = [chr(code) for code in range(32, 127)]
WORDS = (["ab", "cab"], ["a", "ab", "abc"], ["10", "1", "100"], ["7", "8", "9"], ["bad", "dab"])
ITEMS = [
    question(context, labels)
    for labels, context in itertools.product(WORDS, ["a:", "ab:", "cab: 1"])
]


def characters(**options):
    """A table over characters in which every prefix has a law of its own."""
    return hashed(CHARS, eos="</s>", **options)


def naive_mass(model, item, option):
    """Return the log-probability of an option, one row of the table after the other."""
    labels = [o.label for o in item.options]
    is_number = all(label.isdigit() for label in labels)
    has_ends = is_number or any(a != b and b.startswith(a) for a in labels for b in labels)
    ends = [c for c in CHARS if not (c.isdigit() if is_number else c.isalnum() or c in "'-")]
    context = (model.info.bos_id, *model.tokenizer.encode(item.context).tokens)
    total = []
    for form in option_surfaces(option, item.lead):
        tokens = model.tokenizer.encode(form).tokens
        value = naive_log_prob(model, context, tokens)
        if has_ends:
            row = model.row((*context, *tokens))
            over = [*(model.tokenizer.index[c] for c in ends), model.info.bos_id, model.info.eos_id]
            value += np.logaddexp.reduce(row[over])
        total.append(value)
    return np.logaddexp.reduce(total)


def test_scores_are_those_of_one_sequence_for_each_spelling():
    model = characters()
    scored = score_items(model, ITEMS)
    wanted = [naive_mass(model, item, option) for item in ITEMS for option in item.options]
    assert scored.masses.log_mass == pytest.approx(wanted, abs=1e-10)
    ends = ["a/ab" in item.option_pair_id or item.options[0].value for item in ITEMS]
    assert scored.has_word_ends.tolist() == [bool(end) for end in ends]
    totals = np.add.reduceat(np.exp(scored.masses.log_mass), scored.masses.offsets[:-1])
    assert np.exp(scored.log_other) == pytest.approx(1.0 - totals, abs=1e-12)


def same(a, b):
    """Whether two results are the same numbers."""
    return (
        np.array_equal(a.masses.offsets, b.masses.offsets)
        and np.array_equal(a.masses.log_mass, b.masses.log_mass)
        and np.array_equal(a.log_other, b.log_other)
        and np.array_equal(a.shares, b.shares, equal_nan=True)
        and (a.flags, a.n_surfaces.tolist()) == (b.flags, b.n_surfaces.tolist())
    )


@pytest.mark.parametrize("batch", [1, 4])
def test_scores_do_not_depend_on_the_batch(batch):
    model = characters()
    assert same(score_items(model, ITEMS, batch=batch), score_items(model, ITEMS))


def test_scores_do_not_depend_on_the_window(monkeypatch):
    model = characters()
    whole = score_items(model, ITEMS)
    monkeypatch.setattr(scoring, "WINDOW", 6)
    assert same(score_items(model, ITEMS, batch=4), whole)


FEW = ITEMS[::2]
MODEL = hashed(CHARS, eos="</s>")


@settings(max_examples=6)
@given(st.permutations(range(len(FEW))), st.integers(1, 9))
def test_each_item_keeps_its_own_numbers_in_any_order(order, batch):
    shuffled = score_items(MODEL, [FEW[i] for i in order], batch=batch)
    for place in (0, len(order) - 1):
        alone = score_items(MODEL, [FEW[order[place]]])
        own = slice(*shuffled.masses.offsets[place : place + 2])
        assert np.array_equal(shuffled.masses.log_mass[own], alone.masses.log_mass)
        assert shuffled.log_other[place] == alone.log_other[0]


def test_batches_on_a_network_agree_to_rounding(gpt2):
    items = [
        question(f"{a} and {b}. The word:", ["red", "blue", "12"]) for a in "xyz" for b in "uv"
    ]
    batches = [score_items(gpt2, items, batch=n).masses.log_mass for n in (1, 9)]
    plain = score_items(gpt2, items, settings=likely.Settings(method="full"))
    for other in (batches[1], plain.masses.log_mass):
        assert other == pytest.approx(batches[0], abs=1e-5)


def test_each_prefix_is_evaluated_once_in_a_batch():
    model = characters()
    sequences = []
    for item in ITEMS:
        context = (model.info.bos_id, *model.tokenizer.encode(item.context).tokens)
        for option in item.options:
            for form in option_surfaces(option, item.lead):
                tokens = model.tokenizer.encode(form).tokens
                is_last_needed = item.options[0].value is not None or "a/ab" in item.option_pair_id
                sequences.append(context + (tokens if is_last_needed else tokens[:-1]))
    trie, _ = build_trie(sequences)
    assert score_items(model, ITEMS).cost.token_evaluations == len(trie)


def test_sorted_batches_hardly_evaluate_a_prefix_twice():
    items = items_of_colors(40)
    model = hashed(CHARS)
    whole = score_items(model, items, batch=len(items)).cost.token_evaluations
    cut = score_items(model, items, batch=10).cost.token_evaluations
    longest = max(len(item.context) for item in items) + 1
    assert whole < cut <= whole + 3 * longest


def test_a_prefix_free_set_that_holds_every_text_has_all_the_mass():
    model = hashed(["a", "b"], bos="<s>")
    items = [
        question(context, ["aa", "aba", "abb", "b"], lead="") for context in ("a", "b", "ab", "bb")
    ]
    scored = score_items(model, items, level="exact", word_end="never")
    # The third token of the table, its BOS, has probability 0.
    total = np.add.reduceat(np.exp(scored.masses.log_mass), scored.masses.offsets[:-1])
    assert total == pytest.approx(np.ones(4), abs=1e-12)
    assert np.exp(scored.log_other) == pytest.approx(np.zeros(4), abs=1e-12)


def test_with_word_ends_all_integers_to_999_and_the_rest_are_everything():
    digits = list("0123456789")
    model = hashed([*digits, "x"])
    item = question("x", [str(n) for n in range(1000)], lead="")
    scored = score_items(model, [item], level="exact")
    assert scored.has_word_ends.all()
    start = (model.info.bos_id, model.tokenizer.index["x"])
    ids = [model.tokenizer.index[d] for d in digits]

    def goes_on(prefix, to):
        return np.exp(model.row((*start, *prefix)))[to]

    # None of them: no digit first, a digit after a leading 0, or a fourth digit.
    rest = 1.0 - goes_on((), ids).sum()
    heads = {(): 1.0}
    for length in range(3):
        heads = {
            (*head, d): p * goes_on(head, [d])[0]
            for head, p in heads.items()
            for d in (ids if length else ids[1:])
        }
    rest += goes_on((), [ids[0]])[0] * goes_on((ids[0],), ids).sum()
    rest += math.fsum(p * goes_on(head, ids).sum() for head, p in heads.items())
    assert math.exp(scored.log_other[0]) == pytest.approx(rest, abs=1e-12)
    total = math.fsum(np.exp(scored.masses.log_mass).tolist())
    assert total + rest == pytest.approx(1.0, abs=1e-12)


def test_o42_an_option_that_begins_another_keeps_its_own_end():
    def law(context):
        if context[-1] == "Q":
            return {"cat": 0.5, "dog": 0.3, "s": 0.2}
        if context[-1] == "cat":
            return {"</s>": 0.2, "fish": 0.3, "s": 0.5}
        return {"</s>": 1.0}

    model = likely.TableModel(["Q", "cat", "dog", "fish", "s"], law, eos="</s>")
    item = question("Q", ["cat", "catfish", "dog"], lead="")
    scored = score_items(model, [item], level="exact")
    assert np.exp(scored.masses.log_mass) == pytest.approx([0.10, 0.15, 0.30], abs=1e-12)
    assert np.exp(scored.log_other[0]) == pytest.approx(0.45, abs=1e-12)
    assert scored.has_word_ends.tolist() == [True]
    assert not scored.flags[0]


def test_o43_mass_that_is_on_no_number_is_told():
    def law(context):
        if context[-1] == "Q":
            return {"1": 0.2, "2": 0.6, "no": 0.2}
        return {"no": 1.0}

    model = likely.TableModel(["Q", "1", "2", "no"], law)
    scored = score_items(model, [question("Q", ["1", "2"], lead="")], level="exact")
    mass = np.exp(scored.masses.log_mass)
    assert mass.sum() == pytest.approx(0.8, abs=1e-12)
    assert np.exp(scored.log_other[0]) == pytest.approx(0.2, abs=1e-12)
    assert mass / mass.sum() == pytest.approx([0.25, 0.75], abs=1e-12)


def test_o44_sums_and_not_means_decide_and_every_spelling_counts():
    steps = {
        "Q": {"A": math.exp(-2), "b": math.exp(-3), "~": 1 - math.exp(-2) - math.exp(-3)},
        "b": {"i": math.exp(-0.01), "~": -math.expm1(-0.01)},
        "i": {"g": math.exp(-0.01), "~": -math.expm1(-0.01)},
        "g": {"s": math.exp(-0.01), "~": -math.expm1(-0.01)},
    }
    model = likely.TableModel(
        ["Q", "A", "b", "i", "g", "s", "~"], lambda context: steps.get(context[-1], {"~": 1.0})
    )
    item = question("Q", ["A", "bigs"], lead="")
    log_mass = score_items(model, [item], level="exact").masses.log_mass
    assert log_mass == pytest.approx([-2.0, -3.03], abs=1e-12)
    law = {" Yes": 0.30, "Yes": 0.25, " yes": 0.10, " No": 0.32}
    model = answering({"Q": {**law, "yes": 0.0, "No": 0.0, "no": 0.0, " no": 0.0}})
    scored = score_items(model, [question("Q", ["yes", "no"])])
    assert np.exp(scored.masses.log_mass) == pytest.approx([0.65, 0.32], abs=1e-12)
    assert dict(zip(KINDS, scored.shares[0].tolist(), strict=True)) == pytest.approx(
        {
            "bare": 0.0, "spaced": 0.10 / 0.97, "bare_capitalised": 0.25 / 0.97,
            "spaced_capitalised": 0.62 / 0.97, "other": 0.0,
        }
    )  # fmt: skip


def test_every_word_of_an_option_counts():
    law = {form: 0.05 for word in ("heads", "crown", "tails") for form in likely.surfaces(word)}
    item = question(
        "Q", ["heads", "tails"], words={"heads": ["heads", "crown"], "tails": ["tails"]}
    )
    scored = score_items(answering({"Q": law}), [item])
    assert np.exp(scored.masses.log_mass) == pytest.approx([0.4, 0.2], abs=1e-12)


def test_spellings_by_level_and_their_kinds():
    red = Option(label="red", words=("red", "crimson"))
    assert option_surfaces(red, "", "exact") == ("red", "crimson")
    assert option_surfaces(red, " ", "exact") == (" red", " crimson")
    paper, wide = (option_surfaces(red, " ", level) for level in ("paper", "wide"))
    assert len(paper) == 8
    assert set(paper) < set(wide)
    kinds = {form: surface_kind(form, red.words) for form in wide}
    assert [kinds[f] for f in ("red", " red", "Red", " Red", "RED", '"red', "\nred")] == [
        *KINDS[:4], "other", "other", "other",
    ]  # fmt: skip
    assert surface_kind("Monday", ("Monday",)) == "bare"
    assert surface_kind(" 12", ("12",)) == "spaced"


def test_two_models_on_one_cache_keep_their_own_numbers(tmp_path):
    items = items_of_colors(6)
    models = {
        policy: policy_model(items, policy, fingerprint=policy)
        for policy in ("calibrated", "pick_first")
    }
    with likely.ScoreCache(tmp_path / "scores.sqlite") as cache:
        for _ in range(2):
            for policy, model in models.items():
                scored = score_items(model, items, cache=cache)
                wanted = [POLICIES[policy](item) for item in items]
                assert np.exp(scored.masses.log_mass) == pytest.approx(np.ravel(wanted), abs=1e-12)
        assert scored.cost.token_evaluations == 0


class KilledError(Exception):
    """Stands for the end of a process."""


def test_a_run_that_was_killed_costs_only_the_rest(tmp_path):
    items = items_of_colors(12)
    asked = []

    class Model:
        def __init__(self, calls):
            self._table = hashed(CHARS, fingerprint="durable")
            self.info, self.tokenizer, self.calls = self._table.info, self._table.tokenizer, calls

        def evaluate(self, work, sink):
            if not self.calls:
                raise KilledError
            self.calls -= 1
            asked.append(len(work.trie))
            self._table.evaluate(work, sink)

    whole = score_items(Model(9), items, batch=3)
    cost, asked[:] = list(asked), []
    with likely.ScoreCache(tmp_path / "scores.sqlite") as cache:
        with pytest.raises(KilledError):
            score_items(Model(2), items, batch=3, cache=cache)
        assert asked == cost[:2]
    with likely.ScoreCache(tmp_path / "scores.sqlite") as cache:
        resumed = score_items(Model(9), items, batch=3, cache=cache)
    assert asked == cost
    assert resumed.cost.token_evaluations == sum(cost[2:])
    assert resumed.cost.cached == 2 * 3 * 8
    assert same(resumed, whole)


def test_results_stream_before_the_rest_is_scored():
    items = items_of_colors(12)
    stream = iter_scored(policy_model(items, "calibrated"), items, batch=4)
    first = next(stream)
    assert sorted(first.places) == sorted(sorted(range(12), key=lambda i: items[i].context)[:4])
    assert len(list(stream)) == 2


class Tokens:
    """A meter that keeps what it was told."""

    def __init__(self):
        self.expected, self.done, self.after = 0, 0, []

    def expect(self, tokens):
        self.expected += tokens

    def advance(self, tokens):
        self.done += tokens
        self.after.append(self.expected)


def test_the_meter_is_told_of_the_whole_job_after_one_batch_and_ends_full():
    items = items_of_colors(16)
    meter = Tokens()
    cost = score_items(hashed(CHARS), items, batch=4, meter=meter).cost
    assert meter.done == meter.expected == cost.token_evaluations
    assert meter.after[1] == pytest.approx(cost.token_evaluations, rel=0.25)


class Changed:
    """A sink that gets one value in the place of all scores after some text."""

    def __init__(self, model, work, sink):
        self._model, self._work, self._sink = model, work, sink

    def put_pairs(self, index, log_probs, censored=None):
        nodes = [int(self._work.pair_nodes[i]) for i in index]
        texts = [self._model.tokenizer.decode(self._work.trie.prefix(node)) for node in nodes]
        is_hit = [self._model.after is None or self._model.after in text for text in texts]
        self._sink.put_pairs(index, np.where(is_hit, self._model.value, log_probs), censored)

    def __getattr__(self, name):
        return getattr(self._sink, name)


class Broken:
    """A table whose scores after one context are replaced."""

    def __init__(self, table, value, *, after=None):
        self._table, self.value, self.after = table, value, after
        self.info, self.tokenizer = table.info, table.tokenizer

    def evaluate(self, work, sink):
        self._table.evaluate(work, Changed(self, work, sink))


def test_nan_names_the_item():
    items = items_of_colors(12)
    bad = items[7]
    model = Broken(policy_model(items, "calibrated"), float("nan"), after=bad.context)
    with pytest.raises(NumericalError, match=rf"item '{bad.id}'.*nan"):
        score_items(model, items)


def test_more_than_all_the_probability_names_the_item():
    items = items_of_colors(12)
    bad = items[3]
    model = Broken(policy_model(items, "calibrated"), 0.0, after=bad.context)
    with pytest.raises(NumericalError, match=rf"item '{bad.id}'.*more than 1"):
        score_items(model, items)


def test_scores_that_are_all_zero_are_no_scores():
    items = items_of_colors(12)
    model = Broken(policy_model(items, "calibrated"), 0.0)
    with pytest.raises(NumericalError, match="more than 1"):
        score_items(model, items)


def test_scores_that_are_all_equal_are_no_scores():
    items = items_of_colors(12)
    model = policy_model(items, "calibrated")
    no_rows = frozenset({Capability.CONTINUATION})
    deaf = Broken(model, -3.5)
    deaf.info = replace(model.info, capabilities=no_rows)
    with pytest.raises(NumericalError, match="has not read the texts"):
        score_items(deaf, items)
    uniform = likely.TableModel(CHARS, lambda context: dict.fromkeys([*CHARS, "<s>"], 1 / 96))
    letters = [question(item.context, ["a", "b"], lead="") for item in items]
    with pytest.raises(NumericalError, match="has not read the texts"):
        score_items(uniform, letters)


def test_equal_scores_of_a_law_that_says_more_are_let_through():
    items = items_of_colors(12)
    scored = score_items(policy_model(items, "uniform"), items, level="exact")
    assert np.exp(scored.masses.log_mass) == pytest.approx(0.5, abs=1e-12)


def test_a_context_that_is_too_long_names_the_item():
    items = [question("ab", ["a", "b"], lead=""), question("ab" * 9, ["a", "b"], lead="")]
    model = hashed(["a", "b"], max_tokens=8)
    with pytest.raises(InputError, match=rf"item '{items[1].id}'.*shorten it"):
        score_items(model, items, level="exact")


def test_labels_that_are_not_distinct_and_empty_sets_are_refused():
    model = hashed(["a", "b"])
    with pytest.raises(InputError, match="distinct labels"):
        score_items(model, [question("a", ["b", "b"])])
    with pytest.raises(InputError, match="no items"):
        score_items(model, [])
    with pytest.raises(InputError, match="at least 1 item"):
        score_items(model, [question("a", ["b", "a"])], batch=0)


def listing_items(n=12):
    return [question(f"Q{i}", ["a", "b", "cd"], number=i) for i in range(n)]


@pytest.mark.parametrize("k", [1, 8, 60])
def test_bounds_of_listed_tokens_hold_the_truth(k):
    items = listing_items()
    table = hashed(CHARS)
    truth = score_items(table, items).masses
    scored = score_items(Listing(table, k), items, batch=4)
    assert (scored.masses.log_mass >= truth.log_mass - 1e-12).all()
    assert (scored.masses.log_mass_low <= truth.log_mass + 1e-12).all()
    assert set(scored.partial) == {i for i, f in enumerate(scored.flags) if "censored" in f}
    assert scored.masses.is_exact.tolist() == [i not in scored.partial for i in range(len(items))]
    assert np.isnan(scored.shares).any(axis=1).tolist() == [
        i in scored.partial for i in range(len(items))
    ]


@pytest.mark.parametrize("k", [1, 8, 60])
def test_a_partial_row_leaves_room_for_exactly_what_the_list_leaves_open(k):
    items = listing_items()
    table = hashed(CHARS)
    model = Listing(table, k)
    scored = score_items(model, items, batch=4)
    truth = np.exp(score_items(table, items).masses.log_mass).reshape(-1, 3)
    for place, row in scored.partial.items():
        prefix = (table.info.bos_id, *table.tokenizer.encode(items[place].context).tokens)
        top = model.top(prefix)
        listed = dict(zip(top.pieces, np.exp(top.log_probs), strict=True))
        assert row.cap == pytest.approx(np.sort(np.exp(table.row(prefix)))[-k - 1], abs=1e-12)
        assert row.rest == pytest.approx(1 - sum(listed.values()), abs=1e-12)
        for i, label in enumerate("ab"):  # " a" begins with a space, which all options share
            bare = [c for c in (label, label.upper())]
            assert row.n_unlisted[i] == sum(c not in listed for c in bare) + (" " not in listed)
        extra = truth[place] - row.listed
        assert (extra >= -1e-12).all()
        assert (extra <= row.n_unlisted * row.cap + row.slack + 1e-12).all()
        assert extra.sum() <= row.rest + row.slack.sum() + 1e-12


@pytest.mark.parametrize("k", [1, 8, 60])
def test_metrics_between_two_ends_hold_those_of_the_whole_law(k):
    items = listing_items()
    table = hashed(CHARS)
    model = Listing(table, k)
    ideal = targets(items)
    truth = measure(ideal, score_items(table, items).masses)
    found = partial_metrics(ideal, score_items(model, items, batch=4).rows())
    for name in ("pm", "wd01", "entropy_gap"):
        assert (found[f"{name}_low"] <= truth[name] + 1e-9).all()
        assert (found[f"{name}_high"] >= truth[name] - 1e-9).all()


def test_a_row_of_exact_masses_leaves_nothing_open():
    items = items_of_colors(3)
    scored = score_items(policy_model(items, "calibrated"), items)
    found = partial_metrics(targets(items), scored.rows())
    assert found["is_resolved"].all()
    assert found["wd01_high"] == pytest.approx(np.zeros(3), abs=1e-12)


def test_without_a_list_the_whole_way_between_the_bounds_is_open():
    items = listing_items()
    table = hashed(CHARS)
    model = Listing(table, 8)
    model.info = replace(model.info, capabilities=frozenset({Capability.CONTINUATION}))
    scored = score_items(model, items)
    assert not scored.partial
    truth = np.exp(score_items(table, items).masses.log_mass).reshape(-1, 3)
    for row, mass in zip(scored.rows(), truth, strict=True):
        assert (row.listed <= mass + 1e-12).all()
        assert (row.listed + row.slack >= mass - 1e-12).all()


def test_lists_come_with_the_answers_once_bounds_are_known_to_be_needed():
    items = listing_items()
    model = Listing(hashed(CHARS), 1)
    batches = list(iter_scored(model, items, batch=4))
    assert [len(batch.scored.partial) for batch in batches] == [4, 4, 4]
    assert [batch.scored.cost.model_calls for batch in batches] == [2, 1, 1]


def test_lists_come_from_the_cache_when_a_run_is_taken_up_again(tmp_path):
    items = listing_items()
    table = hashed(CHARS, fingerprint="lists")
    with likely.ScoreCache(tmp_path / "scores.sqlite") as cache:
        first, again = (
            score_items(Listing(table, 8), items, batch=4, cache=cache) for _ in range(2)
        )
    assert again.cost.token_evaluations == 0
    assert same(first, again)
    for place, row in first.partial.items():
        assert np.array_equal(row.listed, again.partial[place].listed)
        assert (row.cap, row.rest) == (again.partial[place].cap, again.partial[place].rest)


def test_numbers_on_a_model_without_rows_ask_for_another_policy():
    items = [question("Q", ["1", "2"], ideal=(Fraction(1, 3), Fraction(2, 3)))]
    model = Listing(hashed(CHARS), 8)
    with pytest.raises(CapabilityError, match="word_end='never'"):
        score_items(model, items)
    assert not score_items(model, items, word_end="never").has_word_ends.any()


def test_items_that_are_made_as_they_are_read_are_held_a_batch_at_a_time():
    items = build("colors", preset="smoke")
    model = policy_model(list(items), "calibrated")
    before, most = _n_live(), []
    own = model.evaluate

    def evaluate(work, sink):
        most.append(_n_live() - before)
        own(work, sink)

    model.evaluate = evaluate
    whole = score_items(model, items, batch=16)
    assert len(whole) == len(items)
    assert 0 < max(most) <= 16 + 1  # and the one that the loop before has just let go


def _n_live():
    gc.collect()
    return sum(type(thing) is Item for thing in gc.get_objects())
