"""Attributes the source's seven prompts on smollm2, stage by stage: attribution-smollm2.json.

    python docs/replication/attribution_runs.py --work FOLDER
    python docs/replication/attribution_runs.py --work FOLDER --prompts P6 --stages attribution

Each stage of each prompt is one file in the working folder, written whole once it is done, so that
a run that was stopped goes on with what is missing. A prompt of fifty tokens takes up to half an
hour of two cores for its attribution.
"""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import likely
from likely import attribution

HERE = Path(__file__).parent
PROMPTS = HERE / "attribution-prompts.json"
STAGES = ("attribution",)
N_RESPONSE = 20


def main(arguments: Sequence[str] | None = None) -> None:
    """Run what is missing."""
    asked = parse(arguments)
    folder: Path = asked.work
    folder.mkdir(parents=True, exist_ok=True)
    texts = json.loads(PROMPTS.read_text("utf-8"))["prompts"]
    for name in asked.prompts or texts:
        if name not in texts:
            sys.exit(f"unknown prompt {name!r}; there are {list(texts)}")
    model = likely.load(asked.model)
    # Short prompts first: what a few minutes give is there early.
    for name in sorted(asked.prompts or texts, key=lambda name: len(texts[name])):
        attributed(model, name, texts[name], folder, asked)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Return what was asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--work", type=Path, required=True, help="folder of results")
    parser.add_argument("--prompts", nargs="+", help="such as P0 P6; by default all")
    parser.add_argument("--stages", nargs="+", choices=STAGES, default=list(STAGES))
    parser.add_argument("--model", default="smollm2")
    parser.add_argument("--generate", type=int, default=N_RESPONSE, help="tokens of the response")
    parser.add_argument("--tolerance", type=float, default=0.02, help="of a score, nats")
    return parser.parse_args(arguments)


def attributed(
    model: likely.LanguageModel, name: str, text: str, folder: Path, asked: argparse.Namespace
) -> attribution.Attribution:
    """Return the attribution of a prompt, from its file where it is there."""
    file = folder / f"{name}.attribution.npz"
    if file.exists():
        found = attribution.read_npz(file)
        terms = (found.tolerance, found.model.identity)
        if terms != (asked.tolerance, model.info.identity):
            sys.exit(f"{file} was made otherwise: {terms!r}; take another folder")
        return found
    case = attribution.frame_case(model, text, generate=asked.generate)
    say(f"{name}: {len(case.prompt)} tokens, response {case.response_text!r}")
    start = time.monotonic()
    found = attribution.attribute_case(model, case, tolerance=asked.tolerance, kept=None)
    found.to_npz(file)
    n_known = sum(place.converged for place in found.places)
    say(
        f"{name}: {n_known} of {len(found.places)} scores known to {asked.tolerance} nats, "
        f"{found.cost.token_evaluations} token evaluations, {time.monotonic() - start:.0f} s"
    )
    return found


def say(line: str) -> None:
    """Tell of progress."""
    sys.stdout.write(f"{time.strftime('%H:%M:%S')} {line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
