"""Models whose every probability is known: what each reference behaviour gives, as arrays and as a
`TableModel` that reads the items themselves.

A policy is a function from `Targets` to the mass of each option; what the masses of an item lack
of 1 is on everything else.
"""

import json

import numpy as np

from likely.calibration.tables import Masses, exact_masses, targets
from likely.core.text.surfaces import surfaces
from likely.models.table import TableModel

ELSEWHERE = " (something else)"
"""The token that takes the mass on no option."""

END = "</s>"


def _one_hot(goal, at):
    law = np.zeros(len(goal.ideal))
    law[at] = 1.0
    return law


def _extreme(goal, sign):
    """The first option of each item with the largest ideal (sign 1), or the smallest (-1)."""
    order = np.lexsort((np.arange(len(goal.ideal)), -sign * goal.ideal, goal.item_of))
    return order[goal.offsets[:-1]]


def _higher(share):
    def law(goal):
        return np.where(_one_hot(goal, _extreme(goal, 1)) > 0, share, 1.0 - share)

    return law


def leaky(epsilon):
    """Calibrated, with a mass of epsilon on everything else."""
    return lambda goal: (1.0 - epsilon) * goal.ideal


POLICIES = {
    "calibrated": lambda goal: goal.ideal.copy(),
    "pick_higher": lambda goal: _one_hot(goal, _extreme(goal, 1)),
    "pick_lower": lambda goal: _one_hot(goal, _extreme(goal, -1)),
    "pick_first": lambda goal: _one_hot(goal, goal.offsets[:-1]),
    "pick_second": lambda goal: _one_hot(goal, goal.offsets[:-1] + 1),
    "null": lambda goal: np.zeros(len(goal.ideal)),
    "uniform": lambda goal: (1.0 / goal.n_options)[goal.item_of],
    "higher_0.7": _higher(0.7),
    "leaky_0.3": leaky(0.3),
    "spread_variants": lambda goal: goal.ideal.copy(),
}
"""Name to policy. ``higher_0.7`` is for two options; ``spread_variants`` is calibrated too, but as
a model it spreads each option's mass evenly over all its spellings."""


def policy_masses(goal, policy) -> Masses:
    """The masses that a policy gives to targets, known exactly."""
    with np.errstate(divide="ignore"):
        return exact_masses(goal.offsets, np.log(POLICIES[policy](goal)))


def exact_shares(goal, policy):
    """p1, pi1, pm of two-option targets under a policy."""
    mass = POLICIES[policy](goal).reshape(-1, 2)
    pm = mass.sum(1)
    pi1 = np.divide(mass[:, 0], pm, out=np.full(len(pm), np.nan), where=pm > 0)
    return goal.ideal[::2], pi1, pm


def policy_model(items, policy) -> TableModel:
    """A model that follows a policy on these items.

    Each context is one token and so is each spelling of an option, with and without a space. A
    policy puts an option's mass on its first word after the item's lead; ``spread_variants`` on all
    spellings of all its words, evenly. A spelling ends the text, so its word has ended for sure.
    Where the numbers are taken out (`Item.blank`), options are equally likely.
    """
    tokens, laws = _tokens_and_laws(items, policy)

    def next_probs(context):
        return laws.get(context[-1], {END: 1.0})

    return TableModel(tokens, next_probs, eos=END, name=f"policy:{policy}")


def write_policy(path, items, policy) -> str:
    """Write the same model as a file; return the spec that loads it."""
    tokens, laws = _tokens_and_laws(items, policy)
    rows = [{"after": [], "probs": {END: 1.0}}]
    rows += [{"after": [context], "probs": law} for context, law in laws.items()]
    data = {"tokens": tokens, "bos": "<s>", "eos": END, "rows": rows}
    path.write_text(json.dumps(data))
    return f"table:{path}"


def _tokens_and_laws(items, policy):
    items = list(items)
    goal = targets(items)
    mass = POLICIES[policy](goal)
    laws, tokens = {}, {ELSEWHERE: None, END: None}
    for item, start in zip(items, goal.offsets[:-1].tolist(), strict=True):
        given = mass[start : start + len(item.options)]
        even = np.full(len(item.options), 1.0 / len(item.options))
        laws[item.context] = _law(item, given, is_spread=policy == "spread_variants")
        if item.blank is not None:
            laws.setdefault(item.blank, _law(item, even, is_spread=False))
        forms = (form for option in item.options for form in _forms(option))
        tokens |= dict.fromkeys([*forms, *(item.lead + o.words[0] for o in item.options)])
    return list(tokens | dict.fromkeys(laws)), laws


def _forms(option):
    return [form for word in option.words for form in surfaces(word, level="paper")]


def _law(item, given, *, is_spread):
    law = {}
    for option, share in zip(item.options, given.tolist(), strict=True):
        forms = _forms(option) if is_spread else [item.lead + option.words[0]]
        for form in forms:
            law[form] = law.get(form, 0.0) + share / len(forms)
    law[ELSEWHERE] = max(0.0, 1.0 - sum(law.values()))
    return law
