"""The interface as it is described, for Schemathesis, and a server that is asked by it in every role."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import schemathesis
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from sanql.account import Role
from sanql.server import RequestLimits, ServerSettings
from sanql.server.http.openapi import describe_api
from support.hospitals import hospital_in
from support.serving import Served, served

PEOPLE: dict[str, Role] = {"ana": "analyst", "olga": "officer", "otto": "owner"}
MANY = RequestLimits(failed_sign_ins_per_minute=1e9, requests_per_second=1e9)
CHECKS = {
    "positive_data_acceptance": {
        # a question may be refused for what it asks, never for how it was sent
        "expected-statuses": ["2xx", "401", "402", "403", "404", "409", "422"]
    },
}

_COLUMNS = st.sampled_from(["*", "age", "income", "sex", "district", "person_id", "cost", "x"])
_FUNCTIONS = st.sampled_from(["COUNT", "SUM", "AVG", "MEDIAN", "MAX", "STDDEV", "MODE", "NONE"])
_TABLES = st.sampled_from(["people", "visits", "people JOIN visits USING (person_id)", "none", '"'])
_WHERE = st.sampled_from(["", "WHERE age > 30", "WHERE sex = ?", "WHERE age > $a", "WHERE (", ";"])
_GROUPED = st.sampled_from(["", "GROUP BY sex", "GROUP BY 1", "GROUP BY ROLLUP (sex)", "LIMIT 1"])
_PLAUSIBLE = st.builds(
    "SELECT {}({}) FROM {} {} {}".format, _FUNCTIONS, _COLUMNS, _TABLES, _WHERE, _GROUPED
)
schemathesis.openapi.format("sql", _PLAUSIBLE | st.text(max_size=60))


def described(*, every_end: bool) -> Any:
    """Return the interface; with every end of every range asked for, or only what is drawn."""
    config = {"checks": CHECKS, "phases": {"coverage": {"enabled": every_end}}}
    return schemathesis.openapi.from_dict(
        describe_api("0"), config=schemathesis.Config.from_dict(config)
    )


@contextmanager
def described_town(folder: Path) -> Iterator[Served]:
    """Hold a server that everybody may ask all day long; in the end nothing has failed in it."""
    with served([hospital_in(folder)], ServerSettings(port=0, limits=MANY)) as town:
        for name, role in PEOPLE.items():
            town.token(name, role)
        yield town
        session = town.datasets[0].session
        assert session.ledger.failures.count() == 0
        assert not [event for event in town.events() if event["event"] == "fault"]


def ask(case: Any, town: Served, who: str) -> None:
    """Send a request as somebody; what is answered is as described."""
    headers = {"Authorization": f"Bearer {town.tokens[who]}"}
    case.call_and_validate(base_url=town.url, headers=headers)


def bounded(examples: int, *, seeded: bool = False) -> Any:
    """Return how many requests are drawn for an operation, the same each time or not."""
    return settings(
        max_examples=examples,
        derandomize=seeded,
        database=None,
        deadline=None,
        suppress_health_check=[*HealthCheck],
    )
