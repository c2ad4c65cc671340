"""The whole interface as it is described, asked by Schemathesis in every role.

Whatever fits the description is taken or refused for what it says, whatever does not is refused; no
answer is a fault of the server, and each has the status, type and shape that are described. A few
requests are drawn for each operation; `test_api_by_the_hundred.py` has every end of every range.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from sanql.server.http.openapi import describe_api
from server.described import ask, bounded, described, described_town
from support.serving import Served

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("in_this_process")]

API = described(every_end=False)


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with described_town(tmp_path_factory.mktemp("described")) as town:
        yield town


@API.parametrize()
@bounded(8, seeded=True)
def test_every_answer_to_an_analyst_is_as_described(case: Any, town: Served) -> None:
    ask(case, town, "ana")


@pytest.mark.parametrize("who", ["olga", "otto"])
@API.include(
    path_regex="^/(metrics|v1/(budget|profile|ledger|verify|refresh|reload))"
).parametrize()
@bounded(8, seeded=True)
def test_every_answer_to_others_is_as_described(case: Any, town: Served, who: str) -> None:
    ask(case, town, who)


def test_the_description_that_is_served_is_the_one_that_is_tried(hospital: Served) -> None:
    with hospital.client() as ana:
        served_there = ana.get("/openapi.json").json()
    assert served_there == describe_api("0")
    routes = hospital.server._uvicorn.config.app._router.routes  # type: ignore
    own = [each for each in routes if not each.endpoint.__module__.startswith("sanql.server.web.")]
    assert set(served_there["paths"]) == {route.path for route in own}
