"""Draws the pictures in pictures.md: `python docs/make_gallery.py`, from the demo's hospital.

Noise is drawn anew, so that pictures differ a little each time.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import sanql
from sanql.demo import make_hospital

FOLDER = Path(__file__).with_name("pictures")
QUESTIONS = {
    "bars": "SELECT kind, COUNT(*) AS visits FROM visits GROUP BY kind",
    "line": "SELECT month(day) AS month, COUNT(*) AS visits FROM visits GROUP BY month",
    "panels": "SELECT sex, age // 10 * 10 AS decade, COUNT(*) AS people FROM people GROUP BY sex, decade",
    "shares": "SELECT district, 100.0 * COUNT(*) / SUM(COUNT(*)) OVER () AS percent FROM people "
    "GROUP BY district ORDER BY percent DESC",
}


def main() -> None:
    """Ask the demo's hospital, and draw each answer."""
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        make_hospital(Path(name) / "demo")
        with sanql.open(Path(name) / "demo" / "policy.toml", analyst="bo") as san:
            for called, sql in QUESTIONS.items():
                san.query(sql, epsilon=0.2).plot(FOLDER / f"{called}.png")


if __name__ == "__main__":
    main()
