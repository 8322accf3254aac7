"""Training of a model on the claims of a theory, and its scores before and after. Unit: nats."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from likely.core.model import LanguageModel
from likely.core.text.encode import encode_context
from likely.errors import InputError, NumericalError
from likely.logic.chance import corpus_score
from likely.logic.evaluation import evaluate
from likely.logic.event_odds import event_log_odds
from likely.logic.events import Rescaling
from likely.logic.instances import Instance
from likely.logic.learning import ConstraintLoss, kl_anchor
from likely.logic.results import ItemScore
from likely.logic.theory import Claim, Theory
from likely.models.transformers import TransformersModel


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingConfig:
    """How a model is trained.

    Attributes:
        claims: Joined into one theory; instances that lack one of them are left out.
        rescaling: From next-token rows to events. The default has a gradient that never vanishes;
            it is a constant of the method, not fitted to the model.
        steps: How many.
        batch_items: Instances a step; all of them in turn, shuffled anew each time round.
        learning_rate: Of the optimiser.
        optimiser: ``adamw`` (no weight decay) or plain ``sgd``. The former divides by the size of
            the gradients seen so far, so that a gradient near 0 still moves the weights.
        anchor_weight: Of the divergence from the model before training; 0 leaves it out.
        max_norm: The gradient is shortened to this length, or None.
    """

    claims: tuple[str, ...]
    rescaling: str | Rescaling = "minp"
    steps: int = 100
    batch_items: int = 4
    learning_rate: float = 1e-5
    optimiser: Literal["adamw", "sgd"] = "adamw"
    anchor_weight: float = 0.0
    max_norm: float | None = 1.0

    def __post_init__(self) -> None:
        if self.steps < 1 or self.batch_items < 1:
            raise InputError(
                f"training takes at least one step of one item, got {self.steps!r} steps of "
                f"{self.batch_items!r}"
            )
        if self.anchor_weight < 0.0 or self.learning_rate <= 0.0:
            raise InputError(
                "the anchor's weight is at least 0 and the learning rate above 0, got "
                f"{self.anchor_weight!r} and {self.learning_rate!r}"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class AnchorChunk:
    """A piece of neutral text as the model saw it before training.

    Attributes:
        tokens: Ids, shape ``(T,)``.
        log_probs: After each of them, nats, float64, shape ``(T, V)``.
    """

    tokens: Int[Tensor, "T"]
    log_probs: Float[Tensor, "T V"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRecord:
    """What one step saw, before it moved the weights.

    Attributes:
        step: From 0.
        loss: ``-log P`` an item, nats.
        divergence: From the model before training, nats a token; None without an anchor.
        slope_norm_squared: Of the slope of an item's loss in its events' log-odds, on average.
        gradient_norm: Of the whole objective in the weights, before it is shortened.
    """

    step: int
    loss: float
    divergence: float | None
    slope_norm_squared: float
    gradient_norm: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimScore:
    """How well a model keeps a claim, over items.

    Attributes:
        claim: Its name.
        rescaling: The label.
        n_items: How many instances have the claim.
        prob: Mean satisfaction.
        chance_corrected: Mean of ``(P - P_0) / (1 - P_0)``: 1 is perfect, 0 is chance.
        share: Bits earned over bits said, both summed over items: 1 is perfect, 0 is chance.
        bits: What the claim says of an item, on average.
    """

    claim: str
    rescaling: str
    n_items: int
    prob: float
    chance_corrected: float
    share: float
    bits: float


def split_rows(theory: Theory, *, every: int = 3) -> tuple[Theory, Theory]:
    """Return a theory over the rows to train on, and one over every n-th row, held out.

    No row is in both, in no pack: what is learned of a row says nothing of the test.

    Raises:
        InputError: There are too few rows.
    """
    held_out = theory.rows[every - 1 :: every] if every > 1 else ()
    kept = tuple(row for i, row in enumerate(theory.rows) if (i + 1) % max(every, 1))
    if not held_out or not kept:
        raise InputError(
            f"holding out one row in {every!r} of {len(theory.rows)} leaves one side empty; hold "
            "out one in 2 or more, and have at least as many rows"
        )
    return replace(theory, rows=kept), replace(theory, rows=held_out)


def anchor_chunks(
    model: TransformersModel, text: str, *, chunk_tokens: int = 64
) -> tuple[AnchorChunk, ...]:
    """Return a neutral text in pieces, with what the model says of each as it is now.

    Args:
        model: Before training.
        text: One that no constraint concerns.
        chunk_tokens: Length of a piece; the rest of less than two tokens is dropped.

    Raises:
        InputError: The text has fewer than two tokens.
    """
    ids, _ = encode_context(model, text)
    pieces = [ids[start : start + chunk_tokens] for start in range(0, len(ids), chunk_tokens)]
    chunks = []
    for piece in pieces:
        if len(piece) < 2:
            continue
        tokens = torch.tensor(piece, device=model.module.device)
        with torch.no_grad():
            logits = model.logits(tokens=tokens[None])[0]
        log_probs = torch.log_softmax(logits.double(), dim=-1)
        chunks.append(AnchorChunk(tokens=tokens, log_probs=log_probs))
    if not chunks:
        raise InputError(f"an anchor needs a text of two tokens or more, got {text!r}")
    return tuple(chunks)


def iter_training(
    model: TransformersModel,
    items: Sequence[Instance],
    config: TrainingConfig,
    *,
    anchor: Sequence[AnchorChunk] = (),
    rng: np.random.Generator,
) -> Iterator[StepRecord]:
    """Train a model in place, one step an iteration.

    Its fingerprint stays that of the weights before: wrap the module anew before scores are cached.

    Args:
        model: Its weights change; dropout is off.
        items: Instances of a theory.
        config: How.
        anchor: One chunk a step, in turn; needed if the anchor has a weight.
        rng: Shuffles the items.

    Raises:
        InputError: No item has all claims, or the anchor is missing.
        NumericalError: The gradient is not finite.
    """
    prepared = _prepare(items, config.claims)
    if config.anchor_weight > 0.0 and not anchor:
        raise InputError("the anchor has a weight but no text; give anchor_chunks(model, text)")
    weights = [p for p in model.module.parameters() if p.requires_grad]
    optimiser = _optimiser(weights, config)
    order = _iter_order(len(prepared), rng)
    size = min(config.batch_items, len(prepared))
    for step in range(config.steps):
        batch = [prepared[next(order)] for _ in range(size)]
        optimiser.zero_grad(set_to_none=True)
        loss, log_odds = _batch_loss(model, batch, config.rescaling)
        log_odds.retain_grad()
        objective, divergence = loss, None
        if config.anchor_weight > 0.0:
            chunk = anchor[step % len(anchor)]
            kl = kl_anchor(model.logits(tokens=chunk.tokens[None])[0], chunk.log_probs)
            objective, divergence = loss + config.anchor_weight * kl, float(kl.detach())
        objective.backward()  # type: ignore[no-untyped-call]  # torch has no types for it
        slope = log_odds.grad if log_odds.grad is not None else torch.zeros_like(log_odds)
        norm = _shorten(weights, config.max_norm, step=step)
        optimiser.step()
        yield StepRecord(
            step=step, loss=float(loss.detach()), divergence=divergence,
            slope_norm_squared=size * float(slope.square().sum()), gradient_norm=norm,
        )  # fmt: skip


def _optimiser(
    weights: Sequence[torch.nn.Parameter], config: TrainingConfig
) -> torch.optim.Optimizer:
    if config.optimiser == "sgd":
        return torch.optim.SGD(weights, lr=config.learning_rate)
    return torch.optim.AdamW(weights, lr=config.learning_rate, weight_decay=0.0, fused=True)


def _shorten(weights: Sequence[torch.nn.Parameter], max_norm: float | None, *, step: int) -> float:
    """Shorten the gradient and return its norm before."""
    limit = math.inf if max_norm is None else max_norm
    norm = float(torch.nn.utils.clip_grad_norm_(weights, limit))
    if not math.isfinite(norm):
        raise NumericalError(
            f"step {step}: the gradient has the norm {norm!r}; use a lower learning rate"
        )
    return norm


def claim_scores(
    model: LanguageModel,
    theory: Theory,
    claims: Sequence[str],
    *,
    rescalings: Sequence[str | Rescaling] = ("duel", "minp"),
) -> tuple[ClaimScore, ...]:
    """Return how well a model keeps each claim under each rescaling, over all items that have it.

    Raises:
        UnknownNameError: The theory has no such claim.
    """
    wanted = tuple(theory.claim(name) for name in claims)
    evaluation = evaluate(model, theory, rescaling=rescalings[0], also=rescalings[1:])
    return tuple(
        _score(claim.name, label, [item for item in evaluation.items if item.claim == claim.name])
        for claim in wanted
        for label in evaluation.rescalings
    )


def _score(claim: str, label: str, items: Sequence[ItemScore]) -> ClaimScore:
    scores = [item.readings[label].scores for item in items]
    return ClaimScore(
        claim=claim,
        rescaling=label,
        n_items=len(items),
        prob=math.fsum(score.prob for score in scores) / len(items),
        chance_corrected=math.fsum(score.chance_corrected or 0.0 for score in scores) / len(items),
        share=corpus_score(scores),
        bits=math.fsum(score.bits for score in scores) / len(items),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Prepared:
    item: Instance
    loss: ConstraintLoss


def _prepare(items: Sequence[Instance], names: Sequence[str]) -> list[_Prepared]:
    """Return the items that have all claims, each with its loss; equal claims share one."""
    losses: dict[tuple[Claim, ...], ConstraintLoss] = {}
    prepared = []
    for item in items:
        claims = {claim.name: claim for claim in item.claims}
        if not all(name in claims for name in names):
            continue
        wanted = tuple(claims[name] for name in names)
        if wanted not in losses:
            losses[wanted] = ConstraintLoss(wanted, reduction="none")
        prepared.append(_Prepared(item=item, loss=losses[wanted]))
    if not prepared:
        raise InputError(f"none of the {len(items)} items has the claims {list(names)}")
    return prepared


def _iter_order(n: int, rng: np.random.Generator) -> Iterator[int]:
    while True:
        yield from rng.permutation(n).tolist()


def _batch_loss(
    model: TransformersModel, batch: Sequence[_Prepared], rescaling: str | Rescaling
) -> tuple[Float[Tensor, ""], Float[Tensor, "E"]]:
    """Return the mean loss of a batch, and the log-odds of all its events, item by item."""
    events = [entry.item.events[name] for entry in batch for name in entry.loss.names]
    log_odds = event_log_odds(model, events, rescaling)
    parts = torch.split(log_odds, [len(entry.loss.names) for entry in batch])
    losses = [entry.loss(part[None])[0] for entry, part in zip(batch, parts, strict=True)]
    return torch.stack(losses).mean(), log_odds
