"""The cases of people who scored text with other tools, on tables whose answers are known.

Each test names the case; `test_scoring_cases_hf.py` runs those that need a neural network.
"""

import itertools
import json
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from fixtures import TOY_MERGES

import likely
from likely.cli.screen import show_prob
from likely.core.logspace import logsumexp
from likely.core.model import Capability
from likely.core.results import NextToken, Score, perplexity
from likely.core.text.spans import char_spans
from likely.errors import InputError, LikelyWarning
from likely.stats.importance import effective_sample_size, normalised_weights

TOY_TOKENS = [*map(chr, range(32, 127)), *(a + b for a, b in TOY_MERGES)]


def uniform(tokens, **options):
    share = 1.0 / len(tokens)
    return likely.TableModel(tokens, lambda context: dict.fromkeys(tokens, share), **options)


def ab(**options):
    """``P(A at the start) = .2`` and ``P(B after A) = .5``."""

    def law(context):
        return {"A": 0.5, "B": 0.5} if context[-1] == "A" else {"A": 0.2, "B": 0.8}

    return likely.TableModel(["A", "B"], law, **options)


def abc():
    """``P(B after A) = .9`` and ``P(C after B) = .5``."""
    laws = {"A": {"B": 0.9, "A": 0.1}, "B": {"C": 0.5, "A": 0.5}}
    return likely.TableModel(["A", "B", "C"], lambda context: laws.get(context[-1], {"A": 1.0}))


def a_score(token_log_probs, *, is_bound=False):
    n = len(token_log_probs)
    return Score(
        log_prob=math.fsum(x for x in token_log_probs if x is not None),
        tokens=(0,) * n,
        pieces=("x",) * n,
        token_log_probs=tuple(token_log_probs),
        censored=(is_bound,) * n,
        context_tokens=(1,),
        flags=frozenset(),
    )


@pytest.mark.parametrize(
    ("context", "continuation", "merged"),
    [("Ans", "wer", "Answer"), ("wor", "ld", "world"), ("Answer:", " C", ": C")],
)
def test_o01_a_token_across_the_join_follows_the_policy(context, continuation, merged):
    model = uniform(TOY_TOKENS)
    joint = likely.score(model, [(context, continuation)])[0]
    assert "boundary_merge" in joint.flags
    assert joint.pieces[0] == merged
    assert joint.n_scored == len(joint.tokens) > 0
    separate = likely.score(model, [(context, continuation)], boundary="separate")[0]
    assert "boundary_merge" not in separate.flags
    assert "".join(separate.pieces) == continuation
    with pytest.raises(InputError, match="spans the join"):
        likely.score(model, [(context, continuation)], boundary="error")


def test_o02_a_space_at_the_end_of_the_context_moves_to_the_answer():
    sentence = "The capital of France is"
    tokens = [*dict.fromkeys(sentence), "Paris", " Paris", "P", "a", "r", "i", "s"]
    tokens = list(dict.fromkeys(tokens))
    law = {t: 0.5 / (len(tokens) - 1) for t in tokens} | {" Paris": 0.5}
    model = likely.TableModel(tokens, lambda context: law)
    spaced, bare = likely.score(model, [(sentence + " ", "Paris"), (sentence, " Paris")])
    assert spaced.log_prob == bare.log_prob == pytest.approx(math.log(0.5), abs=1e-12)
    assert spaced.tokens == bare.tokens
    assert spaced.flags == {"whitespace_moved"}
    apart = likely.score(model, [(sentence + " ", "Paris")], boundary="separate")[0]
    assert "trailing_space" in apart.flags


def test_o03_a_leading_space_is_an_option_and_the_pieces_show_it():
    model = uniform(["Banana", " Banana", *"ban isword.", "B"])
    without, spelled = (likely.surprisal(model, t) for t in ("Banana is", " Banana is"))
    asked = likely.surprisal(model, "Banana is", leading_space=True)
    assert without.pieces[0] == "Banana"
    assert asked.pieces[0] == " Banana"
    assert asked.token_log_probs == spelled.token_log_probs
    assert likely.surprisal(model, " Banana is", leading_space=True).text == " Banana is"
    pair = likely.score(model, [("a", "Banana")], leading_space=True)[0]
    assert pair.pieces == (" Banana",)


def test_o04_bytes_of_one_character_share_its_span():
    byte_spans = [(i, i + 1) for i in range(len("é🙂a".encode()))]
    assert char_spans("é🙂a", byte_spans) == ((0, 1),) * 2 + ((1, 2),) * 4 + ((2, 3),)
    arrow = [(i, i + 1) for i in range(len("i ⭢ j".encode()))]
    assert char_spans("i ⭢ j", arrow) == ((0, 1), (1, 2), *[(2, 3)] * 3, (3, 4), (4, 5))


@pytest.mark.parametrize("text", ["Hello . This is", "y is ?", "the word 'social'"])
def test_o05_white_space_before_punctuation_is_never_cleaned_up(text):
    model = uniform(TOY_TOKENS)
    read = likely.surprisal(model, text)
    assert "".join(read.pieces) == text == model.tokenizer.decode(read.tokens)
    for cut in range(1, len(text)):
        pair = likely.score(model, [(text[:cut], text[cut:])])[0]
        assert model.tokenizer.decode([*pair.context_tokens[1:], *pair.tokens]) == text


def test_o06_the_first_token_follows_the_bos_policy_and_is_never_zero():
    with_bos = likely.surprisal(ab(), "AB", bos="always")
    assert with_bos.log_prob == pytest.approx(math.log(0.1), abs=1e-12)
    assert with_bos.n_scored == 2
    for model, bos in ((ab(), "never"), (ab(bos=None), "auto")):
        without = likely.surprisal(model, "AB", bos=bos)
        assert without.token_log_probs == (None, pytest.approx(math.log(0.5), abs=1e-12))
        assert without.n_scored == 1
        assert "first_token_not_scored" in without.flags
        pair = likely.score(model, [("", "AB")], bos=bos)[0]
        assert pair.token_log_probs[0] is None
        assert pair.log_prob == pytest.approx(-0.6931, abs=1e-4)


def test_o07_one_bos_is_kept_and_two_are_told():
    model = likely.TableModel(["hi", "x"], lambda context: {"hi": 0.5, "x": 0.5})
    for text in ("hi", "<s>hi"):
        assert likely.next_token(model, text).context_tokens == (model.info.bos_id, 0)
    with pytest.warns(LikelyWarning, match="two BOS"):
        row = likely.next_token(model, "<s><s>hi")
    assert "double_bos" in row.flags


def test_o08_null_stays_null_and_is_left_out_of_sums():
    score = a_score([None, -1.0, -2.0])
    assert (score.log_prob, score.n_scored, score.mean_log_prob) == (-3.0, 2, -1.5)
    assert score.to_dict()["token_log_probs"] == (None, -1.0, -2.0)
    with pytest.raises(InputError, match="no token is scored"):
        _ = a_score([None]).mean_log_prob


def test_o08_a_sum_that_leaves_tokens_out_is_not_compared_with_others():
    with pytest.raises(InputError, match="option 1"):
        likely.choose([a_score([-1.0]), a_score([None, -0.1])])
    unscored = likely.score(ab(bos=None), [("", "A"), ("", "B")])
    with pytest.raises(InputError, match="not scored"):
        likely.choose(list(unscored))


def test_o09_every_path_scores_a_token_from_the_row_before_it():
    model = abc()
    expected = math.log(0.45)
    pair = likely.score(model, [("A", "BC")])[0]
    rolling = likely.surprisal(model, "ABC")
    steps = [
        likely.next_token(model, "A").log_prob("B"),
        likely.next_token(model, "AB").log_prob("C"),
    ]
    assert pair.log_prob == pytest.approx(expected, abs=1e-12)
    assert sum(rolling.token_log_probs[1:]) == pytest.approx(expected, abs=1e-12)
    assert sum(steps) == pytest.approx(expected, abs=1e-12)


def test_o13_a_row_normalised_in_float64_has_mass_one_where_half_precision_has_not():
    logits = np.random.default_rng(0).normal(0.0, 3.0, size=50_000)
    ours = logits - logsumexp(logits)
    assert np.exp(ours).sum() == pytest.approx(1.0, abs=1e-6)
    half = logits.astype(np.float16)
    shifted = half - half.max()
    naive = shifted - np.log(np.exp(shifted).sum(dtype=np.float32)).astype(np.float16)
    assert abs(naive.astype(np.float64) - ours).max() > 1e-3


def test_o15_impossible_survives_json_parquet_and_the_cache(tmp_path):
    model = likely.TableModel(["A", "B"], lambda context: {"A": 1.0}, fingerprint="only A")
    with likely.ScoreCache(tmp_path / "scores.sqlite") as cache:
        fresh = likely.score(model, [("A", "B"), ("A", "A")], cache=cache)
        again = likely.score(model, [("A", "B"), ("A", "A")], cache=cache)
    assert [s.log_prob for s in fresh] == [s.log_prob for s in again] == [-math.inf, 0.0]
    assert again.cost.cached == 2
    line = json.loads(fresh.to_json(), parse_constant=pytest.fail)
    assert line["scores"][0]["log_prob"] == "-inf"
    fresh.to_frame().to_parquet(tmp_path / "scores.parquet")
    assert pd.read_parquet(tmp_path / "scores.parquet")["log_prob"][0] == -math.inf


def test_o16_perplexity_is_infinite_where_a_float_ends():
    score = a_score([-1000.0] * 10)
    assert (score.log_prob, score.mean_log_prob, score.perplexity) == (-10_000.0, -1000.0, math.inf)
    assert perplexity(-700.0) == pytest.approx(math.exp(700))


@pytest.mark.parametrize("stride", range(1, 9))
def test_o17_a_window_of_any_stride_scores_each_token_once(stride):
    model = uniform(list("0123456789"), max_tokens=8)
    text = likely.surprisal(model, "012345678901", window=8, stride=stride)
    assert text.log_prob == pytest.approx(-12 * math.log(10), abs=1e-9)
    assert text.n_scored == 12
    assert (text.window, text.stride) == (8, stride)
    assert "windowed" in text.flags


def test_o17_a_text_past_the_context_needs_a_window():
    with pytest.raises(InputError, match="pass window=8"):
        likely.surprisal(uniform(list("0123456789"), max_tokens=8), "012345678901")


class TrimmingTokenizer:
    """The toy tokens with a chat template that trims what messages say."""

    def __init__(self, inner):
        self.encode, self.decode = inner.encode, inner.decode
        self.token_bytes = inner.token_bytes

    def render_chat(self, messages, *, open_reply):
        text = "".join(f"[{m['role']}] {m['content'].strip()}\n" for m in messages)
        return text + ("[assistant] " if open_reply else "")


class ChatTable:
    """A uniform table over the toy tokens that knows chats."""

    def __init__(self):
        self._table = uniform([*TOY_TOKENS, "\n", "\u2063"])
        self.info = replace(
            self._table.info, capabilities=self._table.info.capabilities | {Capability.CHAT}
        )
        self.tokenizer = TrimmingTokenizer(self._table.tokenizer)
        self.evaluate = self._table.evaluate


@pytest.mark.parametrize("reply", ["The capital is ", "It is\n\n", "It is"])
def test_o18_an_open_reply_is_scored_exactly_as_given(reply):
    model = ChatTable()
    user = {"role": "user", "content": "Where?"}
    prompt = likely.chat(model, [user, {"role": "assistant", "content": reply}])
    assert prompt.text == f"[user] Where?\n[assistant] {reply}"
    removed = reply[len(reply.rstrip()) :]
    assert prompt.removed == removed
    assert ("template_trims" in prompt.flags) is bool(removed)
    score = likely.score(model, [(prompt, "Paris")])[0]
    ids = [*score.context_tokens[1:], *score.tokens]
    assert model.tokenizer.decode(ids) == prompt.text + "Paris"
    assert prompt.flags <= score.flags


def test_o18_without_a_reply_the_template_opens_one():
    prompt = likely.chat(ChatTable(), [{"role": "user", "content": "Where?"}])
    assert prompt.text.endswith("[assistant] ")
    assert not prompt.flags


def test_o19_a_token_outside_the_top_is_a_bound_and_leaves_ranks_undecided():
    law = {"a": 0.6, "b": 0.3, "c": 0.06, "d": 0.04}
    top, _ = likely.top_tokens(likely.TableModel(list(law), lambda context: law), "a", 2)
    assert top.pieces == ("a", "b")
    assert top.log_mass_elsewhere == pytest.approx(math.log(0.1), abs=1e-12)
    assert top.log_prob_elsewhere <= math.log(0.1)
    bound = a_score([math.log(0.1)], is_bound=True)
    assert bound.bounds == (-math.inf, math.log(0.1))
    undecided = likely.choose([math.log(0.05), bound])
    assert undecided.undecided == (1,)
    assert not undecided.is_decided
    assert undecided.credit(0) is None
    assert likely.choose([math.log(0.3), bound]).credit(0) == 1.0


def test_o22_ties_share_the_credit_and_are_reported():
    choice = likely.choose([math.log(x) for x in (0.4, 0.4, 0.2)])
    assert choice.best == (0, 1)
    assert choice.credit(1) == 0.5
    assert choice.credit(2) == 0.0


def test_o24_suffixes_never_see_one_another():
    suffixes = [" blue", " pink", " bacon"]
    words = ["the sky is", *suffixes, " ends", " here"]

    def law(context):
        weights = [1.0 + sum(map(len, context)) % (i + 2) for i in range(len(words))]
        return {w: x / sum(weights) for w, x in zip(words, weights, strict=True)}

    model = likely.TableModel(words, law)
    ends = [*suffixes[:2], " bacon ends here"]
    alone = {end: likely.score(model, [("the sky is", end)])[0].log_prob for end in ends}
    for order in itertools.permutations(ends):
        together = likely.score(model, [("the sky is", end) for end in order])
        assert [s.log_prob for s in together] == [alone[end] for end in order]


def test_o28_rows_that_no_token_uses_are_kept_told_and_can_be_masked():
    n_rows, n_tokens = 50_304, 50_277
    row = NextToken(
        log_probs=np.full(n_rows, -math.log(n_rows)),
        context_tokens=(0,),
        n_tokens=n_tokens,
        flags=frozenset(),
        cost=likely.Cost(),
        tokenizer=uniform(["a"]).tokenizer,
    )
    assert row.unused_mass == pytest.approx(0.000537, abs=5e-7)
    assert row.log_prob(0) == pytest.approx(-10.8258, abs=5e-5)
    masked = row.masked()
    assert masked.log_prob(0) == pytest.approx(-10.8253, abs=5e-5)
    assert masked.log_prob(n_tokens) == -math.inf
    assert masked.unused_mass == 0.0
    assert "unused_masked" in masked.flags


def test_o29_two_models_on_one_cache_keep_their_own_numbers(tmp_path):
    half = likely.TableModel(["A", "B"], lambda context: {"A": 0.5, "B": 0.5}, fingerprint="half")
    quarter = likely.TableModel(
        ["A", "B"], lambda context: {"A": 0.25, "B": 0.75}, fingerprint="quarter"
    )
    with likely.ScoreCache(tmp_path / "scores.sqlite") as cache:
        for _ in range(2):
            scores = [likely.score(m, [("B", "A")], cache=cache)[0] for m in (half, quarter)]
            assert [s.log_prob for s in scores] == pytest.approx([-0.6931, -1.3863], abs=5e-5)
        assert len(cache) == 2


def test_o33_the_same_call_gives_the_same_bits():
    model = ab()
    once, again = (likely.surprisal(model, "ABBA").token_log_probs for _ in range(2))
    assert once == again


def test_o37_a_one_token_target_needs_no_bos():
    model = ab(bos=None)
    assert likely.score(model, [("A", "B")])[0].log_prob == pytest.approx(math.log(0.5), abs=1e-12)
    with pytest.raises(InputError, match="no BOS"):
        likely.score(model, [("A", "B")], bos="always")
    with pytest.raises(InputError, match="nothing stands before"):
        likely.next_token(model, "")


def test_o42_one_answer_that_begins_another_keeps_its_own_end():
    def law(context):
        starts = {"<s>": {"cat": 0.5, "dog": 0.3, "s": 0.2}}
        cat = {"</s>": 0.2, "fish": 0.3, "s": 0.5}
        return starts.get(context[-1]) or (cat if context[-1] == "cat" else {"</s>": 1.0})

    model = likely.TableModel(["cat", "dog", "fish", "s"], law, eos="</s>")
    answers = likely.score_answers(model, [""], ["cat", "catfish", "dog"], level="exact")[0]
    assert [round(math.exp(a.log_prob), 6) for a in answers] == [0.10, 0.15, 0.30]
    assert math.exp(answers.log_mass) == pytest.approx(0.55, abs=1e-12)
    shared = [round(math.exp(x), 3) for x in answers.renormalised().values()]
    assert shared == [0.182, 0.273, 0.545]


def test_o44_underflow_length_and_spelling_do_not_mislead():
    weights = np.array([-800.0, -801.0, -805.0])
    assert normalised_weights(weights) == pytest.approx([0.7275, 0.2676, 0.0049], abs=5e-5)
    assert effective_sample_size(weights) == pytest.approx(1.664, abs=5e-4)
    long = a_score([-5.0] * 300)
    assert long.log_prob / math.log(10) == pytest.approx(-651.4, abs=0.05)
    assert show_prob(long.log_prob) == "10^-651.4"
    assert "-1500" in likely.Scores(items=(long,), cost=likely.Cost()).summary()
    assert likely.choose([a_score([-2.0]), a_score([-3.0, -0.01, -0.01, -0.01])]).best == (0,)
    law = {" Yes": 0.30, "Yes": 0.25, " yes": 0.10, " No": 0.32, "?": 0.03}
    model = likely.TableModel([*law, "yes", "No", "no", " no"], lambda context: law)
    answers = likely.score_answers(model, ["?"], ["yes", "no"])[0]
    assert math.exp(answers.log_prob("yes")) == pytest.approx(0.65, abs=1e-12)
    assert math.exp(answers.log_prob("no")) == pytest.approx(0.32, abs=1e-12)
