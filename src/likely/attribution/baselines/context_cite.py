"""ContextCite: a sparse linear model of the response's log-odds under random removals. Nats."""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float

from likely.attribution.baselines.lasso import Lasso, fit_lasso
from likely.attribution.baselines.method import Found, Task
from likely.attribution.removal import RemovalName, make_removal
from likely.core.estimate import Cost, Estimate
from likely.core.logspace import log1mexp
from likely.core.streams import generator
from likely.errors import InputError
from likely.stats.correlations import percentile_estimate

_FOLDS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextCite:
    """Coefficients of a LASSO on whether each token was kept, of the log-odds of the response.

    As the authors do it: each token is kept with a chance, the regressors are standardised, and
    ``alpha`` counts against log-odds per response token. Where no more prompts are possible than
    ``n_ablations``, all are taken, each weighted by its chance, and the coefficients are exact.

    The interval is the percentile interval over resamples of the ablations, with the LASSO fitted
    anew: it is about which ablations were drawn, at this ``alpha``, and not about the LASSO's own
    shrinkage. It is rough for coefficients near 0 (Chatterjee and Lahiri 2011).

    Attributes:
        n_ablations: Random prompts evaluated; at least 2.
        keep: Chance that a token is kept, in (0, 1).
        alpha: Of the penalty, at least 0.
        removal: How tokens are taken out.
        token: Of a replacement.
        n_resamples: For the interval; at least 100.

    Sources:
        Cohen-Wang, Shah, Georgiev and Madry (2024), "ContextCite: attributing model generation to
        context", section 3, and their code for the defaults: 64, 0.5 and 0.01.
    """

    n_ablations: int = 64
    keep: float = 0.5
    alpha: float = 0.01
    removal: RemovalName = "deletion"
    token: int | str | None = None
    n_resamples: int = 400

    def __post_init__(self) -> None:
        if self.n_ablations < 2 or self.n_resamples < 100:
            raise InputError(
                "at least 2 ablations and 100 resamples are needed, got "
                f"{self.n_ablations!r} and {self.n_resamples!r}"
            )
        if not 0.0 < self.keep < 1.0 or not self.alpha >= 0.0:
            raise InputError(
                "keep is a chance in (0, 1) and alpha at least 0, got "
                f"{self.keep!r} and {self.alpha!r}"
            )

    def run(self, task: Task) -> Found:
        """Return the coefficients of all positions.

        Raises:
            InputError: Log-odds that are not finite, or too few ablations to tell tokens apart.
        """
        n = len(task.case.positions)
        rng = generator(task.seed, "attribution", "context_cite")
        is_exact = n <= 30 and 2**n <= self.n_ablations
        if is_exact:
            kept = (np.arange(2**n)[:, None] >> np.arange(n) & 1).astype(np.float64)
            chance = np.where(kept == 1.0, self.keep, 1.0 - self.keep).prod(axis=1)
        else:
            kept = (rng.random((self.n_ablations, n)) < self.keep).astype(np.float64)
            chance = np.ones(self.n_ablations)
        whole, y, cost = self._log_odds(task, kept)
        alpha = self.alpha * max(1, len(task.case.response))
        _check_varied(kept)
        fit = fit_lasso(kept, y, chance, alpha=alpha)
        if is_exact:
            estimates = tuple(
                Estimate.exact(float(v), unit="nats", method="context_cite")
                for v in fit.coefficients
            )
        else:
            estimates = self._intervals(fit, kept, y, alpha, rng, task.level)
        return Found(
            estimates=estimates,
            log_response=whole,
            removal=self.removal,
            diagnostics={
                "n_ablations": len(kept),
                "intercept": fit.intercept,
                "n_nonzero": int((fit.coefficients != 0.0).sum()),
                "r2": _r2(y, fit.predict(kept), float(chance @ y / chance.sum()), chance),
                "held_out_r2": _held_out_r2(kept, y, chance, alpha, rng),
            },
            cost=cost,
        )

    def _intervals(
        self,
        fit: Lasso,
        kept: Float[np.ndarray, "n m"],
        y: Float[np.ndarray, "n"],
        alpha: float,
        rng: np.random.Generator,
        level: float,
    ) -> tuple[Estimate, ...]:
        n = len(kept)
        counts = rng.multinomial(n, np.full(n, 1.0 / n), size=self.n_resamples).astype(np.float64)
        varies = _varied(kept, counts)
        replicates = np.full((self.n_resamples, kept.shape[1]), np.nan)
        for i in np.flatnonzero(varies):
            replicates[i] = fit_lasso(kept, y, counts[i], alpha=alpha).coefficients
        estimates = []
        for value, drawn in zip(fit.coefficients, replicates.T, strict=True):
            one = percentile_estimate(float(value), drawn, level=level, n_clusters=n, n_items=n)
            if one is None:
                raise InputError(
                    f"in most resamples of {n} ablations some token is always kept or always gone; "
                    "raise n_ablations"
                )
            estimates.append(replace(one, unit="nats", method="context_cite"))
        return tuple(estimates)

    def _log_odds(
        self, task: Task, kept: Float[np.ndarray, "n m"]
    ) -> tuple[float, Float[np.ndarray, "n"], Cost]:
        """Return the log-probability after the whole prompt, each ablation's log-odds, the cost."""
        positions = np.array(task.case.positions)
        absent = [frozenset(positions[row == 0.0].tolist()) for row in kept]
        found = task.without(absent, make_removal(task.model, self.removal, self.token))
        log_prob = np.minimum(0.0, found.log_probs[1:])
        y = log_prob - log1mexp(log_prob)
        if not np.isfinite(y).all():
            first = int(np.flatnonzero(~np.isfinite(y))[0])
            raise InputError(
                f"without positions {sorted(absent[first])} the response has probability "
                f"{float(np.exp(log_prob[first]))!r}, so its log-odds are not finite and no line "
                "fits them: ask for fewer positions, or take another baseline"
            )
        return float(found.log_probs[0]), y, found.cost


def _varied(
    kept: Float[np.ndarray, "n m"], weights: Float[np.ndarray, "S n"]
) -> Bool[np.ndarray, "S"]:
    """Return whether every token is sometimes kept and sometimes gone, for each weighting."""
    return np.asarray(((weights @ kept > 0.0) & (weights @ (1.0 - kept) > 0.0)).all(axis=1))


def _check_varied(kept: Float[np.ndarray, "n m"]) -> None:
    if not _varied(kept, np.ones((1, len(kept))))[0]:
        raise InputError(
            f"in all {len(kept)} ablations some token is kept, or gone; raise n_ablations or move "
            "keep towards 0.5"
        )


def _held_out_r2(
    kept: Float[np.ndarray, "n m"],
    y: Float[np.ndarray, "n"],
    chance: Float[np.ndarray, "n"],
    alpha: float,
    rng: np.random.Generator,
) -> float | None:
    """Return R^2 of fits that have not seen what they predict, ablations alike held out together.

    None where that is not defined: too few distinct ablations, or log-odds that do not vary.
    """
    distinct, which = np.unique(kept, axis=0, return_inverse=True)
    n_folds = min(_FOLDS, len(distinct))
    fold = (rng.permutation(len(distinct)) % n_folds)[which.reshape(-1)]
    weights = chance * (fold[None, :] != np.arange(n_folds)[:, None])
    if n_folds < 2 or not _varied(kept, weights).all():
        return None
    fits = [fit_lasso(kept, y, chosen, alpha=alpha).predict(kept) for chosen in weights]
    predicted = np.array(fits)[fold, np.arange(len(y))]
    return _r2(y, predicted, (weights @ y / weights.sum(axis=1))[fold], chance)


def _r2(
    y: Float[np.ndarray, "n"],
    predicted: Float[np.ndarray, "n"],
    constant: Float[np.ndarray, "n"] | float,
    chance: Float[np.ndarray, "n"],
) -> float | None:
    """Return the share of the squared error of a constant that a prediction saves."""
    against = float(chance @ (y - constant) ** 2)
    if against <= 1e-24 * float(chance @ (1.0 + y**2)):
        return None
    return 1.0 - float(chance @ (y - predicted) ** 2) / against
