"""What every kind of source keeps: inherited by one class for each kind.

A source is made by `write`, with ten people in it, and found again through a policy.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from sanql.catalog import bind
from sanql.engines import Pool, describe, open_engine, prepare
from sanql.errors import PolicyError
from sanql.kernel import Statement, stamp
from sanql.policy import Policy, load
from sanql.sources import Source, Stamps, locate
from support.policies import dataset

ROWS = 10
POLICY = (
    dataset("{source}", name="town", epsilon=1)
    + """\
[table.people]
privacy_unit = "person_id"
rows_per_unit_max = 1
[table.people.column]
age = {{ type = "integer", bounds = [0, 120] }}
[table.cities]
public = true
[table.cities.column]
name = {{ type = "text" }}
"""
)


class SourceContract:
    """A source of one kind; `name` is what the policy calls it, `kind` the class that it is found as."""

    name: str
    kind: type

    def write(self, place: Path, rows: int = ROWS) -> None:
        """Write people (person_id, age) and three cities (name)."""
        raise NotImplementedError

    def text(self) -> str:
        """Return the policy's text."""
        return POLICY.format(source=self.name)

    def private_files(self, place: Path) -> set[Path]:
        """Return the files with rows of people."""
        raise NotImplementedError

    @pytest.fixture
    def policy(self, tmp_path: Path) -> Policy:
        self.write(tmp_path / self.name)
        (tmp_path / "policy.toml").write_text(self.text())
        return load(tmp_path / "policy.toml")

    @pytest.fixture
    def source(self, policy: Policy) -> Source:
        return locate(policy)

    def test_it_is_found_as_what_it_is(self, source: Source) -> None:
        assert isinstance(source, self.kind)

    def test_it_consists_of_files_that_are_there(self, source: Source, policy: Policy) -> None:
        paths = source.paths()
        assert all(path.is_file() and path.is_absolute() for path in paths)
        assert self.private_files(policy.path.parent / self.name) <= set(paths)

    def test_every_byte_is_part_of_a_hash(self, source: Source) -> None:
        hashed = [path for _, *paths in source.hashed_files().values() for path in paths]
        assert sorted(hashed) == sorted(map(str, source.paths()))

    def test_the_hashes_are_the_same_until_the_data_change(self, policy: Policy) -> None:
        stamps = Stamps(policy.ledger)
        before = stamps.of(locate(policy))
        for path in locate(policy).paths():
            os.utime(path)
        assert stamps.of(locate(policy)).hashes == before.hashes, "it was only touched"
        self.write(policy.path.parent / self.name, rows=ROWS + 1)
        assert stamps.of(locate(policy)).hashes != before.hashes

    def test_a_stamp_changes_with_any_file(self, source: Source) -> None:
        before = stamp(source.paths())
        os.utime(source.paths()[-1], ns=(1, 1))
        assert stamp(source.paths()) != before

    def test_an_account_claims_every_file_with_private_rows(
        self, source: Source, policy: Policy
    ) -> None:
        place = policy.path.parent / self.name
        site = source.site(policy)
        assert self.private_files(place) <= {address.path for address in site.files}
        assert place.resolve() == site.root.path

    def test_a_file_that_vanished_is_noticed(self, source: Source, policy: Policy) -> None:
        source.paths()[0].unlink()
        with pytest.raises(OSError):
            source.site(policy)

    def test_every_table_has_a_format(self, source: Source, policy: Policy) -> None:
        assert set(source.formats(policy)) == set(policy.tables)

    def test_declared_columns_need_no_row_to_be_typed(self, source: Source) -> None:
        assert not source.reads_rows

    def test_what_is_asked_of_an_engine_names_its_own_files(
        self, source: Source, policy: Policy
    ) -> None:
        schema = open_engine("in_process").describe(source.inspection(policy))
        assert schema is not None
        bound = bind(policy, source.formats(policy), schema)
        assert set(bound) == {"people", "cities"}
        if not source.in_place:
            assert source.is_copied(bound, schema)
        target = policy.path.parent / "copy.duckdb"
        begun: list[str] = []
        request = source.copying(policy, bound, schema, target, 7)
        request = replace(request, stamp=stamp(source.paths()))
        copied = open_engine("in_process").copy(request, begun.append)
        assert copied is not None
        assert begun == ["people", "cities"]
        assert target.is_file()
        assert source.not_copied("people").place == "table.people"

    def test_the_rows_that_questions_read_are_those_that_were_written(self, policy: Policy) -> None:
        engine = open_engine("in_process")
        prepared = prepare(policy, engine=engine)
        found = f"SELECT sum({prepared.scans['people']['age']})::BIGINT AS ages"
        with Pool(prepared, policy.engine, engine) as pool:
            rows = pool.run(Statement(f"{found} FROM {prepared.relations['people']}"))
        assert rows.to_pydict() == {"ages": [sum(range(20, 20 + ROWS))]}

    def test_a_description_is_the_same_whichever_engine_looks(self, policy: Policy) -> None:
        local, confined = (
            describe(policy, engine=open_engine(k)) for k in ("in_process", "workers")
        )
        assert local == confined

    def test_what_the_policy_does_not_find_is_named(self, policy: Policy, tmp_path: Path) -> None:
        text = self.text().replace("[table.cities", "[table.towns")
        (tmp_path / "other.toml").write_text(text)
        with pytest.raises(PolicyError) as caught:
            describe(load(tmp_path / "other.toml"), engine=open_engine("in_process"))
        assert [fault.place for fault in caught.value.faults] == ["table.towns"]
