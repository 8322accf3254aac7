"""Log-odds of events with gradients to a model's weights, as scoring gives them without. Nats."""

from collections.abc import Iterator, Mapping, Sequence

import torch
from jaxtyping import Float
from torch import Tensor
from torch.nn.functional import logsigmoid

from likely.core.text.encode import Bos, Boundary
from likely.errors import InputError
from likely.logic.events import Rescaling, rescaling
from likely.logic.events.answers import Ids, TokenisedAnswer, spellings, tokenise
from likely.logic.events.event import Event
from likely.logic.events.statistics import log_sum
from likely.models.transformers import TransformersModel

_OUTSIDE_THE_ROW = frozenset({"log_neutral", "log_others"})


def event_log_odds(
    model: TransformersModel,
    events: Sequence[Event],
    rescaling: str | Rescaling = "minp",
    *,
    bos: Bos = "auto",
    boundary: Boundary = "joint",
    batch_tokens: int = 512,
) -> Float[Tensor, "E"]:
    """Return the log-odds of each event, with gradients to the weights of the model.

    They are those of `score_events`, answers of several tokens taken step by step (``conj``), each
    distinct prefix evaluated once or as the beginning of another; dropout is off.

    Args:
        model: Its weights get the gradients, unless gradients are off.
        events: At least one.
        rescaling: A name or a rescaling that has a gradient everywhere; the default has one that
            never vanishes, unless the event is on top.
        bos: As in `likely.score`.
        boundary: As in `likely.score`.
        batch_tokens: How many tokens go through the model at once, padding included; a longer
            prefix goes alone. Changes memory, and no number beyond rounding.

    Returns:
        Shape ``(E,)``, float64, finite.

    Raises:
        InputError: No events, unusable ones, or a rescaling without a gradient.
        NumericalError: The model gave NaN.
    """
    chosen = _with_gradient(rescaling)
    if not events:
        raise InputError("there is nothing to learn: got no events")
    answers = [_tokenised(model, event, bos, boundary) for event in events]
    steps = [(a.context + node, tokens) for a in answers for node, tokens in a.branches.items()]
    known = _rows(model, [prefix for prefix, _ in steps], batch_tokens)
    rows = torch.stack([known[prefix] for prefix, _ in steps])
    log_odds = iter(chosen.log_odds(rows, [tokens for _, tokens in steps]))
    return torch.stack(
        [
            _whole(answer, known, {node: next(log_odds) for node in answer.branches})
            for answer in answers
        ]
    )


def _with_gradient(name: str | Rescaling) -> Rescaling:
    chosen = rescaling(name)
    outside = sorted(_OUTSIDE_THE_ROW & set(chosen.needs))
    if chosen.smoothness == "jumps" or chosen.saturates:
        reason = "has no gradient where an event is on top, or none at all"
    elif outside:
        reason = f"needs more than the event's own row ({', '.join(outside)})"
    else:
        return chosen
    raise InputError(
        f"the rescaling {chosen.label!r} {reason}; train on 'minp', whose gradient never vanishes, "
        "or on 'duel'"
    )


def _tokenised(
    model: TransformersModel, event: Event, bos: Bos, boundary: Boundary
) -> TokenisedAnswer:
    try:
        forms = event.spellings or spellings(model, event.context, event.answers)
        answer = tokenise(model, event.context, forms, bos=bos, boundary=boundary)
    except InputError as error:
        raise InputError(f"event {event.id!r}: {error}") from error
    if not answer.context:
        raise InputError(
            f"event {event.id!r} has no token before its answer; give it a context, or bos='always'"
        )
    return answer


def _rows(
    model: TransformersModel, prefixes: Sequence[Ids], batch_tokens: int
) -> dict[Ids, Float[Tensor, "V"]]:
    """Return the next-token log-probabilities, float64, after each distinct prefix."""
    wanted = set(prefixes)
    longest = _longest(wanted)
    owner = {ids[:n]: ids for ids in longest for n in range(1, len(ids) + 1)}
    inside: dict[Ids, list[Ids]] = {ids: [] for ids in longest}
    for prefix in sorted(wanted):
        inside[owner[prefix]].append(prefix)
    rows: dict[Ids, Float[Tensor, "V"]] = {}
    device = model.module.device
    for batch in _batches(longest, batch_tokens):
        width = len(batch[-1])
        # Behind a prefix nothing matters to a causal model, so that any token will do as padding.
        padded = [[*ids, *[ids[0]] * (width - len(ids))] for ids in batch]
        logits = model.logits(tokens=torch.tensor(padded, device=device))
        places = [(i, prefix) for i, ids in enumerate(batch) for prefix in inside[ids]]
        index = torch.tensor([[i, len(prefix) - 1] for i, prefix in places], device=device)
        log_probs = torch.log_softmax(logits[index[:, 0], index[:, 1]].double(), dim=-1)
        rows.update(zip((prefix for _, prefix in places), log_probs, strict=True))
    return rows


def _longest(prefixes: set[Ids]) -> list[Ids]:
    """Return those that no other one begins with, shortest first."""
    ordered = sorted(prefixes)
    kept = [
        ids
        for ids, following in zip(ordered, [*ordered[1:], ()], strict=True)
        if following[: len(ids)] != ids
    ]
    return sorted(kept, key=len)


def _batches(sequences: Sequence[Ids], batch_tokens: int) -> Iterator[list[Ids]]:
    batch: list[Ids] = []
    for ids in sequences:
        if batch and (len(batch) + 1) * len(ids) > batch_tokens:
            yield batch
            batch = []
        batch.append(ids)
    yield batch


def _whole(
    answer: TokenisedAnswer,
    rows: Mapping[Ids, Float[Tensor, "V"]],
    log_odds: Mapping[Ids, Float[Tensor, ""]],
) -> Float[Tensor, ""]:
    """Return the log-odds of an answer from those of its steps.

    That is the average over its sequences, weighted by how likely each is given that it is one of
    them, of the product of the probabilities of its steps.
    """
    if len(log_odds) == 1:
        return log_odds[()]
    shares = {}
    for node, tokens in answer.branches.items():
        log_probs = rows[answer.context + node][list(tokens)]
        shares.update(
            {(*node, token): share for token, share in
             zip(tokens, log_probs - log_sum(log_probs), strict=True)}
        )  # fmt: skip
    held, failed = [], []
    for ids in answer.sequences:
        log_share = torch.stack([shares[ids[: n + 1]] for n in range(len(ids))]).sum()
        steps = torch.stack([log_odds[ids[:n]] for n in range(len(ids))])
        before = torch.cumsum(logsigmoid(steps), dim=0)
        held.append(log_share + before[-1])
        first = before - logsigmoid(steps) + logsigmoid(-steps)  # the first failure is here
        failed.append(log_share + log_sum(first))
    return log_sum(torch.stack(held)) - log_sum(torch.stack(failed))
