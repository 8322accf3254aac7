"""What all servers have in common: an address, facts about a model, and the verbs asked of it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from likely.errors import InputError, UnknownNameError
from likely.models.server.completions import Draw, Question, Reading
from likely.models.server.replies import Served, ServedList
from likely.models.server.transport import AnswerError, RefusedError, Transport


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where a model is served.

    Attributes:
        api: Base of the completions interface, ending in ``/v1``.
        root: The same without ``/v1``.
        model: Name of the model there.
    """

    api: str
    root: str
    model: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What a server tells about itself; None where it does not."""

    version: str
    weights: str
    n_vocab: int | None = None
    context: int | None = None
    bos_id: int | None = None
    eos_id: int | None = None
    adds_bos: bool = False


Spelling = tuple[tuple[int, bytes | None], ...]
"""Ids of a text, each with its bytes where the server tells them."""


@runtime_checkable
class Dialect(Protocol):
    """One kind of server."""

    name: str
    tops: tuple[int, ...]  # how many likeliest tokens to ask for, first choice first
    takes_ids: bool
    has_tokenizer: bool
    draws: int  # how many texts one request may ask for

    def facts(self, sample: str) -> Facts:
        """Return what the server tells about itself and the model.

        Args:
            sample: A text that the model can read, to see what is put before it.
        """
        ...

    def spell(self, text: str, *, special: bool) -> Spelling:
        """Return the tokens of a text, with those that the server adds itself if ``special``."""
        ...

    def text_of(self, ids: Sequence[int]) -> str | None:
        """Return the text of ids, with U+FFFD for broken characters; None if there is none."""
        ...

    def echo_fault(self, ids: Sequence[int], facts: Facts) -> str:
        """Return why this prompt's own log-probs cannot be asked for; empty if they can."""
        ...

    def ask(self, question: Question, *, facts: Facts) -> Reading:
        """Return the answer to one question."""
        ...

    def draw(self, draw: Draw, *, facts: Facts) -> list[str]:
        """Return texts at temperature 1 from the whole law, at least one, at most as asked."""
        ...


def parse_address(rest: str) -> Address:
    """Return the address of ``<base url>#<model>``.

    Raises:
        InputError: No such form, or a name and password within the address.

    >>> parse_address("http://localhost:8000/v1#org/name:q4").root
    'http://localhost:8000'
    """
    base, mark, model = rest.partition("#")
    if not mark or not model or not base.startswith(("http://", "https://")):
        raise InputError(
            f"a server is written server:<base url>#<model>, such as "
            f"server:http://localhost:8000/v1#org/name; got {'server:' + rest!r}"
        )
    if "@" in base.split("://", 1)[1].split("/", 1)[0]:
        raise InputError("the server's address holds a name or password; pass api_key= instead")
    root = base.rstrip("/").removesuffix("/v1")
    return Address(api=f"{root}/v1", root=root, model=model)


def find_served(transport: Transport, address: Address) -> Served | None:
    """Return the list's entry of the model, or None where the server has no list.

    Raises:
        UnknownNameError: The server lists other models only; some servers would answer for one
            of those instead.
    """
    try:
        models = transport.get(f"{address.api}/models", ServedList).data
    except (RefusedError, AnswerError):
        return None
    for served in models:
        names = {served.id, served.id.rsplit("/", 1)[-1], *served.aliases}
        if address.model in names:
            return served
    raise UnknownNameError.among("served model", address.model, [served.id for served in models])
