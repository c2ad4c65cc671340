"""What a campaign has found adds up over its parts, however often it was ended."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from spark.campaign import Found, Record, all_found, note_found

pytestmark = [pytest.mark.spark, pytest.mark.few]


def test_what_was_found_is_there_for_whoever_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "record.jsonl"
    first = Found(Counter(small=3), Counter(bounds=1), Counter(k=3), 4, 50, 1, 2.5, ["a cell"])
    note_found(Record(path), "one", first)
    second = Found(Counter(small=2, large=1), Counter(), Counter(other=3), 3, 7, 0, 1.5)
    note_found(Record(path), "two", second)
    again = Record(path)
    assert list(again.parts) == ["one", "two"]
    assert all_found(again) == Found(
        Counter(small=5, large=1),
        Counter(bounds=1),
        Counter(k=3, other=3),
        7,
        57,
        1,
        4.0,
        ["a cell"],
    )
    with pytest.raises(AssertionError):
        again.note("one", {})
