"""The exceptions of likely: each message says what was needed, what came, and what to do.

```
LikelyError
├── InputError (ValueError)          the caller passed something unusable
│   ├── ShapeError                   wrong shape or dtype
│   ├── UnknownNameError             no such model, study, section or data set
│   └── InconsistentTheory           a theory has probability 0, so nothing can be asked given it
├── CapabilityError                  the model cannot give what was asked
├── BudgetError                      a formula is too large to compile within the nodes allowed
├── ContractError                    an adapter breaks a law that every model must keep
├── NumericalError (ArithmeticError) NaN, lost normalisation, no convergence
├── MissingExtraError (ImportError)  names the exact `pip install likely[...]`
├── ServerError                      a model server failed, hung or answered nonsense
└── StoreError                       a file is unreadable, locked, full, or from a newer version
```
"""

import difflib
from collections.abc import Iterable, Sequence


class LikelyError(Exception):
    """Base of every exception that likely raises on purpose."""


class InputError(LikelyError, ValueError):
    """The caller passed something unusable."""


class ShapeError(InputError):
    """An array has the wrong shape or dtype."""


class UnknownNameError(InputError):
    """A registry has no entry of that name."""

    @classmethod
    def among(cls, kind: str, name: str, known: Iterable[str]) -> "UnknownNameError":
        """Return the error for an unknown ``name``, with the closest known names.

        >>> str(UnknownNameError.among("model", "smolm2", ["smollm2", "table"]))
        "no model named 'smolm2'; did you mean ['smollm2']?"
        """
        names = sorted(known)
        close = difflib.get_close_matches(name, names, n=3)
        hint = f"did you mean {close}?" if close else f"known: {names}"
        return cls(f"no {kind} named {name!r}; {hint}")


class InconsistentTheory(InputError):  # noqa: N818 - the public name says what is the case
    """A theory and its evidence have probability 0, so what is asked given them is undefined.

    Attributes:
        clash: Texts of parts (rules, evidence, certain events) that no assignment satisfies
            together: as few as there are, unless the message says otherwise.
    """

    def __init__(self, message: str, *, clash: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.clash = tuple(clash)


class CapabilityError(LikelyError):
    """The model cannot give what was asked."""


class BudgetError(LikelyError):
    """A formula needs more nodes than it may have; the message says what else there is to do."""


class ContractError(LikelyError):
    """An adapter breaks a law of the contract; the message begins with the law's name."""


class NumericalError(LikelyError, ArithmeticError):
    """A number is NaN, infinite where it must not be, or a law that must hold does not."""


class MissingExtraError(LikelyError, ImportError):
    """An optional dependency is not installed."""


class ServerError(LikelyError):
    """A model server failed, hung, or sent an answer that cannot be trusted."""


class StoreError(LikelyError):
    """A file is unreadable, corrupt, locked, full, or written by a newer version."""


class LikelyWarning(UserWarning):
    """Something was accepted that often means a mistake; the result carries a flag too."""
