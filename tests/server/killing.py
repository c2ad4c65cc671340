"""The command that kills a server under load, again and again (campaign.py).

cd tests && python -m server.killing --kills 500 --summary server/KILLS.md
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

from server import ending


def main() -> None:
    """Run a campaign and write its summary."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--seed", type=int, default=14)
    parser.add_argument("--summary", type=Path)
    arguments = parser.parse_args()
    ending.listen()
    from server.campaign import (
        CLIENTS,
        campaign,
    )  # these take seconds, in which the word to end may come
    from support.postgres import postgres_server

    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder, ExitStack() as held:
        os.environ["XDG_DATA_HOME"] = folder
        database = held.enter_context(postgres_server())
        done, told = campaign(arguments.kills, arguments.seed, Path(folder), database, _progress)
    minutes = (time.monotonic() - began) / 60
    text = summary(arguments.kills, arguments.seed, CLIENTS, minutes, done, told)
    print(text)
    if arguments.summary is not None:
        arguments.summary.write_text(text, encoding="utf-8")


def _progress(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def summary(
    kills: int, seed: int, clients: int, minutes: float, done: Counter[str], told: Counter[str]
) -> str:
    """Return what came of a campaign, as a page."""
    lines = [
        "# Kills of a server under load",
        "",
        f"`python -m server.killing --kills {kills} --seed {seed}` on {datetime.now(UTC):%Y-%m-%d}, in"
        f" {minutes:.0f} minutes: `kill -9` at a random moment while {clients} clients ask over HTTP,"
        " sometimes just after a command of the owner's beside it."
        " After each: the ledger verified, charges within the budget, answers that had left found on"
        " record, the same and free, the next start clean. **Nothing was lost, nothing overspent.**",
        "",
        "| killed | times |",
        "|---|---|",
        *(f"| {kind} | {count:,} |" for kind, count in sorted(done.items())),
        "",
        "| what clients were told | times |",
        "|---|---|",
        *(f"| {code} | {count:,} |" for code, count in sorted(told.items())),
        "",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
