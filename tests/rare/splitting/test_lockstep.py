"""Runs that advance together: order, stacking, and what a scorer must give."""

from collections.abc import Generator

import numpy as np
import pytest

from likely.errors import CapabilityError, InputError, NumericalError
from likely.rare.splitting.lockstep import Request, run_together


def asks(n_rounds: int, size: int, *, floor: float = 0.0) -> Generator[Request, np.ndarray, list]:
    """A job that wants `size` states scored in each round and returns all answers."""
    found = []
    for number in range(n_rounds):
        answer = yield Request(states=np.full((size, 2), float(number)), floor=floor)
        found.append(answer.tolist())
    return found


class Recorder:
    def __init__(self) -> None:
        self.calls: list[tuple[list[int], list[float]]] = []

    def __call__(self, states: np.ndarray, run: np.ndarray, floor: np.ndarray) -> np.ndarray:
        self.calls.append((run.tolist(), floor.tolist()))
        return states[:, 0] + 10.0 * run

    def runner_up(self, states: np.ndarray, run: np.ndarray) -> np.ndarray:
        return run + 100


def test_answers_go_to_those_who_asked_and_results_keep_their_order():
    jobs = [(7, asks(2, 1)), (3, asks(1, 2)), (7, asks(3, 1))]
    found = run_together(jobs, Recorder(), n_together=3)
    assert found == [[[70.0], [71.0]], [[30.0, 30.0]], [[70.0], [71.0], [72.0]]]


def test_states_of_all_jobs_are_scored_in_one_call():
    recorder = Recorder()
    run_together([(0, asks(2, 2, floor=-1.0)), (1, asks(2, 1, floor=2.0))], recorder, n_together=2)
    assert recorder.calls == [([0, 0, 1], [-1.0, -1.0, 2.0])] * 2


@pytest.mark.parametrize("n_together", [1, 2, 5])
def test_the_next_job_begins_as_one_ends(n_together):
    recorder = Recorder()
    jobs = [(k, asks(2, 1)) for k in range(5)]
    assert len(run_together(jobs, recorder, n_together=n_together)) == 5
    assert max(len(run) for run, _ in recorder.calls) == n_together
    assert sum(len(run) for run, _ in recorder.calls) == 10


def test_no_states_are_no_call():
    recorder = Recorder()
    assert run_together([(0, asks(2, 0))], recorder, n_together=1) == [[[], []]]
    assert recorder.calls == []


def test_a_job_may_ask_nothing():
    assert run_together([(0, asks(0, 1)), (0, asks(1, 1))], Recorder(), n_together=1) == [
        [],
        [[0.0]],
    ]


def rival() -> Generator[Request, np.ndarray, list]:
    answer = yield Request(states=np.zeros((2, 2)), wish="runner_up")
    return list(answer.tolist())


def test_closest_rivals_are_asked_for_by_themselves():
    found = run_together([(1, asks(1, 1)), (2, rival())], Recorder(), n_together=2)
    assert found == [[[10.0]], [102, 102]]


def test_a_scorer_that_cannot_name_rivals_is_told_so():
    with pytest.raises(CapabilityError, match="runner_up=False"):
        run_together([(0, rival())], lambda states, run, floor: states[:, 0], n_together=1)


@pytest.mark.parametrize(
    "score",
    [
        lambda states, run, floor: np.full(len(states), np.nan),
        lambda states, run, floor: np.zeros(len(states) + 1),
    ],
)
def test_scores_are_checked(score):
    with pytest.raises(NumericalError, match="one number a state and no NaN"):
        run_together([(0, asks(1, 2))], score, n_together=1)


def test_nothing_at_a_time_is_refused():
    with pytest.raises(InputError, match="at least one run"):
        run_together([], Recorder(), n_together=0)
