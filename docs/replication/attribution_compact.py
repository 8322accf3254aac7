"""Makes the results of attribution_runs.py small: what the page needs of them, to a few digits."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
from pages import short

from likely import attribution
from likely.attribution.faithfulness.record import Faithfulness
from likely.core.estimate import Estimate
from likely.core.jsonio import number

FACTS = ("model", "identity", "tolerance", "level", "seed")
N_SUBSTITUTES = 3
N_ROWS = 3  # of the matrix, those of the highest scores


def compact(folder: Path, texts: Mapping[str, str]) -> dict:
    """Return what there is of each prompt, and of faithfulness over all of them."""
    prompts = {}
    tests: list[Faithfulness] = []
    facts: dict[str, object] = {}
    for name in texts:
        file = folder / f"{name.replace(' ', '-')}.attribution.json"
        if not file.exists():
            continue
        own = json.loads(file.read_text("utf-8"))
        facts = {fact: own.pop(fact) for fact in FACTS}
        entry = {"attribution": own}
        for law in ("qr", "q"):
            record = stored(folder / f"{name}.replacement-{law}.json", file)
            if record:
                entry[f"replacement_{law}"] = replaced(record)
        record = stored(folder / f"{name}.stability.json", file)
        if record:
            entry["stability"] = drawn(record)
        record = stored(folder / f"{name}.baselines.json", file)
        if record:
            found = [Faithfulness.from_dict(test) for test in record["faithfulness"]]
            entry["baselines"] = compared(record, found)
            tests += found
        record = stored(folder / f"{name}.variants.json", file)
        if record:
            entry["variants"] = moved(record)
        prompts[name] = entry
    return facts | {"prompts": prompts, "faithfulness": averaged(tests)}


def stored(file: Path, attributed: Path) -> dict:
    """Return a stage's record, or nothing if there is none of this attribution."""
    return json.loads(file.read_text("utf-8")) if is_fresh(file, attributed) else {}


def is_fresh(file: Path, attributed: Path) -> bool:
    """Return whether a stage was run, and after the attribution that it builds on."""
    return file.exists() and file.stat().st_mtime_ns >= attributed.stat().st_mtime_ns


def slim(estimate: Estimate) -> object:
    """Return value and ends, or the value alone where it is exact."""
    if estimate.low == estimate.high:
        return short(estimate.value)
    return [short(x) for x in (estimate.value, estimate.low, estimate.high)]


def slimmed(record: Mapping) -> object:
    """Return the same of an estimate in a record."""
    value, low, high = (short(number(record[key])) for key in ("value", "low", "high"))
    return value if low == high else [value, low, high]


def scored(found: attribution.Attribution, *, n_vocab: int) -> dict:
    """Return the facts of an attribution, and the numbers of its places by column."""
    case, places = found.case, found.places
    estimates = ("score", "interventional", "context_entropy", "response_entropy", "surprisal",
                 "information", "log_prompt_likelihood")  # fmt: skip
    return {
        "model": found.model.name,
        "identity": found.model.identity,
        "tolerance": found.tolerance,
        "level": found.level,
        "seed": found.seed,
        "prompt": case.prompt_text,
        "response": case.response_text,
        "n_response": len(case.response),
        "context": list(case.context),
        "log_response": short(found.log_response),
        "noise": short(found.noise),
        "excluded_mass": short(float(found.excluded_mass.max())),
        "token_evaluations": found.cost.token_evaluations,
        "seconds": short(found.cost.seconds),
        "reference_cost": attribution.reference_cost(n_vocab, case),
        "response_pieces": list(case.response_pieces),
        "rows": {
            str(i): [short(float(x)) for x in places[i].measures.matrix]
            for i in np.argsort(-found.scores)[:N_ROWS].tolist()
        },
        "text": [place.text for place in places],
        **{name: [slim(getattr(place.measures, name)) for place in places] for name in estimates},
        "left_surprisal": [short(place.measures.left_surprisal) for place in places],
        "converged": [place.converged for place in places],
        "method": [place.method for place in places],
        "n_candidates": [place.n_candidates for place in places],
        "place_evaluations": [place.cost.token_evaluations for place in places],
        "substitutes": [likeliest(place, given_response=False) for place in places],
        "substitutes_response": [likeliest(place, given_response=True) for place in places],
    }


def likeliest(place: attribution.Place, *, given_response: bool) -> list[list[object]]:
    """Return the likeliest substitutes: text, probability under the law, score."""
    return [
        [one.text, short(one.prob_response if given_response else one.prob), short(one.score)]
        for one in place.substitutes(N_SUBSTITUTES, given_response=given_response)
    ]


def replaced(record: Mapping) -> dict:
    """Return what substitutes do at each place, by column."""
    places = record["places"]
    estimates = ("count_entropy", "weighted_entropy", "stability", "n_reproducing", "set_mass")
    plain = ("n_set", "n_tried", "reached", "actual_in_set")
    return {
        **{name: [slimmed(place[name]) for place in places] for name in estimates},
        **{name: [place[name] for place in places] for name in plain},
        "is_own": record["original"][: len(record["own"])] == record["own"],
        "mass": record["mass"],
        "most": record["most"],
        "max_tokens": record["max_tokens"],
        "token_evaluations": record["cost"]["token_evaluations"],
        "seconds": short(record["seconds"]),
    }


def drawn(record: Mapping) -> dict:
    """Return how much drawn responses vary, a row a cut."""
    estimates = ("entropy", "modal_prob", "greedy_prob", "seen_prob")
    plain = ("top_p", "n", "n_distinct", "modal_text", "modal_count", "count_entropy")
    return {
        "cuts": [
            {
                **{name: short(cut[name]) for name in plain},
                **{name: slimmed(cut[name]) for name in estimates},
            }
            for cut in record["draws"]
        ],
        "token_evaluations": record["cost"]["token_evaluations"],
        "seconds": short(record["seconds"]),
    }


def moved(record: Mapping) -> dict:
    """Return by how much the source's ways of computing move log-probabilities, nats."""
    plain = record["log_response"]
    wide, narrow, other = (record[name] for name in ("float32", "bfloat16", "bos"))
    return {
        "read_anew": None if record["is_same_ids"] else short(record["read_anew"] - plain),
        "twice": short(record["twice"] - plain),
        "bfloat16_prompt": short(narrow[0] - wide[0]),
        "bfloat16_response": short(narrow[1] - narrow[0] - (wide[1] - wide[0])),
        "bos_prompt": short(other[0] - wide[0]),
        "bos_response": short(other[1] - other[0] - (wide[1] - wide[0])),
        "chat_response": record["chat_response"],
        "seconds": short(record["seconds"]),
    }


def compared(record: Mapping, tests: Sequence[Faithfulness]) -> dict:
    """Return the scores of other methods, and how well each tells what the response needs."""
    return {
        "scores": {
            name: {
                "values": [slimmed(one) for one in scores["estimates"]],
                "flags": scores["flags"],
                "diagnostics": {k: short(v) for k, v in scores["diagnostics"].items()},
                "token_evaluations": scores["cost"]["token_evaluations"],
            }
            for name, scores in record["scores"].items()
        },
        "tests": [
            {
                "label": test.label,
                "removal": test.removal,
                "flags": sorted(test.flags),
                **{
                    name: None if one is None else slim(one) for name, one in test.numbers().items()
                },
            }
            for test in tests
        ],
        "seconds": short(record["seconds"]),
    }


def averaged(tests: Iterable[Faithfulness]) -> list[dict]:
    """Return the mean of each number over prompts, by method and removal."""
    groups: dict[tuple[str, str], list[Faithfulness]] = {}
    for test in tests:
        groups.setdefault((test.label, test.removal), []).append(test)
    rows = []
    for (label, removal), own in groups.items():
        if len(own) < 2:
            continue
        found = attribution.average_faithfulness(own)
        rows.append(
            {
                "label": label, "removal": removal, "n": len(own),
                **{
                    name: None if one.estimate is None else slim(one.estimate)
                    for name, one in found.means.items()
                },
            }
        )  # fmt: skip
    return rows
