"""Who was admitted a moment ago is admitted again; whoever is changed here is looked at anew at once."""

from __future__ import annotations

import time
from datetime import timedelta

import pytest

from sanql.account import People, open_store
from sanql.errors import AccessDenied
from sanql.server.signing_in import RECENT_SECONDS, Credential
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


def test_whoever_was_seen_before_is_known_at_hand_until_that_has_ended(hospital: Served) -> None:
    signing_in = hospital.server.service.signing_in
    elsewhere = People(open_store(hospital.datasets[0].policy))
    _, token = elsewhere.add("cy", "analyst", lasting=timedelta(seconds=3))
    credential = Credential(token, "", "127.0.0.1")
    assert signing_in.caller_at_hand(credential) is None  # nobody has compared the token yet
    began = time.monotonic()
    for _ in range(2):  # the first time their use is written down, which changes people
        signing_in.caller(credential)
    time.sleep(RECENT_SECONDS)
    known = signing_in.caller_at_hand(credential)
    assert known is not None and known.name == "cy" and time.monotonic() - began < 3
    time.sleep(3)
    assert signing_in.caller_at_hand(credential) is None
    with pytest.raises(AccessDenied):
        signing_in.caller(credential)
    elsewhere.close()


def test_nobody_is_known_at_hand_while_people_are_written(hospital: Served) -> None:
    signing_in, people = hospital.server.service.signing_in, hospital.datasets[0].people
    credential = Credential(hospital.token("dee"), "", "127.0.0.1")
    for _ in range(2):
        signing_in.caller(credential)
    time.sleep(RECENT_SECONDS)
    with people._mutex:
        assert signing_in.caller_at_hand(credential) is None  # and it does not wait
    assert signing_in.caller_at_hand(credential) is not None
