"""Items from a file: checked once, each fault named by file and line."""

import pytest

from likely.errors import InputError, StoreError
from likely.runs.items import Item, load_items, read_text


def write(folder, *lines):
    path = folder / "items.jsonl"
    path.write_bytes("\n".join(lines).encode())
    return path


def test_items_are_text_or_ids_and_named_by_their_line(tmp_path):
    path = write(
        tmp_path,
        '{"context": "A", "continuation": "B"}',
        "",
        '{"id": "x", "context": [1, 2], "continuation": [3]}',
        '{"context": "", "continuation": "\\u2028"}',
        "",
    )
    assert load_items(path) == (
        Item(id="1", context="A", continuation="B"),
        Item(id="x", context=(1, 2), continuation=(3,)),
        Item(id="4", context="", continuation="\u2028"),
    )


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ('{"context": "A"', "one JSON object"),
        ("stop=Bob's,temperature=0", "one JSON object"),
        ('["A", "B"]', "one JSON object"),
        ('{"context": "A"}', r"\['continuation'\] missing"),
        ('{"context": "A", "continuation": "B", "bos": "never"}', r"\['bos'\] unknown"),
        ('{"context": "A", "continuation": "B", "context": "C"}', r"\['context'\] twice"),
        ('{"context": "A", "continuation": null}', "continuation is text or a list of ids"),
        ('{"context": [1.5], "continuation": "B"}', "context is text or a list of ids"),
        ('{"context": [true], "continuation": "B"}', "context is text or a list of ids"),
        ('{"context": "A", "continuation": "\\ud800"}', "not valid Unicode"),
        ('{"id": 7, "context": "A", "continuation": "B"}', "an id is text"),
        ('{"id": "1", "context": "A", "continuation": "B"}', "id '1' is taken by line 1"),
    ],
)
def test_a_bad_line_is_named_by_file_and_number(tmp_path, line, fault):
    path = write(tmp_path, '{"context": "A", "continuation": "B"}', line)
    with pytest.raises(InputError, match=rf"items\.jsonl:2: .*{fault}"):
        load_items(path)


def test_a_file_without_items_is_refused(tmp_path):
    with pytest.raises(InputError, match="holds no items"):
        load_items(write(tmp_path, "", "  "))


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(StoreError, match="No such file"):
        load_items(tmp_path / "items.jsonl")


def test_text_is_read_to_the_letter(tmp_path):
    path = tmp_path / "text.txt"
    path.write_bytes("\ufeffé\r\n\r".encode())
    assert read_text(path) == "\ufeffé\r\n\r"


def test_bytes_that_are_no_utf8_are_named_by_place(tmp_path):
    path = tmp_path / "text.txt"
    path.write_bytes(b"ab\xff")
    with pytest.raises(InputError, match=r"text\.txt' is not UTF-8 at byte 2"):
        read_text(path)
