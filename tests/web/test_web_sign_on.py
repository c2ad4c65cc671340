"""Signing in by way of a provider: one's own wish alone comes back, and a session ends with its token."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from sanql.errors import ServerError
from sanql.server import RequestLimits, ServerSettings
from sanql.server.settings import SignOnProvider
from support.browsing import Browser, words
from support.hospitals import hospital_in
from support.identity_provider import Provider, provided, rsa_key
from support.serving import Served, served

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("in_this_process")]

KEY = rsa_key("rsa")
BACK = "http://127.0.0.1/signed-on"


@dataclass(frozen=True)
class Town:
    server: Served
    provider: Provider

    def browser(self) -> Browser:
        return Browser(self.server.url)

    def sent_to(self, somebody: Browser, wanted: str = "") -> str:
        """Return the address that a browser is sent to."""
        reply = somebody.client.get("/sign-on", params={"next": wanted})
        assert reply.status_code == 303, reply.text
        return reply.headers["location"]

    def back(self, address: str, **changed: object) -> str:
        """Return what somebody comes back with who signs on there."""
        return self.provider.signed_on(address, KEY, **changed).removeprefix("http://127.0.0.1")


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Town]:
    policy = hospital_in(tmp_path_factory.mktemp("hospital"))
    limits = RequestLimits(failed_sign_ins_per_minute=10_000)
    with provided(KEY) as provider:
        sign_on = SignOnProvider(provider.url, "san", redirect=BACK)
        with served([policy], ServerSettings(port=0, sign_on=sign_on, limits=limits)) as server:
            server.datasets[0].people.add("ana", "analyst", identity="ana@example.org")
            yield Town(server, provider)


def check_denied(reply: httpx.Response) -> str:
    """Check that nobody was let in; return what they were told."""
    assert reply.status_code == 401 and "set-cookie" not in reply.headers
    return words(reply)


def test_whoever_signs_on_there_is_signed_in_here_until_the_token_ends(town: Town) -> None:
    with town.browser() as ana:
        assert f"Sign in with {town.provider.url.removeprefix('http://')}" in words(
            ana.get("/sign-in?next=history")
        )
        ends = int(time.time()) + 600
        reply = ana.get(town.back(town.sent_to(ana, "history"), exp=ends))
        assert reply.status_code == 200 and "You are signed in" in words(reply)
        assert 'http-equiv="refresh" content="0; url=/history"' in reply.text
        assert ana.get("/history").status_code == 200
        assert ana.client.get("/sign-on").headers["location"] == "/ask"
        sessions = town.server.server.service.web_sessions
        sessions._calendar = lambda: float(ends)
        try:
            assert ana.get("/history").status_code == 303
        finally:
            sessions._calendar = time.time


def test_cookies_are_no_scripts_and_only_the_wishes_comes_from_elsewhere(town: Town) -> None:
    with town.browser() as ana:
        begun = ana.client.get("/sign-on").headers
        wish = begun["set-cookie"].lower()
        assert re.match(r"sanql-sign-on=[0-9a-f]{64}; ", wish) and "max-age=600" in wish
        assert "httponly" in wish and "samesite=lax" in wish
        reply = ana.client.get(town.back(begun["location"]))
        session, dropped = (each.lower() for each in reply.headers.get_list("set-cookie"))
        assert session.startswith("sanql=") and "samesite=strict" in session
        assert (
            "httponly" in session
            and dropped.startswith("sanql-sign-on=")
            and "max-age=0" in dropped
        )


def test_a_wish_of_another_browser_is_not_taken(town: Town) -> None:
    with town.browser() as thief, town.browser() as ana:
        stolen = town.back(town.sent_to(thief))
        without = check_denied(ana.client.get(stolen))
        town.sent_to(ana)
        assert check_denied(ana.client.get(stolen)) == without
        assert ana.get("/ask").status_code == 303
        assert thief.client.get(stolen).status_code == 200  # nor was it used up by that


def test_a_code_is_good_once_and_only_as_it_was_asked_for(town: Town) -> None:
    with town.browser() as ana:
        address = town.sent_to(ana)
        good = town.back(address)
        asked = len(town.provider.asked)
        for wrong in (
            good.replace("state=", "state=people"),
            good + "&state=x",
            good + "&code=x",
            good + "&iss=https://evil.example",
            good.partition("&")[0],
            re.sub("code=[^&]*", "code=", good),
            re.sub("code=[^&]*", "code=" + "x" * 3_000, good),
            re.sub("code=[^&]*&", "error=access_denied&", good),
            "/signed-on",
        ):
            told = check_denied(ana.client.get(wrong))
        assert len(town.provider.asked) == asked, "the provider is asked nothing for those"
        assert check_denied(ana.client.get(re.sub("code=[^&]*", "code=guessed", good))) == told
        assert "guessed" not in told
        assert ana.client.get(good + f"&iss={town.provider.issuer}").status_code == 200
    with town.browser() as ana:
        good = town.back(town.sent_to(ana))
        cookie = ana.client.cookies["sanql-sign-on"]
        assert ana.client.get(good).status_code == 200
        ana.client.cookies.clear()
        ana.client.cookies["sanql-sign-on"] = cookie
        check_denied(ana.client.get(good))


@pytest.mark.parametrize(
    "changed",
    [
        {"nonce": "another"},
        {"nonce": None},
        {"aud": "another"},
        {"iss": "https://evil.example"},
        {"exp": 1_000_000_000},
        {"email": "nobody@example.org"},
        {"email_verified": False},
    ],
    ids=str,
)
def test_a_token_that_was_not_made_for_the_wish_opens_nothing(
    town: Town, changed: dict[str, object]
) -> None:
    with town.browser() as ana:
        check_denied(ana.client.get(town.back(town.sent_to(ana), **changed)))
        assert ana.get("/ask").status_code == 303


@pytest.mark.parametrize("wanted", ["https://evil.example", "//evil.example", "people", "a.b", ""])
def test_it_leads_to_a_page_of_the_role_wherever_it_is_asked_to(town: Town, wanted: str) -> None:
    with town.browser() as ana:
        reply = ana.get(town.back(town.sent_to(ana, wanted)))
        assert 'content="0; url=/ask"' in reply.text and "evil" not in reply.text


def test_no_page_of_another_site_has_a_browser_sent_there(town: Town) -> None:
    with town.browser() as ana:
        reply = ana.client.get("/sign-on", headers={"sec-fetch-site": "cross-site"})
        assert reply.headers["location"] == "/sign-in" and "set-cookie" not in reply.headers


def test_failures_are_rationed_before_the_provider_is_asked(tmp_path: Path) -> None:
    policy = hospital_in(tmp_path / "hospital")
    limits = RequestLimits(failed_sign_ins_per_minute=2)
    with provided(KEY) as provider:
        sign_on = SignOnProvider(provider.url, "san", redirect=BACK)
        settings = ServerSettings(port=0, sign_on=sign_on, limits=limits)
        with served([policy], settings) as server, Browser(server.url) as nobody:
            town, told = Town(server, provider), []
            for _ in range(4):
                back = town.back(town.sent_to(nobody), nonce="another")
                told.append(nobody.client.get(back).status_code)
            assert told == [401, 401, 429, 429] and provider.asked.count("/token") == 2


def test_a_provider_that_is_away_is_told_and_where_there_is_none_there_is_no_way(
    tmp_path: Path,
) -> None:
    policy = hospital_in(tmp_path / "hospital")
    with provided(KEY) as provider:
        provider.broken = True
        sign_on = SignOnProvider(provider.url, "san", redirect=BACK)
        with (
            served([policy], ServerSettings(port=0, sign_on=sign_on)) as server,
            Browser(server.url) as ana,
        ):
            for _ in range(3):
                assert "provider_unreachable" in words(ana.get("/sign-on"))
            assert len(provider.asked) == 1
        plain = ServerSettings(port=0, sign_on=SignOnProvider(provider.url, "san"))
        with served([policy], plain) as server, Browser(server.url) as ana:
            assert 'href="/sign-on' not in ana.get("/sign-in").text
            for address in ("/sign-on", "/signed-on?code=a&state=b"):
                assert ana.get(address).status_code == 404


@pytest.mark.parametrize("way", ["", "client_secret_basic", "client_secret_post"])
def test_a_provider_that_wants_a_secret_is_shown_it_in_its_own_way(
    tmp_path: Path, way: str
) -> None:
    policy = hospital_in(tmp_path / "hospital")
    secret = "a b:c+d/é%"
    with provided(KEY) as provider:
        provider.client_secret, provider.secret_is_sent = secret, way
        for shown, status in ((secret, 200), ("another", 401), ("", 401)):
            sign_on = SignOnProvider(provider.url, "san", redirect=BACK, client_secret=shown)
            assert secret not in repr(sign_on)
            with (
                served([policy], ServerSettings(port=0, sign_on=sign_on)) as server,
                Browser(server.url) as ana,
            ):
                if not any(person.name == "ana" for person in server.datasets[0].people.listed()):
                    server.datasets[0].people.add("ana", "analyst", identity="ana@example.org")
                town = Town(server, provider)
                reply = ana.client.get(town.back(town.sent_to(ana)))
                assert reply.status_code == status, reply.text


@pytest.mark.parametrize(
    "redirect",
    [
        "http://san.example.org/signed-on",
        "https://san.example.org/",
        "https://san.example.org/signed-on?next=ask",
        "https://san.example.org@evil.example/signed-on",
        "https://san.example.org/signed-on#a",
        "/signed-on",
    ],
)
def test_the_way_back_is_one_address_of_this_server(redirect: str) -> None:
    with pytest.raises(ServerError, match=r"sign_on\.redirect"):
        SignOnProvider("https://login.example.org", "san", redirect=redirect)
