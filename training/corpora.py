"""Make the three corpora of the study `rare`: fetch pinned packages, check, clean, write.

Run ``python training/corpora.py --packages FOLDER``: packages that are not in FOLDER are fetched
with ``apt-get download`` on a Debian 12 machine. It needs dpkg-deb, and groff for manual pages.
"""

import argparse
import hashlib
import json
import lzma
import re
import subprocess
import tempfile
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from sources import SOURCES, Source

TARGET = Path(__file__).parents[1] / "src" / "likely" / "rare" / "corpora"
SEPARATOR = "\f"  # one form feed between documents; no document contains one
_LEAST_DOCUMENT = 200  # characters
_LEAST_SENTENCE = 40
_PLAIN = {"code": 200, "book": 60, "manual": 1}  # shorter paragraphs may occur again
_SPANISH = frozenset(
    {"de", "la", "el", "en", "que", "y", "los", "se", "del", "las", "un", "por", "con", "una"}
    | {"para", "es", "al", "no", "lo", "su", "como", "más", "o", "este", "son"}
)
_ENGLISH = frozenset(
    {"the", "of", "and", "to", "in", "is", "that", "for", "it", "as", "with", "be", "on"}
    | {"this", "by", "are", "or", "you", "can", "from", "at", "an", "not"}
)


def main() -> None:
    """Write the corpora, and the manifest that says what they are made of."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--packages", type=Path, required=True, help="where .deb files are kept")
    folder = parser.parse_args().packages
    folder.mkdir(parents=True, exist_ok=True)
    TARGET.mkdir(parents=True, exist_ok=True)
    files, records = {}, []
    notices: dict[str, str] = {}
    for corpus in ("code", "english", "spanish"):
        seen: set[str] = set()
        documents: list[str] = []
        for source in (s for s in SOURCES if s.corpus == corpus):
            with _unpacked(_fetch(source, folder)) as root:
                found = list(_documents(source, root / source.part, seen))
                notices |= _notice(source, root)
            records.append(_record(source, found))
            documents += found
        files[f"{corpus}.txt.xz"] = _write(corpus, documents)
    rule = "=" * 80
    text = "\n".join(f"{rule}\n{name}\n{rule}\n{notices[name]}" for name in sorted(notices))
    (TARGET / "notices.txt.xz").write_bytes(lzma.compress(text.encode(), preset=9))
    manifest = {"separator": SEPARATOR, "files": files, "sources": records}
    text = json.dumps(manifest, indent=1, ensure_ascii=False)
    (TARGET / "manifest.json").write_text(text + "\n", "utf-8")


def _fetch(source: Source, folder: Path) -> Path:
    """Return the package file, fetched if it is not there, once its hash is right."""
    pattern = f"{source.package}_{source.version}_*.deb"
    if not list(folder.glob(pattern)):
        wanted = f"{source.package}={source.version}"
        subprocess.run(["apt-get", "-q", "download", wanted], cwd=folder, check=True)
    (package,) = folder.glob(pattern)
    with package.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != source.sha256:
        raise SystemExit(f"{package.name} has sha256 {found}, expected {source.sha256}")
    return package


@contextmanager
def _unpacked(package: Path) -> Iterator[Path]:
    """Give the folder that a package unpacks to, for as long as it is needed."""
    with tempfile.TemporaryDirectory() as scratch:
        subprocess.run(["dpkg-deb", "-x", str(package), scratch], check=True)
        yield Path(scratch)


def _notice(source: Source, root: Path) -> dict[str, str]:
    """Return the copyright file of a package; a package without one shares another's."""
    file = root / "usr" / "share" / "doc" / source.package / "copyright"
    return {f"{source.package} {source.version}": file.read_text("utf-8")} if file.exists() else {}


def _documents(source: Source, folder: Path, seen: set[str]) -> Iterator[str]:
    """Yield the cleaned documents of one source; `seen` grows by its paragraphs."""
    for raw in source.read(folder):
        text = unicodedata.normalize("NFC", raw)
        paragraphs = _new(_kept(text.split("\n\n"), source), seen, _PLAIN[source.kind])
        document = "\n\n".join(paragraphs).strip("\n")
        if len(document) >= _LEAST_DOCUMENT:
            yield document


def _kept(paragraphs: Iterable[str], source: Source) -> Iterator[str]:
    for paragraph in paragraphs:
        if source.kind != "manual":
            if paragraph.strip() or source.kind == "code":
                yield paragraph
        elif _is_sentence(paragraph) and _language(paragraph) == source.corpus:
            yield paragraph


def _new(paragraphs: Iterable[str], seen: set[str], least: int) -> Iterator[str]:
    """Yield the paragraphs that did not occur before; those below `least` characters always."""
    for paragraph in paragraphs:
        if len(paragraph) >= least:
            if paragraph in seen:
                continue
            seen.add(paragraph)
        yield paragraph


def _is_sentence(paragraph: str) -> bool:
    """Return whether a paragraph of a manual is prose: long enough, mostly letters, ended."""
    letters = sum(char.isalpha() or char == " " for char in paragraph)
    is_ended = paragraph.rstrip("»”\"')").endswith((".", ":", "?", "!", ";"))
    return len(paragraph) >= _LEAST_SENTENCE and letters >= 0.85 * len(paragraph) and is_ended


def _language(paragraph: str) -> str:
    words = re.findall(r"[^\W\d_]+", paragraph.lower())
    spanish = sum(word in _SPANISH for word in words)
    return "spanish" if spanish > sum(word in _ENGLISH for word in words) else "english"


def _record(source: Source, documents: list[str]) -> dict[str, str | int]:
    return {
        "corpus": source.corpus,
        "package": source.package,
        "version": source.version,
        "sha256": source.sha256,
        "title": source.title,
        "licence": source.licence,
        "bytes": sum(len(document.encode()) for document in documents),
        "documents": len(documents),
    }


def _write(corpus: str, documents: list[str]) -> dict[str, str | int]:
    raw = SEPARATOR.join(documents).encode()
    packed = lzma.compress(raw, preset=9 | lzma.PRESET_EXTREME)
    (TARGET / f"{corpus}.txt.xz").write_bytes(packed)
    return {
        "sha256": hashlib.sha256(packed).hexdigest(),
        "text_sha256": hashlib.sha256(raw).hexdigest(),
        "bytes": len(raw),
        "documents": len(documents),
    }


if __name__ == "__main__":
    main()
