"""vLLM and plain completions servers: ids in, prompt log-probs and lists out. Unit: nats."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from likely.models.server.completions import (
    Draw,
    Endpoint,
    Question,
    Reading,
    ask_completions,
    draw_completions,
)
from likely.models.server.dialect import Address, Facts, Spelling, find_served
from likely.models.server.replies import Ids, Prompt, Version
from likely.models.server.transport import AnswerError, RefusedError, Transport


@dataclass(kw_only=True)
class Vllm:
    """vLLM, and whatever else speaks the completions interface as OpenAI wrote it down."""

    transport: Transport
    address: Address
    name: str = "vllm"
    tops: tuple[int, ...] = (20, 5, 1)  # vLLM's own limit unless --max-logprobs raises it
    takes_ids: bool = True
    has_tokenizer: bool = True
    draws: int = 50

    def facts(self, sample: str) -> Facts:
        version = "unknown"
        if self.name == "vllm":
            version = self.transport.get(f"{self.address.root}/version", Version).version
        served = find_served(self.transport, self.address)
        bos_id = None
        if self.has_tokenizer:
            bare = self.spell(sample, special=False)
            full = self.spell(sample, special=True)
            bos_id = full[0][0] if len(full) > len(bare) and full[:1] != bare[:1] else None
        return Facts(
            version=version,
            weights=(served.root or served.id) if served else "",
            context=served.max_model_len if served else None,
            bos_id=bos_id,
            adds_bos=bos_id is not None,
        )

    def spell(self, text: str, *, special: bool) -> Spelling:
        body = {"model": self.address.model, "prompt": text, "add_special_tokens": special}
        answer = self.transport.post(f"{self.address.root}/tokenize", body, Ids)
        return tuple((token, None) for token in answer.tokens)

    def text_of(self, ids: Sequence[int]) -> str | None:
        body = {"model": self.address.model, "tokens": list(ids)}
        return self.transport.post(f"{self.address.root}/detokenize", body, Prompt).prompt

    def echo_fault(self, ids: Sequence[int], facts: Facts) -> str:
        return ""

    def ask(self, question: Question, *, facts: Facts) -> Reading:
        extra = self._extra(by_text=question.text is not None)
        if self.name == "vllm":
            extra["return_tokens_as_token_ids"] = True
            if question.own:
                extra["prompt_logprobs"] = 0  # the prompt's own tokens and no others
        return ask_completions(self._endpoint(extra), question, bos_id=facts.bos_id)

    def draw(self, draw: Draw, *, facts: Facts) -> list[str]:
        return draw_completions(self._endpoint(self._extra(by_text=draw.text is not None)), draw)

    def _extra(self, *, by_text: bool) -> dict[str, object]:
        if self.name != "vllm":
            return {}
        return {
            "add_special_tokens": by_text,
            "repetition_penalty": 1.0,
            "min_p": 0.0,
            "top_k": -1,
        }

    def _endpoint(self, extra: Mapping[str, object]) -> Endpoint:
        return Endpoint(
            transport=self.transport,
            url=f"{self.address.api}/completions",
            model=self.address.model,
            extra=extra,
            greedy=False,
        )


def answers_tokenize(transport: Transport, address: Address, sample: str) -> bool:
    """Return whether the server has a /tokenize that works as vLLM's does."""
    body = {"model": address.model, "prompt": sample, "add_special_tokens": False}
    try:
        transport.post(f"{address.root}/tokenize", body, Ids)
    except (RefusedError, AnswerError):
        return False
    return True
