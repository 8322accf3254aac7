"""From text to `Formula`, with the place of every mistake in its message."""

import re
import warnings
from functools import cache
from importlib import resources

from lark import Lark, Token, Transformer, v_args
from lark.exceptions import UnexpectedInput, UnexpectedToken

from likely.errors import InputError, LikelyWarning
from likely.logic.formula import FALSE, TRUE, WORDS, Domain, Formula, Op
from likely.logic.guards import normal_guard

MAX_DEPTH = 60
"""How deeply formulas may nest: far beyond what a person writes, below where Python stops."""


def parse(text: str) -> Formula:
    """Return the formula that a text spells.

    ``!`` ``&`` ``|`` ``^`` ``->`` ``<->`` or ``not and or xor implies iff``, in this order from
    tight to loose; ``exactly(k, ...)``, ``atleast``, ``atmost``, ``between(l, h, ...)``,
    ``exactly_one(...)``, ``at_most_one``, ``at_least_one``, ``none``, ``all_equal``, ``odd``,
    ``even``; ``forall r in rows where r.kind == 'safe': a(r) -> b(r)``, likewise ``exists``,
    ``exactly_one``, ``count>=2``.

    Raises:
        InputError: The text is no formula; the message names the column.

    Warns:
        LikelyWarning: ``^`` joins three or more: that is odd parity, not exactly-one.

    >>> str(parse("not (a and b) -> exactly(2, a, b, c)"))
    '!(a & b) -> exactly(2, a, b, c)'
    """
    if not text.strip():
        raise InputError("a formula has at least one event, got an empty text")
    try:
        formula = _parser().parse(text)
    except UnexpectedInput as error:
        raise InputError(_explain(text, error)) from None
    except InputError as error:
        raise InputError(f"the formula {text!r}: {error}") from None
    # With its transformer the parser returns what `start` makes: the formula itself.
    if not isinstance(formula, Formula):
        raise InputError(f"the formula {text!r} cannot be read")
    _check(text, formula)
    return formula


def as_formula(formula: Formula | str) -> Formula:
    """Return a formula given as such or as text."""
    return parse(formula) if isinstance(formula, str) else formula


@cache
def _parser() -> Lark:
    grammar = resources.files("likely.logic").joinpath("grammar.lark").read_text("utf-8")
    return Lark(grammar, parser="lalr", transformer=_Build(), maybe_placeholders=True)


def _check(text: str, formula: Formula) -> None:
    level = [formula]
    for _ in range(MAX_DEPTH):
        level = [part for node in level for part in node.operands]
        if not level:
            break
    else:
        raise InputError(f"a formula nests at most {MAX_DEPTH} deep, {text[:60]!r}... goes deeper")
    stack = [formula]
    while stack:
        node = stack.pop()
        stack.extend(node.operands)
        if node.op == "xor" and len(node.operands) > 2:
            warnings.warn(
                f"{str(node)!r} holds where an odd number of its {len(node.operands)} parts do; "
                "write exactly_one(...) if one of them is meant, odd(...) if not",
                LikelyWarning,
                stacklevel=3,
            )


_COUNTS: dict[str, tuple[int, int | None]] = {
    "exactly_one": (1, 1), "at_most_one": (0, 1), "at_least_one": (1, None), "none": (0, 0),
}  # fmt: skip
_OTHERS: dict[str, Op] = {
    "all_equal": "all_equal", "odd": "odd", "even": "even", "forall": "and", "exists": "or",
}  # fmt: skip


@v_args(inline=True)
class _Build(Transformer[Token, Formula]):
    """Makes nodes of the parser's matches; the method names are those of the grammar."""

    def true(self) -> Formula:
        return TRUE

    def false(self) -> Formula:
        return FALSE

    def variable(self, name: Token, *args: str) -> Formula:
        if name in WORDS:
            raise InputError(
                f"{str(name)!r} at column {name.column} is a word of the language and no event"
            )
        return Formula("var", name=str(name), args=args)

    def argument(self, token: Token) -> str:
        if token.type != "STRING":
            return str(token)
        return token[1:-1].replace("\\'", "'").replace('\\"', '"').replace("\\\\", "\\")

    def not_(self, part: Formula) -> Formula:
        return Formula("not", (part,))

    def and_(self, *parts: Formula) -> Formula:
        return Formula("and", parts)

    def or_(self, *parts: Formula) -> Formula:
        return Formula("or", parts)

    def xor(self, *parts: Formula) -> Formula:
        return Formula("xor", parts)

    def implies(self, left: Formula, right: Formula) -> Formula:
        return Formula("implies", (left, right))

    def iff(self, left: Formula, right: Formula) -> Formula:
        return Formula("iff", (left, right))

    def exactly(self, k: Token, *parts: Formula | Domain) -> Formula:
        return _count(int(k), int(k), parts)

    def atleast(self, k: Token, *parts: Formula | Domain) -> Formula:
        return _count(int(k), None, parts)

    def atmost(self, k: Token, *parts: Formula | Domain) -> Formula:
        return _count(0, int(k), parts)

    def between(self, low: Token, high: Token, *parts: Formula | Domain) -> Formula:
        if int(low) > int(high):
            raise InputError(f"between(low, high, ...) needs low <= high, got {low} and {high}")
        return _count(int(low), int(high), parts)

    def named(self, word: Token) -> str:
        return str(word)

    def named_count(self, word: str, *parts: Formula | Domain) -> Formula:
        return _apply(word, parts)

    def quantifier(self, word: Token, sign: Token | None = None, k: Token | None = None) -> str:
        return str(word) if k is None else f"{sign}{k}"

    def source(self, name: Token, column: Token | None) -> str:
        return str(name) if column is None else f"{name}.{column}"

    def range(self, *parts: Token | str | None) -> Domain:
        *names, source, guard = parts
        return Domain(
            variables=tuple(str(name) for name in names),
            source=str(source),
            guard=None if guard is None else normal_guard(str(guard)),
        )

    def quantified(self, word: str, domain: Domain, body: Formula) -> Formula:
        return _apply(word, (body, domain))


def _apply(word: str, parts: tuple[Formula | Domain, ...]) -> Formula:
    if word in _OTHERS:
        operands, domain = _split(parts)
        return Formula(_OTHERS[word], operands, domain=domain)
    if word in _COUNTS:
        return _count(*_COUNTS[word], parts)
    sign, k = word[:2], int(word[2:])
    return _count(0 if sign == "<=" else k, None if sign == ">=" else k, parts)


def _count(low: int, high: int | None, parts: tuple[Formula | Domain, ...]) -> Formula:
    operands, domain = _split(parts)
    return Formula("card", operands, low=low, high=high, domain=domain)


def _split(parts: tuple[Formula | Domain, ...]) -> tuple[tuple[Formula, ...], Domain | None]:
    operands = tuple(part for part in parts if isinstance(part, Formula))
    domains = [part for part in parts if isinstance(part, Domain)]
    return operands, domains[0] if domains else None


_SHOWN = {"NAME": "an event", "INT": "a number", "STRING": "a text", "GUARD": "a condition"}
_OPERATORS = {"&", "|", "^", "->", "<->", "and", "or", "xor", "implies", "iff"}


def _explain(text: str, error: UnexpectedInput) -> str:
    at = error.pos_in_stream
    if isinstance(error, UnexpectedToken) and error.token.type == "$END":
        at = len(text.rstrip())
    word = re.match(r"\w+|\S", text[at or 0 :])
    column = (at or 0) - (text.rfind("\n", 0, at) + 1) + 1
    line = f"line {text.count(chr(10), 0, at) + 1}, " if "\n" in text.strip() else ""
    found = repr(word.group()) if word else "the end"
    expected = f", where {_expected(error)} was expected" if _expected(error) else ""
    return f"the formula {text!r} has {found} at {line}column {column}{expected}"


def _expected(error: UnexpectedInput) -> str:
    """Return what could stand there; nothing where the text belongs to no token at all."""
    if not isinstance(error, UnexpectedToken):
        return ""
    patterns = {t.name: t.pattern.value for t in _parser().terminals}
    shown = {_SHOWN.get(name, patterns.get(name, "the end")) for name in error.accepts}
    if "an event" in shown and "!" in shown:
        shown = {"an event", "!", "("}
    if "<->" in shown:  # the tighter ones may be reduced away before the mistake shows
        shown = (shown - _OPERATORS) | {"an operator"}
    plain = sorted(x for x in shown if x == "the end" or x.startswith(("a ", "an ")))
    quoted = sorted(repr(x) for x in shown if x not in plain)
    return " or ".join(plain + quoted)


def parse_quietly(text: str) -> Formula:
    """Return a formula from text that was parsed before, when its warnings were heard."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LikelyWarning)
        return parse(text)
