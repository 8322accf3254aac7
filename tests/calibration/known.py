"""What is known of items under laws that are chosen: masses, and what else a model would say."""

from dataclasses import replace
from functools import cache

import numpy as np

from likely.calibration.data_sets.family import build
from likely.calibration.remedies.evidence import Extra, Tempered, evidence_of
from likely.calibration.remedies.tempering import GRID
from likely.calibration.tables import exact_masses, targets
from likely.core.estimate import Cost
from likely.core.text.surfaces import surfaces

PAIRS = ("black/green", "green/black", "green/red", "red/green")


@cache
def colors(templates=("C1", "C2", "C5"), scale="10-100", pairs=PAIRS, n_draws=10):
    """Two-option items in both orders of mention: number pairs, each both ways round."""
    everything = build("colors", preset="lite")
    return tuple(
        everything.family.render(spec)
        for spec in everything.specs
        if spec.template_id in templates and spec.scale == scale
        if "/".join(spec.pair) in pairs and spec.numbers.draw < n_draws
    )


def log_odds(p):
    return np.log(p) - np.log1p(-p)


def sigmoid(x):
    return 1.0 / (1.0 + np.exp(-x))


def ideal_of(items):
    """The ideal probability of the first option of items of two."""
    return targets(items).ideal[::2]


def answered(items, pi1, *, pm=1.0):
    """Evidence of items whose first option has a share of ``pi1`` of a mass of ``pm``."""
    pi1 = np.asarray(pi1, dtype=float)
    mass = np.broadcast_to(np.asarray(pm, dtype=float), len(items))
    with np.errstate(divide="ignore"):
        log_mass = np.log(np.stack([pi1, 1.0 - pi1], axis=1).ravel() * np.repeat(mass, 2))
    return evidence_of(items, exact_masses(targets(items).offsets, log_mass))


def said(options, probs):
    """A law over all spellings of options: each has its mass behind a space, and none elsewhere."""
    law = {}
    for option, prob in zip(options, probs, strict=True):
        law |= dict.fromkeys(surfaces(option.label), 0.0) | {f" {option.label}": float(prob)}
    return law


def with_odds(items, odds, *, pm=1.0):
    """Evidence of items whose first option has these log-odds: exact in both tails."""
    odds = np.broadcast_to(np.asarray(odds, dtype=float), len(items))
    log_pi = -np.stack([np.logaddexp(0.0, -odds), np.logaddexp(0.0, odds)], axis=1).ravel()
    return evidence_of(items, exact_masses(targets(items).offsets, log_pi + np.log(pm)))


def with_prior(evidence, prior1, *, n_contexts=3):
    return replace(evidence, prior=extra(prior1, n_contexts=n_contexts))


def with_stem(evidence, stem1, *, n_contexts=1):
    return replace(evidence, stem=extra(stem1, n_contexts=n_contexts))


def extra(first, *, n_contexts):
    first = np.asarray(first, dtype=float)
    with np.errstate(divide="ignore"):
        log_mass = np.log(np.stack([first, 1.0 - first], axis=1).ravel())
    return Extra(log_mass=log_mass, n_contexts=n_contexts, cost=Cost(token_evaluations=n_contexts))


def with_tempered(evidence, grid=GRID):
    """As if the vocabulary were the two options and nothing else."""
    log_mass = evidence.masses.log_mass[None, :] / grid.temperatures[:, None]
    log_mass -= np.repeat(np.logaddexp(log_mass[:, ::2], log_mass[:, 1::2]), 2, axis=1)
    tempered = Tempered(temperatures=grid.temperatures, log_mass=log_mass, cost=Cost())
    return replace(evidence, tempered=tempered)


def everything(evidence):
    """Evidence with all that remedies ask for, where priors and stems say nothing."""
    half = np.full(evidence.n_items, 0.5)
    return with_tempered(with_stem(with_prior(evidence, half), half))


def repaired1(remedy, evidence, *, fit_on=None, seed=0):
    """The share of the first option after a remedy fitted on some evidence, by default the same."""
    rng = np.random.default_rng(seed)
    found = np.exp(remedy.fit(evidence if fit_on is None else fit_on, rng).apply(evidence))
    return found[::2] / (found[::2] + found[1::2])
