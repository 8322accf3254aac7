"""What chains did, and what a reader must know of it beside their estimate. Unit: nats."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from likely.rare.walk.tilted_draws import FromTilted
from likely.rare.walk.walkers import Trace
from likely.stats.chains import chains_sample_size, split_r_hat

R_HAT = 1.05
"""Above it chains disagree, which is warned of."""
UNMIXED = 1.2
"""Above it they disagree so far that their spread makes no interval."""
FEW_DRAWS = 100
"""Independent draws below which an estimate comes with a warning."""
FEW_ARRIVALS = 30
"""Ways from the law to the coldest rung below which an estimate comes with a warning."""
_LARGE_SHARE = 0.1
_RARE_EXCHANGE = 0.05
_BULK = 0.5  # of the law, that chains must have gone through


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainReport:
    """What chains did.

    Attributes:
        estimator: How they were weighted back.
        temperature: Of the coldest rung.
        n_rungs: Of the ladder.
        n_burn_in: Steps of each chain that were left out.
        n_plain: Draws from the law itself.
        n_plain_hits: How many of them hit.
        bulk: Share of them whose score is not below all that the kept draws have.
        n_steps: Of each chain, that were kept.
        hits: Kept draws that hit, of all rungs.
        hit_rate: Share of the coldest rung's draws that hit.
        acceptance: Share of proposals that were accepted.
        exchange: Least share of exchanges between neighbours; 1 without a ladder.
        arrivals: Rows of the ladder that came from the law itself to the coldest rung; without a
            ladder the chains, each of which came from there once.
        r_hat_hits: Of the hits of the coldest rung, between groups.
        r_hat_scores: Of its scores.
        sample_size_hits: Independent draws that its hits are worth.
        sample_size_scores: Independent draws that its scores are worth.
    """

    estimator: str
    temperature: float
    n_rungs: int
    n_burn_in: int
    n_plain: int
    n_plain_hits: int
    bulk: float
    n_steps: int
    hits: int
    hit_rate: float
    acceptance: float
    exchange: float
    arrivals: int
    r_hat_hits: float
    r_hat_scores: float
    sample_size_hits: float
    sample_size_scores: float

    @classmethod
    def of(
        cls,
        trace: Trace,
        *,
        estimator: str,
        temperature: float,
        n_burn_in: int,
        plain: tuple[Float[np.ndarray, "n"], Bool[np.ndarray, "n"]],
    ) -> "ChainReport":
        """Return the report of what was kept.

        Args:
            trace: What was kept.
            estimator: How it is weighted back.
            temperature: Of the coldest rung.
            n_burn_in: Steps of each chain that were left out.
            plain: Scores of draws from the law itself, and which of them hit.
        """
        hits, scores = trace.hits[:, :, -1].astype(np.float64), trace.scores[:, :, -1]
        return cls(
            estimator=estimator, temperature=temperature, n_rungs=trace.scores.shape[2],
            n_burn_in=n_burn_in, n_plain=len(plain[1]),
            n_plain_hits=int(plain[1].sum()), bulk=float(np.mean(plain[0] >= trace.scores.min())),
            n_steps=len(trace),
            hits=int(trace.hits.sum()), hit_rate=float(hits.mean()),
            acceptance=trace.acceptance, exchange=trace.exchange,
            arrivals=trace.n_arrived if trace.scores.shape[2] > 1 else trace.scores.shape[1],
            r_hat_hits=split_r_hat(hits), r_hat_scores=split_r_hat(scores),
            sample_size_hits=chains_sample_size(hits),
            sample_size_scores=chains_sample_size(scores),
        )  # fmt: skip

    @property
    def is_unmixed(self) -> bool:
        """Whether the chains disagree so far that their spread says nothing of the error."""
        return max(self.r_hat_hits, self.r_hat_scores) > UNMIXED

    def diagnostics(self, found: FromTilted) -> dict[str, float | int | str]:
        """Return the figures of chains and estimate by name."""
        return {
            "estimator": self.estimator, "temperature": self.temperature,
            "groups": found.n_groups, "rungs": self.n_rungs, "burn_in": self.n_burn_in,
            "steps": self.n_steps, "hits": self.hits, "hit_rate": self.hit_rate,
            "acceptance": self.acceptance, "exchange": self.exchange, "arrivals": self.arrivals,
            "r_hat_hits": self.r_hat_hits, "r_hat_scores": self.r_hat_scores,
            "sample_size_hits": self.sample_size_hits,
            "sample_size_scores": self.sample_size_scores,
            "effective_draws": found.effective_draws, "largest_share": found.largest_share,
            "log_z": found.log_z, "bulk": self.bulk,
            "plain_draws": self.n_plain, "plain_hits": self.n_plain_hits,
        }  # fmt: skip

    def warnings(self, found: FromTilted) -> Iterator[str]:
        """Yield what casts doubt on the estimate."""
        if self.hits == 0:
            yield (
                f"no hit in {found.n_groups * self.n_rungs} chains of {self.n_steps:,} steps: the "
                f"upper limit is that of the {self.n_plain:,} inputs drawn from the law itself"
            )
        elif not math.isfinite(found.error):
            yield "all hits are of one group of chains: the interval says nothing"
        if max(self.r_hat_hits, self.r_hat_scores) > R_HAT:
            ends = (
                f"; the interval is that of the {self.n_plain:,} inputs drawn from the law itself"
                if self.is_unmixed and self.hits else ""
            )  # fmt: skip
            yield (
                f"the chains disagree (split R-hat {self.r_hat_hits:.2f} of hits, "
                f"{self.r_hat_scores:.2f} of scores, where {R_HAT} is the most): raise the budget"
                f"{ends}"
            )
        if self.hits > 0 and self.sample_size_hits < FEW_DRAWS and not found.is_certain:
            yield (
                f"the coldest chains are worth {self.sample_size_hits:.0f} independent draws for "
                "the share of hits: raise the budget or warm them"
            )
        if self.hits > 0 and self.arrivals < FEW_ARRIVALS and not found.is_certain:
            yield (
                f"the coldest chains were reached from the law {self.arrivals} times: they may all "
                "be in one region of the event, which looks like agreement; raise the budget"
            )
        if self.exchange < _RARE_EXCHANGE:
            yield f"two neighbouring rungs exchange in {self.exchange:.1%} of attempts alone"
        if self.estimator == "self-normalised":
            yield from self._doubts_of_normaliser(found)

    def _doubts_of_normaliser(self, found: FromTilted) -> Iterator[str]:
        if self.bulk < _BULK:
            yield (
                f"{1.0 - self.bulk:.0%} of {self.n_plain} inputs drawn from the law have scores "
                "below all that the chains went through: nothing carries the normaliser, and the "
                "estimate is usually far too high; use estimator 'bridge' or 'ladder'"
            )
        if found.effective_draws < FEW_DRAWS or found.largest_share > _LARGE_SHARE:
            yield (
                f"the normaliser rests on {found.effective_draws:.1f} draws: the estimate is "
                "usually too high then; use estimator 'bridge' or 'ladder'"
            )
