"""What `sanql init` proposes: decisions for kinds of data, each with its reason, and units by names.

Only names of columns are read for it. What is proposed is marked so; what nobody can tell stays blank.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_WHO = (
    "account|applicant|borrower|citizen|client|customer|device|driver|employee|guest|household|member|"
    "participant|passenger|patient|person|player|pupil|resident|respondent|student|subject|tailnum|"
    "taxpayer|user|visitor|voter|worker"
)
_SOMEBODY = re.compile(r"(^|.*[ _-])(name|surname|firstname|lastname|address|phone|e?mail)", re.I)
_UNIT = re.compile(
    rf"({_WHO})s?([ _-]?(id|key|no|nr|num|number|code|uuid))?|(ssn|email|id|uuid)", re.I
)


@dataclass(frozen=True)
class Preset:
    """The decisions for one kind of data, as a policy has them, in place of blanks."""

    neighbours: str
    budget: str
    accounting: str
    unit: str | None  # None: whoever a column's name says
    rows: str


_BUDGET = """\
{ attacker = { prior = 0.1, posterior_at_most = 0.25 }, delta = 1e-9 }
# preset: somebody who holds a fact about a person for 10 % likely, and knows everything else, may come to
# hold it for 25 % likely at most, whatever is asked in all. Say it otherwise where
# your people would. delta, the chance that this fails, is below one in all people there are."""
_NEIGHBOURS = '"add-remove"  # preset: it hides even whether somebody is in the data'
_ACCOUNTING = '"renyi"  # preset: many small questions cost less'

PRESETS = {
    "one-row-per-person": Preset(
        _NEIGHBOURS,
        _BUDGET,
        _ACCOUNTING,
        None,
        "unique = true  # preset: everybody has one row, so that noise hides one row",
    ),
    "events": Preset(
        _NEIGHBOURS,
        _BUDGET,
        _ACCOUNTING,
        None,
        'rows_per_unit_max = "undecided"  # preset: people have several rows; `sanql suggest` finds how'
        " many may count",
    ),
    "survey": Preset(
        _NEIGHBOURS,
        _BUDGET,
        _ACCOUNTING,
        '"row"  # preset: each questionnaire is somebody else\'s, and no column says whose',
        "",
    ),
}
"""The kinds of data that there are decisions for."""


def units_by_name(columns: Sequence[str]) -> list[str]:
    """Return the columns whose names say that they identify somebody, those that name whom first.

    >>> units_by_name(["age", "id", "patient_id", "Customer Number", "paid"])
    ['patient_id', 'Customer Number', 'id']
    """
    found = [(match[1] is None, name) for name in columns if (match := _UNIT.fullmatch(name))]
    return [name for _, name in sorted(found, key=lambda each: each[0])]


def names_somebody(column: str) -> bool:
    """Return whether a column's name says that its values are whose a row is, or lead to them.

    >>> [names_somebody(name) for name in ("patient_id", "last_name", "ward")]
    [True, True, False]
    """
    return bool(_UNIT.fullmatch(column) or _SOMEBODY.fullmatch(column))
