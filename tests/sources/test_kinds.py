"""Kinds of sources are told apart in one place, and an unknown one is refused with the known ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from sanql.errors import PolicyError
from sanql.policy import load
from sanql.sources import locate
from sources.source_contract import POLICY


def located(folder: Path, source: str) -> str:
    (folder / "policy.toml").write_text(POLICY.format(source=source))
    with pytest.raises(PolicyError) as caught:
        locate(load(folder / "policy.toml"))
    (fault,) = caught.value.faults
    assert fault.place == "dataset.source"
    return f"{fault.message}; {fault.remedy}"


def test_a_file_of_an_unknown_kind_is_refused_by_name_with_the_known_kinds(tmp_path: Path) -> None:
    (tmp_path / "town.rows").write_bytes(b"rows")
    assert located(tmp_path, "town.rows") == (
        f"{str(tmp_path / 'town.rows')!r} is no Parquet, CSV or DuckDB file; "
        "name a .parquet, .csv or .duckdb file, or a folder"
    )


def test_a_source_that_is_not_there_is_named(tmp_path: Path) -> None:
    said = located(tmp_path, "nowhere")
    assert said.startswith(f"there is no file or folder {str(tmp_path / 'nowhere')!r}")
