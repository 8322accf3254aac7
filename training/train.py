"""Train one of the tiny models; stopped at any time, it goes on from its latest checkpoint.

Run ``python training/train.py tiny-2l --checkpoints FOLDER``. Set MALLOC_TRIM_THRESHOLD_ and
MALLOC_MMAP_THRESHOLD_ high: with glibc's own settings most time goes into page faults.
"""

import argparse
import json
import math
import os
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from documents import CORPORA, is_held_out, load_documents
from loss import mean_cross_entropy
from measure import measure
from safetensors.torch import save_file
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast
from windows import Windows

from likely.models.tiny import folder

CORPORA_FOLDER = Path(__file__).parents[1] / "src" / "likely" / "rare" / "corpora"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything that decides the weights.

    Attributes:
        n_layers: Blocks of the transformer.
        tokens: Trained on in all, about.
        width, heads, length: Shape of the model.
        batch: Windows in a step.
        rate: Highest learning rate, reached after `warm_up` steps; it ends at a twentieth of it.
        decay: Weight decay of the matrices that ``optimiser`` decays.
        optimiser: ``adamw`` for all weights; or ``muon`` for the matrices within the blocks, and
            AdamW without decay for the others.
        seed: Of initial weights and data order.
    """

    n_layers: int
    tokens: int
    width: int = 128
    heads: int = 4
    length: int = 512
    batch: int = 8
    rate: float = 4e-3
    warm_up: int = 200
    decay: float = 0.1
    betas: tuple[float, float] = (0.9, 0.95)
    clip: float = 1.0
    seed: int = 20260
    optimiser: str = "adamw"

    @property
    def steps(self) -> int:
        """Optimiser steps in all."""
        return self.tokens // (self.batch * self.length)


MODELS = {
    "tiny-1l": Settings(n_layers=1, tokens=24_000_000),
    "tiny-2l": Settings(n_layers=2, tokens=20_000_000, rate=6e-3, optimiser="muon"),
    "tiny-4l": Settings(n_layers=4, tokens=16_000_000, rate=6e-3, optimiser="muon"),
}
CHECKPOINT_SECONDS = 150


def main() -> None:
    """Train, round to float16, measure on held-out documents, and write the model's folder."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", choices=sorted(MODELS))
    parser.add_argument("--checkpoints", type=Path, required=True)
    arguments = parser.parse_args()
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    settings = MODELS[arguments.name]
    arguments.checkpoints.mkdir(parents=True, exist_ok=True)
    tokenizer = PreTrainedTokenizerFast.from_pretrained(folder(arguments.name))
    run = Run(arguments.name, settings, tokenizer, arguments.checkpoints)
    run.train()
    run.write()
    measure(arguments.name)


def tokenise(tokenizer: PreTrainedTokenizerFast, corpus: str) -> list[np.ndarray]:
    """Return the ids of the documents that are trained on."""
    documents = [text for text in load_documents(corpus) if not is_held_out(text)]
    ids = tokenizer(documents, add_special_tokens=False, verbose=False)["input_ids"]
    return [np.array(row) for row in ids]


def new_model(settings: Settings, tokenizer: PreTrainedTokenizerFast) -> GPT2LMHeadModel:
    """Return the model with its initial weights."""
    torch.manual_seed(settings.seed)
    config = GPT2Config(
        vocab_size=len(tokenizer),
        n_positions=settings.length,
        n_embd=settings.width,
        n_layer=settings.n_layers,
        n_head=settings.heads,
        activation_function="gelu",
        resid_pdrop=0.0,
        embd_pdrop=0.0,
        attn_pdrop=0.0,
        tie_word_embeddings=False,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
    )
    return GPT2LMHeadModel(config).train()


class Run:
    """The training of one model."""

    def __init__(
        self,
        name: str,
        settings: Settings,
        tokenizer: PreTrainedTokenizerFast,
        checkpoints: Path,
    ) -> None:
        self.name, self.settings, self.tokenizer = name, settings, tokenizer
        self.file = checkpoints / f"{name}.pt"
        self.model = new_model(settings, tokenizer)
        self.optimisers = _new_optimisers(self.model, settings)
        documents = [ids for c in CORPORA for ids in tokenise(tokenizer, c)]
        self.windows = Windows(
            documents=documents,
            begin=tokenizer.bos_token_id,
            end=tokenizer.eos_token_id,
            length=settings.length,
            batch=settings.batch,
            seed=settings.seed,
        )
        self.step, self.seconds = 0, 0.0
        self.losses: list[float] = []
        if self.file.is_file():
            self._resume()

    def train(self) -> None:
        """Take the steps that are left, with a checkpoint every few minutes."""
        settings, per_epoch = self.settings, self.windows.batches_per_epoch
        batches, epoch, saved = np.empty(0), -1, time.monotonic()
        while self.step < settings.steps:
            if epoch != self.step // per_epoch:
                epoch = self.step // per_epoch
                batches = self.windows.epoch(epoch)
            start = time.monotonic()
            self.losses.append(self._take_step(torch.from_numpy(batches[self.step % per_epoch])))
            self.step += 1
            self.seconds += time.monotonic() - start
            if self.step % 100 == 0:
                rate = self.step * settings.batch * settings.length / self.seconds
                recent = sum(self.losses[-100:]) / 100
                print(
                    f"{self.name} {self.step}/{settings.steps} {recent:.4f} {rate:.0f}/s",
                    flush=True,
                )
            if time.monotonic() - saved > CHECKPOINT_SECONDS:
                self._save()
                saved = time.monotonic()
        self._save()

    def write(self) -> None:
        """Write the weights in float16, and the record of training."""
        target = folder(self.name)
        state = {key: value.half().contiguous() for key, value in self.model.state_dict().items()}
        save_file(state, target / "model.safetensors", metadata={"format": "pt"})
        self.model.config.dtype = torch.float16
        self.model.config.architectures = ["GPT2LMHeadModel"]
        self.model.config.save_pretrained(target)
        record = {
            "model": self.name,
            "settings": asdict(self.settings),
            "corpora": json.loads((CORPORA_FOLDER / "manifest.json").read_text("utf-8"))["files"],
            "steps": self.step,
            "tokens_seen": self.step * self.settings.batch * self.settings.length,
            "tokens_in_training_documents": sum(map(len, self.windows.documents)),
            "seconds": round(self.seconds),
            "train_loss": sum(self.losses[-200:]) / 200,
            "torch": torch.__version__,
        }
        (target / "training.json").write_text(json.dumps(record, indent=1) + "\n")

    def _take_step(self, windows: torch.Tensor) -> float:
        settings = self.settings
        for optimiser in self.optimisers:
            for group in optimiser.param_groups:
                group["lr"] = settings.rate * _schedule(self.step, settings)
        with torch.autocast("cpu", torch.bfloat16):
            hidden = self.model.transformer(input_ids=windows[:, :-1], use_cache=False)
        states = hidden.last_hidden_state.float().reshape(-1, settings.width)
        loss = mean_cross_entropy(states, self.model.lm_head.weight, windows[:, 1:].reshape(-1))
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), settings.clip)
        for optimiser in self.optimisers:
            optimiser.step()
            optimiser.zero_grad()
        return float(loss.detach())

    def _save(self) -> None:
        state = {
            "settings": asdict(self.settings),
            "model": self.model.state_dict(),
            "optimisers": [optimiser.state_dict() for optimiser in self.optimisers],
            "step": self.step,
            "seconds": self.seconds,
            "losses": self.losses,
            "rng": torch.get_rng_state(),
        }
        fresh = self.file.with_suffix(".new")
        torch.save(state, fresh)
        fresh.replace(self.file)

    def _resume(self) -> None:
        state = torch.load(self.file, weights_only=True)
        if state["settings"] != asdict(self.settings):
            raise SystemExit(f"{self.file} was written under other settings; move it away")
        self.model.load_state_dict(state["model"])
        for optimiser, saved in zip(self.optimisers, state["optimisers"], strict=True):
            optimiser.load_state_dict(saved)
        self.step, self.seconds, self.losses = state["step"], state["seconds"], state["losses"]
        torch.set_rng_state(state["rng"])


def _new_optimisers(model: GPT2LMHeadModel, settings: Settings) -> list[torch.optim.Optimizer]:
    named = list(model.named_parameters())
    matrices = [weight for _, weight in named if weight.ndim >= 2]
    vectors = [weight for _, weight in named if weight.ndim < 2]
    if settings.optimiser == "muon":
        within = [weight for name, weight in named if weight.ndim >= 2 and ".h." in name]
        others = [weight for name, weight in named if weight.ndim < 2 or ".h." not in name]
        muon = torch.optim.Muon(
            within,
            lr=settings.rate,
            momentum=settings.betas[1],
            weight_decay=settings.decay,
            adjust_lr_fn="match_rms_adamw",
        )
        plain = torch.optim.AdamW(
            others, lr=settings.rate, betas=settings.betas, weight_decay=0.0, fused=True
        )
        return [muon, plain]
    groups = [
        {"params": matrices, "weight_decay": settings.decay},
        {"params": vectors, "weight_decay": 0.0},
    ]
    return [torch.optim.AdamW(groups, lr=settings.rate, betas=settings.betas, fused=True)]


def _schedule(step: int, settings: Settings) -> float:
    """Return the share of the highest learning rate: a linear rise, then half a cosine."""
    if step < settings.warm_up:
        return (step + 1) / settings.warm_up
    done = (step - settings.warm_up) / max(1, settings.steps - settings.warm_up)
    return 0.05 + 0.95 * 0.5 * (1 + math.cos(math.pi * done))


if __name__ == "__main__":
    main()
