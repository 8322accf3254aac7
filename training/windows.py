"""Token windows of a fixed length, in an order that depends on the seed and the step alone."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from likely.core.streams import generator


@dataclass(frozen=True, slots=True, kw_only=True)
class Windows:
    """Batches over the training documents, epoch after epoch.

    In each epoch the documents come in a new order, each followed by the end and the begin token;
    the stream is cut into windows, and each window has the begin token in front, since that is how
    every text is scored later. A batch is a pure function of its number, so that training
    resumes where it stood.

    Attributes:
        documents: Token ids of each document, without specials.
        begin: Id of the begin token.
        end: Id of the end token.
        length: Tokens a model sees at once; a window has one more, the last target.
        batch: Windows in a batch.
        seed: Of the orders.
    """

    documents: Sequence[np.ndarray]
    begin: int
    end: int
    length: int
    batch: int
    seed: int

    @property
    def batches_per_epoch(self) -> int:
        """Whole batches in one epoch; the remainder of the stream differs between epochs."""
        n_tokens = sum(len(ids) + 2 for ids in self.documents)
        return n_tokens // self.length // self.batch

    def epoch(self, number: int) -> np.ndarray:
        """Return the windows of an epoch.

        Returns:
            Shape ``(batches, batch, length + 1)``, ids, int64.
        """
        rng = generator(self.seed, "epoch", number)
        order = rng.permutation(len(self.documents))
        close = np.array([self.end, self.begin])
        parts = [part for i in order for part in (self.documents[i], close)]
        stream = np.concatenate(parts)
        n_windows = self.batches_per_epoch * self.batch
        cut = stream[: n_windows * self.length].reshape(n_windows, self.length)
        windows = np.insert(cut, 0, self.begin, axis=1)[rng.permutation(n_windows)]
        shape = (self.batches_per_epoch, self.batch, self.length + 1)
        return windows.reshape(shape).astype(np.int64)


def held_out_windows(ids: np.ndarray, *, begin: int, end: int, length: int) -> list[np.ndarray]:
    """Return a document with its end token, in pieces that each have the begin token in front."""
    whole = np.append(ids, end)
    return [np.insert(whole[i : i + length], 0, begin) for i in range(0, len(whole), length)]
