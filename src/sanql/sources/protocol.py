"""The interface of sources: what San must know of a kind of data to read it.

A source is what a policy's `source` led to when it was located. Its rows are read by an engine, which is
asked by the requests that the source writes. Another kind of data is another file with such a class, and
a line in `kinds.py`; `policy/source.py` says which words a policy may name one by, and
`tests/sources/source_contract.py` is what it must keep.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, Self

from sanql.account import Site
from sanql.catalog import BoundTable, SourceFormat
from sanql.errors import Fault
from sanql.kernel import Copy, Inspect

if TYPE_CHECKING:
    from sanql.policy import Policy


class Source(Protocol):
    """The data of a policy, found: which files they are, and how they are read."""

    @classmethod
    def locate(cls, policy: Policy, root: Path) -> Self | None:
        """Return the source at a path; None where it is of another kind, PolicyError where it lacks."""

    def paths(self) -> tuple[Path, ...]:
        """Return every file whose bytes the source consists of."""

    def hashed_files(self) -> Mapping[str, tuple[str, ...]]:
        """Return for each part of the data with a stamp of its own what it is made of.

        That is the name of its format, and then the paths of its files.
        """

    def site(self, policy: Policy) -> Site:
        """Return the files and folders that an account over it claims; OSError if one is gone."""

    def formats(self, policy: Policy) -> Mapping[str, SourceFormat]:
        """Return the format of each table."""

    @property
    def reads_rows(self) -> bool:
        """Whether the types of columns are found by reading the rows of a public table."""

    def inspection(self, policy: Policy) -> Inspect:
        """Return the request for the names and types in it."""

    @property
    def in_place(self) -> bool:
        """Whether it may be read where it is; then the first of its files is the database."""

    def is_copied(self, bound: Mapping[str, BoundTable], schema: Mapping[str, object]) -> bool:
        """Return whether questions run on a copy; where it is not read in place they always do."""

    def copying(
        self,
        policy: Policy,
        bound: Mapping[str, BoundTable],
        schema: Mapping[str, object],
        target: Path,
        secret: int,
    ) -> Copy:
        """Return the request for a copy of what is read of it, of which the schema is known.

        Units are spread over buckets under a `secret`.
        """

    def not_copied(self, table: str) -> Fault:
        """Return the fault of a source whose copy ended while this table was copied."""
