"""Gradients of the response's log-probability by the input embeddings. Unit: nats.

Forward and backward passes are counted apart: a cost's token evaluations are the forward ones, and
as many go backward (``backward_token_evaluations``), each at about twice the arithmetic.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, get_args

from likely.attribution.baselines.method import Facts, Found, Task, check_possible
from likely.attribution.removal import replacement_token
from likely.core.estimate import Estimate
from likely.core.model import Capability, require
from likely.errors import InputError, UnknownNameError

if TYPE_CHECKING:
    from likely.attribution.baselines.differentiable import Differentiated

Rule: TypeAlias = Literal["gausslegendre", "riemann_middle", "riemann_trapezoid"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GradientXInput:
    """Gradient by a token's embedding, times that embedding: the change to the first order.

    Sources:
        Denil, Demiraj and de Freitas (2014); Shrikumar, Greenside and Kundaje (2017), section 3.
    """

    def run(self, task: Task) -> Found:
        """Return the products of all positions.

        Raises:
            CapabilityError: The model has no gradients.
        """
        function = _function(task)
        from likely.attribution.baselines.differentiable import differentiate

        point = function.point
        value, gradient = differentiate(function, point)
        return _found(task, function, (gradient * point).sum(dim=-1)[0].tolist(), value, {}, False)


@dataclass(frozen=True, slots=True, kw_only=True)
class IntegratedGradients:
    """Gradients averaged along the line from a baseline to the prompt, times its length.

    The embeddings of the asked positions move, all others stay. Exactly integrated, the scores sum
    to the change in log-probability from the baseline to the prompt; what they miss it by is the
    ``completeness_gap``, in nats, and as a share of the change ``completeness_share``. Over
    ``gap_limit`` the result is flagged ``incomplete``: more steps or another rule may help, or may
    not. Each score is the exact value of the rule's sum, not of the integral.

    Attributes:
        n_steps: Gradients on the line; at least 1, or 2 for a Riemann rule.
        rule: Where they are taken.
        token: Whose embedding the line starts from at every position, as a replacement takes it.
        from_zero: Start from zero instead, which is no token's embedding. Models that normalise
            embeddings by their length have no limit there: on SmolLM2 the gap of 20 steps from
            zero is most of the change, from a space 3 % of it.
        gap_limit: Share of the change that the gap may have.

    Sources:
        Sundararajan, Taly and Yan (2017), "Axiomatic attribution for deep networks"; computed by
        captum.
    """

    n_steps: int = 50
    rule: Rule = "gausslegendre"
    token: int | str | None = None
    from_zero: bool = False
    gap_limit: float = 0.05

    def __post_init__(self) -> None:
        check_steps(self.rule, self.n_steps)
        if self.from_zero and self.token is not None:
            raise InputError(f"the line starts from zero or a token, got token={self.token!r} too")
        if not self.gap_limit >= 0.0:
            raise InputError(f"the gap's limit is a share of at least 0, got {self.gap_limit!r}")

    def run(self, task: Task) -> Found:
        """Return the scores of all positions.

        Raises:
            CapabilityError: The model has no gradients.
            MissingExtraError: captum is not installed.
        """
        function = _function(task)
        from likely.attribution.baselines.integrate import integrate_gradients

        start = None if self.from_zero else replacement_token(task.model, self.token)
        found = integrate_gradients(
            function, function.point, function.baseline(start), n_steps=self.n_steps,
            rule=self.rule, rows=function.rows,
        )  # fmt: skip
        is_over = found.share > self.gap_limit
        scores = found.attributions.sum(dim=-1)[0].tolist()
        facts: Facts = {
            "completeness_gap": found.gap,
            "completeness_share": found.share,
            "change": found.change,
            "baseline_token": start,
        }
        method = f"{self.n_steps}-step {self.rule} sum"
        return _found(task, function, scores, found.end, facts, is_over, method=method)


def check_steps(rule: str, n_steps: int) -> None:
    """Raise unless a rule can take this many steps.

    Raises:
        UnknownNameError: No such rule.
        InputError: Too few steps.
    """
    if rule not in get_args(Rule):
        raise UnknownNameError.among("rule", rule, get_args(Rule))
    least = 1 if rule == "gausslegendre" else 2
    if n_steps < least:
        raise InputError(f"{rule} takes at least {least} steps, got {n_steps!r}")


def _function(task: Task) -> "Differentiated":
    require(task.model, Capability.GRADIENTS)
    if not task.case.response:
        raise InputError("an empty response has no gradient; give one of at least one token")
    from likely.attribution.baselines.differentiable import Differentiated

    return Differentiated(task)


def _found(
    task: Task,
    function: "Differentiated",
    scores: list[float],
    log_response: float,
    facts: Facts,
    is_incomplete: bool,
    *,
    method: str = "gradient_x_input",
) -> Found:
    check_possible(log_response)
    return Found(
        estimates=tuple(Estimate.exact(v, unit="nats", method=method) for v in scores),
        log_response=log_response,
        removal=None,
        diagnostics={
            **facts,
            "embedding_gap": function.gap,
            "backward_token_evaluations": function.n_backward,
        },
        flags=frozenset({"incomplete"} if is_incomplete else ()),
        cost=function.cost,
    )
