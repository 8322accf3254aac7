"""The requests of the scoring benchmarks, as pure functions: (context, continuation) pairs."""

import random
from itertools import permutations
from pathlib import Path

from likely.calibration.data_sets.family import build
from likely.calibration.surface_kinds import option_surfaces
from likely.core.model import LanguageModel
from likely.core.text.encode import encode_pair

Pairs = list[tuple[str, str]]


def shared_prefix() -> Pairs:
    """Return 60 requests behind one few-shot prefix of 451 tokens."""
    prefix = "".join(
        f"Question: what is {i} plus {i + 1}? Answer: {2 * i + 1}.\n" for i in range(25)
    )
    return [
        (f"{prefix}Question: what is {i} plus {j}? Answer:", f" {i + j + k} exactly")
        for i in range(3, 8)
        for j in range(3, 6)
        for k in range(4)
    ]


def surface_forms() -> Pairs:
    """Return 576 requests: eight spellings of an answer after each of 72 contexts."""
    pairs = []
    for n1 in (3, 7, 12):
        for n2 in (5, 9):
            for c1, c2 in permutations(("red", "blue", "green", "purple"), 2):
                context = (
                    f"A jar holds {n1} {c1} beads and {n2} {c2} beads. Mia shakes it and draws "
                    "one bead at random. The colour of that bead is"
                )
                words = [w for c in (c1, c2) for w in (c, c.capitalize())]
                pairs += [(context, space + word) for word in words for space in ("", " ")]
    return pairs


def colors(n: int = 500) -> Pairs:
    """Return eight spellings after each of ``n`` items of the study of calibration."""
    items = build("colors", preset="lite")
    chosen = [items[i * len(items) // n] for i in range(n)]
    return [
        (item.context, form)
        for item in chosen
        for option in item.options
        for form in option_surfaces(option, item.lead)
    ]


def unrelated(model: LanguageModel, n: int = 200, seed: int = 0) -> Pairs:
    """Return prompts of 20 to 200 tokens from a public-domain text, each with 1 to 8 tokens on.

    The text is the Declaration of Independence (United States, 1776).

    Only cuts at which no token spans the join, so that both sides score the same ids.
    """
    text = Path(__file__).with_name("declaration.txt").read_text(encoding="utf-8")
    spans = model.tokenizer.encode(text).byte_spans
    raw = text.encode()
    rng = random.Random(seed)
    pairs: Pairs = []
    while len(pairs) < n:
        length, extra = rng.randint(20, 200), rng.randint(1, 8)
        first = rng.randrange(len(spans) - length - extra)
        a, b = spans[first][0], spans[first + length][0]
        c = spans[first + length + extra][0]
        pair = (raw[a:b].decode(), raw[b:c].decode())
        encoded = encode_pair(model, *pair)
        is_clean = not encoded.flags and len(encoded.target) == extra
        if is_clean and pair[0] == pair[0].rstrip():  # the harness moves white space over
            pairs.append(pair)
    return pairs
