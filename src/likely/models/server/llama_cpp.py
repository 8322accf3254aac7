"""The two servers of llama.cpp: its own, and that of llama-cpp-python. Unit: nats."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from likely.models.server.completions import (
    SEED,
    Draw,
    Endpoint,
    Question,
    Reading,
    ask_completions,
    check_read,
    draw_completions,
)
from likely.models.server.dialect import Address, Facts, Spelling, find_served
from likely.models.server.listing import make_listing
from likely.models.server.replies import (
    Content,
    Ids,
    NativeCompletion,
    Pieces,
    Props,
    SampledCompletion,
    Text,
    Written,
)
from likely.models.server.transport import AnswerError, RefusedError, Transport

_FLOAT32_ROUNDING = 2.0**-24  # llama-server adds up a whole vocabulary in float32, one by one
_LARGE_VOCABULARY = 1 << 18
_NO_TEXT = "codec can't decode"  # how llama-cpp-python says that bytes are no UTF-8


Native = TypeVar("Native", NativeCompletion, SampledCompletion, Written)
Shown = TypeVar("Shown")


@dataclass(kw_only=True)
class LlamaCppPython:
    """llama-cpp-python's server: text prompts, lists keyed by text, an echo without its BOS."""

    transport: Transport
    address: Address
    name: str = "llama-cpp-python"
    tops: tuple[int, ...] = (200,)
    takes_ids: bool = False
    has_tokenizer: bool = True
    draws: int = 1  # it gives one text, however many are asked for

    def facts(self, sample: str) -> Facts:
        served = find_served(self.transport, self.address)
        bos_id = self._begin[0] if self._begin else None
        return Facts(
            version="unknown",
            weights=served.id if served else "",
            bos_id=bos_id,
            adds_bos=bos_id is not None,
        )

    def spell(self, text: str, *, special: bool) -> Spelling:
        ids = self._tokenize(text)
        if not special and ids[: len(self._begin)] == self._begin:
            ids = ids[len(self._begin) :]
        return tuple((token, None) for token in ids)

    def text_of(self, ids: Sequence[int]) -> str | None:
        body = {"model": self.address.model, "tokens": list(ids)}
        url = f"{self.address.root}/extras/detokenize"
        try:
            return self.transport.post(url, body, Text, final=_NO_TEXT).text
        except RefusedError as error:
            if error.status < 500:
                raise
            return None

    def echo_fault(self, ids: Sequence[int], facts: Facts) -> str:
        # Its echo pairs each token with the row before it only behind a BOS, which it leaves out;
        # without one, each value belongs to the next place. Any later BOS is left out as well.
        if facts.bos_id is None or ids[0] != facts.bos_id:
            return "without a BOS its echo is off by one place"
        return "its echo leaves out each BOS" if facts.bos_id in ids[1:] else ""

    def ask(self, question: Question, *, facts: Facts) -> Reading:
        # It leaves the list out where generation ends at once, so one token must come.
        extra: dict[str, object] = {
            "top_k": 1,
            "min_p": 0.0,
            "repeat_penalty": 1.0,
            "min_tokens": 1,
        }
        reading = ask_completions(self._endpoint(extra), question, bos_id=facts.bos_id)
        if question.ids == (facts.bos_id,) and reading.listing is None:
            # It tells nothing of what follows a BOS alone, in no list and in no echo.
            return Reading(own=reading.own, listing=make_listing([], k=question.k, greedy=False))
        return reading

    def draw(self, draw: Draw, *, facts: Facts) -> list[str]:
        extra = {"top_k": 0, "min_p": 0.0, "repeat_penalty": 1.0}
        return draw_completions(self._endpoint(extra), draw)

    def _endpoint(self, extra: Mapping[str, object]) -> Endpoint:
        return Endpoint(
            transport=self.transport,
            url=f"{self.address.api}/completions",
            model=self.address.model,
            extra=extra,
            greedy=True,
        )

    @cached_property
    def _begin(self) -> tuple[int, ...]:
        """What the server puts before every text."""
        return self._tokenize("")

    def _tokenize(self, text: str) -> tuple[int, ...]:
        body = {"model": self.address.model, "input": text}
        return tuple(self.transport.post(f"{self.address.root}/extras/tokenize", body, Ids).tokens)


@dataclass(kw_only=True)
class LlamaServer:
    """llama.cpp's own server by its native interface: ids, exact lists, no prompt log-probs."""

    transport: Transport
    address: Address
    name: str = "llama.cpp"
    tops: tuple[int, ...] = (1000,)
    takes_ids: bool = True
    has_tokenizer: bool = True
    draws: int = 1

    def facts(self, sample: str) -> Facts:
        props = self.transport.get(f"{self.address.root}/props", Props)
        served = find_served(self.transport, self.address)
        meta = served.meta if served else None
        bos_id = self._special_id(props.bos_token)
        begin = self._tokenize(sample, special=True)[:1]
        return Facts(
            version=props.build_info,
            weights=f"{props.model_path}|{meta.n_params if meta else ''}|"
            f"{meta.size if meta else ''}",
            n_vocab=meta.n_vocab if meta else None,
            context=props.default_generation_settings.n_ctx,
            bos_id=bos_id,
            eos_id=self._special_id(props.eos_token),
            adds_bos=bos_id is not None and [token for token, _ in begin] == [bos_id],
        )

    def spell(self, text: str, *, special: bool) -> Spelling:
        return self._tokenize(text, special=special)

    def text_of(self, ids: Sequence[int]) -> str | None:
        body = {"tokens": list(ids)}
        return self.transport.post(f"{self.address.root}/detokenize", body, Content).content

    def echo_fault(self, ids: Sequence[int], facts: Facts) -> str:
        return "llama-server gives none"

    def ask(self, question: Question, *, facts: Facts) -> Reading:
        if question.own:
            raise AnswerError("llama-server gives no log-probs of prompt tokens")
        if question.bias:
            return self._ask_biased(question)
        body = {**self._body(question.ids), "n_probs": question.k, "top_k": 1,
                "temperature": question.temperature, "post_sampling_probs": False}  # fmt: skip
        answer = self._complete(body, question.ids, NativeCompletion)
        listed = _only(answer.completion_probabilities).top_logprobs
        entries: list[tuple[int | None, str, float]] = [(t.id, t.token, t.logprob) for t in listed]
        rounding = (facts.n_vocab or _LARGE_VOCABULARY) * _FLOAT32_ROUNDING
        listing = make_listing(entries, k=question.k, greedy=True, rounding=rounding)
        return Reading(own=None, listing=listing)

    def _ask_biased(self, question: Question) -> Reading:
        """Ask for the probabilities that it draws from: the others are those before the bias."""
        body = {
            **self._body(question.ids),
            "n_probs": question.k,
            "top_k": 0,  # no cut: what is left out would be spread over what is listed
            "temperature": question.temperature,
            "post_sampling_probs": True,
            "logit_bias": [[token, value] for token, value in question.bias.items()],
        }
        answer = self._complete(body, question.ids, SampledCompletion)
        listed = _only(answer.completion_probabilities).top_probs
        entries: list[tuple[int | None, str, float]] = [
            (t.id, t.token, math.log(t.prob) if t.prob > 0 else -math.inf) for t in listed
        ]
        listing = make_listing(entries, k=question.k, greedy=False)
        return Reading(own=None, listing=listing)

    def draw(self, draw: Draw, *, facts: Facts) -> list[str]:
        body = {**self._body(draw.ids), "n_predict": draw.max_tokens, "temperature": 1.0,
                "top_k": 0, "seed": draw.seed}  # fmt: skip
        return [self._complete(body, draw.ids, Written).content]

    def _body(self, ids: Sequence[int]) -> dict[str, object]:
        return {
            "prompt": list(ids),
            "n_predict": 1,
            "top_p": 1.0,
            "min_p": 0.0,
            "repeat_penalty": 1.0,
            "seed": SEED,
            "cache_prompt": False,  # its cached and fresh passes round differently
        }

    def _complete(
        self, body: Mapping[str, object], ids: Sequence[int], reply: type[Native]
    ) -> Native:
        answer = self.transport.post(f"{self.address.root}/completion", body, reply)
        check_read(answer.tokens_evaluated, ids, is_cut=answer.truncated)
        return answer

    def _tokenize(self, text: str, *, special: bool) -> Spelling:
        body = {"content": text, "add_special": special, "with_pieces": True}
        answer = self.transport.post(f"{self.address.root}/tokenize", body, Pieces)
        return tuple(
            (t.id, t.piece.encode() if isinstance(t.piece, str) else bytes(t.piece))
            for t in answer.tokens
        )

    def _special_id(self, piece: str) -> int | None:
        spelled = self._tokenize(piece, special=False) if piece else ()
        return spelled[0][0] if len(spelled) == 1 else None


def _only(steps: Sequence[Shown]) -> Shown:
    if len(steps) != 1:
        raise AnswerError(f"one list of likeliest tokens was asked for, {len(steps)} came")
    return steps[0]
