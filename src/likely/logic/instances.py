"""From a theory to what is scored: every row read with every frame pack that fits it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from likely.errors import InputError, UnknownNameError
from likely.logic.events.event import Event
from likely.logic.formula import Formula, substitute, walk
from likely.logic.grounding import Row, Scope, ground
from likely.logic.guards import guard_holds
from likely.logic.theory import Claim, EventTemplate, Pack, Rule, Theory, ranges_over_rows

_SLOT = re.compile(r"\{(\w+)\}|\{\{|\}\}|[{}]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """The claims of a theory about one row in the words of one pack, or about all rows at once.

    Attributes:
        id: ``theory/pack/row``; the row is ``*`` where claims range over all rows.
        pack: Name of the frame pack.
        row: Name of the row, or None.
        events: By the key that formulas use; equal events have one key.
        claims: Ground, in the order of the theory, those that fit the row and pack.
        conditionals: Ground, those that fit.
        orderings: Ground, those that fit.
        queries: Ground, those that fit.
    """

    id: str
    pack: str
    row: str | None
    events: Mapping[str, Event]
    claims: tuple[Claim, ...]
    conditionals: Mapping[str, tuple[Formula, Formula]]
    orderings: Mapping[str, tuple[Formula, Formula]]
    queries: Mapping[str, Formula]


def instances(theory: Theory) -> tuple[Instance, ...]:
    """Return all instances of a theory, in the order of its packs and rows.

    A claim fits a row and pack if every event in it can be spelled out: the pack has its frame
    and the row the columns of its slots.

    Raises:
        InputError: A claim fits nowhere, an argument of an event is unknown, or a guard fails.
    """
    found = [
        made
        for pack in theory.packs
        for made in (*_row_instances(theory, pack), *_global_instance(theory, pack))
    ]
    placed = {claim.name for instance in found for claim in instance.claims}
    for claim in theory.claims:
        if claim.name not in placed:
            raise InputError(
                f"the claim {claim.name!r} of the theory {theory.name!r} fits no row: "
                f"{_why(theory, claim)}"
            )
    return tuple(found)


class _MissingError(InputError):
    """A slot or frame that this row and pack do not have, so that a claim does not fit them."""


def _row_instances(theory: Theory, pack: Pack) -> Iterator[Instance]:
    claims = [claim for claim in theory.claims if not ranges_over_rows(claim.formulas)]
    for row in _rows(theory, pack):
        filler = _Filler(theory=theory, pack=pack, row=row)
        instance = filler.instance([c for c in claims if _applies(c, row)])
        if instance.claims:
            yield instance


def _global_instance(theory: Theory, pack: Pack) -> Iterator[Instance]:
    claims = [claim for claim in theory.claims if ranges_over_rows(claim.formulas)]
    if claims:
        filler = _Filler(theory=theory, pack=pack, row=None)
        instance = filler.instance(claims)
        if instance.claims:
            yield instance


def _rows(theory: Theory, pack: Pack) -> list[Row]:
    return [
        row for row in theory.rows if pack.where is None or guard_holds(pack.where, row.scope())
    ]


def _applies(claim: Claim, row: Row) -> bool:
    return claim.where is None or guard_holds(claim.where, row.scope())


@dataclass(frozen=True, kw_only=True)
class _Filler:
    """Spells out the events of one row and pack, or of all rows that fit a pack."""

    theory: Theory
    pack: Pack
    row: Row | None
    known: dict[str, Event] = field(default_factory=dict)

    def instance(self, claims: Sequence[Claim]) -> Instance:
        rows = _rows(self.theory, self.pack) if self.row is None else ()
        scope = Scope(rows=rows, row=self.row)
        grounded = [c for c in (self._claim(claim, scope) for claim in claims) if c is not None]
        conditionals = self._pairs(self.theory.conditionals, scope)
        orderings = self._pairs(self.theory.orderings, scope)
        asked = {name: self._all((query,), scope) for name, query in self.theory.queries.items()}
        queries = {name: q[0] for name, q in asked.items() if q is not None}
        formulas = [f for claim in grounded for f in claim.formulas]
        formulas += [f for pairs in (conditionals, orderings) for p in pairs.values() for f in p]
        formulas += queries.values()
        events, names = self._merged(formulas)
        renamed = partial(_renamed, names)
        return Instance(
            id=f"{self.theory.name}/{self.pack.id}/{self.row.id if self.row else '*'}",
            pack=self.pack.id,
            row=None if self.row is None else self.row.id,
            events=events,
            claims=tuple(
                replace(
                    claim,
                    rules=tuple(
                        replace(rule, formula=substitute(rule.formula, renamed))
                        for rule in claim.rules
                    ),
                    evidence=None
                    if claim.evidence is None
                    else substitute(claim.evidence, renamed),
                )
                for claim in grounded
            ),
            conditionals={
                name: (substitute(a, renamed), substitute(b, renamed))
                for name, (a, b) in conditionals.items()
            },
            orderings={name: (renamed(a), renamed(b)) for name, (a, b) in orderings.items()},
            queries={name: substitute(query, renamed) for name, query in queries.items()},
        )

    def _pairs(
        self, pairs: Mapping[str, tuple[Formula, Formula]], scope: Scope
    ) -> dict[str, tuple[Formula, Formula]]:
        grounded = {name: self._all(pair, scope) for name, pair in pairs.items()}
        return {name: (p[0], p[1]) for name, p in grounded.items() if p is not None}

    def _claim(self, claim: Claim, scope: Scope) -> Claim | None:
        parts = self._all(claim.formulas, scope)
        if parts is None:
            return None
        rules: tuple[Rule, ...] = tuple(
            replace(rule, formula=formula)
            for rule, formula in zip(claim.rules, parts[: len(claim.rules)], strict=True)
        )
        return replace(claim, rules=rules, evidence=None if claim.evidence is None else parts[-1])

    def _all(self, formulas: Sequence[Formula], scope: Scope) -> tuple[Formula, ...] | None:
        """Return the formulas grounded, or None if one of their events does not fit."""
        if (self.row is None) != ranges_over_rows(formulas):
            return None
        try:
            grounded = tuple(ground(formula, scope) for formula in formulas)
            for formula in grounded:
                for node in walk(formula):
                    if node.op == "var":
                        self._event(node)
        except (_MissingError, UnknownNameError):
            if self.row is None:
                raise
            return None
        return grounded

    def _event(self, node: Formula) -> Event:
        if node.key not in self.known:
            self.known[node.key] = self._spelled_out(node)
        return self.known[node.key]

    def _spelled_out(self, node: Formula) -> Event:
        template = self.theory.events[node.name]
        row, args = self._row_of(node, template)
        columns: dict[str, object] = {**row.columns, "id": row.id}
        for (name, column), value in zip(template.each.items(), args, strict=True):
            known = row.columns.get(column)
            if known is None:
                raise _MissingError(f"row {row.id!r} has no column {column!r}")
            if isinstance(known, str) or value not in known:
                raise InputError(
                    f"{node.key!r} applies {node.name!r} to {value!r}, which is not in the list "
                    f"column {column!r} of row {row.id!r}, {known!r}"
                )
            columns[name] = value
        context = template.context
        if template.frame is not None:
            if template.frame not in self.pack.frames:
                raise _MissingError(f"the pack {self.pack.id!r} has no frame {template.frame!r}")
            context = self.pack.frames[template.frame]
        return Event(
            id=node.key,
            context=_fill(context or "", columns),
            answers=_spread_all(template.answers, columns) or (),
            spellings=_spread_all(template.spellings, columns),
            candidates=_spread_all(template.candidates, columns),
            neutral=None if template.neutral is None else _fill(template.neutral, columns),
        )

    def _row_of(self, node: Formula, template: EventTemplate) -> tuple[Row, tuple[str, ...]]:
        n_own = len(template.each)
        if self.row is not None:
            if len(node.args) != n_own:
                raise InputError(
                    f"the event {node.name!r} takes {n_own} arguments ({', '.join(template.each)}),"
                    f" got {node.key!r}"
                )
            return self.row, node.args
        if len(node.args) != n_own + 1:
            raise InputError(
                f"{node.key!r} stands beside formulas that range over rows, so it needs its row: "
                f"write {node.name}(r{', ...' if n_own else ''}) inside forall r in rows: ..."
            )
        for row in self.theory.rows:
            if row.id == node.args[0]:
                return row, node.args[1:]
        raise UnknownNameError.among("row", node.args[0], [row.id for row in self.theory.rows])

    def _merged(self, formulas: Sequence[Formula]) -> tuple[dict[str, Event], dict[str, Formula]]:
        """Return the distinct events, and for each key the variable of its event.

        An event that names no candidates gets the answers of all events of its context.

        One event is one variable: declared twice under two names it would be counted as two
        independent ones.
        """
        events: dict[str, Event] = {}
        names: dict[str, Formula] = {}
        first: dict[tuple[object, ...], Formula] = {}
        for node in (node for formula in formulas for node in walk(formula)):
            if node.op != "var" or node.key in names:
                continue
            event = self._event(node)
            names[node.key] = first.setdefault(event.identity, node)
            known = events.setdefault(names[node.key].key, event)
            if (known.candidates, known.neutral) != (event.candidates, event.neutral):
                raise InputError(
                    f"{known.id!r} and {event.id!r} are one event, the same answer after "
                    f"{event.context!r}, but name different candidates or neutral contexts; name "
                    "the same for both"
                )
        rivals: dict[str, list[str]] = {}
        for event in events.values():
            rivals.setdefault(event.context, []).extend(event.answers or event.spellings or ())
        closed = {
            key: event
            if event.candidates is not None
            else replace(event, candidates=tuple(dict.fromkeys(rivals[event.context])))
            for key, event in events.items()
        }
        return closed, names


def _renamed(names: Mapping[str, Formula], node: Formula) -> Formula:
    return names[node.key]


def _fill(text: str, columns: Mapping[str, object]) -> str:
    return _SLOT.sub(partial(_put, text, columns), text)


def _put(text: str, columns: Mapping[str, object], match: re.Match[str]) -> str:
    """Return what stands in the place of a slot or brace of the text."""
    if match.group() in ("{{", "}}"):
        return match.group()[0]
    name = match.group(1)
    if name is None:
        raise InputError(f"{text!r} has a lone {match.group()!r}; write it twice to mean it")
    if name not in columns:
        raise _MissingError(f"{text!r} has the slot {name!r}, which is no column")
    value = columns[name]
    if not isinstance(value, str):
        raise InputError(
            f"{text!r} puts the list {name!r} into a text; run over it with each: {{o: {name}}}"
        )
    return value


def _spread_all(
    texts: tuple[str, ...] | None, columns: Mapping[str, object]
) -> tuple[str, ...] | None:
    return None if texts is None else tuple(t for x in texts for t in _spread(x, columns))


def _spread(text: str, columns: Mapping[str, object]) -> tuple[str, ...]:
    """Return a text filled in; one that is nothing but a list's slot is the whole list."""
    match = _SLOT.fullmatch(text)
    value = columns.get(match.group(1)) if match and match.group(1) else None
    return value if isinstance(value, tuple) else (_fill(text, columns),)


def _why(theory: Theory, claim: Claim) -> str:
    """Return the first reason for which a claim fits no row, for the message."""
    places = [(pack, row) for pack in theory.packs for row in _rows(theory, pack)]
    for pack, row in places:
        filler = _Filler(theory=theory, pack=pack, row=row)
        try:
            for formula in claim.formulas:
                for node in walk(ground(formula, Scope(row=row))):
                    if node.op == "var":
                        filler._event(node)
        except InputError as error:
            return str(error)
    return "no row passes its guards"
