"""Registries that hold strings until asked: a name maps to ``module:object``, imported on use."""

from collections.abc import Iterator, Mapping
from importlib import import_module
from importlib.metadata import entry_points
from typing import Generic, TypeVar, cast

from likely.errors import UnknownNameError

T = TypeVar("T")


class Registry(Generic[T]):
    """Names of one kind of thing, ours first, then those of the entry-point group.

    Args:
        kind: What the entries are, for error messages: ``model``, ``study``, ``section``.
        builtin: Name to ``module:object``.
        group: Entry-point group through which other packages add names; ours win a clash.
    """

    def __init__(self, kind: str, builtin: Mapping[str, str], *, group: str | None = None) -> None:
        self.kind = kind
        self.group = group
        self._targets = dict(builtin)

    def names(self) -> tuple[str, ...]:
        """Return every known name, ours in their order, then other packages' sorted."""
        others = sorted(set(self._entry_points()) - set(self._targets))
        return (*self._targets, *others)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())

    def __contains__(self, name: object) -> bool:
        return name in self.names()

    def load(self, name: str) -> T:
        """Return the entry of this name, importing its module now.

        Raises:
            UnknownNameError: No such name; the message has the closest ones.
        """
        target = self._targets.get(name) or self._entry_points().get(name)
        if target is None:
            raise UnknownNameError.among(self.kind, name, self.names())
        module, _, attribute = target.partition(":")
        return cast(T, getattr(import_module(module), attribute))

    def _entry_points(self) -> dict[str, str]:
        if self.group is None:
            return {}
        return {point.name: point.value for point in entry_points(group=self.group)}
