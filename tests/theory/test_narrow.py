"""On a terminal of 80 columns every command of the theory says each of its words in one piece."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from sanql.cli.main import main
from theory.commands_of_items import as_run
from theory.test_paper_to_code import rows

pytestmark = pytest.mark.slow

COMMANDS = sorted({row[4].strip("`") for row in rows()})


def words(asked: list[str], columns: int) -> set[str]:
    """Return the words of an output, without the lines of tables, and colons after their headings."""
    done = CliRunner().invoke(main, asked, env={"COLUMNS": str(columns)})
    assert done.exit_code == 0, f"sanql {shlex.join(asked)}: {done.output}"
    return {word.rstrip(":") for word in done.output.split() if re.search(r"\w", word)}


@pytest.mark.parametrize("command", COMMANDS)
def test_no_word_is_broken_on_eighty_columns(command: str, tmp_path: Path) -> None:
    asked = as_run(command, tmp_path)
    broken = words(asked, 80) - words(asked, 400)
    assert not broken, f"sanql {shlex.join(asked)} breaks {sorted(broken)[:5]}"
