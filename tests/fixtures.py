"""Small tokenizers built by hand and random models of two layers, saved as folders."""

from pathlib import Path

import pytest
from loopback import Loopback

import likely

TOY_MERGES = (
    ("A", "n"), ("An", "s"), ("w", "e"), ("we", "r"), ("Ans", "wer"), ("l", "d"), ("w", "o"),
    ("wo", "r"), ("wor", "ld"), (" ", "C"), (":", " C"),
)  # fmt: skip
"""The merges of the toy BPE over single characters, in order."""

TRIMMING_TEMPLATE = (
    "{% for m in messages %}[{{ m['role'] }}] {{ m['content'] | trim }}\n{% endfor %}"
    "{% if add_generation_prompt %}[assistant] {% endif %}"
)
"""A chat template that trims what messages say, as many do."""

INITIALIZER_RANGE = 0.1
"""Of random weights: another first token moves rows 20 places on by 0.1 nats or more, while
float32 rounding in any batch shape stays below 2e-6 (measured over 60 texts of 25 tokens)."""

N_UNUSED = 5  # rows of the output layer that no token of the toy BPE uses


def toy_bpe_tokenizer():
    """Return the toy BPE with a BOS that it does not add by itself and no padding token."""
    from tokenizers import Tokenizer, decoders, models
    from transformers import PreTrainedTokenizerFast

    chars = ["\n", *(chr(code) for code in range(32, 127))]
    pieces = [*chars, *(left + right for left, right in TOY_MERGES)]
    vocab = {piece: i for i, piece in enumerate(pieces)}
    backend = Tokenizer(models.BPE(vocab=vocab, merges=list(TOY_MERGES)))
    backend.decoder = decoders.Fuse()
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        bos_token="<s>",
        eos_token="</s>",
        chat_template=TRIMMING_TEMPLATE,
        clean_up_tokenization_spaces=True,
    )


def toy_bytes_tokenizer():
    """Return the byte-level BPE without merges, without any special token."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    backend = Tokenizer(models.BPE(vocab={c: i for i, c in enumerate(alphabet)}, merges=[]))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    backend.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(tokenizer_object=backend)


def random_gpt2(n_vocab, *, seed=0):
    """Return a random model with learned absolute positions, and dropout for training."""
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(seed)
    return GPT2LMHeadModel(
        GPT2Config(
            vocab_size=n_vocab, n_positions=128, n_embd=32, n_layer=2, n_head=2,
            initializer_range=INITIALIZER_RANGE, resid_pdrop=0.5, embd_pdrop=0.5, attn_pdrop=0.5,
            bos_token_id=None, eos_token_id=None,
        )
    )  # fmt: skip


def random_window(n_vocab, *, seed=0):
    """Return a random model with rotary positions that looks back 16 tokens at most."""
    import torch
    from transformers import MistralConfig, MistralForCausalLM

    torch.manual_seed(seed)
    return MistralForCausalLM(
        MistralConfig(
            vocab_size=n_vocab, hidden_size=32, intermediate_size=64, num_hidden_layers=2,
            num_attention_heads=4, num_key_value_heads=2, sliding_window=16,
            max_position_embeddings=256, initializer_range=INITIALIZER_RANGE,
            bos_token_id=None, eos_token_id=None,
        )
    )  # fmt: skip


def save(folder: Path, tokenizer, model) -> Path:
    """Save both as a folder that ``hf:<folder>`` reads; return it."""
    tokenizer.save_pretrained(folder)
    model.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def toy_bpe_folder(tmp_path_factory):
    """The toy BPE, and a random model with exactly as many rows as it has tokens."""
    tokenizer = toy_bpe_tokenizer()
    return save(tmp_path_factory.mktemp("toy-bpe"), tokenizer, random_gpt2(len(tokenizer)))


@pytest.fixture(scope="session")
def toy_bytes_folder(tmp_path_factory):
    """Byte-level tokens without merges and without BOS, and a random model."""
    tokenizer = toy_bytes_tokenizer()
    return save(tmp_path_factory.mktemp("toy-bytes"), tokenizer, random_gpt2(len(tokenizer)))


@pytest.fixture(scope="session")
def random_gpt2_folder(tmp_path_factory):
    """Learned positions up to 128, unused rows in the output layer, dropout .5 in training."""
    tokenizer = toy_bpe_tokenizer()
    model = random_gpt2(len(tokenizer) + N_UNUSED, seed=1)
    return save(tmp_path_factory.mktemp("random-gpt2"), tokenizer, model)


@pytest.fixture(scope="session")
def random_window_folder(tmp_path_factory):
    """Rotary positions with a sliding window of 16."""
    tokenizer = toy_bpe_tokenizer()
    model = random_window(len(tokenizer), seed=2)
    return save(tmp_path_factory.mktemp("random-window"), tokenizer, model)


@pytest.fixture(scope="session")
def toy_bpe(toy_bpe_folder):
    """The loaded model of `toy_bpe_folder`."""
    return likely.load(f"hf:{toy_bpe_folder}")


@pytest.fixture(scope="session")
def toy_bytes(toy_bytes_folder):
    """The loaded model of `toy_bytes_folder`."""
    return likely.load(f"hf:{toy_bytes_folder}")


@pytest.fixture(scope="session")
def gpt2(random_gpt2_folder):
    """The loaded model of `random_gpt2_folder`."""
    return likely.load(f"hf:{random_gpt2_folder}")


@pytest.fixture(scope="session")
def window(random_window_folder):
    """The loaded model of `random_window_folder`."""
    return likely.load(f"hf:{random_window_folder}")


def plain_rows(model, ids):
    """Return the log-probabilities after each id by the library's own forward, nothing of ours."""
    import torch

    with torch.inference_mode():
        logits = model.module.eval()(torch.tensor([list(ids)]), use_cache=False).logits[0]
    return torch.log_softmax(logits.double(), dim=-1).numpy()


@pytest.fixture(scope="module")
def loopback():
    """A server on this machine that speaks for a table."""
    server = Loopback()
    yield server
    server.close()


@pytest.fixture
def connect(loopback, request):
    """Load what the server speaks for; the test module's ``PROBE`` is the text to try it on."""
    models = []

    def load(**options):
        options = {"probe": request.module.PROBE, "timeout": 5.0, **options}
        models.append(likely.load(f"server:{loopback.url}#org/name:q4", **options))
        return models[-1]

    yield load
    for model in models:
        model.close()
