"""From how likely a token is to how surely it is *viable*: the rescalings of event probability.

A raw next-token probability measures how many good continuations share the mass. The unifying idea:
a truncation rule keeps the tokens past a threshold; let the threshold be random, and the event's
probability is the chance that its token is kept. Each rescaling names the law of that threshold.
The tokens of one event at one position are merged before anything else (see `statistics`).

All of them are invariant to a shift of the logits, so they take log-probabilities. Results are
log-odds, nats: ``-inf`` is impossible, ``+inf`` certain.

| id | name | P(event) | threshold law | rises | smooth | can be 1 |
|---|---|---|---|---|---|---|
| R0 | `identity` | p | none | yes | yes | no |
| R1 | `ratio` | p / p_max | min-p factor uniform on (0, 1) | yes | kinks | yes |
| R1s | `ratio_soft` | (p / p_max)^(1/tau), at most 1 - cap | power law | yes | kinks | capped |
| R2 | `tail` | mass of tokens not likelier | nucleus level uniform | yes | jumps | yes |
| R3 | `duel` | p + sum p_v sigma((z - z_v) / tau) | R2, soft steps | yes | yes | no |
| R4 | `minp` | sigma((z - z_max - log kappa) / tau) | log factor logistic | yes | kinks | no |
| R5 | `epsilon` | sigma((log p - log epsilon) / tau) | log epsilon logistic | yes | yes | no |
| R6 | `eta` | sigma((log p - log eta) / tau) | log eta logistic | at fixed H | kinks | no |
| R7 | `nucleus` | sigma((level - 1 + duel) / tau) | top-p level logistic | yes | yes | no |
| R8 | `typical` | sigma((delta - abs(log p + H)) / tau) | width logistic | no | kinks | no |
| R9 | `pmi` | sigma((log p - log p_neutral - offset) / tau) | lift logistic | yes | yes | no |
| R10 | `closed` | p / sum of candidates | none | yes | yes | no |
| R11 | `rank` | k / (k + rank - 1) | top-k level, heavy tail | yes | jumps | yes |

"No" under *can be 1* is of finite logits: a table whose law is certain makes any event certain.
"""

import math
from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from likely.logic.circuits.literals import log1mexp
from likely.logic.events.rescale import Rescaling, check_parameter, label
from likely.logic.events.statistics import Statistics, log_sum, lose, soft_top, win


def identity() -> Rescaling:
    """Return R0, the probability itself.

    Its log-odds are ``z_t`` minus the log-sum-exp of all other logits. No threshold. Rises with the
    event's logit; smooth; strictly inside (0, 1).
    """
    return Rescaling(
        name="identity", id="R0", parameters=(), label="identity", law="none",
        needs=("log_prob", "log_rest"), function=lambda s: s["log_prob"] - s["log_rest"],
    )  # fmt: skip


def ratio() -> Rescaling:
    """Return R1, the probability as a share of the likeliest token's.

    Threshold: min-p with a factor that is uniform on (0, 1). Rises with the event's logit; kinks
    where the likeliest token changes; exactly 1 for the likeliest token, where the gradient is 0.
    """
    return _of_ratio(
        "ratio", "R1", {}, _log_odds_of, law="min-p factor uniform on (0, 1)", saturates=True
    )


def ratio_soft(*, tau: float = 1.0, cap: float = 1e-6) -> Rescaling:
    """Return R1s, R1 to the power ``1 / tau``, at most ``1 - cap``.

    Threshold: a min-p factor whose law is a power law. Rises with the event's logit; kinks.

    Args:
        tau: Above 0; large values bring all tokens nearer to 1.
        cap: In (0, 1/2).
    """
    check_parameter("ratio_soft.tau", tau, above=0.0)
    check_parameter("ratio_soft.cap", cap, above=0.0, below=0.5)
    limit = math.log1p(-cap) - math.log(cap)

    def of_log_ratio(log_ratio: Float[Tensor, "E"]) -> Float[Tensor, "E"]:
        return _log_odds_of(log_ratio / tau).clamp(max=limit)

    return _of_ratio(
        "ratio_soft",
        "R1s",
        {"tau": tau, "cap": cap},
        of_log_ratio,
        law="min-p factor a power law",
        ceiling=limit,
    )


def tail() -> Rescaling:
    """Return R2, the mass of the event and of all tokens that are not likelier; ties count in.

    Threshold: a nucleus level that is uniform on (0, 1). Rises with the event's logit, but jumps
    where ranks swap: for reports, not for training. Exactly 1 for the likeliest token.
    """
    return Rescaling(
        name="tail", id="R2", parameters=(), label="tail", needs=("log_above", "log_below"),
        function=lambda s: s["log_below"] - s["log_above"],
        law="nucleus level uniform on (0, 1)", smoothness="jumps", saturates=True,
    )  # fmt: skip


def duel(*, tau: float = 1.0) -> Rescaling:
    """Return R3, the chance that the event beats a token drawn from the row: the default.

    The drawn token ``v`` loses with probability ``sigma((z_t - z_v) / tau)``; the event itself, if
    drawn, wins. Threshold: R2 with soft steps; as tau goes to 0 it becomes R2 with ties counted
    half. Strictly rises with the event's logit; smooth; strictly inside (0, 1). Under a uniform row
    it is ``1/2 + 1/(2V)``.

    Args:
        tau: Above 0: the temperature of a duel.

    Sources:
        Bradley and Terry (1952), for the law of a duel.
    """
    check_parameter("duel.tau", tau, above=0.0)
    won, lost = win(tau), lose(tau)
    return Rescaling(
        name="duel", id="R3", parameters=(("tau", tau),), label=label("duel", {"tau": tau}),
        needs=(won, lost), function=lambda s: s[won] - s[lost], law="R2 with soft steps",
    )  # fmt: skip


def minp(*, kappa: float = 0.05, tau: float = 1.0, beta: float | None = None) -> Rescaling:
    """Return R4, ``sigma((z_t - z_max - log kappa) / tau)``.

    Threshold: min-p with a factor whose log is logistic around ``log kappa``. Rises with the
    event's logit; its log-odds have gradient ``(e_t - e_max) / tau``, which never vanishes unless
    the event is on top; a kink where the likeliest token changes, none with ``beta``.

    Args:
        kappa: In (0, 1): the share of the top at which the event is even.
        tau: Above 0.
        beta: Above 0: takes ``LSE(beta z) / beta`` for the top (4 is a good value); None is the
            maximum itself.
    """
    check_parameter("minp.kappa", kappa, above=0.0, below=1.0)
    check_parameter("minp.tau", tau, above=0.0)
    if beta is not None:
        check_parameter("minp.beta", beta, above=0.0)
    return _of_ratio(
        "minp", "R4", {"kappa": kappa, "tau": tau, "beta": beta},
        lambda log_ratio: (log_ratio - math.log(kappa)) / tau,
        law="log of the min-p factor logistic", beta=beta,
    )  # fmt: skip


def epsilon(*, epsilon: float = 9e-4, tau: float = 1.0) -> Rescaling:
    """Return R5, ``sigma((log p - log epsilon) / tau)``.

    Threshold: epsilon sampling with a logistic log of epsilon. Rises with the event's logit;
    smooth. An absolute threshold: flat rows make everything improbable, so scores of models with
    different entropy are not comparable.

    Args:
        epsilon: In (0, 1): the probability at which the event is even.
        tau: Above 0.
    """
    check_parameter("epsilon.epsilon", epsilon, above=0.0, below=1.0)
    check_parameter("epsilon.tau", tau, above=0.0)
    values = {"epsilon": epsilon, "tau": tau}
    return Rescaling(
        name="epsilon", id="R5", parameters=tuple(values.items()), label=label("epsilon", values),
        needs=("log_prob",), function=lambda s: (s["log_prob"] - math.log(epsilon)) / tau,
        law="log epsilon logistic",
    )  # fmt: skip


def eta(*, epsilon: float = 9e-4, tau: float = 1.0, beta: float | None = None) -> Rescaling:
    """Return R6, ``sigma((log p - log eta) / tau)``, eta from the entropy of the row.

    ``eta = min(epsilon, sqrt(epsilon) e^-H)``. Threshold: eta sampling with a logistic log of eta;
    ``H`` is the entropy of the merged row. Rises with the event's logit at fixed entropy; a kink
    where the branch changes, none with ``beta``. This is the rule that the transformers library
    computes; its docstring prints the square root around the product.

    Args:
        epsilon: In (0, 1).
        tau: Above 0.
        beta: Above 0: takes the smooth minimum ``-LSE(-beta x) / beta`` of both branches.

    Sources:
        Hewitt, Manning and Liang (2022), "Truncation sampling as language model desmoothing".
    """
    check_parameter("eta.epsilon", epsilon, above=0.0, below=1.0)
    check_parameter("eta.tau", tau, above=0.0)
    if beta is not None:
        check_parameter("eta.beta", beta, above=0.0)
    log_epsilon = math.log(epsilon)

    def function(s: Statistics) -> Float[Tensor, "E"]:
        by_entropy = 0.5 * log_epsilon - s["entropy"]
        if beta is None:
            log_eta = by_entropy.clamp(max=log_epsilon)
        else:
            flat = torch.full_like(by_entropy, log_epsilon)
            log_eta = -log_sum(-beta * torch.stack([flat, by_entropy], dim=-1)) / beta
        return (s["log_prob"] - log_eta) / tau

    values = {"epsilon": epsilon, "tau": tau, "beta": beta}
    return Rescaling(
        name="eta", id="R6", parameters=tuple(values.items()), label=label("eta", values),
        needs=("log_prob", "entropy"), function=function, law="log eta logistic",
        smoothness="kinks" if beta is None else "smooth",
    )  # fmt: skip


def nucleus(*, level: float = 0.9, tau: float = 0.05, duel_tau: float = 1.0) -> Rescaling:
    """Return R7, ``sigma((level - (1 - R3)) / tau)``.

    Threshold: a top-p level that is logistic around ``level``; the mass above the event is the
    soft one of the duel. Rises with the event's logit; smooth. Its range is narrow: an event
    without any mass still has ``sigma((level - 1) / tau)``, .12 by default.

    Args:
        level: In (0, 1).
        tau: Above 0, a difference of probabilities.
        duel_tau: Above 0: tau of the duel.
    """
    check_parameter("nucleus.level", level, above=0.0, below=1.0)
    check_parameter("nucleus.tau", tau, above=0.0)
    check_parameter("nucleus.duel_tau", duel_tau, above=0.0)
    lost = lose(duel_tau)
    values = {"level": level, "tau": tau, "duel_tau": duel_tau}
    return Rescaling(
        name="nucleus", id="R7", parameters=tuple(values.items()), label=label("nucleus", values),
        needs=(lost,), function=lambda s: (level - torch.exp(s[lost])) / tau,
        law="top-p level logistic",
    )  # fmt: skip


def typical(*, delta: float = 1.0, tau: float = 1.0) -> Rescaling:
    """Return R8, ``sigma((delta - abs(log p + H)) / tau)``.

    Threshold: locally typical sampling with a logistic width. Not monotone: a token much likelier
    than the entropy suggests is penalised; a kink where ``log p = -H``.

    Args:
        delta: At least 0, nats: the distance at which the event is even.
        tau: Above 0.

    Sources:
        Meister, Pimentel, Wiher and Cotterell (2023), "Locally typical sampling".
    """
    check_parameter("typical.delta", delta, above=0.0, ends=True)
    check_parameter("typical.tau", tau, above=0.0)
    values = {"delta": delta, "tau": tau}
    return Rescaling(
        name="typical", id="R8", parameters=tuple(values.items()), label=label("typical", values),
        needs=("log_prob", "entropy"),
        function=lambda s: (delta - (s["log_prob"] + s["entropy"]).abs()) / tau,
        law="typical width logistic", is_monotone=False, smoothness="kinks",
    )  # fmt: skip


def pmi(*, offset: float = 0.0, tau: float = 1.0) -> Rescaling:
    """Return R9, ``sigma((log p - log p_neutral - offset) / tau)``.

    Threshold: the lift over a neutral context, logistic. Rises with the event's logit; smooth. An
    event that is impossible in its context has no lift, whatever the neutral context says.

    Args:
        offset: Nats of lift at which the event is even (``b`` in the formula).
        tau: Above 0.
    """
    check_parameter("pmi.offset", offset)
    check_parameter("pmi.tau", tau, above=0.0)

    def function(s: Statistics) -> Float[Tensor, "E"]:
        is_impossible = torch.isneginf(s["log_prob"])
        lift = s["log_prob"].masked_fill(is_impossible, 0.0) - s["log_neutral"]
        return ((lift - offset) / tau).masked_fill(is_impossible, -torch.inf)

    values = {"offset": offset, "tau": tau}
    return Rescaling(
        name="pmi", id="R9", parameters=tuple(values.items()), label=label("pmi", values),
        needs=("log_prob", "log_neutral"), function=function, law="lift logistic",
    )  # fmt: skip


def closed() -> Rescaling:
    """Return R10, the probability as a share of that of a closed set of candidates.

    No threshold. Rises with the event's logit; smooth; strictly inside (0, 1). Under a uniform row
    it is 1 over the number of candidates. Where every candidate is impossible, so is the event.
    """

    def function(s: Statistics) -> Float[Tensor, "E"]:
        is_impossible = torch.isneginf(s["log_prob"])
        odds = s["log_prob"].masked_fill(is_impossible, 0.0) - s["log_others"]
        return odds.masked_fill(is_impossible, -torch.inf)

    return Rescaling(
        name="closed", id="R10", parameters=(), label="closed", function=function,
        needs=("log_prob", "log_others"), law="none: candidates only",
    )  # fmt: skip


def rank(*, k: float = 10.0) -> Rescaling:
    """Return R11, ``k / (k + rank - 1)``; the rank is 1 plus the number of likelier tokens.

    Threshold: a top-k level with a heavy tail. Rises with the event's logit, in jumps; no gradient.

    Args:
        k: Above 0: the event is even at rank ``k + 1``.
    """
    check_parameter("rank.k", k, above=0.0)
    return Rescaling(
        name="rank", id="R11", parameters=(("k", k),), label=label("rank", {"k": k}),
        needs=("n_above",), function=lambda s: math.log(k) - torch.log(s["n_above"]),
        law="top-k level, heavy tail", smoothness="jumps", saturates=True,
    )  # fmt: skip


def _of_ratio(
    name: str,
    id_: str,
    values: dict[str, float | None],
    of_log_ratio: Callable[[Float[Tensor, "E"]], Float[Tensor, "E"]],
    *,
    law: str,
    saturates: bool = False,
    ceiling: float = math.inf,
    beta: float | None = None,
) -> Rescaling:
    top = "log_top" if beta is None else soft_top(beta)
    return Rescaling(
        name=name, id=id_, parameters=tuple(values.items()), label=label(name, values),
        needs=("log_prob", top), function=lambda s: of_log_ratio(s["log_prob"] - s[top]), law=law,
        smoothness="kinks" if beta is None else "smooth", saturates=saturates, ceiling=ceiling,
        log_ratio=top,
        of_log_ratio=of_log_ratio,
    )  # fmt: skip


def _log_odds_of(log_prob: Float[Tensor, "E"]) -> Float[Tensor, "E"]:
    """Return log-odds; ``+inf`` with gradient 0 where the probability is 1."""
    is_certain = log_prob >= 0.0
    below = log_prob.masked_fill(is_certain, -1.0)
    return (below - log1mexp(below)).masked_fill(is_certain, torch.inf)
