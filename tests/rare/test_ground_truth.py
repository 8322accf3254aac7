"""Truths: exact where all inputs are gone through, unbiased and with honest ends where not."""

import json
import math
from dataclasses import replace
from itertools import islice

import numpy as np
import pyarrow.parquet as pq
import pytest
from jaxtyping import Float
from scipy.stats import binom

import likely
from likely import rare
from likely.errors import InputError, NumericalError, StoreError
from likely.rare.counting import STEMS, Counts, endings_of, iter_counts
from likely.rare.ground_truth import framed, weighted_interval
from likely.rare.reading import Reader
from likely.rare.result import Spent


def skewed_law(model, n_places, *, seed=0, size=6):
    """Return places with skewed laws over a few ids, the last place constant."""
    rng = np.random.default_rng(seed)
    places = []
    for _ in range(n_places):
        ids = rng.choice(model.info.n_tokens, size=size, replace=False).tolist()
        places.append({one: 4.0**-k for k, one in enumerate(ids)})
    return rare.independent([*places, {7: 1.0}], model)


def product_model():
    """Win with "x" after "a" in the first and "b" in the second place, else the third place's."""

    def law(before):
        first, second, third = (*before[1:], "b", "b", "b")[:3]
        winner = "x" if (first, second) == ("a", "b") else third
        return {"a": 0.2, "b": 0.2, "x": 0.2, winner: 0.6}

    return likely.TableModel(["a", "b", "x"], law)


def product_law(model):
    return rare.independent([{"a": 1e-6, "b": 1}, {"b": 1e-5, "a": 1}, {"a": 1, "b": 3}], model)


def test_states_that_are_no_numbers_make_no_truth(random_gpt2_folder):
    broken = likely.load(f"hf:{random_gpt2_folder}")
    broken.module.get_input_embeddings().weight.data[11] = math.inf
    law = rare.independent([{5: 1.0, 11: 1.0}] * 3, broken)
    assert len(endings_of(law).probs) > 1  # else the inputs are read whole
    with pytest.raises(NumericalError, match="not finite for an input of 4 tokens; try dtype"):
        rare.truth(broken, law)
    with pytest.raises(NumericalError, match="not finite"):
        rare.enumerate_events(broken, law, [5])
    with pytest.raises(NumericalError, match="not finite"):
        next(iter_counts(broken, law, seed=0))


def test_products_of_small_probabilities_are_exact():
    model = product_model()
    truth = rare.truth(model, product_law(model), n=100)
    assert truth.is_exact
    p, r = 1e-6 / (1 + 1e-6), 1e-5 / (1 + 1e-5)
    assert truth.prob(2).value == pytest.approx(p * r, rel=1e-12)
    assert truth.prob(1).value == pytest.approx(0.75 * (1 - p * r), rel=1e-12)
    assert truth.probs.sum() == pytest.approx(1.0, abs=1e-12)
    assert truth.prob(0).is_exact


def test_an_enumeration_reads_each_stem_once_and_finds_what_whole_inputs_say(gpt2):
    law = skewed_law(gpt2, 3)
    truth = rare.truth(gpt2, law)
    assert truth.is_exact
    assert truth.counts.n_inputs == law.n_inputs == 216
    inputs, log_probs = next(law.iter_inputs(size=216))
    winners = Reader(gpt2).winners(inputs)
    assert np.flatnonzero(truth.probs).tolist() == np.unique(winners).tolist()
    for token in np.unique(winners):
        summed = math.fsum(np.exp(log_probs[winners == token]))
        assert truth.prob(int(token)).value == pytest.approx(summed, rel=1e-12)
    assert truth.counts.spent.token_evaluations < inputs.size


def test_margins_of_an_enumeration_are_those_of_whole_inputs(gpt2):
    law = skewed_law(gpt2, 3, seed=1)
    inputs, log_probs = next(law.iter_inputs(size=216))
    events = [rare.token(5, gpt2), rare.any_of([7, 9, 11], gpt2)]
    events.append(rare.Event(name="two steps", steps=((5,), (7, 9))))
    margins = Reader(gpt2).margins(inputs, events)
    middle = np.sort(margins, axis=0)[107:109].mean(axis=0)  # half of the inputs lie above
    events = [replace(one, above=float(at)) for one, at in zip(events, middle, strict=True)]
    for asked in (events[:2], events):  # a step more goes through whole inputs
        found = rare.enumerate_events(gpt2, law, list(asked))
        for column, (event, one) in enumerate(zip(asked, found, strict=True)):
            hits = margins[:, column] > event.above
            assert hits.sum() == 108
            assert one.value == pytest.approx(math.fsum(np.exp(log_probs[hits])), rel=1e-9)


def test_events_of_every_kind_are_enumerated():
    model = product_model()
    law = product_law(model)
    found = rare.enumerate_events(model, law, ["a", rare.any_of(["a", "x"], model)])
    truth = rare.truth(model, law)
    assert found[0].value == pytest.approx(truth.prob(0).value, rel=1e-12)
    assert found[1].value == pytest.approx(truth.prob(0).value + truth.prob(2).value, rel=1e-12)


def test_endings_are_those_that_cost_the_fewest_evaluations():
    model = product_model()
    law = product_law(model)
    one = endings_of(law, most=3)  # 3 / 2 + 1 evaluations an input
    assert one.tokens.tolist() == [[0], [1]]
    np.testing.assert_allclose(one.probs, [0.25, 0.75])
    assert one.effective_number == pytest.approx(1 / (0.0625 + 0.5625))
    assert endings_of(law, most=4).tokens.shape == (2, 1)  # 2 / 4 + 2 are no fewer
    long = rare.independent([{"a": 1}] * 9 + [{"a": 1, "b": 1}] * 3, model)
    two = endings_of(long, most=7)
    assert two.tokens.shape == (4, 2)  # 11 / 4 + 2 are fewer than 12 / 2 + 1
    assert two.probs.sum() == pytest.approx(1.0)
    fixed = rare.independent([{"a": 1, "b": 1}, {"a": 1, "b": 1}, {"x": 1}], model)
    assert endings_of(fixed, most=2).tokens.tolist() == [[0, 2], [1, 2]]
    assert endings_of(rare.listed([[0], [1]], model)).tokens.shape == (1, 0)


@pytest.mark.parametrize("name", ["gpt2", "window", "toy_bpe"])
def test_shared_stems_count_what_whole_inputs_count(name, request):
    """Against full enumeration: a sum of stems' shares is unbiased, token by token."""
    model = request.getfixturevalue(name)
    law = skewed_law(model, 4)
    exact = rare.truth(model, law, n=law.n_inputs)
    assert exact.is_exact
    counts = Counts.none(model.info.n_vocab)
    for more in islice(iter_counts(model, law, seed=1), 60):
        counts += more
    found = framed(model, law, counts, seed=1)
    assert counts.n_stems == 60 * STEMS
    assert found.probs.sum() + found.tied == pytest.approx(1.0, abs=1e-9)
    variance = counts.squares[:-1] / counts.n_stems - found.probs**2
    seen = counts.stems[:-1] >= 20
    z = (found.probs - exact.probs)[seen] / np.sqrt(variance[seen] / counts.n_stems + 1e-30)
    varies = variance[seen] > 1e-12
    assert varies.sum() >= 3
    assert np.abs(z[varies]).max() < 4.5
    assert (exact.probs[~seen & (exact.probs > 0)] < 0.01).all()


def test_stopping_and_going_on_gives_the_counts_of_one_run(gpt2):
    law = skewed_law(gpt2, 3)
    whole = Counts.none(gpt2.info.n_vocab)
    for more in islice(iter_counts(gpt2, law, seed=2), 3):
        whole += more
    parts = Counts.none(gpt2.info.n_vocab)
    for first, n in ((0, 1), (1, 2)):
        run = iter_counts(gpt2, law, seed=2, first_block=first)
        for more in islice(run, n):
            parts += more
    np.testing.assert_array_equal(whole.total, parts.total)
    np.testing.assert_array_equal(whole.inputs, parts.inputs)
    assert whole.n_inputs == 3 * STEMS * 6


def coverage(q: float, weights: Float[np.ndarray, "k"], *, n_stems: int, rounds: int) -> float:
    """Return how often the interval holds when a stem adds one of the weights, rarely."""
    rng = np.random.default_rng(11)
    rate = q / float(weights.mean())  # how often a stem adds anything
    held = 0
    for _ in range(rounds):
        added = rng.choice(weights, size=rng.binomial(n_stems, rate))
        low, high = weighted_interval(
            float(added.sum()), float((added**2).sum()), float(added.max(initial=0.0)),
            (len(added), n_stems), level=0.95,
        )  # fmt: skip
        held += low <= q <= high
    return held / rounds


@pytest.mark.parametrize("expected", [4.0, 40.0, 400.0])
@pytest.mark.parametrize("kind", ["equal", "spread"])
def test_intervals_of_weighted_counts_hold(expected, kind):
    rng = np.random.default_rng(3)
    weights = np.full(50, 0.01) if kind == "equal" else rng.lognormal(-6.0, 1.0, 50)
    n_stems, rounds = 100_000, 600
    q = expected / n_stems * float(weights.mean())
    # 600 rounds at 95 %: 91.5 % has a chance of 1e-4 or so.
    assert coverage(q, weights, n_stems=n_stems, rounds=rounds) >= 0.915


def test_a_token_that_is_never_seen_has_an_upper_limit_alone():
    low, high = weighted_interval(0.0, 0.0, 0.0, (0, 1000), level=0.95)
    assert low == 0.0
    assert high == pytest.approx(-math.log(0.025) / 1000)
    assert binom.pmf(0, 1000, high) <= 0.025


def test_a_token_that_every_stem_gives_alike_is_not_called_exact():
    low, high = weighted_interval(50.0, 25.0, 0.5, (100, 100), level=0.95)
    assert 0.48 < low < 0.5 < high < 0.53


def test_effective_inputs_of_independent_inputs_are_their_number():
    model = likely.TableModel(["a", "b", "c"], lambda before: {before[-1]: 0.9, "c": 0.1})
    law = rare.listed([[0], [1]], model, weights=[0.9, 0.1])
    counts = next(iter_counts(model, law, seed=0))
    found = framed(model, law, counts, seed=0)
    np.testing.assert_allclose(found.effective_inputs[:3], [STEMS, STEMS, 0.0])


def test_a_token_that_wins_after_every_stem_is_known_as_well_as_by_as_many_inputs():
    """Hits and misses alone vary as q (1 - q); what lies between varies less."""
    model = likely.TableModel(["a", "b"], lambda before: {"a": 0.9, "b": 0.1})
    law = rare.independent([{"a": 1, "b": 1}] * 12, model)
    always = rare.truth(model, law, n=1)
    assert not always.is_exact
    assert always.effective_inputs.tolist()[:2] == [STEMS, 0.0]
    assert always.prob(0).diagnostics["effective inputs"] == STEMS
    shares = np.random.default_rng(0).random((40, 300))  # what 300 stems add to 40 tokens
    counts = Counts(
        n_stems=300, n_inputs=300, total=shares.sum(axis=1), squares=(shares**2).sum(axis=1),
        largest=shares.max(axis=1), stems=np.full(40, 300), inputs=np.full(40, 300),
        spent=Spent(),
    )  # fmt: skip
    found = replace(always, counts=counts).effective_inputs
    q = shares.mean(axis=1)[:-1]
    np.testing.assert_allclose(found, 300 * q * (1 - q) / shares.var(axis=1)[:-1])
    assert (found > 300).all()


def test_an_exact_truth_is_worth_more_than_any_number_of_inputs():
    model = product_model()
    truth = rare.truth(model, product_law(model))
    assert np.isposinf(truth.effective_inputs).all()


def test_sums_that_rounding_puts_above_one_are_a_probability_of_one():
    model = product_model()
    exact = rare.truth(model, product_law(model))
    total = exact.counts.total.copy()
    total[[1, -1]] = math.nextafter(1.0, 2.0)
    counts = replace(exact.counts, total=total, squares=total**2, largest=total)
    for is_exact in (True, False):
        found = replace(exact, is_exact=is_exact, counts=counts)
        assert found.prob(1).value == 1.0
        assert found.interval(1)[1] == 1.0
        assert found.tied == 1.0


def test_truths_come_back_from_their_files(tmp_path, gpt2):
    law = skewed_law(gpt2, 3)
    found = rare.truth(gpt2, law, n=100)
    path = tmp_path / "truth.parquet"
    found.save(path)
    again = rare.Truth.load(path)
    np.testing.assert_array_equal(again.counts.total, found.counts.total)
    np.testing.assert_array_equal(again.counts.stems, found.counts.stems)
    assert again.counts.spent == found.counts.spent
    assert (again.law, again.fingerprint, again.n_endings) == (
        law.fingerprint, gpt2.info.fingerprint, found.n_endings,
    )  # fmt: skip
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(StoreError, match="cannot read a truth"):
        rare.Truth.load(path)


@pytest.mark.parametrize(
    ("name", "value", "part"),
    [
        ("n_stems", None, "cannot read a truth from '.*': it lacks 'n_stems'"),
        ("schema_version", None, "it lacks 'schema_version'"),
        ("schema_version", 99, "has schema 99, this version of likely reads 1; update likely"),
        ("spent", {"hours": 1}, "cannot read a truth from .* 'hours'"),
        ("n_vocab", 1, "cannot read a truth from .* out of bounds"),
    ],
)
def test_a_file_whose_head_is_damaged_is_refused_in_one_line(tmp_path, name, value, part):
    model = product_model()
    path = tmp_path / "truth.parquet"
    rare.truth(model, product_law(model)).save(path)
    table = pq.read_table(path)
    head = json.loads(table.schema.metadata[b"likely.rare.truth"])
    del head[name]
    if value is not None:
        head[name] = value
    pq.write_table(table.replace_schema_metadata({"likely.rare.truth": json.dumps(head)}), path)
    with pytest.raises(StoreError, match=part) as caught:
        rare.Truth.load(path)
    assert "\n" not in str(caught.value)


def test_unusable_questions_get_one_line():
    model = product_model()
    law = product_law(model)
    with pytest.raises(InputError, match="n=0"):
        rare.truth(model, law, n=0)
    with pytest.raises(InputError, match="at least one target"):
        rare.enumerate_events(model, law, [])
    with pytest.raises(InputError, match="ids 0 to 3, got 9"):
        rare.truth(model, law).prob(9)
