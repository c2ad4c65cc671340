"""Write plans, and what refusals propose, into the fixture files, for a reviewer to read the difference.

    python -m questions.write_plans            # in tests/, after a change of plans that is meant

The tests never run this: they compare with what was committed.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from questions.asking import open_shape
from questions.cases import FOLDER, Case, read
from questions.summary import summary


def main() -> None:
    """Rewrite every fixture file."""
    for folder in sorted(path.parent for path in FOLDER.glob("*/policy.toml")):
        with TemporaryDirectory() as data:
            shape = open_shape(folder.name, Path(data))
            for path in sorted(folder.glob("*.sql")):
                text = path.read_text(encoding="utf-8")
                for case in read(path):
                    if not case.code:
                        text = _replaced(text, case, "plan", summary(shape.plan(case.sql)))
                    else:
                        refused = shape.refusal(case.sql)
                        nearest = refused.nearest.splitlines() if refused is not None else []
                        text = _replaced(text, case, "remedy", tuple(nearest))
                path.write_text(text, encoding="utf-8")
                sys.stdout.write(f"{path.relative_to(FOLDER)}\n")
            shape.close()


def _replaced(text: str, case: Case, mark: str, told: tuple[str, ...]) -> str:
    start = text.index(f"-- {case.title.split(chr(10))[0]}\n{case.sql}")
    end = text.find("\n\n", start)
    block = text[start:end] if end >= 0 else text[start:].rstrip("\n")
    kept = [line for line in block.splitlines() if not line.startswith(f"--{mark}>")]
    new = "\n".join([*kept, *(f"--{mark}> {line}" for line in told)])
    return text.replace(block, new, 1)


if __name__ == "__main__":
    main()
