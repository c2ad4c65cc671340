"""A small town whose names and values are text that a browser would run, were it not shown as text."""

from __future__ import annotations

import csv
from pathlib import Path

HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "'; DROP TABLE people; --",
    "{{7*7}}${7*7}",
    "</textarea><svg onload=alert(1)>",
    "javascript:alert(1)",
    "a\r\nset-cookie: b=c",
]
COLUMN = "<b onmouseover=alert(1)>"
PEOPLE = 700


def write_town(folder: Path, name: str = "town") -> Path:
    """Write data and policy; return the policy's path. `city` is public, `street` is not."""
    (folder / "data").mkdir(parents=True)
    with (folder / "data" / "people.csv").open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["person", "age", "city", "street", COLUMN])
        for person in range(PEOPLE):
            text = HOSTILE[person % len(HOSTILE)]
            rows.writerow([person, person % 90, text, text, person % 3])
    domain = ", ".join(_toml(text) for text in HOSTILE)
    policy = folder / "policy.toml"
    policy.write_text(
        f"""[dataset]
name = "{name}"
source = "data/"
neighbours = "add-remove"
budget = {{ epsilon = 100.0, delta = 1e-6 }}
accounting = "pure"
delta_per_query = 1e-8

[table.people]
privacy_unit = "person"
unique = true
[table.people.column]
person = {{ type = "integer" }}
age = {{ type = "integer", bounds = [0, 90] }}
city = {{ type = "text", domain = [{domain}] }}
street = {{ type = "text" }}
{_toml(COLUMN)} = {{ type = "integer", bounds = [0, 3] }}
""",
        encoding="utf-8",
    )
    return policy


def _toml(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + escaped.replace("\r", "\\r").replace("\n", "\\n") + '"'
