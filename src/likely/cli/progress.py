"""One progress bar for a whole job, in tokens; nothing at all where nobody watches."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from tqdm import tqdm


class TokenMeter:
    """A progress bar on stderr, shown from the start of the ``with`` block to its end.

    Satisfies `likely.core.engine.Meter`.

    Args:
        label: What the job is.
        quiet: Whether to show nothing; nothing is shown either unless stderr is a terminal.
        unit: What is counted.
        then: Label from when all that was expected has come, for a job that goes on after it.
    """

    def __init__(
        self, label: str, *, quiet: bool = False, unit: str = "tok", then: str | None = None
    ) -> None:
        self._label = label
        self._unit = unit
        self._then = then
        self._is_shown = not quiet and sys.stderr.isatty()
        self._bar: tqdm[NoReturn] | None = None

    def expect(self, tokens: int) -> None:
        """Add to the total; a negative number takes back what turned out not to be needed."""
        bar = self._open()
        if bar is not None:
            bar.total = max(bar.n, (bar.total or 0) + tokens)
            bar.refresh()

    def advance(self, tokens: int) -> None:
        """Move on."""
        bar = self._open()
        if bar is not None:
            bar.update(tokens)
            if self._then is not None and bar.total and bar.n >= bar.total:
                bar.set_description(self._then)

    def close(self) -> None:
        """Take the bar off the screen."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    def __enter__(self) -> "TokenMeter":
        self._open()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _open(self) -> "tqdm[NoReturn] | None":
        if self._bar is None and self._is_shown:
            from tqdm import tqdm

            self._bar = tqdm(
                total=0,
                desc=self._label,
                unit=self._unit,
                unit_scale=True,
                dynamic_ncols=True,
                leave=False,
                file=sys.stderr,
            )
        return self._bar


@contextmanager
def waiting(text: str, *, quiet: bool) -> Iterator[None]:
    """Show ``text`` on the terminal while something has no length to tell, then take it away."""
    is_shown = not quiet and sys.stderr.isatty()
    if is_shown:
        print(f"\r{text} ...", end="", file=sys.stderr, flush=True)
    try:
        yield
    finally:
        if is_shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
