"""The seven families of ProbCT, our probabilistic consistency test, as theories in the package."""

from functools import cache
from importlib import resources

from likely.errors import UnknownNameError
from likely.logic.theory import Theory

FAMILIES = (
    "negation", "exclusivity", "paraphrase", "implication", "relations", "partition", "antonyms",
)  # fmt: skip
"""Names of the families, F1 to F7."""


@cache
def load_family(name: str) -> Theory:
    """Return one family.

    Raises:
        UnknownNameError: There is no such family.
    """
    if name not in FAMILIES:
        raise UnknownNameError.among("family", name, FAMILIES)
    path = resources.files("likely.logic.probct").joinpath("suites", f"{name}.yaml")
    return Theory.from_text(path.read_text("utf-8"))
