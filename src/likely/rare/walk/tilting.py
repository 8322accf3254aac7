"""The Metropolis-Hastings kernel that changes one token of an input at a time. Unit: nats.

It leaves the law of inputs alone but for a tilt: an input is as likely as under the law, times the
exponential of its score over a temperature. A new token is proposed by the law of its place, tilted
by what the slope says each token would do, and the acceptance puts right what the slope gets wrong.

Inverse temperatures are given one a row, so that rows of one call may walk under different tilts;
at 0 the kernel draws one token anew from the law and always accepts.
"""

import numpy as np
from jaxtyping import Float, Int

from likely.rare.gradient.places import normalised


def proposal(
    log_probs: Float[np.ndarray, "k"],
    tilts: Float[np.ndarray, "n k"],
    betas: Float[np.ndarray, "n"],
) -> Float[np.ndarray, "n k"]:
    """Return how likely each token is to be proposed, nats.

    Args:
        log_probs: Of the tokens of the place under the law.
        tilts: What each token adds to the score to first order, nats.
        betas: Inverse temperatures.
    """
    return normalised(log_probs + betas[:, None] * tilts)


def log_acceptance(
    betas: Float[np.ndarray, "n"],
    rise: Float[np.ndarray, "n"],
    law: tuple[Float[np.ndarray, "n"], Float[np.ndarray, "n"]],
    proposed: tuple[Float[np.ndarray, "n"], Float[np.ndarray, "n"]],
) -> Float[np.ndarray, "n"]:
    """Return the log of the ratio that a proposal is accepted by; above 0 it always is.

    Args:
        betas: Inverse temperatures.
        rise: Score of the new input less that of the old one.
        law: How likely the old token and the new one are under the law of the place, nats.
        proposed: How likely the new token was to be proposed from the old input, and the old one
            is from the new input, nats.
    """
    (old, new), (there, back) = law, proposed
    return np.asarray(betas * rise + (new - there) - (old - back))


def new_choices(
    choices: Int[np.ndarray, "n P"], place: int, tokens: Int[np.ndarray, "n"]
) -> Int[np.ndarray, "n P"]:
    """Return choices with one place changed."""
    changed = choices.copy()
    changed[:, place] = tokens
    return changed
