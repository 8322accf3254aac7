"""The YAML form of a theory, checked once at the door: unknown keys and doubled keys are errors."""

import difflib
from pathlib import Path
from typing import Annotated, Literal

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from likely.errors import InputError, StoreError


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


def _no_bool(value: object) -> object:
    if isinstance(value, bool):
        word = "yes, true or on" if value else "no, false or off"
        raise ValueError(f"YAML reads the bare words {word} as a truth value; put it in quotes")
    if isinstance(value, int | float):
        raise ValueError(f"{value!r} is a number here; put it in quotes to mean the text")
    return value


Text = Annotated[str, BeforeValidator(_no_bool)]
Texts = Annotated[list[Text], Field(min_length=1)]


class EventPart(_Part):
    """One event: a context, or the name of a frame, and the answer that may follow."""

    frame: Text | None = None
    context: Text | None = None
    answer: Text | Texts | None = None
    spellings: Texts | None = None
    each: dict[Text, Text] | None = None
    candidates: Texts | None = None
    neutral: Text | None = None


class PackPart(_Part):
    """Frames that belong together, and the rows that they fit."""

    id: Text
    where: Text | None = None
    frames: dict[Text, Text]


class RulePart(_Part):
    """One rule with its kind."""

    formula: Text
    kind: Literal["hard", "soft", "noisy", "score"] = "hard"
    weight: float | int | None = None


class ClaimPart(_Part):
    """Rules that are judged together, given the evidence."""

    rules: dict[Text, Text | RulePart]
    evidence: Text | None = None
    where: Text | None = None
    comparison: bool = False


class ConditionalPart(_Part):
    """An implication whose vacuity is reported."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, populate_by_name=True)
    if_: Text = Field(alias="if")
    then: Text


class OrderingPart(_Part):
    """Two events of which one should be the likelier."""

    more: Text
    less: Text


class TheoryPart(_Part):
    """The whole file."""

    name: Text
    version: int = 1
    about: Text = ""
    targets: list[Text] = []
    content: list[Text] = []
    rows: list[dict[Text, Text | list[Text]]] = []
    frames: dict[Text, Text] = {}
    packs: list[PackPart] = []
    events: dict[Text, EventPart]
    rules: dict[Text, Text | RulePart] = {}
    evidence: Text | None = None
    theories: dict[Text, Text | ClaimPart] = {}
    conditionals: dict[Text, ConditionalPart] = {}
    orderings: dict[Text, OrderingPart] = {}
    queries: dict[Text, Text] = {}


class _Loader(yaml.SafeLoader):
    """Refuses a key that is given twice, which plain YAML would drop."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[object, object]:
        keys = [key for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        for i, key in enumerate(keys):
            if key.value in [earlier.value for earlier in keys[:i]]:
                raise yaml.MarkedYAMLError(
                    problem=f"the key {key.value!r} is given twice", problem_mark=key.start_mark
                )
        return super().construct_mapping(node, deep=deep)


def read_yaml(path: Path) -> TheoryPart:
    """Return the checked content of a theory file.

    Raises:
        StoreError: The file cannot be read.
        InputError: It is no YAML, or not a theory; the message names the place.
    """
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8"
        raise StoreError(f"the theory {str(path)!r} cannot be read: {reason}") from None
    return read_text(text, where=repr(str(path)))


def read_text(text: str, *, where: str) -> TheoryPart:
    """Return the checked content of a theory given as YAML text.

    Raises:
        InputError: It is no YAML, or not a theory; the message names the place.
    """
    try:
        data = yaml.load(text, Loader=_Loader)  # _Loader is a SafeLoader
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise InputError(f"{where} is not YAML{place}: {error.problem}") from None
    except yaml.YAMLError as error:
        raise InputError(f"{where} is not YAML: {error}") from None
    if not isinstance(data, dict):
        raise InputError(f"{where} holds {type(data).__name__}, not the keys of a theory")
    return check(data, where=where)


def check(data: object, *, where: str) -> TheoryPart:
    """Return plain data as a checked theory.

    Raises:
        InputError: The first thing that is wrong, with its place.
    """
    try:
        return TheoryPart.model_validate(data)
    except ValidationError as error:
        # Of a value that may have several forms, the form that it came nearest to is told.
        worst = max(error.errors(), key=lambda found: len(_place(found["loc"])))
        place = ".".join(_place(worst["loc"]))
        message = worst["msg"].removeprefix("Value error, ")
        if worst["type"] == "extra_forbidden":
            close = difflib.get_close_matches(str(worst["loc"][-1]), _keys(), n=1)
            hint = f"did you mean {close[0]!r}?" if close else f"known: {', '.join(_keys())}"
            message = f"no such key; {hint}"
        raise InputError(f"{where}, at {place or 'the top'}: {message}") from None


def _place(path: tuple[str | int, ...]) -> list[str]:
    """Return the keys of a path, without the names of forms that pydantic puts between."""
    return [str(part) for part in path if isinstance(part, int) or _is_key(part)]


def _is_key(part: str) -> bool:
    return not (part.endswith("Part") or part.startswith(("function-", "constrained-", "list[")))


def _keys() -> list[str]:
    parts = (TheoryPart, EventPart, PackPart, ClaimPart, RulePart, ConditionalPart, OrderingPart)
    return sorted({key for part in parts for key in part.model_fields})
