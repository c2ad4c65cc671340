"""Engines for SQL over noisy answers reach no file, neither to read nor to write, and stay so."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest

from sanql.answer.outer_engine import run_on_tables
from sanql.answer.post_process import run_on_cells
from sanql.errors import Refused, Unavailable

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
    asked = f"SELECT current_setting('{name}') AS s"
    for found in (
        run_on_tables(asked, [], {"t": NUMBERS}, SECONDS),
        run_on_cells(asked, [], NUMBERS),
    ):
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


def sorted_numbers(millions: int) -> int:
    """Sort so many numbers, which takes some 60 bytes of memory for each."""
    thousands = {"t": pa.table({"n": range(1_000 * millions)}), "u": pa.table({"m": range(1_000)})}
    ranked = "SELECT row_number() OVER (ORDER BY hash(n, m)) AS r FROM t, u"
    found = run_on_tables(f"SELECT max(r) AS last FROM ({ranked})", [], thousands, SECONDS)
    return int(found.column("last")[0].as_py())


@pytest.mark.slow
def test_a_question_has_as_much_memory_as_the_limit_says_whatever_others_compute_just_then() -> (
    None
):
    """Three at once would need more than one of them may have; a larger one is refused by itself."""
    with ThreadPoolExecutor(3) as asked:
        assert [*asked.map(sorted_numbers, [4] * 3)] == [4_000_000] * 3
    with pytest.raises(Refused, match="takes more than 20 seconds or 512MB"):
        sorted_numbers(9)
