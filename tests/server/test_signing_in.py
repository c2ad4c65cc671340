"""Credentials: whatever is wrong with one, the answer is the same, byte for byte, at every route."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from sanql.account.people.tokens import make_token
from sanql.errors import AccessDenied, SanqlError
from sanql.server import RequestLimits, ServerSettings
from sanql.server.datasets import Datasets
from sanql.server.settings import TrustedProxy
from sanql.server.signing_in import Credential, SigningIn
from support.hospitals import hospital_in
from support.raw_http import raw_connection, raw_request
from support.serving import Served, served

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("in_this_process")]

HEADER = "x-remote-user"
ROUTES = [
    "GET /v1/datasets",
    "GET /v1/schema",
    "GET /v1/budget",
    "GET /v1/ledger",
    "GET /v1/ledger?after=x&limit=-1",
    "GET /v1/verify?dataset=none",
    "GET /v1/history?limit=x",
    "GET /v1/history/1",
    "GET /v1/certificate/1?none=1",
    "GET /v1/questions/0",
    "DELETE /v1/questions/0",
    "GET /metrics",
    "POST /v1/query",
    "POST /v1/explain",
    "POST /v1/suggest",
    "POST /v1/questions",
    "POST /v1/refresh",
    "POST /v1/ledger/erase",
    "POST /v1/reload",
]


MANY = RequestLimits(failed_sign_ins_per_minute=100_000)


@pytest.fixture(scope="module")
def patient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server on which failures are not rationed, with one person of each kind; a proxy is elsewhere."""
    settings = ServerSettings(port=0, limits=MANY, proxy=TrustedProxy(("10.0.0.0/8",), HEADER))
    with served([hospital_in(tmp_path_factory.mktemp("patient"))], settings) as town:
        people = town.datasets[0].people
        town.token("ana")
        _, town.tokens["expired"] = people.add("eve", "analyst", lasting=timedelta(seconds=-1))
        town.token("revoked")
        people.revoke("revoked")
        town.token("rotated")
        people.rotate("rotated")
        people.add("sid", "analyst", identity="sid@example.org")
        yield town


def said(town: Served, line: str, *headers: str, body: bytes | None = None) -> bytes:
    """Return all bytes of a reply, less its number and its date."""
    method, target = line.split(" ")
    with raw_connection(town.url) as raw:
        raw.send(raw_request(target, *headers, "Connection: close", method=method, body=body))
        data = raw._incoming.read()
    lines = data.split(b"\r\n")
    varying = (b"date: ", b"x-request-id: ")
    return b"\r\n".join(each for each in lines if not each.startswith(varying))


def wrong(town: Served) -> dict[str, str]:
    """Return credentials of all kinds that are none, by what is wrong with them."""
    token = town.token("ana")
    basic = base64.b64encode(f"ana:{token}".encode()).decode()
    return {
        "nobody's": f"Bearer {make_token()}",
        "a known name with another secret": f"Bearer {token[:18]}{make_token()[18:]}",
        "another's secret with a known name": f"Bearer {make_token()[:18]}{token[18:]}",
        "expired": f"Bearer {town.tokens['expired']}",
        "revoked": f"Bearer {town.tokens['revoked']}",
        "rotated": f"Bearer {town.tokens['rotated']}",
        "empty": "Bearer ",
        "nothing": "",
        "no scheme": token,
        "another scheme": f"Basic {basic}",
        "a token as a scheme": f"{token} Bearer",
        "in capitals": f"Bearer {token.upper()}",
        "one letter less": f"Bearer {token[:-1]}",
        "one letter more": f"Bearer {token}a",
        "two": f"Bearer {token} {token}",
        "quoted": f'Bearer "{token}"',
        "a name alone": f"Bearer {token[:16]}",
        "not ASCII": f"Bearer {token[:-1]}é",
        "bytes": "Bearer \xff\xfe\x80",
        "huge": "Bearer " + "a" * 12_000,
        "huge with dots": "Bearer " + "a." * 6_000,
        "a token of another kind": "Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJhbmEifQ.",
        "SQL": "Bearer ' OR 1=1 --",
        "a name": "Bearer ana",
    }


def test_whatever_is_wrong_with_a_credential_the_answer_is_the_same(patient: Served) -> None:
    missing = said(patient, "GET /v1/datasets")
    assert missing.startswith(b"HTTP/1.1 401 Unauthorized\r\n")
    assert b'"code": "credential_wrong"' in missing and b"www-authenticate: Bearer" in missing
    for what, header in wrong(patient).items():
        assert said(patient, "GET /v1/datasets", f"Authorization: {header}") == missing, what
    good = said(patient, "GET /v1/datasets", f"authorization: bearer   {patient.token('ana')}")
    assert good.startswith(b"HTTP/1.1 200 OK\r\n")


@pytest.mark.parametrize("route", ROUTES)
def test_nobody_learns_anything_before_they_have_signed_in(patient: Served, route: str) -> None:
    """Whatever is asked for, and however wrongly: it is not looked at."""
    missing = said(patient, "GET /v1/datasets")
    for body in (None, b"{}", b"garbage", b'{"sql": 7}'):
        for media in ("application/json", "text/plain"):
            header = (f"Content-Type: {media}", "Accept: image/png")
            assert said(patient, route, *header, body=body) == missing


def test_a_proxys_word_from_elsewhere_neither_helps_nor_replaces_a_token(patient: Served) -> None:
    header = "X-Remote-User: sid@example.org"
    ways = ("X-Forwarded-For: 10.0.0.1", "X-Real-IP: 10.0.0.1", "Forwarded: for=10.0.0.1")
    missing = said(patient, "GET /v1/datasets")
    assert said(patient, "GET /v1/datasets", header) == missing
    assert said(patient, "GET /v1/datasets", header, *ways) == missing
    for what, credential in wrong(patient).items():
        line = f"Authorization: {credential}"
        assert said(patient, "GET /v1/datasets", header, *ways, line) == missing, what
    good = f"Authorization: Bearer {patient.token('ana')}"
    assert b'"person": "ana"' in said(patient, "GET /v1/datasets", header, *ways, good)


# ---- as San looks at it, with two datasets


@pytest.fixture
def datasets(tmp_path: Path) -> Iterator[Datasets]:
    policies = [hospital_in(tmp_path / name) for name in ("one", "two")]
    text = policies[1].read_text(encoding="utf-8").replace('name = "hospital"', 'name = "clinic"')
    policies[1].write_text(text, encoding="utf-8")
    datasets = Datasets(policies)
    yield datasets
    datasets.close()


def status(signing_in: SigningIn, address: str = "192.0.2.7", **headers: str) -> str:
    """Return who is signed in, or the code of the refusal."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    try:
        return signing_in.caller(signing_in.credential(named, address)).name
    except SanqlError as refused:
        return refused.code


def test_a_token_is_one_datasets_unless_it_was_given_to_others(datasets: Datasets) -> None:
    hospital, clinic = datasets
    _, ana = hospital.people.add("ana", "analyst")
    clinic.people.add("ana", "owner", token=ana)
    _, bo = hospital.people.add("bo", "analyst")
    clinic.people.add("bo", "officer")  # somebody else of the same name
    signing_in = SigningIn(datasets, ServerSettings(port=0))

    def known(token: str) -> dict[str, str]:
        caller = signing_in.caller(Credential(token, "", "192.0.2.7"))
        return {name: person.role for name, (_, person) in caller.known_to.items()}

    assert known(ana) == {"hospital": "analyst", "clinic": "owner"}
    assert known(bo) == {"hospital": "analyst"}
    caller = signing_in.caller(Credential(bo, "", "192.0.2.7"))
    refusals = []
    for name in ("clinic", "nothing"):
        with pytest.raises(AccessDenied) as refused:
            caller.dataset(name)
        refusals.append(str(refused.value).replace(name, "…"))
    assert refusals[0] == refusals[1]


def test_people_of_one_name_in_two_datasets_are_not_counted_as_one(datasets: Datasets) -> None:
    tokens = [dataset.people.add("ana", "analyst")[1] for dataset in datasets]
    signing_in = SigningIn(datasets, ServerSettings(port=0))
    keys = {signing_in.caller(Credential(token, "", "")).key for token in tokens}
    assert keys == {"hospital/ana", "clinic/ana"}


def test_failures_are_rationed_by_address_and_whoever_was_seen_to_be_good_still_passes(
    datasets: Datasets,
) -> None:
    _, clinic = datasets
    early, late = (f"Bearer {clinic.people.add(name, 'analyst')[1]}" for name in ("early", "late"))
    limits = RequestLimits(failed_sign_ins_per_minute=5)
    signing_in = SigningIn(datasets, ServerSettings(port=0, limits=limits))
    assert status(signing_in, authorization=early) == "early"
    failed = [status(signing_in, authorization=f"Bearer {make_token()}") for _ in range(8)]
    assert failed == ["credential_wrong"] * 5 + ["sign_ins_failed"] * 3
    assert status(signing_in, authorization=early) == "early", "only the second dataset knows them"
    assert status(signing_in, authorization=late) == "late", "whose token nobody else can name"
    clinic.people.revoke("early")
    assert status(signing_in, authorization=early) == "sign_ins_failed"


def test_guesses_at_one_token_are_rationed_by_its_name_where_the_address_has_no_more(
    datasets: Datasets,
) -> None:
    _, clinic = datasets
    _, token = clinic.people.add("ana", "analyst")
    limits = RequestLimits(failed_sign_ins_per_minute=3)
    signing_in = SigningIn(datasets, ServerSettings(port=0, limits=limits))
    guessed = token[:-52] + "a" * 52
    failed = [status(signing_in, authorization=f"Bearer {guessed}") for _ in range(6)]
    assert failed == ["credential_wrong"] * 3 + ["sign_ins_failed"] * 3
    assert status(signing_in, authorization=f"Bearer {token}") == "sign_ins_failed"
    assert status(signing_in, "192.0.2.8", authorization=f"Bearer {token}") == "ana"


def test_one_machine_has_one_ration_however_many_addresses_it_has(datasets: Datasets) -> None:
    limits = RequestLimits(failed_sign_ins_per_minute=5)
    signing_in = SigningIn(datasets, ServerSettings(port=0, limits=limits))
    many = [status(signing_in, f"2001:db8::{number:x}") for number in range(1, 9)]
    assert many == ["credential_wrong"] * 5 + ["sign_ins_failed"] * 3
    assert status(signing_in, "2001:db8:0:1::1") == "credential_wrong", "a neighbour is not hurt"
    mapped = [status(signing_in, each) for each in ("::ffff:192.0.2.7", "192.0.2.7") * 3]
    assert mapped[-1] == "sign_ins_failed"


SAID = [
    ("10.0.0.7", "sid@example.org", "sid"),
    ("::ffff:10.0.0.7", "sid@example.org", "sid"),
    ("10.0.1.7", "sid@example.org", "credential_wrong"),
    ("127.0.0.1", "sid@example.org", "credential_wrong"),
    ("", "sid@example.org", "credential_wrong"),
    ("10.0.0.7", "bo@example.org", "credential_wrong"),
    ("10.0.0.7", "ana", "credential_wrong"),  # a name in a dataset is no identity
    ("10.0.0.7", "sid", "credential_wrong"),
    ("10.0.0.7", "SID@example.org", "credential_wrong"),
    ("10.0.0.7", "sid@example.org, sid@example.org", "credential_wrong"),
    ("10.0.0.7", "s\xeed@example.org", "credential_wrong"),
    ("10.0.0.7", "sid@example.org\x00", "credential_wrong"),
    ("10.0.0.7", "\ud800", "credential_wrong"),
    ("10.0.0.7", "a" * 10_000, "credential_wrong"),
    ("10.0.0.7", "", "credential_wrong"),
]


def test_a_proxys_word_is_believed_from_its_address_alone_and_of_whom_is_known(
    datasets: Datasets,
) -> None:
    hospital, _ = datasets
    hospital.people.add("sid", "analyst", identity="sid@example.org")
    hospital.people.add("ana", "analyst")
    proxy = TrustedProxy(("10.0.0.0/24",), HEADER)
    signing_in = SigningIn(datasets, ServerSettings(port=0, proxy=proxy))
    for address, header, expected in SAID:
        found = status(signing_in, address, x_remote_user=header)
        assert found == expected, (address, header)


# ---- a proxy in front, over HTTP


def test_a_header_of_the_client_beside_the_proxys_own_is_refused(tmp_path: Path) -> None:
    settings = ServerSettings(port=0, limits=MANY, proxy=TrustedProxy(("127.0.0.1",), HEADER))
    with served([hospital_in(tmp_path / "hospital")], settings) as town:
        people = town.datasets[0].people
        people.add("sid", "analyst", identity="sid@example.org")
        people.add("otto", "owner", identity="otto@example.org")
        lines = ("X-Remote-User: otto@example.org", "X-Remote-User: sid@example.org")
        assert b'"person": "sid"' in said(town, "GET /v1/datasets", lines[1])
        for order in (lines, lines[::-1]):
            assert b'"code": "header_twice"' in said(town, "GET /v1/datasets", *order)
        chunked = ("Content-Type: application/json", "Transfer-Encoding: chunked")
        data = raw_request("/v1/reload", *chunked, "Connection: close", method="POST")
        with raw_connection(town.url) as raw:
            raw.send(data + b"2\r\n{}\r\n0\r\nX-Remote-User: otto@example.org\r\n\r\n")
            reply = raw.reply()
        assert reply is not None and reply.code == "credential_wrong"
