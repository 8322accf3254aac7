"""Inputs cut from texts: every place of a text is as likely as every other. Unit: nats."""

from collections.abc import Sequence

import numpy as np

from likely.core.model import LanguageModel
from likely.core.streams import generator
from likely.errors import InputError
from likely.rare.frequencies import encode_documents, read_texts
from likely.rare.inputs import ListedDistribution, check_fits


def prefixes(
    texts: str | Sequence[str], model: LanguageModel, *, length: int, n: int = 2**16, seed: int = 0
) -> ListedDistribution:
    """Return the law that draws one of some prefixes cut from texts.

    The prefixes are drawn independently, each uniformly from all windows of the documents: a
    document is as likely as the number of its windows, and one that is shorter than a window is
    never cut. The same window may be drawn twice; it then has twice the probability. The first
    prefixes of a larger ``n`` are those of a smaller one.

    Args:
        texts: Name of a corpus (``code``, ``english``, ``spanish``), or documents.
        model: Whose tokens they are; its BOS stands before each prefix if it has one.
        length: Tokens of a prefix, BOS not among them.
        n: How many are drawn; by default as many as an estimate's usual budget of model calls.
        seed: Of the draw.

    Raises:
        UnknownNameError: No corpus has that name.
        InputError: A number is not positive, every document is too short, or the inputs are
            longer than the model reads.
    """
    for what, number in (("length", length), ("n", n)):
        if number < 1:
            raise InputError(f"prefixes have {what} >= 1, got {number!r}")
    read = read_texts(texts)
    documents = encode_documents(read, model)
    n_windows = np.array([max(0, len(one) - length + 1) for one in documents], dtype=np.int64)
    ends = np.cumsum(n_windows)
    if ends[-1] == 0:
        longest = max(len(one) for one in documents)
        raise InputError(
            f"prefixes of {length} tokens need a document as long, the longest of {read.name!r} "
            f"has {longest}; take a smaller length or other texts"
        )
    rng = generator(seed, "rare", "prefixes", read.sha256, length)
    drawn = rng.integers(0, int(ends[-1]), size=n)
    which = np.searchsorted(ends, drawn, side="right")
    starts = drawn - (ends - n_windows)[which]
    head = [] if model.info.bos_id is None else [model.info.bos_id]
    rows = [
        [*head, *documents[document][start : start + length].tolist()]
        for document, start in zip(which.tolist(), starts.tolist(), strict=True)
    ]
    found = ListedDistribution(
        name=f"prefixes of {read.name}",
        inputs=np.array(rows, dtype=np.int64),
        log_probs=np.full(n, -np.log(n)),
        sentence=f"{length} tokens cut from {read.name}, {n:,} times, anywhere in its documents",
        details={
            "texts": read.name, "sha256": read.sha256, "documents": len(documents),
            "windows": int(ends[-1]), "seed": seed,
        },
    )  # fmt: skip
    check_fits(found, model)
    return found
