"""Many runs that advance together, so that their states are scored in one call. Unit: nats.

A run is a generator: it yields what it wants scored and is sent the scores. It knows nothing of
the other runs, so that its numbers cannot depend on them.
"""

from collections import deque
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeVar, get_args, runtime_checkable

import numpy as np
from jaxtyping import Float, Int

from likely.errors import CapabilityError, InputError, NumericalError

T = TypeVar("T")


@runtime_checkable
class Scorer(Protocol):
    """The score of states for their targets."""

    def __call__(
        self,
        states: Float[np.ndarray, "n D"],
        run: Int[np.ndarray, " n"],
        floor: Float[np.ndarray, " n"],
        /,
    ) -> Float[np.ndarray, " n"]:
        """Return the score of each state.

        Args:
            states: Shape ``(n, D)``.
            run: Shape ``(n,)``, the number of each state's target among those estimated together;
                the replicates of a target share its number.
            floor: Shape ``(n,)``; ``-inf`` where any score is wanted.

        Returns:
            Shape ``(n,)``: the exact score wherever it is at least ``floor``, elsewhere any number
            below ``floor``, so that a scorer may reject without computing all.
        """
        ...


@runtime_checkable
class NamesRunnerUp(Protocol):
    """A scorer that can also name which rival comes closest to a target."""

    def runner_up(
        self, states: Float[np.ndarray, "n D"], run: Int[np.ndarray, " n"], /
    ) -> Int[np.ndarray, " n"]:
        """Return the number of each state's closest rival."""
        ...


@runtime_checkable
class Bounds(Protocol):
    """A scorer that can also bound scores from above, for far less than they cost."""

    def settle(self) -> None:
        """Fix the bounds of every target by what has been scored for it so far."""
        ...

    def upper(
        self, states: Float[np.ndarray, "n D"], run: Int[np.ndarray, " n"], /
    ) -> Float[np.ndarray, " n"]:
        """Return a number no less than the score of each state: a function of the state alone."""
        ...


Wish = Literal["score", "upper", "runner_up"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """States that a run wants scored, exactly from ``floor`` upwards, bounded, or their rivals."""

    states: Float[np.ndarray, "k D"]
    floor: float = -np.inf
    wish: Wish = "score"


Job = Generator[Request, np.ndarray, T]
"""A run: yields requests, is sent answers of their length, returns its result."""


def run_together(jobs: Sequence[tuple[int, Job[T]]], scorer: Scorer, *, n_together: int) -> list[T]:
    """Return the results of jobs, advanced together and scored in stacked calls.

    Args:
        jobs: For each job, the number of its target and the job.
        scorer: Scores the states of all.
        n_together: At most so many jobs are under way at a time; as one ends, the next begins.

    Raises:
        InputError: ``n_together`` is not positive.
        NumericalError: The scorer gave NaN, or scores of another number.
        CapabilityError: A job wants runner-ups and the scorer cannot name them.
    """
    if n_together < 1:
        raise InputError(f"at least one run advances at a time, got {n_together!r}")
    waiting = deque(enumerate(jobs))
    asked: dict[int, Request] = {}
    results: dict[int, T] = {}
    answers: dict[int, np.ndarray] = {}
    while waiting or asked:
        for number in list(asked):
            _step(jobs[number][1], number, answers[number], asked, results)
        while waiting and len(asked) < n_together:
            number, (_, job) = waiting.popleft()
            _step(job, number, None, asked, results)
        answers = _answers(asked, [target for target, _ in jobs], scorer)
    return [results[number] for number in range(len(jobs))]


def _step(
    job: Job[T],
    number: int,
    answer: np.ndarray | None,
    asked: dict[int, Request],
    results: dict[int, T],
) -> None:
    """Send a job its answer, and file its next request or its result."""
    try:
        asked[number] = next(job) if answer is None else job.send(answer)
    except StopIteration as done:
        asked.pop(number, None)
        results[number] = done.value


def _answers(
    asked: dict[int, Request], targets: Sequence[int], scorer: Scorer
) -> dict[int, np.ndarray]:
    """Return the answer to each request, from at most one call for each kind."""
    answers: dict[int, np.ndarray] = {}
    for kind in get_args(Wish):
        numbers = [number for number, one in asked.items() if one.wish == kind]
        if not numbers:
            continue
        requests = [asked[number] for number in numbers]
        sizes = [len(one.states) for one in requests]
        run = np.repeat(np.array([targets[number] for number in numbers], dtype=np.int64), sizes)
        if kind == "runner_up":
            found = _runner_ups(_stacked(requests), run, scorer)
        elif kind == "upper":
            found = _bounds(_stacked(requests), run, scorer)
        else:
            floor = np.repeat(np.array([one.floor for one in requests]), sizes)
            found = _scores(_stacked(requests), run, floor, scorer)
        parts = np.split(found, np.cumsum(sizes)[:-1])
        answers.update(zip(numbers, parts, strict=True))
    return answers


def _stacked(requests: Sequence[Request]) -> Float[np.ndarray, "n D"]:
    """Return the states of all requests."""
    if len(requests) == 1:
        return requests[0].states
    return np.concatenate([one.states for one in requests])


def _scores(
    states: Float[np.ndarray, "n D"],
    run: Int[np.ndarray, " n"],
    floor: Float[np.ndarray, " n"],
    scorer: Scorer,
) -> Float[np.ndarray, " n"]:
    """Return the scores of states, checked; none of none without a call."""
    if not len(states):
        return np.empty(0)
    return _checked(scorer(states, run, floor), len(states))


def _bounds(
    states: Float[np.ndarray, "n D"], run: Int[np.ndarray, " n"], scorer: Scorer
) -> Float[np.ndarray, " n"]:
    """Return bounds of the scores of states, checked."""
    if not isinstance(scorer, Bounds):
        raise CapabilityError(
            f"bounds of scores need a scorer with a method 'upper', got {type(scorer).__name__!r}"
        )
    return _checked(scorer.upper(states, run), len(states)) if len(states) else np.empty(0)


def _checked(scores: Float[np.ndarray, " n"], n: int) -> Float[np.ndarray, " n"]:
    """Return scores if there are n of them and none is NaN."""
    found = np.asarray(scores, dtype=np.float64)
    if found.shape != (n,) or np.isnan(found).any():
        raise NumericalError(
            f"a scorer gives one number a state and no NaN, got the shape {found.shape!r} for "
            f"{n} states and {int(np.isnan(found).sum())} NaN"
        )
    return found


def _runner_ups(
    states: Float[np.ndarray, "n D"], run: Int[np.ndarray, " n"], scorer: Scorer
) -> Int[np.ndarray, " n"]:
    """Return the closest rivals of states."""
    if not isinstance(scorer, NamesRunnerUp):
        raise CapabilityError(
            f"the histogram of runner-ups needs a scorer with a method 'runner_up', got "
            f"{type(scorer).__name__!r}; leave it out (runner_up=False)"
        )
    return np.asarray(scorer.runner_up(states, run), dtype=np.int64)
