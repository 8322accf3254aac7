"""Estimates of rare events as a page shows them: in words, and on one axis with the truth. Nats."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from likely.core.estimate import Estimate
from likely.errors import InputError
from likely.rare.event import Event
from likely.rare.ground_truth import Truth
from likely.rare.result import RareEstimate
from likely.report.decades import Decades, Strip, strip

_SOME = 2  # estimates of a method, from which on a warning that all have is said once


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """One estimate as it is shown.

    Attributes:
        found: The estimate.
        what: What must happen, before and after the name of what wins.
        names: What wins: one text, or several of which any does.
        truth: What is known of the truth, nats; None for nothing.
        strip: Both on the axis.
        doubts: Its warnings, but for those that all of its method share.
        n_zero_runs: Independent runs that estimate 0.
        n_runs_left: Runs above 0 that lie to the left of the axis.
    """

    found: RareEstimate
    what: tuple[str, str]
    names: tuple[str, ...]
    truth: Estimate | None
    strip: Strip
    doubts: tuple[str, ...]
    n_zero_runs: int
    n_runs_left: int

    @property
    def is_unseen(self) -> bool:
        """Whether the truth was counted and the event never seen."""
        return self.truth is not None and self.truth.value == -math.inf


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """Estimates under one law, on one axis.

    Attributes:
        axis: Of all.
        shown: An estimate each, in the order given.
        shared: Methods with a warning that each of two or more estimates of it has.
        has_runs: Whether any has independent runs.
        has_truth: Whether the truth of any is known.
        has_arrows: Whether an interval goes on beyond the axis.
    """

    axis: Decades
    shown: tuple[Shown, ...]
    shared: tuple[tuple[str, str], ...]
    has_runs: bool
    has_truth: bool
    has_arrows: bool


def look_at_rare(found: Sequence[RareEstimate], known: Truth | None) -> Look:
    """Return how estimates are shown.

    Args:
        found: One or more, of one model under one law of inputs.
        known: The truth of that model under that law, or None.

    Raises:
        InputError: There is none, or they or the truth are of different models or laws.
    """
    check_together(found, known)
    truths = [_truth(one, known) for one in found]
    axis = _axis(found, truths)
    shared = _shared(found)
    shown = tuple(
        _shown(one, truth, axis, shared) for one, truth in zip(found, truths, strict=True)
    )
    strips = [one.strip for one in shown]
    return Look(
        axis=axis,
        shown=shown,
        shared=shared,
        has_runs=any(one.found.replicates for one in shown),
        has_truth=any(truth is not None for truth in truths),
        has_arrows=any(one.leaves or one.truth_leaves for one in strips),
    )


def check_together(found: Sequence[RareEstimate], known: Truth | None) -> None:
    """Raise unless all are of one model under one law.

    Raises:
        InputError: They are not, or there is none.
    """
    if not found:
        raise InputError("there is nothing to show: give at least one estimate")
    laws = {(one.model, one.fingerprint, one.distribution, one.law) for one in found}
    if len(laws) > 1:
        pairs = sorted({(model, law) for model, _, law, _ in laws})
        raise InputError(
            f"estimates on one page are of one model under one law of inputs, got {pairs!r}"
        )
    first = found[0]
    if known is not None and (known.fingerprint, known.law) != (first.fingerprint, first.law):
        raise InputError(
            f"the truth is that of {known.model!r} under {known.distribution!r}, the estimates are "
            f"of {first.model!r} under {first.distribution!r}; leave it out or take theirs"
        )


def words_of(event: Event) -> tuple[str, tuple[str, ...], str]:
    """Return what must happen: words, the names of what wins, and words after these.

    >>> words_of(Event(name=" a | b", steps=((7, 9),)))
    ('the likeliest next token is', (' a', 'b'), '')
    >>> words_of(Event(name="no by 2 nats", steps=((7,), (8,)), above=2.0))
    ('the greedy answer begins with', ('no',), 'each token more than 2 nats ahead of all others')
    """
    name = event.name.removesuffix(f" by {event.above:g} nats") if event.above else event.name
    parts = tuple(name.split(" | "))
    names = parts if len(parts) == len(event.winners) > 1 else (name,)
    before = "the likeliest next token is" if event.is_one_step else "the greedy answer begins with"
    subject = "" if event.is_one_step else "each token "
    if event.above > 0.0:
        return before, names, f"{subject}more than {event.above:g} nats ahead of all others"
    if event.above < 0.0:
        return before, names, f"or {subject}less than {-event.above:g} nats behind the best other"
    return before, names, ""


def _truth(one: RareEstimate, known: Truth | None) -> Estimate | None:
    """Return the truth of an event, nats, if it tells of such events."""
    if known is None or not one.event.is_plain:
        return None
    prob = known.prob(one.event.winners[0], level=one.log_prob.level)
    value, low, high = (_log(x) for x in (prob.value, prob.low, prob.high))
    return replace(prob, value=value, low=low, high=high, unit="nats")


def _log(prob: float) -> float:
    return math.log(prob) if prob > 0.0 else -math.inf


def _axis(found: Sequence[RareEstimate], truths: Sequence[Estimate | None]) -> Decades:
    inside, hanging = [], []
    for one in found:
        inside += [one.log_prob.value, one.log_prob.high]
        hanging += [one.log_prob.low, *one.replicates]
    for truth in truths:
        if truth is not None:
            inside += [truth.value, truth.high]
            hanging.append(truth.low)
    return Decades.around(inside, hanging)


def _shared(found: Sequence[RareEstimate]) -> tuple[tuple[str, str], ...]:
    """Return methods with the warnings that all of their estimates have, if there are some."""
    by_method: dict[str, list[RareEstimate]] = {}
    for one in found:
        by_method.setdefault(one.log_prob.method, []).append(one)
    return tuple(
        (method, text)
        for method, own in by_method.items()
        if len(own) >= _SOME
        for text in own[0].warnings
        if all(text in one.warnings for one in own)
    )


def _shown(
    one: RareEstimate, truth: Estimate | None, axis: Decades, shared: tuple[tuple[str, str], ...]
) -> Shown:
    before, names, after = words_of(one.event)
    method = one.log_prob.method
    n_zero = sum(x == -math.inf for x in one.replicates)
    return Shown(
        found=one,
        what=(before, after),
        names=names,
        truth=truth,
        strip=strip(one.log_prob, axis, truth=truth, runs=one.replicates),
        doubts=tuple(text for text in one.warnings if (method, text) not in shared),
        n_zero_runs=n_zero,
        n_runs_left=sum(axis.is_below(x) for x in one.replicates) - n_zero,
    )
