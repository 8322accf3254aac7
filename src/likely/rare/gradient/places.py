"""The varying places of a law of inputs, in one table however many tokens each takes. Unit: nats.

An input is written as *choices*: for each varying place the row number of its token among those
that may stand there. Supports of unequal size are padded; padding has no probability.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from likely.core.logspace import logsumexp
from likely.errors import InputError
from likely.rare.inputs import IndependentDistribution


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Places:
    """What may stand where.

    Attributes:
        template: Shape ``(T,)``, an input; its varying places are filled anew each time.
        positions: Shape ``(P,)``, where the varying places are.
        sizes: Shape ``(P,)``, how many tokens each may take.
        tokens: Shape ``(P, K)``, their ids in rising order; padding repeats the last.
        log_probs: Shape ``(P, K)``, nats; ``-inf`` for padding.
        ids: Shape ``(U,)``, the ids that occur in any varying place, rising.
        columns: Shape ``(P, K)``, where each of `tokens` stands in `ids`.
    """

    template: Int[np.ndarray, "T"]
    positions: Int[np.ndarray, "P"]
    sizes: Int[np.ndarray, "P"]
    tokens: Int[np.ndarray, "P K"]
    log_probs: Float[np.ndarray, "P K"]
    ids: Int[np.ndarray, "U"]
    columns: Int[np.ndarray, "P K"]

    @classmethod
    def of(cls, law: IndependentDistribution) -> "Places":
        """Return the varying places of a law.

        Raises:
            InputError: None varies.
        """
        supports = [law.supports[i] for i in law.varying]
        if not supports:
            raise InputError(
                f"{law.name!r} has one input alone, no place of it varies; use method 'naive'"
            )
        sizes = np.array([len(support) for support in supports])
        tokens = np.stack(
            [np.pad(one.tokens, (0, sizes.max() - len(one)), mode="edge") for one in supports]
        )
        log_probs = np.full(tokens.shape, -np.inf)
        for row, one in zip(log_probs, supports, strict=True):
            row[: len(one)] = one.log_probs
        ids, columns = np.unique(tokens, return_inverse=True)
        return cls(
            template=np.array([one.tokens[0] for one in law.supports]),
            positions=np.array(law.varying), sizes=sizes, tokens=tokens, log_probs=log_probs,
            ids=ids, columns=columns.reshape(tokens.shape),
        )  # fmt: skip

    def __len__(self) -> int:
        return len(self.positions)

    def inputs(self, choices: Int[np.ndarray, "n P"]) -> Int[np.ndarray, "n T"]:
        """Return the inputs that choices stand for, ids."""
        found = np.tile(self.template, (len(choices), 1))
        found[:, self.positions] = self.tokens[np.arange(len(self)), choices]
        return found

    def draw(
        self, log_probs: Float[np.ndarray, "P K"], uniforms: Float[np.ndarray, "n P"]
    ) -> Int[np.ndarray, "n P"]:
        """Return the choices that numbers in [0, 1) stand for under a law for each place.

        Args:
            log_probs: Nats; padding has ``-inf``. With the law's own they are the very tokens
                that `Support.draw` gives.
            uniforms: One for each place of each input.
        """
        columns = []
        for place, size in enumerate(self.sizes):
            edges = np.cumsum(np.exp(log_probs[place, :size]))
            found = np.searchsorted(edges / edges[-1], uniforms[:, place], side="right")
            columns.append(np.minimum(found, size - 1))
        return np.stack(columns, axis=1)


def draw_rows(
    log_weights: Float[np.ndarray, "n K"], uniforms: Float[np.ndarray, "n"]
) -> Int[np.ndarray, "n"]:
    """Return one column for each row, by weights that need not sum to 1.

    Args:
        log_weights: Nats; ``-inf`` is never drawn.
        uniforms: In [0, 1), one a row.

    >>> draw_rows(np.log(np.array([[0.2, 0.3, 0.5]])), np.array([0.4])).tolist()
    [1]
    """
    edges = np.cumsum(np.exp(log_weights - log_weights.max(axis=1, keepdims=True)), axis=1)
    found = np.sum(edges <= uniforms[:, None] * edges[:, -1:], axis=1)
    last = log_weights.shape[1] - 1 - np.argmax(np.isfinite(log_weights[:, ::-1]), axis=1)
    return np.asarray(np.minimum(found, last))


def normalised(log_weights: Float[np.ndarray, "*rows K"]) -> Float[np.ndarray, "*rows K"]:
    """Return each row as log-probabilities, nats."""
    return np.asarray(log_weights - logsumexp(log_weights)[..., None])
