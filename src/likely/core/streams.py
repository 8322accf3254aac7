"""Named random streams: one seed a run, one stream a name, so that nothing moves anything else."""

import hashlib

import numpy as np


def generator(seed: int, *names: str | int) -> np.random.Generator:
    """Return the random stream of these names under this seed.

    Args:
        seed: The seed of the whole run, at least 0.
        names: Path of names, such as a study, an item and a replicate.

    Returns:
        A fresh generator; the same seed and names always give the same numbers, on any machine.

    >>> a, b = generator(0, "rare", 1), generator(0, "rare", 1)
    >>> float(a.random()) == float(b.random())
    True
    """
    digest = hashlib.sha256(repr(names).encode()).digest()
    key = tuple(int.from_bytes(digest[i : i + 4], "little") for i in range(0, 16, 4))
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))
