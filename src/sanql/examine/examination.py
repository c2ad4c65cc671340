"""All tables of a policy counted, and what follows for the policy, from its first line to its last."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass

from sanql.examine.counts import TableCounts, by_kind, count_table
from sanql.examine.observations import observed
from sanql.examine.rows import examined_rows
from sanql.policy import Policy, lines_of, place_of


@dataclass(frozen=True)
class Mismatch:
    """One thing in which policy and data differ: where in the policy, what, and what to do about it.

    What is `wrong` makes answers other than whoever asks thinks; of the rest the owner should know.
    """

    place: str
    wrong: bool
    message: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.place}: {self.message}; {self.remedy}"


@dataclass(frozen=True)
class Examination:
    """What an owner is told of policy and data: how many rows there are, and where they differ."""

    rows: Mapping[str, int]
    findings: tuple[Mismatch, ...]

    @property
    def wrong(self) -> bool:
        """Whether anything makes answers other than whoever asks thinks."""
        return any(finding.wrong for finding in self.findings)

    def to_dict(self) -> dict[str, object]:
        """Return it as JSON has it."""
        return {"rows": dict(self.rows), "findings": [asdict(each) for each in self.findings]}


def examine(policy: Policy, progress: Callable[[str], None]) -> Examination:
    """Read a policy's data and return what in them does not fit it; nothing is charged."""
    counted: list[TableCounts] = []
    with examined_rows(policy, "check --data", progress) as rows:
        for table in policy.tables.values():
            progress(f"counting {table.name}")
            counted += [count_table(rows, each) for each in by_kind(table)]
    lines = lines_of(policy.path)
    found = dict.fromkeys(observation for each in counted for observation in observed(policy, each))
    placed = [(*place_of(each.path, lines), each) for each in found]
    return Examination(
        {each.table.name: each.rows for each in counted},
        tuple(
            Mismatch(place, each.wrong, each.message, each.remedy)
            for _, place, each in sorted(placed, key=lambda one: one[0])
        ),
    )
