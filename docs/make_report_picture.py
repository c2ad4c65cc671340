"""Draw docs/report.png and docs/rehearsal.png: pages on the demo hospital, as a browser shows them.

python docs/make_report_picture.py    (needs Debian's chromium)
"""

from __future__ import annotations

import subprocess
import tempfile
from fractions import Fraction
from pathlib import Path

import sanql
from sanql.demo.hospital import make_hospital
from sanql.policy import load
from sanql.rehearsal import page_of_rehearsal, rehearse_questions
from sanql.report import gather, page_of

HERE = Path(__file__).parent
ASKED = {
    "ana": [
        ("SELECT COUNT(*) FROM people", "0.1"),
        ("SELECT sex, AVG(age) AS age FROM people GROUP BY sex", "0.2"),
        ("SELECT kind, COUNT(*) AS visits, AVG(cost) AS cost FROM visits GROUP BY kind", "0.5"),
    ],
    "bo": [("SELECT district, COUNT(*) AS people FROM people GROUP BY district", "0.3")],
}
REHEARSED = (
    "SELECT COUNT(*) AS people FROM people",
    "SELECT district, AVG(income) AS income FROM people GROUP BY district",
    "SELECT kind, COUNT(*) AS visits, SUM(cost) AS cost FROM visits GROUP BY kind",
    "SELECT day, COUNT(*) AS visits FROM visits GROUP BY day",
    "SELECT age, AVG(income) AS income FROM people WHERE district = 'Island' GROUP BY age",
    "SELECT person_id FROM people",
)
EPSILONS = [Fraction(each) for each in ("0.05", "0.1", "0.2", "0.5", "1", "2")]


def main() -> None:
    """Ask some questions and rehearse some, and photograph the pages on them."""
    with tempfile.TemporaryDirectory() as folder:
        policy = make_hospital(Path(folder))
        rehearsal = rehearse_questions(policy, REHEARSED, epsilons=EPSILONS, analyst="ana")
        photograph(page_of_rehearsal(rehearsal), HERE / "rehearsal.png", 1560)
        for analyst, questions in ASKED.items():
            with sanql.open(policy, analyst=analyst) as san:
                for sql, epsilon in questions:
                    san.query(sql, epsilon=epsilon)
        photograph(page_of(gather(load(policy))), HERE / "report.png", 1900)


def photograph(text: str, picture: Path, height: int) -> None:
    """Write a picture of a page, from its top to a height."""
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        page.write_text(text, encoding="utf-8")
        subprocess.run(
            [  # noqa: S607  (Debian's)
                "chromium",
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--no-first-run",
                "--disable-background-networking",
                f"--user-data-dir={folder}/browser",
                f"--window-size=1040,{height}",
                f"--screenshot={picture}",
                page.as_uri(),
            ],
            check=True,
            capture_output=True,
        )


if __name__ == "__main__":
    main()
