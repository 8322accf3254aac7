"""Kept keys and values change no number: branches against plain forwards of the module."""

import itertools

import numpy as np
import pytest
import torch
from fixtures import plain_rows, random_gpt2, random_window, toy_bytes_tokenizer
from transformers import AttentionInterface

import likely
from likely.core.branches import EngineStem, HasStem, open_stem
from likely.core.engine import Continuation, evaluate
from likely.core.model import Settings
from likely.errors import InputError
from likely.models import branching, stem_attention
from likely.models.branching import ModelStem
from likely.models.transformers import TransformersModel

N_VOCAB = 256
EXACT = {"gpt2", "neox"}  # the RMS norm of the others is in float32, whatever the weights are


def _tolerance(kind, dtype):
    if dtype == "float32":
        return 1e-5
    return 1e-12 if kind in EXACT else 1e-6


def _attention(kind):
    """Return the kind of attention whose softmax is in the dtype of the weights, where one is."""
    return "sdpa" if kind == "neox" else "eager"


def _llama():
    from transformers import LlamaConfig, LlamaForCausalLM

    return LlamaForCausalLM(
        LlamaConfig(
            vocab_size=N_VOCAB, hidden_size=32, intermediate_size=48, num_hidden_layers=2,
            num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=64,
            initializer_range=0.1,
        )
    )  # fmt: skip


def _neox():
    from transformers import GPTNeoXConfig, GPTNeoXForCausalLM

    return GPTNeoXForCausalLM(
        GPTNeoXConfig(
            vocab_size=N_VOCAB, hidden_size=32, intermediate_size=48, num_hidden_layers=2,
            num_attention_heads=2, max_position_embeddings=64, initializer_range=0.1,
        )
    )  # fmt: skip


def _gemma():
    from transformers import Gemma2Config, Gemma2ForCausalLM

    return Gemma2ForCausalLM(
        Gemma2Config(
            vocab_size=N_VOCAB, hidden_size=32, intermediate_size=48, num_hidden_layers=2,
            num_attention_heads=2, num_key_value_heads=1, head_dim=16, sliding_window=5,
            final_logit_softcapping=3.0, max_position_embeddings=64, initializer_range=0.1,
        )
    )  # fmt: skip


def _narrow():
    module = random_window(N_VOCAB, seed=3)
    module.config.sliding_window = 5
    return type(module)(module.config)


_MODULES = {
    "gpt2": lambda: random_gpt2(N_VOCAB, seed=3),
    "llama": _llama,
    "neox": _neox,
    "window": _narrow,
    "mixed windows": _gemma,
}
_MADE = {}


def _model(kind, dtype="float64", attention=None):
    attention = attention or _attention(kind)
    key = kind, dtype, attention
    if key not in _MADE:
        torch.manual_seed(11)
        module = _MODULES[kind]().eval().to(getattr(torch, dtype))
        module.set_attn_implementation(attention)
        _MADE[key] = TransformersModel(module, toy_bytes_tokenizer(), name=kind)
    return _MADE[key]


def _texts(n, k, *, seed=0, length=9):
    rng = np.random.default_rng(seed)
    return tuple(rng.integers(0, N_VOCAB, length).tolist()), rng.integers(0, N_VOCAB, (n, k))


def _expected(model, prefix, tokens):
    found = []
    for sequence in tokens.tolist():
        rows = plain_rows(model, (*prefix, *sequence))
        found.append([rows[len(prefix) + i - 1, token] for i, token in enumerate(sequence)])
    return np.array(found)


every_model = pytest.mark.parametrize(
    ("kind", "dtype", "attention"),
    [
        *itertools.product([k for k in _MODULES if k != "neox"], ["float64"], ["eager"]),
        *itertools.product(["gpt2", "llama", "neox", "window"], ["float64"], ["sdpa"]),
        *itertools.product(_MODULES, ["float32"], ["eager"]),
        *itertools.product(["gpt2", "window"], ["float32"], ["sdpa"]),
    ],
)


@every_model
@pytest.mark.parametrize("blocks", [(7,), (1, 6), (2, 3, 2), (1,) * 7])
def test_branches_are_the_plain_forward_of_their_whole_texts(kind, dtype, attention, blocks):
    model = _model(kind, dtype, attention)
    text, tokens = _texts(4, 7)
    stem = open_stem(model, text)
    assert isinstance(stem, ModelStem)
    cuts = list(itertools.accumulate(blocks, initial=0))
    for length in (1, 6, 9):
        branches = stem.branches(length, 4)
        grown = np.hstack([branches.grow(tokens[:, i:j]) for i, j in itertools.pairwise(cuts)])
        expected = _expected(model, text[:length], tokens)
        np.testing.assert_allclose(grown, expected, atol=_tolerance(kind, dtype), rtol=0)


@every_model
def test_rows_of_a_stem_are_next_token_rows(kind, dtype, attention):
    model = _model(kind, dtype, attention)
    text, _ = _texts(1, 1)
    stem = open_stem(model, text)
    for length in (1, 5, 9):
        row = likely.next_token(model, text[:length], bos="never").log_probs
        np.testing.assert_allclose(stem.row(length), row, atol=_tolerance(kind, dtype), rtol=0)


@pytest.mark.parametrize(
    ("kind", "attention", "shares"),
    [
        ("gpt2", "sdpa", True), ("llama", "sdpa", True), ("neox", "sdpa", True),
        ("gpt2", "eager", False), ("window", "sdpa", False), ("mixed windows", "eager", False),
    ],
)  # fmt: skip
@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16"])
def test_a_stem_stands_once_for_all_branches_where_attention_allows_it(
    kind, dtype, attention, shares, monkeypatch
):
    model = _model(kind, dtype, attention)
    assert model._shares_stem == shares
    text, tokens = _texts(5, 6, seed=8)
    found = []
    for once in (shares, False):
        monkeypatch.setattr(model, "_shares_stem", once)
        branches = open_stem(model, text).branches(7, 5)
        read = [branches.grow(tokens[:, :1])]
        branches.keep(np.array([4, 0, 2, 2]))
        kept = tokens[[4, 0, 2, 2]]
        read += [branches.grow(kept[:, 1:4]).ravel(), branches.grow(kept[:, 4:]).ravel()]
        found.append(np.concatenate([one.ravel() for one in read]))
    limit = {"float64": 1e-12, "float32": 1e-5, "bfloat16": 0.1}[dtype]
    np.testing.assert_allclose(found[0], found[1], atol=limit, rtol=0)


def test_attention_that_gives_other_numbers_is_not_taken():
    """A model may say of its attention what ours does not know of: it is tried, not trusted."""

    def wrong(module, query, key, value, attention_mask, scaling=None, **options):
        return stem_attention.attend(
            module, query, key, value, attention_mask, (scaling or 1.0) * 1.5, **options
        )

    def refused(module, query, key, value, attention_mask, scaling=None, **options):
        return stem_attention.attend(
            module, query, key, value, attention_mask, scaling, softcap=3.0
        )

    for other in (wrong, refused):
        AttentionInterface.register("likely_stem", other)
        try:
            model = TransformersModel(_model("llama").module, toy_bytes_tokenizer(), name="another")
            assert not model._shares_stem
        finally:
            AttentionInterface.register("likely_stem", stem_attention.attend)


def test_attention_over_a_stem_leaves_the_module_as_it_was():
    model = _model("llama", "float32", "sdpa")
    before = model.module.config._attn_implementation
    text, tokens = _texts(3, 4)
    open_stem(model, text).branches(7, 3).grow(tokens)
    assert model.module.config._attn_implementation == before == "sdpa"
    with pytest.raises(IndexError):
        open_stem(model, text).branches(7, 3).grow(np.full((3, 4), 10**6))
    assert model.module.config._attn_implementation == before


@pytest.mark.parametrize("n", [1, 3])
def test_branches_take_a_block_that_may_not_be_written_to(n):
    """Torch warns of such arrays, and a suffix that all branches share is one."""
    text, tokens = _texts(1, 5)
    both = np.repeat(tokens, n, axis=0)
    found = []
    for block in (both, np.broadcast_to(tokens[0], (n, 5))):
        branches = open_stem(_model("gpt2"), text).branches(7, n)
        found.append(np.hstack([branches.grow(block[:, :1]), branches.grow(block[:, 1:])]))
    assert np.array_equal(found[0], found[1])


@pytest.mark.parametrize("kind", list(_MODULES))
def test_branches_are_the_engines_own_numbers(kind):
    model = _model(kind)
    text, tokens = _texts(5, 4, seed=4)
    grown = open_stem(model, text).branches(7, 5).grow(tokens, last=True)
    asked = [Continuation(prefix=text[:7], target=tuple(row)) for row in tokens.tolist()]
    answers = evaluate(model, asked).answers
    atol = _tolerance(kind, "float64")
    np.testing.assert_allclose(grown, [a.values for a in answers], atol=atol, rtol=0)


@pytest.mark.parametrize("kind", list(_MODULES))
def test_keeping_drops_permutes_and_doubles(kind):
    model = _model(kind)
    text, tokens = _texts(6, 6, seed=5)
    branches = open_stem(model, text).branches(8, 6)
    branches.grow(tokens[:, :3])
    first = np.array([4, 0, 5, 4])
    branches.keep(first)
    middle = branches.grow(tokens[first, 3:4])
    second = np.array([2, 0])
    branches.keep(second)
    assert len(branches) == 2
    end = branches.grow(tokens[first[second], 4:], last=True)
    expected = _expected(model, text[:8], tokens)
    atol = _tolerance(kind, "float64")
    np.testing.assert_allclose(middle, expected[first, 3:4], atol=atol)
    np.testing.assert_allclose(end, expected[first[second], 4:], atol=atol)


def test_branches_of_a_stem_do_not_touch_one_another():
    model = _model("neox")
    text, tokens = _texts(4, 5, seed=6)
    stem = open_stem(model, text)
    one, other = stem.branches(5, 2), stem.branches(5, 2)
    mixed = [one.grow(tokens[:2, :2]), other.grow(tokens[2:, :3]), one.grow(tokens[:2, 2:]),
             other.grow(tokens[2:, 3:])]  # fmt: skip
    expected = _expected(model, text[:5], tokens)
    np.testing.assert_allclose(np.hstack([mixed[0], mixed[2]]), expected[:2], atol=1e-12)
    np.testing.assert_allclose(np.hstack([mixed[1], mixed[3]]), expected[2:], atol=1e-12)


def test_every_token_is_evaluated_once_and_the_last_one_never():
    model = _model("gpt2")
    text, tokens = _texts(5, 6)
    stem = open_stem(model, text)
    assert stem.spending.cost.token_evaluations == 9
    branches = stem.branches(4, 5)
    branches.grow(tokens[:, :1])  # the stem knows the row after its prefix
    assert stem.spending.cost.token_evaluations == 9
    branches.grow(tokens[:, 1:4])
    assert stem.spending.cost.token_evaluations == 9 + 5 * 3
    branches.keep(np.array([0, 3]))
    branches.grow(tokens[[0, 3], 4:], last=True)
    assert stem.spending.cost.token_evaluations == 9 + 5 * 3 + 2 * 2
    at_once = open_stem(model, text)
    at_once.branches(4, 5).grow(tokens, last=True)
    assert at_once.spending.cost.token_evaluations == 9 + 5 * 5
    assert at_once.spending.cost.model_calls == 2


@pytest.mark.parametrize("kind", list(_MODULES))
def test_over_the_memory_budget_numbers_stay_and_evaluations_rise(kind):
    model = _model(kind)
    text, tokens = _texts(4, 6, seed=7)
    costs, grown = [], []
    for memory in (1 << 29, 1):
        stem = open_stem(model, text, settings=Settings(memory=memory))
        branches = stem.branches(6, 4)
        blocks = [branches.grow(tokens[:, :3])]
        branches.keep(np.array([3, 1]))
        blocks.append(branches.grow(tokens[[3, 1], 3:5]))
        blocks.append(branches.grow(tokens[[3, 1], 5:], last=True))
        costs.append(stem.spending.cost.token_evaluations)
        grown.append(np.hstack([blocks[0][[3, 1]], *blocks[1:]]))
    atol = _tolerance(kind, "float64")
    np.testing.assert_allclose(grown[1], grown[0], atol=atol)
    np.testing.assert_allclose(grown[1], _expected(model, text[:6], tokens[[3, 1]]), atol=atol)
    assert costs[0] == 9 + 4 * 2 + 2 * 2 + 2 * 1
    assert costs[1] == 9 + 4 * 2 + 2 * 4 + 2 * 5  # each step reads its branches anew


def test_many_branches_go_through_the_model_in_parts():
    model = _model("llama", "float32", "eager")
    text, tokens = _texts(1500, 3, seed=8)
    stem = open_stem(model, text)
    branches = stem.branches(6, 1500)
    branches.grow(tokens[:, :2])
    grown = branches.grow(tokens[:, 2:], last=True)
    assert stem.spending.cost.model_calls > 3
    few = [0, 700, 1023, 1024, 1499]
    expected = _expected(model, text[:6], tokens[few])
    np.testing.assert_allclose(grown[few], expected[:, 2:], atol=1e-5)


def test_logits_taken_a_few_at_a_time_are_the_same(monkeypatch):
    model = _model("gpt2")
    text, tokens = _texts(5, 6, seed=9)
    whole = open_stem(model, text).branches(6, 5).grow(tokens)
    monkeypatch.setattr(branching, "_LOGIT_BYTES", 3 * 4 * N_VOCAB)
    parts = open_stem(model, text).branches(6, 5).grow(tokens)
    np.testing.assert_allclose(parts, whole, atol=1e-12, rtol=0)


def test_a_long_text_is_read_in_parts():
    from transformers import GPTNeoXConfig, GPTNeoXForCausalLM

    torch.manual_seed(0)
    config = GPTNeoXConfig(
        vocab_size=N_VOCAB, hidden_size=8, intermediate_size=8, num_hidden_layers=1,
        num_attention_heads=1, max_position_embeddings=1200, initializer_range=0.1,
    )  # fmt: skip
    model = TransformersModel(
        GPTNeoXForCausalLM(config).eval().double(), toy_bytes_tokenizer(), name="long"
    )
    text, tokens = _texts(2, 3, length=1100)
    stem = open_stem(model, text)
    assert stem.spending.cost.token_evaluations == 1100
    assert stem.spending.cost.model_calls == 2
    grown = stem.branches(1080, 2).grow(tokens)
    np.testing.assert_allclose(grown, _expected(model, text[:1080], tokens), atol=1e-12)


def test_a_model_without_keys_and_values_reads_whole_sequences():
    from transformers import MambaConfig, MambaForCausalLM

    torch.manual_seed(0)
    config = MambaConfig(vocab_size=N_VOCAB, hidden_size=16, num_hidden_layers=1, state_size=4)
    module = MambaForCausalLM(config).eval()
    model = TransformersModel(module, toy_bytes_tokenizer(), name="mamba")
    text, tokens = _texts(3, 4)
    stem = open_stem(model, text)
    assert isinstance(model, HasStem)
    assert isinstance(stem, EngineStem)
    branches = stem.branches(5, 3)
    grown = np.hstack([branches.grow(tokens[:, :1]), branches.grow(tokens[:, 1:])])
    expected = []
    with torch.inference_mode():
        for sequence in tokens.tolist():
            logits = module(torch.tensor([[*text[:5], *sequence]]), use_cache=False).logits[0]
            rows = torch.log_softmax(logits.double(), dim=-1).numpy()
            expected.append([rows[4 + i, token] for i, token in enumerate(sequence)])
    np.testing.assert_allclose(grown, expected, atol=1e-5)


def test_what_cannot_be_grown_is_refused():
    model = _model("llama")
    text, tokens = _texts(3, 2)
    with pytest.raises(InputError, match="at least one token"):
        open_stem(model, ())
    with pytest.raises(InputError, match="65 tokens, 'llama' reads 64"):
        open_stem(model, (1,) * 65)
    stem = open_stem(model, text)
    for length in (0, 10):
        with pytest.raises(InputError, match="1 to 9 tokens"):
            stem.row(length)
        with pytest.raises(InputError, match="1 to 9 tokens"):
            stem.branches(length, 2)
    with pytest.raises(InputError, match="3 branches grow by as many rows"):
        stem.branches(3, 3).grow(tokens[:2])


def test_weights_that_give_no_numbers_are_named():
    from likely.errors import NumericalError

    module = random_gpt2(N_VOCAB).eval()
    model = TransformersModel(module, toy_bytes_tokenizer(), name="broken")
    with torch.no_grad():
        module.transformer.ln_f.weight.fill_(float("nan"))
    stem = open_stem(model, (1, 2, 3))
    with pytest.raises(NumericalError, match="broken"):
        stem.row(2)


def test_branches_that_were_grown_for_the_last_time_grow_no_more():
    text, tokens = _texts(3, 4)
    branches = open_stem(_model("gpt2"), text).branches(2, 3)
    branches.grow(tokens[:, :3], last=True)
    with pytest.raises(InputError, match="last"):
        branches.grow(tokens[:, 3:])


@pytest.mark.parametrize("kind", ["gpt2", "llama"])
def test_branches_that_outgrow_the_model_are_refused(kind):
    model = _model(kind)
    room = model.info.max_tokens
    branches = open_stem(model, (1,) * (room - 2)).branches(room - 2, 2)
    branches.grow(np.full((2, 3), 7))  # the last token need not be read
    with pytest.raises(InputError, match=str(room)):
        branches.grow(np.full((2, 2), 7))
