"""The demo hospital, made once by each process that runs tests and written wherever one needs it."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from sanql.demo import make_hospital


def hospital_in(folder: Path) -> Path:
    """Write what `make_hospital` writes into a folder; return the policy's path."""
    for name, content in _files().items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder / "policy.toml"


@cache
def _files() -> dict[str, bytes]:
    """Return the hospital's files by their names below its folder."""
    with TemporaryDirectory() as folder:
        root = make_hospital(Path(folder)).parent
        return {
            str(path.relative_to(root)): path.read_bytes()
            for path in sorted(root.rglob("*"))
            if path.is_file()
        }
