"""Calibration of models that give no log-probabilities: from samples. Unit: probability.

Each sample is one independent answer at temperature 1. What it begins with, up to the end of its
word, is an option or ``other``; a failure to answer is never left out. The distance of counts from
a law is biased upwards, so it is corrected, and comes with the band of a model that is right.
"""

import re
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from likely.calibration.data_sets.items import Item
from likely.calibration.surface_kinds import option_surfaces
from likely.calibration.tables import Masses, Targets, exact_masses
from likely.core.answer_events import WordEnd
from likely.core.estimate import Cost, Estimate
from likely.core.generation import Sampler
from likely.core.text.surfaces import Level, is_numeral
from likely.core.text.word_ends import Kind, ends_word
from likely.errors import InputError
from likely.stats.intervals import clopper_pearson
from likely.stats.multinomial import (
    Fit,
    corrected_total_variation,
    dirichlet_intervals,
    distance_interval,
    kolmogorov_smirnov_fit,
    multinomial_fit,
    total_variation_band,
)

MAX_TOKENS = 8
"""Tokens of a sample by default: more than any one word of the items has in common tokenizers."""

_UNSPACED = frozenset({"ja", "km", "lo", "my", "th", "zh"})  # no space tells where a word ends
_FIRST_WORD = re.compile(r"\w[\w'\u2019-]*[^\w'\u2019-]")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SampleCounts:
    """How often each option of N items came.

    Attributes:
        offsets: As in `Targets`.
        counts: Shape ``(M,)``.
        other: Shape ``(N,)``: samples that are no option.
    """

    offsets: Int[np.ndarray, "N1"]
    counts: Int[np.ndarray, "M"]
    other: Int[np.ndarray, "N"]

    @property
    def n(self) -> Int[np.ndarray, "N"]:
        """Samples of each item."""
        return np.asarray(np.add.reduceat(self.counts, self.offsets[:-1]) + self.other)

    def of(self, i: int) -> Int[np.ndarray, "n"]:
        """Return the counts of one item's options."""
        return self.counts[int(self.offsets[i]) : int(self.offsets[i + 1])]

    def masses(self) -> Masses:
        """Return the frequencies as log-masses, for metrics that need no correction."""
        totals = np.repeat(self.n, np.diff(self.offsets))
        with np.errstate(divide="ignore"):
            return exact_masses(self.offsets, np.log(self.counts / totals))


@dataclass(frozen=True, slots=True, kw_only=True)
class SampledItem:
    """What samples say of one item.

    Attributes:
        pm: Share of samples that are an option, with its exact binomial interval.
        shares: Of the samples that are an option, the share of each, with the interval of a
            Dirichlet posterior; None if no sample is one.
        wd01: Total variation distance from the ideal, corrected and not below 0; diagnostics:
            ``corrected`` as it came, ``plug_in``, ``null_mean`` and ``null_high``, the mean and
            the upper end of the plug-in of a model that is right. None if no sample is an option.
        fit: Test of the counts against the ideal; None if no sample is an option.
        line_fit: Kolmogorov-Smirnov test, where options are numbers.
    """

    pm: Estimate
    shares: tuple[Estimate, ...] | None
    wd01: Estimate | None
    fit: Fit | None
    line_fit: Fit | None

    def to_dict(self) -> dict[str, object]:
        """Return the fields as a mapping for strict JSON."""
        return {
            "pm": self.pm.to_dict(),
            "shares": None if self.shares is None else [s.to_dict() for s in self.shares],
            "wd01": None if self.wd01 is None else self.wd01.to_dict(),
            "fit_p": None if self.fit is None else self.fit.p_value,
            "line_fit_p": None if self.line_fit is None else self.line_fit.p_value,
        }


def option_reader(
    item: Item, *, level: Level = "paper", word_end: WordEnd = "auto"
) -> Callable[[str], int | None]:
    """Return a function from a sampled text to the place of its option, or None.

    Args:
        item: Whose options they are.
        level: Which spellings count; spaces and marks before them count only as it says.
        word_end: Whether the word must end after the option, so that ``reddish`` is not ``red``;
            the end of the text ends a word. ``auto``: in languages that part words by spaces.

    >>> from likely.calibration.data_sets.family import build
    >>> read = option_reader(build("colors", preset="smoke")[0])
    >>> [read(text) for text in (" green.", "Black", " greenish", "The")]
    [1, 0, None, None]
    """
    if word_end not in ("auto", "always", "never"):
        raise InputError(f"word_end is 'auto', 'always' or 'never', got {word_end!r}")
    must_end = word_end == "always" or (word_end == "auto" and item.lang not in _UNSPACED)
    spelled = [
        (text, place)
        for place, option in enumerate(item.options)
        for text in option_surfaces(option, item.lead, level)
    ]
    spelled.sort(key=lambda pair: -len(pair[0]))

    def read(text: str) -> int | None:
        for form, place in spelled:
            if text.startswith(form):
                after = text[len(form) :].encode()
                kind: Kind = "numeral" if is_numeral(form) else "word"
                if not must_end or not after or ends_word(after, kind):
                    return place
        return None

    return read


def has_first_word(text: str) -> bool:
    """Return whether a text's first word is over: where a sample may stop.

    >>> has_first_word(" red"), has_first_word(" red,"), has_first_word("...")
    (False, True, False)
    """
    return _FIRST_WORD.search(text) is not None


def draw_counts(
    sampler: Sampler,
    items: Sequence[Item],
    n: int,
    *,
    level: Level = "paper",
    word_end: WordEnd = "auto",
    max_tokens: int = MAX_TOKENS,
    seed: int = 0,
    at_once: int = 1,
) -> SampleCounts:
    """Return how often each option comes in ``n`` independent samples of each item.

    Args:
        sampler: A server, or `likely.core.generation.ExactSampler` over a local model, best with
            ``stop=has_first_word``.
        items: Of any families.
        n: Samples an item, at least 1.
        level: As in `option_reader`.
        word_end: As in `option_reader`.
        max_tokens: Of a sample; a word cut off by it counts as ended.
        seed: Of the samples.
        at_once: Items under way at once.

    Raises:
        InputError: No items, or ``n`` below 1.
    """
    if not items or n < 1:
        raise InputError(f"at least 1 item and 1 sample are needed, got {len(items)} and {n!r}")

    def count(item: Item) -> Int[np.ndarray, "n1"]:
        read = option_reader(item, level=level, word_end=word_end)
        texts = sampler.sample_texts(item.context, n, max_tokens=max_tokens, seed=seed)
        places = [read(text) for text in texts]
        coded = [len(item.options) if place is None else place for place in places]
        return np.bincount(coded, minlength=len(item.options) + 1)

    with ThreadPoolExecutor(max_workers=at_once) as pool:
        found = list(pool.map(count, items))
    return SampleCounts(
        offsets=np.cumsum([0, *(len(own) - 1 for own in found)]),
        counts=np.concatenate([own[:-1] for own in found]),
        other=np.array([own[-1] for own in found]),
    )


def sampled_item(
    counts: Int[np.ndarray, "n"],
    other: int,
    ideal: Float[np.ndarray, "n"],
    *,
    values: Float[np.ndarray, "n"] | None = None,
    level: float = 0.95,
    seed: int = 0,
) -> SampledItem:
    """Return the estimates of one item from its counts.

    Args:
        counts: Of each option.
        other: Samples that are no option.
        ideal: Law over the options.
        values: Places of the options on the line of numbers; None or NaN for names.
        level: Of all intervals and of the null band.
        seed: Of what is simulated.

    Raises:
        InputError: No samples.
    """
    hits, n = int(counts.sum()), int(counts.sum()) + other
    low, high = clopper_pearson(hits, n, level=level)
    cost = Cost(model_calls=n)
    pm = Estimate(
        value=hits / n, low=low, high=high, level=level, unit="prob", method="clopper_pearson",
        cost=cost, diagnostics={"n_samples": n, "n_hits": hits},
    )  # fmt: skip
    if hits == 0:
        return SampledItem(pm=pm, shares=None, wd01=None, fit=None, line_fit=None)
    shares = tuple(
        Estimate(
            value=float(count / hits), low=min(float(ends[0]), float(count / hits)),
            high=max(float(ends[1]), float(count / hits)), level=level, unit="prob",
            method="dirichlet", cost=cost,
        )
        for count, ends in zip(counts, dirichlet_intervals(counts, level=level), strict=True)
    )  # fmt: skip
    line_fit = None
    if values is not None and not np.isnan(values).any():
        order = np.argsort(values, kind="stable")
        line_fit = kolmogorov_smirnov_fit(counts[order], ideal[order], seed=seed)
    return SampledItem(
        pm=pm,
        shares=shares,
        wd01=_distance(counts, ideal, level, seed, cost),
        fit=multinomial_fit(counts, ideal, seed=seed),
        line_fit=line_fit,
    )


def _distance(
    counts: Int[np.ndarray, "n"], ideal: Float[np.ndarray, "n"], level: float, seed: int, cost: Cost
) -> Estimate:
    hits = int(counts.sum())
    corrected = corrected_total_variation(counts, ideal)
    value = max(0.0, corrected)
    low, high = distance_interval(counts, ideal, level=level, seed=seed)
    null_mean, null_high = total_variation_band(ideal, hits, level=level, seed=seed)
    return Estimate(
        value=value, low=min(low, value), high=max(high, value), level=level, unit="prob",
        method="sampled_total_variation", cost=cost,
        diagnostics={
            "corrected": corrected,
            "plug_in": float(0.5 * np.abs(counts / hits - ideal).sum()),
            "null_mean": null_mean,
            "null_high": null_high,
            "n_hits": hits,
        },
    )  # fmt: skip


def sample_metrics(
    targets: Targets, counts: SampleCounts, *, level: float = 0.95, seed: int = 0
) -> dict[str, Float[np.ndarray, "N"]]:
    """Return the estimates of all items as arrays of shape ``(N,)``; NaN where not defined.

    Args:
        targets: Of the same items.
        counts: From `draw_counts`.
        level: Of all intervals.
        seed: Of what is simulated; each item has a stream of its own.

    Returns:
        ``pm``, ``pi1`` (two options) and ``wd01``, each with ``_low`` and ``_high``;
        ``wd01_corrected``, which may be below 0 and is the one to take means of; ``wd01_plug_in``,
        ``wd01_null_mean``, ``wd01_null_high``; ``fit_p`` and ``line_fit_p``; ``n_samples``.

    Raises:
        InputError: Targets and counts of different items.
    """
    if not np.array_equal(targets.offsets, counts.offsets):
        raise InputError("targets and counts must be of the same items, their options differ")
    names = [f"{name}{end}" for name in ("pm", "pi1", "wd01") for end in ("", "_low", "_high")]
    parts = ("corrected", "plug_in", "null_mean", "null_high")
    names += [*(f"wd01_{part}" for part in parts), "fit_p", "line_fit_p"]
    found = {name: np.full(targets.n_items, np.nan) for name in names}
    found["n_samples"] = counts.n.astype(np.float64)
    for i in range(targets.n_items):
        where = slice(int(targets.offsets[i]), int(targets.offsets[i + 1]))
        one = sampled_item(
            counts.of(i), int(counts.other[i]), targets.ideal[where], values=targets.values[where],
            level=level, seed=seed + i,
        )  # fmt: skip
        estimates = {"pm": one.pm, "wd01": one.wd01}
        if one.shares is not None and len(one.shares) == 2:
            estimates["pi1"] = one.shares[0]
        for name, estimate in estimates.items():
            if estimate is not None:
                ends = (estimate.value, estimate.low, estimate.high)
                for end, value in zip(("", "_low", "_high"), ends, strict=True):
                    found[f"{name}{end}"][i] = value
        if one.wd01 is not None:
            for part in parts:
                found[f"wd01_{part}"][i] = one.wd01.diagnostics[part]
        for name, fit in (("fit_p", one.fit), ("line_fit_p", one.line_fit)):
            if fit is not None:
                found[name][i] = fit.p_value
    return found
