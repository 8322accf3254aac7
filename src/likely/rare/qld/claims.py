"""Activations of which a token may win, and the proof against all its rivals. Unit: nats.

Proofs are made in float32 logits. Where few are needed the logits are made for them; where there
are many, for many events, the logits of each block of activations are made once for all.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from likely.core.logspace import logsumexp
from likely.rare.qld.lines import Bounds, Lines, Moved
from likely.rare.qld.split import Split
from likely.rare.qld.survey import Survey
from likely.rare.qld.survival import Survival

SCOUTS = 64
"""Activations that are checked first, to learn which rivals bound the others."""
_LEAST, _MOST = 128, 1024  # activations that are checked at a time, doubling
_BLOCK = 4096  # activations whose logits serve many claims


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Claim:
    """The activations whose intervals have mass as far as they are known.

    Attributes:
        lines: The winner and its rivals.
        law: Of the positions that activations are moved to.
        moved: The activations, by their places.
        bounds: Their intervals.
        masses: Shape ``(m,)``: log-probability of each, nats.
    """

    lines: Lines
    law: Survival
    moved: Moved
    bounds: Bounds
    masses: Float[np.ndarray, "m"]

    def narrowed(self, rivals: Int[np.ndarray, "r"]) -> "Claim":
        """Return what is left after some more rivals."""
        return self.bounded(self.bounds.within(self.lines.bounds(self.moved, rivals)))

    def bounded(self, bounds: Bounds) -> "Claim":
        """Return it with other intervals, those without mass left out."""
        masses = self.law.log_mass(bounds.low, bounds.high)
        left = np.flatnonzero(masses > -math.inf)
        return Claim(
            lines=self.lines, law=self.law, moved=self.moved.at(left), bounds=bounds.at(left),
            masses=masses[left],
        )  # fmt: skip


def claims(
    split: Split, survey: Survey, law: Survival, *, first: int | None = None
) -> tuple[Claim, ...]:
    """Return for each winner of an event the activations that may make it win.

    Args:
        split: Of the event.
        survey: Of the activations.
        law: Of positions.
        first: How many of the activations, from the first on, are moved; all if None.
    """
    found = []
    for lines, pressing in zip(split.lines, split.pressing, strict=True):
        rows = survey.may_win(lines, split.along[:first], law.last)
        claim = Claim(
            lines=lines, law=law, moved=Moved(rows=rows, along=split.along[rows]),
            bounds=Bounds.whole(len(rows)), masses=np.zeros(len(rows)),
        )  # fmt: skip
        claim = claim.narrowed(pressing)
        if len(claim.masses) > 4 * SCOUTS:
            scouts = np.linspace(0, len(claim.masses) - 1, SCOUTS).astype(np.int64)
            _, binding = lines.sweep(claim.moved.at(scouts), Bounds.whole(SCOUTS))
            claim = claim.narrowed(np.unique(np.concatenate(binding)))
        found.append(claim)
    return tuple(found)


def proved(claims: Sequence[Claim]) -> tuple[Claim, ...]:
    """Return claims with the intervals in which the winner beats all of its rivals."""
    if not claims:
        return ()
    cloud = claims[0].lines.contest.cloud
    if sum(len(claim.masses) for claim in claims) < len(cloud.points):
        return tuple(
            claim.bounded(claim.lines.sweep(claim.moved, claim.bounds)[0]) for claim in claims
        )
    exact: list[list[Bounds]] = [[] for _ in claims]
    for part, logits in cloud.iter_logits(_BLOCK):
        for claim, bounds in zip(claims, exact, strict=True):
            ends = np.searchsorted(claim.moved.rows, (part.start, part.stop))
            own = slice(*ends.tolist())
            moved = claim.moved.at(own)
            here = logits[moved.rows - part.start]
            bounds.append(claim.lines.sweep(moved, claim.bounds.at(own), here)[0])
    return tuple(
        claim.bounded(Bounds.joined(bounds)) for claim, bounds in zip(claims, exact, strict=True)
    )


def proved_largest(claim: Claim, negligible: float) -> Claim:
    """Return a claim with exact intervals, the largest first, until the rest is negligible.

    Args:
        claim: Of one winner.
        negligible: The share of all mass that the intervals left out may hold together.
    """
    order = np.argsort(-claim.masses, kind="stable")
    rest = np.logaddexp.accumulate(claim.masses[order][::-1])[::-1]  # from each place on
    exact, so_far, done = [Bounds.whole(0)], -math.inf, 0
    while done < len(order) and rest[done] > so_far + math.log(negligible):
        part = order[done : done + min(max(done, _LEAST), _MOST)]
        bounds, _ = claim.lines.sweep(claim.moved.at(part), claim.bounds.at(part))
        so_far = np.logaddexp(so_far, logsumexp(claim.law.log_mass(bounds.low, bounds.high)))
        exact.append(bounds)
        done += len(part)
    taken = Claim(
        lines=claim.lines, law=claim.law, moved=claim.moved.at(order[:done]),
        bounds=claim.bounds.at(order[:done]), masses=claim.masses[order[:done]],
    )  # fmt: skip
    return taken.bounded(Bounds.joined(exact))
