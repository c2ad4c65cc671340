"""Somebody else on the machine, without any right to data, copies or ledger, asks all the same.

They run an interpreter of the system through setpriv, with the few packages that a client needs.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from support.hospitals import hospital_in
from support.serving import Served, served

pytestmark = pytest.mark.slow

NOBODY = 65534
BECOMING = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--no-new-privs"]
PACKAGES = ("anyio", "certifi", "click", "h11", "httpcore", "httpx", "idna", "markdown_it", "mdurl",
            "pygments", "rich", "typing_extensions")  # fmt: skip
ASKING = """
import json, os, sys
import sanql
url, token, guarded = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
read = []
for path in guarded:
    try:
        with open(path, "rb") as file:
            read.append([path, file.read(1) is not None])
    except OSError:
        pass
try:
    read += [[path, os.listdir(path)] for path in guarded if os.path.isdir(path)]
except OSError:
    pass
with sanql.connect(url, token=token) as san:
    answer = san.query("SELECT sex, COUNT(*) AS people FROM people GROUP BY sex", epsilon=0.1)
    refused = ""
    try:
        san.query("SELECT * FROM people", epsilon=0.1)
    except sanql.Refused as error:
        refused = error.code
print(json.dumps({"user": os.geteuid(), "groups": os.getgroups(), "read": read, "rows": answer.rows,
                  "refused": refused, "modules": [m for m in ("duckdb", "numpy") if m in sys.modules]}))
"""


@pytest.fixture(scope="module")
def guarded() -> Iterator[Served]:
    """A server over a hospital in a folder of its own, below one that everybody may look into."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        Path(folder).chmod(0o755)
        made = hospital_in(Path(folder) / "hospital")
        made.parent.chmod(0o700)
        with served([made]) as server:
            yield server


@pytest.fixture(scope="module")
def code() -> Iterator[Path]:
    """San's own code and what a client needs, where everybody can read them."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        target = Path(folder)
        target.chmod(0o755)
        for name in ("sanql", *PACKAGES):
            found = find_spec(name)
            assert found is not None and found.origin is not None, name
            source = Path(found.origin)
            if source.name == "__init__.py":
                ignored = shutil.ignore_patterns("__pycache__")
                shutil.copytree(source.parent, target / name, ignore=ignored)
            else:
                shutil.copy(source, target)
        for path in target.rglob("*"):
            path.chmod(0o755 if path.is_dir() else 0o644)
        yield target


def interpreter() -> str:
    """Return a Python that somebody else can run, of a version that San runs on."""
    if os.geteuid() != 0:
        pytest.skip("only root can become somebody else")
    if shutil.which("setpriv") is None:
        pytest.skip("setpriv is not installed")
    tried = (sys.executable, "/usr/bin/python3", "/usr/local/bin/python3")
    for python in tried:
        probe = [*BECOMING, python, "-c", "import sys, ssl; assert sys.version_info >= (3, 11)"]
        if subprocess.run(probe, capture_output=True, check=False).returncode == 0:
            return python
    pytest.skip(f"none of these can be run by somebody else, or is 3.11: {', '.join(tried)}")


def places(server: Served) -> list[Path]:
    """Return every file and folder that San guards."""
    folder = server.datasets[0].policy.path.parent
    return [path for path in folder.rglob("*") if path != server.datasets[0].policy.path]


def test_they_ask_and_can_read_nothing(guarded: Served, code: Path) -> None:
    python, token = interpreter(), guarded.token("ana")
    with guarded.client() as ana:
        ana.post("/v1/query", json={"sql": "SELECT COUNT(*) FROM people", "epsilon": 0.1})
    files = places(guarded)
    names = {path.name for path in files}
    assert {"people.parquet", "hospital.ledger", "hospital.ledger.head", "hospital.stamps"} <= names
    listed = json.dumps([str(path) for path in files])
    done = subprocess.run(
        [*BECOMING, python, "-c", ASKING, guarded.url, token, listed],
        env={"PYTHONPATH": str(code), "HOME": "/nonexistent", "PATH": "/usr/bin:/bin"},
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert (said["user"], said["groups"]) == (NOBODY, [])
    assert said["read"] == [], "what San guards was read"
    assert [row[0] for row in said["rows"]] == ["F", "M", "X"]
    assert said["refused"] == "returns_rows" and said["modules"] == []


def test_they_ask_over_plain_http_too(guarded: Served) -> None:
    interpreter()
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    body = json.dumps({"sql": "SELECT COUNT(*) FROM people", "epsilon": 0.1})
    headers = [f"Authorization: Bearer {guarded.token('ana')}", "Content-Type: application/json"]
    flags = [part for header in headers for part in ("-H", header)]
    done = subprocess.run(
        [*BECOMING, "curl", "-sS", "--fail", f"{guarded.url}/v1/query", *flags, "-d", body],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0 and json.loads(done.stdout)["columns"][0]["name"] == "count"


def test_the_files_would_be_readable_if_nobody_had_closed_them(guarded: Served) -> None:
    """So that what they could not read was closed to them, and not merely missing."""
    interpreter()
    folder = guarded.datasets[0].policy.path.parent
    data = folder / "data" / "people.parquet"
    reading = [*BECOMING, "head", "-c", "4", str(data)]
    assert subprocess.run(reading, capture_output=True, check=False).returncode != 0
    folder.chmod(0o755)
    try:
        opened = subprocess.run(reading, capture_output=True, check=False)
        assert opened.stdout == b"PAR1"
    finally:
        folder.chmod(0o700)
