"""Who was admitted a moment ago is admitted again; whoever is changed here is looked at anew at once."""

from __future__ import annotations

import time

import pytest

from sanql.account import People, open_store
from sanql.server.signing_in import RECENT_SECONDS
from support.serving import Served

pytestmark = pytest.mark.usefixtures("in_this_process")


def test_whoever_is_revoked_by_this_server_is_refused_by_the_next_request(hospital: Served) -> None:
    with hospital.client("bo") as bo:
        for _ in range(5):
            assert bo.get("/v1/datasets").status_code == 200
            hospital.datasets[0].people.revoke("bo")
            assert bo.get("/v1/datasets").status_code == 401
            hospital.tokens.pop("bo")
            bo.headers["authorization"] = f"Bearer {hospital.token('bo')}"


def test_whoever_is_revoked_elsewhere_is_refused_a_moment_later(hospital: Served) -> None:
    elsewhere = People(open_store(hospital.datasets[0].policy))
    with hospital.client() as ana:
        assert ana.get("/v1/datasets").status_code == 200
        elsewhere.revoke("ana")
        time.sleep(RECENT_SECONDS)
        assert ana.get("/v1/datasets").status_code == 401
    elsewhere.close()
