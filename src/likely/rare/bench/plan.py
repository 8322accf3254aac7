"""What is compared: models, laws of inputs, targets of every decade, methods, budgets. Unit: prob.

Two budgets are equal in turn. In the arm ``calls`` every method may make as many model calls for a
target; in the arm ``seconds`` as many as take it the time that the reference method took for the
first arm's calls, so that a method whose calls are dear gets fewer.
"""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from likely.errors import InputError, UnknownNameError

Arm = Literal["calls", "seconds"]
ARMS: tuple[Arm, ...] = ("calls", "seconds")

MODELS = ("tiny-1l", "tiny-2l", "tiny-4l")
LAWS = ("hex", "camel", "indent", "ifelse", "caps", "english", "spanish", "icl")
ALL_METHODS = ("naive", "itgis", "mhis", "amls-inputs", "qld", "gld", "ga-amls", "forecast")

Options: TypeAlias = tuple[tuple[str, str, int | float | str], ...]
"""Method, name of an option of it, and its value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchConfig:
    """One comparison.

    Attributes:
        models: Names that `likely.load` takes and truths are stored of.
        distributions: Names of laws of inputs.
        methods: Names of methods.
        budget: Model calls for each target.
        seeds: How often every estimate is made, each time with other random numbers.
        decades: Edges of the decades of probability, rising.
        per_decade: Targets of each decade, as far as there are.
        arms: Which budgets are equal.
        reference: The method whose time the arm ``seconds`` gives to all.
        n_stems: Stems with a hit that the truth of a target must rest on.
        options: Of methods, where they are not the usual ones.
    """

    models: tuple[str, ...] = MODELS
    distributions: tuple[str, ...] = LAWS
    methods: tuple[str, ...] = ALL_METHODS
    budget: int
    seeds: int = 5
    decades: tuple[float, ...] = (1e-9, 1e-8, 1e-7, 1e-6, 1e-5)
    per_decade: int = 2
    arms: tuple[Arm, ...] = ARMS
    reference: str = "ga-amls"
    n_stems: int = 20
    options: Options = ()

    def __post_init__(self) -> None:
        if self.budget < 1 or self.seeds < 1 or self.per_decade < 1:
            raise InputError(
                "a comparison needs a call, a seed and a target of each decade, got "
                f"{self.budget!r}, {self.seeds!r} and {self.per_decade!r}"
            )
        for what in ("models", "distributions", "methods", "arms"):
            names = getattr(self, what)
            if not names or len(set(names)) < len(names):
                raise InputError(f"{what} are one or more different names, got {list(names)}")
        rises = all(a < b for a, b in zip(self.decades, self.decades[1:], strict=False))
        if len(self.decades) < 2 or not rises or not self.decades[0] > 0.0:
            raise InputError(f"decades are rising probabilities, got {self.decades!r}")
        if "seconds" in self.arms and ("calls" not in self.arms or not self._has_reference):
            raise InputError(
                f"the arm 'seconds' gives all methods the time of {self.reference!r} in the arm "
                f"'calls'; got the methods {list(self.methods)} and the arms {list(self.arms)}"
            )

    @property
    def _has_reference(self) -> bool:
        return self.reference in self.methods

    def options_of(self, method: str) -> dict[str, int | float | str]:
        """Return the options of a method that are not the usual ones."""
        return {name: value for one, name, value in self.options if one == method}


FEW_CALLS: Options = (
    ("amls-inputs", "n_steps", 2),
    ("amls-inputs", "n_replicates", 3),
)
"""For budgets of a thousand calls or so: else splitting over inputs has two particles a run."""

PRESETS = {
    "smoke": BenchConfig(
        distributions=("hex", "camel"), budget=1024, per_decade=1, decades=(1e-7, 1e-6, 1e-5, 1e-4),
        arms=("calls",), options=FEW_CALLS,
    ),
    "lite": BenchConfig(budget=8192, per_decade=1),
    "full": BenchConfig(budget=65536),
}  # fmt: skip
"""Name to comparison: ``smoke`` takes minutes, ``lite`` hours, ``full`` days on two cores; 65,536
calls are the published budget, and 8,192 are the fewest with which the law by last place serves all
laws of inputs."""


def preset(name: str) -> BenchConfig:
    """Return the comparison of a name.

    Raises:
        UnknownNameError: There is none.
    """
    if name not in PRESETS:
        raise UnknownNameError.among("preset", name, PRESETS)
    return PRESETS[name]
