"""The whole interface as it is described, asked by Schemathesis in every role.

Whatever fits the description is taken or refused for what it says, whatever does not is refused; no
answer is a fault of the server, and each has the status, type and shape that are described.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from sanql.account import Role
from sanql.server import RequestLimits, ServerSettings
from sanql.server.http.openapi import describe_api
from support.hospitals import hospital_in
from support.serving import Served, served

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("in_this_process")]

PEOPLE: dict[str, Role] = {"ana": "analyst", "olga": "officer", "otto": "owner"}
MANY = RequestLimits(failed_sign_ins_per_minute=1e9, requests_per_second=1e9)
CHECKS = {
    "positive_data_acceptance": {
        # a question may be refused for what it asks, never for how it was sent
        "expected-statuses": ["2xx", "401", "402", "403", "404", "409", "422"]
    },
}
CONFIG = schemathesis.Config.from_dict({"checks": CHECKS})
API = schemathesis.openapi.from_dict(describe_api("0"), config=CONFIG)

_COLUMNS = st.sampled_from(["*", "age", "income", "sex", "district", "person_id", "cost", "x"])
_FUNCTIONS = st.sampled_from(["COUNT", "SUM", "AVG", "MEDIAN", "MAX", "STDDEV", "MODE", "NONE"])
_TABLES = st.sampled_from(["people", "visits", "people JOIN visits USING (person_id)", "none", '"'])
_WHERE = st.sampled_from(["", "WHERE age > 30", "WHERE sex = ?", "WHERE age > $a", "WHERE (", ";"])
_GROUPED = st.sampled_from(["", "GROUP BY sex", "GROUP BY 1", "GROUP BY ROLLUP (sex)", "LIMIT 1"])
_PLAUSIBLE = st.builds(
    "SELECT {}({}) FROM {} {} {}".format, _FUNCTIONS, _COLUMNS, _TABLES, _WHERE, _GROUPED
)
schemathesis.openapi.format("sql", _PLAUSIBLE | st.text(max_size=60))


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    policy = hospital_in(tmp_path_factory.mktemp("described"))
    with served([policy], ServerSettings(port=0, limits=MANY)) as town:
        for name, role in PEOPLE.items():
            town.token(name, role)
        yield town
        session = town.datasets[0].session
        assert session.ledger.failures.count() == 0
        assert not [event for event in town.events() if event["event"] == "fault"]


def ask(case: Any, town: Served, who: str) -> None:
    headers = {"Authorization": f"Bearer {town.tokens[who]}"}
    case.call_and_validate(base_url=town.url, headers=headers)


def bounded(examples: int, *, seeded: bool = False) -> Any:
    return settings(
        max_examples=examples,
        derandomize=seeded,
        database=None,
        deadline=None,
        suppress_health_check=[*HealthCheck],
    )


@API.parametrize()
@bounded(4, seeded=True)
def test_every_answer_to_an_analyst_is_as_described(case: Any, town: Served) -> None:
    ask(case, town, "ana")


@pytest.mark.parametrize("who", ["olga", "otto"])
@API.include(
    path_regex="^/(metrics|v1/(budget|profile|ledger|verify|refresh|reload))"
).parametrize()
@bounded(4, seeded=True)
def test_every_answer_to_others_is_as_described(case: Any, town: Served, who: str) -> None:
    ask(case, town, who)


@pytest.mark.soak
@pytest.mark.parametrize("who", PEOPLE)
@API.parametrize()
@bounded(200)
def test_every_answer_is_as_described_by_the_hundred(case: Any, town: Served, who: str) -> None:
    ask(case, town, who)


def test_the_description_that_is_served_is_the_one_that_is_tried(hospital: Served) -> None:
    with hospital.client() as ana:
        served_there = ana.get("/openapi.json").json()
    assert served_there == describe_api("0")
    routes = hospital.server._uvicorn.config.app._router.routes  # type: ignore
    own = [each for each in routes if not each.endpoint.__module__.startswith("sanql.server.web.")]
    assert set(served_there["paths"]) == {route.path for route in own}
