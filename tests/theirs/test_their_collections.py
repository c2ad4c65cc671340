"""Collections in the manner of those that people bring are asked as they are written."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from theirs.reading import NAMES, STATISTICS, Asked, opened, questions_of, share, verdict

pytestmark = pytest.mark.slow

LEAST = 0.95


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory: pytest.TempPathFactory) -> dict[Asked, str]:
    """Return the code of every question's refusal, or nothing where it would be answered."""
    found: dict[Asked, str] = {}
    for name in NAMES:
        with opened(name, Path(tmp_path_factory.mktemp(name))) as san:
            for asked in questions_of(name):
                refused = verdict(san, asked)
                found[asked] = refused.code if refused is not None else ""
    return found


def test_nearly_all_that_is_answerable_is_answered_as_it_is_written(
    verdicts: dict[Asked, str],
) -> None:
    counted = share(verdicts)
    missing = [
        f"{code}: {asked.sql}" for asked, code in verdicts.items() if code and asked.answerable
    ]
    assert counted["plain, answerable"] > 200
    assert counted[f"{STATISTICS}, answerable"] >= 19
    for kind in ("plain", STATISTICS):
        answered = counted[f"{kind}, answered"] / counted[f"{kind}, answerable"]
        assert answered >= LEAST, (kind, answered, missing)


def test_what_has_no_answer_is_refused(verdicts: dict[Asked, str]) -> None:
    wrong = [asked.sql for asked, code in verdicts.items() if not asked.answerable and not code]
    assert not wrong


def test_no_collection_is_left_behind(verdicts: dict[Asked, str]) -> None:
    for name in NAMES:
        own = {asked: code for asked, code in verdicts.items() if asked.collection == name}
        counted: Counter[str] = share(own)
        assert counted["plain, answered"] >= 0.9 * counted["plain, answerable"], name
        assert counted[f"{STATISTICS}, answered"] == counted[f"{STATISTICS}, answerable"], name
