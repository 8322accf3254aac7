"""How often each token stands in a collection of texts, as a model's tokenizer cuts it. Counts."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol, runtime_checkable
from weakref import WeakKeyDictionary

import numpy as np
from jaxtyping import Int

from likely.core.model import LanguageModel, Tokenizer
from likely.core.text.encode import EncodesMany
from likely.errors import InputError
from likely.rare.kept_ids import Documents, kept_ids

LONGEST = 2**14
"""Tokens of a document that are counted, as in Wu and Hilton (2024): a long one does not rule."""

_AT_ONCE = 64  # documents whose ids are Python numbers at the same time


@runtime_checkable
class Texts(Protocol):
    """Documents under a name; a corpus of this package is one."""

    @property
    def name(self) -> str:
        """What they are called."""
        ...

    @property
    def documents(self) -> tuple[str, ...]:
        """The documents, in a fixed order."""
        ...

    @property
    def sha256(self) -> str:
        """A hash of what they say."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenTexts:
    """Documents that a caller brings along.

    Attributes:
        name: What they are called in results.
        documents: As they came.
        sha256: Of the documents and where each ends.
    """

    name: str
    documents: tuple[str, ...]
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Frequencies:
    """How often each token stands in some documents.

    Attributes:
        texts: Name of the documents.
        sha256: Of all of them, also of those that were not counted.
        n_documents: How many were counted.
        counts: Shape ``(V,)``, one for each id that the tokenizer knows.
    """

    texts: str
    sha256: str
    n_documents: int
    counts: Int[np.ndarray, "V"]

    @property
    def n_tokens(self) -> int:
        """How many tokens were counted."""
        return int(self.counts.sum())


_ENCODED: WeakKeyDictionary[Tokenizer, dict[tuple[str, int], Documents]] = WeakKeyDictionary()


def read_texts(texts: str | Sequence[str]) -> Texts:
    """Return documents that are given by the name of a corpus, or themselves.

    Args:
        texts: The name of a corpus of this package, such as ``english``, or documents.

    Raises:
        UnknownNameError: No corpus has that name.
        InputError: There is no document.

    >>> read_texts(["One text.", "Another."]).name
    'given texts'
    """
    if isinstance(texts, str):
        from likely.rare.corpus import load

        return load(texts)
    documents = tuple(texts)
    if not any(documents):
        raise InputError(f"texts are documents that say something, got {len(documents)} empty ones")
    digest = hashlib.sha256()
    for document in documents:
        raw = document.encode()
        digest.update(len(raw).to_bytes(8, "little"))
        digest.update(raw)
    return GivenTexts(name="given texts", documents=documents, sha256=digest.hexdigest())


def count_tokens(
    texts: Texts, model: LanguageModel, *, n_documents: int | None = None
) -> Frequencies:
    """Return how often each token stands in documents, each cut at `LONGEST` tokens.

    Where the model's tokenizer by its own setting begins a text with BOS, each document's BOS
    counts as one of its tokens. An EOS counts only where a document's own text has it.

    Args:
        texts: The documents.
        model: Whose tokens they are.
        n_documents: How many are counted, the first ones; all of them if there are fewer, or if
            None.

    Raises:
        InputError: The number of documents is not positive.

    Sources:
        Wu and Hilton (2024), arXiv 2410.13211, and its code: documents are cut after 2^14 tokens,
        which include the BOS.
    """
    documents = encode_documents(texts, model, n_documents=n_documents)
    n_before = int(model.info.adds_bos)
    counts = np.zeros(model.info.n_tokens, dtype=np.int64)
    for document in documents:
        counts += np.bincount(document[: LONGEST - n_before], minlength=len(counts))
    if model.info.adds_bos and model.info.bos_id is not None:
        counts[model.info.bos_id] += len(documents)
    return Frequencies(
        texts=texts.name, sha256=texts.sha256, n_documents=len(documents), counts=counts
    )


def encode_documents(
    texts: Texts, model: LanguageModel, *, n_documents: int | None = None
) -> Documents:
    """Return the ids of each document, whole and without BOS; kept while the tokenizer lives.

    Ids of a corpus of the package are kept on the disk too, in likely's cache folder.

    Raises:
        InputError: The number of documents is not positive.
    """
    if n_documents is not None and n_documents < 1:
        raise InputError(f"a number of documents is at least 1, got {n_documents!r}")
    n = len(texts.documents)
    n = n if n_documents is None else min(n, n_documents)
    known = _ENCODED.setdefault(model.tokenizer, {})
    key = (texts.sha256, n)
    if key not in known:
        make = partial(_encode, texts.documents[:n], model.tokenizer)
        is_ours = not isinstance(texts, GivenTexts)
        known[key] = kept_ids(texts.sha256, n, model.tokenizer, make) if is_ours else make()
    return known[key]


def _encode(documents: Sequence[str], tokenizer: Tokenizer) -> Documents:
    found: list[Int[np.ndarray, "_"]] = []
    for start in range(0, len(documents), _AT_ONCE):
        part = documents[start : start + _AT_ONCE]
        found += [np.array(ids, dtype=np.int32) for ids in encode_each(part, tokenizer)]
    return tuple(found)


def encode_each(texts: Sequence[str], tokenizer: Tokenizer) -> list[tuple[int, ...]]:
    """Return the ids of each text, all at once where the tokenizer can."""
    if isinstance(tokenizer, EncodesMany):
        return tokenizer.encode_many(texts)
    return [tokenizer.encode(text).tokens for text in texts]
