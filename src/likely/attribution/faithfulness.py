"""Whether scores of a prompt's tokens tell which of them the response needs. Unit: nats.

Tokens are taken out of the prompt in the order of their scores, and the response is scored after
what is left. How they are taken out is a choice (`likely.attribution.removal`) and part of every
result. It is never neutral: a curve that deletes favours scores that were found by deleting, one
that draws from posteriors favours the attribution by Bayes' rule, and each asks the model about
prompts that the other never shows it. A result says by the flag ``same_removal`` where the scores
were found in the way that they are tested; compare methods under more than one removal.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from jaxtyping import Float
from scipy.stats import norm, rankdata

from likely._version import __version__
from likely.attribution.baselines.method import check_possible
from likely.attribution.baselines.record import BaselineScores
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
from likely.core.estimate import Cost, Estimate, Unit
from likely.core.jsonio import dumps
from likely.core.logspace import logsumexp
from likely.core.model import LanguageModel, Settings
from likely.core.streams import generator
from likely.errors import InputError
from likely.stats.correlations import rank_correlation
from likely.stats.intervals import student_estimate

if TYPE_CHECKING:
    import pandas as pd

Scored: TypeAlias = Attribution | BaselineScores
Positions: TypeAlias = tuple[int, ...]
Statistic: TypeAlias = Callable[[Float[np.ndarray, "k"]], float]

BAYES = "attribution"
"""Label of scores by Bayes' rule, beside the names of baselines."""

TOP_K = (1, 3, 5)
_REDRAWS = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """The response while tokens are taken out, or put back, from the highest score on.

    Attributes:
        share: Shape ``(k,)``: how many of the places were moved so far, from 0 to 1.
        log_ratios: At each of them the log-probability of the response less that after the whole
            prompt, nats; ``-inf`` where it is impossible.
        area: Under the ratio of probabilities, by trapezoids over ``share``: 1 if nothing changed.
            Of a deletion curve low is good, of an insertion curve high.
        log_area: Under the log-ratio, nats: the mean log-ratio along the curve.
    """

    share: Float[np.ndarray, "k"]
    log_ratios: tuple[Estimate, ...]
    area: Estimate
    log_area: Estimate

    @property
    def ratios(self) -> Float[np.ndarray, "k"]:
        """Probability of the response over that after the whole prompt, shape ``(k,)``."""
        return np.asarray(np.exp(np.array([one.value for one in self.log_ratios])))

    def to_dict(self) -> dict[str, object]:
        """Return the fields as a mapping for strict JSON."""
        return {
            "share": self.share,
            "log_ratios": [one.to_dict() for one in self.log_ratios],
            "area": self.area.to_dict(),
            "log_area": self.log_area.to_dict(),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Faithfulness:
    """How well the scores of one case tell what the response needs.

    Attributes:
        label: Whose scores: name of a baseline, or ``attribution``.
        removal: How tokens were taken out: ``deletion``, ``replacement`` or ``marginal``.
        removal_facts: The token of a replacement; of a marginal the number of draws and the least
            share of a posterior that was drawn from.
        n_places: How many were scored.
        log_response: Log-probability of the response after the whole prompt.
        deletion: Highest scores taken out first.
        insertion: Everything scored taken out, and the highest scores put back first.
        drops: For each k how many nats the response loses without its k highest scores.
        correlation: Spearman's, with the reference's scores of the same places; None without a
            reference, or where one side is constant. Places of one prompt are no sample, so the
            interval is only about scores that are estimates: it is what the correlation does when
            each is drawn again from a normal law of its own width, independently.
        reference: Label of the other scores, or None.
        flags: ``same_removal`` where the scores were found by the removal they are tested with,
            ``tied_scores`` where equal scores left the order to the order of the prompt.
        model: Whose response it is.
        level: Of the intervals.
        seed: Of the draws.
        cost: Of the test, not of the scores.
    """

    label: str
    removal: str
    removal_facts: Mapping[str, float | int | str]
    n_places: int
    log_response: float
    deletion: Curve
    insertion: Curve
    drops: Mapping[int, Estimate]
    correlation: Estimate | None
    reference: str | None
    flags: frozenset[str]
    model: ModelFacts
    level: float
    seed: int
    cost: Cost

    def numbers(self) -> dict[str, Estimate | None]:
        """Return every number by name; None where it is not defined."""
        return {
            "deletion_area": self.deletion.area,
            "insertion_area": self.insertion.area,
            "deletion_log_area": self.deletion.log_area,
            "insertion_log_area": self.insertion.log_area,
            **{f"drop_{k}": drop for k, drop in self.drops.items()},
            "correlation": self.correlation,
        }

    def to_frame(self) -> "pd.DataFrame":
        """Return a row a point of a curve."""
        import pandas as pd

        return pd.DataFrame(
            [
                {
                    "label": self.label,
                    "removal": self.removal,
                    "curve": name,
                    "share": float(share),
                    "log_ratio": one.value,
                    "log_ratio_low": one.low,
                    "log_ratio_high": one.high,
                }
                for name, curve in (("deletion", self.deletion), ("insertion", self.insertion))
                for share, one in zip(curve.share, curve.log_ratios, strict=True)
            ]
        )

    def summary(self) -> str:
        """Return a line a number for a person, the removal first."""
        lines = [f"{self.label}, tokens taken out by {self.removal}: {self.n_places} places"]
        for name, one in self.numbers().items():
            shown = "not defined" if one is None else one.summary()
            if name == "correlation":
                name = f"rank correlation with {self.reference}"
            if one is not None or self.reference is not None:
                lines.append(f"  {name}: {shown}")
        if self.flags:
            lines.append(f"  flags: {', '.join(sorted(self.flags))}")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, object]:
        """Return everything as a mapping for strict JSON."""
        return {
            "label": self.label,
            "removal": self.removal,
            "removal_facts": dict(self.removal_facts),
            "n_places": self.n_places,
            "log_response": self.log_response,
            "deletion": self.deletion.to_dict(),
            "insertion": self.insertion.to_dict(),
            "drops": {str(k): drop.to_dict() for k, drop in self.drops.items()},
            "correlation": None if self.correlation is None else self.correlation.to_dict(),
            "reference": self.reference,
            "flags": self.flags,
            "model": asdict(self.model),
            "level": self.level,
            "seed": self.seed,
            "cost": self.cost.to_dict(),
        }

    def to_json(self) -> str:
        """Return `to_dict` as strict JSON."""
        return dumps(self.to_dict())


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
    places = _places(scored)
    if not 0.0 < level < 1.0 or seed < 0:
        raise InputError(
            f"a level lies in (0, 1) and a seed is at least 0, got {level!r} and {seed!r}"
        )
    wanted = _top_k(top_k, len(places))
    if reference is not None:
        _check_reference(scored, reference)
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
        label=_label(scored),
        removal=way.name,
        removal_facts=_facts(way),
        n_places=len(places),
        log_response=whole,
        deletion=deletion,
        insertion=_curve(by_draw[len(tops) :], level),
        drops={
            k: _estimate(by_draw[k : k + 1], lambda v: float(-v[0]), level, "nats") for k in wanted
        },
        correlation=None if reference is None else _correlation(scored, reference, level, seed),
        reference=None if reference is None else _label(reference),
        flags=_flags(scored, way),
        model=ModelFacts(name=model.info.name, identity=model.info.identity, likely=__version__),
        level=level,
        seed=seed,
        cost=found.cost,
    )


def _label(scored: Scored) -> str:
    return BAYES if isinstance(scored, Attribution) else scored.name


def _places(scored: Scored) -> list[Positions]:
    if isinstance(scored, Attribution):
        places = [place.positions for place in scored.places]
    else:
        places = [(position,) for position in scored.positions]
    positions = [position for place in places for position in place]
    if not positions or len(set(positions)) < len(positions):
        raise InputError(f"the test takes scores of places that do not overlap, got {places!r}")
    return places


def _top_k(top_k: Sequence[int] | None, n: int) -> tuple[int, ...]:
    if top_k is None:
        return tuple(k for k in TOP_K if k <= n)
    bad = [k for k in top_k if not 1 <= k <= n]
    if bad:
        raise InputError(f"of {n} places the 1 to {n} highest can be taken out, got {bad[0]!r}")
    return tuple(top_k)


def _check_reference(scored: Scored, reference: Scored) -> None:
    one, other = scored.case, reference.case
    if (one.context, one.prompt, one.response) != (other.context, other.prompt, other.response):
        raise InputError("the reference scores another prompt or response; score the same case")
    if _places(scored) != _places(reference):
        raise InputError(
            f"the reference has scores of {_places(reference)!r}, the scored method of "
            f"{_places(scored)!r}; score the same positions"
        )
    same = reference is scored
    if isinstance(scored, BaselineScores) and isinstance(reference, BaselineScores):
        same = same or (scored.name, scored.options) == (reference.name, reference.options)
    if same:
        raise InputError(
            f"the reference of {_label(scored)!r} is that method itself, with which it always "
            "agrees; give another"
        )


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


def _correlation(scored: Scored, reference: Scored, level: float, seed: int) -> Estimate | None:
    value = _spearman(scored.scores, reference.scores)
    if value is None:
        return None
    widths = [_standard_errors(one) for one in (scored, reference)]
    if not any(width.any() for width in widths):
        return Estimate.exact(value, unit="none", method="spearman")
    rng = generator(seed, "attribution", "faithfulness", "correlation")
    drawn = []
    for _ in range(_REDRAWS):
        one, other = (
            which.scores + width * rng.standard_normal(len(width))
            for which, width in zip((scored, reference), widths, strict=True)
        )
        again = _spearman(one, other)
        if again is not None:
            drawn.append(again)
    tail = (1.0 - level) / 2.0
    low, high = np.quantile([value, *drawn], (tail, 1.0 - tail))
    return Estimate(
        value=value, low=min(value, float(low)), high=max(value, float(high)), level=level,
        unit="none", method="spearman, scores drawn again", diagnostics={"n_redraws": len(drawn)},
    )  # fmt: skip


def _spearman(x: Float[np.ndarray, "n"], y: Float[np.ndarray, "n"]) -> float | None:
    """Return Spearman's correlation of scores that may be infinite."""
    if len(x) < 2:
        return None
    return rank_correlation(rankdata(x).astype(np.float64), rankdata(y).astype(np.float64))


def _standard_errors(scored: Scored) -> Float[np.ndarray, "n"]:
    """Return the standard errors that the intervals of scores amount to; 0 for exact ones."""
    if isinstance(scored, Attribution):
        estimates = [place.measures.score for place in scored.places]
    else:
        estimates = list(scored.estimates)
    return np.array(
        [
            0.0 if one.is_exact else (one.high - one.low) / 2.0 / norm.isf((1.0 - one.level) / 2.0)
            for one in estimates
        ]
    )
