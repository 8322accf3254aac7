"""The completions interface: what is asked, and the reading of prompt log-probs. Unit: nats.

The interface has no fixed place for the log-prob of a prompt token. vLLM gives a table keyed by
id for each position; others echo the prompt, with or without a BOS, and with or without the
generated token at the end. Every reading here is checked by count, and by id where ids come.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from likely.models.server.listing import Listing, make_listing, read_log_prob
from likely.models.server.replies import Choice, Completion, LogProbs, Texts
from likely.models.server.transport import AnswerError, Transport

SEED = 0
_ID_PREFIX = "token_id:"


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One request: a prompt, and what is wanted of it.

    Attributes:
        ids: The exact tokens of the prompt.
        text: Their text, where the server takes only text; else None.
        own: Whether the log-probs of the prompt's own tokens are wanted.
        k: How many of the likeliest next tokens to list, at least 1.
        temperature: 1 but for the probe that looks whether the log-probs move with it.
        bias: What is added to the logits of some ids, nats.
    """

    ids: tuple[int, ...]
    text: str | None
    own: bool
    k: int
    temperature: float = 1.0
    bias: Mapping[int, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Draw:
    """A request for texts at temperature 1 from the whole law.

    Attributes:
        ids: The exact tokens of the prompt.
        text: As in `Question`.
        n: How many texts, at least 1.
        max_tokens: Of each.
        seed: Of the server's random numbers.
    """

    ids: tuple[int, ...]
    text: str | None
    n: int
    max_tokens: int
    seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The answer to a `Question`.

    Attributes:
        own: Log-prob of each prompt token but the first, nats; None where it was not told; None
            as a whole where it was not asked.
        listing: The likeliest tokens after the prompt, or None where the server gave no list.
    """

    own: tuple[float | None, ...] | None
    listing: Listing | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where completions are asked for.

    Attributes:
        transport: How to reach the server.
        url: Of the endpoint.
        model: Name of the model on the server.
        extra: Further fields of each request.
        greedy: Whether ``extra`` makes the generated token one of the likeliest two.
    """

    transport: Transport
    url: str
    model: str
    extra: Mapping[str, object]
    greedy: bool


def ask_completions(endpoint: Endpoint, question: Question, *, bos_id: int | None) -> Reading:
    """Return the reading of one completion of one token.

    Args:
        endpoint: Where to ask.
        question: What to ask.
        bos_id: The BOS that an echo may leave out at the front, if there is one.

    Raises:
        AnswerError: The counts or ids that came are not those of the prompt.
        ServerError: As the transport finds.
    """
    k = max(question.k, 2 if endpoint.greedy else 1)
    body: dict[str, object] = {
        "model": endpoint.model,
        "prompt": list(question.ids) if question.text is None else question.text,
        "max_tokens": 1,
        "logprobs": k,
        "echo": question.own,
        "temperature": question.temperature,
        "top_p": 1.0,
        "frequency_penalty": 0.0,
        "presence_penalty": 0.0,
        "seed": SEED,
        **endpoint.extra,
    }
    if question.bias:
        body["logit_bias"] = {str(token): value for token, value in question.bias.items()}
    answer = endpoint.transport.post(endpoint.url, body, Completion)
    if len(answer.choices) != 1:
        raise AnswerError(f"one completion was asked for, {len(answer.choices)} came")
    check_read(answer.usage.prompt_tokens, question.ids)
    choice = answer.choices[0]
    n_generated = answer.usage.completion_tokens
    own = _own(choice, question.ids, n_generated, bos_id) if question.own else None
    listing = _last_listing(choice.logprobs, k, endpoint.greedy) if n_generated == 1 else None
    return Reading(own=own, listing=listing)


def draw_completions(endpoint: Endpoint, draw: Draw) -> list[str]:
    """Return texts of one request: as many as were asked for, or fewer.

    Raises:
        AnswerError: The server read another prompt, or gave no text or too many.
        ServerError: As the transport finds.
    """
    body: dict[str, object] = {
        "model": endpoint.model,
        "prompt": list(draw.ids) if draw.text is None else draw.text,
        "max_tokens": draw.max_tokens,
        "n": draw.n,
        "temperature": 1.0,
        "top_p": 1.0,
        "frequency_penalty": 0.0,
        "presence_penalty": 0.0,
        "seed": draw.seed,
        **endpoint.extra,
    }
    answer = endpoint.transport.post(endpoint.url, body, Texts)
    check_read(answer.usage.prompt_tokens, draw.ids)
    if not 1 <= len(answer.choices) <= draw.n:
        raise AnswerError(f"{draw.n} texts were asked for, {len(answer.choices)} came")
    return [choice.text for choice in answer.choices]


def check_read(n_read: int, ids: Sequence[int], *, is_cut: bool = False) -> None:
    """Raise unless the server says that it read as many tokens as were sent, and cut none off.

    Raises:
        AnswerError: It read another prompt.
    """
    if is_cut or n_read != len(ids):
        raise AnswerError(f"the server read {n_read} prompt tokens where {len(ids)} were sent")


def _own(
    choice: Choice, ids: tuple[int, ...], n_generated: int, bos_id: int | None
) -> tuple[float | None, ...]:
    if choice.prompt_logprobs is not None:
        return _own_by_id(choice, ids)
    if choice.logprobs is None:
        raise AnswerError("no prompt log-probs came: the reply has neither echo nor table")
    values = choice.logprobs.token_logprobs
    n_prompt = len(values) - n_generated
    if n_prompt == len(ids):
        _check_echoed_ids(choice.logprobs.tokens, ids)
        return tuple(read_log_prob(value) for value in values[1:n_prompt])
    if n_prompt == len(ids) - 1 and bos_id is not None and ids[0] == bos_id:
        # The echo leaves the BOS out and then blanks its own first place, by null or by 0.
        _check_echoed_ids(choice.logprobs.tokens, ids[1:])
        blank = values[0] if values and values[0] != 0.0 else None
        return tuple(read_log_prob(value) for value in [blank, *values[1:n_prompt]])
    raise AnswerError(
        f"{max(n_prompt, 0)} prompt log-probs came for {len(ids)} prompt tokens: "
        "the server does not echo the prompt in full"
    )


def _own_by_id(choice: Choice, ids: tuple[int, ...]) -> tuple[float | None, ...]:
    table = choice.prompt_logprobs or []
    if len(table) != len(ids):
        raise AnswerError(f"{len(table)} prompt log-probs came for {len(ids)} prompt tokens")
    values: list[float | None] = []
    for place, (token, row) in enumerate(zip(ids, table, strict=True)):
        if place == 0:
            continue  # nothing stands before it, whatever the server writes there
        if row is not None and str(token) not in row:
            raise AnswerError(
                f"the log-probs of prompt token {place} are of ids {list(row)[:5]}, not of {token}"
            )
        values.append(None if row is None else read_log_prob(row[str(token)].logprob))
    return tuple(values)


def _check_echoed_ids(tokens: list[str], ids: tuple[int, ...]) -> None:
    echoed = [_id_of(token) for token in tokens[: len(ids)]]
    for place, (came, sent) in enumerate(zip(echoed, ids, strict=False)):
        if came is not None and came != sent:
            raise AnswerError(f"prompt token {place} came back as id {came}, {sent} was sent")


def _last_listing(log_probs: LogProbs | None, k: int, greedy: bool) -> Listing | None:
    if log_probs is None or not log_probs.top_logprobs:
        return None
    last = log_probs.top_logprobs[-1]
    if not last:
        return None
    return make_listing([(_id_of(key), key, value) for key, value in last.items()], k=k,
                        greedy=greedy)  # fmt: skip


def _id_of(key: str) -> int | None:
    """Return the id of a key such as ``token_id:5``; None for a key that is a text."""
    number = key.removeprefix(_ID_PREFIX)
    return int(number) if number != key and number.isdigit() else None
