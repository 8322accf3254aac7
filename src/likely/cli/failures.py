"""How a command ends: 0 done, 1 failed and told in one line, 2 usage, 130 interrupted."""

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

import typer

from likely.errors import LikelyError, LikelyWarning

FAILED = 1
INTERRUPTED = 130  # what shells report for a process that SIGINT ended
BROKEN_PIPE = 141  # and for SIGPIPE: the reader of our output left


@contextmanager
def told_in_one_line(*, debug: bool) -> Iterator[None]:
    """Turn what a command raises into one line on stderr and an exit code.

    Args:
        debug: Whether errors keep their traceback.
    """
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        try:
            yield
            sys.stdout.flush()
        except LikelyError as error:
            if debug:
                raise
            say(f"error: {error}")
            raise typer.Exit(FAILED) from error
        except KeyboardInterrupt:
            say("interrupted")
            raise typer.Exit(INTERRUPTED) from None
        except BrokenPipeError:
            # What is left in the buffer has no reader; the exit must not stumble over it.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(BROKEN_PIPE) from None


def say(line: str) -> None:
    """Print one line on stderr."""
    print(" ".join(line.split()), file=sys.stderr, flush=True)


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    if issubclass(category, LikelyWarning):
        say(f"warning: {message}")
    else:
        text = warnings.formatwarning(message, category, filename, lineno, line)
        print(text, file=file or sys.stderr, end="")
