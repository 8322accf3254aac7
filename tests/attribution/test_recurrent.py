"""Models whose state cannot be cut: every branch is read anew, and the numbers are the same."""

import numpy as np
import pytest
from fixtures import save, toy_bpe_tokenizer

import likely
from likely.attribution import adaptive, attribute
from likely.core.branches import EngineStem

PROMPT, RESPONSE, CONTEXT = [40, 7, 21], [33, 8], [96]


def _mamba(n_vocab):
    from transformers import MambaConfig, MambaForCausalLM

    return MambaForCausalLM(
        MambaConfig(
            vocab_size=n_vocab, hidden_size=16, state_size=4, num_hidden_layers=2, expand=2,
            initializer_range=0.3, bos_token_id=None, eos_token_id=None, pad_token_id=0,
        )
    )  # fmt: skip


def _hybrid(n_vocab):
    """Convolutions with a state, and attention between them."""
    from transformers import Lfm2Config, Lfm2ForCausalLM

    return Lfm2ForCausalLM(
        Lfm2Config(
            vocab_size=n_vocab, hidden_size=32, intermediate_size=32, num_hidden_layers=3,
            num_attention_heads=4, num_key_value_heads=2, initializer_range=0.3,
            layer_types=["conv", "full_attention", "conv"], bos_token_id=None, eos_token_id=None,
            pad_token_id=None,
        )
    )  # fmt: skip


@pytest.fixture(scope="module", params=[_mamba, _hybrid], ids=["mamba", "hybrid"])
def model(request, tmp_path_factory):
    import torch

    torch.manual_seed(0)
    tokenizer = toy_bpe_tokenizer()
    folder = save(tmp_path_factory.mktemp("model"), tokenizer, request.param(len(tokenizer)))
    return likely.load(f"hf:{folder}")


def scores_by_hand(model):
    """The score of each position by plain forwards of all whole texts."""
    import torch

    scores = []
    for position in range(len(PROMPT)):
        texts = np.tile([*CONTEXT, *PROMPT, *RESPONSE], (model.info.n_tokens, 1))
        texts[:, 1 + position] = np.arange(model.info.n_tokens)
        ids = torch.from_numpy(texts)
        with torch.inference_mode():
            logits = model.module.eval()(ids, use_cache=False).logits.double()
        told = torch.log_softmax(logits, -1)[:, :-1].gather(2, ids[:, 1:, None])[..., 0].numpy()
        log_x, log_b = told[:, position : len(PROMPT)].sum(1), told[:, len(PROMPT) :].sum(1)
        log_ratio = np.logaddexp.reduce(log_x + log_b) - np.logaddexp.reduce(log_x)
        scores.append(log_b[PROMPT[position]] - log_ratio)
    return scores


def test_the_score_is_that_of_the_plain_forward(model):
    assert isinstance(model.stem(CONTEXT), EngineStem)
    assert model.stem(CONTEXT).reads_anew
    found = attribute(model, PROMPT, RESPONSE, context=CONTEXT, method="exact")
    assert found.scores == pytest.approx(scores_by_hand(model), abs=1e-4)
    assert np.ptp(found.scores) > 1e-3
    assert found.noise < 1e-4


def test_draws_are_read_in_few_blocks(model, monkeypatch):
    monkeypatch.setattr(adaptive, "FIRST_SIZE", 30.0)
    found = attribute(
        model, PROMPT, RESPONSE, context=CONTEXT, positions=[0], tolerance=0.3, budget=1e9
    )
    truth = scores_by_hand(model)[0]
    place = found.places[0]
    assert place.converged
    assert place.measures.score.low - 1e-4 <= truth <= place.measures.score.high + 1e-4
