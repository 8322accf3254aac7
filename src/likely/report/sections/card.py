"""What the model is: its identity, its vocabulary, how it begins a text, what it can give."""

from collections.abc import Sequence
from dataclasses import dataclass

from likely.core.estimate import Cost
from likely.core.model import Capability, LanguageModel
from likely.core.scoring import next_token
from likely.core.text.encode import encode_context
from likely.errors import InputError
from likely.report.render import render
from likely.report.section import Job, Section

SAMPLE = "The sky is"
"""The text whose ids the card shows, and after which unused ids are weighed."""

_MEANINGS = {
    Capability.CONTINUATION: "log-probability of a given text",
    Capability.NEXT_TOKEN: "whole next-token rows",
    Capability.TOP_TOKENS: "likeliest next tokens",
    Capability.SHARED_PREFIX: "shared prefixes paid for once",
    Capability.CHAT: "chat template",
    Capability.HIDDEN_STATES: "hidden states",
    Capability.FINAL_NORM: "final norm",
    Capability.UNEMBEDDING: "output matrix",
    Capability.INPUT_EMBEDDINGS: "input embeddings",
    Capability.GRADIENTS: "gradients",
}
_N_SHOWN = 8  # ids of the sample


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """How the sample text is split.

    Attributes:
        tokens: Its first ids as the model gets them, BOS included.
        pieces: Their text.
        problem: Why it could not be split, or None.
    """

    tokens: tuple[int, ...]
    pieces: tuple[str, ...]
    problem: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CardSection:
    """The model's card."""

    name: str = "card"
    title: str = "The model"
    order: int = 10

    def build(self, model: LanguageModel, job: Job) -> Section:
        """Return the section; it evaluates the model only if some ids are unused."""
        info = model.info
        start = _read_start(model)
        unused, cost = _weigh_unused(model, start, job)
        n_unused = info.n_vocab - info.n_tokens
        capabilities = _capabilities(info.capabilities)
        data = {
            "name": info.name,
            "fingerprint": info.fingerprint,
            "dtype": info.dtype,
            "device": info.device,
            "backend": info.backend,
            "n_vocab": info.n_vocab,
            "n_tokens": info.n_tokens,
            "n_unused": n_unused,
            "unused_prob": unused,
            "max_tokens": info.max_tokens,
            "bos_id": info.bos_id,
            "eos_id": info.eos_id,
            "adds_bos": info.adds_bos,
            "sample": SAMPLE,
            "sample_tokens": start.tokens,
            "sample_pieces": start.pieces,
            "sample_problem": start.problem,
            "capabilities": info.capabilities,
            "details": info.details,
        }
        body = render(
            "card.html",
            info=info,
            n_unused=n_unused,
            unused=unused,
            sample=SAMPLE,
            start=start,
            specials=_specials(model),
            capabilities=capabilities,
        )
        return Section(name=self.name, title=self.title, body=body, data=data, cost=cost)


def _read_start(model: LanguageModel) -> Start:
    try:
        ids, _ = encode_context(model, SAMPLE)
    except InputError as error:
        return Start(tokens=(), pieces=(), problem=str(error))
    shown = ids[:_N_SHOWN]
    pieces = tuple(model.tokenizer.decode([token]) for token in shown)
    return Start(tokens=shown, pieces=pieces, problem=None)


def _weigh_unused(model: LanguageModel, start: Start, job: Job) -> tuple[float | None, Cost]:
    """Return the probability of unused ids after the sample, None if it cannot be known."""
    if model.info.n_vocab == model.info.n_tokens:
        return 0.0, Cost()
    if start.problem is not None or Capability.NEXT_TOKEN not in model.info.capabilities:
        return None, Cost()
    row = next_token(model, SAMPLE, cache=job.cache)
    return row.unused_mass, row.cost


def _specials(model: LanguageModel) -> dict[str, str]:
    """Return the text of the BOS and EOS tokens, where there are any."""
    ids = {"bos": model.info.bos_id, "eos": model.info.eos_id}
    return {key: model.tokenizer.decode([i]) for key, i in ids.items() if i is not None}


def _capabilities(has: frozenset[Capability]) -> Sequence[tuple[str, bool]]:
    return [
        (_MEANINGS.get(capability, capability.value.replace("_", " ")), capability in has)
        for capability in Capability
    ]


CARD = CardSection()
