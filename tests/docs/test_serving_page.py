"""docs/serving.md, followed word for word: from an empty folder to analysts asking."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from sanql.server import ServerSettings, read_settings

PAGE = Path(__file__).parents[2] / "docs" / "serving.md"


def blocks(kind: str) -> list[str]:
    text = PAGE.read_text(encoding="utf-8")
    return re.findall(rf"^```{kind}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
def test_from_nothing_to_analysts_asking_word_for_word(tmp_path: Path) -> None:
    """Only the port is another one: somebody may listen on 8090 here."""
    commands = tmp_path / "bin"
    commands.mkdir()
    for name, start in (
        ("sanql", f'"{sys.executable}" -m sanql'),
        ("python3", f'"{sys.executable}"'),
    ):
        (commands / name).write_text(f'#!/bin/sh\nexec {start} "$@"\n', encoding="utf-8")
        (commands / name).chmod(0o755)
    script = "set -eu\n" + "".join(blocks("sh")).replace("8090", str(free_port()))
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=tmp_path,
        env={**os.environ, "PATH": f"{commands}:{os.environ['PATH']}", "COLUMNS": "160"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    log = tmp_path / "town" / "serve.log"
    said = log.read_text(encoding="utf-8") if log.exists() else ""
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}\n{said}"
    assert '"sound": true' in done.stdout and "north" in done.stdout
    assert "credential_wrong" in done.stderr, "whoever was revoked is told so"


def test_the_settings_on_the_page_are_settings(tmp_path: Path) -> None:
    (written,) = blocks("toml")
    file = tmp_path / "server.toml"
    file.write_text(written, encoding="utf-8")
    settings = read_settings(file, ServerSettings())
    assert settings.proxy is not None and settings.proxy.trusts("10.0.0.7")
    assert settings.sign_on is not None and settings.hosts == ("stats.example.org",)
    for name, value in tomllib.loads(written)["limits"].items():
        assert getattr(settings.limits, name) == value
