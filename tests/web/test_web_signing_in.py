"""Signing in at a browser: a token once, a cookie after that, which is worth what the token is."""

from __future__ import annotations

import ssl
import time
from datetime import timedelta
from pathlib import Path

import pytest
import trustme

from sanql.demo import make_hospital
from sanql.server import RequestLimits, ServerSettings
from sanql.server.settings import SignOnProvider, TrustedProxy
from support.browsing import Browser, browser, words
from support.hostile_town import write_town
from support.identity_provider import provided, rsa_key
from support.serving import Served, served

pytestmark = pytest.mark.usefixtures("in_this_process")

PAGES = ["ask", "history", "schema", "ledger", "policy", "people", "budgets", "meaning"]


@pytest.mark.parametrize("page", PAGES)
def test_whoever_is_not_signed_in_is_sent_to_sign_in(hospital: Served, page: str) -> None:
    with Browser(hospital.url) as nobody:
        reply = nobody.get(f"/{page}")
        assert (reply.status_code, reply.headers["location"]) == (303, f"/sign-in?next={page}")


def test_a_cookie_is_no_scripts_and_no_other_sites(hospital: Served) -> None:
    with Browser(hospital.url) as ana:
        reply = ana.sign_in(hospital.token("ana"))
        name, *flags = reply.headers["set-cookie"].split("; ")
        assert name.startswith("sanql=") and len(name) == len("sanql=") + 64
        assert {flag.lower() for flag in flags} == {"httponly", "path=/", "samesite=strict"}


def test_over_tls_a_cookie_is_bound_to_the_host(tmp_path: Path, policy: Path) -> None:
    authority = trustme.CA()
    issued = authority.issue_cert("localhost", "127.0.0.1")
    issued.cert_chain_pems[0].write_to_path(str(tmp_path / "cert.pem"))
    issued.private_key_pem.write_to_path(str(tmp_path / "key.pem"))
    trusted = ssl.create_default_context()
    authority.configure_trust(trusted)
    settings = ServerSettings(port=0, certificate=tmp_path / "cert.pem", key=tmp_path / "key.pem")
    with (
        served([policy], settings) as town,
        Browser(town.url, verify=trusted) as ana,
    ):
        said = ana.sign_in(town.token("ana")).headers["set-cookie"]
        assert said.startswith("__Host-sanql=") and "Secure" in said and "Domain" not in said
        assert ana.get("/ask").status_code == 200


def test_behind_a_proxy_that_encrypts_a_cookie_is_bound_too(policy: Path) -> None:
    settings = ServerSettings(port=0, hosts=("san.example.org",))
    with served([policy], settings) as town, Browser(town.url) as nobody:
        reply = nobody.get("/sign-in", headers={"host": "san.example.org"})
        assert reply.headers["set-cookie"].startswith("__Host-sanql=")
        assert "Secure" in reply.headers["set-cookie"]


def test_signing_in_gives_a_new_cookie_so_that_nobody_can_have_set_it(hospital: Served) -> None:
    with Browser(hospital.url) as ana:
        ana.get("/sign-in")
        before = ana.cookie
        ana.sign_in(hospital.token("ana"))
        assert ana.cookie != before
    with Browser(hospital.url, cookies={"sanql": before}) as thief:
        assert thief.get("/ask").status_code == 303


def test_a_token_that_is_wrong_is_told_in_one_way_and_not_shown_again(hospital: Served) -> None:
    good = hospital.token("ana")
    said = set()
    for wrong in ["", "guess", good[:-1] + ("a" if good[-1] != "a" else "b"), "a.b.c"]:
        with Browser(hospital.url) as nobody:
            reply = nobody.sign_in(wrong)
            assert reply.status_code == 401 and (not wrong or wrong not in reply.text)
            said.add(words(reply))
    assert len(said) == 1


def test_wrong_tokens_are_rationed_as_at_other_doors(policy: Path) -> None:
    settings = ServerSettings(port=0, limits=RequestLimits(failed_sign_ins_per_minute=2))
    with served([policy], settings) as town, Browser(town.url) as nobody:
        told = [nobody.sign_in(f"guess {number}").status_code for number in range(4)]
        assert told == [401, 401, 429, 429]


def test_a_session_ends_when_its_token_is_rotated(policy: Path) -> None:
    with served([policy]) as town, browser(town) as ana:
        assert ana.get("/ask").status_code == 200
        town.datasets[0].people.rotate("ana")
        assert ana.get("/ask").status_code == 303


def test_a_session_ends_when_its_person_is_revoked(policy: Path) -> None:
    with served([policy]) as town, browser(town) as ana:
        town.datasets[0].people.revoke("ana")
        assert ana.get("/ask").status_code == 303
        town.datasets[0].people.add("ana", "analyst")
        assert ana.get("/ask").status_code == 303


def test_a_session_ends_when_its_token_expires(policy: Path) -> None:
    with served([policy]) as town:
        people = town.datasets[0].people
        _, town.tokens["ana"] = people.add("ana", "analyst", lasting=timedelta(hours=1))
        with browser(town) as ana:
            assert ana.get("/ask").status_code == 200
            people._clock, before = lambda: before() + timedelta(hours=2), people._clock
            assert ana.get("/ask").status_code == 303


def test_signing_out_ends_the_session_on_the_server(hospital: Served) -> None:
    with browser(hospital) as ana:
        cookie = ana.cookie
        assert ana.send("/sign-out").url.path == "/sign-in"
        assert ana.get("/ask").status_code == 303
    with Browser(hospital.url, cookies={"sanql": cookie}) as thief:
        assert thief.get("/ask").status_code == 303


FORMS = ["/sign-out", "/ask", "/ask/price", "/dataset", "/policy", "/people", "/questions/x/cancel"]


@pytest.mark.parametrize("address", FORMS)
def test_a_form_without_its_token_or_with_anothers_does_nothing(
    hospital: Served, address: str
) -> None:
    fields = {"sql": "SELECT COUNT(*) FROM people", "epsilon": "0.1", "action": "run"}
    with browser(hospital, "otto", "owner") as otto, browser(hospital) as ana:
        for wrong in ({}, {"form_token": ""}, {"form_token": ana.form_token}, {"form_token": "ä"}):
            reply = otto.post(address, **fields, **wrong)
            assert reply.status_code == 403 and "form_foreign" in reply.text
        assert otto.get("/people").status_code == 200


def test_signing_in_needs_the_forms_token_too(hospital: Served) -> None:
    with Browser(hospital.url) as nobody:
        assert nobody.post("/sign-in", token=hospital.token("ana")).status_code == 403
        nobody.get("/sign-in")
        reply = nobody.post("/sign-in", token=hospital.token("ana"), form_token="0" * 64)
        assert reply.status_code == 403


@pytest.mark.parametrize(
    "header",
    [{"origin": "https://evil.example"}, {"origin": "null"}, {"sec-fetch-site": "cross-site"}],
)
def test_a_page_of_another_site_sends_no_form(hospital: Served, header: dict[str, str]) -> None:
    with browser(hospital) as ana:
        data = {
            "form_token": ana.form_token,
            "sql": "SELECT COUNT(*) FROM people",
            "epsilon": "0.1",
        }
        assert ana.client.post("/ask", data=data, headers=header).status_code == 403


ELSEWHERE = [
    "https://evil.example",
    "//evil.example",
    "/\\evil.example",
    "javascript:alert(1)",
    "ask\r\nset-cookie: a=b",
    "ask%0d%0aset-cookie:a=b",
    "../ledger",
    "people",
    "",
]


@pytest.mark.parametrize("wanted", ELSEWHERE)
def test_signing_in_leads_to_a_page_of_the_role_wherever_it_is_asked_to(
    hospital: Served, wanted: str
) -> None:
    with Browser(hospital.url) as ana:
        reply = ana.sign_in(hospital.token("ana"), next=wanted)
        assert (reply.status_code, reply.headers["location"]) == (303, "/ask")
        assert len(reply.headers.get_list("set-cookie")) == 1
        again = ana.client.get("/sign-in", params={"next": wanted})
        assert again.headers["location"] == "/ask"


def test_signing_in_leads_back_to_the_page_that_was_wanted(hospital: Served) -> None:
    with Browser(hospital.url) as ana:
        reply = ana.sign_in(hospital.token("ana"), next="history")
        assert reply.headers["location"] == "/history"


@pytest.mark.slow
def test_of_several_datasets_one_is_chosen_and_changed(tmp_path: Path) -> None:
    policies = [make_hospital(tmp_path / "hospital"), write_town(tmp_path / "town")]
    with served(policies) as both, Browser(both.url) as bo:
        reply = bo.sign_in(both.token("bo"), dataset="nowhere")
        assert reply.status_code == 404 and 'value="nowhere"' in reply.text
        assert bo.sign_in(both.token("bo"), dataset="town").status_code == 303
        assert "Ask town" in words(bo.get("/ask"))
        assert "Ask hospital" in words(bo.send("/dataset", dataset="hospital"))
        assert bo.send("/dataset", dataset="<b>").status_code == 404


def test_a_session_outlives_a_policy_that_is_read_again(policy: Path) -> None:
    with served([policy]) as town, browser(town) as ana:
        policy.write_text(policy.read_text() + "\n# once more\n")
        assert "loaded" in town.server.service.datasets.reload().values()
        assert ana.get("/ask").status_code == 200


def test_behind_a_proxy_a_session_is_of_whom_it_says_as_long_as_it_says_so(policy: Path) -> None:
    settings = ServerSettings(port=0, proxy=TrustedProxy(("127.0.0.1",), "x-remote-user"))
    with served([policy], settings) as town, Browser(town.url) as somebody:
        people = town.datasets[0].people
        people.add("ana", "analyst", identity="ana@example.org")
        people.add("otto", "owner", identity="otto@example.org")
        somebody.client.headers["x-remote-user"] = "ana@example.org"
        shown = somebody.get("/sign-in")
        assert "You come as ana@example.org" in words(shown) and 'name="token"' not in shown.text
        assert somebody.sign_in("").headers["location"] == "/ask"
        assert "ana analyst" in words(somebody.get("/ask"))
        somebody.client.headers["x-remote-user"] = "otto@example.org"
        assert somebody.get("/ask").status_code == 303
        del somebody.client.headers["x-remote-user"]
        assert somebody.get("/ask").status_code == 303


def test_a_session_of_a_proxy_is_nobodys_without_it(policy: Path) -> None:
    settings = ServerSettings(port=0, proxy=TrustedProxy(("127.0.0.1",), "x-remote-user"))
    with served([policy], settings) as town, Browser(town.url) as somebody:
        town.datasets[0].people.add("ana", "analyst", identity="ana@example.org")
        somebody.client.headers["x-remote-user"] = "ana@example.org"
        somebody.sign_in("")
        assert somebody.get("/ask").status_code == 200
        del somebody.client.headers["x-remote-user"]
        assert somebody.get("/ask").status_code == 303


def test_a_session_from_a_providers_token_ends_with_it(policy: Path) -> None:
    key = rsa_key("rsa")
    with provided(key) as provider:
        settings = ServerSettings(port=0, sign_on=SignOnProvider(provider.url, "san"))
        with served([policy], settings) as town, Browser(town.url) as ana:
            people = town.datasets[0].people
            people.add("ana", "analyst", identity="ana@example.org")
            for wrong in ({"aud": "other"}, {"exp": 1}, {"email": "bo@example.org"}):
                assert ana.sign_in(provider.token(key, **wrong)).status_code == 401
            sessions = town.server.service.web_sessions
            ends = int(time.time()) + 600
            assert ana.sign_in(provider.token(key, exp=ends)).headers["location"] == "/ask"
            sessions._calendar = lambda: ends - 1.0
            assert ana.get("/ask").status_code == 200
            sessions._calendar = lambda: float(ends)
            assert ana.get("/ask").status_code == 303
            sessions._calendar = time.time
            assert ana.get("/ask").status_code == 303


def test_a_session_from_a_providers_token_ends_when_its_person_is_revoked(policy: Path) -> None:
    key = rsa_key("rsa")
    with provided(key) as provider:
        settings = ServerSettings(port=0, sign_on=SignOnProvider(provider.url, "san"))
        with served([policy], settings) as town, Browser(town.url) as ana:
            town.datasets[0].people.add("ana", "analyst", identity="ana@example.org")
            assert ana.sign_in(provider.token(key)).status_code == 303
            assert ana.get("/ask").status_code == 200
            town.datasets[0].people.revoke("ana")
            assert ana.get("/ask").status_code == 303


def test_a_cookie_is_no_credential_of_the_interface(hospital: Served) -> None:
    with browser(hospital) as ana:
        assert ana.client.get("/v1/budget").status_code == 401
        body = {"sql": "SELECT COUNT(*) FROM people", "epsilon": 0.1}
        assert ana.client.post("/v1/query", json=body).status_code == 401
