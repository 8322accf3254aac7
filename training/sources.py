"""The pinned packages that the corpora are made of, their licences and how each is read."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import readers


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One Debian package (or a part of it) that goes into one corpus.

    Attributes:
        corpus: ``code``, ``english`` or ``spanish``.
        package: Name of the Debian package.
        version: The pinned version (Debian 12).
        sha256: Of the package file.
        title: What the text is.
        licence: SPDX expression, or ``public-domain``.
        read: From the unpacked folder to documents.
        kind: ``code``, ``book`` (every paragraph is kept) or ``manual`` (sentences only).
        part: Folder inside the package, where it is not the whole.
    """

    corpus: str
    package: str
    version: str
    sha256: str
    title: str
    licence: str
    read: Callable[[Path], Iterator[str]]
    kind: str = "book"
    part: str = "."


_HANDBOOK = "usr/share/doc/debian-handbook/html"
_MAN_COPYLEFT = "Linux-man-pages-copyleft"

SOURCES = (
    Source(
        corpus="code",
        package="libpython3.11-stdlib",
        version="3.11.2-6+deb12u8",
        sha256="890b3540dad8a1ccc0deeca025db735bcc82629a76adacbe3b50fcc06ed528ca",
        title="CPython 3.11 standard library",
        licence="PSF-2.0",
        read=readers.read_python,
        kind="code",
    ),
    Source(
        corpus="code",
        package="libpython3.11-minimal",
        version="3.11.2-6+deb12u8",
        sha256="f3beaa03994ffedacf73c43a0843d53b062d347115d8af65bee2034552a4e6f9",
        title="CPython 3.11 standard library, minimal part",
        licence="PSF-2.0",
        read=readers.read_python,
        kind="code",
    ),
    Source(
        corpus="english",
        package="r-cran-janeaustenr",
        version="1.0.0-1",
        sha256="df6bddf211906d1ff404f8ff662c21b34e6660e7f54a311084e749050c019c95",
        title="The six novels of Jane Austen",
        licence="public-domain",
        read=readers.read_r_books,
    ),
    Source(
        corpus="english",
        package="r-cran-tokenizers",
        version="0.3.0-1",
        sha256="6312f013ebfde5650235bfd7ba5c44d9e4cf9f2da9855337c9483fe778f0d8c7",
        title="Herman Melville, Moby Dick",
        licence="public-domain",
        read=readers.read_r_books,
    ),
    Source(
        corpus="english",
        package="sword-text-web",
        version="426.0-1",
        sha256="930b23670b352f0829a306501de4bebb5e654a2df02cde2cbe86b802177868e1",
        title="World English Bible, New Testament",
        licence="public-domain",
        read=partial(readers.read_sword, testaments=("nt",)),
    ),
    Source(
        corpus="english",
        package="dict-devil",
        version="1.0-13.1",
        sha256="6a535684def2a1f70cd42da16d12d43f0e9dc3e54e4a329178eebab3170e3154",
        title="Ambrose Bierce, The Devil's Dictionary",
        licence="public-domain",
        read=readers.read_dict,
    ),
    Source(
        corpus="english",
        package="python3.11-doc",
        version="3.11.2-6+deb12u8",
        sha256="50eb63e7f636c4281e9ce1b8f10386f1def42159eddce34fc1f41c46261df71b",
        title="Documentation of Python 3.11 (tutorial, how-to pages, questions, reference, use)",
        licence="PSF-2.0",
        read=partial(readers.read_html, below=("tutorial", "howto", "faq", "reference", "using")),
        kind="manual",
        part="usr/share/doc/python3.11/html",
    ),
    Source(
        corpus="english",
        package="debian-handbook",
        version="11.20220922",
        sha256="3d5dbeac1f1afc9c094eab9d0f701f6ecff99c4927d5a4794cf6c85678134faa",
        title="The Debian Administrator's Handbook",
        licence="GPL-2.0-or-later OR CC-BY-SA-3.0",
        read=readers.read_html,
        kind="manual",
        part=f"{_HANDBOOK}/en-US",
    ),
    Source(
        corpus="english",
        package="manpages",
        version="6.03-2",
        sha256="efa1ba4cd19ad7baeae959c9209a7eb74be2ebb858bcabb412597bfc9f588c91",
        title="Linux manual pages (those under the verbatim licence)",
        licence=_MAN_COPYLEFT,
        read=partial(readers.read_man, needs=_MAN_COPYLEFT),
        kind="manual",
    ),
    Source(
        corpus="spanish",
        package="sword-text-sparv",
        version="2.60-1",
        sha256="5c87f9b2bc97457e8a872f5bae7ea7ce59cb3de1dcee73e4d4740451863694cf",
        title="Reina-Valera Bible of 1909",
        licence="public-domain",
        read=readers.read_sword,
    ),
    Source(
        corpus="spanish",
        package="fortunes-es",
        version="1.36",
        sha256="54636edc1a4384093b68d1666c7e702ce42d1fcc8b5ab402d9646c328dcca899",
        title="Spanish proverbs",
        licence="public-domain",
        read=readers.read_fortunes,
    ),
    Source(
        corpus="spanish",
        package="debian-handbook",
        version="11.20220922",
        sha256="3d5dbeac1f1afc9c094eab9d0f701f6ecff99c4927d5a4794cf6c85678134faa",
        title="The Debian Administrator's Handbook in Spanish",
        licence="GPL-2.0-or-later OR CC-BY-SA-3.0",
        read=readers.read_html,
        kind="manual",
        part=f"{_HANDBOOK}/es-ES",
    ),
    Source(
        corpus="spanish",
        package="debian-reference-es",
        version="2.100",
        sha256="a59b68c96f83d3cf29a476c847aee38364764603ea62eee592791e0a843a269e",
        title="Debian Reference in Spanish",
        licence="GPL-2.0-or-later",
        read=readers.read_html,
        kind="manual",
    ),
    Source(
        corpus="spanish",
        package="aptitude-doc-es",
        version="0.8.13-5",
        sha256="a4245500fe3b449791a9f5910869b4bec4cc7e55e108b28fd03a55737687a917",
        title="Aptitude user's manual in Spanish",
        licence="GPL-2.0-or-later",
        read=readers.read_html,
        kind="manual",
    ),
    Source(
        corpus="spanish",
        package="maint-guide-es",
        version="1.2.53",
        sha256="5a76b5e43285173ce4cce9284fb47b9a1851a68a9c0c0b8300c338d8890a42b6",
        title="Debian New Maintainers' Guide in Spanish",
        licence="GPL-2.0-or-later",
        read=readers.read_html,
        kind="manual",
    ),
    Source(
        corpus="spanish",
        package="debian-edu-doc-es",
        version="2.12.23~deb12u1",
        sha256="83f3c1bc05cf8bd2604df2d59e48f0b426744aee2820abae022c640891306742",
        title="Debian Edu manual in Spanish",
        licence="GPL-2.0-or-later",
        read=readers.read_html,
        kind="manual",
    ),
    Source(
        corpus="spanish",
        package="manpages-es",
        version="4.18.1-1",
        sha256="d21e9f85e487f149ae45b5c525b2b1a70ae7fd38d4b05b47c8753042c66f4c2b",
        title="Manual pages in Spanish",
        licence="GPL-3.0-or-later",
        read=readers.read_man,
        kind="manual",
    ),
    Source(
        corpus="spanish",
        package="manpages-es-dev",
        version="4.18.1-1",
        sha256="1c2e676050bc87ecd5b4fafa00e7365504aaaf5d64645ef9989e907e5612a322",
        title="Manual pages for developers in Spanish",
        licence="GPL-3.0-or-later",
        read=readers.read_man,
        kind="manual",
    ),
)
