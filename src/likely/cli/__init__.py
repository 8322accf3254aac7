"""The command line: one file a command, and the only code of likely that prints."""

from likely.cli.app import main as main

__all__ = ["main"]
