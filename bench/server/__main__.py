"""`python -m bench.server`: San as a server against the same questions asked without one, in one run.

Writes bench/server/RESULTS.md. Eight processes that ask by themselves are measured twice: as they are
now, and as they were before there was a server, taken from git where its history is there.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import re
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path

import httpx

from bench.server.load import Load, run_load
from bench.server.town import ANALYSTS, make_town, names, questions

ROOT = Path(__file__).parents[2]
RESULTS = Path(__file__).with_name("RESULTS.md")
APART = 8
BEFORE = "087f001"


def main() -> None:
    """Measure everything and write it down."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=int, default=25, help="of each of 32 analysts")
    parser.add_argument("--before", default=BEFORE, help="a revision to compare with")
    parser.add_argument("--turns", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_DATA_HOME"] = folder
        text = measure(Path(folder), arguments.questions, arguments.before, arguments.turns)
    RESULTS.write_text(text, encoding="utf-8")
    print(text)


def measure(folder: Path, count: int, before: str | None, turns: int) -> str:
    """Return the page of results."""
    earlier = checkout(before, folder / "before") if before and _is_known(before) else None
    served, apart, then = list[Load](), list[Load](), list[Load]()
    each = count * ANALYSTS // APART
    lines = []
    with _server(make_town(folder / "town")) as (server, tokens):
        port = int(server.url.rpartition(":")[2])
        asked = [questions(n, 4, 900) for n in range(ANALYSTS)]
        run_load(port, tokens, asked)
        for turn in range(turns):
            asked = [questions(n, count, turn) for n in range(ANALYSTS)]
            served.append(run_load(port, tokens, asked))
            apart.append(_apart(folder / f"apart{turn}", ROOT, each, turn))
            if earlier is not None:
                then.append(_apart(folder / f"before{turn}", earlier, each, turn))
            print(f"turn {turn + 1}: served {served[-1].per_second:.0f}/s, apart "
                  f"{apart[-1].per_second:.0f}/s, before "
                  f"{then[-1].per_second if then else 0:.0f}/s", flush=True)  # fmt: skip
        repeated = [[questions(n, 1, 0)[0]] * 200 for n in range(ANALYSTS)]
        repeats = run_load(port, tokens, repeated)
        lines += _section(
            "Repeats of recorded questions",
            [
                ("questions a second", f"{repeats.per_second:,.0f}"),
                ("p99", f"{1000 * repeats.quantile(0.99):.0f} ms"),
            ],
        )
        lines += _section("One analyst alone", _alone(server, tokens[0], folder))
        lines += _section("Memory of the server's process", _memory(server, port, tokens[0]))
    lines += _section(
        "Start", [("until it is ready, copies being there", f"{_start(folder):.2f} s")]
    )
    return "\n".join([*_head(count, turns), *_throughput(served, apart, then, before), *lines, ""])


class Served:
    """A server in a process of its own, ready."""

    def __init__(self, policy: Path, code: Path = ROOT) -> None:
        began = time.perf_counter()
        here = ("--http", "127.0.0.1:0", "--wire", "127.0.0.1:0")
        command = [sys.executable, "-m", "sanql", "serve", str(policy), *here]
        self.process = subprocess.Popen(
            command, stderr=subprocess.PIPE, text=True, env=_environment(code)
        )
        self.url, self.wire, self.seconds = "", "", 0.0
        assert self.process.stderr is not None
        for line in self.process.stderr:
            if '"listening"' in line:
                told = json.loads(line)
                self.url, self.wire = told.get("url", self.url), told.get("wire", self.wire)
            if '"ready"' in line:
                self.seconds = time.perf_counter() - began
                break
        self._drain = subprocess.Popen(
            ["cat"], stdin=self.process.stderr, stdout=subprocess.DEVNULL
        )

    def status(self, field: str) -> float:
        """Return a size of the process in MiB, as the system counts it."""
        text = Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
        found = re.search(rf"^{field}:\s+(\d+) kB", text, re.MULTILINE)
        assert found is not None
        return int(found[1]) / 1024

    def stop(self) -> None:
        """Have it end."""
        self.process.terminate()
        self.process.wait(timeout=120)
        self._drain.wait(timeout=10)


@contextmanager
def _server(policy: Path) -> Iterator[tuple[Served, list[str]]]:
    tokens = add_people(policy)
    server = Served(policy)
    try:
        yield server, tokens
    finally:
        server.stop()


def add_people(policy: Path, code: Path = ROOT) -> list[str]:
    """Return the tokens of all analysts, who are added."""
    command = [sys.executable, "-m", "sanql", "user", "add"]
    tokens = []
    for name in names():
        done = subprocess.run(
            [*command, name, "--role", "analyst", "-p", str(policy)], check=True,
            capture_output=True, text=True, env=_environment(code),
        )  # fmt: skip
        tokens.append(done.stdout.strip())
    return tokens


def _apart(folder: Path, code: Path, count: int, turn: int) -> Load:
    """Return what eight processes do, each with a San of its own over one ledger."""
    policy = make_town(folder)
    command = [sys.executable, "-m", "bench.server.apart", str(policy)]
    processes = [
        subprocess.Popen(
            [*command, str(number), str(count), str(turn)], cwd=ROOT, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=_environment(code),
        )
        for number in range(APART)
    ]  # fmt: skip
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    began = time.perf_counter()
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    taken: list[float] = []
    for process in processes:
        taken += json.loads(process.communicate()[0])
    return Load(len(taken), time.perf_counter() - began, tuple(sorted(taken)))


def _alone(server: Served, token: str, folder: Path) -> list[tuple[str, str]]:
    """Return what a door adds: one analyst, one question after another, with HTTP, the wire, and none."""
    over = run_load(int(server.url.rpartition(":")[2]), [token], [questions(0, 60, 77)])
    wire = _over_wire(server.wire, token, questions(0, 60, 78))
    policy = make_town(folder / "alone")
    script = [sys.executable, "-m", "bench.server.apart", str(policy), "0", "60", "77"]
    done = subprocess.run(
        script, cwd=ROOT, input="\n", capture_output=True, text=True, check=True,
        env=_environment(ROOT),
    )  # fmt: skip
    here = sorted(json.loads(done.stdout.splitlines()[-1]))
    middle = here[len(here) // 2]
    return [
        ("in a process of one's own, p50", f"{1000 * middle:.1f} ms"),
        ("over HTTP, p50", f"{1000 * over.quantile(0.5):.1f} ms"),
        ("over the PostgreSQL wire, p50", f"{1000 * wire:.1f} ms"),
        ("HTTP / in a process", f"{over.quantile(0.5) / middle:.2f}"),
        ("wire / HTTP", f"{wire / over.quantile(0.5):.2f}"),
    ]


def _over_wire(address: str, token: str, asked: list[str]) -> float:
    """Return the middle of how long questions take, asked with a driver that prepares them."""
    import psycopg

    host, _, port = address.rpartition(":")
    there = f"host={host} port={port} user={names()[0]} dbname=town password={token}"
    taken = []
    with psycopg.connect(there, autocommit=True) as ana:
        ana.execute("SET sanql.epsilon = 0.01")
        for sql in asked:
            began = time.perf_counter()
            ana.execute(sql.encode(), prepare=True).fetchall()
            taken.append(time.perf_counter() - began)
    return sorted(taken)[len(taken) // 2]


def _memory(server: Served, port: int, token: str) -> list[tuple[str, str]]:
    before = server.status("VmRSS")
    idle = asyncio.run(_idle(port, server))
    start = server.status("VmRSS")
    Path(f"/proc/{server.process.pid}/clear_refs").write_text("5", encoding="ascii")
    rows = size = 0
    with (
        httpx.Client(base_url=server.url, timeout=300) as client,
        client.stream(
            "POST",
            "/v1/query",
            json={"sql": "SELECT * FROM places"},
            headers={"authorization": f"Bearer {token}", "accept": "text/csv"},
        ) as reply,
    ):
        for part in reply.iter_bytes():
            rows, size = rows + part.count(b"\n"), size + len(part)
    peak = server.status("VmHWM")
    return [
        ("with 32 connections", f"{before:.0f} MiB"),
        ("with 1,000 idle connections more", f"{idle:.0f} MiB (+{idle - before:.0f})"),
        (f"public answer of {rows - 1:,} rows, {size / 2**20:.0f} MiB of CSV: peak above before",
         f"+{peak - start:.0f} MiB"),
    ]  # fmt: skip


async def _idle(port: int, server: Served) -> float:
    opened = []
    for _ in range(1000):
        opened.append(await asyncio.open_connection("127.0.0.1", port))
    await asyncio.sleep(1)
    size = server.status("VmRSS")
    for _, writer in opened:
        writer.close()
    return size


def _start(folder: Path) -> float:
    taken = []
    for _ in range(3):
        server = Served(folder / "town" / "policy.toml")
        server.stop()
        taken.append(server.seconds)
    return min(taken)


def _is_known(revision: str) -> bool:
    """Return whether git has a commit; a copy without its history has not."""
    asked = ["git", "cat-file", "-e", f"{revision}^{{commit}}"]
    return subprocess.run(asked, cwd=ROOT, capture_output=True, check=False).returncode == 0


def checkout(revision: str, target: Path) -> Path:
    """Return a folder with the source of a revision."""
    packed = subprocess.run(
        ["git", "archive", revision, "src"], cwd=ROOT, check=True, capture_output=True
    ).stdout
    with tarfile.open(fileobj=BytesIO(packed)) as archive:
        archive.extractall(target, filter="data")
    return target


def _environment(code: Path) -> dict[str, str]:
    """Return where modules are, and are kept compiled, as those of an installed package are."""
    kept = {name: said for name, said in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    compiled = str(Path(os.environ["XDG_DATA_HOME"]) / "compiled")
    return {**kept, "PYTHONPATH": f"{code / 'src'}:{ROOT}", "PYTHONPYCACHEPREFIX": compiled}


def _throughput(
    served: list[Load], apart: list[Load], then: list[Load], before: str | None
) -> list[str]:
    best = max(served, key=lambda load: load.per_second)
    rows = [_row("one server, 32 analysts over HTTP", served, best)]
    rows.append(_row("eight processes, each with a San of its own", apart, best))
    if then:
        rows.append(_row(f"eight processes at {before}", then, best))
    head = "| | questions a second, best (all turns) | p50 | p99 | server / this |\n|---|---|---|---|---|"
    return ["## Questions that differ", "", head, *rows, ""]


def _row(what: str, loads: list[Load], served: Load) -> str:
    best = max(loads, key=lambda load: load.per_second)
    every = ", ".join(f"{load.per_second:.0f}" for load in loads)
    ratio = served.per_second / best.per_second
    p50, p99 = 1000 * best.quantile(0.5), 1000 * best.quantile(0.99)
    return (
        f"| {what} | {best.per_second:.0f} ({every}) | {p50:.0f} ms | {p99:.0f} ms | {ratio:.2f} |"
    )


def _section(title: str, rows: list[tuple[str, str]]) -> list[str]:
    lines = [f"| {what} | {value} |" for what, value in rows]
    return [f"## {title}", "", "| | |", "|---|---|", *lines, ""]


def _head(count: int, turns: int) -> list[str]:
    model = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text(encoding="utf-8"))
    return [
        "# San as a server, measured",
        "",
        f"Written by `python -m bench.server` on {datetime.now(UTC):%Y-%m-%d}:"
        f" {len(os.sched_getaffinity(0))} cores of {model[1] if model else 'unknown'}, Python"
        f" {platform.python_version()}; the load runs on the same cores. A table of 20,000 people;"
        f" {count} questions of each of {ANALYSTS} analysts, no two alike, each charged durably;"
        f" {turns} turns, in which all that is compared runs one after another.",
        "",
    ]


if __name__ == "__main__":
    main()
