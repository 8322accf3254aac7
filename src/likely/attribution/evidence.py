"""What the model said about the candidates at one place, and which of them were drawn. Nats.

A *place* is a prompt position, or several that are marginalised together. A *candidate* is what
might stand there: a token, or a tuple of tokens. Everything that the study reports about a place
is a function of its evidence, whether all candidates were evaluated or some were drawn.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from likely.attribution.thinning import Lineage


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Evaluated candidates of one place; the actual one comes first.

    Attributes:
        places: Prompt positions that are marginalised.
        tokens: Shape ``(n, g)``: each candidate's tokens at the g places.
        log_prior: Shape ``(n,)``: log w, of the candidate given what stands before it.
        log_prompt: Shape ``(n,)``: log a, of the rest of the prompt given the candidate.
        log_response: Shape ``(n, R)``: of each response token given all before it, log b in sum.
        inclusion: Shape ``(n,)``: how likely it was that this candidate was evaluated to the end
            of the response; 1 for those that were sure to be; 0 for those that were dropped before
            the end, whose ``log_response`` says nothing.
        prompt_inclusion: Shape ``(n,)``: how likely it was evaluated to the end of the prompt.
        resolution: What one more draw of an average candidate would add to the share of those
            that were drawn: no share below it is known to be there or not. 0 where nothing was
            left out.
        omitted: Those that were not evaluated to the end of the response: each of its own, or many
            that begin alike as one.
        lineage: Of candidates of several tokens that were drawn as a tree.
    """

    places: tuple[int, ...]
    tokens: Int[np.ndarray, "n g"]
    log_prior: Float[np.ndarray, "n"]
    log_prompt: Float[np.ndarray, "n"]
    log_response: Float[np.ndarray, "n R"]
    inclusion: Float[np.ndarray, "n"]
    prompt_inclusion: Float[np.ndarray, "n"]
    resolution: float
    omitted: "Omitted"
    lineage: Lineage | None = None

    @property
    def is_exact(self) -> bool:
        """Whether every candidate was evaluated to the end."""
        return self.omitted.n == 0 and bool(np.all(self.inclusion == 1.0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Omitted:
    """Upper bounds on what the candidates without a full evaluation may weigh.

    Attributes:
        log_prior: Shape ``(n,)``: log w of each.
        log_prompt_bound: Shape ``(n,)``: log of a bound on w a: what is known of the product.
        log_response_bound: Shape ``(n,)``: log of a bound on w a b.
        log_b_bound: Log of a bound on the b of each, as far as known: 0 for one never read.
    """

    log_prior: Float[np.ndarray, "n"]
    log_prompt_bound: Float[np.ndarray, "n"]
    log_response_bound: Float[np.ndarray, "n"]
    log_b_bound: Float[np.ndarray, "n"]

    @property
    def n(self) -> int:
        """How many entries there are."""
        return len(self.log_prior)


NOTHING_OMITTED = Omitted(
    log_prior=np.empty(0),
    log_prompt_bound=np.empty(0),
    log_response_bound=np.empty(0),
    log_b_bound=np.empty(0),
)
