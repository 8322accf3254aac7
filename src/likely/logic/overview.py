"""What a theory says before any model is asked: its items, and how much each claim says. Bits."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from likely.errors import LikelyError
from likely.logic.evaluation import check_claim
from likely.logic.information import Informativeness
from likely.logic.instances import Instance, instances
from likely.logic.theory import Claim, Theory
from likely.logic.validation import Problem, validate

HIGH_CHANCE = 0.9
"""Where chance alone keeps a claim this often, a small slip sends S far below 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimOverview:
    """One claim of a theory.

    Attributes:
        name: Of the claim.
        rules: Text of each rule, as declared, by name; kinds other than hard stand before it.
        evidence: What is taken for granted, or None.
        where: The rows that it is about, or None for all that fit.
        is_comparison: Whether it is no law but shown for comparison.
        n_items: Over how many rows and packs it stands.
        infos: How much it says; several where items differ in shape, none where rules are soft or
            noisy or evidence is given.
    """

    name: str
    rules: Mapping[str, str]
    evidence: str | None
    where: str | None
    is_comparison: bool
    n_items: int
    infos: tuple[Informativeness, ...]

    def to_dict(self) -> dict[str, object]:
        """Return the fields as a mapping for strict JSON."""
        return {
            "name": self.name,
            "rules": dict(self.rules),
            "evidence": self.evidence,
            "where": self.where,
            "is_comparison": self.is_comparison,
            "n_items": self.n_items,
            "infos": [info.to_dict() for info in self.infos],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """What a theory gives.

    Attributes:
        theory: Its name.
        version: Its version.
        digest: Its hash.
        about: What it asks.
        n_rows: Rows of its data set.
        n_packs: Frame packs.
        n_instances: Rows read with each pack that fits.
        n_items: Claims over all instances.
        n_events: Distinct events over all instances.
        claims: In the order of the theory.
        problems: What a reader should know, errors first.
    """

    theory: str
    version: int
    digest: str
    about: str
    n_rows: int
    n_packs: int
    n_instances: int
    n_items: int
    n_events: int
    claims: tuple[ClaimOverview, ...]
    problems: tuple[Problem, ...]

    def to_dict(self) -> dict[str, object]:
        """Return the fields as a mapping for strict JSON."""
        return {
            "theory": self.theory,
            "version": self.version,
            "digest": self.digest,
            "about": self.about,
            "n_rows": self.n_rows,
            "n_packs": self.n_packs,
            "n_instances": self.n_instances,
            "n_items": self.n_items,
            "n_events": self.n_events,
            "claims": [claim.to_dict() for claim in self.claims],
            "problems": [problem.to_dict() for problem in self.problems],
        }


def overview(theory: Theory) -> Overview:
    """Return what a theory gives and how much its claims say; no model is asked.

    Raises:
        InputError: The theory's events cannot be spelled out.
    """
    found = validate(theory)
    infos: dict[str, list[Informativeness]] = {claim.name: [] for claim in theory.claims}
    counts = dict.fromkeys(infos, 0)
    for instance in instances(theory):
        for claim in instance.claims:
            counts[claim.name] += 1
            info = _information(instance, claim)
            if info is not None:
                infos[claim.name].append(info)
    claims = tuple(
        ClaimOverview(
            name=claim.name,
            rules={rule.name: _rule_text(claim, i) for i, rule in enumerate(claim.rules)},
            evidence=None if claim.evidence is None else str(claim.evidence),
            where=claim.where,
            is_comparison=claim.is_comparison,
            n_items=counts[claim.name],
            infos=_distinct(infos[claim.name]),
        )
        for claim in theory.claims
    )
    return Overview(
        theory=theory.name,
        version=theory.version,
        digest=theory.digest,
        about=theory.about,
        n_rows=found.n_rows,
        n_packs=len(theory.packs),
        n_instances=found.n_instances,
        n_items=found.n_items,
        n_events=found.n_events,
        claims=claims,
        problems=(*found.problems, *_warnings(claims)),
    )


def _information(instance: Instance, claim: Claim) -> Informativeness | None:
    try:
        return check_claim(instance, claim)
    except LikelyError:  # `validate` tells it
        return None


def _rule_text(claim: Claim, index: int) -> str:
    rule = claim.rules[index]
    return (
        str(rule.formula) if rule.kind == "hard" else f"{rule.kind} {rule.weight}: {rule.formula}"
    )


def _distinct(infos: Sequence[Informativeness]) -> tuple[Informativeness, ...]:
    """Return one of each amount of information, since names of events make no difference."""
    by_amount = {(info.n_variables, info.n_models, info.marginal_bits): info for info in infos}
    return tuple(by_amount[key] for key in sorted(by_amount))


def _warnings(claims: Sequence[ClaimOverview]) -> Iterator[Problem]:
    for claim in claims:
        chance = max((2.0**-info.bits for info in claim.infos), default=0.0)
        if chance >= HIGH_CHANCE:
            yield Problem(
                level="note", where=f"claim {claim.name}",
                message=f"chance alone keeps it with probability {chance:.2f}, so that a small "
                "slip sends S far below 0; read its bits",
            )  # fmt: skip
    flat = [c.name for c in claims if c.infos and all(i.marginal_bits == 0.0 for i in c.infos)]
    if flat:
        yield Problem(
            level="note", where=f"claim{'s' if len(flat) > 1 else ''} {', '.join(flat)}",
            message="all bits are in how events hang together: as a loss this has no gradient "
            "where every event has probability one half",
        )  # fmt: skip
