"""Words, sentences and turns are groups of positions; a group's score obeys the chain rule."""

import math
from functools import cache
from itertools import product

import numpy as np
import pytest
from jaxtyping import TypeCheckError

import likely
from likely import attribution
from likely.attribution.case import frame_case
from likely.attribution.groups import split_case
from likely.core.text.spans import group_spans, sentence_bounds
from likely.errors import InputError, UnknownNameError

CHARS = [*'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ .!?"()\n']


def uniform(tokens=CHARS):
    share = 1.0 / len(tokens)
    return likely.TableModel(tokens, lambda before: dict.fromkeys(tokens, share))


def texts(case, groups):
    return [
        case.prompt_text[case.spans[group[0]][0] : case.spans[group[-1]][1]]
        for group in split_case(case, groups)[1]
    ]


def test_words_own_the_white_space_before_them():
    case = frame_case(uniform(), " I am  here.", "x")
    assert texts(case, "words") == [" I", " am", "  here."]


def test_words_that_one_token_spans_are_one_group():
    model = uniform(["a", "b", "c", " ", "b c", "x"])
    case = frame_case(model, "a b c", "x")
    assert [case.prompt_text[a:b] for a, b in case.spans] == ["a", " ", "b c"]
    assert split_case(case, "words")[1] == ((0,), (1, 2))


def test_sentences_end_at_marks_and_line_breaks():
    text = 'He said "No." Then (he left!) Why?\nA.b c'
    found = [text[a:b] for a, b in sentence_bounds(text)]
    assert found == ['He said "No."', " Then (he left!)", " Why?", "\nA.b c"]
    assert "".join(found) == text
    assert sentence_bounds("") == []
    assert [a for a, _ in sentence_bounds("One.  ")] == [0]
    case = frame_case(uniform(), "Go. Why?", "x")
    assert texts(case, "sentences") == ["Go.", " Why?"]


def test_full_width_marks_end_a_sentence_without_white_space():
    text = "\u597d\u3002\u662f\uff1f"
    assert [text[a:b] for a, b in sentence_bounds(text)] == ["\u597d\u3002", "\u662f\uff1f"]


def test_no_token_is_lost_or_doubled_by_grouping():
    rng = np.random.default_rng(0)
    for _ in range(200):
        cuts = np.unique(rng.integers(1, 20, 6))
        spans = list(zip([0, *cuts], [*cuts, 20], strict=True))
        spans = [(int(a), int(b)) for a, b in spans]
        ends = [int(x) for x in np.unique(rng.integers(1, 20, 4))]
        bounds = list(zip([0, *ends], [*ends, 20], strict=True))
        found = group_spans(spans, bounds)
        assert [i for _, _, tokens in found for i in tokens] == list(range(len(spans)))
        for (low, high, tokens), after in zip(found, [*found[1:], (20, 20, ())], strict=True):
            assert low <= spans[tokens[0]][0]
            assert spans[tokens[-1]][1] <= high <= after[0]


def test_a_unit_holds_only_positions_that_are_attributed():
    case = frame_case(uniform(), "ab cd", "x", positions=[0, 3])
    assert split_case(case, "words")[1] == ((0,), (3,))
    assert split_case(case, "tokens")[1] == ((0,), (3,))


class ChatTable(likely.TableModel):
    """A uniform table whose template puts a mark before each message."""

    def __init__(self):
        tokens = [*"abc xyz", "<user>", "<assistant>", "<end>"]
        super().__init__(tokens, lambda before: dict.fromkeys(tokens, 1 / len(tokens)))
        capabilities = self.info.capabilities | {likely.core.model.Capability.CHAT}
        object.__setattr__(self.info, "capabilities", capabilities)

    @property
    def tokenizer(self):
        own = super().tokenizer
        own.render_chat = lambda messages, *, open_reply: (
            "".join(f"<{m['role']}>{m['content']}<end>" for m in messages)
            + ("<assistant>" if open_reply else "")
        )
        return own


def test_turns_are_what_each_message_says():
    chat = [
        {"role": "user", "content": "ab"},
        {"role": "assistant", "content": "x"},
        {"role": "user", "content": "c a"},
    ]
    case = frame_case(ChatTable(), chat, "y", roles=("user", "assistant"))
    assert texts(case, "turns") == ["ab", "x", "c a"]
    case = frame_case(ChatTable(), chat, "y")
    assert texts(case, "turns") == ["ab", "c a"]
    assert texts(case, "words") == ["ab", "c", " a"]


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([], "got none"),
        ([[]], "at least one"),
        ([[0, 0]], "once"),
        ([[0, 9]], "0 to 1, got 9"),
        ([[0], [0]], "named once"),
        ("turns", "messages"),
    ],
)
def test_groups_that_make_no_sense_are_refused(groups, message):
    with pytest.raises(InputError, match=message):
        attribution.attribute(uniform(), "ab", "c", groups=groups)


def test_an_unknown_unit_and_a_prompt_without_positions_are_refused():
    case = frame_case(uniform(), "ab", "c", positions=[])
    with pytest.raises((UnknownNameError, TypeCheckError), match="words"):
        split_case(frame_case(uniform(), "ab", "c"), "wrods")
    with pytest.raises(InputError, match="choose roles or positions"):
        split_case(case, "words")


def test_xor_is_one_bit_for_each_alone_and_for_both_together():
    def law(before):
        if len(before) < 3:
            return {"0": 0.5, "1": 0.5}
        return {str(int(before[1]) ^ int(before[2])): 1.0}

    model = likely.TableModel(["0", "1"], law)
    found = attribution.attribute(model, "01", "1", groups=[(0,), (1,), (0, 1)])
    assert found.scores == pytest.approx([math.log(2)] * 3)
    assert [place.positions for place in found.places] == [(0,), (0, 1), (1,)]


def test_copies_are_worth_nothing_alone_and_all_together():
    tokens = list("abcde")

    def law(before):
        return dict.fromkeys(tokens, 0.2) if len(before) == 1 else {before[1]: 1.0}

    model = likely.TableModel(tokens, law)
    found = attribution.attribute(model, "aa", "a", groups=[(0,), (1,), (0, 1)])
    by_group = {place.positions: place.measures.score.value for place in found.places}
    assert by_group[0,] == by_group[1,] == 0.0
    assert by_group[0, 1] == pytest.approx(math.log(5))
    frame = found.to_frame()
    assert list(frame["positions"]) == ["0", "0,1", "1"]
    assert list(frame["n_tokens"]) == [1, 2, 1]


def noisy(n_vocab, *, seed=0, reach=3):
    """A random law that looks back over several tokens."""
    rng = np.random.default_rng(seed)
    tokens = [f"<{i}>" for i in range(n_vocab)]
    mixes = rng.normal(size=(reach, n_vocab + 1, n_vocab)) * 1.5
    place = {token: i for i, token in enumerate([*tokens, "<s>"])}

    @cache
    def law(before):
        logits = sum(mixes[k][place[before[-1 - k]]] for k in range(min(reach, len(before))))
        probs = np.exp(logits - logits.max())
        return dict(zip(tokens, (probs / probs.sum()).tolist(), strict=True))

    return likely.TableModel(tokens, law)


def brute_score(model, prompt, response, group):
    """The score of a group from the probabilities of all texts, one by one."""
    start = (model.info.bos_id,)

    def log_prob(ids):
        rows = (model.row(start + ids[:i])[ids[i]] for i in range(len(ids)))
        return math.fsum(rows)

    tops = []
    for tuple_ in product(range(model.info.n_vocab - 1), repeat=len(group)):
        text = list(prompt)
        for position, token in zip(group, tuple_, strict=True):
            text[position] = token
        tops.append((log_prob((*text, *response)), log_prob(tuple(text))))
    log_n, log_d = (np.logaddexp.reduce(column) for column in np.array(tops).T)
    whole = log_prob((*prompt, *response)) - log_prob(tuple(prompt))
    return whole - log_n + log_d


@pytest.mark.parametrize("group", [(0, 1), (1, 2), (0, 2), (1, 3), (0, 1, 3)])
def test_the_score_of_a_group_is_that_of_all_texts_one_by_one(group):
    model = noisy(4)
    prompt, response = (2, 0, 3, 1), (1, 2)
    found = attribution.attribute(model, prompt, response, groups=[group], method="exact")
    assert found.scores[0] == pytest.approx(brute_score(model, prompt, response, group), abs=1e-12)
    place = found.places[0]
    assert place.measures.score.is_exact
    assert place.bounds == pytest.approx((found.scores[0],) * 2)
    assert place.n_candidates == 4 ** len(group)


@pytest.mark.parametrize(("i", "j"), [(1, 2), (0, 3)])
def test_chain_rule_of_a_pair_at_forty_tokens(i, j):
    """AS of {i, j} = AS of j + what i adds in the prompt without both: 1,600 texts."""
    model = noisy(40, seed=3)
    prompt, response = (7, 30, 2, 11), (5, 19)
    found = attribution.attribute(model, prompt, response, groups=[(i, j), (j,)], kept=None)
    pair, last = (found.at(i), next(p for p in found.places if p.positions == (j,)))
    assert pair.n_candidates == 1600
    # The share of i with j marginalised: from the same 1,600, by what stands at i.
    candidates = pair.candidates
    is_own = candidates.tokens[:, 0] == prompt[i]
    log_x = candidates.log_posterior
    log_y = candidates.log_posterior + candidates.log_response
    with_i = np.logaddexp.reduce(log_y[is_own]) - np.logaddexp.reduce(log_x[is_own])
    without = np.logaddexp.reduce(log_y) - np.logaddexp.reduce(log_x)
    chain = last.measures.score.value + (with_i - without)
    assert pair.measures.score.value == pytest.approx(chain, abs=1e-12)


def test_sums_over_a_tail_of_the_prompt_are_those_of_no_prompt():
    """All positions together: what is averaged out is a whole prompt of as many tokens."""
    model = noisy(4, seed=5)
    prompt, response = (2, 0, 3), (1,)
    found = attribution.attribute(model, prompt, response, groups=[(0, 1, 2)], method="exact")
    assert found.places[0].measures.log_prompt_likelihood.value == pytest.approx(0.0, abs=1e-12)
    marginal = 0.0
    for text in product(range(4), repeat=3):
        ids = (model.info.bos_id, *text, *response)
        marginal += math.exp(sum(model.row(ids[:n])[ids[n]] for n in range(1, len(ids))))
    assert found.places[0].measures.log_response_rest.value == pytest.approx(math.log(marginal))


def test_excluded_ids_leave_the_chain_of_probabilities_alone():
    model = noisy(6, seed=2)
    prompt, response = (2, 0, 3, 1), (1, 2)
    found = attribution.attribute(
        model, prompt, response, groups=[(1, 2)], exclude=[5], method="exact", kept=None
    )
    place = found.places[0]
    assert place.n_candidates == 25
    start = (model.info.bos_id, prompt[0])
    kept = [model.row(start)[u] + model.row((*start, u))[v] for u in range(5) for v in range(5)]
    assert found.excluded_mass[0] == pytest.approx(1.0 - math.exp(np.logaddexp.reduce(kept)))
    with pytest.raises(InputError, match="excluded"):
        attribution.attribute(model, prompt, response, groups=[(1, 2)], exclude=[3])


def test_score_per_token_is_a_column():
    frame = attribution.attribute(noisy(4), (2, 0, 3), (1, 2), method="exact").to_frame()
    assert list(frame["score_per_token"]) == pytest.approx(list(frame["score"] / 2))
    empty = attribution.attribute(noisy(4), (2, 0, 3), (), method="exact").to_frame()
    assert list(empty["score_per_token"]) == [0.0, 0.0, 0.0]


def test_texts_of_a_group_show_where_its_positions_part():
    found = attribution.attribute(noisy(4), (2, 0, 3), (1,), groups=[(0, 2)], method="exact")
    assert found.places[0].text == "<2> … <3>"
    assert found.substitutes(2)[0].text.count("…") == 1
