"""Models that hold given beliefs: the probability of each event of a theory is set by hand."""

import likely
from likely.logic.instances import instances


def believer(theory, believes):
    """Return a model under which each event has the raw probability that ``believes`` gives it.

    Each context is one token; what the answers of a context leave goes to a word of no event.

    Args:
        theory: No two events of one context may have more than probability 1 together.
        believes: From an instance and the key of an event to a probability.
    """
    laws = {}
    for instance in instances(theory):
        for key, event in instance.events.items():
            law = laws.setdefault(event.context, {})
            law[f" {event.answers[0]}"] = believes(instance, key)
    answers = sorted({answer for law in laws.values() for answer in law})
    words = dict.fromkeys([*answers, *(f" {a[1:].capitalize()}" for a in answers), " else"])

    def next_probs(context):
        law = laws.get(context[-1], {})
        return {**law, " else": 1.0 - sum(law.values())}

    return likely.TableModel([*laws, *words], next_probs)
