"""Evaluates every candidate at every position of P6 on smollm2, and keeps what the tests compare.

About three million token evaluations, an hour or two on two cores. Each block of candidates is
written to the working folder as it is done, so that a run that was stopped goes on:

    python docs/replication/exact_attribution.py --work FOLDER

With --adaptive the adaptive engine is run at every position, without a budget, and its scores are
put beside the exact ones. With --guides nothing is written: for each position the standard error
that a first draw of the score has is printed, as draws are guided with and without the slope.
"""

import argparse
import os
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

import likely
from likely import attribution
from likely.attribution.adaptive import FIRST_SIZE
from likely.attribution.evidence import NOTHING_OMITTED, Evidence
from likely.attribution.measures import Measures, measure
from likely.attribution.opening import Topic
from likely.attribution.prior import NextLaws
from likely.attribution.search import guide
from likely.attribution.slopes import open_slopes
from likely.core.branches import Stem, open_stem
from likely.core.estimate import Estimate
from likely.core.files import write_whole
from likely.core.jsonio import dumps
from likely.core.logspace import logsumexp

FIXTURE = Path(__file__).parents[2] / "tests" / "attribution" / "exact-smollm2.json"
PROMPT = "What year did Albert Einstein visit Mars?"
BLOCK = 1024


def main() -> None:
    """Evaluate what is missing, and write the fixture once all is there."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--adaptive", action="store_true")
    parser.add_argument("--guides", action="store_true")
    arguments = parser.parse_args()
    folder = arguments.work
    folder.mkdir(parents=True, exist_ok=True)
    model = likely.load("smollm2")
    case = attribution.frame_case(model, PROMPT, generate=4)
    stem = open_stem(model, case.stem)
    if arguments.guides:
        compare_guides(model, case, stem, folder)
        return
    places = []
    for position in reversed(case.positions):
        read = every_candidate(stem, case, position, folder)
        evidence = as_evidence(case, position, read)
        found = measure(evidence, level=0.95, method="exact")
        place = {"position": position, "token": case.prompt[position], **numbers(found)}
        places.append(place | (adaptive(model, case, position) if arguments.adaptive else {}))
        sys.stdout.write(f"{position} {found.score.summary()}\n")
    record = {
        "made_by": "docs/replication/exact_attribution.py",
        "model": model.info.name,
        "fingerprint": model.info.fingerprint,
        "dtype": model.info.dtype,
        "prompt": PROMPT,
        "prompt_tokens": case.prompt,
        "response_tokens": case.response,
        "places": places[::-1],
    }
    write_whole(FIXTURE, [dumps(record, indent=1).encode() + b"\n"])


def compare_guides(
    model: likely.LanguageModel, case: attribution.Case, stem: Stem, folder: Path
) -> None:
    """Print the standard error of a first draw at each position, without and with the slope."""
    # Rows at later places, those of the response too, as `attribute` has them.
    topic = Topic(NextLaws(model, open_stem(model, (*case.stem, *case.response)[:-1])))
    text = (*case.stem, *case.response)
    slopes = open_slopes(model, text, settings=None, spending=stem.spending)
    if slopes is None:
        sys.exit(f"{model.info.name!r} gives no slopes")
    for position in reversed(case.positions):
        read = every_candidate(stem, case, position, folder)
        found = as_evidence(case, position, read)
        ids, log_prior = found.tokens[:, 0], found.log_prior
        log_x = log_prior + found.log_prompt
        log_y = log_x + found.log_response.sum(axis=1)
        moved = np.exp(log_y - logsumexp(log_y)) - np.exp(log_x - logsumexp(log_x))
        place = len(case.context) + position
        log_topic = topic.after(place)[ids]
        log_slope = slopes.at(place, ids, case.prompt[position])
        errors = []
        for hint in (None, log_slope):
            chance = np.minimum(1.0, FIRST_SIZE * np.exp(guide(log_prior, log_topic, hint)))
            chance[0] = 1.0
            errors.append(float(np.sqrt(np.sum((1.0 / chance - 1.0) * moved**2))))
        sys.stdout.write(
            f"{position} {errors[0]:.4f} without the slope, {errors[1]:.4f} with it, ratio "
            f"{errors[1] / errors[0]:.2f}\n"
        )


def adaptive(
    model: likely.LanguageModel, case: attribution.Case, position: int
) -> dict[str, object]:
    """Return what the adaptive engine says of a position when it may spend what it takes."""
    one = replace(case, positions=(position,))
    found = attribution.attribute_case(model, one, budget=float("inf"))
    place = found.places[0]
    score = place.measures.score
    return {
        "adaptive": {
            "score": score.value, "low": score.low, "high": score.high,
            "converged": place.converged, "token_evaluations": place.cost.token_evaluations,
        }
    }  # fmt: skip


def every_candidate(stem: Stem, case: attribution.Case, position: int, folder: Path) -> np.ndarray:
    """Return log-probabilities of each candidate and of the suffix after it, ``(V, 1 + T)``."""
    length = len(case.context) + position
    n_vocab = len(stem.row(length))
    suffix = np.array(case.suffix(position), dtype=np.int64)
    parts = []
    for start in range(0, n_vocab, BLOCK):
        file = folder / f"mu{position}_{start}.npy"
        if not file.exists():
            tokens = np.arange(start, min(n_vocab, start + BLOCK))
            block = np.concatenate(
                [tokens[:, None], np.repeat(suffix[None], len(tokens), axis=0)], axis=1
            )
            read = stem.branches(length, len(tokens)).grow(block, last=True)
            part = file.with_suffix(".part.npy")
            np.save(part, read)
            os.replace(part, file)
        parts.append(np.load(file))
    return np.concatenate(parts)


def as_evidence(case: attribution.Case, position: int, read: np.ndarray) -> Evidence:
    """Return what was read as the evidence of the position, the actual token first."""
    order = np.argsort(np.arange(len(read)) != case.prompt[position], kind="stable")
    read = read[order]
    n_prompt = len(case.prompt) - 1 - position
    return Evidence(
        places=(position,),
        tokens=order[:, None],
        log_prior=read[:, 0] - float(logsumexp(read[:, 0])),
        log_prompt=read[:, 1 : 1 + n_prompt].sum(axis=1),
        log_response=read[:, 1 + n_prompt :],
        inclusion=np.ones(len(read)),
        prompt_inclusion=np.ones(len(read)),
        resolution=0.0,
        omitted=NOTHING_OMITTED,
    )


def numbers(found: Measures) -> dict[str, object]:
    """Return the numbers of a place without intervals, which are points."""
    kept: dict[str, object] = {}
    for name in Measures.estimates():
        value: Estimate = getattr(found, name)
        kept[name] = value.value
    return kept | {"left_surprisal": found.left_surprisal, "matrix": found.matrix}


if __name__ == "__main__":
    main()
