"""Sliding windows over a text longer than the context: each token is scored exactly once."""

from dataclasses import dataclass

from likely.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """One window: ids ``start .. stop`` of the text, of which ``first .. stop`` are scored."""

    start: int
    first: int
    stop: int


def plan_windows(n_ids: int, *, window: int, stride: int | None = None) -> tuple[Window, ...]:
    """Return windows in which each id but the first is scored once.

    A window evaluates at most ``window`` ids and scores the id after each of its last ones; later
    windows score ``stride`` ids each, with at least ``window - stride + 1`` ids before the first.
    A window that does not begin the text has no BOS of its own: the model sees the text as if it
    began there.

    Args:
        n_ids: Length of the text in ids, BOS included.
        window: Most ids that one evaluation may hold, at least 1.
        stride: How far each window moves on, 1 to ``window``; half the window by default.

    Raises:
        InputError: The window or the stride is out of range.

    >>> [(w.start, w.first, w.stop) for w in plan_windows(6, window=3, stride=2)]
    [(0, 1, 4), (2, 4, 6)]
    """
    if window < 1:
        raise InputError(f"a window holds at least 1 token, got window={window!r}")
    stride = max(1, window // 2) if stride is None else stride
    if not 1 <= stride <= window:
        raise InputError(f"the stride lies between 1 and window={window}, got stride={stride!r}")
    windows = []
    first = 1
    while first < n_ids:
        stop = min(n_ids, window + 1 if first == 1 else first + stride)
        windows.append(Window(start=max(0, stop - 1 - window), first=first, stop=stop))
        first = stop
    return tuple(windows)
