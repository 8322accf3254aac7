"""Readers: each turns the files of one kind of package into plain documents (str, UTF-8, NFC)."""

import bz2
import gzip
import html
import lzma
import re
import struct
import subprocess
import zlib
from collections.abc import Iterable, Iterator
from html.parser import HTMLParser
from pathlib import Path

_BLOCKS = frozenset({"p", "li", "dd", "dt", "h1", "h2", "h3", "h4", "h5", "h6", "blockquote", "td"})
_SKIPPED = frozenset(
    {"pre", "script", "style", "nav", "table", "head", "form", "footer", "header", "svg", "title"}
)
_FURNITURE = re.compile(
    r"sphinxsidebar|related|footer|headerlink|navheader|navfooter|toc|docnav|index|copyright"
)
_NO_PAGES = re.compile(
    r"genindex|search\.html|/index-|py-modindex|/changelog|/license|contents\.html"
)
_VOID = frozenset(
    {"br", "img", "hr", "meta", "link", "input", "col", "area", "base", "wbr", "source", "embed"}
)


def read_python(folder: Path) -> Iterator[str]:
    """Yield every module of a Python library as it stands, tables of data left out."""
    tables = re.compile(r"encodings/(cp|iso|mac|koi|kz|ptcp|palm|tis|hp_)|pydoc_data|_sysconfig")
    for path in sorted(folder.rglob("*.py")):
        if not path.is_file() or tables.search(path.as_posix()):
            continue
        text = path.read_bytes().decode("utf-8", "replace")
        if len(text) > 200 and "\ufffd" not in text:
            yield text.replace("\f", "")


def read_html(folder: Path, *, below: tuple[str, ...] = (".",)) -> Iterator[str]:
    """Yield the prose of each page below some folders: no code, tables, menus or indexes."""
    for path in sorted(path for name in below for path in (folder / name).rglob("*.html")):
        if path.is_symlink() or not path.is_file() or _NO_PAGES.search(path.as_posix()):
            continue
        page = _Prose()
        page.feed(path.read_text("utf-8", "replace"))
        page.close()
        yield "\n\n".join(page.paragraphs)


def read_man(folder: Path, *, needs: str = "") -> Iterator[str]:
    """Yield the prose of each manual page, rendered by groff.

    Args:
        folder: Searched for ``*.gz``.
        needs: Text that the page's source must contain, such as the mark of its licence.
    """
    command = ["groff", "-mandoc", "-K", "utf8", "-Tutf8", "-P-c", "-P-b", "-P-u", "-w0"]
    for path in sorted(folder.rglob("*.[0-9]*.gz")):
        source = gzip.decompress(path.read_bytes())
        if path.is_symlink() or needs.encode() not in source or source.startswith(b".so "):
            continue
        done = subprocess.run(
            [*command, "-rLL=9000n", "-rHY=0"], input=source, capture_output=True, check=True
        )
        rendered = re.sub(r"\x1b\[[0-9;]*m|.\x08", "", done.stdout.decode("utf-8"))
        lines = rendered.strip().splitlines()[1:-1]  # the first and last name the page
        yield "\n\n".join(re.sub(r"\s+", " ", line).strip() for line in lines if line.strip())


def read_sword(folder: Path, *, testaments: tuple[str, ...] = ("ot", "nt")) -> Iterator[str]:
    """Yield the chapters of a Bible in zText form (a SWORD module in OSIS markup)."""
    for testament in testaments:
        base = next(folder.rglob(f"{testament}.bzz")).with_suffix("")
        blocks = list(struct.iter_unpack("<III", base.with_suffix(".bzs").read_bytes()))
        data = base.with_suffix(".bzz").read_bytes()
        opened = [zlib.decompress(data[start : start + size]) for start, size, _ in blocks]
        verses = struct.iter_unpack("<IIH", base.with_suffix(".bzv").read_bytes())
        chapter: list[str] = []
        for block, start, size in verses:
            if block >= len(opened):
                continue
            verse = _plain_verse(opened[block][start : start + size].decode("utf-8", "replace"))
            if size == 0 or not verse:  # headings of chapters are empty or without text
                if chapter:
                    yield "\n\n".join(_paragraphs_of_verses(chapter))
                chapter = []
                continue
            chapter.append(verse)
        if chapter:
            yield "\n\n".join(_paragraphs_of_verses(chapter))


def read_r_books(folder: Path) -> Iterator[str]:
    """Yield the chapters of the novels that lie as character vectors in an R data base."""
    data = next(folder.rglob("data/Rdata.rdb")).read_bytes()
    for lines in _r_vectors(data):
        text = "\n".join(lines)
        chapters = re.split(r"(?m)^(?=(?:CHAPTER|Chapter|VOLUME|ETYMOLOGY|EXTRACTS)\b)", text)
        for chapter in chapters:
            paragraphs = re.split(r"\n\s*\n", chapter)
            yield "\n\n".join(re.sub(r"\s+", " ", part).strip() for part in paragraphs)


def read_dict(folder: Path) -> Iterator[str]:
    """Yield the paragraphs of a dictd dictionary, sixty to a document."""
    packed = next(folder.rglob("*.dict.dz")).read_bytes()
    parts = re.split(r"\n\s*\n", gzip.decompress(packed).decode("utf-8"))
    paragraphs = [re.sub(r"\s+", " ", part).strip() for part in parts]
    start = next(i for i, part in enumerate(paragraphs) if part.startswith("A"))
    for at in range(start, len(paragraphs), 60):
        yield "\n\n".join(paragraphs[at : at + 60])


def read_fortunes(folder: Path) -> Iterator[str]:
    """Yield proverbs, a hundred to a document."""
    text = next(folder.rglob("refranes.fortunes")).read_text("utf-8")
    sayings = [re.sub(r"\s+", " ", part).strip() for part in re.split(r"(?m)^%$", text)]
    for start in range(0, len(sayings), 100):
        yield "\n\n".join(sayings[start : start + 100])


class _Prose(HTMLParser):
    """Collects the paragraphs of a page."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.paragraphs: list[str] = []
        self._pieces: list[str] = []
        self._skipping: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _VOID:
            self._pieces.append(" " if tag == "br" else "")
            return
        marks = " ".join(value or "" for name, value in attrs if name in ("class", "id", "role"))
        is_furniture = tag in ("div", "a", "ul", "dl", "p", "section") and _FURNITURE.search(marks)
        if self._skipping or tag in _SKIPPED or is_furniture:
            self._skipping.append(tag)
        elif tag in _BLOCKS:
            self._flush()

    def handle_endtag(self, tag: str) -> None:
        if self._skipping:
            if tag in self._skipping:
                while self._skipping and self._skipping.pop() != tag:
                    pass
        elif tag in _BLOCKS:
            self._flush()

    def handle_data(self, data: str) -> None:
        if not self._skipping:
            self._pieces.append(data)

    def close(self) -> None:
        super().close()
        self._flush()

    def _flush(self) -> None:
        text = re.sub(r"\s+", " ", "".join(self._pieces)).replace("¶", "").strip()
        if text:
            self.paragraphs.append(text)
        self._pieces = []


def _plain_verse(markup: str) -> str:
    without_notes = re.sub(r"<note\b.*?</note>|<title\b.*?</title>", " ", markup, flags=re.DOTALL)
    spaced = re.sub(r"</?transChange[^>]*>", " ", without_notes)  # added words lack their spaces
    text = html.unescape(re.sub(r"<[^>]*>", "", spaced)).replace("¶", " ")
    return re.sub(r"\s+([,.;:?!])", r"\1", re.sub(r"\s+", " ", text)).strip()


def _paragraphs_of_verses(verses: Iterable[str]) -> Iterator[str]:
    held: list[str] = []
    for verse in verses:
        held.append(verse)
        if sum(map(len, held)) > 400 and verse.endswith((".", "?", "!", "”")):
            yield " ".join(held)
            held = []
    if held:
        yield " ".join(held)


def _r_vectors(data: bytes) -> Iterator[list[str]]:
    """Yield the character vectors in an R lazy-load data base (XDR serialisation)."""
    at = 0
    while at < len(data):
        # An entry: the unpacked size, for all but zlib a letter for the kind, the packed bytes.
        # The entries are not delimited; each decompressor says what it left unread.
        raw, at = _r_entry(data, at)
        for mark in re.finditer(rb"\x00\x00[\x00\x02]\x10", raw):  # the head of a character vector
            lines = _r_strings(raw, mark.end())
            if sum(map(len, lines)) > 100_000:
                yield lines
                break


def _r_entry(data: bytes, at: int) -> tuple[bytes, int]:
    for skip, opened in (
        (4, zlib.decompressobj()),
        (5, bz2.BZ2Decompressor()),
        (5, lzma.LZMADecompressor()),
    ):
        try:
            raw = opened.decompress(data[at + skip :])
        except (zlib.error, OSError, lzma.LZMAError):
            continue
        return raw, len(data) - len(opened.unused_data)
    raise ValueError(f"no R entry at byte {at}")


def _r_strings(raw: bytes, at: int) -> list[str]:
    (count,) = struct.unpack_from(">i", raw, at)
    at += 4
    lines: list[str] = []
    for _ in range(count):
        if at + 8 > len(raw):
            return []
        flags, size = struct.unpack_from(">Ii", raw, at)
        if flags & 0xFF != 9 or size < 0:
            return []
        lines.append(raw[at + 8 : at + 8 + size].decode("utf-8"))
        at += 8 + size
    return lines
