import contextlib
import resource
from dataclasses import replace

import pytest
from report_models import coin

import likely
from likely import report
from likely.report.files import check_output, write_atomically


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


def test_a_full_disk_leaves_the_old_file_whole_and_nothing_else(tmp_path):
    path = tmp_path / "report.html"
    path.write_text("old")
    with small_files_only(1000), pytest.raises(likely.StoreError, match="has room"):
        write_atomically(path, "x" * 5000)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_missing_folder_is_named_before_the_work(tmp_path):
    path = tmp_path / "no such folder" / "report.html"
    with pytest.raises(likely.StoreError, match="no such folder"):
        check_output(path)
    assert not path.parent.exists()


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(likely.StoreError, match="no regular file"):
        check_output(tmp_path)


def test_a_folder_that_cannot_be_written_to_is_an_error_before_the_work():
    with pytest.raises(likely.StoreError, match="folder that you can write to"):
        check_output("/proc/report.html")


def test_a_checked_path_leaves_no_trace(tmp_path):
    check_output(tmp_path / "report.html")
    assert not list(tmp_path.iterdir())


def test_a_link_is_written_through(tmp_path):
    (tmp_path / "real.html").write_text("old")
    (tmp_path / "link.html").symlink_to(tmp_path / "real.html")
    write_atomically(tmp_path / "link.html", "new")
    assert (tmp_path / "link.html").is_symlink()
    assert (tmp_path / "real.html").read_text() == "new"


def test_a_name_with_undecodable_bytes_is_written_all_the_same(tmp_path):
    made = replace(report.build(coin(), sections=["card"]), model="table:\udcff.json")
    made.write(tmp_path / "report.html")
    assert "⟨U+DCFF⟩" in (tmp_path / "report.html").read_text(encoding="utf-8")
