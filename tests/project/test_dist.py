"""What `make dist` builds has the same bytes twice, and holds what it should and nothing else."""

from __future__ import annotations

import hashlib
import io
import os
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from project.dist import ELSEWHERE, HERE, Unreleasable, built_twice, sbom

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
EPOCH = 1_700_000_000
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
BILL = "sbom.json"
NAME = f"sanql-{PROJECT['version']}"


@pytest.fixture(scope="module")
def made() -> dict[str, bytes]:
    """Wheel and sdist; an error where the two builds differ."""
    return built_twice(EPOCH)


@pytest.fixture(scope="module")
def wheel(made: dict[str, bytes]) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(made[f"{NAME}-py3-none-any.whl"])) as opened:
        return {name: opened.read(name) for name in opened.namelist()}


def test_two_more_builds_elsewhere_and_here_have_the_same_bytes(made: dict[str, bytes]) -> None:
    assert sorted(made) == [f"{NAME}-py3-none-any.whl", f"{NAME}.tar.gz"]
    assert built_twice(EPOCH, ELSEWHERE, HERE) == made


def test_builds_that_differ_are_an_error_that_names_the_files() -> None:
    clock = replace(HERE, variables={"SOURCE_DATE_EPOCH": str(EPOCH + 2)})
    with pytest.raises(
        Unreleasable, match=rf"same bytes: {NAME}-py3-none-any\.whl, {NAME}\.tar\.gz"
    ):
        built_twice(EPOCH, HERE, clock)


def test_the_wheel_is_the_package_its_pages_licence_and_notice_and_nothing_else(
    wheel: dict[str, bytes],
) -> None:
    package = {
        path.relative_to(ROOT / "src").as_posix(): path.read_bytes()
        for path in (ROOT / "src" / "sanql").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    package |= {
        f"sanql/pages/{path.relative_to(ROOT / 'docs').as_posix()}": path.read_bytes()
        for path in (ROOT / "docs").rglob("*.md")
    }
    papers = {
        f"{NAME}.dist-info/licenses/{name}": (ROOT / name).read_bytes()
        for name in ("LICENSE", "NOTICE")
    }
    written = {f"{NAME}.dist-info/{n}" for n in ("METADATA", "WHEEL", "RECORD", "entry_points.txt")}
    assert "sanql/py.typed" in package
    assert set(wheel) == {*package, *papers, *written}
    assert {name: wheel[name] for name in (*package, *papers)} == {**package, **papers}


def test_the_sdist_is_everything_that_is_committed_and_nobodys(made: dict[str, bytes]) -> None:
    with tarfile.open(fileobj=io.BytesIO(made[f"{NAME}.tar.gz"])) as opened:
        members = opened.getmembers()
    names = {member.name.removeprefix(f"{NAME}/") for member in members}
    assert {"NOTICE", "THIRD_PARTY.md", "requirements.txt", "src/sanql/py.typed"} <= names
    assert {"tests/project/test_dist.py", "project/dist.py", "PKG-INFO"} <= names
    assert not [name for name in names if name.startswith((".git/", ".venv", "dist/", "demo/"))]
    assert {(member.uname, member.gname, member.uid) for member in members} == {("", "", 0)}


@pytest.fixture(scope="module")
def committed(tmp_path_factory: pytest.TempPathFactory, made: dict[str, bytes]) -> Path:
    """A repository with everything that is here in one commit of a known time."""
    folder = tmp_path_factory.mktemp("committed")
    with tarfile.open(fileobj=io.BytesIO(made[f"{NAME}.tar.gz"])) as opened:
        opened.extractall(folder, filter="data")
    root = folder / NAME
    (root / "PKG-INFO").unlink()
    who = ["-c", "user.name=Somebody", "-c", "user.email=somebody@example.org"]
    when = {**os.environ, "GIT_COMMITTER_DATE": f"{EPOCH} +0000"}
    for arguments in (["init"], ["add", "."], [*who, "commit", "-m", "everything"]):
        subprocess.run(
            ["git", *arguments], cwd=root, env=when, check=True, stdout=subprocess.DEVNULL
        )
    return root


def _dist(root: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "project.dist"]
    return subprocess.run(command, cwd=root, check=False, capture_output=True, text=True)


def test_make_dist_writes_what_is_built_of_the_commit_with_bill_and_sums(
    committed: Path, made: dict[str, bytes]
) -> None:
    (committed / "dist").mkdir()
    (committed / "dist" / "sanql-0.0.0.tar.gz").write_text("of yesterday", encoding="utf-8")
    done = _dist(committed)
    assert done.returncode == 0, done.stderr
    found = {path.name: path.read_bytes() for path in (committed / "dist").iterdir()}
    sums = "".join(f"{hashlib.sha256(found[n]).hexdigest()}  {n}\n" for n in sorted({*made, BILL}))
    assert found == {**made, BILL: sbom(EPOCH).encode(), "SHA256SUMS": sums.encode()}
    assert sums in done.stdout


@pytest.mark.parametrize("name", ["README.md", "src/sanql/forgotten.py"])
def test_make_dist_refuses_what_is_not_committed_and_names_it(committed: Path, name: str) -> None:
    before = (committed / name).read_bytes() if (committed / name).exists() else None
    (committed / name).write_text("changed\n", encoding="utf-8")
    try:
        done = _dist(committed)
    finally:
        if before is None:
            (committed / name).unlink()
        else:
            (committed / name).write_bytes(before)
    assert done.returncode == 1
    assert "is not committed" in done.stderr and name in done.stderr
