"""The typer app, built around the one command that is asked for."""

import sys
from collections.abc import Callable, Sequence

import typer

from likely._version import __version__
from likely.cli.commands import COMMANDS, Command
from likely.cli.flags import as_flags


def main(args: Sequence[str] | None = None) -> None:
    """Run the command line and exit.

    Args:
        args: Without the program's name; by default those of the process.
    """
    given = sys.argv[1:] if args is None else list(args)
    build_app(given)(given, prog_name="likely")


def build_app(args: Sequence[str]) -> typer.Typer:
    """Return the app for these arguments: only the command that they name is imported."""
    app = typer.Typer(
        name="likely",
        callback=_group,
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )
    asked = next((arg for arg in args if not arg.startswith("-")), None)
    for name, command in COMMANDS.items():
        function = as_flags(command.load()) if name == asked else _placeholder(command)
        app.command(name, short_help=command.help)(function)
    return app


def _placeholder(command: Command) -> Callable[[], None]:
    """Return a stand-in that has the help of a command and never runs."""

    def not_asked_for() -> None:
        raise RuntimeError(f"{command.target} was not loaded")

    not_asked_for.__doc__ = command.help
    return not_asked_for


def _show_version(is_asked: bool) -> bool:
    if is_asked:
        print(f"likely {__version__}")
        raise typer.Exit
    return is_asked


def _group(
    version: bool = typer.Option(
        False, "--version", callback=_show_version, is_eager=True, help="Print the version."
    ),
) -> None:
    """Read the probabilities of language models: exactly, fast, with nothing hidden."""
