import contextlib
import resource
from dataclasses import replace

import pytest
from report_models import coin

import likely
from likely import report


@contextlib.contextmanager
def small_files_only(limit):
    """Make the system refuse to let a file grow past ``limit`` bytes, as a full disk does."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_written_file_is_the_page(tmp_path):
    made = report.build(coin(), sections=["card"])
    path = tmp_path / "report of äöü.html"
    path.write_text("old")
    made.write(path)
    assert path.read_text(encoding="utf-8") == made.html
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_disk_leaves_the_old_page_whole_and_nothing_else(tmp_path):
    made = report.build(coin(), sections=["card"])
    path = tmp_path / "report.html"
    path.write_text("old")
    with small_files_only(1000), pytest.raises(likely.StoreError, match=r"report\.html"):
        made.write(path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_is_written_through(tmp_path):
    (tmp_path / "real.html").write_text("old")
    (tmp_path / "link.html").symlink_to(tmp_path / "real.html")
    made = report.build(coin(), sections=["card"])
    made.write(tmp_path / "link.html")
    assert (tmp_path / "link.html").is_symlink()
    assert (tmp_path / "real.html").read_text(encoding="utf-8") == made.html


def test_a_name_with_undecodable_bytes_is_written_all_the_same(tmp_path):
    made = replace(report.build(coin(), sections=["card"]), model="table:\udcff.json")
    made.write(tmp_path / "report.html")
    assert "⟨U+DCFF⟩" in (tmp_path / "report.html").read_text(encoding="utf-8")
