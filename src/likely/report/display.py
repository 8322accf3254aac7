"""How text and numbers look on the page: white space made visible, tiny numbers never shown as 0.

Unit: log-probabilities come in nats; what is shown names its own unit.
"""

import math
import re
import unicodedata

from likely.core.logspace import prob_text

LOG_2 = math.log(2.0)
_LOG_SMALL = math.log(1e-3)

_NAMED = {" ": "␣", "\n": "⏎", "\t": "⇥", "\u00a0": "⍽"}  # marks that common fonts have
_LONG_RUN = re.compile(r"([␣⏎⇥⍽])\1{4,}")
_JOINERS = "\u200c\u200d"  # inside emoji and many scripts; without them the word is another one
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def visible(text: str) -> str:
    r"""Return ``text`` with each space, break and invisible character as a mark; long runs counted.

    >>> visible(" a\n"), visible("\x00\u202e"), visible(16 * " ")
    ('␣a⏎', '⟨U+0000⟩⟨U+202E⟩', '␣×16')
    """
    marked = "".join(_mark(char) for char in text)
    return _LONG_RUN.sub(lambda run: f"{run[1]}×{len(run[0])}", marked)


def flowing(text: str) -> str:
    r"""Return ``text`` to be set as prose: spaces stay, breaks are marked and kept, the rest shows.

    >>> flowing("a b\n\n\x07")
    'a b⏎⏎\n⟨U+0007⟩'
    """
    marked = "".join(char if char in " \u00a0" else _mark(char) for char in text)
    return re.sub("⏎+", r"\g<0>\n", marked) if "\n" in text else marked


def _mark(char: str) -> str:
    if char in _NAMED:
        return _NAMED[char]
    if char in _JOINERS or unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Zl", "Zp"):
        return char
    return f"⟨U+{ord(char):04X}⟩"


def to_bits(nats: float) -> float:
    """Return nats as bits."""
    return nats / LOG_2


def surprisal_bits(log_prob: float | None) -> float | None:
    """Return the surprisal of a log-probability, in bits and never ``-0.0``; None stays None."""
    return None if log_prob is None else 0.0 - to_bits(log_prob)


def fixed(value: float | None, places: int = 2) -> str:
    """Return a number with ``places`` decimals and a true minus sign; None is a dash.

    >>> fixed(-1.005, 1), fixed(None), fixed(float("inf"))
    ('−1.0', '–', '∞')
    """
    if value is None:
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    text = f"{value:,.{places}f}"
    is_zero = not text.strip("-0.,")
    return text.lstrip("-") if is_zero else text.replace("-", "−")


def signed(value: float, places: int = 2) -> str:
    """Return a number with its sign; what rounds to 0 has none.

    >>> signed(0.31), signed(-0.004), signed(-2.0)
    ('+0.31', '0.00', '−2.00')
    """
    text = fixed(value, places)
    return f"+{text}" if value > 0.0 and text.strip("0.,") else text


def count(value: int) -> str:
    """Return a whole number with its thousands set apart.

    >>> count(49152)
    '49,152'
    """
    return f"{value:,d}"


def scientific(log_value: float, digits: int = 2) -> str:
    """Return ``exp(log_value)`` as ``m × 10ⁿ``, from its logarithm, so that nothing underflows.

    >>> scientific(-1500.0), scientific(float("-inf"))
    ('3.6 × 10⁻⁶⁵²', '0')
    """
    if math.isinf(log_value):
        return "0" if log_value < 0 else "∞"
    log_10 = log_value / math.log(10.0)
    exponent = math.floor(log_10)
    mantissa = f"{10.0 ** (log_10 - exponent):.{digits - 1}f}"
    if mantissa.startswith("10"):
        mantissa, exponent = f"{1.0:.{digits - 1}f}", exponent + 1
    return f"{mantissa} × 10{str(exponent).translate(_SUPERSCRIPTS)}"


def power_of_ten(exponent: int) -> str:
    """Return a power of ten.

    >>> power_of_ten(-9), power_of_ten(0)
    ('10⁻⁹', '1')
    """
    return f"10{str(exponent).translate(_SUPERSCRIPTS)}" if exponent else "1"


def small(log_prob: float) -> str:
    """Return a probability as a number in three figures; ``0`` only where it is 0.

    >>> [small(x) for x in (math.log(0.25), math.log(2.5e-9), -1500.0, -math.inf)]
    ['0.25', '2.50 × 10⁻⁹', '3.62 × 10⁻⁶⁵²', '0']
    """
    return prob_text(log_prob) if log_prob >= _LOG_SMALL else scientific(log_prob, digits=3)


def probability(log_prob: float) -> str:
    """Return a log-probability as a percentage, or as a power of ten where that would read 0.

    >>> [probability(math.log(p)) for p in (1.0, 0.99999, 0.25, 0.00321, 1e-7)]
    ['100 %', '>99.9 %', '25.0 %', '0.32 %', '1.0 × 10⁻⁷']
    """
    if log_prob >= 0.0:
        return "100 %"
    percent = 100.0 * math.exp(log_prob)
    if percent >= 99.95:
        return ">99.9 %"
    if percent >= 9.995:
        return f"{percent:.1f} %"
    if percent >= 0.01:
        return f"{percent:.2f} %"
    return scientific(log_prob)


def share(value: float) -> str:
    """Return a probability as a percentage, or as a power of ten where that would read 0.

    >>> share(0.25), share(0.0)
    ('25.0 %', '0')
    """
    return probability(math.log(value)) if value > 0.0 else "0"


def magnitude(value: float, digits: int = 2) -> str:
    """Return a number that is 0 or more with ``digits`` figures, as a power of ten if it is tiny.

    >>> magnitude(0.0), magnitude(3.1e-7), magnitude(0.02)
    ('0', '3.1 × 10⁻⁷', '0.020')
    """
    if value == 0.0 or math.isinf(value):
        return "0" if value == 0.0 else "∞"
    if value < 0.001:
        return scientific(math.log(value), digits)
    places = max(0, digits - 1 - math.floor(math.log10(value)))
    return f"{value:,.{places}f}"


def factor(log_value: float) -> str:
    """Return ``exp(log_value)`` in two figures, as a power of ten where it is large.

    >>> factor(0.8473), factor(50.0)
    ('2.3', '5.2 × 10²¹')
    """
    if log_value > math.log(1e6):
        return scientific(log_value)
    return magnitude(math.exp(log_value))
