"""Rows to JSONL and Parquet and back; every way that writing can fail."""

import errno
import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from likely.errors import InputError, NumericalError, StoreError
from likely.runs.store import check_writable, read_rows, write_bytes, write_rows

COLUMNS = {
    "name": "text",
    "log_prob": "float",
    "token_log_probs": "floats",
    "tokens": "ints",
    "censored": "bools",
    "pieces": "texts",
    "n": "int",
    "passed": "bool",
}
ROWS = [
    {
        "name": "-inf", "log_prob": -math.inf, "token_log_probs": (None, -math.inf, -0.1),
        "tokens": (1, 2, 3), "censored": (False, True, False), "pieces": ("é", "\n", '"'),
        "n": 3, "passed": True,
    },
    {
        "name": None, "log_prob": None, "token_log_probs": (), "tokens": (), "censored": (),
        "pieces": (), "n": None, "passed": None,
    },
    {
        "name": "\u2028 line", "log_prob": 0.1 + 0.2, "token_log_probs": (-5e-324,),
        "tokens": (2**62,), "censored": (True,), "pieces": ("",), "n": 0, "passed": False,
    },
]  # fmt: skip

FORMATS = pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])


def refuse_constants(name):
    raise AssertionError(f"{name} is no JSON")


@FORMATS
def test_what_is_written_comes_back_with_minus_inf_and_null_apart(tmp_path, suffix):
    path = tmp_path / f"rows{suffix}"
    write_rows(path, ROWS, COLUMNS)
    assert read_rows(path, COLUMNS) == ROWS


@given(st.lists(st.none() | st.floats(max_value=0.0, allow_nan=False)))
def test_every_log_prob_comes_back_to_the_bit(tmp_path_factory, values):
    folder = tmp_path_factory.mktemp("rows")
    rows = [{"log_prob": value} for value in values]
    for suffix in (".jsonl", ".parquet"):
        path = folder / f"rows{suffix}"
        write_rows(path, rows, {"log_prob": "float"})
        back = [row["log_prob"] for row in read_rows(path, {"log_prob": "float"})]
        assert [repr(x) for x in back] == [repr(x) for x in values]


def test_jsonl_is_strict_json(tmp_path):
    path = tmp_path / "rows.jsonl"
    write_rows(path, ROWS, COLUMNS)
    lines = path.read_text(encoding="utf-8").split("\n")[:-1]
    parsed = [json.loads(line, parse_constant=refuse_constants) for line in lines]
    assert parsed[0]["log_prob"] == "-inf"
    assert parsed[0]["token_log_probs"] == [None, "-inf", -0.1]


def test_parquet_has_doubles_that_any_tool_reads(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = tmp_path / "rows.parquet"
    write_rows(path, ROWS, COLUMNS)
    schema = pq.read_schema(path)
    assert schema.field("log_prob").type == pa.float64()
    assert schema.field("token_log_probs").type == pa.list_(pa.float64())


@FORMATS
def test_nan_is_refused_and_the_old_file_stays(tmp_path, suffix):
    path = tmp_path / f"rows{suffix}"
    write_rows(path, [{"x": 1.0}], {"x": "float"})
    with pytest.raises(NumericalError):
        write_rows(path, [{"x": math.nan}], {"x": "float"})
    assert read_rows(path, {"x": "float"}) == [{"x": 1.0}]
    assert os.listdir(tmp_path) == [path.name]


def test_a_row_that_does_not_fit_the_columns_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"row 1 .*\['y'\]"):
        write_rows(tmp_path / "rows.jsonl", [{"x": 1.0}, {"x": 1.0, "y": 2}], {"x": "float"})


@pytest.mark.parametrize("act", [lambda p: write_rows(p, [], {}), lambda p: read_rows(p, {})])
def test_another_ending_is_refused(tmp_path, act):
    with pytest.raises(InputError, match=r"ending in \['.jsonl', '.parquet'\], got '.*rows.csv'"):
        act(tmp_path / "rows.csv")


@pytest.mark.parametrize("line", ['{"x": 1.0', "[1]", '{"y": 1.0}', '{"x": "nan"}', '{"x": "1"}'])
def test_a_damaged_line_is_named_by_file_and_number(tmp_path, line):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"x": 0.5}\n' + line + "\n")
    with pytest.raises(StoreError, match=r"rows\.jsonl:2: "):
        read_rows(path, {"x": "float"})


def test_a_damaged_parquet_file_is_an_error_of_ours(tmp_path):
    path = tmp_path / "rows.parquet"
    path.write_bytes(b"PAR1 and then nothing")
    with pytest.raises(StoreError, match="as Parquet"):
        read_rows(path, {"x": "float"})


def test_a_missing_file_is_an_error_of_ours(tmp_path):
    with pytest.raises(StoreError, match=r"cannot read .*No such file"):
        read_rows(tmp_path / "rows.jsonl", {"x": "float"})


def test_a_process_that_read_parquet_ends_well(tmp_path):
    path = tmp_path / "rows.parquet"
    write_rows(path, ROWS, COLUMNS)
    done = run_python(
        "import sys; from pathlib import Path; from likely.runs.store import read_rows; "
        "print(len(read_rows(Path(sys.argv[1]), {'name': 'text'})))",
        path,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "3\n", "")


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="this system lists no threads")
def test_rows_start_no_thread_that_could_outlive_the_process(tmp_path):
    done = run_python(
        "import os, sys; from pathlib import Path; import pyarrow.parquet\n"
        "from likely.runs.store import read_rows, write_rows\n"
        "before, path = len(os.listdir('/proc/self/task')), Path(sys.argv[1])\n"
        "write_rows(path, [{'name': 'a'}], {'name': 'text'})\n"
        "read_rows(path, {'name': 'text'})\n"
        "print(len(os.listdir('/proc/self/task')) - before)",
        tmp_path / "rows.parquet",
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "0\n", "")


def run_python(script, *args):
    command = [sys.executable, "-c", script, *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_disk_that_fills_up_leaves_the_old_file_and_no_rest(tmp_path, monkeypatch):
    path = tmp_path / "rows.jsonl"
    write_bytes(path, b"old")

    def full(descriptor):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StoreError, match=r"No space left.*free some space"):
        write_bytes(path, b"new")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_device_is_written_to_and_never_replaced(tmp_path):
    link = tmp_path / "rows.jsonl"
    link.symlink_to("/dev/full")
    check_writable(link, suffixes=[".jsonl"])
    with pytest.raises(StoreError, match=r"the disk is full"):
        write_bytes(link, b"new")
    assert Path("/dev/full").is_char_device()


def test_a_link_keeps_pointing_where_it_pointed(tmp_path):
    (tmp_path / "real.json").write_bytes(b"old")
    link = tmp_path / "link.json"
    link.symlink_to("real.json")
    write_bytes(link, b"new")
    assert link.is_symlink()
    assert (tmp_path / "real.json").read_bytes() == b"new"


def test_permissions_of_a_replaced_file_stay(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b"old")
    path.chmod(0o640)
    write_bytes(path, b"new")
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_path_is_tested_without_leaving_a_trace(tmp_path):
    check_writable(tmp_path / "rows.jsonl", suffixes=[".jsonl"])
    assert os.listdir(tmp_path) == []


def test_a_path_that_cannot_be_written_is_told_with_a_remedy(tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "folder.jsonl").mkdir()
    for path, remedy in [
        (tmp_path / "nowhere" / "rows.jsonl", "make its folder first"),
        (tmp_path / "file" / "rows.jsonl", "one of its folders is a file"),
        (tmp_path / "folder.jsonl", "it is a folder; name a file"),
        (tmp_path / ("x" * 300 + ".jsonl"), "choose a shorter name"),
    ]:
        with pytest.raises(StoreError, match=remedy):
            check_writable(path, suffixes=[".jsonl"])


def test_an_ending_that_makes_no_sense_is_refused_before_the_work(tmp_path):
    with pytest.raises(InputError, match=r"one of \['.json'\]; got '.*rows.html'"):
        check_writable(tmp_path / "rows.html", suffixes=[".json"])
