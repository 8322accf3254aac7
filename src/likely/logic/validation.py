"""What is wrong with a theory before a model is asked, and what its tokenizer makes of it."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from likely.core.model import LanguageModel
from likely.errors import InputError, LikelyError
from likely.logic.evaluation import check_claim, claim_id
from likely.logic.events import clashes, spellings
from likely.logic.instances import Instance, instances
from likely.logic.theory import Theory


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One finding.

    Attributes:
        level: ``error`` if the theory cannot be used so, ``note`` if a reader should know.
        where: The item, event or column.
        message: What is the case, and what to do.
    """

    level: Literal["error", "note"]
    where: str
    message: str

    def to_dict(self) -> dict[str, object]:
        """Return the fields as a mapping for strict JSON."""
        return {"level": self.level, "where": self.where, "message": self.message}


@dataclass(frozen=True, slots=True, kw_only=True)
class Validation:
    """What a theory gives, and what is wrong with it.

    Attributes:
        theory: Its name.
        digest: Its hash.
        n_rows: Rows of its data set.
        n_instances: Rows read with each pack that fits.
        n_items: Claims over all instances.
        n_events: Distinct events of all instances.
        problems: Errors first.
    """

    theory: str
    digest: str
    n_rows: int
    n_instances: int
    n_items: int
    n_events: int
    problems: tuple[Problem, ...]

    @property
    def is_usable(self) -> bool:
        """Whether there is no error."""
        return all(problem.level != "error" for problem in self.problems)

    def to_dict(self) -> dict[str, object]:
        """Return the fields as a mapping for strict JSON."""
        return {
            "theory": self.theory,
            "digest": self.digest,
            "n_rows": self.n_rows,
            "n_instances": self.n_instances,
            "n_items": self.n_items,
            "n_events": self.n_events,
            "problems": [problem.to_dict() for problem in self.problems],
        }


def validate(theory: Theory, model: LanguageModel | None = None) -> Validation:
    """Return what is wrong with a theory.

    Errors: a claim that can never hold or always does; white space where a tokenizer would trip on
    it; competing answers that are the same tokens. Notes: rows without an item; contexts where
    the ``closed`` reading has no competitor; answers that begin
    with one token.

    Args:
        theory: The theory.
        model: For its tokenizer; None leaves out what depends on it.

    Raises:
        InputError: The theory's events cannot be spelled out at all.
    """
    made = instances(theory)
    found = [*_claim_problems(made), *_text_problems(theory, made)]
    if model is not None:
        found += _token_problems(model, made)
    return Validation(
        theory=theory.name,
        digest=theory.digest,
        n_rows=len(theory.rows),
        n_instances=len(made),
        n_items=sum(len(instance.claims) for instance in made),
        n_events=sum(len(instance.events) for instance in made),
        problems=tuple(sorted(found, key=lambda problem: problem.level)),
    )


def _claim_problems(made: tuple[Instance, ...]) -> Iterator[Problem]:
    for instance in made:
        for claim in instance.claims:
            try:
                check_claim(instance, claim)
            except LikelyError as error:
                yield Problem(level="error", where=claim_id(instance, claim), message=str(error))


def _text_problems(theory: Theory, made: tuple[Instance, ...]) -> Iterator[Problem]:
    read = {instance.row for instance in made}
    if None not in read:
        for row in theory.rows:
            if row.id not in read:
                yield Problem(
                    level="note", where=f"row {row.id}", message="no pack and claim fits this row"
                )
    for instance in made:
        for key, event in instance.events.items():
            where = f"{instance.id} {key}"
            text = event.context
            if text != text.rstrip() or "  " in text:
                yield Problem(
                    level="error", where=where,
                    message=f"the context {text!r} has a space at its end or two in a row; the "
                    "space before an answer is put by itself",
                )  # fmt: skip
            if event.candidates is not None and set(event.candidates) <= set(event.answers):
                yield Problem(
                    level="note", where=where,
                    message="the closed reading has no competitor here; declare candidates:",
                )  # fmt: skip


def _token_problems(model: LanguageModel, made: tuple[Instance, ...]) -> Iterator[Problem]:
    for instance in made:
        by_context: dict[str, dict[str, tuple[str, ...]]] = {}
        for event in instance.events.values():
            answers = by_context.setdefault(event.context, {})
            if event.spellings is not None:
                answers["|".join(event.spellings)] = event.spellings
            else:
                answers["|".join(event.answers)] = spellings(model, event.context, event.answers)
        for context, answers in by_context.items():
            try:
                found = clashes(model, context, answers)
            except InputError as error:
                yield Problem(level="error", where=instance.id, message=str(error))
                continue
            for clash in found:
                yield Problem(
                    level="note" if clash.kind == "first_token" else "error",
                    where=f"{instance.id} after {context!r}",
                    message=clash.summary(),
                )
