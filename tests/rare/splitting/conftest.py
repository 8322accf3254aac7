"""Targets whose probability is known, and the streams that the tests give to runs."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy.stats import norm
from scipy.stats import t as student

from likely.core.streams import generator
from likely.rare.prior.gaussian import GaussianPrior
from likely.rare.prior.student import StudentPrior
from likely.rare.prior.whitening import Whitening


def _unit(dim: int) -> Whitening:
    eye = np.eye(dim)
    return Whitening(centre=np.zeros(dim), factor=eye, inverse=eye, log_det=0.0)


@pytest.fixture
def spherical() -> Callable[[int, float], GaussianPrior | StudentPrior]:
    """A prior of so many coordinates; an infinite tail is a Gaussian."""

    def make(dim: int, tail: float = math.inf) -> GaussianPrior | StudentPrior:
        if math.isinf(tail):
            return GaussianPrior(whitening=_unit(dim))
        return StudentPrior(whitening=_unit(dim), tail=tail)

    return make


class FirstCoordinate:
    """The score is the first coordinate less a cut that each target has for itself."""

    def __init__(self, *cuts: float) -> None:
        self.cuts = np.array(cuts)
        self.n_calls = 0
        self.n_states = 0

    def __call__(self, states: np.ndarray, run: np.ndarray, floor: np.ndarray) -> np.ndarray:
        self.n_calls += 1
        self.n_states += len(states)
        return states[:, 0] - self.cuts[run]


@pytest.fixture
def linear() -> Callable[..., FirstCoordinate]:
    """A score of which the event has given probabilities, one a target."""

    def make(*probs: float, tail: float = math.inf) -> FirstCoordinate:
        law = norm if math.isinf(tail) else student(tail)
        return FirstCoordinate(*(float(law.isf(prob)) for prob in probs))

    return make


@pytest.fixture
def streams() -> Callable[[int], Callable[[int, str], np.random.Generator]]:
    """The streams of a seed."""
    return lambda seed: lambda target, part: generator(seed, "splitting", target, part)


@pytest.fixture
def close_to() -> Callable[..., bool]:
    """Whether a mean of estimates is within four standard errors of the truth."""

    def check(logs: list[float], truth: float, *, least: float = 0.0) -> bool:
        ratios = np.exp(np.array(logs) - math.log(truth))
        error = max(float(ratios.std(ddof=1)), least) / math.sqrt(len(ratios))
        return bool(abs(float(ratios.mean()) - 1.0) < 4.0 * error)

    return check
