"""`make dist`: what is released of the last commit, built twice and compared.

Writes into dist/: the wheel, the sdist, sbom.json and SHA256SUMS. Nothing is downloaded. The only time
in any of them is that of the commit (SOURCE_DATE_EPOCH).
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from project.pins import ROOT, RUNTIME, read
from project.sbom import bill
from project.third_party import PAGE, licences

DIST = ROOT / "dist"


class Unreleasable(Exception):
    """Why there is nothing to release."""


@dataclass(frozen=True)
class Circumstances:
    """What differs between two builders' machines and must not be seen in what they build."""

    umask: int
    variables: Mapping[str, str]
    newest_first: bool


HERE = Circumstances(0o022, {"TZ": "UTC", "PYTHONHASHSEED": "1", "LC_ALL": "C.UTF-8"}, False)
ELSEWHERE = Circumstances(0o077, {"TZ": "XXX-14", "PYTHONHASHSEED": "2", "LC_ALL": "C"}, True)


def main() -> None:
    """Build and compare, then write dist/."""
    if changed := _git("status", "--porcelain"):
        raise Unreleasable(f"a commit is what is released, and this is not committed:\n{changed}")
    epoch = int(_git("log", "-1", "--format=%ct"))
    made = {**built_twice(epoch), "sbom.json": sbom(epoch).encode()}
    sums = [f"{hashlib.sha256(made[name]).hexdigest()}  {name}\n" for name in sorted(made)]
    shutil.rmtree(DIST, ignore_errors=True)
    DIST.mkdir()
    for name, content in {**made, "SHA256SUMS": "".join(sums).encode()}.items():
        (DIST / name).write_bytes(content)
    print(
        f"dist/ is commit {_git('rev-parse', '--short', 'HEAD')}, built twice with the same bytes:"
    )
    print("".join(sums), end="")


def built_twice(
    epoch: int, here: Circumstances = HERE, elsewhere: Circumstances = ELSEWHERE
) -> dict[str, bytes]:
    """Return wheel and sdist by name, built in two folders under different circumstances."""
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        one = _built(Path(first), epoch, here)
        other = _built(Path(second), epoch, elsewhere)
    if differing := sorted(name for name in {*one, *other} if one.get(name) != other.get(name)):
        raise Unreleasable(f"built twice, these are not the same bytes: {', '.join(differing)}")
    return one


def sbom(epoch: int) -> str:
    """Return the bill of materials of this tree."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    known = licences(PAGE.read_text(encoding="utf-8"))
    return bill(project["version"], project["license"], epoch, read(RUNTIME), known)


def _built(folder: Path, epoch: int, circumstances: Circumstances) -> dict[str, bytes]:
    source, made = folder / "source", folder / "made"
    files = _files()
    for name in reversed(files) if circumstances.newest_first else files:
        target = source / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, target)
        target.chmod(target.stat().st_mode & ~circumstances.umask)
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-t", "wheel", "-d", str(made)],
        cwd=source,
        env={**os.environ, "SOURCE_DATE_EPOCH": str(epoch), **circumstances.variables},
        umask=circumstances.umask,
        check=False,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise Unreleasable(f"hatchling failed:\n{done.stdout}{done.stderr}")
    return {path.name: path.read_bytes() for path in made.iterdir()}


def _files() -> Sequence[PurePosixPath]:
    """What is committed, or will be: nothing that git ignores gets into a release."""
    listed = _git("ls-files", "-z", "--cached", "--others", "--exclude-standard")
    names = sorted(set(listed.split("\0")) - {""})
    return [PurePosixPath(name) for name in names if (ROOT / name).is_file()]


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True)
    return done.stdout.strip("\n")


if __name__ == "__main__":
    try:
        main()
    except Unreleasable as why:
        sys.exit(f"make dist: {why}")
