"""`make bench`: every claim of speed as a ratio, measured side by side in one run.

Writes bench/RESULTS.md. `python -m bench --rows 1000000` leaves out the larger table; `--command`
measures the command alone, `--bounding` bounding by norm alone, and leave the rest as it is.
"""

from __future__ import annotations

import argparse
import os
import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench import bounding, command, noise, queries

ROWS = (1_000_000, 10_000_000)
SHORT = 3  # times as many turns where a turn is short, for it varies more
RESULTS = Path(__file__).with_name("RESULTS.md")


def main() -> None:
    """Measure everything and write it down."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="*", default=list(ROWS))
    parser.add_argument("--repeats", type=int, default=12)
    parser.add_argument("--command", action="store_true", help="measure the command alone")
    parser.add_argument("--bounding", action="store_true", help="measure bounding by norm alone")
    arguments = parser.parse_args()
    if arguments.command or arguments.bounding:
        part = _command() if arguments.command else _bounding(arguments.rows[0], arguments.repeats)
        RESULTS.write_text(_with_part(RESULTS.read_text("utf-8"), part), encoding="utf-8")
        return
    parts = [_machine()]
    found = []
    for rows in arguments.rows:
        print(f"questions over {rows:,} rows …", flush=True)
        turns = arguments.repeats * max(1, min(SHORT, ROWS[-1] // max(rows, 1)))
        measured = queries.measure(rows, turns)
        found.append(measured)
        parts.append(_section(f"Person-level questions, {rows:,} rows, 1M people", measured))
    if len(found) > 1:
        parts.append(
            _section(
                "Growth with rows (1 is linear, less is better; the middle of the turns)",
                _growth(*found[:2]),
            )
        )
    parts.append(_bounding(arguments.rows[0], arguments.repeats))
    print("noise …", flush=True)
    parts.append(_section("Noise against OpenDP", noise.measure()))
    parts.append(_command())
    text = "\n\n".join(parts) + "\n"
    RESULTS.write_text(text, encoding="utf-8")
    print(text)


def _machine() -> str:
    model = "unknown processor"
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            model = line.split(":", 1)[1].strip()
            break
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        "# Measured speed\n\n"
        f"Written by `make bench` on {datetime.now(UTC):%Y-%m-%d}: {len(os.sched_getaffinity(0))} "
        f"cores of {model}, {memory:.0f} GiB, Python {platform.python_version()}. Times are the "
        "best of several, taken in turns; ratios are what to compare. Where the machine's speed varies "
        "from moment to moment, the best of each may be from different moments: what San took beyond "
        "1.15 times the hand in the same turn says more, and its middle is given too. San's times "
        "include the durable charge, exact noise, intervals and the certificate. Each time another "
        "analyst asks (the same one would get the recorded answer); at a new epsilon the noise's "
        "tables are made anew as well. Processor time, here and in the worker, is steadier than the "
        "clock on a busy machine; a worker's is counted in hundredths of a second."
    )


def _growth(
    small: Sequence[dict[str, Any]], large: Sequence[dict[str, Any]]
) -> list[dict[str, Any]]:
    return [
        {
            "question": before["question"],
            "San": _grown(before, after, "_middle of San"),
            "by hand": _grown(before, after, "_middle by hand"),
        }
        for before, after in zip(small, large, strict=True)
    ]


def _grown(before: dict[str, Any], after: dict[str, Any], taken: str) -> float:
    ratio: float = after[taken] / before[taken] / (after["rows"] / before["rows"])
    return ratio


def _bounding(rows: int, turns: int) -> str:
    print("bounding …", flush=True)
    section = _section("Bounding by norm against dropping", bounding.measure(rows, turns))
    print(section)
    when = (
        f"On {datetime.now(UTC):%Y-%m-%d}, over {rows:,} rows: processor seconds of the engine for the "
        f"statements alone, the middle of {turns} turns; the ratio is the middle of those of each turn. "
        "Dropping is the same plan without norms."
    )
    return section.replace("\n\n", f"\n\n{when}\n\n", 1)


def _command() -> str:
    print("the command …", flush=True)
    waiting = os.getloadavg()[0]
    rows = command.measure()
    when = (
        f"On {datetime.now(UTC):%Y-%m-%d}, a process of its own each time, over the demo's hospital; "
        f"about {waiting:.0f} others were running or waiting to when it began."
    )
    section = _section("The command", rows)
    print(section)
    return section.replace("\n\n", f"\n\n{when}\n\n", 1)


def _with_part(page: str, part: str) -> str:
    """Return a page with one of its parts, from its title to the next one's, exchanged."""
    title = part.partition("\n")[0]
    before, found, rest = page.partition(f"{title}\n")
    if not found:
        raise ValueError(f"{RESULTS.name} has no part {title!r} yet: measure all of it once")
    _, next_title, after = rest.partition("\n## ")
    return f"{before}{part}\n" + (f"\n## {after}" if next_title else "")


def _section(title: str, rows: Sequence[dict[str, Any]]) -> str:
    names = [name for name in rows[0] if not name.startswith("_")]
    lines = [f"## {title}", "", "| " + " | ".join(names) + " |", "|" + "---|" * len(names)]
    lines += ["| " + " | ".join(_shown(row[name]) for name in names) + " |" for row in rows]
    return "\n".join(lines)


def _shown(value: object) -> str:
    return (
        f"{value:,.4g}"
        if isinstance(value, float)
        else f"{value:,}"
        if isinstance(value, int)
        else str(value)
    )


if __name__ == "__main__":
    main()
