"""A command that opens a policy imports all at once, and looks for garbage again after that."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest

from sanql.cli.opening import open_here
from sanql.errors import PolicyError


def test_garbage_is_looked_for_again_after_imports_and_modules_are_no_part_of_it(
    tmp_path: Path,
) -> None:
    gc.unfreeze()
    try:
        with pytest.raises(PolicyError):
            open_here(tmp_path / "none.toml", None)
        assert gc.isenabled()
        assert gc.get_freeze_count() > 10_000
    finally:
        gc.unfreeze()
