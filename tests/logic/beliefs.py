"""Beliefs set by hand: as table models, and as evaluations that no model stands behind."""

import math
from functools import cache
from itertools import count

from enumeration import mass

import likely
from likely.core.estimate import Cost
from likely.logic.batches import canonical
from likely.logic.chance import Scores
from likely.logic.formula import holds, variables
from likely.logic.information import informativeness
from likely.logic.instances import instances
from likely.logic.results import ConditionalScore, Evaluation, EventReading, ItemScore, Reading


def all_events(theories):
    """Yield instance, key and event of every event."""
    for theory in theories:
        for instance in instances(theory):
            for key, event in instance.events.items():
                yield instance, key, event


def believer(theories, believes):
    """Return a model under which each event has the raw probability that ``believes`` gives it.

    Each context is one token; what the answers of a context leave goes to a word of no event.

    Args:
        theories: No two events of one context may have more than probability 1 together.
        believes: From an instance and the key of an event to a probability.
    """
    laws = {}
    for instance, key, event in all_events(theories):
        law = laws.setdefault(event.context, {})
        law[f" {event.answers[0]}"] = believes(instance, key)
    answers = list(dict.fromkeys(answer for law in laws.values() for answer in law))

    def next_probs(context):
        law = laws.get(context[-1], {})
        return {**law, " else": 1.0 - sum(law.values())}

    return _table(laws, [*answers, " else"], next_probs)


def ignorant(theories, n_words=100):
    """Return a model for which all words, answers among them, are equally likely everywhere."""
    contexts, answers = {}, {}
    for _, _, event in all_events(theories):
        contexts[event.context] = None
        answers |= dict.fromkeys(f" {answer}" for answer in event.answers)
    fillers = (f" word{i}" for i in count())
    words = [*answers, *(next(fillers) for _ in range(n_words - len(answers)))]
    law = dict.fromkeys(words, 1.0 / n_words)
    return _table(contexts, words, lambda context: law)


def _table(contexts, words, next_probs):
    # Capitalised spellings exist and never occur.
    capitals = [f" {word[1:2].upper()}{word[2:]}" for word in words]
    return likely.TableModel([*dict.fromkeys([*contexts, *words, *capitals])], next_probs)


def judged(theory, believes, labels=("identity",)):
    """Return the evaluation of a theory under beliefs, by enumeration and without a model.

    Args:
        theory: Its rules are hard, without evidence.
        believes: From an instance, the key of an event and a label to a probability inside (0, 1).
        labels: Of rescalings.
    """
    made = KNOWN.setdefault(theory.digest, ()) or instances(theory)
    KNOWN[theory.digest] = made
    probs = {
        (instance.id, label): {key: believes(instance, key, label) for key in instance.events}
        for instance in made
        for label in labels
    }
    return Evaluation(
        theory=theory.name, digest=theory.digest, model="by hand", fingerprint="none",
        rescalings=tuple(labels), multi="conj", orderings=(), queries=(),
        clamped=dict.fromkeys(labels, 0), cost=Cost(),
        events={
            instance.id: {
                key: EventReading(
                    context=event.context, answers=event.answers, log_prob=0.0, pieces=(),
                    log_odds={x: logit(probs[instance.id, x][key]) for x in labels},
                    flags=frozenset(),
                )
                for key, event in instance.events.items()
            }
            for instance in made
        },
        items=tuple(
            ItemScore(
                id=f"{instance.id}/{claim.name}", instance=instance.id, pack=instance.pack,
                row=instance.row, claim=claim.name, formula=str(claim.formula), evidence=None,
                events=variables(claim.formula), info=information(canonical(claim.formula)[0]),
                readings={x: reading(claim.formula, probs[instance.id, x]) for x in labels},
                is_comparison=claim.is_comparison, flags=frozenset(),
            )
            for instance in made
            for claim in instance.claims
        ),
        conditionals=tuple(
            ConditionalScore(
                name=name, instance=instance.id, row=instance.row,
                violation={
                    x: mass(a & ~b, probs[instance.id, x]) / mass(a, probs[instance.id, x])
                    for x in labels
                },
                vacuity={x: 1.0 - mass(a, probs[instance.id, x]) for x in labels},
            )
            for instance in made
            for name, (a, b) in instance.conditionals.items()
        ),
    )  # fmt: skip


information = cache(informativeness)
KNOWN = {}
"""Instances by the digest of their theory, so that tests that share one make them once."""


def reading(formula, probs):
    own = {key: probs[key] for key in variables(formula)}
    kept, chance = mass(formula, own), mass(formula, dict.fromkeys(own, 0.5))
    scores = Scores(
        log_prob=math.log(kept), log_broken=math.log1p(-kept), log_chance=math.log(chance),
        log_chance_broken=math.log1p(-chance),
    )  # fmt: skip
    hard = {key: p > 0.5 for key, p in own.items()}
    return Reading(scores=scores, is_kept=holds(formula, hard), rules={}, loss=-math.log(kept))


def logit(p):
    return math.log(p) - math.log1p(-p)
