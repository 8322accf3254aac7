"""Tokens taken out of a prompt in the order of their scores. Unit: nats."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from jaxtyping import Float

from likely.attribution.baselines.method import check_possible
from likely.attribution.faithfulness.ranks import (
    Scored,
    check_reference,
    label_of,
    places_of,
    score_correlation,
)
from likely.attribution.faithfulness.record import Curve, Faithfulness
from likely.attribution.removal import (
    Fixed,
    Marginal,
    Removal,
    draw_marginal,
    log_probs_without,
    make_removal,
)
from likely.attribution.result import Attribution, ModelFacts
from likely.core.engine import Meter
from likely.core.estimate import Estimate, Unit
from likely.core.logspace import logsumexp
from likely.core.model import LanguageModel, Settings
from likely.errors import InputError
from likely.stats.intervals import student_estimate

Statistic: TypeAlias = Callable[[Float[np.ndarray, "k"]], float]

TOP_K = (1, 3, 5)
"""Drops that are reported by default, where there are as many places."""


def measure_faithfulness(
    model: LanguageModel,
    scored: Scored,
    *,
    removal: str = "deletion",
    token: int | str | None = None,
    reference: Scored | None = None,
    top_k: Sequence[int] | None = None,
    n_draws: int = 32,
    level: float = 0.95,
    seed: int = 0,
    settings: Settings | None = None,
    meter: Meter | None = None,
) -> Faithfulness:
    """Return how well scores tell which tokens the response needs.

    Args:
        model: The one that was asked.
        scored: From `attribute` or `baseline`.
        removal: ``deletion``, ``replacement``, or ``marginal``: draws from the posteriors of
            ``scored`` or, if that is a baseline, of ``reference``.
        token: Of a replacement, as `likely.attribution.removal.replacement_token` takes it.
        reference: Scores of the same places that ranks are compared with.
        top_k: Of the drops; by default those of 1, 3 and 5 that there are places for.
        n_draws: Of the marginal; at least 2.
        level: Coverage of intervals.
        seed: Of the draws.
        settings: How to evaluate.
        meter: Is told of progress.

    Raises:
        InputError: No places or places that overlap, a reference that is the scored method itself
            or of another case, a marginal without an attribution, an option out of range.
        UnknownNameError: No such removal.

    Sources:
        Petsiuk, Das and Saenko (2018), "RISE", section 4.2, for the curves; Cohen-Wang and others
        (2024), section 3, for the top-k drop.
    """
    places = places_of(scored)
    if not 0.0 < level < 1.0 or seed < 0:
        raise InputError(
            f"a level lies in (0, 1) and a seed is at least 0, got {level!r} and {seed!r}"
        )
    wanted = _top_k(top_k, len(places))
    if reference is not None:
        check_reference(scored, reference)
    way = _removal(model, scored, reference, removal, token, n_draws=n_draws, seed=seed)
    order = np.argsort(-scored.scores, kind="stable")
    ranked = [frozenset(places[i]) for i in order.tolist()]
    everything = frozenset().union(*ranked)
    tops = [frozenset().union(*ranked[:k]) for k in range(len(ranked) + 1)]
    sets = [*tops, *(everything - top for top in tops)]
    found = log_probs_without(model, scored.case, sets, removal=way, settings=settings, meter=meter)
    whole = float(found.log_probs[0])
    check_possible(whole)
    by_draw = found.by_draw - whole
    deletion = _curve(by_draw[: len(tops)], level)
    return Faithfulness(
        label=label_of(scored),
        removal=way.name,
        removal_facts=_facts(way),
        n_places=len(places),
        log_response=whole,
        deletion=deletion,
        insertion=_curve(by_draw[len(tops) :], level),
        drops={
            k: _estimate(by_draw[k : k + 1], lambda v: float(-v[0]), level, "nats") for k in wanted
        },
        correlation=None
        if reference is None
        else score_correlation(scored, reference, level=level, seed=seed),
        reference=None if reference is None else label_of(reference),
        flags=_flags(scored, way),
        model=ModelFacts.of(model),
        level=level,
        seed=seed,
        cost=found.cost,
    )


def _top_k(top_k: Sequence[int] | None, n: int) -> tuple[int, ...]:
    if top_k is None:
        return tuple(k for k in TOP_K if k <= n)
    bad = [k for k in top_k if not 1 <= k <= n]
    if bad:
        raise InputError(f"of {n} places the 1 to {n} highest can be taken out, got {bad[0]!r}")
    return tuple(top_k)


def _removal(
    model: LanguageModel,
    scored: Scored,
    reference: Scored | None,
    name: str,
    token: int | str | None,
    *,
    n_draws: int,
    seed: int,
) -> Removal:
    if name != "marginal":
        return make_removal(model, name, token)
    if token is not None:
        raise InputError(f"a marginal draws what stands in, got token={token!r}")
    for one in (scored, reference):
        if isinstance(one, Attribution):
            return draw_marginal(one, n_draws=n_draws, seed=seed)
    raise InputError(
        "the marginal draws from the posteriors of an attribution: give one as reference="
    )


def _facts(way: Removal) -> dict[str, float | int | str]:
    if isinstance(way, Fixed):
        return {"token": way.token}
    if isinstance(way, Marginal):
        return {"n_draws": way.n_draws, "mass": way.mass}
    return {}


def _flags(scored: Scored, way: Removal) -> frozenset[str]:
    own = "marginal" if isinstance(scored, Attribution) else scored.removal
    flags = {"same_removal"} if own == way.name else set()
    if len(np.unique(scored.scores)) < len(scored.scores):
        flags.add("tied_scores")
    return frozenset(flags)


def _curve(by_draw: Float[np.ndarray, "k d"], level: float) -> Curve:
    n = len(by_draw)
    share = np.linspace(0.0, 1.0, n)
    weight = np.full(n, 1.0 / (n - 1))
    weight[[0, -1]] /= 2.0
    return Curve(
        share=share,
        log_ratios=tuple(
            _estimate(by_draw[k : k + 1], lambda v: float(v[0]), level, "nats") for k in range(n)
        ),
        area=_estimate(by_draw, lambda v: float(weight @ np.exp(v)), level, "none"),
        log_area=_estimate(by_draw, lambda v: float(weight @ v), level, "nats"),
    )


def _estimate(
    by_draw: Float[np.ndarray, "k d"], statistic: Statistic, level: float, unit: Unit
) -> Estimate:
    """Return a function of log mean ratios, with the jackknife's interval over draws.

    Sources:
        Tukey (1958); Efron and Tibshirani (1993), chapter 11.
    """
    n = by_draw.shape[1]
    value = statistic(logsumexp(by_draw, axis=1) - np.log(n))
    if n == 1 or (by_draw == by_draw[:, :1]).all():
        return Estimate.exact(value, unit=unit, method="evaluated")
    without = np.array([statistic(column - np.log(n - 1)) for column in _leave_one_out(by_draw).T])
    if not np.isfinite([value, *without]).all():  # too few draws allow the response to say more
        return Estimate(
            value=value, low=-np.inf, high=np.inf, level=level, unit=unit, method="marginal draws"
        )
    error = float(np.sqrt((n - 1) * without.var()))
    return student_estimate(
        value, error, df=n - 1, level=level, method="marginal draws", unit=unit,
        diagnostics={"n_draws": n, "standard_error": error},
    )  # fmt: skip


def _leave_one_out(log_weights: Float[np.ndarray, "k d"]) -> Float[np.ndarray, "k d"]:
    """Return for each draw the log of the sum over the others; none is subtracted from the sum."""
    nothing = np.full((len(log_weights), 1), -np.inf)
    before = np.logaddexp.accumulate(log_weights, axis=1)[:, :-1]
    after = np.logaddexp.accumulate(log_weights[:, ::-1], axis=1)[:, -2::-1]
    return np.asarray(np.logaddexp(np.hstack([nothing, before]), np.hstack([after, nothing])))
