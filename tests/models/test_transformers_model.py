"""What the transformers adapter gives beyond scores, against plain calls of the module."""

import numpy as np
import pytest
import torch
from fixtures import plain_rows

import likely
from likely.core.engine import Hidden, evaluate
from likely.core.model import Capability, Settings
from likely.core.trie import build_trie
from likely.errors import CapabilityError, InputError, StoreError
from likely.models.planning import Planner
from likely.models.transformers import TransformersModel

IDS = (5, 9, 4, 7, 3, 8)


def _states(model):
    with torch.inference_mode():
        out = model.module(torch.tensor([IDS]), output_hidden_states=True, use_cache=False)
    return out.hidden_states[-1][0].numpy()


@pytest.mark.parametrize("method", ["tree", "cache", "full"])
def test_hidden_states_after_the_norm_are_the_modules_own(gpt2, window, method):
    for model in (gpt2, window):
        asked = [Hidden(prefix=IDS[:n]) for n in range(1, 7)]
        settings = Settings(method=method, row_tokens=3, batch_rows=2)
        found = evaluate(model, asked, settings=settings)
        expected = _states(model)
        for n in range(6):
            np.testing.assert_allclose(found[n].values, expected[n], atol=1e-5)


@pytest.mark.parametrize("method", ["tree", "cache", "full"])
def test_states_before_the_norm_become_those_after_it_by_its_parameters(gpt2, window, method):
    settings = Settings(method=method, row_tokens=4, batch_rows=2)
    for model in (gpt2, window):
        norm = model.final_norm()
        sequences = [IDS, IDS[:3], (*IDS[:2], 6)]
        before = evaluate(model, [Hidden(prefix=s, norm="before") for s in sequences],
                          settings=settings)  # fmt: skip
        after = evaluate(model, [Hidden(prefix=s) for s in sequences], settings=settings)
        for one, other in zip(before.answers, after.answers, strict=True):
            x = one.values - (one.values.mean() if norm.kind == "layer" else 0.0)
            unit = x / np.sqrt(np.mean(x**2) + norm.epsilon)
            shift = 0.0 if norm.bias is None else norm.bias
            np.testing.assert_allclose(unit * norm.weight + shift, other.values, atol=2e-5)


def test_unembedded_hidden_states_are_the_next_token_rows(gpt2, window):
    for model in (gpt2, window):
        head = model.unembedding()
        assert head.is_linear
        [state] = evaluate(model, [Hidden(prefix=IDS)]).answers
        logits = head.weight @ state.values + (0.0 if head.bias is None else head.bias)
        row = logits - np.logaddexp.reduce(logits)
        np.testing.assert_allclose(row, likely.next_token(model, IDS, bos="never").log_probs,
                                   atol=1e-4)  # fmt: skip


def test_logits_carry_gradients_to_the_input_embeddings(gpt2):
    table = torch.from_numpy(gpt2.input_embeddings())
    embedded = table[list(IDS)][None].clone().requires_grad_(True)
    logits = gpt2.logits(embeddings=embedded)
    np.testing.assert_allclose(
        logits.detach().double().log_softmax(-1)[0].numpy(), plain_rows(gpt2, IDS), atol=1e-5
    )
    logits[0, 2].logsumexp(-1).backward()
    gradient = embedded.grad[0].abs().sum(dim=1)
    assert (gradient[:3] > 0).all()
    assert (gradient[3:] == 0).all()


def test_embedded_ids_are_read_like_ids(gpt2, window):
    ids = torch.tensor([IDS])
    for model in (gpt2, window):
        embedded = model.embed(ids)
        assert not embedded.requires_grad
        torch.testing.assert_close(
            model.logits(embeddings=embedded), model.logits(tokens=ids), atol=1e-6, rtol=1e-6
        )


def test_the_differentiable_forward_takes_tokens_or_embeddings(gpt2):
    with pytest.raises(InputError, match="one of them"):
        gpt2.logits()


def test_scoring_leaves_no_hook_and_no_flag_behind(gpt2):
    hooks = [len(part._forward_pre_hooks) for part in gpt2.module.modules()]
    gpt2.module.train()
    try:
        evaluate(gpt2, [Hidden(prefix=IDS, norm="before")])
        assert gpt2.module.training
    finally:
        gpt2.module.eval()
    assert hooks == [len(part._forward_pre_hooks) for part in gpt2.module.modules()]


def test_a_capped_head_is_taken_from_the_models_own_forward():
    from transformers import Gemma2Config, Gemma2ForCausalLM

    torch.manual_seed(0)
    config = Gemma2Config(
        vocab_size=300, hidden_size=32, intermediate_size=64, num_hidden_layers=2,
        num_attention_heads=2, num_key_value_heads=1, head_dim=16, sliding_window=4,
        final_logit_softcapping=0.5, attn_implementation="eager", max_position_embeddings=64,
    )  # fmt: skip
    module = Gemma2ForCausalLM(config).eval()
    model = TransformersModel(module, _any_tokenizer(), name="capped")
    assert not model.unembedding().is_linear
    assert Capability.SHARED_PREFIX in model.info.capabilities
    scores = likely.score(model, [(IDS, (2, 6)), (IDS[:4], (1,))], bos="never")
    rows = plain_rows(model, (*IDS, 2))
    assert scores[0].log_prob == pytest.approx(rows[5, 2] + rows[6, 6], abs=1e-5)
    assert scores[1].log_prob == pytest.approx(rows[3, 1], abs=1e-5)


def test_gains_that_are_stored_less_one_come_out_whole():
    from transformers import Gemma2Config, Gemma2ForCausalLM

    config = Gemma2Config(
        vocab_size=300, hidden_size=32, intermediate_size=64, num_hidden_layers=1,
        num_attention_heads=2, num_key_value_heads=1, head_dim=16,
        final_logit_softcapping=None, attn_implementation="eager",
    )  # fmt: skip
    model = TransformersModel(Gemma2ForCausalLM(config).eval(), _any_tokenizer())
    np.testing.assert_allclose(model.final_norm().weight, 1.0)


def test_a_state_space_model_falls_back_to_whole_sequences():
    from transformers import MambaConfig, MambaForCausalLM

    torch.manual_seed(0)
    config = MambaConfig(vocab_size=300, hidden_size=16, num_hidden_layers=1, state_size=4)
    model = TransformersModel(MambaForCausalLM(config).eval(), _any_tokenizer())
    assert Capability.SHARED_PREFIX not in model.info.capabilities
    scores = likely.score(model, [(IDS, (2,)), (IDS[:3], (1, 4))], bos="never")
    assert scores[0].log_prob == pytest.approx(plain_rows(model, IDS)[5, 2], abs=1e-5)


def test_two_sets_of_weights_have_two_fingerprints(random_gpt2_folder):
    one = likely.load(f"hf:{random_gpt2_folder}")
    other = likely.load(f"hf:{random_gpt2_folder}")
    assert one.info.fingerprint == other.info.fingerprint
    with torch.no_grad():
        next(iter(other.module.parameters()))[0, 0] += 1e-3
    changed = TransformersModel(other.module, other.tokenizer)
    assert changed.info.fingerprint != one.info.fingerprint


def test_a_tighter_budget_changes_the_batches_and_not_the_numbers(gpt2):
    pairs = [([i % 20 + 3, *IDS], [i % 7 + 2, 4]) for i in range(60)]
    roomy = likely.score(gpt2, pairs, bos="never")
    tight = likely.score(gpt2, pairs, bos="never", settings=Settings(memory=1 << 16))
    np.testing.assert_allclose([s.log_prob for s in roomy], [s.log_prob for s in tight], atol=1e-5)
    assert tight.cost.token_evaluations == roomy.cost.token_evaluations


def test_measured_costs_are_kept_for_the_next_planner(gpt2, tmp_path, monkeypatch):
    monkeypatch.setattr("likely.models.planning.user_cache_path", lambda name: tmp_path / name)
    calls = []

    def planner():
        return Planner(
            "a model", gpt2._planner.footprint, methods=frozenset({"full", "tree"}),
            time_pass=lambda new, keys: calls.append((new, keys)) or 1e-3 * new,
        )  # fmt: skip

    cost = planner().measure()
    assert cost.per_token == pytest.approx(1e-3)
    n_calls = len(calls)
    assert planner()._cost == cost
    assert len(calls) == n_calls


def test_times_that_make_no_sense_together_are_not_believed(gpt2, tmp_path, monkeypatch):
    monkeypatch.setattr("likely.models.planning.user_cache_path", lambda name: tmp_path / name)
    footprint = gpt2._planner.footprint
    busy = Planner(
        "a model", footprint, methods=frozenset({"full"}),
        time_pass=lambda new, keys: 4.0 if new == 32 else 1e-3 * new,
    )  # fmt: skip
    assert busy.measure() == footprint.cost
    assert not list(tmp_path.rglob("*.json"))


def test_a_model_of_few_positions_plans_much_work_unmeasured(gpt2):
    """Passes that are timed are longer than it can read."""

    def time_pass(new, keys):
        raise AssertionError(f"a pass of {keys} positions was made")

    trie, _ = build_trie(np.random.default_rng(0).integers(0, 40, (3000, 8)).tolist())
    assert len(trie) > 8192
    planner = Planner(
        "a short model", gpt2._planner.footprint, methods=frozenset({"full", "tree"}),
        time_pass=time_pass, max_tokens=128,
    )  # fmt: skip
    assert planner.plan(trie, Settings()).passes


@pytest.mark.parametrize(
    ("spec", "options", "error", "words"),
    [
        ("hf:no/such/folder-or-model", {}, StoreError, "no/such/folder-or-model"),
        ("gguf:missing.gguf", {}, StoreError, "missing.gguf"),
        ("hf:x", {"dtype": "int3"}, InputError, "int3"),
        ("hf:x", {"attention": "magic"}, InputError, "magic"),
        ("hf:x", {"colour": "red"}, InputError, "colour"),
    ],
)
def test_what_cannot_be_loaded_is_named_in_one_line(spec, options, error, words, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(error, match=words) as caught:
        likely.load(spec, **options)
    assert "\n" not in str(caught.value)


def test_damaged_weights_are_an_error_that_names_the_folder(random_gpt2_folder, tmp_path):
    import shutil

    folder = tmp_path / "damaged"
    shutil.copytree(random_gpt2_folder, folder)
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:1000])
    with pytest.raises(StoreError, match="damaged"):
        likely.load(f"hf:{folder}")


def test_a_truncated_gguf_file_is_an_error_that_names_it(tmp_path):
    path = tmp_path / "short.gguf"
    head = b"GGUF" + (3).to_bytes(4, "little") + (1).to_bytes(8, "little") * 2
    for raw in (b"", b"not a model", head, head + b"\x05"):
        path.write_bytes(raw)
        with pytest.raises(StoreError, match=r"short\.gguf") as caught:
            likely.load(f"gguf:{path}")
        assert "\n" not in str(caught.value)


def test_an_unknown_device_is_named(random_gpt2_folder):
    with pytest.raises(InputError, match="cuda:99"):
        likely.load(f"hf:{random_gpt2_folder}", device="cuda:99")


def test_a_model_without_a_language_head_is_refused(random_gpt2_folder):
    from transformers import GPT2Model

    with pytest.raises(CapabilityError, match="head"):
        TransformersModel(GPT2Model.from_pretrained(random_gpt2_folder), _any_tokenizer())


def _any_tokenizer():
    from tokenizers import Tokenizer, decoders, pre_tokenizers
    from tokenizers.models import BPE
    from transformers import PreTrainedTokenizerFast

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    inner = Tokenizer(BPE(vocab={c: i for i, c in enumerate(alphabet)}, merges=[]))
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(tokenizer_object=inner)


def test_the_empty_text_has_no_tokens(toy_bpe):
    assert toy_bpe.tokenizer.encode("").tokens == toy_bpe.tokenizer.encode("").byte_spans == ()
