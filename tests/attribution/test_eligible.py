"""Which candidates there are: padding, holes, special tokens, and rules about text."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

import likely
from likely.attribution import attribute, frame_case
from likely.attribution.eligible import Eligible, begins_word
from likely.core.text.encode import encode_texts
from likely.errors import CapabilityError, InputError

TOKENS = ["a", "b", "ab", " a", " ab", ".", "c"]


def law_of(tokens, bos="<s>"):
    def law(context):
        seed = sum((i + 2) * (3 + len(t) + ord(t[0])) for i, t in enumerate(context))
        weights = {t: 1.0 + (seed * (j + 3)) % 7 for j, t in enumerate(tokens)}
        return {t: w / sum(weights.values()) for t, w in weights.items()}

    return likely.TableModel(tokens, law, bos=bos)


def by_hand(table, context, prompt, response, position, candidates):
    """Score, prior mass of the others, and entropy, with the law among the candidates alone."""

    def log_prob(ids, after):
        whole = [*ids, *after]
        return sum(table.row(whole[:i])[whole[i]] for i in range(len(ids), len(whole)))

    before = [*context, *prompt[:position]]
    rest = list(prompt[position + 1 :])
    log_x = np.array([log_prob(before, [v, *rest]) for v in candidates])
    log_b = np.array([log_prob([*before, v, *rest], response) for v in candidates])
    own = log_b[candidates.index(prompt[position])]
    score = own - np.logaddexp.reduce(log_x + log_b) + np.logaddexp.reduce(log_x)
    row = table.row(before)
    return score, 1.0 - np.exp(row[candidates]).sum()


def test_padded_ids_are_no_candidates_and_their_mass_is_told():
    table = law_of(TOKENS, bos=None)
    table._info = replace(table.info, n_tokens=5)  # "." and "c" stand for padding
    found = attribute(table, [0, 1, 3], [1, 0], context=[2], method="exact")
    for place, mass in zip(found.places, found.excluded_mass, strict=True):
        score, out = by_hand(table, [2], [0, 1, 3], [1, 0], place.positions[0], list(range(5)))
        assert place.measures.score.value == pytest.approx(score, abs=1e-12)
        assert mass == pytest.approx(out, abs=1e-12)
        assert place.n_candidates == 5
    # Nothing comes after the last token of the prompt, so its D is the mass of the candidates: 1.
    assert found.places[-1].measures.log_prompt_likelihood.value == pytest.approx(0.0, abs=1e-12)


def test_padding_of_a_real_output_layer_is_left_out(gpt2):
    case = {"prompt": [3, 9], "response": [4], "context": [1], "method": "exact"}
    found = attribute(gpt2, **case)
    rows = [likely.next_token(gpt2, [1, 3][: i + 1]).log_probs for i in range(2)]
    padded = [float(np.exp(row[gpt2.info.n_tokens :]).sum()) for row in rows]
    assert gpt2.info.n_tokens < gpt2.info.n_vocab
    assert found.excluded_mass == pytest.approx(padded, abs=1e-6)
    assert found.excluded_mass.min() > 1e-6
    with pytest.raises(InputError, match="is no candidate"):
        attribute(gpt2, **(case | {"prompt": [3, gpt2.info.n_vocab - 1]}))


def test_an_id_without_a_meaning_is_no_candidate():
    table = law_of(TOKENS)
    spelled = table.tokenizer.token_bytes
    table.tokenizer.token_bytes = lambda token: b"" if token == 4 else spelled(token)
    found = attribute(table, "aab", "a", method="exact")
    assert all(4 not in place.candidates.tokens for place in found.places)
    assert found.excluded_mass.min() > 0.0


def test_special_tokens_are_candidates_unless_they_are_excluded():
    tokens = [*TOKENS, "<s>"]
    table = law_of(tokens)
    every = attribute(table, "ab.", "a", method="exact")
    some = attribute(table, "ab.", "a", method="exact", exclude=[7])
    assert every.excluded_mass == pytest.approx([0.0, 0.0], abs=1e-12)
    for place, mass in zip(some.places, some.excluded_mass, strict=True):
        score, out = by_hand(table, [7], [2, 5], [0], place.positions[0], list(range(7)))
        assert place.measures.score.value == pytest.approx(score, abs=1e-12)
        assert mass == pytest.approx(out, abs=1e-12)
    with pytest.raises(InputError, match="leave the position out"):
        attribute(table, "ab.", "a", method="exact", exclude=[5])


def test_a_model_without_bos_and_end_needs_a_context(toy_bytes):
    with pytest.raises(InputError, match="give context="):
        frame_case(toy_bytes, "ab", "c")
    case = frame_case(toy_bytes, "ab", "c", context="\n")
    assert (len(case.context), len(case.prompt)) == (1, 2)


def test_an_end_token_stands_in_for_a_bos():
    table = likely.TableModel(["a", "b"], lambda c: {"a": 0.5, "b": 0.5}, bos=None, eos="</s>")
    assert frame_case(table, "ab", "a").context == (table.info.eos_id,)


def test_round_trip_takes_the_tokens_that_come_back():
    table = law_of(TOKENS)
    case = frame_case(table, "aa.b", "a")
    eligible = Eligible(table, case, rule="round_trip")
    sizes = []
    for position in range(4):
        wanted = []
        for token in range(len(TOKENS)):
            ids = (*case.prompt[:position], token, *case.prompt[position + 1 :])
            if table.tokenizer.encode(table.tokenizer.decode(ids)).tokens == ids:
                wanted.append(token)
        assert set(eligible.at(position)) & set(range(len(TOKENS))) == set(wanted)
        sizes.append(len(wanted))
    assert sizes == [7, 6, 4, 7]
    found = attribute(table, "aa.b", "a", method="exact", candidates="round_trip")
    assert found.rule == "round_trip"
    for place, mass in zip(found.places, found.excluded_mass, strict=True):
        position = place.positions[0]
        score, out = by_hand(
            table, case.context, case.prompt, case.response, position,
            eligible.at(position).tolist(),
        )  # fmt: skip
        assert place.measures.score.value == pytest.approx(score, abs=1e-12)
        assert mass == pytest.approx(out, abs=1e-12)


def test_round_trip_on_a_real_tokenizer(toy_bpe):
    case = frame_case(toy_bpe, "Answer: Cold", "x")
    found = Eligible(toy_bpe, case, rule="round_trip")
    for position in range(len(case.prompt)):
        ids = found.at(position)
        assert case.prompt[position] in ids
        for token in itertools.islice(ids, 0, None, 17):
            changed = (*case.prompt[:position], int(token), *case.prompt[position + 1 :])
            text = toy_bpe.tokenizer.decode(changed)
            assert encode_texts(toy_bpe, [text])[text] == changed


def test_a_prompt_that_does_not_come_back_has_no_such_candidates():
    table = law_of(TOKENS)
    with pytest.raises(InputError, match="use candidates='all'"):
        attribute(table, [0, 1], [0], context=[7], method="exact", candidates="round_trip")


def test_word_start_compares_like_with_like():
    table = law_of(TOKENS)
    eligible = Eligible(table, frame_case(table, "ab ab.", "a"), rule="word_start")
    words = {0, 1, 2, 3, 4, 6}
    assert set(eligible.at(0).tolist()) == words  # nothing before it: every word begins here
    assert set(eligible.at(1).tolist()) == {3, 4}  # behind a word only those with a space
    assert set(eligible.at(2).tolist()) == set(range(8)) - {3, 4}  # not a word: the others
    assert not begins_word(b"<s>", inside=False)


def test_rules_are_refused_where_they_cannot_be_followed():
    table = law_of(TOKENS)
    table._info = replace(table.info, capabilities=frozenset({likely.Capability.CONTINUATION}))
    with pytest.raises(CapabilityError, match="candidates='all'"):
        attribute(table, "ab", "a", candidates="word_start")
