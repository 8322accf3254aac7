"""Look at the inputs behind the targets that ga-amls misses by most: rare-hits.json.

    python docs/replication/rare_hits.py   # half an hour; from the rows that rare_tables.py keeps

Inputs are drawn as truths are counted, with other random numbers: beginnings, each continued in all
ways. Those after which the target wins are hits, and count by how likely they are.
"""

import math
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import rare_tables
from rare_runs import keep, short

import likely
from likely import rare
from likely.core.streams import generator
from likely.rare.bench.summary import errors_by_target, targets_of
from likely.rare.counting import endings_of, open_counter
from likely.rare.inputs import IndependentDistribution
from likely.stats.importance import effective_sample_size

RESULT = Path(__file__).parent / "rare-hits.json"
FURTHEST, MOST_INPUTS = 10, 2**23


def main() -> None:
    """Read inputs for the furthest targets, one model and law after another."""
    rows = rare_tables.estimates_at_equal_calls("ga-amls")
    errors = {key: bias for key, (bias, _) in errors_by_target(rows).items()}
    furthest = sorted(errors, key=lambda key: -abs(errors[key]))[:FURTHEST]
    texts = {key: own[0]["text"] for key, own in targets_of(rows).items()}
    found = []
    for model, law in dict.fromkeys(key[:2] for key in furthest):
        tokens = [key[2] for key in furthest if key[:2] == (model, law)]
        for token, looked in zip(tokens, look(model, law, tokens), strict=True):
            text = texts[model, law, token]
            found.append({"model": model, "law": law, "token": token, "text": text, **looked})
            sys.stdout.write(f"{found[-1]}\n")
    keep(RESULT, {"head": {"most_inputs": MOST_INPUTS}, "targets": found})


def look(model_name: str, law_name: str, tokens: Sequence[int]) -> list[dict]:
    """Return of each token what its hits end with."""
    model = likely.load(model_name)
    law = rare.distribution(law_name, model)
    endings = endings_of(law)
    counter = open_counter(model, endings)
    n_stems = counter.n_at_once
    place, before = law.varying[-1], law.varying[-2]
    length = law.length - endings.tokens.shape[1]
    hits: list[Counter[tuple[int, int]]] = [Counter() for _ in tokens]
    seen = [0] * len(tokens)
    for block in range(math.ceil(MOST_INPUTS / (n_stems * len(endings.probs)))):
        stems = law.sample(n_stems, rng=generator(0, "hits", law_name, block))[:, :length]
        winners, _ = counter.finder(stems)
        for i, token in enumerate(tokens):
            for stem, ending in np.argwhere(winners == token):
                whole = [*stems[stem], *endings.tokens[ending]]
                hits[i][int(whole[before]), int(whole[place])] += float(endings.probs[ending])
                seen[i] += 1
    return [{"hits": n, **ends(model, law, own)} for own, n in zip(hits, seen, strict=True)]


def ends(
    model: likely.LanguageModel, law: IndependentDistribution, hits: Counter[tuple[int, int]]
) -> dict[str, object]:
    """Return how many last tokens and pairs the hits are worth, and the commonest pair."""
    if not hits:
        return {}
    last: Counter[int] = Counter()
    for (_, token), weight in hits.items():
        last[token] += weight
    [((early, late), _)] = hits.most_common(1)
    return {
        "last_tokens": worth(last),
        "pairs": worth(hits),
        "pair": [model.tokenizer.decode([token]) for token in (early, late)],
        "last_prob": short(math.exp(log_prob_of(law, last.most_common(1)[0][0]))),
    }


def worth(counts: Counter) -> float:
    """Return how many alike ones would be as many."""
    return short(effective_sample_size(np.log(list(counts.values()))))


def log_prob_of(law: IndependentDistribution, token: int) -> float:
    """Return the log-probability of a token of the place that varies last."""
    support = law.supports[law.varying[-1]]
    return float(support.log_probs[support.tokens == token][0])


if __name__ == "__main__":
    main()
