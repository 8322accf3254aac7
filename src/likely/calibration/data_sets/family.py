"""What a family of items is, and the table of all of them. Unit: none."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Literal, overload

from likely.calibration.data_sets.items import Item
from likely.core.registry import Registry
from likely.errors import InputError, UnknownNameError

Preset = Literal["smoke", "lite", "full"]

PRESETS: tuple[Preset, ...] = ("smoke", "lite", "full")
"""``smoke`` is for tests, ``lite`` for a laptop, ``full`` has the size of the paper."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """Items of one kind, as a pure function of version, preset, seed and design.

    Attributes:
        name: Its registry name.
        version: Raised when any of its items changes.
        question: In one line, what it asks.
        templates: Wordings by id.
        plan: From preset, seed and design to one light spec an item; a spec is hashable and its
            shape is the family's own.
        render: From a spec to its item.
        designs: Which designs ``plan`` knows, the default first.
    """

    name: str
    version: int
    question: str
    templates: Mapping[str, str]
    plan: Callable[[Preset, int, str], Sequence[object]]
    render: Callable[[object], Item]
    designs: tuple[str, ...] = ("balanced",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Items(Sequence[Item]):
    """The items of a data set, each made when it is asked for: a large set takes little memory.

    Attributes:
        family: That makes them.
        preset: Of the set.
        seed: Of the set.
        design: Of the set.
        specs: One an item.
    """

    family: Family
    preset: str
    seed: int
    design: str
    specs: Sequence[object] = field(repr=False)

    @overload
    def __getitem__(self, index: int) -> Item: ...
    @overload
    def __getitem__(self, index: slice) -> "Items": ...
    def __getitem__(self, index: int | slice) -> "Item | Items":
        """Return an item, or the set of a slice."""
        if isinstance(index, slice):
            return Items(
                family=self.family, preset=self.preset, seed=self.seed, design=self.design,
                specs=self.specs[index],
            )  # fmt: skip
        return self.family.render(self.specs[index])

    def __len__(self) -> int:
        return len(self.specs)

    def __iter__(self) -> Iterator[Item]:
        return map(self.family.render, self.specs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Joined(Sequence[Item]):
    """Several data sets end to end, still made as they are asked for.

    Attributes:
        parts: The data sets.
    """

    parts: tuple[Items, ...]

    @overload
    def __getitem__(self, index: int) -> Item: ...
    @overload
    def __getitem__(self, index: slice) -> "Joined": ...
    def __getitem__(self, index: int | slice) -> "Item | Joined":
        """Return an item, or what a slice with step 1 leaves of each part."""
        if isinstance(index, slice):
            start, stop, step = index.indices(len(self))
            if step != 1:
                raise InputError(f"joined data sets are sliced without steps, got {step}")
            kept = []
            for part in self.parts:
                kept.append(part[max(start, 0) : max(stop, 0)])
                start, stop = start - len(part), stop - len(part)
            return Joined(parts=tuple(kept))
        place = index + len(self) if index < 0 else index
        for part in self.parts:
            if 0 <= place < len(part):
                return part[place]
            place -= len(part)
        raise IndexError(index)

    def __len__(self) -> int:
        return sum(len(part) for part in self.parts)

    def __iter__(self) -> Iterator[Item]:
        return chain.from_iterable(self.parts)


def build_all(
    names: Sequence[str], *, preset: str = "lite", seed: int = 0, design: str | None = None
) -> Joined:
    """Return several data sets end to end; see `build`.

    Args:
        names: Of `FAMILIES`.
        preset: As there.
        seed: As there.
        design: As there, which every family must have.

    Raises:
        UnknownNameError: As there.
        InputError: As there.

    >>> len(build_all(["colors", "distributions"], preset="smoke"))
    160
    """
    return Joined(
        parts=tuple(build(name, preset=preset, seed=seed, design=design) for name in names)
    )


def build(name: str, *, preset: str = "lite", seed: int = 0, design: str | None = None) -> Items:
    """Return a data set: the same items for the same arguments, on any machine.

    Args:
        name: A name of `FAMILIES`.
        preset: One of `PRESETS`.
        seed: Of the numbers that are drawn.
        design: One of the family's designs; its first by default.

    Raises:
        UnknownNameError: No such family or preset.
        InputError: The family has no such design.

    >>> build("colors", preset="smoke")[0].context[:36]
    'A jar holds 83 black beads and 86 gr'
    """
    family = FAMILIES.load(name)
    if preset not in PRESETS:
        raise UnknownNameError.among("preset", preset, PRESETS)
    chosen = family.designs[0] if design is None else design
    if chosen not in family.designs:
        raise InputError(f"the designs of {name!r} are {list(family.designs)}, got {chosen!r}")
    specs = family.plan(preset, seed, chosen)
    return Items(family=family, preset=preset, seed=seed, design=chosen, specs=specs)


_HOME = "likely.calibration.data_sets.families"

PAPER = ("colors", "wordproblems", "distributions")
"""The families of Lovering et al. (2025), in our own wordings."""

FAMILIES: Registry[Family] = Registry(
    "family",
    {
        "colors": f"{_HOME}.colors:COLORS",
        "wordproblems": f"{_HOME}.wordproblems:WORDPROBLEMS",
        "distributions": f"{_HOME}.distributions:DISTRIBUTIONS",
        "coin_bias": f"{_HOME}.coin_bias:COIN_BIAS",
        "coin_count": f"{_HOME}.coin_count:COIN_COUNT",
        "dice_sum": f"{_HOME}.dice_sum:DICE_SUM",
        "dice_event": f"{_HOME}.dice_event:DICE_EVENT",
        "weather_pct": f"{_HOME}.weather_pct:WEATHER_PCT",
        "notation": f"{_HOME}.notation:NOTATION",
        "bayes_update": f"{_HOME}.bayes_update:BAYES_UPDATE",
        "no_replacement": f"{_HOME}.no_replacement:NO_REPLACEMENT",
        "independence": f"{_HOME}.independence:INDEPENDENCE",
        "categorical_k": f"{_HOME}.categorical_k:CATEGORICAL_K",
        "zero_one": f"{_HOME}.zero_one:ZERO_ONE",
        "large_numbers": f"{_HOME}.large_numbers:LARGE_NUMBERS",
        "scaled": f"{_HOME}.scaled:SCALED",
        "distractor": f"{_HOME}.distractor:DISTRACTOR",
        "uniform_words": f"{_HOME}.uniform_words:UNIFORM_WORDS",
        "named_dist": f"{_HOME}.named_dist:NAMED_DIST",
        "languages": f"{_HOME}.languages:LANGUAGES",
        "icl": f"{_HOME}.icl:ICL",
        "verbalised": f"{_HOME}.verbalised:VERBALISED",
    },
    group="likely.calibration",
)
"""Name to family. To add one: one file in ``families``, one line in this table."""
