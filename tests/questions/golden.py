"""What a question's plan, statement and exact cells are, as one short fingerprint.

    python -m questions.golden            # in tests/, after a change of cells that is meant

`golden_cells.json` was written by version 0.1.0, before the folders were redrawn: a plan that is named
otherwise, asks the engine another statement or gets other cells has another fingerprint.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa

from questions.asking import Shape, open_shape
from questions.cases import FOLDER, cases
from sanql.question import PublicQuery

GOLDEN = Path(__file__).with_name("golden_cells.json")


def fingerprints(name: str, asked: Shape) -> dict[str, str]:
    """Return the fingerprint of every question of a shape that is answered."""
    return {
        f"{case.topic}: {case.sql}": fingerprint(asked, case.sql)
        for case in cases(refused=False)
        if case.shape == name
    }


def fingerprint(asked: Shape, sql: str) -> str:
    """Return a hash of a plan's name, of its statements with their constants, and of their cells."""
    planned = asked.plan(sql)
    known = hashlib.sha256()
    if not isinstance(planned, PublicQuery):
        known.update(planned.digest("golden").encode())
    for sent, cells in zip(asked.write(planned), asked.cells(planned), strict=True):
        known.update(repr((sent.sql, sent.parameters)).encode())
        for table in sent.public:
            known.update(repr((table.name, table.sql, table.parameters)).encode())
        for count in sent.greedy:
            known.update(repr(count).encode())
        known.update(repr(_sorted_rows(cells)).encode())
    return known.hexdigest()[:24]


def _sorted_rows(cells: pa.Table) -> list[str]:
    """Return cells as text, in an order of their own: that of the engine says nothing."""
    return [str(cells.schema), *sorted(map(repr, zip(*cells.to_pydict().values(), strict=True)))]


def main() -> None:
    """Write the fingerprints of all questions."""
    found = {}
    for folder in sorted(path.parent for path in FOLDER.glob("*/policy.toml")):
        with TemporaryDirectory() as data:
            asked = open_shape(folder.name, Path(data))
            found[folder.name] = fingerprints(folder.name, asked)
            asked.close()
    GOLDEN.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    sys.stdout.write(f"{sum(map(len, found.values()))} questions\n")


if __name__ == "__main__":
    main()
