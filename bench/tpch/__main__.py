"""`python -m bench.tpch --scale 0.1 1`: every TPC-H question, its verdict, price, error and time.

Data comes from the package tpchgen-cli. The error is the median, over the numbers of an answer that
plain DuckDB gives too, of |San - DuckDB| / |DuckDB|, at epsilon = 1 for the whole question. Time is
the best of three through San (charge, noise, intervals and certificate included) against the best of
three of the same text in DuckDB over the same file. Writes bench/tpch/RESULTS.md.
"""

from __future__ import annotations

import argparse
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb

import sanql
from sanql.ask import plan_request, read_request
from sanql.errors import SanqlError
from sanql.parse import QuestionText

HERE = Path(__file__).parent
TABLES = ("customer", "orders", "lineitem", "part", "supplier", "partsupp", "nation", "region")
REPEATS = 3


def main() -> None:
    """Measure every scale and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", nargs="*", default=["0.1", "1"])
    parts = ["# TPC-H, the customer as privacy unit", (__doc__ or "").split("\n\n", 1)[1].strip()]
    for scale in parser.parse_args().scale:
        print(f"scale factor {scale} …", flush=True)
        parts.append(_section(scale, measure(scale)))
    text = "\n\n".join(parts) + "\n"
    (HERE / "RESULTS.md").write_text(text, encoding="utf-8")
    print(text)


def generate(folder: Path, scale: str) -> None:
    """Write the tables as Parquet files."""
    command = shutil.which(
        "tpchgen-cli", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    )
    if command is None:
        raise SystemExit(
            "tpchgen-cli is missing: it is in the development requirements (make test)"
        )
    folder.mkdir()
    subprocess.run(
        [command, "parquet", "--scale-factor", scale, "--output-dir", str(folder)],
        check=True,
        stdout=subprocess.DEVNULL,
    )


def questions() -> dict[str, str]:
    """Return the text of each question."""
    return {path.stem: path.read_text("utf-8") for path in sorted((HERE / "queries").glob("*.sql"))}


def measure(scale: str) -> list[dict[str, Any]]:
    """Return a row for each question."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        generate(folder / "data", scale)
        shutil.copy(HERE / "policy.toml", folder / "policy.toml")
        with sanql.open(folder / "policy.toml") as san:
            san.query("SELECT COUNT(*) FROM customer", epsilon=1)  # copies the files once
            raw = duckdb.connect(str(san.session.data.open().source.database), read_only=True)
            found = [_row(san, raw, name, text) for name, text in questions().items()]
            raw.close()
    return found


def _row(san: sanql.San, raw: duckdb.DuckDBPyConnection, name: str, text: str) -> dict[str, Any]:
    row: dict[str, Any] = {"question": name}
    try:
        started = time.perf_counter()
        answers = [san.query(text, epsilon=1)]
        times = [time.perf_counter() - started]
        for repeat in range(1, REPEATS):
            started = time.perf_counter()
            answers.append(san.query(text, epsilon=f"1.00000{repeat}"))
            times.append(time.perf_counter() - started)
    except SanqlError as refusal:
        return row | {"verdict": f"refused: {refusal.code}"}
    free = answers[0].charge.epsilon == 0
    exact, hand = [], []
    for _ in range(REPEATS):
        started = time.perf_counter()
        exact = raw.sql(text).fetchall()
        hand.append(time.perf_counter() - started)
    return row | {
        "verdict": "public, exact" if free else "answered",
        "epsilon": float(answers[0].charge.epsilon),
        "delta": float(answers[0].charge.delta),
        "rows": len(answers[0].rows),
        "median relative error": _error(answers, exact),
        "planning ms": 1000 * _planning(san, text) if not free else None,
        "San s": min(times),
        "DuckDB s": min(hand),
        "ratio": min(times) / min(hand),
    }


def _planning(san: sanql.San, text: str) -> float:
    times = []
    for repeat in range(REPEATS):
        started = time.perf_counter()
        options = {"epsilon": f"1.0000{repeat}1"}
        plan_request(san.session, read_request(QuestionText(text), san.analyst, options))
        times.append(time.perf_counter() - started)
    return min(times)


def _error(answers: Sequence[sanql.Answer], exact: list[tuple[Any, ...]]) -> float | None:
    """Return the median relative error over numbers that are not keys, matched by their keys."""
    errors = []
    for answer in answers:
        noisy = [i for i, name in enumerate(answer.columns) if name in answer.intervals]
        keys = [i for i in range(len(answer.columns)) if i not in noisy]
        found = {tuple(row[i] for i in keys): row for row in answer.rows}
        for row in exact:
            match = found.get(tuple(row[i] for i in keys))
            for i in noisy if match is not None else ():
                true, seen = row[i], match[i]
                if true and seen is not None and math.isfinite(float(seen)):
                    errors.append(abs(float(seen) - float(true)) / abs(float(true)))
    return statistics.median(errors) if errors else None


def _section(scale: str, rows: list[dict[str, Any]]) -> str:
    columns = ["question", "verdict", "epsilon", "delta", "rows", "median relative error"]
    columns += ["planning ms", "San s", "DuckDB s", "ratio"]
    lines = [f"## Scale factor {scale}", "", "| " + " | ".join(columns) + " |"]
    lines.append("|" + "---|" * len(columns))
    lines += ["| " + " | ".join(_shown(row.get(name)) for name in columns) + " |" for row in rows]
    return "\n".join(lines)


def _shown(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.3g}" if isinstance(value, float) else f"{value}"


if __name__ == "__main__":
    main()
