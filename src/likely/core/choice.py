"""Which option is likeliest, with ties and undecided ranks told and not guessed. Unit: nats."""

from collections.abc import Sequence
from dataclasses import dataclass

from likely.core.results import Score
from likely.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The likeliest of several options.

    Attributes:
        best: Places of the options with the highest score; more than one is a tie.
        undecided: Places that might beat or join ``best`` but are known only by a bound.
    """

    best: tuple[int, ...]
    undecided: tuple[int, ...]

    @property
    def is_decided(self) -> bool:
        """Whether no bound leaves the answer open."""
        return not self.undecided

    def credit(self, right: int) -> float | None:
        """Return the shared credit of a right answer: ``1 / ties`` if it is among the best.

        None if a bound leaves it open.

        >>> choose([-0.9, -0.9, -1.6]).credit(1)
        0.5
        """
        if self.undecided:
            return None
        return 1.0 / len(self.best) if right in self.best else 0.0


def choose(options: Sequence[Score | float], *, tolerance: float = 0.0) -> Choice:
    """Return which options score highest by sum of log-probabilities.

    Args:
        options: Scores, or plain log-probabilities in nats.
        tolerance: Nats within which two scores count as equal.

    Raises:
        InputError: No options, or one with tokens that are not scored, whose sum is of less than
            the whole option.
    """
    if not options:
        raise InputError("there is nothing to choose from: got no options")
    for i, option in enumerate(options):
        if isinstance(option, Score) and option.n_scored < len(option.tokens):
            raise InputError(
                f"option {i}, {''.join(option.pieces)!r}, has tokens that are not scored, so its "
                "sum is not its probability; give a context or bos='always'"
            )
    bounds = [o.bounds if isinstance(o, Score) else (float(o), float(o)) for o in options]
    top = max(low for low, _ in bounds)
    exact = [low == high for low, high in bounds]
    best = tuple(i for i, (low, _) in enumerate(bounds) if exact[i] and low >= top - tolerance)
    undecided = tuple(
        i for i, (_, high) in enumerate(bounds) if not exact[i] and high >= top - tolerance
    )
    return Choice(best=best, undecided=undecided)
