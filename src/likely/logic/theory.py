"""Theories: events declared as contexts with answers, and the rules that should hold among them."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal

from likely.core.jsonio import dumps
from likely.errors import InputError, UnknownNameError
from likely.logic.formula import TRUE, Formula, is_name, substitute, variables, walk
from likely.logic.grounding import Column, Row
from likely.logic.guards import normal_guard
from likely.logic.parser import parse
from likely.logic.schema import (
    ClaimPart,
    EventPart,
    RulePart,
    TheoryPart,
    check,
    read_text,
    read_yaml,
)

Kind = Literal["hard", "soft", "noisy", "score"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One formula and how strictly it is meant.

    Attributes:
        name: Unique in its claim.
        formula: What should hold.
        kind: ``hard`` belongs to the theory; ``soft`` multiplies the weight of every assignment
            where it holds by ``exp(weight)``; ``noisy`` holds with probability ``weight``, else is
            void; ``score`` stands outside the joint law and adds ``weight`` times its own surprisal
            to the loss.
        weight: None for ``hard``.
    """

    name: str
    formula: Formula
    kind: Kind = "hard"
    weight: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """Rules that are judged together, given the evidence.

    Attributes:
        name: Unique in its theory.
        rules: One or more.
        evidence: What is taken for granted, or None.
        where: The rows that it is about, or None for all that fit.
        is_comparison: Whether it is no law but shown for comparison: left out of totals.
    """

    name: str
    rules: tuple[Rule, ...]
    evidence: Formula | None = None
    where: str | None = None
    is_comparison: bool = False

    @property
    def given(self) -> Formula:
        """The evidence; true if there is none."""
        return TRUE if self.evidence is None else self.evidence

    @property
    def formulas(self) -> tuple[Formula, ...]:
        """Every formula of the claim, evidence last."""
        own = tuple(rule.formula for rule in self.rules)
        return own if self.evidence is None else (*own, self.evidence)

    @property
    def formula(self) -> Formula:
        """The conjunction of its rules.

        Raises:
            InputError: A rule is not hard, so that the claim is no plain formula.
        """
        for rule in self.rules:
            if rule.kind != "hard":
                raise InputError(
                    f"the claim {self.name!r} has the {rule.kind} rule {rule.name!r}, so it is no "
                    "plain formula"
                )
        parts = tuple(rule.formula for rule in self.rules)
        return parts[0] if len(parts) == 1 else Formula("and", parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class EventTemplate:
    """An event with slots.

    Attributes:
        name: As formulas name it.
        frame: Name of the frame that is its context, or None.
        context: Its context, or None.
        answers: Words that stand for the answer, with slots.
        spellings: Exact spellings instead, with slots, or None.
        each: Parameters of the event, each with the list column that it runs over.
        candidates: Answers that compete with it under a closed reading, or None for those of all
            events of the same context.
        neutral: A context that says nothing of the matter, or None.
    """

    name: str
    frame: str | None
    context: str | None
    answers: tuple[str, ...]
    spellings: tuple[str, ...] | None
    each: Mapping[str, str]
    candidates: tuple[str, ...] | None
    neutral: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Pack:
    """Frames that belong together.

    Attributes:
        id: Unique in its theory.
        frames: Texts with slots, by name.
        where: The rows that they fit, or None for all.
    """

    id: str
    frames: Mapping[str, str]
    where: str | None = None


@dataclass(frozen=True, kw_only=True)
class Theory:
    """What should hold, over which events, for which rows: the content of one YAML file.

    Attributes:
        name: Of the theory, or of the family of a suite.
        version: Counts up when rows or rules change.
        about: What it asks, in a sentence or two.
        rows: The data set; one row without columns if the file has none.
        packs: Frame packs; each row is read with each pack that fits it.
        events: By name.
        claims: What is scored, each by itself.
        conditionals: Implications (if, then) whose vacuity is reported.
        orderings: Pairs (more, less) of events of which the first should be the likelier.
        queries: Formulas whose probability is asked beside and given each claim.
        targets: Columns that the shuffled control moves between rows.
        content: Columns that the nonsense control replaces.
    """

    name: str
    version: int = 1
    about: str = ""
    rows: tuple[Row, ...] = (Row(id="all"),)
    packs: tuple[Pack, ...] = (Pack(id="all", frames={}),)
    events: Mapping[str, EventTemplate]
    claims: tuple[Claim, ...]
    conditionals: Mapping[str, tuple[Formula, Formula]] = field(default_factory=dict)
    orderings: Mapping[str, tuple[Formula, Formula]] = field(default_factory=dict)
    queries: Mapping[str, Formula] = field(default_factory=dict)
    targets: tuple[str, ...] = ()
    content: tuple[str, ...] = ()

    @classmethod
    def load(cls, path: str | Path) -> "Theory":
        """Return the theory of a YAML file.

        Raises:
            StoreError: The file cannot be read.
            InputError: It is no theory; the message names the place and the remedy.
        """
        return _build(read_yaml(Path(path)))

    @classmethod
    def from_text(cls, text: str) -> "Theory":
        """Return the theory of YAML text.

        Raises:
            InputError: It is no theory.
        """
        return _build(read_text(text, where="the theory"))

    @classmethod
    def from_rows(
        cls,
        rows: Sequence[Mapping[str, object]],
        *,
        name: str,
        events: Mapping[str, Mapping[str, object]],
        theories: Mapping[str, str | Mapping[str, object]],
        frames: Mapping[str, str] | None = None,
        **more: object,
    ) -> "Theory":
        """Return the theory that a file with these keys would hold.

        Args:
            rows: Each with its ``id`` and columns.
            name: Of the theory.
            events: As in the file.
            theories: By name a formula, or as in the file its rules, evidence and ``where``.
            frames: Contexts with slots, by name.
            **more: Other keys of the file: ``packs``, ``queries``, ``targets``, ...

        Raises:
            InputError: Something is wrong with a part; the message names it.
        """
        data = {
            "name": name, "rows": [dict(row) for row in rows], "events": dict(events),
            "theories": dict(theories), "frames": dict(frames or {}), **more,
        }  # fmt: skip
        return _build(check(data, where=f"the theory {name!r}"))

    def __post_init__(self) -> None:
        for kind, names in (
            ("row", [row.id for row in self.rows]),
            ("pack", [pack.id for pack in self.packs]),
            ("claim", [claim.name for claim in self.claims]),
        ):
            twice = sorted({name for name in names if names.count(name) > 1})
            if twice:
                raise InputError(f"the theory {self.name!r} has more than one {kind} {twice[0]!r}")
        if not self.claims:
            raise InputError(f"the theory {self.name!r} has no rules; add rules: or theories:")
        used = {v.name for formula in self._formulas() for v in walk(formula) if v.op == "var"}
        for name in sorted(used - set(self.events)):
            error = UnknownNameError.among("event", name, self.events)
            raise UnknownNameError(f"the theory {self.name!r}: {error}")
        idle = sorted(set(self.events) - used)
        if idle:
            raise InputError(
                f"the theory {self.name!r} declares the event {idle[0]!r}, which no rule or query "
                "uses; delete it or use it"
            )

    @cached_property
    def digest(self) -> str:
        """A hash of everything that the theory says, 16 hexadecimal digits."""
        return hashlib.sha256(dumps(self.to_dict()).encode()).hexdigest()[:16]

    def claim(self, name: str) -> Claim:
        """Return the claim of that name.

        Raises:
            UnknownNameError: There is none.
        """
        for claim in self.claims:
            if claim.name == name:
                return claim
        raise UnknownNameError.among("claim", name, [claim.name for claim in self.claims])

    def to_dict(self) -> dict[str, object]:
        """Return the whole theory as a mapping for strict JSON."""
        return {
            "name": self.name,
            "version": self.version,
            "about": self.about,
            "rows": [{"id": row.id, **row.columns} for row in self.rows],
            "packs": [
                {"id": pack.id, "frames": dict(pack.frames), "where": pack.where}
                for pack in self.packs
            ],
            "events": {
                name: {
                    "frame": event.frame, "context": event.context, "answers": event.answers,
                    "spellings": event.spellings, "each": dict(event.each),
                    "candidates": event.candidates, "neutral": event.neutral,
                }
                for name, event in self.events.items()
            },
            "claims": {
                claim.name: {
                    "rules": [
                        [rule.name, str(rule.formula), rule.kind, rule.weight]
                        for rule in claim.rules
                    ],
                    "evidence": None if claim.evidence is None else str(claim.evidence),
                    "where": claim.where,
                    "is_comparison": claim.is_comparison,
                }
                for claim in self.claims
            },
            "conditionals": {k: [str(a), str(b)] for k, (a, b) in self.conditionals.items()},
            "orderings": {k: [str(a), str(b)] for k, (a, b) in self.orderings.items()},
            "queries": {name: str(query) for name, query in self.queries.items()},
            "targets": self.targets,
            "content": self.content,
        }  # fmt: skip

    def _formulas(self) -> Iterator[Formula]:
        for claim in self.claims:
            yield from claim.formulas
        yield from self.queries.values()
        for pair in (*self.conditionals.values(), *self.orderings.values()):
            yield from pair


def ranges_over_rows(formulas: Sequence[Formula]) -> bool:
    """Return whether any of the formulas quantifies over the data set as a whole."""
    return any(
        node.domain is not None and node.domain.source == "rows"
        for formula in formulas
        for node in walk(formula)
    )


def _build(part: TheoryPart) -> Theory:
    where = f"the theory {part.name!r}"
    try:
        claims = _claims(part)
        formulas = {claim.name: claim for claim in claims}
        return Theory(
            name=part.name,
            version=part.version,
            about=part.about.strip(),
            rows=tuple(_row(row, i) for i, row in enumerate(part.rows)) or (Row(id="all"),),
            packs=_packs(part),
            events={name: _event(name, event, part) for name, event in part.events.items()},
            claims=claims,
            conditionals={
                name: (_expand(parse(c.if_), formulas), _expand(parse(c.then), formulas))
                for name, c in part.conditionals.items()
            },
            orderings={
                name: (_atom(name, o.more), _atom(name, o.less))
                for name, o in part.orderings.items()
            },
            queries={name: _expand(parse(text), formulas) for name, text in part.queries.items()},
            targets=tuple(part.targets),
            content=tuple(part.content),
        )
    except InputError as error:
        text = str(error)
        raise InputError(text if text.startswith(where) else f"{where}: {text}") from None


def _row(row: Mapping[str, str | list[str]], index: int) -> Row:
    name = row.get("id")
    if not isinstance(name, str):
        raise InputError(f"row {index} has no id; give it one, such as id: r{index + 1}")
    columns: dict[str, Column] = {
        key: value if isinstance(value, str) else tuple(value)
        for key, value in row.items()
        if key != "id"
    }
    return Row(id=name, columns=columns)


def _packs(part: TheoryPart) -> tuple[Pack, ...]:
    if not part.packs:
        return (Pack(id="all", frames=part.frames),)
    return tuple(
        Pack(
            id=pack.id,
            frames={**part.frames, **pack.frames},
            where=None if pack.where is None else normal_guard(pack.where),
        )
        for pack in part.packs
    )


def _event(name: str, part: EventPart, theory: TheoryPart) -> EventTemplate:
    if not is_name(name):
        raise InputError(f"an event is named by letters, digits and '_', got {name!r}")
    if name in theory.theories:
        raise InputError(f"{name!r} names both an event and a theory; rename one of them")
    if (part.frame is None) == (part.context is None):
        raise InputError(f"the event {name!r} needs either frame: or context:")
    if (part.answer is None) == (part.spellings is None):
        raise InputError(f"the event {name!r} needs either answer: or spellings:")
    known = {frame for pack in theory.packs for frame in pack.frames} | set(theory.frames)
    if part.frame is not None and part.frame not in known:
        raise UnknownNameError.among(f"frame (of the event {name!r})", part.frame, known)
    answer = part.answer or ()
    return EventTemplate(
        name=name,
        frame=part.frame,
        context=part.context,
        answers=(answer,) if isinstance(answer, str) else tuple(answer),
        spellings=None if part.spellings is None else tuple(part.spellings),
        each=dict(part.each or {}),
        candidates=None if part.candidates is None else tuple(part.candidates),
        neutral=part.neutral,
    )


def _claims(part: TheoryPart) -> tuple[Claim, ...]:
    claims: dict[str, Claim] = {}
    if part.rules:
        whole = ClaimPart(rules=part.rules, evidence=part.evidence)
        claims[part.name] = _claim(part.name, whole, claims)
    elif part.evidence is not None:
        raise InputError("evidence: stands beside rules:; in theories: give each its own")
    for name, given in part.theories.items():
        body = ClaimPart(rules={name: given}) if isinstance(given, str) else given
        if name in claims:
            raise InputError(f"more than one claim is named {name!r}")
        claims[name] = _claim(name, body, claims)
    return tuple(claims.values())


def _claim(name: str, part: ClaimPart, known: Mapping[str, Claim]) -> Claim:
    if not part.rules:
        raise InputError(f"the claim {name!r} has no rules")
    return Claim(
        name=name,
        rules=tuple(_rule(key, rule, known) for key, rule in part.rules.items()),
        evidence=None if part.evidence is None else _expand(parse(part.evidence), known),
        where=None if part.where is None else normal_guard(part.where),
        is_comparison=part.comparison,
    )


def _rule(name: str, given: str | RulePart, known: Mapping[str, Claim]) -> Rule:
    part = RulePart(formula=given) if isinstance(given, str) else given
    weight = None if part.weight is None else float(part.weight)
    if (part.kind == "hard") != (weight is None):
        need = "no weight" if part.kind == "hard" else "a weight"
        raise InputError(f"the {part.kind} rule {name!r} takes {need}, got {weight!r}")
    if part.kind == "noisy" and not 0.0 <= (weight or 0.0) <= 1.0:
        raise InputError(f"the weight of the noisy rule {name!r} is a probability, got {weight!r}")
    if part.kind == "score" and (weight or 0.0) < 0.0:
        raise InputError(f"the weight of the score rule {name!r} is at least 0, got {weight!r}")
    return Rule(
        name=name, formula=_expand(parse(part.formula), known), kind=part.kind, weight=weight
    )


def _atom(name: str, text: str) -> Formula:
    formula = parse(text)
    if formula.op != "var":
        raise InputError(f"the ordering {name!r} compares two events, got {text!r}")
    return formula


def _expand(formula: Formula, claims: Mapping[str, Claim]) -> Formula:
    """Return the formula with the names of earlier claims replaced by what they say."""
    names = set(claims) & set(variables(formula))

    def replaced(node: Formula) -> Formula:
        return claims[node.key].formula if node.key in names else node

    return substitute(formula, replaced)
