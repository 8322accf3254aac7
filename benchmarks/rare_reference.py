"""Plain re-implementations of the published importance samplers, to be compared with.

Written from the formulas of Wu and Hilton (2024, arXiv 2410.13211) as the specification gives
them, and as a first implementation would have it: inputs are dense one-hot rows over the
vocabulary, times the embedding matrix; the gradient is that by the one-hot rows; logits are made of
every position; a proposal is a softmax over the whole vocabulary, with the tokens that cannot stand
there masked; chains also move the places that never change; and each proposal is read from its
beginning.
"""

import math
from dataclasses import dataclass

import numpy as np
import torch

from likely.models.transformers import TransformersModel
from likely.rare.inputs import IndependentDistribution


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """A model, a law and a target, as the reference reads them."""

    module: torch.nn.Module
    log_probs: torch.Tensor  # (T, V), -inf where a token never stands
    target: int

    @classmethod
    def of(cls, model: TransformersModel, law: IndependentDistribution, target: int) -> "Reference":
        """Return the published procedure for one target."""
        log_probs = torch.full((law.length, model.info.n_vocab), -torch.inf)
        for place, support in enumerate(law.supports):
            log_probs[place, support.tokens] = torch.from_numpy(support.log_probs).float()
        return cls(module=model.module.eval(), log_probs=log_probs, target=target)

    def read(self, tokens: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return whether each input hits, its target's logit, and the gradient by one-hot rows."""
        one_hot = torch.nn.functional.one_hot(tokens, self.log_probs.shape[1]).float()
        one_hot.requires_grad_(True)
        embedding = self.module.get_input_embeddings().weight
        logits = self.module(inputs_embeds=one_hot @ embedding, use_cache=False).logits
        scores = logits[:, -1, self.target]
        (slopes,) = torch.autograd.grad(scores.sum(), one_hot)
        hits = logits[:, -1].argmax(dim=-1) == self.target
        return hits, scores.detach().double(), slopes


def itgis(
    reference: Reference, *, temperature: float, n: int, batch: int = 256, decay: float = 0.9,
    seed: int = 0,
) -> float:  # fmt: skip
    """Return the log of the estimate of importance sampling with independent tilted places."""
    generator = torch.Generator().manual_seed(seed)
    totals = torch.zeros_like(reference.log_probs)
    found = []
    for number in range(n // batch):
        warm = (1 - decay**number) / (1 - decay) if number else 1.0
        tilts = totals / (temperature * warm)
        probs = torch.softmax(reference.log_probs + tilts, dim=-1)
        tokens = torch.multinomial(probs, batch, replacement=True, generator=generator).T
        log_z = torch.logsumexp(reference.log_probs + tilts, dim=-1).double()
        chosen = tilts.double().expand(batch, -1, -1).gather(2, tokens[:, :, None])[:, :, 0]
        log_weights = (log_z - chosen).sum(dim=1)
        hits, _, slopes = reference.read(tokens)
        totals = decay * totals + slopes.mean(dim=0)
        found.append(torch.where(hits, log_weights, -torch.inf))
    return float(torch.logsumexp(torch.cat(found), dim=0)) - math.log(n // batch * batch)


def mhis(
    reference: Reference, *, temperature: float, n_steps: int, burn_in: int, chains: int = 32,
    seed: int = 0,
) -> float:  # fmt: skip
    """Return the log of the self-normalised estimate of Metropolis-Hastings importance sampling."""
    generator = torch.Generator().manual_seed(seed)
    each, law = torch.arange(chains), reference.log_probs
    tokens = torch.multinomial(law.exp(), chains, replacement=True, generator=generator).T
    hits, scores, slopes = reference.read(tokens)
    log_hits, log_all = [], []
    for step in range(burn_in + n_steps):
        places = torch.randint(law.shape[0], (chains,), generator=generator)
        there = torch.log_softmax(law[places] + slopes[each, places] / temperature, dim=-1)
        new = torch.multinomial(there.exp(), 1, generator=generator)[:, 0]
        old = tokens[each, places]
        changed = tokens.clone()
        changed[each, places] = new
        new_hits, new_scores, new_slopes = reference.read(changed)
        back = torch.log_softmax(law[places] + new_slopes[each, places] / temperature, dim=-1)
        ratio = (
            (new_scores - scores) / temperature
            + law[places, new] - law[places, old] + back[each, old] - there[each, new]
        )  # fmt: skip
        taken = torch.rand(chains, generator=generator).log() < ratio
        tokens = torch.where(taken[:, None], changed, tokens)
        hits, scores = torch.where(taken, new_hits, hits), torch.where(taken, new_scores, scores)
        slopes = torch.where(taken[:, None, None], new_slopes, slopes)
        if step >= burn_in:
            log_hits.append(torch.where(hits, -scores / temperature, -torch.inf))
            log_all.append(-scores / temperature)
    total = torch.logsumexp(torch.cat(log_all), dim=0)
    return float(torch.logsumexp(torch.cat(log_hits), dim=0) - total)


def tokens_read(law: IndependentDistribution, calls: int) -> int:
    """Return the token positions that the reference reads in so many calls."""
    return int(np.multiply(calls, law.length))
