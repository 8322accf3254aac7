"""What the how-to on calibration shows is what likely says: every block on it runs."""

import re
import tomllib
from collections.abc import Iterator

import pytest
from doc_blocks import DOCS, blocks, compare
from loopback import Loopback
from outputs import commands, run

import likely
from likely import calibration
from likely.calibration.data_sets.family import PRESETS
from likely.calibration.remedies.remedy import REMEDIES
from likely.errors import InputError

HOWTO = (DOCS / "calibration.md").read_text(encoding="utf-8")
ADDRESS = "http://localhost:8000/v1#org/name"
REAL = "smollm2"


def parts(page: str, *, is_real: bool) -> Iterator[tuple[str, str, str]]:
    """Yield language, name and text of each block that the model on disk must answer, or need not.

    A block of text belongs to the code before it.
    """
    real = False
    for language, name, text in blocks(page):
        if language != "text":
            real = language == "console" or name == REAL
        if is_real == real:
            yield language, name, text


@pytest.fixture
def loopback():
    server = Loopback()
    yield server
    server.close()


def _shrunk(probs: dict[str, float]) -> dict[str, float]:
    """Return the law with four tenths of its probabilities."""
    return {word: 0.4 * p for word, p in probs.items()} | {".": 0.4 * probs.get(".", 0.0)}


def serve(loopback: Loopback, text: str, names: dict[str, object]) -> str:
    """Return the code with the address of an imitation that serves the page's own model."""
    if ADDRESS not in text:
        return text
    strings, law = names["model"].tokenizer.strings, names["law"]

    def quiet(context: tuple[str, ...]) -> dict[str, float]:
        return {word: p if word != "." else p + 0.6 for word, p in _shrunk(law(context)).items()}

    loopback.serve(likely.TableModel(strings, quiet, bos=None), "llama.cpp")
    return text.replace(ADDRESS, f"{loopback.url}#org/name:q4")


def check(page: str, loopback: Loopback, *, is_real: bool) -> int:
    """Run the blocks of the page in order and compare what they print; return how many did."""
    names: dict[str, object] = {"likely": likely, "calibration": calibration}
    said = ""
    n_compared = 0
    for language, name, text in parts(page, is_real=is_real):
        if language == "python":
            if name not in ("", REAL, "server"):
                raise AssertionError(f"a block is for {name!r}, which no test knows")
            said = run(serve(loopback, text, names), names)
        elif language == "console":
            said = commands(text)
        elif language == "text":
            excerpt(text, said)
            n_compared += 1
    served = names.get("served")
    if served is not None:
        served.close()
    return n_compared


def excerpt(shown: str, said: str) -> None:
    """Compare what is shown with what was said, of which ``...`` on a line leaves out some."""
    if "...\n" not in shown:
        compare(shown, said)
        return
    lines = said.splitlines()
    for part in filter(str.strip, re.split(r"^\.\.\.$", shown, flags=re.M)):
        own = part.strip("\n").splitlines()
        start = next(i for i, line in enumerate(lines) if line.split()[:3] == own[0].split()[:3])
        compare(part, "\n".join(lines[start : start + len(own)]))


def test_blocks_that_need_no_download_say_what_the_page_shows(tmp_path, monkeypatch, loopback):
    monkeypatch.chdir(tmp_path)
    assert check(HOWTO, loopback, is_real=False) >= 15


@pytest.mark.real
def test_the_page_says_what_the_model_says(tmp_path, monkeypatch, loopback):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LIKELY_CACHE", str(tmp_path / "cache"))
    assert check(HOWTO, loopback, is_real=True) >= 3


def family_row(name: str) -> str:
    """Return the line of the table of families: what one asks, how much, and its first item."""
    family = calibration.FAMILIES.load(name)
    sets = [calibration.build(name, preset=preset) for preset in PRESETS]
    item = sets[0][0]
    laws = [f"*{o.label}* {p}" for o, p in zip(item.options, item.ideal, strict=True)]
    if name == "verbalised":
        options = f"*0* to *100*, all of it on *{item.meta['percent']}*"
    elif len(laws) > 3:
        options = f"{', '.join(laws[:2])}, ... ({len(laws)})"
    else:
        options = ", ".join(laws)
    sizes = " / ".join(f"{len(some):,}" for some in sets)
    return f"| `{name}` | {family.question} | {sizes} | {item.context} → {options} |"


def test_the_table_of_families_is_the_registry():
    section = HOWTO.partition("## Families\n")[2].partition("\n## ")[0]
    assert re.findall(r"^\| `.*$", section, flags=re.M) == [
        family_row(name) for name in calibration.FAMILIES.names()
    ]


def test_the_table_of_remedies_is_the_registry():
    section = HOWTO.partition("## Remedies\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \| (.*) \|$", section, flags=re.M)
    assert rows == [(name, REMEDIES.load(name).what) for name in REMEDIES.names()]


def test_the_table_of_variants_has_the_reference_of_each_family():
    section = HOWTO.partition("## What should not matter\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \| .* \| `(\w+)`", section, flags=re.M)
    linked = {
        name
        for name in calibration.FAMILIES.names()
        if name != "verbalised" and "link" in calibration.build(name, preset="smoke")[0].meta
    }
    assert {name for name, _ in rows} == linked
    for name, reference in rows:
        variants = {item.meta["variant"] for item in calibration.build(name)}
        assert reference in variants
        assert len(variants) > 1


def test_the_entry_point_on_the_page_is_of_our_group():
    (text,) = [text for language, _, text in blocks(HOWTO) if language == "toml"]
    (group,) = tomllib.loads(text)["project"]["entry-points"]
    assert group == calibration.FAMILIES.group


MESSAGES = {
    "an ideal law sums to exactly 1": {"ideal": ["1/2", "1/3"]},
    "a context ends in no white space": {"context": "It is "},
}


def item(context="It is", ideal=("1/2", "1/2")):
    from fractions import Fraction

    from likely.calibration.data_sets.items import Option, make_item

    return make_item(
        family="test", version=1, template_id="T", template="", context=context,
        options=[Option(label=name, words=(name,)) for name in ("red", "blue")],
        ideal=[Fraction(p) for p in ideal],
    )  # fmt: skip


@pytest.mark.parametrize("message", MESSAGES)
def test_items_that_are_refused_are_so_in_the_words_on_the_page(message):
    assert f"`{message}`" in HOWTO
    with pytest.raises(InputError, match=message):
        item(**MESSAGES[message])


def test_the_other_messages_on_the_page_are_those_that_come():
    words = {" red": 0.5, " blue": 0.5}
    model = likely.TableModel(["It is", *words], lambda context: words)
    frame = calibration.evaluate(model, [item(), item()], level="exact", n_resamples=100).frame
    one_cluster = frame.assign(link=["a", "a"], variant=["x", "y"])
    for message, attempt in {
        "the bare text has no wrapper": lambda: calibration.score_items(
            model, [item()], wrapper="finish"
        ),
        "the two results share no item": lambda: calibration.compare_models(
            frame, frame.assign(id="other")
        ),
        "a bootstrap needs at least 2 clusters": lambda: calibration.linked_shifts(
            one_cluster, reference="x"
        ),
    }.items():
        assert f"`{message}`" in HOWTO
        with pytest.raises(InputError, match=message):
            attempt()


@pytest.mark.real
def test_the_example_of_answers_for_each_context_runs():
    page = (DOCS / "scoring.md").read_text(encoding="utf-8")
    names: dict[str, object] = {"likely": likely, "model": likely.load("smollm2")}
    for text in [text for language, _, text in blocks(page) if language == "python"]:
        run(text, names)
    assert [item.has_word_ends for item in names["scores"]] == [False, False]
