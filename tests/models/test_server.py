"""Scores over the wire are the table's own, and whatever a server leaves out is never a number."""

import itertools
import math

import numpy as np
import pytest

import likely
from likely.core.engine import Continuation, evaluate
from likely.core.model import Capability
from likely.errors import CapabilityError, InputError, ServerError, UnknownNameError
from likely.testing import check_model

PROBE = "ABBA"
EXACT = ("vllm", "openai", "llama.cpp", "llama-cpp-python")
OWN = ("vllm", "openai", "llama-cpp-python")  # those that tell log-probs of prompt tokens
KEY = "sk-very-secret"


def wavy(**options):
    """A law over A, B, C and AB that depends on the whole context."""
    tokens = ["A", "B", "C", "AB"]

    def law(context):
        seed = sum((i + 2) * (1 + tokens.index(t)) for i, t in enumerate(context) if t in tokens)
        weights = {t: 1.0 + (seed * (j + 3)) % 7 for j, t in enumerate(tokens)}
        return {t: w / sum(weights.values()) for t, w in weights.items()}

    return likely.TableModel(tokens, law, **options)


def softmax_law(logits=(1.0, 0.0, -1.0, -2.0)):
    probs = np.exp(logits) / np.exp(logits).sum()
    law = dict(zip("ABCD", probs.tolist(), strict=True))
    return likely.TableModel(list("ABCD"), lambda context: law, bos=None)


def fixed(probs, **options):
    return likely.TableModel(list(probs), lambda context: probs, **options)


PAIRS = [("A", "B"), ("A", "BCC"), ("ABC", "A"), ("", "CAB"), ("B", "BBA"), ("BBC", "ABAB")]


@pytest.mark.parametrize("dialect", EXACT)
def test_scores_over_the_wire_are_the_table_s_own(loopback, connect, dialect):
    table = wavy()
    loopback.serve(table, dialect)
    model = connect()
    pairs = PAIRS
    if dialect == "llama-cpp-python":  # tells nothing of what follows a BOS alone
        pairs = [p for p in PAIRS if len(likely.score(table, [p])[0].context_tokens) > 1]
    wanted = likely.score(table, pairs)
    got = likely.score(model, pairs)
    for ours, theirs in zip(got, wanted, strict=True):
        assert ours.tokens == theirs.tokens
        assert ours.context_tokens == theirs.context_tokens
        assert ours.pieces == theirs.pieces
        assert ours.token_log_probs == pytest.approx(theirs.token_log_probs, abs=1e-9)
        assert ours.flags == theirs.flags


@pytest.mark.parametrize("dialect", EXACT)
def test_scores_do_not_depend_on_order_or_company(loopback, connect, dialect):
    loopback.serve(wavy(), dialect)
    model = connect()
    alone = [likely.score(model, [pair])[0].log_prob for pair in PAIRS]
    for order in itertools.islice(itertools.permutations(range(len(PAIRS))), 0, 720, 240):
        together = likely.score(model, [PAIRS[i] for i in order])
        assert [s.log_prob for s in together] == [alone[i] for i in order]


def test_what_follows_a_bos_alone_is_open_on_llama_cpp_python_o08(loopback, connect):
    table = wavy()
    loopback.serve(table, "llama-cpp-python")
    model = connect()
    got, wanted = (likely.surprisal(m, "CAB") for m in (model, table))
    assert got.token_log_probs[1:] == pytest.approx(wanted.token_log_probs[1:], abs=1e-9)
    assert got.censored == (True, False)
    assert got.token_log_probs[0] == 0.0  # a bound: the server tells nothing of it
    assert got.flags == {"censored"}


@pytest.mark.parametrize("dialect", ["vllm", "openai", "llama.cpp"])
def test_a_text_reads_as_on_the_table_with_its_spans(loopback, connect, dialect):
    table = wavy()
    loopback.serve(table, dialect)
    wanted, got = (likely.surprisal(m, "ABCABBA") for m in (table, connect()))
    assert got.token_log_probs == pytest.approx(wanted.token_log_probs, abs=1e-9)
    assert got.spans == wanted.spans
    assert got.context_tokens == wanted.context_tokens


@pytest.mark.parametrize("dialect", EXACT)
def test_the_likeliest_tokens_are_the_table_s(loopback, connect, dialect):
    table = wavy()
    loopback.serve(table, dialect)
    wanted, _ = likely.top_tokens(table, "AC", 3)
    got, cost = likely.top_tokens(connect(), "AC", 3)
    assert got.log_probs == pytest.approx(wanted.log_probs, abs=1e-9)
    assert math.exp(got.log_mass_elsewhere) == pytest.approx(
        math.exp(wanted.log_mass_elsewhere), abs=2e-5
    )
    assert got.log_mass_elsewhere >= wanted.log_mass_elsewhere
    assert got.log_prob_elsewhere >= wanted.log_prob_elsewhere
    assert (cost.model_calls, cost.token_evaluations) == (1, 3)


@pytest.mark.parametrize("dialect", ["vllm", "llama.cpp"])
def test_a_server_keeps_the_contract_of_an_adapter(loopback, connect, dialect):
    loopback.serve(wavy(), dialect)
    check_model(connect(), texts=["ABCAB", "CBA"], tolerance=1e-9)


@pytest.mark.parametrize("dialect", OWN)
@pytest.mark.parametrize("lasting", [(), ("zero_first",)])
def test_a_first_token_without_a_value_stays_unscored_o08(loopback, connect, dialect, lasting):
    p1, p2 = math.exp(-1.0), math.exp(-2.0)
    laws = {"A": {"B": p1, "A": 1 - p1}, "B": {"C": p2, "A": 1 - p2}}
    table = likely.TableModel(["A", "B", "C"], lambda c: laws.get(c[-1], {"A": 1.0}), bos=None)
    loopback.serve(table, dialect, lasting=lasting)
    text = likely.surprisal(connect(), "ABC")
    assert text.token_log_probs[0] is None
    assert text.log_prob == pytest.approx(-3.0, abs=1e-9)
    assert (text.n_scored, len(text.tokens)) == (2, 3)


def test_a_token_outside_the_list_is_a_bound_o19(loopback, connect):
    loopback.serve(fixed({"A": 0.6, "B": 0.3, "C": 0.1}), "llama.cpp")
    scores = likely.score(connect(top_k=2), [("A", "B"), ("A", "C"), ("A", "CB")])
    assert scores[0].log_prob == pytest.approx(math.log(0.3), abs=1e-9)
    assert scores[1].log_prob == pytest.approx(-2.3026, abs=1e-4)
    assert scores[1].log_prob >= math.log(0.1)
    assert scores[1].bounds[0] == -math.inf
    assert scores[1].flags == {"censored"}
    assert scores[2].censored == (True, False)


@pytest.mark.parametrize("fault", ["sentinel_last", "null_last"])
@pytest.mark.parametrize("dialect", ["vllm", "openai"])
def test_a_value_kept_back_is_taken_from_the_list_or_bounded_o19(loopback, connect, dialect, fault):
    state = loopback.serve(fixed({"A": 0.6, "B": 0.3, "C": 0.1}), dialect, sampled=0)
    model = connect(top_k=2)
    assert model.info.details["prompt_log_probs"] == "exact"
    state.lasting = frozenset({fault})
    scores = likely.score(model, [("A", "B"), ("A", "C"), ("B", "CB")])
    assert scores[0].log_prob == pytest.approx(math.log(0.3), abs=1e-9)
    assert not scores[0].flags
    assert math.log(0.1) <= scores[1].log_prob < math.log(0.1) + 1e-4
    assert scores[1].censored == (True,)
    assert scores[2].token_log_probs == pytest.approx([math.log(0.1), math.log(0.3)], abs=1e-9)


@pytest.mark.parametrize("dialect", EXACT)
def test_an_impossible_token_is_a_bound_and_no_placeholder_leaks_o19(loopback, connect, dialect):
    loopback.serve(fixed({"A": 0.5, "B": 0.5, "C": 0.0}), dialect)
    score = likely.score(connect(), [("A", "C")])[0]
    assert score.censored == (True,)
    assert -20.0 < score.log_prob < -9.0  # no more is left than rounding may hide


def test_an_ignored_echo_is_found_and_lists_serve_instead_o20(loopback, connect):
    table = wavy()
    loopback.serve(table, "openai", lasting=["echo_ignored"])
    model = connect()
    said = model.info.details["prompt_log_probs"]
    assert said.startswith("not used: 0 prompt log-probs came for 4 prompt tokens")
    scores = likely.score(model, PAIRS)
    wanted = likely.score(table, PAIRS)
    for ours, theirs in zip(scores, wanted, strict=True):
        assert ours.log_prob == pytest.approx(theirs.log_prob, abs=1e-9)


def test_neither_echo_nor_list_is_refused_and_named_o20(loopback, connect):
    loopback.serve(wavy(), "openai", lasting=["echo_ignored", "no_list"])
    with pytest.raises(CapabilityError, match=r"neither prompt log-probs \(0 prompt.*use vLLM"):
        connect()


@pytest.mark.parametrize("dialect", ["vllm", "llama.cpp", "openai", "llama-cpp-python"])
def test_log_probs_after_temperature_are_refused_o21(loopback, connect, dialect):
    table = softmax_law()
    loopback.serve(table, dialect, lasting=["after_temperature"])
    with pytest.raises(CapabilityError, match=r"-0\.4402 at T=1 became -0\.1450|T=0\.5") as info:
        connect(probe="ABCD")
    assert "\n" not in str(info.value)
    loopback.serve(table, dialect)
    model = connect(probe="ABCD")
    assert model.info.details["temperature_probe"] == "raw"
    score = likely.score(model, [("B", "A")])[0]
    assert score.log_prob == pytest.approx(-0.4402, abs=1e-4)


def test_a_list_too_flat_to_show_a_temperature_is_said_to_be(loopback, connect):
    loopback.serve(fixed({"A": 0.5, "B": 0.5}), "llama.cpp")
    assert connect().info.details["temperature_probe"] == "flat"


def test_a_name_with_slash_and_colon_behind_an_address_is_kept_o35(loopback, connect):
    loopback.serve(wavy(), "vllm")
    model = connect()
    assert model.info.name == f"server:{loopback.url}#org/name:q4"
    assert all(b.get("model", "org/name:q4") == "org/name:q4" for b in loopback.state.bodies)


def test_a_chat_endpoint_asked_for_scores_says_what_is_missing_o37(loopback, connect):
    loopback.serve(wavy(), "chat")
    with pytest.raises(CapabilityError, match=r"no completions endpoint .*404.* use vLLM.*hf:"):
        connect()


@pytest.mark.parametrize("dialect", EXACT)
def test_a_one_token_target_needs_no_bos_o37(loopback, connect, dialect):
    table = wavy(bos=None)
    loopback.serve(table, dialect)
    model = connect()
    assert (model.info.bos_id, model.info.adds_bos) == (None, False)
    got, wanted = (likely.score(m, [("A", "B")], boundary="separate")[0] for m in (model, table))
    if dialect == "llama-cpp-python":  # text prompts: AB is one token, and cannot be sent as two
        got, wanted = (likely.score(m, [("B", "A")])[0] for m in (model, table))
    assert got.log_prob == pytest.approx(wanted.log_prob, abs=1e-9)
    assert got.n_scored == 1


def test_an_echo_that_is_off_by_one_is_never_used_o09(loopback, connect):
    after = {"A": {"B": 0.7, "C": 0.3}, "B": {"C": 0.7, "A": 0.3}, "C": {"A": 0.7, "B": 0.3}}
    table = likely.TableModel(["A", "B", "C"], lambda c: after.get(c[-1], {"A": 0.6, "B": 0.4}))
    loopback.serve(table, "openai", lasting=["off_by_one"])
    model = connect()
    assert "its prompt log-prob of token" in model.info.details["prompt_log_probs"]
    pairs = [("A", "B"), ("AC", "ABC"), ("", "BCB")]
    got, wanted = (likely.score(m, pairs) for m in (model, table))
    for ours, theirs in zip(got, wanted, strict=True):
        assert ours.log_prob == pytest.approx(theirs.log_prob, abs=1e-9)


def test_llama_cpp_python_without_a_bos_is_read_by_lists_alone_o09(loopback, connect):
    table = wavy(bos=None)
    loopback.serve(table, "llama-cpp-python")
    model = connect()
    assert "off by one place" in model.info.details["prompt_log_probs"]
    pairs = [("A", "C"), ("B", "CCA")]
    got, wanted = (likely.score(m, pairs) for m in (model, table))
    for ours, theirs in zip(got, wanted, strict=True):
        assert ours.log_prob == pytest.approx(theirs.log_prob, abs=1e-9)
    assert not any(body.get("echo") for body in loopback.state.bodies)


@pytest.mark.parametrize("fault", ["429", "500", "cut", "hang"])
@pytest.mark.parametrize("dialect", ["vllm", "llama.cpp"])
def test_a_passing_fault_is_tried_again(loopback, connect, dialect, fault):
    table = wavy()
    state = loopback.serve(table, dialect)
    model = connect(timeout=0.3, retries=2)
    state.passing = [fault]
    got = likely.score(model, [("A", "CB")])[0].log_prob
    assert got == pytest.approx(likely.score(table, [("A", "CB")])[0].log_prob, abs=1e-9)
    assert not state.passing


@pytest.mark.parametrize(
    ("fault", "said"),
    [("429", "429"), ("500", "500"), ("cut", "cannot reach"), ("hang", "no answer.* 0.3 s")],
)
def test_a_fault_that_does_not_pass_is_one_clear_error(loopback, connect, fault, said):
    state = loopback.serve(wavy(), "vllm")
    model = connect(timeout=0.3, retries=1)
    state.passing = [fault] * 2
    with pytest.raises(ServerError, match=f"(?s)after '<s>AC': .*{said}"):
        likely.score(model, [("A", "C")])


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("truncated_json", "cannot be read"),
        ("too_few", "1 prompt log-probs came for 3 prompt tokens"),
        ("nan", "gave nan as a log-prob"),
        ("positive", "gave 0.5 as a log-prob"),
        ("wrong_ids", "are of ids"),
        ("echo_ignored", "prompt log-probs came for 3 prompt tokens"),
    ],
)
def test_an_answer_that_cannot_be_trusted_names_the_item(loopback, connect, fault, said):
    state = loopback.serve(wavy(), "vllm")
    model = connect()
    state.lasting = frozenset({fault})
    with pytest.raises(ServerError, match=f"after '<s>AC': .*{said}"):
        likely.score(model, [("A", "C")])


@pytest.mark.parametrize("fault", ["401", "never_500", "400", "lost"])
def test_the_key_stands_in_no_error_and_in_no_name(loopback, connect, monkeypatch, fault):
    monkeypatch.setenv("LIKELY_API_KEY", KEY)
    state = loopback.serve(wavy(), "vllm", key=KEY)
    model = connect(retries=0)
    assert KEY not in repr(model) + repr(model.info)
    if fault == "401":
        state.key = "another"
    if fault == "never_500":
        state.lasting = frozenset({"never_500"})
    if fault == "400":
        state.max_top = 0
    if fault == "lost":
        state.passing = ["cut"]
    with pytest.raises(ServerError) as info:
        likely.score(model, [("A", "C")])
    seen = info.value
    while seen is not None:
        assert KEY not in str(seen) + repr(seen)
        seen = seen.__cause__ or seen.__context__


def test_a_wrong_key_says_how_to_give_one(loopback, connect):
    loopback.serve(wavy(), "vllm", key=KEY)
    with pytest.raises(ServerError, match=r"401.*api_key=.*LIKELY_API_KEY") as info:
        connect(api_key="sk-other", dialect="vllm")
    assert "sk-other" not in str(info.value)


def test_no_more_requests_than_allowed_are_under_way_at_once(loopback, connect):
    state = loopback.serve(wavy(), "vllm")
    model = connect(concurrency=3)
    state.delays = dict.fromkeys(range(20), 0.02)
    pairs = [(a + b, c) for a in "ABC" for b in "BC" for c in ("A", "BC")]
    likely.score(model, pairs)
    assert state.most_together == 3


def test_a_deterministic_call_sends_one_request_at_a_time(loopback, connect):
    state = loopback.serve(wavy(), "llama.cpp")
    model = connect()
    state.delays = dict.fromkeys(range(20), 0.01)
    state.most_together = 0
    likely.score(model, [("A", "CBC")], settings=likely.Settings(deterministic=True))
    assert state.most_together == 1
    likely.score(model, [("A", "CBC")])
    assert state.most_together > 1


def test_answers_out_of_order_find_their_requests(loopback, connect):
    table = wavy()
    state = loopback.serve(table, "vllm")
    model = connect()
    state.delays = {n: 0.12 - 0.01 * n for n in range(12)}
    texts = ["C" * n + "B" for n in range(1, 9)]
    pairs = [(text, "A") for text in reversed(texts)]
    got, wanted = (likely.score(m, pairs) for m in (model, table))
    assert [s.log_prob for s in got] == pytest.approx([s.log_prob for s in wanted], abs=1e-9)


def test_one_request_serves_all_prefixes_of_a_path(loopback, connect):
    state = loopback.serve(wavy(), "vllm")
    model = connect()
    state.hits.clear()
    scores = likely.score(model, [("A", "C"), ("A", "CC"), ("A", "CCB"), ("A", "CA")])
    assert state.hits["/v1/completions"] == 2
    assert scores.cost.model_calls == 2
    assert scores.cost.token_evaluations == len("<CCAB") + len("<ACA") - 1 + 1


def test_requests_ask_for_the_raw_law_and_send_the_ids_that_were_scored(loopback, connect):
    state = loopback.serve(wavy(), "vllm")
    model = connect()
    state.bodies.clear()
    score = likely.score(model, [("A", "CB")])[0]
    (body,) = [b for b in state.bodies if b["path"] == "/v1/completions"]
    assert tuple(body["prompt"]) == score.context_tokens + score.tokens
    assert (body["max_tokens"], body["temperature"], body["top_p"]) == (1, 1.0, 1.0)
    assert (body["frequency_penalty"], body["presence_penalty"]) == (0.0, 0.0)
    assert (body["repetition_penalty"], body["seed"]) == (1.0, 0)


def test_another_law_behind_one_address_gets_another_fingerprint(loopback, connect):
    loopback.serve(fixed({"A": 0.6, "B": 0.4}), "vllm")
    first, again = connect().info, connect(api_key=KEY).info
    loopback.serve(fixed({"A": 0.5, "B": 0.5}), "vllm")
    assert first.fingerprint == again.fingerprint
    assert first.fingerprint != connect().info.fingerprint


def test_the_card_says_what_the_server_told(loopback, connect):
    loopback.serve(wavy(), "vllm")
    info = connect().info
    assert info.backend == "server vllm 0.0-test"
    assert info.max_tokens == 62
    assert (info.bos_id, info.adds_bos) == (4, True)
    assert info.capabilities == {Capability.CONTINUATION, Capability.TOP_TOKENS}
    loopback.serve(wavy(), "llama.cpp")
    info = connect().info
    assert info.backend == "server llama.cpp b1-test"
    assert (info.n_vocab, info.max_tokens, info.bos_id, info.adds_bos) == (5, 62, 4, True)


def test_whole_rows_are_refused_by_name(loopback, connect):
    loopback.serve(wavy(), "vllm")
    with pytest.raises(CapabilityError, match="no next token"):
        likely.next_token(connect(), "A")


def test_more_likeliest_tokens_than_the_server_lists_are_refused(loopback, connect):
    loopback.serve(wavy(), "vllm", max_top=5)
    model = connect()
    assert model.info.details["top_k"] == 5
    with pytest.raises(CapabilityError, match="at most 5 likeliest tokens, 6 were asked"):
        likely.top_tokens(model, "A", 6)
    with pytest.raises(CapabilityError, match="refuses to list"):
        connect(top_k=6)


def test_a_silent_cap_on_the_list_is_found(loopback, connect):
    law = {token: p for token, p in zip("ABCDEFGH", [0.4, 0.2, *[0.4 / 6] * 6], strict=True)}
    state = loopback.serve(fixed(law), "openai")
    state.max_top = 3
    model = connect(top_k=5)
    top, _ = likely.top_tokens(model, "A", 2)
    assert top.log_probs == pytest.approx([math.log(0.4), math.log(0.2)], abs=1e-9)
    assert top.log_prob_elsewhere >= math.log(0.4 / 6)


def test_ids_that_no_text_gives_cannot_be_sent_as_text(loopback, connect):
    loopback.serve(wavy(), "llama-cpp-python")
    model = connect()
    a, b = model.tokenizer.encode("A").tokens[0], model.tokenizer.encode("B").tokens[0]
    with pytest.raises(CapabilityError, match=r"splits 'AB' into .*use a server that takes token"):
        evaluate(model, [Continuation(prefix=(model.info.bos_id, a), target=(b,))])


def test_a_refused_prompt_is_an_error_with_the_server_s_words(loopback, connect):
    state = loopback.serve(wavy(), "vllm")
    model = connect()
    state.max_top = 0
    with pytest.raises(ServerError, match=r"400: .*requested 1 logprobs, at most 0"):
        likely.score(model, [("A", "C")])


def test_a_server_without_a_tokenizer_asks_for_one(loopback, connect):
    loopback.serve(wavy(), "no tokenizer")
    with pytest.raises(CapabilityError, match=r"no tokenize endpoint; pass tokenizer="):
        connect()


def test_a_local_tokenizer_stands_in_for_the_endpoint(loopback, connect, toy_bpe_folder):
    folder = str(toy_bpe_folder)
    from likely.models.hf_tokenizer import HfTokenizer

    local = HfTokenizer.load(folder)
    strings = [local.inner.convert_ids_to_tokens(i) for i in range(local.n_tokens)]
    law = {strings[i]: 2.0 ** -(i + 1) for i in range(20)}
    law[strings[19]] *= 2.0
    table = likely.TableModel(strings, lambda context: law, bos="<s>", eos="</s>")
    loopback.serve(table, "no tokenizer")
    pieces = "".join(strings[1:4])
    model = connect(tokenizer=folder, probe=pieces)
    score = likely.score(model, [(strings[1], strings[2])])[0]
    assert score.log_prob == pytest.approx(math.log(law[strings[2]]), abs=1e-9)
    assert Capability.CHAT in model.info.capabilities


def test_a_local_tokenizer_of_another_model_is_refused(loopback, connect, toy_bpe_folder):
    loopback.serve(wavy(), "vllm")
    with pytest.raises(InputError, match="name the folder of the model that is served"):
        connect(tokenizer=str(toy_bpe_folder))


@pytest.mark.parametrize(
    ("rest", "error", "said"),
    [
        ("http://localhost:1/v1", InputError, "server:<base url>#<model>"),
        ("localhost:1/v1#m", InputError, "server:<base url>#<model>"),
        ("http://me:pass@localhost:1/v1#m", InputError, "api_key="),
    ],
)
def test_an_address_that_cannot_be_used_is_explained(rest, error, said):
    with pytest.raises(error, match=said) as info:
        likely.load(f"server:{rest}")
    assert "pass@" not in str(info.value)


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"temperture": 1}, InputError, "temperture"),
        ({"timeout": 0}, InputError, "timeout"),
        ({"api_key": 5}, InputError, "api_key"),
        ({"dialect": "vlm"}, UnknownNameError, "did you mean \\['vllm'"),
        ({"probe": "A"}, InputError, "2 tokens or more"),
    ],
)
def test_an_option_that_cannot_be_used_is_named(loopback, connect, options, error, said):
    loopback.serve(wavy(), "vllm")
    with pytest.raises(error, match=said):
        connect(**options)


def test_a_model_that_is_not_served_is_not_answered_by_another(loopback):
    loopback.serve(wavy(), "vllm")
    with pytest.raises(UnknownNameError, match="org/name:q4"):
        likely.load(f"server:{loopback.url}#org/name", probe=PROBE)


def test_an_address_where_nothing_listens_is_one_error():
    with pytest.raises(ServerError, match=r"cannot reach http://127\.0\.0\.1:9/version"):
        likely.load("server:http://127.0.0.1:9/v1#m", retries=0, timeout=1.0)
