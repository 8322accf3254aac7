"""Two families of a few rows and a table that can read them, in the place of the real suite."""

import json

import likely
from likely.logic.probct import run as run_module
from likely.logic.probct import suites
from likely.logic.theory import Theory

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
FAMILIES = {"negation": NEGATION, "partition": PARTITION}


def tokens():
    """Return characters, and every word of the families with a space before it as one token."""
    theories = [Theory.from_text(text) for text in FAMILIES.values()]
    words = {
        word
        for theory in theories
        for row in theory.rows
        for column in row.columns.values()
        for word in column.split()
    }
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ '.?,"
    return [*letters, *(f" {word}" for word in sorted(words))]


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
