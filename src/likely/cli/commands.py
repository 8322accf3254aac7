"""The table of commands: nothing behind a name is imported until that command is asked for."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import cast


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One line of the table.

    Attributes:
        target: ``module:function``; the function's parameters are dataclasses of flags.
        help: One sentence for the list of commands.
    """

    target: str
    help: str

    def load(self) -> Callable[..., None]:
        """Return the function, importing its module now."""
        module, _, name = self.target.partition(":")
        return cast(Callable[..., None], getattr(import_module(module), name))


COMMANDS: Mapping[str, Command] = {
    "models": Command(
        target="likely.cli.models:models", help="List the models that a command can take."
    ),
    "pull": Command(target="likely.cli.pull:pull", help="Fetch the embedded model, once."),
    "score": Command(
        target="likely.cli.score:score", help="Score continuations after a context, one or many."
    ),
    "next": Command(
        target="likely.cli.next:next_token", help="Show the likeliest next tokens after a context."
    ),
    "surprisal": Command(
        target="likely.cli.surprisal:surprisal",
        help="Read a text: the log-probability of each token after those before it.",
    ),
    "logic": Command(
        target="likely.cli.logic:logic",
        help="Put a theory to a model: which claims its probabilities keep, beyond chance.",
    ),
    "probct": Command(
        target="likely.cli.probct:probct",
        help="Run ProbCT, seven families of tests of whether a model's beliefs hang together.",
    ),
    "calibrate": Command(
        target="likely.cli.calibrate:calibrate",
        help="Ask whether a model's probabilities follow the numbers in the context.",
    ),
    "attribute": Command(
        target="likely.cli.attribute:attribute",
        help="Ask which tokens of a prompt made a response likely.",
    ),
    "rare": Command(
        target="likely.cli.rare:rare",
        help="Estimate how likely an output is that nobody has seen.",
    ),
    "rare-bench": Command(
        target="likely.cli.rare_bench:rare_bench",
        help="Compare estimators of rare outputs with the truth, at an equal budget.",
    ),
    "self-check": Command(
        target="likely.cli.self_check:self_check",
        help="Measure how far a model's numbers move where they must not.",
    ),
    "report": Command(
        target="likely.cli.report:report", help="Write a report on a model as one HTML page."
    ),
}
"""Name to command, in the order of the help. To add one: one file here, one entry in this table."""
