"""What a soak came to, as a page."""

from __future__ import annotations

import os
import platform
from collections import Counter

import duckdb

from soak.campaign import Found


def summary(found: Found, seeds: range, seconds: float, processes: int) -> str:
    """Return the page: how many questions of which shapes, and every violation."""
    refused = found.refused.total()
    lines = [
        "# Soak: additivity and engine freedom",
        "",
        "Written by `make soak` (`tests/soak`). Each question is sent to the engine as a worker sends",
        "it, over a world, over its parts, and over the same world with other settings of the engine.",
        "",
        f"- **{found.accepted.total():,} questions examined**; {refused:,} were refused or left out",
        f"- **{found.comparisons:,} comparisons** of cells, sensitivities and runs",
        f"- **{len(found.violations)} violations**",
        f"- {found.worlds:,} worlds, seeds {seeds.start} to {seeds.stop - 1}",
        f"- {seconds / 60:.0f} minutes in {processes} processes, {os.cpu_count()} cores, "
        f"{platform.system()} {platform.machine()}, Python {platform.python_version()}, "
        f"DuckDB {duckdb.__version__}",
        "",
        "## Worlds",
        "",
        *_table("world, neighbours, size", found.accepted),
        "",
        "## Shapes of the questions that were accepted",
        "",
        *_table("shape", found.shapes),
        "",
        "## Refused, or left out",
        "",
        *_table("why", found.refused),
    ]
    if found.violations:
        lines += ["", "## Violations", ""]
        lines += [f"```\n{each}\n```" for each in found.violations[:50]]
    return "\n".join(lines) + "\n"


def _table(title: str, counts: Counter[str]) -> list[str]:
    rows = [f"| {name} | {number:,} |" for name, number in counts.most_common()]
    return [f"| {title} | questions |", "|---|---:|", *rows]
