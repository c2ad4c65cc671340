"""Draw docs/report.png: a report on the demo hospital, as a browser shows it.

python docs/make_report_picture.py    (needs Debian's chromium)
"""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

import sanql
from sanql.demo.hospital import make_hospital
from sanql.policy import load
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


def main() -> None:
    """Ask some questions, and photograph the report on them."""
    with tempfile.TemporaryDirectory() as folder:
        policy = make_hospital(Path(folder))
        for analyst, questions in ASKED.items():
            with sanql.open(policy, analyst=analyst) as san:
                for sql, epsilon in questions:
                    san.query(sql, epsilon=epsilon)
        page = Path(folder) / "report.html"
        page.write_text(page_of(gather(load(policy))), encoding="utf-8")
        subprocess.run(
            [  # noqa: S607  (Debian's)
                "chromium",
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--no-first-run",
                "--disable-background-networking",
                f"--user-data-dir={folder}/browser",
                "--window-size=1040,1900",
                f"--screenshot={HERE / 'report.png'}",
                page.as_uri(),
            ],
            check=True,
            capture_output=True,
        )


if __name__ == "__main__":
    main()
