"""Delta tables of which rows are deleted by their places in files, for tests."""

from __future__ import annotations

import json
import struct
from pathlib import Path

LETTERS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"


def delete_places(table: Path, deleted: list[int]) -> None:
    """Delete rows of the only file by their places, as Spark and Databricks do: merged on reading."""
    log = table / "_delta_log" / "00000000000000000000.json"
    actions = [json.loads(line) for line in log.read_text().splitlines()]
    (add,) = (action["add"] for action in actions if "add" in action)
    features = ["deletionVectors"]
    protocol = {
        "minReaderVersion": 3,
        "minWriterVersion": 7,
        "readerFeatures": features,
        "writerFeatures": features,
    }
    # a portable array of 64-bit numbers (Roaring), with one array container, behind its magic number
    places = b"".join(struct.pack("<H", place) for place in deleted)
    bitmap = struct.pack("<IIHHI", 12346, 1, 0, len(deleted) - 1, 16) + places
    vector = struct.pack("<IQI", 1681511377, 1, 0) + bitmap
    noted = {
        "storageType": "i",
        "pathOrInlineDv": _z85(vector),
        "sizeInBytes": len(vector),
        "cardinality": len(deleted),
    }
    actions = [
        {"protocol": protocol},
        {"remove": {"path": add["path"], "dataChange": True, "deletionTimestamp": 1}},
        {"add": {**add, "deletionVector": noted}},
    ]
    text = "".join(json.dumps(action) + "\n" for action in actions)
    log.with_name("00000000000000000001.json").write_text(text)


def _z85(content: bytes) -> str:
    padded = content + b"\0" * (-len(content) % 4)
    text = ""
    for first in range(0, len(padded), 4):
        number = int.from_bytes(padded[first : first + 4], "big")
        text += "".join(LETTERS[number // 85**power % 85] for power in (4, 3, 2, 1, 0))
    return text
