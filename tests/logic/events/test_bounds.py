"""Models that list only the likeliest tokens: what is exact, and intervals that hold the truth."""

import math
from dataclasses import replace

import numpy as np
import pytest

import likely
from likely.core.engine import Top, evaluate
from likely.core.model import Capability
from likely.errors import CapabilityError
from likely.logic.events import RESCALINGS, Event, rescaling, score_events

TOKENS = ["Q", "N", *"abcdefghij"]
EXACT = ["identity", "closed", "epsilon", "pmi", "ratio", "ratio_soft", "minp"]
BOUNDED = ["tail", "duel", "nucleus", "rank"]
WHOLE_ROWS = ["eta", "typical"]


class Listing:
    """A table behind a server: its lists have ``k`` tokens; what is outside may be a bound."""

    def __init__(self, table, *, k, censors=False, by_text=False, lists=True):
        self.table, self.k, self.censors, self.by_text = table, k, censors, by_text
        self.known = {}
        capabilities = {Capability.CONTINUATION} | ({Capability.TOP_TOKENS} if lists else set())
        self.info = replace(
            table.info, name="listing", capabilities=frozenset(capabilities), details={"top_k": k}
        )
        self.tokenizer = table.tokenizer

    def list_after(self, prefix):
        if prefix not in self.known:
            self.known[prefix] = evaluate(self.table, [Top(prefix=prefix, k=self.k)])[0].top
        return self.known[prefix]

    def evaluate(self, work, sink):
        for i, (node, target) in enumerate(zip(work.pair_nodes, work.pair_targets, strict=True)):
            prefix = work.trie.prefix(int(node))
            value, is_bound = self.table.row(prefix)[target], False
            top = self.list_after(prefix)
            if self.censors and int(target) not in top.tokens:
                value, is_bound = top.log_prob_elsewhere, True
            sink.put_pairs(np.array([i]), np.array([value]), np.array([is_bound]))
        for node in work.top_nodes:
            top = self.list_after(work.trie.prefix(int(node)))
            if self.by_text:
                top = replace(top, tokens=(None,) * len(top.tokens))
            sink.put_top(int(node), top)
        sink.spend(tokens=len(work.trie), calls=1, seconds=0.0)


def law_of(seed, peak):
    def law(context):
        rng = np.random.default_rng([seed, *map(ord, "".join(context))])
        weights = np.exp(peak * rng.normal(size=len(TOKENS)))
        return dict(zip(TOKENS, map(float, weights / weights.sum()), strict=True))

    return law


def table(seed=0, peak=1.5):
    return likely.TableModel(TOKENS, law_of(seed, peak))


def events():
    spelled = [("a",), ("b",), ("c", "d"), ("e", "fg"), ("hij",)]
    return [Event(id=s[0], context="Q", spellings=s, neutral="N") for s in spelled]


def scores_of(model, names, **options):
    return score_events(model, events(), names, clamp=None, **options)


@pytest.mark.parametrize("k", [1, 3, len(TOKENS)])
def test_what_the_target_and_the_top_tell_is_exact(k):
    told = scores_of(Listing(table(), k=k), EXACT)
    truth = scores_of(table(), EXACT)
    for name in EXACT:
        np.testing.assert_allclose(told.log_odds[name], truth.log_odds[name], rtol=1e-9)
        np.testing.assert_array_equal(told.low[name], told.high[name])
    np.testing.assert_allclose(told.log_prob, truth.log_prob, rtol=1e-12)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("k", [1, 4])
@pytest.mark.parametrize("censors", [False, True])
def test_intervals_hold_the_truth(seed, k, censors):
    law = table(seed, peak=1.0 + seed)
    names = [*EXACT, *BOUNDED, rescaling("duel", tau=0.3)]
    told = scores_of(Listing(law, k=k, censors=censors), names)
    truth = scores_of(law, names)
    for name, values in truth.log_odds.items():
        assert (told.low[name] <= values + 1e-9).all(), name
        assert (values <= told.high[name] + 1e-9).all(), name
        assert (told.low[name] <= told.log_odds[name]).all(), name
        assert (told.log_odds[name] <= told.high[name]).all(), name
    for i, flags in enumerate(told.flags):
        is_open = any(told.low[name][i] < told.high[name][i] for name in told.log_odds)
        assert ("interval" in flags) == is_open
    assert censors or not any("censored" in flags for flags in told.flags)


def test_intervals_close_as_the_list_grows_and_are_points_when_it_is_whole():
    law = table()
    widths = []
    for k in (2, 5, 9, len(TOKENS)):
        told = scores_of(Listing(law, k=k), ["duel"])
        p_low, p_high = (1 / (1 + np.exp(-x["duel"])) for x in (told.low, told.high))
        widths.append(float((p_high - p_low).max()))
    assert widths == sorted(widths, reverse=True)
    assert widths[0] > 0.05
    assert widths[-1] == pytest.approx(0.0, abs=1e-12)


def test_the_middle_of_an_interval_is_the_mean_of_both_probabilities():
    told = scores_of(Listing(table(), k=2), ["duel"])
    low, high, middle = (1 / (1 + np.exp(-x["duel"])) for x in (told.low, told.high, told.log_odds))
    np.testing.assert_allclose(middle, (low + high) / 2, rtol=1e-12)


def test_censored_values_are_upper_bounds_and_flagged():
    law = table()
    told = scores_of(Listing(law, k=1, censors=True), ["identity"])
    truth = scores_of(law, ["identity"])
    assert any("censored" in flags for flags in told.flags)
    assert (told.log_prob >= truth.log_prob - 1e-12).all()
    for i, flags in enumerate(told.flags):
        assert ("censored" in flags) == (told.low["identity"][i] < told.high["identity"][i])


@pytest.mark.parametrize("name", WHOLE_ROWS)
def test_what_needs_the_entropy_is_refused_and_the_rest_named(name):
    with pytest.raises(CapabilityError) as caught:
        scores_of(Listing(table(), k=3), [name, "duel"])
    message = str(caught.value)
    assert f"['{name}']" in message
    assert all(f"'{other}'" in message.split("work")[1] for other in EXACT + BOUNDED)


def test_continuations_alone_give_what_the_target_tells():
    model = Listing(table(), k=3, lists=False)
    told = scores_of(model, ["identity", "epsilon", "pmi", "closed"])
    truth = scores_of(table(), ["identity", "epsilon", "pmi", "closed"])
    for name, values in truth.log_odds.items():
        np.testing.assert_allclose(told.log_odds[name], values, rtol=1e-9)
    with pytest.raises(CapabilityError, match=r"\['duel'\].*'identity'"):
        scores_of(model, ["duel"])


def test_word_ends_and_the_smooth_maximum_need_whole_rows():
    model = Listing(table(), k=3)
    with pytest.raises(CapabilityError, match="word ends"):
        scores_of(model, ["identity"], word_end=True)
    with pytest.raises(CapabilityError, match="beta"):
        scores_of(model, [rescaling("minp", beta=4.0)])


def test_a_list_by_text_tells_the_top_but_not_the_competitors():
    model = Listing(table(), k=3, by_text=True)
    truth = scores_of(table(), ["ratio", "minp"])
    told = scores_of(model, ["ratio", "minp"])
    for name, values in truth.log_odds.items():
        np.testing.assert_allclose(told.log_odds[name], values, rtol=1e-9)
    with pytest.raises(CapabilityError, match="by text only"):
        scores_of(model, ["duel"])


def test_every_rescaling_is_either_exact_bounded_or_refused():
    assert sorted([*EXACT, *BOUNDED, *WHOLE_ROWS]) == sorted(RESCALINGS)
    assert math.isfinite(float(scores_of(table(), ["duel"]).log_odds["duel"][0]))
