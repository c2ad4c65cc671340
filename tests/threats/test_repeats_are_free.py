"""Rule 24: the same question of the same source is answered from the record; any other is charged."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import duckdb
import pytest

from sanql.errors import Refused
from sanql.policy.model import Policy
from sanql.san import San

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("in_this_process")]

ASKED = "SELECT COUNT(*) FROM people WHERE age > 12"


class Place(Protocol):
    """The folder of the shared fixture."""

    folder: Path

    def database(self, name: str, people: int) -> Path: ...
    def policy(self, source: str, name: str) -> Policy: ...


@pytest.fixture
def asked(place: Place) -> Iterator[Policy]:
    """Return a policy over a database of its own that may be changed."""
    database = place.database("changing.duckdb", 50)
    policy = place.policy("changing.duckdb", "changing")
    yield policy
    database.unlink()
    database.with_name(".changing.duckdb.sanql-account").unlink(missing_ok=True)
    for file in policy.ledger.parent.glob("changing.ledger*"):
        if file.is_file():
            file.unlink()


def spent(san: San) -> dict[str, float]:
    return {b.account: float(b.spent_upper.epsilon) for b in san.budget()}


@pytest.mark.slow
def test_a_repeat_is_free_a_changed_source_and_another_analyst_are_not(
    place: Place, asked: Policy
) -> None:
    with San(asked, "ana") as ana:
        first = ana.query(ASKED, epsilon=1)
        again = ana.query(
            "select count(*) from people where 12 < age or age > 12 and false", epsilon=1
        )
        assert not again.cached  # equal in meaning is not equal: only the same tree is the same
        repeated = ana.query(f"{ASKED} ORDER BY 1 LIMIT 5", epsilon="1")
        assert repeated.cached
        assert (repeated.rows, repeated.intervals) == (first.rows, first.intervals)
        assert repeated.to_dict()["charge"] == {"epsilon": 0.0, "delta": 0.0}
        marked = ana.query(ASKED.replace("12", "$1"), parameters=[12], epsilon=1)
        assert marked.cached  # parameters are constants that stand beside the text
        assert marked.rows == first.rows
        assert not ana.query(ASKED, epsilon=2).cached
        assert spent(ana) == {"changing": 4.0, "ana": 4.0, "bob": 0.0}
    with San(asked, "bob") as bob:
        other = bob.query(ASKED, epsilon=1)
        assert not other.cached
        assert spent(bob) == {"changing": 5.0, "ana": 4.0, "bob": 1.0}
    with duckdb.connect(str(place.folder / "changing.duckdb")) as connection:
        connection.execute("DELETE FROM people WHERE person_id = 7")
    changed = place.folder / "changing.duckdb"
    stamp = changed.stat().st_mtime_ns + 1_000_000
    os.utime(changed, ns=(stamp, stamp))
    with San(asked, "ana") as ana:
        # nobody reads the changed file yet, and what is on record needs no file
        assert ana.query(ASKED, epsilon=1).cached
        with pytest.raises(Refused) as caught:
            ana.query(ASKED, epsilon=3)
        assert caught.value.code == "source_changed"
        assert spent(ana)["ana"] == 4.0
        ana.refresh()
        later = ana.query(ASKED, epsilon=1)
        assert (later.cached, later.version) == (False, 2)
        assert ana.query(ASKED, epsilon=1).cached
        assert spent(ana)["ana"] == 5.0
