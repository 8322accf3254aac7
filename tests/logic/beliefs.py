"""Table models that hold beliefs set by hand, or none, over all events of some theories."""

from itertools import count

import likely
from likely.logic.instances import instances


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
