"""Measure a tiny model on every held-out document, as it is loaded: float16 weights in float32.

Run ``python training/measure.py tiny-2l``. A document and its end token are scored in pieces of at
most 511 tokens, each after the begin token alone. The figures go into the model's
``training.json``: nats per token and bits per byte of each corpus, and nats of each document.
"""

import argparse
import json
import math

import numpy as np
import torch
from documents import CORPORA, is_held_out, load_documents
from transformers import GPT2LMHeadModel, PreTrainedTokenizerFast
from windows import held_out_windows

from likely.models.tiny import NAMES, folder


def main() -> None:
    """Measure one model."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", choices=NAMES)
    measure(parser.parse_args().name)


def measure(name: str) -> None:
    """Write the held-out losses of a model into its record."""
    model = GPT2LMHeadModel.from_pretrained(folder(name), dtype=torch.float32).eval()
    tokenizer = PreTrainedTokenizerFast.from_pretrained(folder(name))
    file = folder(name) / "training.json"
    record = json.loads(file.read_text())
    record["held_out"] = {corpus: _losses(model, tokenizer, corpus) for corpus in CORPORA}
    file.write_text(json.dumps(record, indent=1) + "\n")
    for corpus, losses in record["held_out"].items():
        print(name, corpus, {key: losses[key] for key in ("nats_per_token", "bits_per_byte")})


def _losses(
    model: GPT2LMHeadModel, tokenizer: PreTrainedTokenizerFast, corpus: str
) -> dict[str, float | int | list[dict[str, float | int]]]:
    documents = []
    for index, text in enumerate(load_documents(corpus)):
        if is_held_out(text):
            ids = np.array(tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"])
            nats = _nats(model, ids)
            documents.append(
                {
                    "index": index,
                    "nats": nats,
                    "tokens": len(ids) + 1,
                    "bytes": len(text.encode()),
                }
            )
    nats, tokens, n_bytes = (sum(d[key] for d in documents) for key in ("nats", "tokens", "bytes"))
    return {
        "nats_per_token": nats / tokens,
        "bits_per_byte": nats / n_bytes / math.log(2),
        "documents": documents,
    }


@torch.inference_mode()
def _nats(model: GPT2LMHeadModel, ids: np.ndarray) -> float:
    config, total = model.config, 0.0
    for window in held_out_windows(
        ids,
        begin=config.bos_token_id,
        end=config.eos_token_id,
        length=config.n_positions - 1,
    ):
        tokens = torch.from_numpy(window)
        logits = model(input_ids=tokens[None, :-1]).logits[0].double()
        total += float(torch.nn.functional.cross_entropy(logits, tokens[1:], reduction="sum"))
    return total


if __name__ == "__main__":
    main()
