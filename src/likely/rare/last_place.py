"""States by the token of the last place that varies: no token too seldom, all weighted. Nats.

A model's last state depends on the token that it read last far more than on any other, and where
places are independent that token's law is known exactly. Inputs are drawn as ever, and then get
their last varying token from a flatter law, by turns, so that every token is read at least twice;
weights put the law right again.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from likely.errors import InputError
from likely.rare.activations import STREAM, Activations, states_of
from likely.rare.inputs import BLOCK, IndependentDistribution, iter_sample
from likely.rare.method import Task
from likely.rare.prior.grouped_fit import LEAST, flattened


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ByLastPlace:
    """States of inputs and which token each has at the last place that varies.

    Attributes:
        activations: The states.
        groups: Shape ``(n,)``, the number of that token in the support of its place.
        log_weights: Shape ``(G,)``, the law of that place, nats.
    """

    activations: Activations
    groups: Int[np.ndarray, " n"]
    log_weights: Float[np.ndarray, " G"]

    @property
    def weights(self) -> Float[np.ndarray, " n"]:
        """What each state counts for; they sum to 1."""
        counts = np.bincount(self.groups, minlength=len(self.log_weights))
        return np.asarray((np.exp(self.log_weights) / counts)[self.groups])


def serves(task: Task) -> bool:
    """Return whether a law by the last place can be fitted.

    Places must be independent, some besides the last vary, so that a token's states differ, and the
    budget have enough inputs for every token.
    """
    law = task.distribution
    if not isinstance(law, IndependentDistribution) or len(law.varying) < 2:
        return False
    return task.budget >= 2 * LEAST * len(law.supports[law.varying[-1]])


def collect_by_last_place(task: Task) -> ByLastPlace:
    """Return the states of as many inputs as the budget allows; they serve every event.

    Raises:
        InputError: Places are not independent, or there are too few inputs.
        CapabilityError, NumericalError: As for `likely.rare.activations.collect`.
    """
    law = task.distribution
    if not isinstance(law, IndependentDistribution) or not serves(task):
        raise InputError(
            "a law by the last place needs independent places, two of them that vary, and a "
            f"budget of {2 * LEAST} inputs for each token of the last such place, got the "
            f"distribution {law.name!r} and {task.budget!r}; take prior='student'"
        )
    place = law.varying[-1]
    support = law.supports[place]
    rng = task.stream(None, STREAM, "last place")
    groups = rng.permutation(by_turns(flattened(support.log_probs), task.budget))
    names = task.path(None, STREAM)
    inputs = np.concatenate(list(iter_sample(law, task.budget, seed=task.seed, names=names)))
    inputs[:, place] = support.tokens[groups]
    blocks = [inputs[start : start + BLOCK] for start in range(0, len(inputs), BLOCK)]
    return ByLastPlace(
        activations=states_of(task, blocks), groups=groups, log_weights=support.log_probs
    )


def by_turns(log_probs: Float[np.ndarray, " G"], n: int) -> Int[np.ndarray, " n"]:
    """Return n numbers of which each stands as often as its probability says, but for rounding.

    Args:
        log_probs: Shape ``(G,)``, normalised, nats.
        n: How many.

    >>> np.bincount(by_turns(np.log(np.array([0.5, 0.3, 0.2])), 10)).tolist()
    [5, 3, 2]
    """
    edges = np.cumsum(np.exp(log_probs))
    return np.asarray(
        np.searchsorted(edges / edges[-1], (np.arange(n) + 0.5) / n, side="right"), dtype=np.int64
    )
