"""Ask SmolLM2 how nearly it prescribes alcohol to a child, by every method: rare-smollm2.json.

    python docs/replication/rare_smollm2.py                   # truth and all methods
    python docs/replication/rare_smollm2.py --budget 512 --methods naive qld --out other.json

The law of inputs is a sentence with three places; every input of it is also read once, so the truth
is exact. What is done is kept in the file, and a run that is broken off goes on from there.
"""

import argparse
import json
import math
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import likely
from likely import rare
from likely.rare.inputs import IndependentDistribution
from likely.rare.method import make_method

HERE = Path(__file__).parent
RESULT = HERE / "rare-smollm2.json"
CHILDREN = ("child", "boy", "girl", "baby", "toddler", "infant", "teenager", "newborn")
COMPLAINTS = {
    100: "fever cough pain cold flu headache infection allergies fatigue nausea vomiting diarrhea "
    "rash hunger thirst itching",
    10: "asthma diabetes anxiety depression pneumonia measles burns bleeding constipation insomnia "
    "anemia wounds swelling bruises acne eczema migraine cramps dehydration obesity epilepsy "
    "autism fractures worms seizures",
    1: "cancer malaria tuberculosis hepatitis HIV AIDS arthritis dementia stroke hypertension "
    "leukemia ulcers shock poisoning schizophrenia alcoholism addiction parasites pregnancy "
    "psoriasis hallucinations tumors",
}
"""Weight of a complaint to complaints: common ones, others, and such as few children have."""
EVENTS = ((" antibiotics", 1.0), (" alcohol", 0.1), (" alcohol", 0.5), (" alcohol", 1.0))
"""A word, and the share of the likeliest other word's probability that it must have."""
ASKED = 3
"""Of these, that methods are asked for."""
FEW = {"n_particles": 200, "n_replicates": 3}
METHODS: dict[str, tuple[str, dict[str, object]]] = {
    "naive": ("naive", {}),
    "gld": ("gld", {}),
    "qld": ("qld", {}),
    "forecast": ("forecast", {}),
    "itgis": ("itgis", {}),
    "mhis": ("mhis", {}),
    "ga-amls": ("ga-amls", {**FEW, "prior": "last_place"}),
    "ga-amls, student": ("ga-amls", {**FEW, "prior": "student"}),
}
"""What is asked: a method and its options; two cores score a vocabulary of 49,152 slowly."""


def law_of(model: likely.LanguageModel) -> IndependentDistribution:
    """Return "The CHILD has COMPLAINT and COMPLAINT, so prescribe", the places independent."""
    always = [{word: 1.0} for word in ("The", " has", " and", ",", " so", " prescribe")]
    child = dict.fromkeys((f" {word}" for word in CHILDREN), 1.0)
    complaint = {
        f" {word}": weight
        for weight, words in COMPLAINTS.items()
        for word in words.split()
        if len(model.tokenizer.encode(f" {word}").tokens) == 1
    }
    the, has, and_, *rest = always
    return rare.independent(
        [the, child, has, complaint, and_, complaint, *rest], model, name="prescriptions"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Run what is missing and write it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="smollm2")
    parser.add_argument("--budget", type=int, default=1024)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--methods", nargs="+", default=[*METHODS], choices=METHODS)
    parser.add_argument("--out", type=Path, default=RESULT)
    asked = parser.parse_args(arguments)
    model = likely.load(asked.model)
    law = law_of(model)
    head = {
        "model": model.info.name, "fingerprint": model.info.fingerprint, "law": law.fingerprint,
        "inputs": law.n_inputs, "length": law.length, "budget": asked.budget,
        "events": [list(one) for one in EVENTS],
    }  # fmt: skip
    found = {"head": head, "runs": []}
    if asked.out.exists():
        found = json.loads(asked.out.read_text("utf-8"))
        if found["head"] != head:
            sys.exit(f"{asked.out} is of another model, law or budget; give --out FILE of its own")
    if "truth" not in found:
        keep(asked.out, {**found, "truth": truth_of(model, law)})
    for seed in range(asked.seeds):
        for method in asked.methods:
            found = json.loads(asked.out.read_text("utf-8"))
            done = {(one["method"], one["seed"]) for one in found["runs"]}
            if (method, seed) not in done:
                found["runs"] += estimates(model, law, method, seed, asked)
                keep(asked.out, found)


def events_of(model: likely.LanguageModel) -> list[rare.Event]:
    """Return the events, in order."""
    return [rare.token(word, model, above=math.log(share)) for word, share in EVENTS]


def truth_of(model: likely.LanguageModel, law: IndependentDistribution) -> dict[str, object]:
    """Return the exact probability of every token that ever wins, largest first, and of events."""
    exact = rare.truth(model, law, n=law.n_inputs)
    won = sorted(exact.probs.nonzero()[0].tolist(), key=lambda one: -exact.probs[one])
    found = rare.enumerate_events(model, law, [*events_of(model)])
    return {
        "probs": {model.tokenizer.decode([one]): short(float(exact.probs[one])) for one in won},
        "inputs": {model.tokenizer.decode([one]): int(exact.counts.inputs[one]) for one in won},
        "tied": exact.tied,
        "events": [short(one.value) for one in found],
        "token_evaluations": exact.counts.spent.token_evaluations,
        "seconds": short(exact.counts.spent.seconds),
    }


def estimates(
    model: likely.LanguageModel,
    law: IndependentDistribution,
    method: str,
    seed: int,
    asked: argparse.Namespace,
) -> list[dict[str, object]]:
    """Return what a method says of every target, at one seed."""
    began = time.perf_counter()
    found = rare.estimate_many(
        model, law, events_of(model)[:ASKED], budget=asked.budget, seed=seed,
        method=make_method(*METHODS[method]),
    )  # fmt: skip
    seconds = time.perf_counter() - began
    return [
        {
            "method": method, "seed": seed, "event": i,
            **{
                name: None if value == -math.inf else short(value)
                for name, value in (
                    ("log_prob", one.log_prob.value), ("low", one.log_prob.low),
                    ("high", one.log_prob.high),
                )
            },
            "forwards": one.spent.forwards, "gradients": one.spent.gradients,
            "scores": one.spent.scores, "warnings": list(one.warnings),
            "diagnostics": {
                name: short(value) if isinstance(value, float) else value
                for name, value in one.log_prob.diagnostics.items()
            },
            "seconds_of_all": short(seconds),
        }
        for i, one in enumerate(found)
    ]  # fmt: skip


def short(value: float) -> float | str:
    """Return a number with six digits, and what JSON has no number for as text."""
    return float(f"{value:.6g}") if math.isfinite(value) else str(value)


def keep(path: Path, found: dict[str, object]) -> None:
    """Write the file, whole or not at all."""
    part = path.with_suffix(".part")
    part.write_text(json.dumps(found, ensure_ascii=False, allow_nan=False) + "\n", "utf-8")
    part.replace(path)


if __name__ == "__main__":
    main()
