"""Networks small enough to try every input: random transformers, and laws written by hand."""

import math
from collections.abc import Callable
from types import SimpleNamespace

import numpy as np
import torch
from fixtures import INITIALIZER_RANGE

import likely
from likely.core.model import Capability, Encoding, ModelInfo
from likely.rare.gradient.guide import log_ratio
from likely.rare.gradient.landscape import Reading
from likely.rare.gradient.places import Places
from likely.rare.gradient.whole import Gradients
from likely.rare.inputs import IndependentDistribution
from likely.rare.method import Task
from likely.rare.reading import Meter
from likely.rare.support import Support

RARE = [0.001, 0.3, 0.3, 0.4]
"""Weights of a place whose first token is rare."""
BOTH = (0.001 / 1.001) ** 2
"""The probability that the first two of such places have their rare token."""


def word_tokenizer(n_vocab):
    """Return a tokenizer whose tokens are the words "t0", "t1", ..."""
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast

    vocab = {f"t{i}": i for i in range(n_vocab)}
    backend = Tokenizer(models.WordLevel(vocab, unk_token="t0"))
    return PreTrainedTokenizerFast(tokenizer_object=backend)


def tiny_transformer(folder, *, n_vocab=5, seed=0, spread=3 * INITIALIZER_RANGE):
    """Return a random transformer of two layers and ``n_vocab`` tokens."""
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(seed)
    module = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=n_vocab, n_positions=16, n_embd=16, n_layer=2, n_head=2,
            initializer_range=spread, tie_word_embeddings=False, bos_token_id=None,
            eos_token_id=None,
        )
    )  # fmt: skip
    module.save_pretrained(folder)
    word_tokenizer(n_vocab).save_pretrained(folder)
    return likely.load(f"hf:{folder}")


def skewed_law(*, n_vocab=5, length=6, seed=0, power=5.0):
    """Return independent places whose laws are far from uniform, each in its own order."""
    rng = np.random.default_rng(seed)
    supports = tuple(
        Support.of(dict(enumerate(np.exp(power * rng.normal(size=n_vocab)).tolist())))
        for _ in range(length)
    )
    return IndependentDistribution(name="skewed", supports=supports, details={})


def all_choices(places):
    """Return every input there is as choices, the last place changing fastest."""
    grids = np.meshgrid(*[np.arange(size) for size in places.sizes], indexing="ij")
    return np.stack([grid.reshape(-1) for grid in grids], axis=1)


def law_of(*places):
    """Return independent places from one list of weights each."""
    supports = tuple(Support.of(dict(enumerate(weights))) for weights in places)
    return IndependentDistribution(name="by hand", supports=supports, details={})


def both_network(*, gain=10.0, radius=1e3):
    """Return a network whose token 0 wins where the first two tokens are 0, and 1 wins elsewhere.

    The logit of token 0 is linear in the inputs: half a gain above where both are there.
    """

    def logits(one_hot):
        both = gain * (one_hot[:, 0, 0] + one_hot[:, 1, 0]) - 1.5 * gain
        rest = torch.zeros(len(one_hot), one_hot.shape[2] - 1)
        rest[:, 1:] = -4.0 * gain
        return torch.cat([both[:, None], rest], dim=1)

    return HandNetwork(4, logits, radius=radius)


def needle_network(*, length=6, n_vocab=4):
    """Return a network whose token 0 wins for one input alone; nothing leads there."""

    def logits(one_hot):
        found = one_hot[:, :, 0].prod(dim=1)
        return torch.stack([20.0 * found - 10.0, *[0.0 * found - i for i in range(n_vocab - 1)]], 1)

    return HandNetwork(n_vocab, logits)


def constant_network(n_vocab=4, winner=1):
    """Return a network whose logits do not depend on the input."""
    row = torch.zeros(n_vocab)
    row[winner] = 3.0
    return HandNetwork(n_vocab, lambda one_hot: row + 0.0 * one_hot.sum(dim=1))


class HandNetwork:
    """A network with one-hot embeddings whose logits are written by hand.

    The state holds the logits themselves, in a form that the norm scales by one number always.

    Args:
        n_vocab: Tokens.
        logits: From one-hot inputs ``(B, T, V)`` to logits ``(B, V)``, differentiable.
        radius: Of states; logits are smaller.
    """

    def __init__(
        self,
        n_vocab: int,
        logits: Callable[[torch.Tensor], torch.Tensor],
        *,
        radius: float = 1e3,
    ) -> None:
        self.logits_of = logits
        self.radius = radius
        self.n_vocab = n_vocab
        self.tokenizer = SimpleNamespace(
            encode=lambda text: Encoding(tokens=(int(text[1:]),), byte_spans=((0, len(text)),)),
            decode=lambda tokens: " ".join(f"t{one}" for one in tokens),
            token_bytes=lambda one: f"t{one}".encode(),
            render_chat=None,
        )
        self.info = ModelInfo(
            name="hand", fingerprint="0", n_vocab=n_vocab, n_tokens=n_vocab, max_tokens=None,
            dtype="float32", device="cpu", backend="test", bos_id=None, eos_id=None,
            adds_bos=False, capabilities=frozenset(Capability),
        )  # fmt: skip

    def evaluate(self, work, sink):
        raise NotImplementedError

    def embed(self, tokens):
        return torch.nn.functional.one_hot(tokens, self.n_vocab).float()

    def last_states(self, *, tokens=None, embeddings=None, norm="before"):
        if tokens is not None:
            with torch.inference_mode():
                return self._states(self.embed(tokens))
        return self._states(embeddings)

    def _states(self, embeddings):
        logits = self.logits_of(embeddings)
        square = logits.square().sum(dim=1, keepdim=True)
        rest = (self.radius**2 - 2 * square).clamp(min=0).sqrt() / math.sqrt(2)
        return torch.cat([logits, -logits, rest, -rest], dim=1)

    def states_after(self, stems, endings, *, rows, norm="before"):
        raise NotImplementedError

    def unembedding(self):
        width = 2 * self.n_vocab + 2
        weight = np.zeros((self.n_vocab, width), dtype=np.float32)
        scale = self.radius / math.sqrt(width)
        for i in range(self.n_vocab):
            weight[i, i], weight[i, self.n_vocab + i] = scale / 2, -scale / 2
        return SimpleNamespace(weight=weight, bias=None, is_linear=True)

    def final_norm(self):
        return SimpleNamespace(kind="rms", weight=None, bias=None, epsilon=0.0)


class Enumerated:
    """A landscape that has read every input once and answers from what it found.

    Attributes:
        reading: Of every input, in the order of `all_choices`.
        log_probs: Of every input.
        log_prob: Of the event, exact.
    """

    forgets = False

    def __init__(self, landscape) -> None:
        self.whole = landscape
        self.places = landscape.places
        self.choices = all_choices(self.places)
        self.reading = landscape.read(self.choices)
        self.log_probs = log_ratio(self.places.log_probs, self.choices)
        hits = np.exp(self.log_probs[self.reading.hits])
        self.prob = math.fsum(hits.tolist())
        self.strides = np.cumprod([1, *self.places.sizes[:0:-1]])[::-1]

    def read(self, choices, *, n_slopes=None):
        rows = choices @ self.strides
        found = self.reading
        return Reading(
            margins=found.margins[rows], hits=found.hits[rows], scores=found.scores[rows],
            slopes=found.slopes[rows[:n_slopes]],
        )  # fmt: skip

    def propose(self, choices, place):
        return self.read(choices)

    def accept(self, rows):
        pass

    def tilts(self, slopes):
        return self.whole.tilts(slopes)

    def tilts_at(self, place, slopes):
        return self.whole.tilts_at(place, slopes)


def landscape_of(model, law, event):
    """Return a landscape of an event that has read every input of a law."""
    return Enumerated(Gradients(model, event, Places.of(law), Meter()))


def answers(method, model, law, event, *, budget, seeds):
    """Return the truth and what a method says under many seeds, every input read once."""
    landscape = landscape_of(model, law, event)
    tasks = [
        Task(model=model, distribution=law, events=(event,), budget=budget, seed=seed)
        for seed in range(seeds)
    ]
    return landscape.prob, [method.answer(task, event, landscape, Meter()) for task in tasks]
