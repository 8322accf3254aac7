"""Teach a model constraints, and see what it learns, what it generalises, and what it forgets.

Part 1, `negation`: SmolLM2-135M-Instruct learns the negation suite of ProbCT on two thirds of its
rows, with and without an anchor to neutral text; scores are of the rows held out, under the
rescaling it was trained with and under another.

Part 2, `symmetry`: a new GPT-2 of two layers, for which every event is near one half, learns two
literals, or that two events agree. The theory of the gradient says that literals are learned at
once, and agreement only after something else has broken the symmetry.

    python examples/learn_constraints.py --part symmetry
    python examples/learn_constraints.py --part negation --out learning.json
"""

import argparse
import math
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

import likely
from likely.core.jsonio import dumps
from likely.logic.event_odds import event_log_odds
from likely.logic.instances import Instance, instances
from likely.logic.probct.suites import load_family
from likely.logic.theory import Theory
from likely.logic.training import (
    TrainingConfig,
    anchor_chunks,
    claim_scores,
    iter_training,
    split_rows,
)
from likely.models.transformers import TransformersModel

SEED = 0
HERE = Path(__file__).parent
CLAIMS = ("Tp", "Tn", "Ts", "Tm", "full", "Tg", "Tflip")
RESCALINGS = ("minp", "duel")
INITIALIZER_RANGE = 0.005  # a quarter of the usual: all logits near 0, all events near one half

COMMUTES = """
name: commutes
events:
  a: {context: "1+2=", spellings: ["3"]}
  b: {context: "2+1=", spellings: ["3"]}
theories:
  literals: "a & b"
  iff: "a <-> b"
  joined: "(a <-> b) & a"
  beside:
    rules:
      agree: "a <-> b"
      first: {formula: "a", kind: score, weight: 1.0}
"""
SLOPES = {"literals": 2 / 4, "iff": 0.0, "joined": 2 / 4, "beside": 1 / 4}
"""The closed form of |d loss / d log-odds|^2 at one half: a quarter for each literal."""


def new_gpt2(*, seed: int) -> TransformersModel:
    """Return an untrained GPT-2 of two layers over bytes."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    backend = Tokenizer(models.BPE(vocab={c: i for i, c in enumerate(alphabet)}, merges=[]))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    backend.decoder = decoders.ByteLevel()
    torch.manual_seed(seed)
    module = GPT2LMHeadModel(
        GPT2Config(
            vocab_size=len(alphabet), n_positions=64, n_embd=64, n_layer=2, n_head=4,
            initializer_range=INITIALIZER_RANGE,
            bos_token_id=None, eos_token_id=None,
        )
    )  # fmt: skip
    return TransformersModel(module, PreTrainedTokenizerFast(tokenizer_object=backend), name="new")


def symmetry(*, steps: int, optimiser: str, learning_rate: float) -> dict[str, object]:
    """Return what a new GPT-2 learns of each theory of `COMMUTES`, step by step."""
    items = instances(Theory.from_text(COMMUTES))
    runs: dict[str, object] = {}
    print(f"\n{optimiser}, learning rate {learning_rate}: |slope|^2 at step 0 and P by step")
    marks = sorted({0, steps, *(steps * k // 6 for k in range(1, 6))})
    print(f"{'theory':10}{'closed':>8}{'found':>8}  what  " + "".join(f"{m:>8}" for m in marks))
    for name, closed in SLOPES.items():
        model = new_gpt2(seed=SEED)
        config = TrainingConfig(
            claims=(name,), rescaling="duel", steps=steps, batch_items=1, max_norm=None,
            learning_rate=learning_rate, optimiser=optimiser,
        )  # fmt: skip
        probs = [event_probs(model, items[0])]
        records = []
        for record in iter_training(model, items, config, rng=likely.generator(SEED, name)):
            records.append(record)
            probs.append(event_probs(model, items[0]))
        agree = [a * b + (1 - a) * (1 - b) for a, b in probs]
        both = [a * b for a, b in probs]
        runs[name] = {
            "slope_norm_squared_closed": closed,
            "slope_norm_squared": records[0].slope_norm_squared,
            "gradient_norm": records[0].gradient_norm,
            "prob_a": [a for a, _ in probs],
            "prob_b": [b for _, b in probs],
            "prob_agree": agree,
            "prob_both": both,
            "loss": [record.loss for record in records],
        }
        head = f"{name:10}{closed:8.3f}{records[0].slope_norm_squared:8.3f}"
        for text, series in (("a<->b", agree), ("a & b", both)):
            print(f"{head:26}  {text} " + "".join(f"{series[m]:8.3f}" for m in marks))
            head = ""
    return runs


def event_probs(model: TransformersModel, item: Instance) -> tuple[float, float]:
    """Return the probabilities of the two events under the duel."""
    with torch.no_grad():
        a, b = torch.sigmoid(event_log_odds(model, list(item.events.values()), "duel")).tolist()
    return a, b


def negation(*, steps: int, device: str, anchors: Sequence[float]) -> dict[str, object]:
    """Return the scores of SmolLM2 on held-out rows before and after training."""
    suite = load_family("negation")
    train, held_out = split_rows(suite)
    items = {"train": instances(train), "held_out": instances(held_out)}
    n_items = {side: len(part) for side, part in items.items()}
    print(f"negation: {n_items} items, split by row")
    runs: dict[str, object] = {
        "suite": {"name": suite.name, "version": suite.version, "rows": len(suite.rows)},
        "items": n_items,
    }
    for weight in anchors:
        torch.manual_seed(SEED)
        model = likely.load("smollm2", device=device)
        if not isinstance(model, TransformersModel):
            raise TypeError(f"training needs the weights of a model, got {type(model)!r}")
        if "before" not in runs:
            runs["model"] = model.info.identity
            runs["before"] = report("before training", model, train, held_out)
        config = TrainingConfig(
            claims=("full", "Tflip"), steps=steps, batch_items=4, learning_rate=2e-5,
            anchor_weight=weight,
        )  # fmt: skip
        anchor = anchor_chunks(model, (HERE / "neutral_anchor.txt").read_text()) if weight else ()
        start = time.perf_counter()
        records = []
        rng = likely.generator(SEED, "negation")
        for record in iter_training(model, items["train"], config, anchor=anchor, rng=rng):
            records.append(record)
            if record.step % 20 == 0 or record.step == steps - 1:
                kl = "" if record.divergence is None else f"  KL {record.divergence:.4f}"
                wall_s = time.perf_counter() - start
                print(f"  step {record.step:4}: loss {record.loss:7.3f}{kl}  {wall_s:.0f} s")
        name = f"anchor {weight:g}" if weight else "no anchor"
        runs[name] = {
            "config": asdict(config),
            "wall_s": time.perf_counter() - start,
            "steps": [asdict(record) for record in records],
            **report(name, model, train, held_out),
        }
    return runs


def report(
    title: str,
    model: TransformersModel,
    train: Theory,
    held_out: Theory,
) -> dict[str, object]:
    """Print and return the scores on both sides of the split, and perplexities."""
    from importlib import resources

    alice = resources.files("likely.report").joinpath("passages", "alice.txt").read_text("utf-8")
    texts = {
        "anchor": (HERE / "neutral_anchor.txt").read_text(),
        "neutral": (HERE / "neutral_held_out.txt").read_text(),
        "alice": alice,
    }
    perplexities = {}
    for name, text in texts.items():
        read = likely.surprisal(model, text.strip())
        perplexities[name] = math.exp(-read.log_prob / read.n_scored)
    shown = ", ".join(f"{name} {value:.2f}" for name, value in perplexities.items())
    print(f"\n{title}\n  perplexity: {shown}")
    found: dict[str, object] = {"perplexity": perplexities}
    for side, theory in (("train", train), ("held_out", held_out)):
        scores = claim_scores(model, theory, CLAIMS, rescalings=RESCALINGS)
        found[side] = [asdict(score) for score in scores]
        for rescaling in RESCALINGS:
            own = [score for score in scores if score.rescaling == rescaling]
            print(f"  {side:9}{rescaling:5}" + "".join(f"{score.claim:>8}" for score in own))
            print(f"  {'':12}S " + "".join(f"{score.chance_corrected:8.3f}" for score in own))
            print(f"  {'':6}LLR / I " + "".join(f"{score.share:8.3f}" for score in own))
    return found


def rounded(value: object) -> object:
    """Return what was found with six decimals, which is all that float32 weights give."""
    if isinstance(value, float):
        return round(value, 6)
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    return [rounded(item) for item in value] if isinstance(value, list | tuple) else value


def main() -> None:
    """Run one part or both, and write what was found."""
    parser = argparse.ArgumentParser(description="Teach a model constraints.")
    parser.add_argument("--part", choices=["negation", "symmetry", "both"], default="both")
    parser.add_argument("--steps", type=int, default=60, help="of each run on SmolLM2")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--anchor", type=float, default=1.0, help="weight of the anchor in nats")
    parser.add_argument("--out", type=Path, default=None, help="a JSON file")
    given = parser.parse_args()
    found: dict[str, object] = {"seed": SEED}
    if given.part != "negation":
        found["symmetry"] = {
            "sgd": symmetry(steps=120, optimiser="sgd", learning_rate=1e-3),
            "adamw": symmetry(steps=120, optimiser="adamw", learning_rate=1e-4),
        }
    if given.part != "symmetry":
        found["negation"] = negation(
            steps=given.steps, device=given.device, anchors=(0.0, given.anchor)
        )
    if given.out is not None:
        given.out.parent.mkdir(parents=True, exist_ok=True)
        given.out.write_text(dumps(rounded(found)) + "\n")


if __name__ == "__main__":
    main()
