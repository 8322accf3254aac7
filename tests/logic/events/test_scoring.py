"""Events scored on tables against numbers by hand; one probe of the real model."""

import json
import math
import random

import numpy as np
import pytest
import torch

import likely
from likely.core.answers import score_answers
from likely.core.cache import ScoreCache
from likely.core.trie import build_trie
from likely.errors import InputError
from likely.logic.events import RESCALINGS, Event, rescaling, score_events

TOKENS = ["Q", "R", " a", " A", " b", " B", " c", " C", "x", "y", "."]


def random_law(context):
    """Return a law that is another one after each context, the same in each run."""
    draw = random.Random("|".join(context))
    weights = [draw.random() + 0.01 for _ in TOKENS]
    return {token: w / sum(weights) for token, w in zip(TOKENS, weights, strict=True)}


def table(**options):
    return likely.TableModel(TOKENS, random_law, fingerprint="random law", **options)


def probs_after(model, text):
    ids = (model.info.bos_id, *model.tokenizer.encode(text).tokens)
    return np.exp(model.row(ids))


def token(model, piece):
    return model.tokenizer.index[piece]


def prob(scores, name, i=0):
    return 1 / (1 + math.exp(-float(scores.log_odds[name][i])))


def event(answers=("a",), context="Q", **options):
    return Event(id="e", context=context, answers=tuple(answers), **options)


def test_a_single_position_is_merged_and_then_rescaled_by_every_rescaling():
    model = table()
    names = [*RESCALINGS]
    given = event(candidates=("a", "b"), neutral="R")
    scores = score_events(model, [given], names, clamp=None)
    own = [token(model, " a"), token(model, " A")]
    rest = [token(model, " b"), token(model, " B")]
    rows = torch.log(torch.tensor(np.stack([probs_after(model, "Q"), probs_after(model, "R")])))
    for name in names:
        want = rescaling(name).log_odds(
            rows[:1], [own], neutral=rows[1:], candidates=[[*own, *rest]]
        )
        assert float(scores.log_odds[name][0]) == pytest.approx(float(want[0]), rel=1e-12), name


def test_raw_probabilities_of_many_tokens_are_sums_over_sequences():
    model = table()
    spelled = (" a", "xy", "x.", "yx")
    scores = score_events(model, [event(spellings=spelled)], ["identity"])
    p, after_x, after_y = (probs_after(model, text) for text in ("Q", "Qx", "Qy"))
    a, x, y, stop = (token(model, piece) for piece in (" a", "x", "y", "."))
    want = p[a] + p[x] * (after_x[y] + after_x[stop]) + p[y] * after_y[x]
    assert prob(scores, "identity") == pytest.approx(want, rel=1e-12)
    assert math.exp(scores.log_prob[0]) == pytest.approx(want, rel=1e-12)
    assert scores.flags[0] == {"multi_token"}
    assert scores.pieces[0] == ((" a",), ("x", "y"), ("x", "."), ("y", "x"))


@pytest.mark.parametrize("name", ["duel", "minp", "tail"])
def test_the_trie_rule_by_hand(name):
    model = table()
    scores = score_events(model, [event(spellings=(" a", "xy"))], [name], clamp=None)
    first, second = (
        torch.log(torch.tensor(probs_after(model, text)))[None] for text in ("Q", "Qx")
    )
    a, x, y = (token(model, piece) for piece in (" a", "x", "y"))
    step = torch.sigmoid(rescaling(name).log_odds(first, [[a, x]]))
    inner = torch.sigmoid(rescaling(name).log_odds(second, [[y]]))
    p = first.exp()[0]
    want = step * (p[a] + p[x] * inner) / (p[a] + p[x])
    assert prob(scores, name) == pytest.approx(float(want[0]), rel=1e-12)


@pytest.mark.parametrize("multi", ["conj", "geo", "min", "first", "seq_ratio"])
def test_the_modes_of_an_answer_of_three_tokens_by_hand(multi):
    model = table()
    scores = score_events(
        model, [event(spellings=("xy.",))], ["ratio", "minp"], multi=multi, clamp=None
    )
    rows = [probs_after(model, text) for text in ("Q", "Qx", "Qxy")]
    shares = [row[token(model, piece)] / row.max() for row, piece in zip(rows, "xy.", strict=True)]

    def minp(share):
        return share / (share + 0.05)

    def together(steps):
        return {
            "conj": math.prod(steps),
            "geo": math.prod(steps) ** (1 / 3),
            "min": min(steps),
            "first": steps[0],
        }[multi]

    if multi == "seq_ratio":
        want = math.prod(shares), minp(math.prod(shares))
    else:
        want = together(shares), together([minp(share) for share in shares])
    assert (prob(scores, "ratio"), prob(scores, "minp")) == pytest.approx(want, rel=1e-11)


def test_each_distinct_prefix_is_evaluated_once_for_all_rescalings():
    model = table()
    events = [
        Event(id="1", context="Q", answers=("a",), candidates=("a", "b"), neutral="R"),
        Event(id="2", context="Q", answers=("b",), candidates=("a", "b"), neutral="R"),
        Event(id="3", context="Q", answers=("a",), candidates=("a", "b"), neutral="R"),
        Event(id="4", context="Qx", answers=(), spellings=("xy", "x."), neutral="R"),
        Event(id="5", context="R", answers=(), spellings=("xy",), neutral="R"),
    ]
    scores = score_events(model, events, [*RESCALINGS, rescaling("duel", tau=0.5)])
    bos = model.info.bos_id
    texts = ["Q", "R", "Qx", "Qxx", "Rx"]
    ids = [(bos, *model.tokenizer.encode(text).tokens) for text in texts]
    trie, _ = build_trie(ids)
    assert scores.cost.token_evaluations == len(trie) == 6
    assert scores.cost.model_calls == 1
    assert scores.keys[0] == scores.keys[2] != scores.keys[1]
    assert len(set(scores.keys)) == 4


def test_other_parameters_come_from_the_cache_without_the_model(tmp_path):
    model = table()
    events = [event(), event(("b",), spellings=("xy", " b"), context="R")]
    with ScoreCache(tmp_path / "cache") as cache:
        first = score_events(model, events, ["identity"], cache=cache)
        names = ["duel", rescaling("minp", kappa=0.3), "eta", rescaling("rank", k=2), "tail"]
        again = score_events(model, events, names, cache=cache)
        other = score_events(model, events, [rescaling("duel", tau=0.5)], cache=cache)
    assert first.cost.token_evaluations == other.cost.token_evaluations > 0
    assert again.cost.token_evaluations == 0
    fresh = score_events(model, events, names)
    for name, values in fresh.log_odds.items():
        assert again.log_odds[name].tolist() == values.tolist()


def test_word_ends_give_what_the_core_gives_for_raw_probabilities():
    model = table()
    spelled = (" a", "xy")
    scores = score_events(model, [event(spellings=spelled)], ["identity", "duel"], word_end=True)
    core = score_answers(model, ["Q"], {"e": spelled}, word_end="always")
    assert math.log(prob(scores, "identity")) == pytest.approx(core[0].log_prob("e"), rel=1e-12)
    plain = score_events(model, [event(spellings=spelled)], ["duel"])
    assert prob(scores, "duel") < prob(plain, "duel")


def test_the_closed_set_without_candidates_is_every_answer_of_the_context():
    model = table()
    events = [event((word,)) for word in ("a", "b", "c")] + [event(context="R", spellings=("x",))]
    scores = score_events(model, events, ["closed"])
    p = probs_after(model, "Q")
    masses = [sum(p[token(model, piece)] for piece in pieces)
              for pieces in ((" a", " A"), (" b", " B"), (" c", " C"))]  # fmt: skip
    assert [prob(scores, "closed", i) for i in range(3)] == pytest.approx(
        [mass / sum(masses) for mass in masses], rel=1e-12
    )
    assert math.fsum(prob(scores, "closed", i) for i in range(3)) == pytest.approx(1.0)


def test_an_event_alone_in_its_closed_set_is_clamped_and_says_so():
    scores = score_events(table(), [event(candidates=("a",)), event(("b",))], ["closed"])
    assert {"closed_alone", "clamped"} <= scores.flags[0]
    assert scores.flags[1] == frozenset()
    assert scores.clamped == {"closed": 1}
    assert prob(scores, "closed") == pytest.approx(1 - 1e-6)


def test_candidates_may_repeat_the_words_of_a_merged_answer_or_spell_exactly():
    model = table()
    given = event(("a", "b"), candidates=("a", "b", " c"))
    scores = score_events(model, [given], ["closed"])
    p = probs_after(model, "Q")
    own = sum(p[token(model, piece)] for piece in (" a", " A", " b", " B"))
    assert prob(scores, "closed") == pytest.approx(own / (own + p[token(model, " c")]), rel=1e-12)


def test_a_candidate_that_contains_the_answer_shares_its_mass():
    model = table()
    given = event(spellings=(" cx",), candidates=(" c", " b"))
    scores = score_events(model, [given], ["closed"])
    p = probs_after(model, "Q")
    own = math.exp(scores.log_prob[0])
    whole = p[token(model, " c")] + p[token(model, " b")]
    assert prob(scores, "closed") == pytest.approx(own / whole, rel=1e-12)
    assert "overlap" in scores.flags[0]
    inner = event(spellings=(" c",), candidates=(" cx", " b"))
    scores = score_events(model, [inner], ["closed"])
    assert prob(scores, "closed") == pytest.approx(p[token(model, " c")] / whole, rel=1e-12)
    assert "overlap" not in scores.flags[0]


def test_lift_compares_each_step_with_the_same_step_after_the_neutral_context():
    model = table()
    scores = score_events(model, [event(spellings=("xy",), neutral="R")], ["pmi"])
    x, y = token(model, "x"), token(model, "y")
    lifts = [
        probs_after(model, "Q")[x] / probs_after(model, "R")[x],
        probs_after(model, "Qx")[y] / probs_after(model, "Rx")[y],
    ]
    want = math.prod(lift / (1 + lift) for lift in lifts)
    assert prob(scores, "pmi") == pytest.approx(want, rel=1e-12)


def test_rescalings_that_reach_one_are_clamped_and_counted():
    law = {" a": 0.7, " b": 0.3 - 1e-9, " c": 1e-9}
    model = likely.TableModel(["Q", *law], lambda context: law)
    events = [event(spellings=(piece,)) for piece in law]
    names = ["ratio", "tail", "rank", "duel", "identity", "ratio_soft"]
    scores = score_events(model, events, names)
    assert scores.clamped == {
        "ratio": 2, "tail": 2, "rank": 1, "duel": 0, "identity": 0, "ratio_soft": 1
    }  # fmt: skip
    assert prob(scores, "ratio", 0) == pytest.approx(1 - 1e-6)
    assert prob(scores, "ratio", 2) == pytest.approx(1e-6)
    assert prob(scores, "identity", 2) == pytest.approx(1e-9)
    assert [("clamped" in flags) for flags in scores.flags] == [True, False, True]
    free = score_events(model, events, names, clamp=None)
    assert free.log_odds["ratio"][0] == math.inf
    assert free.clamped["ratio"] == 0


def test_impossible_and_certain_answers_give_no_nan():
    model = likely.TableModel(["Q", " a", " b"], lambda context: {" a": 1.0})
    events = [
        event(spellings=(spelled,), candidates=(" a", " b"), neutral="Q")
        for spelled in (" a", " b", " b b")
    ]
    scores = score_events(model, events, [*RESCALINGS], clamp=None)
    for name, values in scores.log_odds.items():
        assert not np.isnan(values).any(), name
    assert scores.log_odds["identity"].tolist() == [math.inf, -math.inf, -math.inf]
    json.loads(scores.to_json(), parse_constant=pytest.fail)


def test_a_space_that_ends_a_context_or_a_merge_changes_no_number_in_silence():
    model = likely.TableModel([*TOKENS, "Qx"], lambda context: {**random_law(context)})
    plain, spaced = event(), event(context="Q ")
    scores = score_events(model, [plain, spaced, event(spellings=("x",))], ["duel"])
    assert scores.keys[0] == scores.keys[1]
    assert scores.flags == (frozenset(), {"whitespace_moved"}, {"boundary_merge"})
    assert scores.tokens[2] == ((token(model, "x"),),)


def test_clashes_between_answers_of_a_context_are_reported_once():
    events = [event(spellings=("x",)), event(spellings=("xy",)), event(spellings=("xy",))]
    scores = score_events(table(), events, ["identity"])
    assert [(c.kind, c.answers) for c in scores.clashes] == [("prefix", ("x", "xy"))]


def test_first_is_refused_where_competing_answers_begin_alike():
    model = table()
    events = [event(spellings=("x.",)), event(spellings=("xy",))]
    with pytest.raises(InputError, match=r"event 'e'.*same token.*first"):
        score_events(model, events, multi="first")
    with pytest.raises(InputError, match="first"):
        score_events(model, [event(spellings=(" ax",), candidates=(" a",))], multi="first")
    apart = [
        event(spellings=("x.",)),
        event(spellings=("yy",)),
        event(spellings=("xy",), context="R"),
    ]
    scores = score_events(model, apart, ["identity", "closed"], multi="first")
    assert scores.tokens[0] == ((token(model, "x"),),)
    p = probs_after(model, "Q")
    x, y = p[token(model, "x")], p[token(model, "y")]
    assert prob(scores, "closed") == pytest.approx(x / (x + y), rel=1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rescalings": ["dual"]}, "duel"),
        ({"rescalings": []}, "at least one"),
        ({"rescalings": ["duel"], "multi": "seq_ratio"}, "seq_ratio"),
        ({"rescalings": ["pmi"]}, "neutral"),
        ({"multi": "first", "word_end": True}, "word_end"),
        ({"clamp": 0.7}, "1/2"),
    ],
)
def test_what_cannot_be_scored_is_refused(options, message):
    names = options.pop("rescalings", ["ratio"])
    with pytest.raises(InputError, match=message):
        score_events(table(), [event()], names, **options)


def test_no_events_and_unusable_words_are_refused_by_name():
    with pytest.raises(InputError, match="no events"):
        score_events(table(), [])
    with pytest.raises(InputError, match=r"event 'e'.*white space"):
        score_events(table(), [event((" a",))])
    with pytest.raises(InputError, match=r"event 'e'.*at least one word"):
        score_events(table(), [event(())])


def test_results_are_a_frame_strict_json_and_lines():
    scores = score_events(table(), [event(), event(("b",))])
    frame = scores.to_frame()
    assert len(frame) == len(scores) * 3 == 6
    assert set(frame["rescaling"]) == {"duel", "minp", "identity"}
    raw = json.loads(scores.to_json(), parse_constant=pytest.fail)
    assert raw["events"][0]["log_odds"]["duel"] == float(scores.log_odds["duel"][0])
    assert scores.summary().startswith("e: duel 0.")


PROBE = {  # of the specification: p of R0, and P of R3, after each of the four contexts
    "When driving, it is not safe to drink": (0.082, 0.682),
    "It is not true that when driving it is safe to drink": (0.189, 0.804),
    "When driving, it is safe to drink": (0.092, 0.720),
    "It is true that when driving it is safe to drink": (0.135, 0.731),
}


@pytest.mark.real
def test_the_real_model_gives_the_probabilities_of_the_specification():
    model = likely.load("smollm2")
    events = [event(spellings=(" alcohol",), context=context) for context in PROBE]
    scores = score_events(model, events, ["identity", "duel"])
    for i, (raw, duel) in enumerate(PROBE.values()):
        assert prob(scores, "identity", i) == pytest.approx(raw, abs=0.03)
        assert prob(scores, "duel", i) == pytest.approx(duel, abs=0.03)
    assert scores.flags == (frozenset(),) * 4
