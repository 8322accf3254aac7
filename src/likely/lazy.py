"""Packages whose names load when first used, so that importing them costs nothing."""

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

from likely.errors import MissingExtraError

_EXTRAS = {
    "torch": "hf", "transformers": "hf", "pysdd": "logic", "matplotlib": "stats",
    "statsmodels": "stats", "captum": "attrib",
    "sklearn": "attrib",
}  # fmt: skip
"""Which extra of the package brings a module that not everyone needs."""


def lazy_names(
    package: str, homes: Mapping[str, Sequence[str]], *, more: Sequence[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return what a package's ``__getattr__``, ``__dir__`` and ``__all__`` are to be.

    Args:
        package: Its full name.
        homes: For each module, relative to the package (or absolute), the names that it holds.
        more: Names that the package already has.

    The first raises `MissingExtraError` where a module needs a library that is not installed.
    """
    home_of = {name: home for home, names in homes.items() for name in names}
    public = sorted([*home_of, *more])

    def load(name: str) -> Any:  # noqa: ANN401  # a module's attributes are of any type
        home = home_of.get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        full = home if home.startswith("likely.") else f"{package}.{home}"
        try:
            value = getattr(import_module(full), name)
        except ModuleNotFoundError as error:
            extra = _EXTRAS.get(error.name or "")
            if extra is None:
                raise
            raise MissingExtraError(
                f"{package}.{name} needs {error.name}; run: pip install 'likely[{extra}]'"
            ) from error
        setattr(sys.modules[package], name, value)
        return value

    return load, lambda: list(public), public
