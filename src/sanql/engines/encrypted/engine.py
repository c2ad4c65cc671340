"""The engine of encrypted copies: sources are looked at as ever, and questions run over buckets."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from sanql.engines.encrypted.key import read_key
from sanql.engines.encrypted.server import BucketServer
from sanql.engines.protocol import Engine, Server
from sanql.kernel import Copy, CopyReport, Inspect, Serve
from sanql.kernel.buckets import MANIFEST


class EncryptedEngine:
    """Runs the kernel over encrypted copies; `here` is the engine of everything else."""

    def __init__(self, key_file: Path, here: Engine) -> None:
        self._key_file = key_file
        self._here = here

    def describe(self, request: Inspect) -> dict[str, object] | None:
        """Return the names and types in a source."""
        return self._here.describe(request)

    def copy(self, request: Copy, begun: Callable[[str], None]) -> CopyReport | None:
        """Return None: no copy is made that is not encrypted."""
        return None

    def serve(self, request: Serve) -> Server:
        """Return a server over an encrypted copy; over a database of this machine, one of its own."""
        if request.database.name != MANIFEST:
            return self._here.serve(request)
        return BucketServer(request, read_key(self._key_file))
