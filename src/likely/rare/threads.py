"""How many threads a method works with: one for small models, which more make slower. Threads.

A step of a chain or of splitting multiplies matrices of some hundred rows. Under a small model that
takes microseconds, less than handing work to a second thread; and where another process has that
core, each hand-over waits for a whole slice of its time: on two cores, beside another process,
methods took 4 to 37 times as long with two threads (`benchmarks/within_rare_threads.py`).
"""

from collections.abc import Iterator
from contextlib import contextmanager

from threadpoolctl import threadpool_limits

from likely.core.model import Capability, LanguageModel

SMALL = 256
"""Width of the hidden states up to which a model is small."""


@contextmanager
def few_threads(model: LanguageModel) -> Iterator[None]:
    """Let matrix products of a small model have one thread; leave those of others as they are.

    Args:
        model: Any model; one without hidden states is left alone.
    """
    if not _is_small(model):
        yield
        return
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with threadpool_limits(limits=1):
            yield
    finally:
        torch.set_num_threads(before)


def _is_small(model: LanguageModel) -> bool:
    if Capability.HIDDEN_STATES not in model.info.capabilities:
        return False
    import torch

    from likely.rare.network import Network

    if not isinstance(model, Network):
        return False
    return int(model.embed(torch.zeros(1, 1, dtype=torch.int64)).shape[-1]) <= SMALL
