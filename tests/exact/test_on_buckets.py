"""Exact releases from buckets of files: the same records and sums as from one machine."""

from __future__ import annotations

from pathlib import Path

import pytest

from exact.towns import DECLARED, MEMBERS, POLICY, write_people, write_policy
from sanql.compile import compile_exact_release
from sanql.engines import Pool, open_engine, prepare
from sanql.policy import load
from support.on_buckets import Buckets, on_spark, spread

BUCKETS = 3


@pytest.mark.slow
@pytest.mark.parametrize("declared", [*DECLARED.values(), MEMBERS])
def test_buckets_have_the_cells_of_one_machine(declared: str, tmp_path: Path) -> None:
    write_people(tmp_path)
    policy = load(write_policy(tmp_path, declared, POLICY))
    (exact,) = policy.exact.values()
    table = policy.tables[exact.table]
    engine = open_engine("in_process")
    here = prepare(policy, engine=engine)
    with Pool(here, policy.engine, engine) as pool:
        expected = pool.run(compile_exact_release(exact, table, here))
    source = spread(on_spark(policy, tmp_path / "layout"), BUCKETS)
    buckets = Buckets(source.database.parent)
    try:
        found = buckets.run(compile_exact_release(exact, table, source))
    finally:
        buckets.close()
    assert found.schema == expected.schema
    assert sorted(map(repr, found.to_pylist())) == sorted(map(repr, expected.to_pylist()))
