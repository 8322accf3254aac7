"""``likely models``: what can stand for MODEL."""

from likely.cli.deliver import Result, deliver, document, out_path
from likely.cli.flags import Output
from likely.cli.screen import Column, table

ABOUT = {
    "smollm2": ("smollm2", "SmolLM2-135M-Instruct, pulled once and then local"),
    "tiny-1l": ("tiny-1l", "1-layer transformer, 4,096 tokens; comes with likely"),
    "tiny-2l": ("tiny-2l", "2-layer transformer, 4,096 tokens; comes with likely"),
    "tiny-4l": ("tiny-4l", "4-layer transformer, 4,096 tokens; comes with likely"),
    "hf": ("hf:FOLDER_OR_ID", "a causal model of transformers, by folder or hub id"),
    "gguf": ("gguf:FILE", "a GGUF file, read through transformers"),
    "server": ("server:URL#NAME", "an OpenAI-compatible server: vLLM, llama.cpp, ..."),
    "table": ("table:FILE", "a hand-written next-token law, exactly known"),
}
"""For each built-in prefix: the form of the spec, and what it is."""


def models(output: Output) -> None:
    """List the models that a command can take, and whether each is ready.

    `ready` means that nothing has to be fetched by likely first; a folder, file or server that
    you name must be there.
    """
    path = out_path(output, name="models", suffixes=(".json",))
    from likely.models import MODELS

    rows = []
    for name in MODELS.names():
        form, about = ABOUT.get(name, (f"{name}:...", "from another package"))
        rows.append({"name": name, "spec": form, "about": about, "state": _state(name)})
    lines = table(
        [Column(title="model"), Column(title="state"), Column(title="what it is", gives_way=True)],
        [[row["spec"], row["state"], row["about"]] for row in rows],
    )
    lines += [
        f"to fetch it once: likely pull {row['name']}"
        for row in rows
        if row["state"] == "not pulled"
    ]
    deliver(Result(document=document("models", output, models=rows), lines=lines), output, path)


def _state(name: str) -> str:
    from likely.models.embedded import EMBEDDED, is_pulled

    if name not in EMBEDDED or is_pulled(name):
        return "ready"
    return "not pulled"
