"""The engine for SQL around statistics reaches no file, neither to read nor to write, and stays so."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from sanql.answer.outer_engine import run_on_tables
from sanql.errors import Unavailable

NUMBERS = pa.table({"n": [1, 2, 3]})
SECONDS = 20
KEPT = {
    "temp_directory": "",  # noisy answers are written nowhere, and no disk is filled with products
    "enable_external_access": False,
    "lock_configuration": True,
    "python_enable_replacements": False,
    "error_on_division_by_zero": False,
    "scalar_subquery_error_on_multiple_rows": False,
    "threads": 1,
}


@pytest.mark.parametrize("name", KEPT)
def test_settings_hold_where_a_question_runs(name: str) -> None:
    found = run_on_tables(f"SELECT current_setting('{name}') AS s", [], {"t": NUMBERS}, SECONDS)
    assert found.column("s").to_pylist() == [KEPT[name]]


def test_no_file_is_reached(tmp_path: Path) -> None:
    (tmp_path / "secret.csv").write_text("n\n7\n")
    for sql in (
        f"SELECT * FROM read_csv('{tmp_path}/secret.csv')",
        f"SELECT * FROM '{tmp_path}/secret.csv'",
        f"SELECT * FROM read_blob('{tmp_path}/*')",
    ):
        with pytest.raises(Unavailable) as caught:
            run_on_tables(sql, [], {"t": NUMBERS}, SECONDS)
        assert "secret" not in str(caught.value)
        assert caught.value.__cause__ is None


def test_one_question_does_not_see_the_answers_of_another() -> None:
    assert run_on_tables("SELECT n FROM mine", [], {"mine": NUMBERS}, SECONDS).num_rows == 3
    with pytest.raises(Unavailable):
        run_on_tables("SELECT n FROM mine", [], {"other": NUMBERS}, SECONDS)
