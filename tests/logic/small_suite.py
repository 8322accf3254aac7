"""Four families of a few rows and a table that can read them, in the place of the real suite."""

import json

import likely
from likely.cli import theories
from likely.logic.probct import run as run_module
from likely.logic.probct import suites
from likely.logic.theory import Theory
from likely.report import beliefs

NEGATION = """
name: negation
about: Whether "not" makes a difference.
targets: [bad, good]
content: [verb, bad, good]
rows:
  - {id: n1, verb: drink, bad: gin, good: tea}
  - {id: n2, verb: eat, bad: glue, good: rice}
  - {id: n3, verb: burn, bad: wool, good: coal}
  - {id: n4, verb: feed, bad: rust, good: corn}
frames: {pos: "safe to {verb}", neg: "unsafe to {verb}", aff: "true that safe to {verb}"}
events:
  a: {frame: neg, answer: "{bad}"}
  c: {frame: pos, answer: "{bad}"}
  d: {frame: aff, answer: "{bad}"}
  g: {frame: pos, answer: "{good}"}
theories:
  Tp: "a & g"
  Tn: "!c & !d"
  Ts: "c <-> d"
  Tm: "a ^ c"
  full: "Tp & Tn"
  loose: {rules: {loose: "a | c"}, comparison: true}
conditionals: {known: {if: "g", then: "a"}}
orderings: {a_over_c: {more: a, less: c}}
queries: {CLOSE: "a & !c & !d"}
"""
PARTITION = """
name: partition
targets: [one, two]
content: [one, two]
rows:
  - {id: e1, scene: coin, one: heads, two: tails}
  - {id: e2, scene: door, one: open, two: closed}
  - {id: e3, scene: lamp, one: bright, two: dark}
frames: {is: "the {scene} is"}
events:
  p: {frame: is, answer: "{one}"}
  q: {frame: is, answer: "{two}"}
theories:
  one: "exactly_one(p, q)"
  some: "p | q"
"""
EXCLUSIVITY = """
name: exclusivity
targets: [right, wrong]
content: [right, wrong]
rows:
  - {id: x1, thing: coal, right: black, wrong: white}
  - {id: x2, thing: snow, right: white, wrong: green}
  - {id: x3, thing: grass, right: green, wrong: black}
frames: {is: "{thing} is"}
events:
  g: {frame: is, answer: "{right}"}
  u: {frame: is, answer: "{wrong}"}
theories: {exactly: "exactly_one(g, u)", alone: "g & !u"}
"""
PARAPHRASE = """
name: paraphrase
targets: [answer]
content: [answer]
rows:
  - {id: p1, place: Peru, answer: Lima}
  - {id: p2, place: Cuba, answer: Havana}
  - {id: p3, place: Japan, answer: Tokyo}
frames: {one: "capital of {place} is", two: "seat of {place} is in"}
events:
  a1: {frame: one, answer: "{answer}"}
  a2: {frame: two, answer: "{answer}"}
theories: {same: "a1 <-> a2", known: "a1 & a2"}
"""
FAMILIES = {
    "negation": NEGATION,
    "exclusivity": EXCLUSIVITY,
    "paraphrase": PARAPHRASE,
    "partition": PARTITION,
}


def tokens():
    """Return letters, and every word of the families by itself and with a space before it."""
    families = [Theory.from_text(text) for text in FAMILIES.values()]
    texts = [c for theory in families for row in theory.rows for c in row.columns.values()]
    texts += [t for theory in families for pack in theory.packs for t in pack.frames.values()]
    words = sorted({word for text in texts for word in text.split() if "{" not in word})
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ '.?,"
    longer = [word for word in words if len(word) > 1]
    return [*letters, *longer, *(f" {word}" for word in words)]


def probs(bias):
    """Return a law in which earlier tokens are likelier, the more so the larger ``bias`` is."""
    names = tokens()
    weights = [1.0 + bias * (i * 7 % 11) for i in range(len(names))]
    return {name: weight / sum(weights) for name, weight in zip(names, weights, strict=True)}


def write_model(path, *, bias=1.0):
    """Write the table and return its spec."""
    rows = [{"after": [], "probs": probs(bias)}]
    path.write_text(json.dumps({"tokens": tokens(), "bos": "<s>", "rows": rows}))
    return f"table:{path}"


def model(*, bias=1.0, **options):
    """Return the table."""
    law = probs(bias)
    return likely.TableModel(tokens(), lambda _: law, **options)


def put_in_place(monkeypatch):
    """Let the small families stand for the real ones."""

    def load_family(name):
        if name not in FAMILIES:
            raise likely.UnknownNameError.among("family", name, FAMILIES)
        return Theory.from_text(FAMILIES[name])

    monkeypatch.setattr(suites, "FAMILIES", tuple(FAMILIES))
    monkeypatch.setattr(suites, "load_family", load_family)
    monkeypatch.setattr(run_module, "load_family", load_family)
    monkeypatch.setattr(beliefs, "load_family", load_family)
    monkeypatch.setattr(beliefs, "N_RESAMPLES", 100)
    monkeypatch.setattr(theories, "load_family", load_family)
