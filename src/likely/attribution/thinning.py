"""Estimates from candidates drawn one by one, each with its own known chance. Unit: nats.

Each candidate is kept or dropped by a draw of its own, at several stages if need be, and what is
kept counts one over its chance (Horvitz and Thompson 1952). Sums are then unbiased, and so is the
estimate of their variance, whatever the chances of later stages were made to depend on: given a
stage's survivors, the draws that decide the next one are independent of all before. (The chance of
survival to stage t divides the evaluated weight; its variance telescopes over the stages, which
leaves the chance of the last one alone.)

Candidates of several tokens grow as a tree: one token is drawn, and after it the next, so that
candidates that begin alike stand or fall with the same draw. Let pi_c be the chance that node c of
the tree was there, par(c) its parent, the root's chance 1, and S_c the sum over the candidates
under c of what each adds to the estimate, its weight included. Then

    sum over nodes c of (pi_par(c) - pi_c) S_c**2

is unbiased for the variance of the estimate, and no term of it is negative. Proof: let
``z_i = I_i f_i / pi_i`` be what candidate i adds, I_i whether it is left, and k the node where i
and j part. Given all draws before, draws of one stage are independent, whatever their chances were
made to depend on; so from k on ``I_i I_j / (pi_i pi_j)`` is a martingale, of mean ``1 / pi_k**2``
where k is there. Hence ``pi_k z_i z_j`` has the mean of ``I_k / pi_k`` times ``f_i f_j``, which is
``f_i f_j``, and ``(sum z)**2`` less the sum of ``pi_k z_i z_j`` over all pairs has the mean
``E[(sum z)**2] - (sum f)**2``, the variance. Gathered by the node where each pair parts, the double
sum is that over nodes b of ``pi_b (S_b**2 - sum of its children's S_c**2)``, which telescopes to
the sum above.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int

from likely.core.estimate import Estimate, Unit
from likely.stats.intervals import student_estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class Lineage:
    """Nodes of the tree that candidates share, from the root on.

    Attributes:
        label: Shape ``(n, l)``: which node of each of the l levels a candidate grew from. Two with
            the same label at a level have the same at all levels above.
        chance: Shape ``(n, l)``: the chance that this node was there when it branched.
    """

    label: Int[np.ndarray, "n l"]
    chance: Float[np.ndarray, "n l"]

    @classmethod
    def joined(cls, parts: Sequence["Lineage"]) -> "Lineage":
        """Return the lineage of all candidates of several sets, whose labels agree."""
        return cls(
            label=np.concatenate([part.label for part in parts]),
            chance=np.concatenate([part.chance for part in parts]),
        )

    def take(self, index: Int[np.ndarray, "k"]) -> "Lineage":
        """Return the lineage of some candidates."""
        return Lineage(label=self.label[index], chance=self.chance[index])

    def below(self, label: Int[np.ndarray, "n"], chance: Float[np.ndarray, "n"]) -> "Lineage":
        """Return the lineage with one more level, below the others."""
        return Lineage(
            label=np.column_stack([self.label, label]),
            chance=np.column_stack([self.chance, chance]),
        )

    def parent_chance(self) -> Float[np.ndarray, "n"]:
        """Return the chance of the node that each candidate itself grew from; 1 for the root."""
        if not self.chance.shape[1]:
            return np.ones(len(self.chance))
        return np.asarray(self.chance[:, -1])

    def node_variance(
        self, moved: Float[np.ndarray, "n"], *, most: float = 1.0
    ) -> Float[np.ndarray, "m"]:
        """Return what the draw of each shared node adds to the variance.

        Args:
            moved: Shape ``(n,)``: what each candidate adds to the estimate, its weight included.
            most: What chances count at most: one over the factor by which they are to grow, for
                what the variance will be then.
        """
        parts = [np.empty(0)]
        above = np.full(len(moved), most)
        for label, chance in zip(self.label.T, np.minimum(self.chance, most).T, strict=True):
            _, first, node = np.unique(label, return_index=True, return_inverse=True)
            total = np.bincount(node, weights=moved, minlength=len(first))
            parts.append((above - chance)[first] * total**2)
            above = chance
        return np.concatenate(parts)


@dataclass(frozen=True)
class Thinned:
    """Candidates that are left, with the chance that each of them had.

    Attributes:
        chance: Shape ``(n,)``, in (0, 1]; 1 for a candidate that was sure to be evaluated.
        earlier: Shape ``(n,)``: its chance at an earlier stage, at least ``chance``.
        resolution: Standard error that no set of draws can go below: one unseen draw's worth.
            0 if no candidate is missing.
        lineage: Of candidates that share draws; None where each had all its draws to itself. The
            shared ones come before the earlier stage.
    """

    chance: Float[np.ndarray, "n"]
    earlier: Float[np.ndarray, "n"]
    resolution: float
    lineage: Lineage | None = None

    @cached_property
    def weight(self) -> Float[np.ndarray, "n"]:
        """One over the chance."""
        return 1.0 / self.chance

    @cached_property
    def stage_variance(self) -> Float[np.ndarray, "n"]:
        """What the draws of the later stage alone add, per squared influence of a candidate."""
        return self.weight * (self.weight - 1.0 / self.earlier)

    @property
    def n_drawn(self) -> int:
        """How many of the candidates were there by chance."""
        return int((self.chance < 1.0).sum())

    def spread(
        self,
        influence: Float[np.ndarray, "n"],
        *,
        earlier: Float[np.ndarray, "n"] | None = None,
    ) -> "Spread":
        """Return the standard error of an estimator from what each candidate moves it by.

        Args:
            influence: Shape ``(n,)``: derivative of the estimate by the weight of a candidate.
            earlier: The same by the weight at the earlier stage, where that is another number:
                the estimator takes some of its sums from all that were left then.

        The error counts the heaviest draw twice, and one draw that may have been missed: with few
        effective draws the plain estimate is too small when it matters, with many it makes no
        difference.

        Sources:
            Horvitz and Thompson (1952), section 3, for independent draws: the sum over drawn
            candidates of ``(1 - chance) / chance**2 * influence**2`` is unbiased for the
            variance of a sum, and by the delta method for that of a smooth function of sums.
        """
        # What was certain at the earlier stage, and is not now, has only the later influence.
        first = influence if earlier is None else np.where(self.earlier == 1.0, influence, earlier)
        parts = self.weight * (1.0 / self.earlier - 1.0) * first**2
        parts = parts + self.stage_variance * influence**2
        parts = self._with_kin(parts, self.weight * first)
        total = float(parts.sum())
        most = float(parts.max(initial=0.0))
        shares = parts / total if total > 0.0 else parts
        effective = 1.0 / float((shares**2).sum()) if total > 0.0 else float(self.n_drawn)
        return Spread(
            error=float(np.sqrt(total + most + self.resolution**2)),
            n_effective=effective,
            largest_share=most / total if total > 0.0 else 0.0,
        )

    def forecast(
        self,
        influence: Float[np.ndarray, "n"],
        *,
        earlier: Float[np.ndarray, "n"],
        factor: float,
    ) -> float:
        """Return the standard error to expect of a round with larger chances.

        Of two candidates let k be the node where they part (of one with itself, its own), and z
        what each adds to the estimate: if k's chance grows from pi to pi', the mean of
        ``pi (1 / pi' - 1)`` times both z is what the pair will add to the variance.

        Args:
            influence: As `spread` takes it.
            earlier: As `spread` takes it.
            factor: By what each chance grows, up to 1.
        """
        chance = np.minimum(1.0, factor * self.chance)
        before = np.minimum(1.0, factor * self.earlier)
        variance = (1.0 / before - 1.0) * earlier**2 + (1.0 / chance - 1.0 / before) * influence**2
        parts = self._with_kin(self.weight * variance, self.weight * earlier, most=1.0 / factor)
        return float(np.sqrt(np.sum(parts) + (self.resolution / factor) ** 2))

    def _with_kin(
        self, parts: Float[np.ndarray, "n"], moved: Float[np.ndarray, "n"], *, most: float = 1.0
    ) -> Float[np.ndarray, "m"]:
        """Return the parts of the variance where shared draws are counted by their nodes.

        The two stages of a candidate may be of different influence: then what is left of its own
        draws is cut at 0, which errs on the side of a larger variance.

        Args:
            parts: What the draws of each candidate add, as if it shared none.
            moved: What each adds to the estimate at the earlier stage, its weight included.
            most: As `Lineage.node_variance` takes it.
        """
        if self.lineage is None:
            return parts
        shared = most - np.minimum(self.lineage.parent_chance(), most)
        own = np.maximum(0.0, parts - shared * moved**2)
        return np.concatenate([own, self.lineage.node_variance(moved, most=most)])

    def estimate(
        self,
        value: float,
        influence: Float[np.ndarray, "n"],
        *,
        earlier: Float[np.ndarray, "n"] | None = None,
        level: float,
        unit: Unit = "nats",
        method: str,
        least: float = 0.0,
        low: float = -np.inf,
        high: float = np.inf,
    ) -> Estimate:
        """Return an estimate with Student's interval, cut to what the number can be.

        Args:
            value: The estimate.
            influence: As `spread` takes it.
            earlier: As `spread` takes it.
            level: Coverage of the interval.
            unit: Of the value.
            method: How the candidates were chosen.
            least: Half the width that the interval has at least, before it is cut.
            low: The least that the number can be.
            high: The most.
        """
        if self.resolution == 0.0:
            return Estimate.exact(value, unit=unit, method=method)
        spread = self.spread(influence, earlier=earlier)
        found = student_estimate(
            value, spread.error, df=spread.df, level=level, method=method, unit=unit,
            diagnostics=spread.to_dict(),
        )  # fmt: skip
        wide = replace(
            found, low=min(found.low, value - least), high=max(found.high, value + least)
        )
        return wide.within(low, high)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """How uncertain an estimate is.

    Attributes:
        error: Standard error.
        n_effective: How many draws of equal weight would carry as much of the variance.
        largest_share: Share of the variance that comes from one draw.
    """

    error: float
    n_effective: float
    largest_share: float

    @property
    def df(self) -> int:
        """Degrees of freedom of the standard error, at least 1."""
        return max(1, round(2.0 * self.n_effective) - 1)

    def to_dict(self) -> dict[str, float | int | str]:
        """Return the fields as diagnostics of an estimate."""
        return {
            "standard_error": self.error,
            "n_effective": self.n_effective,
            "largest_share": self.largest_share,
        }
