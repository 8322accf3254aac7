"""Runs the source's seven prompts on smollm2, stage by stage, and writes attribution-smollm2.json.

    python docs/replication/attribution_runs.py --work FOLDER
    python docs/replication/attribution_runs.py --work FOLDER --prompts P6 --stages attribution

Each stage of each prompt is a file or two in the working folder, written whole once it is done, so
that a run that was stopped goes on with what is missing. A stage that is older than its attribution
is run again. Short prompts come first. The attribution of fifty tokens takes up to an hour of two
cores, the other stages minutes.

attribution   every token's score by Bayes' rule, at the default budget: what the others build on
replacement   the model's own response with the likeliest substitutes in each token's place
stability     200 responses drawn at top-p 0.1, 0.2 and 0.4
baselines     other methods' scores, and how faithful all of them are
variants      the same response in bfloat16, after the BOS, after two, read anew from its text
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from attribution_compact import compact, is_fresh, scored
from attribution_tables import AFTER_BOS, END_OF_TEXT, RESULT, SAME_RESPONSE

import likely
from likely import attribution
from likely.attribution.case import conditioned_on
from likely.attribution.gathering import default_budget
from likely.core.files import write_whole
from likely.core.generation import greedy
from likely.core.jsonio import dumps
from likely.errors import InputError

HERE = Path(__file__).parent
PROMPTS = HERE / "attribution-prompts.json"
N_RESPONSE = 20
TOP_P = (0.1, 0.2, 0.4)
BASELINES: dict[str, dict[str, int]] = {
    "deletion": {}, "replacement": {}, "context_cite": {"n_ablations": 256}, "shapley": {},
    "gradient_x_input": {}, "integrated_gradients": {},
}  # fmt: skip
FEW = 30
"""Tokens of a prompt up to which tokens are also taken out by draws: 8 times the work."""
N_DRAWS = 8


def main(arguments: Sequence[str] | None = None) -> None:
    """Run what is missing, and write what there is."""
    asked = parse(arguments)
    folder: Path = asked.work
    folder.mkdir(parents=True, exist_ok=True)
    texts: dict[str, str] = json.loads(PROMPTS.read_text("utf-8"))["prompts"]
    texts |= dict.fromkeys((AFTER_BOS, SAME_RESPONSE), texts["P6"])
    names = asked.prompts or list(texts)
    unknown = [name for name in names if name not in texts]
    if unknown:
        sys.exit(f"unknown prompt {unknown[0]!r}; there are {list(texts)}")
    if asked.out == RESULT and (asked.model, asked.generate) != ("smollm2", N_RESPONSE):
        sys.exit("that is another run than the page's: give --out FILE of its own")
    model = likely.load(asked.model)
    for name in sorted(names, key=lambda name: len(texts[name])):
        found = attributed(model, name, texts[name], asked)
        for stage in asked.stages if name not in (AFTER_BOS, SAME_RESPONSE) else ():
            STAGES[stage](model, name, found, asked)
    write_whole(asked.out, [dumps(compact(folder, texts)).encode(), b"\n"])


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Return what was asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--work", type=Path, required=True, help="folder of results")
    parser.add_argument("--prompts", nargs="+", help="such as P0 P6; by default all")
    parser.add_argument("--stages", nargs="+", choices=STAGES, default=list(STAGES))
    parser.add_argument(
        "--most", type=int, default=128, help="substitutes tried at a place (replacement)"
    )
    parser.add_argument("--out", type=Path, default=RESULT, help="the small result of all of it")
    parser.add_argument(
        "--times", type=float, default=1.0, help="the default budget, this many times (attribution)"
    )
    parser.add_argument("--model", default="smollm2")
    parser.add_argument("--generate", type=int, default=N_RESPONSE, help="tokens of the response")
    parser.add_argument("--tolerance", type=float, default=0.02, help="of a score, nats")
    return parser.parse_args(arguments)


def attributed(
    model: likely.LanguageModel, name: str, text: str, asked: argparse.Namespace
) -> attribution.Attribution:
    """Return the attribution of a prompt, from its file where it is there."""
    file = asked.work / f"{name.replace(' ', '-')}.attribution.npz"
    if file.exists():
        found = attribution.read_npz(file)
        before = framed(model, name, text, asked).context
        if (found.tolerance, found.model.identity, found.case.context) != (
            asked.tolerance, model.info.identity, before,
        ):  # fmt: skip
            sys.exit(f"{file} is of another run: give another --work")
        return found
    case = framed(model, name, text, asked)
    say(f"{name}: {len(case.prompt)} tokens, response {case.response_text!r}")
    start = time.monotonic()
    budget = asked.times * default_budget(model.info.n_vocab, case)
    # All candidates are kept: the replacement stage needs nine tenths of each posterior.
    found = attribution.attribute_case(
        model, case, tolerance=asked.tolerance, budget=budget, kept=None
    )
    found.to_npz(file)
    # What the page needs of it, beside: the layout of the file may change before the page is made.
    write_whole(
        file.with_suffix(".json"), [dumps(scored(found, n_vocab=model.info.n_vocab)).encode()]
    )
    n_known = sum(place.converged for place in found.places)
    say(
        f"{name}: {n_known} of {len(found.places)} scores known to {asked.tolerance} nats, "
        f"{found.cost.token_evaluations} token evaluations, {time.monotonic() - start:.0f} s"
    )
    return found


def framed(
    model: likely.LanguageModel, name: str, text: str, asked: argparse.Namespace
) -> attribution.Case:
    """Return a prompt with its response: likeliest tokens, as many as asked for.

    As in the source, they go on through the end of the text. What stands before the prompt is what
    stood between texts in the model's first training. The controls have the BOS, and stop.
    """
    if name == AFTER_BOS:
        return attribution.frame_case(model, text, generate=asked.generate)
    before = end_of_text(model)
    if name == SAME_RESPONSE:
        response = framed(model, AFTER_BOS, text, asked).response
    else:
        return attribution.frame_case(
            model, text, generate=asked.generate, context=before, stop_at_end=False
        )
    return attribution.frame_case(model, text, response, context=before, stop_at_end=False)


def end_of_text(model: likely.LanguageModel) -> tuple[int, ...]:
    """Return the id of the token between texts, or of the BOS of a model that has none."""
    try:
        ids = model.tokenizer.encode(END_OF_TEXT).tokens
    except InputError:  # a table without such a token
        ids = ()
    return ids if len(ids) == 1 else conditioned_on(model)


def replaced(
    model: likely.LanguageModel,
    name: str,
    found: attribution.Attribution,
    asked: argparse.Namespace,
) -> None:
    """Write what the model answers with substitutes in place, drawn from q^r and from q."""
    for given_response, law in ((True, "qr"), (False, "q")):
        n_each, cost = replacement_cost(found, given_response, asked.most, asked.generate)
        n_capped = sum(n > asked.most for n in n_each)
        label = (
            f"replacement-{law}: sets of {min(n_each)} to {max(n_each)}, {n_capped} of "
            f"{len(n_each)} cut to {asked.most}, about {cost} token evaluations"
        )
        keep(
            asked, f"{name}.replacement-{law}", label,
            lambda given=given_response: attribution.replacement(
                model, found, given_response=given, max_tokens=asked.generate, most=asked.most
            ).to_dict(),
        )  # fmt: skip


def replacement_cost(
    found: attribution.Attribution, given_response: bool, most: int, n_tokens: int
) -> tuple[list[int], int]:
    """Return how large the sets of nine tenths are, and what trying them takes, about."""
    n_each, cost = [], 0
    for place in found.places:
        law = place.candidates
        log_prob = law.log_posterior_response if given_response else law.log_posterior
        sums = np.cumsum(np.sort(np.exp(log_prob))[::-1])
        n = min(len(sums), int(np.searchsorted(sums, 0.9)) + 1)
        n_each.append(n)
        cost += min(n, most) * (len(found.case.prompt) - place.positions[0] + n_tokens - 1)
    return n_each, cost


def drawn(
    model: likely.LanguageModel,
    name: str,
    found: attribution.Attribution,
    asked: argparse.Namespace,
) -> None:
    """Write how much responses vary that are drawn, as the source drew them."""
    case = found.case
    keep(
        asked, f"{name}.stability", "stability",
        lambda: attribution.stability(
            model, case.prompt_text, top_p=TOP_P, n=200, max_tokens=asked.generate,
            context=case.context, stop_at_end=False,
        ).to_dict(),
    )  # fmt: skip


def compared(
    model: likely.LanguageModel,
    name: str,
    found: attribution.Attribution,
    asked: argparse.Namespace,
) -> None:
    """Write the scores of other methods, and how faithful theirs and ours are."""

    def run() -> dict[str, object]:
        scores = {
            method: attribution.baseline(model, found.case, name=method, **options)
            for method, options in BASELINES.items()
        }
        ways = ["deletion", "replacement"]
        ways += ["marginal"] if len(found.case.prompt) <= FEW else []
        tests = [
            attribution.measure_faithfulness(
                model, one, removal=way, n_draws=N_DRAWS,
                reference=None if one is found else found,
            )
            for one in (found, *scores.values())
            for way in ways
        ]  # fmt: skip
        return {
            "scores": {method: one.to_dict() for method, one in scores.items()},
            "faithfulness": [test.to_dict() for test in tests],
        }

    keep(asked, f"{name}.baselines", "baselines", run)


def varied(
    model: likely.LanguageModel,
    name: str,
    found: attribution.Attribution,
    asked: argparse.Namespace,
) -> None:
    """Write the response's log-probability where the source's procedure differs from ours."""
    case = found.case

    def run() -> dict[str, object]:
        again = model.tokenizer.encode(case.response_text).tokens
        tokens = {"as it is": case.response, "read anew": again}
        scores = {
            label: likely.score(model, [(case.stem, ids)], bos="never")[0].log_prob
            for label, ids in tokens.items()
        }
        twice = likely.score(model, [(case.context + case.stem, case.response)], bos="never")
        narrow = likely.load(asked.model, dtype="bfloat16")
        contexts = [
            (model, case.context), (narrow, case.context), (model, conditioned_on(model))
        ]  # fmt: skip
        moved = [
            [
                likely.score(one, [(before, ids)], bos="never")[0].log_prob
                for ids in (case.prompt, case.prompt + case.response)
            ]
            for one, before in contexts
        ]
        chat = likely.chat(model, [{"role": "user", "content": case.prompt_text}])
        return {
            "log_response": scores["as it is"],
            "read_anew": scores["read anew"],
            "is_same_ids": again == case.response,
            "twice": twice[0].log_prob,
            "float32": moved[0],
            "bfloat16": moved[1],
            "bos": moved[2],
            "chat_response": greedy(model, [chat], max_tokens=asked.generate)[0].text,
        }

    keep(asked, f"{name}.variants", "variants", run)


def nothing_more(
    model: likely.LanguageModel,
    name: str,
    found: attribution.Attribution,
    asked: argparse.Namespace,
) -> None:
    """Do nothing: the attribution is there."""


Stage = Callable[
    [likely.LanguageModel, str, attribution.Attribution, argparse.Namespace],
    None,
]
STAGES: dict[str, Stage] = {
    "attribution": nothing_more, "replacement": replaced, "stability": drawn,
    "baselines": compared, "variants": varied,
}  # fmt: skip


def keep(
    asked: argparse.Namespace, stem: str, label: str, make: Callable[[], dict[str, object]]
) -> None:
    """Write what is made as a file, unless that is there and newer than the attribution."""
    file = asked.work / f"{stem}.json"
    name = stem.partition(".")[0]
    if is_fresh(file, asked.work / f"{name}.attribution.npz"):
        return
    say(f"{name}: {label}")
    start = time.monotonic()
    record = make() | {"seconds": time.monotonic() - start}
    write_whole(file, [dumps(record).encode()])
    say(f"{stem}: {record['seconds']:.0f} s")


def say(line: str) -> None:
    """Tell of progress."""
    sys.stdout.write(f"{time.strftime('%H:%M:%S')} {line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
