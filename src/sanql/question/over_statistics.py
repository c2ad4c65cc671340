"""A question over noisy statistics: SQL around answers to other questions, measured together.

The statistics are questions over private tables; what stands around them reads their answers as it
reads public tables, and nothing private. A statistic may itself read the answers of others, such as
WHERE m > (SELECT AVG(m) FROM p): it is of a later stage than those.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass

from sanql.policy import Table
from sanql.question.expressions import Query
from sanql.question.public_query import PublicQuery
from sanql.question.relations import Scan


@dataclass(frozen=True)
class InnerStatistic:
    """One question of those, and the name under which its answer is read.

    Those of stage 0 read no other statistic; any other is measured when all of the stages before are.
    """

    name: str
    query: Query
    stage: int


@dataclass(frozen=True)
class OverStatistics:
    """Statistics, and the question over them; `tables` are what their answers look like as tables."""

    statistics: tuple[InnerStatistic, ...]
    outer: PublicQuery
    tables: Mapping[str, Table] = field(hash=False)

    @property
    def stages(self) -> tuple[tuple[InnerStatistic, ...], ...]:
        """The statistics that are measured together, stage by stage."""
        last = max(statistic.stage for statistic in self.statistics)
        return tuple(
            tuple(each for each in self.statistics if each.stage == stage)
            for stage in range(last + 1)
        )


def tables_read(query: object) -> frozenset[str]:
    """Return the tables that a question reads, wherever it does."""
    return frozenset(node.table for node in everything_in(query) if isinstance(node, Scan))


def everything_in(query: object) -> list[object]:
    """Return everything that a question, or a part of one, is made of: each part once."""
    found: list[object] = []
    pending: list[object] = [query]
    seen: set[int] = set()
    while pending:
        node = pending.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, tuple):
            pending.extend(node)
        elif is_dataclass(node):
            found.append(node)
            pending.extend(getattr(node, each.name) for each in fields(node))
    return found
