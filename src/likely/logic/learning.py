"""Losses that teach a model its constraints, in nats; gradients flow to the events' log-odds.

The loss of a theory is minus the log-probability that it holds. Its slope in the log-odds of an
event is ``p - q``: what the model believes of the event, minus what it would believe if it knew the
theory to hold. So a loss teaches at once what a theory says of single events, and nothing at first
of how events hang together: where all probabilities are one half, ``a <-> b`` has slope zero.
"""

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from likely.errors import InputError, LikelyWarning, NumericalError, ShapeError
from likely.logic.circuits.circuit import Circuit
from likely.logic.circuits.compile import compile
from likely.logic.formula import FALSE, TRUE, Formula, variables, walk
from likely.logic.parser import as_formula
from likely.logic.theory import Claim, Rule

Reduction: TypeAlias = Literal["mean", "sum", "none"]

_ROUNDING = 1e-12  # of a slope or a loss: what is smaller is zero but for rounding


class ConstraintLoss(torch.nn.Module):
    """The loss ``-log P(theory | evidence)`` of a batch of rows of independent events.

    Several claims are one theory: their rules are joined before anything is computed, since the
    sum of their losses would count twice what they share. A rule of kind ``score`` stays outside:
    it adds ``weight * -log P(rule | evidence)``. A ``noisy`` rule is in force with probability
    ``weight``, independently of all else. A ``soft`` rule shifts the law of the events, within
    which the hard and noisy rules are then judged; alone it is no constraint.

    Args:
        theory: A ground formula, its text, or ground claims (of an `Instance`).
        names: The events, one a column of the log-odds; by default those of the theory, in order of
            first appearance. More than the theory mentions may be named.
        evidence: What is taken for granted, besides the evidence of the claims.
        reduction: ``mean`` over rows, their ``sum``, or ``none``: one loss a row.
        warn: Whether to warn of theories that are no good to train on; off where one is scored.

    Attributes:
        names: The events, in the order of the columns.
        chance: The loss where all probabilities are one half, nats: what the theory says, in nats.

    Raises:
        InputError: The theory ranges over rows, lacks an event in ``names``, cannot hold, cannot
            fail, or has soft rules only.

    Warns:
        LikelyWarning: The theory gives no slope where all probabilities are one half; or it only
            pushes events down, so that a model can satisfy it by finding everything improbable.

    Sources:
        Xu, Zhang, Friedman, Liang and Van den Broeck (2018), "A semantic loss function for deep
        learning with symbolic knowledge", definition 1.

    >>> loss = ConstraintLoss("a & !b")
    >>> round(float(loss(torch.zeros((3, 2)))), 6)  # 2 log 2
    1.386294
    """

    _switches: Tensor

    def __init__(
        self,
        theory: Formula | str | Claim | Sequence[Claim],
        *,
        names: Sequence[str] | None = None,
        evidence: Formula | str | None = None,
        reduction: Reduction = "mean",
        warn: bool = True,
    ) -> None:
        super().__init__()
        if reduction not in ("mean", "sum", "none"):
            raise InputError(f"the reduction is 'mean', 'sum' or 'none', got {reduction!r}")
        rules, given = _parts(theory, evidence)
        for formula in [*(rule.formula for rule in rules), *given]:
            _check_ground(formula)
        self.reduction = reduction
        self.names = _columns([*(rule.formula for rule in rules), *given], names)
        self._text = "; ".join(str(rule.formula) for rule in rules)
        self._terms, switches = _terms(rules, given, self.names)
        self.register_buffer("_switches", torch.tensor(switches, dtype=torch.float64))
        self.chance = self._check(warn)

    def forward(self, log_odds: Float[Tensor, "N n"]) -> Float[Tensor, "*rows"]:
        """Return the loss, float64.

        Args:
            log_odds: Nats, one column for each of ``names``; infinities are certain events.

        Returns:
            A scalar, or shape ``(N,)`` with the reduction ``none``; nats.

        Raises:
            ShapeError: Not one column for each event, or no rows.
            NumericalError: In some row the theory has probability 0, or log-odds are NaN.
        """
        if log_odds.shape[1] != len(self.names) or not len(log_odds):
            raise ShapeError(
                f"the log-odds have rows, and one column for each of {list(self.names)}, "
                f"got the shape {tuple(log_odds.shape)}"
            )
        _check_numbers(log_odds, self.names)
        losses = self._losses(log_odds)
        _check_possible(losses, log_odds, self.names, what=f"{self._text!r} or its evidence")
        return _reduced(losses, self.reduction)

    def _losses(self, log_odds: Float[Tensor, "N n"]) -> Float[Tensor, "N"]:
        odds = log_odds.double()
        switches = self._switches.to(odds.device)
        wide = torch.cat([odds, switches.expand(len(odds), -1)], dim=1)
        total = torch.zeros(len(odds), dtype=torch.float64, device=odds.device)
        for term in self._terms:
            loss = -term.joint.log_prob(wide)
            if term.given is not None:
                loss = loss + term.given.log_prob(wide)
            total = total + term.weight * loss
        return total

    def _check(self, warn: bool) -> float:
        """Return the loss where all probabilities are one half; raise or warn by what it does."""
        odds = torch.zeros((1, len(self.names)), dtype=torch.float64, requires_grad=True)
        loss = self._losses(odds)[0]
        if not math.isfinite(loss.item()):
            raise InputError(f"the theory {self._text!r}, or its evidence, cannot hold")
        if not any(term.can_fail for term in self._terms):
            raise InputError(
                f"the theory {self._text!r} holds whatever the events are, so there is nothing to "
                "learn from it"
            )
        (slope,) = torch.autograd.grad(loss, odds)
        if not warn:
            return loss.item()
        if float(slope.abs().max()) < _ROUNDING:
            _warn(
                f"{self._text!r} says nothing of single events: its gradient is 0 where all "
                "probabilities are one half; join it with a literal"
            )
        elif float(slope.min()) > -_ROUNDING and self._holds_of_nothing():
            _warn(
                f"{self._text!r} only pushes events down, so a model may satisfy it by finding "
                "everything improbable; join it with a positive literal, or add kl_anchor"
            )
        return loss.item()

    def _holds_of_nothing(self) -> bool:
        never = torch.full((1, len(self.names)), -torch.inf, dtype=torch.float64)
        with torch.no_grad():
            return bool(self._losses(never)[0] < _ROUNDING)


def preference_loss(
    core: Formula | str,
    log_odds: Mapping[str, Float[Tensor, "N"]],
    *,
    condition: Formula | str = TRUE,
    additional: Formula | str = FALSE,
    reduction: Reduction = "mean",
) -> Float[Tensor, "*rows"]:
    """Return the loss of a preference structure, ``-log sigmoid(log P(for) - log P(against))``.

    ``for = (core | additional) & condition`` and ``against = (!core | additional) & condition``.
    Without ``additional`` that is ``-log P(core | condition)``.

    Args:
        core: What is preferred, such as ``l -> w``.
        log_odds: For each event the log-odds of all rows, nats.
        condition: What both sides take for granted, such as ``exactly_one(w, l)``.
        additional: Assignments that count on both sides.
        reduction: As in `ConstraintLoss`.

    Returns:
        A scalar, or shape ``(N,)``; nats, float64. 0 where ``against`` has probability 0.

    Raises:
        InputError: An event has no log-odds, or a formula ranges over rows.
        NumericalError: In some row ``for`` has probability 0, or log-odds are NaN.

    Sources:
        Richardson, Srikumar and Sabharwal (2025), "Understanding the logic of direct preference
        alignment through logic": preference structures.

    >>> odds = {"w": torch.tensor([0.3]).logit(), "l": torch.tensor([0.2]).logit()}
    >>> loss = preference_loss("l -> w", odds, condition="exactly_one(w, l)")
    >>> round(float(loss), 4)  # -log sigmoid(.5390)
    0.4595
    """
    chosen, granted, both = (as_formula(part) for part in (core, condition, additional))
    sides = [(chosen | both) & granted, (~chosen | both) & granted]
    for side in sides:
        _check_ground(side)
    missing = [name for name in variables(sides[0]) if name not in log_odds]
    if missing:
        raise InputError(f"no log-odds for the events {missing}; given: {sorted(log_odds)}")
    names = tuple(log_odds)
    odds = torch.stack([log_odds[name].double() for name in names], dim=1)
    _check_numbers(odds, names)
    log_for, log_against = (compile(side, names=names).log_prob(odds) for side in sides)
    _check_possible(log_for, odds, names, what=repr(str(sides[0])))
    return _reduced(torch.logaddexp(log_for, log_against) - log_for, reduction)


def kl_anchor(
    logits: Float[Tensor, "*tokens V"],
    frozen_log_probs: Float[Tensor, "*tokens V"],
    *,
    is_counted: Bool[Tensor, "*tokens"] | None = None,
) -> Float[Tensor, ""]:
    """Return the mean of ``KL(frozen || current)`` over tokens, nats; it keeps a model in place.

    Args:
        logits: Of the model in training, on text that the constraints do not concern.
        frozen_log_probs: Normalised log-probabilities of the model before training on that text;
            ``-inf`` is a probability of 0.
        is_counted: Which tokens count; by default all of them.

    Returns:
        A scalar, float64; 0 only where both say the same.

    Raises:
        InputError: No token counts.
        NumericalError: The result is not finite: what was possible has become impossible, or NaN.

    >>> row = torch.log(torch.tensor([[0.5, 0.5]]))
    >>> round(float(kl_anchor(torch.log(torch.tensor([[0.25, 0.75]])), row)), 6)
    0.143841
    """
    frozen = frozen_log_probs.double()
    current = torch.log_softmax(logits.double(), dim=-1)
    is_possible = ~torch.isneginf(frozen)
    gaps = (frozen - current).masked_fill(~is_possible, 0.0)
    divergences = (torch.exp(frozen) * gaps).sum(dim=-1)
    counted = divergences.flatten() if is_counted is None else divergences[is_counted]
    if not len(counted):
        raise InputError("the anchor has no token that counts; give it some text")
    mean = counted.mean()
    if not torch.isfinite(mean):
        raise NumericalError(
            f"the divergence from the frozen model is {mean.item()!r}; check both for NaN and for "
            "tokens whose probability became 0"
        )
    return mean


@dataclass(frozen=True, slots=True, kw_only=True)
class _Term:
    """One summand of the loss, ``weight * -log P(rules | given)``.

    Attributes:
        weight: At least 0.
        joint: The rules together with what is given.
        given: None if nothing is.
        can_fail: Whether the rules can fail, what is given holding.
    """

    weight: float
    joint: Circuit
    given: Circuit | None
    can_fail: bool


def _parts(
    theory: Formula | str | Claim | Sequence[Claim], evidence: Formula | str | None
) -> tuple[list[Rule], list[Formula]]:
    """Return all rules, and all that is taken for granted."""
    given = [] if evidence is None else [as_formula(evidence)]
    if isinstance(theory, Formula | str):
        return [Rule(name="theory", formula=as_formula(theory))], given
    claims = [theory] if isinstance(theory, Claim) else list(theory)
    rules = [rule for claim in claims for rule in claim.rules]
    if not any(rule.kind != "soft" for rule in rules):
        raise InputError(
            f"the claims {[claim.name for claim in claims]} have no rule to be judged; a soft rule "
            "of weight w is judged as a noisy one of probability 1 - exp(-w)"
        )
    return rules, [*given, *(claim.evidence for claim in claims if claim.evidence is not None)]


def _terms(
    rules: Sequence[Rule], given: Sequence[Formula], names: tuple[str, ...]
) -> tuple[list[_Term], list[float]]:
    """Return what is added up, and the log-odds of the switches of soft and noisy rules.

    A switch is one more event: one of a noisy rule turns it on; one of a soft rule says whether it
    holds, at log-odds equal to the weight, which is the factor ``exp(weight)`` up to a constant
    that cancels against what is given.
    """
    switches: dict[str, float] = {}
    factors: list[Formula] = []
    judged: list[Formula] = []
    for rule in rules:
        if rule.kind == "hard":
            judged.append(rule.formula)
        elif rule.kind != "score":
            # No event can have this name, since '#' is no part of an identifier.
            switch = Formula("var", name=f"{rule.kind}#{len(switches)}")
            weight = rule.weight or 0.0
            switches[switch.key] = weight if rule.kind == "soft" else _log_odds(weight)
            if rule.kind == "soft":
                factors.append(switch.iff(rule.formula))
            else:
                judged.append(switch >> rule.formula)
    columns = (*names, *switches)
    wanted = [(1.0, judged, [*factors, *given])] if judged else []
    wanted += [(r.weight or 0.0, [r.formula], [*given]) for r in rules if r.kind == "score"]
    terms = [
        _Term(
            weight=weight,
            joint=compile(_all([*parts, *granted]), names=columns),
            given=compile(_all(granted), names=columns) if granted else None,
            can_fail=compile(_all([~_all(parts), *granted])).is_satisfiable,
        )
        for weight, parts, granted in wanted
    ]
    return terms, list(switches.values())


def _all(parts: Sequence[Formula]) -> Formula:
    return parts[0] if len(parts) == 1 else Formula("and", tuple(parts))


def _log_odds(prob: float) -> float:
    if prob in (0.0, 1.0):
        return math.inf if prob else -math.inf
    return math.log(prob) - math.log1p(-prob)


def _columns(formulas: Sequence[Formula], names: Sequence[str] | None) -> tuple[str, ...]:
    own = tuple(dict.fromkeys(name for formula in formulas for name in variables(formula)))
    columns = own if names is None else tuple(names)
    missing = [name for name in own if name not in columns]
    if missing or len(set(columns)) < len(columns) or not columns:
        raise InputError(
            f"the theory has the events {list(own)}, at least one, and each needs a column of its "
            f"own, got {list(columns)}"
        )
    return columns


def _check_ground(formula: Formula) -> None:
    if any(node.domain is not None for node in walk(formula)):
        raise InputError(f"{str(formula)!r} ranges over rows; use the claims of an instance")


def _check_numbers(log_odds: Float[Tensor, "N n"], names: Sequence[str]) -> None:
    bad = torch.nonzero(torch.isnan(log_odds.detach())).tolist()
    if bad:
        raise NumericalError(
            f"the log-odds of {names[bad[0][1]]!r} in row {bad[0][0]} are NaN; check the model"
        )


def _check_possible(
    log_probs: Float[Tensor, "N"],
    log_odds: Float[Tensor, "N n"],
    names: Sequence[str],
    *,
    what: str,
) -> None:
    """Raise unless the log-probabilities, or minus them, are finite."""
    bad = torch.nonzero(~torch.isfinite(log_probs.detach()))[:, 0].tolist()
    if bad:
        row = dict(zip(names, log_odds[bad[0]].tolist(), strict=True))
        certain = {name: value for name, value in row.items() if math.isinf(value)}
        raise NumericalError(
            f"row {bad[0]}: {what} has probability 0 where these log-odds are infinite: {certain}; "
            f"clamp them, or leave out the row ({len(bad)} of {len(log_odds)} rows are so)"
        )


def _reduced(losses: Float[Tensor, "N"], reduction: Reduction) -> Float[Tensor, "*rows"]:
    if reduction == "none":
        return losses
    return losses.mean() if reduction == "mean" else losses.sum()


def _warn(message: str) -> None:
    warnings.warn(message, LikelyWarning, stacklevel=4)
