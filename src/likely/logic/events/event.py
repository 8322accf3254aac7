"""One token-prediction event: a context and the answer that may follow it. Unit: none."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """That an answer follows a context.

    Attributes:
        id: As formulas name it.
        context: Text without a space at its end.
        answers: Words that stand for the answer, merged into one.
        spellings: Exact spellings instead of those made from ``answers``, or None.
        candidates: Words that compete under a closed reading, or None.
        neutral: A context that says nothing of the matter, or None.
    """

    id: str
    context: str
    answers: tuple[str, ...] = ()
    spellings: tuple[str, ...] | None = None
    candidates: tuple[str, ...] | None = None
    neutral: str | None = None

    @property
    def identity(self) -> tuple[object, ...]:
        """What makes two events one: the context, and the answer in whatever order it is spelled.

        >>> one = Event(id="a", context="Is it?", answers=("yes", "sure"))
        >>> one.identity == Event(id="b", context="Is it?", answers=("sure", "yes")).identity
        True
        """
        exact = None if self.spellings is None else frozenset(self.spellings)
        return (self.context, frozenset(self.answers), exact)
