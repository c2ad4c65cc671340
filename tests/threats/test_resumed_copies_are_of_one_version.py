"""What is done of a copy is of the files that it was begun for, also where these were others for a while.

A preparation that ends early leaves what it has done to the next, under the names of the files that it
was told to read. Files that were exchanged meanwhile, and put back, would be read as what they never
were: an answer about one version of the data, from the rows of another.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from sanql.catalog import PreparedSource
from sanql.engines import Engine, open_engine, prepare, prepare_encrypted
from sanql.engines.preparation import Progress
from sanql.errors import PolicyError
from sanql.policy import Policy, load
from sanql.san import San
from sanql.sources import Source, Stamped, Stamps, locate
from support.policies import dataset
from support.samplers import SilentSampler

TABLES = """\

[table.visits]
privacy_unit = "who"
rows_per_unit_max = 9
column.cost = { type = "integer", bounds = [0, 100] }

[table.people]
privacy_unit = "id"
rows_per_unit_max = 1
column.id = { type = "integer" }
column.name = { type = "text" }

[engine]
memory = "512MB"
"""
KEY = 'encryption_key_file = "key"\n'
TOTAL = "SELECT SUM(cost) AS n FROM visits"
COSTS = {"named": 1, "other": 50}  # of each of 900 visits


class Ended(BaseException):
    """What ends a preparation, as an interrupt does, when the first table is there."""


def clinic(folder: Path, source: str, more: str = "") -> Policy:
    """Write the data that are named, and others, beside each other; return the policy over the former."""
    for version, cost in COSTS.items():
        (folder / version).mkdir()
        with duckdb.connect(str(folder / version / "all.duckdb")) as made:
            made.execute(
                "CREATE TABLE people AS SELECT i AS id, 'p' || i AS name FROM range(300) n(i)"
            )
            made.execute(
                f"CREATE TABLE visits AS SELECT i % 300 AS who, {cost} AS cost FROM range(900) n(i)"
            )
            for table in ("people", "visits"):
                made.execute(f"COPY {table} TO '{folder}/{version}/{table}.parquet'")
    (folder / "key").write_text("bXkgc2VjcmV0LCBub3QgdG8gYmUgZm91bmQgYW55d2hlcmU=\n")
    (folder / "key").chmod(0o600)
    (folder / "data").mkdir()
    put(folder, "named")
    (folder / "policy.toml").write_text(dataset(source, epsilon=100) + TABLES + more)
    return load(folder / "policy.toml")


def put(folder: Path, version: str) -> None:
    """Put a version of the data where the policy reads them."""
    for path in (folder / version).iterdir():
        draft = folder / "draft"
        shutil.copyfile(path, draft)
        draft.replace(folder / "data" / path.name)


def plainly(
    policy: Policy, source: Source, stamped: Stamped, progress: Progress, engine: Engine
) -> PreparedSource:
    return prepare(policy, progress, stamped=stamped, source=source, engine=engine, copied=True)


def encrypted(
    policy: Policy, source: Source, stamped: Stamped, progress: Progress, engine: Engine
) -> PreparedSource:
    return prepare_encrypted(
        policy, source, stamped, Stamps(policy.ledger), progress, engine=engine
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "more", "make"),
    [("data", "", plainly), ("data/all.duckdb", "", plainly), ("data", KEY, encrypted)],
    ids=["files", "a database", "encrypted"],
)
@pytest.mark.parametrize("ended", [True, False])
@pytest.mark.parametrize("kind", ["in_process", "workers"])
def test_rows_that_were_there_meanwhile_are_in_no_copy(
    source: str,
    more: str,
    make: Callable[..., PreparedSource],
    ended: bool,
    kind: str,
    tmp_path: Path,
) -> None:
    """Red where what was read is not compared with what was named before it is said to be done."""
    policy = clinic(tmp_path, source, more)
    located, said = locate(policy), list[str]()
    named = Stamps(policy.ledger).of(located)
    put(tmp_path, "other")

    def progress(words: str) -> None:
        said.append(words)
        if ended and len(said) == 2:
            raise Ended

    with pytest.raises((Ended, PolicyError)):
        make(policy, located, named, progress, open_engine(kind))
    put(tmp_path, "named")
    with San(policy, sampler=SilentSampler()) as san:
        san.session.data.prepare()
        assert san.query(TOTAL, epsilon=1).value == 900 * COSTS["named"]
