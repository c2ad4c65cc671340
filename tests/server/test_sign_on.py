"""Sign-on with OpenID Connect, against a real provider: only its own word, for this server, today."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Iterator
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from sanql.server import RequestLimits, ServerSettings
from sanql.server.settings import SignOnProvider
from sanql.server.sign_on import SignOn
from support.hospitals import hospital_in
from support.identity_provider import Provider, SigningKey, ec_key, ed_key, provided, rsa_key
from support.serving import served

pytestmark = pytest.mark.usefixtures("in_this_process")

KEYS = [rsa_key("rsa"), rsa_key("pss", "PS256"), ec_key("ec"), ed_key("ed")]
RSA, OTHER = KEYS[0], rsa_key("rsa")  # another with the same name


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    with provided(*KEYS) as provider:
        yield provider


@pytest.fixture(scope="module")
def sign_on(provider: Provider) -> SignOn:
    return SignOn(SignOnProvider(provider.url, "san"))


@pytest.mark.parametrize("key", KEYS, ids=[key.algorithm for key in KEYS])
def test_a_token_of_the_provider_for_this_server_is_believed(
    provider: Provider, sign_on: SignOn, key: SigningKey
) -> None:
    assert sign_on.identity(provider.token(key)) == "ana@example.org"
    assert sign_on.identity(provider.token(key, aud=["other", "san"])) == "ana@example.org"
    assert sign_on.identity(provider.token(key, email_verified="true")) == "ana@example.org"


def test_a_token_says_when_it_ends_however_far_that_is(provider: Provider, sign_on: SignOn) -> None:
    for ends, said in ((FUTURE, float(FUTURE)), (10**400, 2.0**53)):
        word = sign_on.word(provider.token(RSA, exp=ends, nonce="n"))
        assert word is not None and (word.expires, word.nonce) == (said, "n")
    other = sign_on.word(provider.token(RSA, nonce=["n"]))
    assert other is not None and other.nonce == ""


PAST, FUTURE = 1_000_000_000, 4_000_000_000  # 2001 and 2096


@pytest.mark.parametrize(
    "changed",
    [
        {"iss": "https://evil.example"},
        {"iss": None},
        {"iss": ["a"]},
        {"aud": "another server"},
        {"aud": ["another server"]},
        {"aud": "sanql"},
        {"aud": None},
        {"aud": {"san": 1}},
        {"exp": PAST},
        {"exp": None},
        {"exp": "tomorrow"},
        {"exp": {}},
        {"exp": 1e999},
        {"iat": FUTURE},
        {"iat": None},
        {"iat": "today"},
        {"nbf": FUTURE},
        {"email": None},
        {"email": ["ana@example.org"]},
        {"email": 7},
        {"email_verified": False},
        {"email_verified": None},  # people can type anybody's address into many a provider
        {"email_verified": "false"},
        {"email_verified": "yes"},
    ],
    ids=str,
)
def test_a_token_that_says_something_else_is_not_believed(
    provider: Provider, sign_on: SignOn, changed: dict[str, Any]
) -> None:
    assert sign_on.identity(provider.token(RSA, **changed)) is None


def forged(header: dict[str, Any], claims: object, sign: Any = lambda data: b"") -> str:
    """Return a token made by hand."""
    parts = [_letters(json.dumps(part).encode()) for part in (header, claims)]
    return ".".join([*parts, _letters(sign(".".join(parts).encode()))])


def _letters(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def test_a_token_that_nobody_signed_is_not_believed(provider: Provider, sign_on: SignOn) -> None:
    for algorithm in ("none", "None", "NONE", "", "HS256", "RS256"):
        header = {"alg": algorithm, "kid": "rsa", "typ": "JWT"}
        assert sign_on.identity(forged(header, provider.claims())) is None


def test_a_public_key_is_no_secret_to_sign_with(provider: Provider, sign_on: SignOn) -> None:
    public = RSA.private.public_key()
    for encoding, form in (
        (Encoding.PEM, PublicFormat.SubjectPublicKeyInfo),
        (Encoding.DER, PublicFormat.SubjectPublicKeyInfo),
        (Encoding.PEM, PublicFormat.PKCS1),
    ):
        secret = public.public_bytes(encoding, form)
        for algorithm, name in (("sha256", "HS256"), ("sha512", "HS512")):
            token = forged(
                {"alg": name, "kid": "rsa", "typ": "JWT"},
                provider.claims(),
                lambda data, a=algorithm, s=secret: hmac.new(s, data, getattr(hashlib, a)).digest(),
            )
            assert sign_on.identity(token) is None


def test_a_key_of_somebody_else_is_not_believed(provider: Provider, sign_on: SignOn) -> None:
    assert sign_on.identity(provider.token(OTHER)) is None, "by the name of the provider's"
    for name in ("other", "", "../keys", "ec"):
        assert sign_on.identity(provider.token(OTHER, {"kid": name})) is None
    own = {"jwk": OTHER.published(), "jku": "http://127.0.0.1:1/keys", "x5u": "http://127.0.0.1:1"}
    assert sign_on.identity(provider.token(OTHER, own)) is None, "nor one that a token brings"
    assert sign_on.identity(jwt.encode(provider.claims(), OTHER.private, "RS256")) is None


def test_one_kind_of_key_does_not_sign_as_another(provider: Provider, sign_on: SignOn) -> None:
    for key in KEYS:
        for other in KEYS:
            if key.algorithm[:2] != other.algorithm[:2]:
                swapped = provider.token(key, {"kid": other.name})
                assert sign_on.identity(swapped) is None


def test_a_signature_is_of_the_very_text(provider: Provider, sign_on: SignOn) -> None:
    head, _, signature = provider.token(RSA).split(".")
    changed = _letters(json.dumps(provider.claims(email="bo@example.org")).encode())
    assert sign_on.identity(f"{head}.{changed}.{signature}") is None


@pytest.mark.parametrize(
    "token",
    [
        "..",
        "a.b.c",
        "é.é.é",
        "\x00.\x00.\x00",
        f"{_letters(b'[' * 9_000)}.a.b",
        f"{_letters(b'{' * 9_000)}.a.b",
        f"{_letters(b'[]')}.a.b",
        f"{_letters(b'null')}..",
        f"{_letters(b'{}')}..",
        forged({"alg": "RS256", "kid": "rsa"}, []),
        forged({"alg": "RS256", "kid": ["rsa"]}, {}),
        forged({"alg": ["RS256"], "kid": "rsa"}, {}),
        forged({"alg": "RS256", "kid": "rsa", "crit": ["b64"], "b64": False}, {}),
        f"{_letters(json.dumps({'alg': 'RS256', 'kid': 'rsa'}).encode())}.{_letters(b'[' * 9000)}.a",
    ],
)
def test_what_is_no_token_is_not_believed(sign_on: SignOn, token: str) -> None:
    assert sign_on.identity(token) is None


def test_the_provider_is_who_it_is_said_to_be(provider: Provider) -> None:
    assert SignOn(SignOnProvider(f"{provider.url}/", "san")).identity(provider.token(RSA)) is None
    named = SignOnProvider(provider.url, "san", keys=f"{provider.url}/keys")
    assert SignOn(named).identity(provider.token(RSA)) == "ana@example.org"
    assert SignOn(named).identity(provider.token(RSA, iss=f"{provider.url}/")) is None


def test_another_claim_may_name_people(provider: Provider) -> None:
    by_number = SignOn(SignOnProvider(provider.url, "san", claim="sub"))
    assert by_number.identity(provider.token(RSA, email_verified=None)) == "007"
    assert by_number.identity(provider.token(RSA, sub=7)) is None


def test_keys_change_and_those_withdrawn_are_believed_no_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    old, new = rsa_key("old"), ec_key("new")
    monkeypatch.setattr("sanql.server.sign_on.RETRY_SECONDS", 0.0)
    monkeypatch.setattr("sanql.server.sign_on.KEYS_SECONDS", 0.001)
    with provided(old) as provider:
        sign_on = SignOn(SignOnProvider(provider.url, "san"))
        assert sign_on.identity(provider.token(new)) is None
        assert sign_on.identity(provider.token(old)) is not None
        provider.keys[:] = [new]
        assert sign_on.identity(provider.token(new)) is not None
        time.sleep(0.01)
        assert sign_on.identity(provider.token(old)) is None


def test_names_of_keys_that_nobody_knows_do_not_make_the_provider_busy() -> None:
    with provided(RSA) as provider:
        sign_on = SignOn(SignOnProvider(provider.url, "san"))
        for number in range(20):
            assert sign_on.identity(provider.token(OTHER, {"kid": str(number)})) is None
        assert provider.asked == ["/.well-known/openid-configuration", "/keys"]
        assert sign_on.identity(provider.token(RSA)) is not None


def test_a_provider_that_cannot_be_reached_is_left_alone_for_a_while(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with provided(RSA) as provider:
        provider.broken = True
        sign_on = SignOn(SignOnProvider(provider.url, "san"))
        assert [sign_on.identity(provider.token(RSA)) for _ in range(5)] == [None] * 5
        assert len(provider.asked) == 1
        provider.broken = False
        monkeypatch.setattr("sanql.server.sign_on.RETRY_SECONDS", 0.0)
        assert sign_on.identity(provider.token(RSA)) == "ana@example.org"


def test_a_provider_that_is_away_keeps_nobody_out_whose_key_is_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with provided(RSA) as provider:
        sign_on = SignOn(SignOnProvider(provider.url, "san"))
        assert sign_on.identity(provider.token(RSA)) == "ana@example.org"
        provider.broken = True
        monkeypatch.setattr("sanql.server.sign_on.RETRY_SECONDS", 0.0)
        sign_on._keys.cooldown_duration = 0  # type: ignore[union-attr]
        assert sign_on.identity(provider.token(OTHER, {"kid": "unknown"})) is None
        monkeypatch.setattr("sanql.server.sign_on.RETRY_SECONDS", 1000.0)
        assert sign_on.identity(provider.token(RSA)) == "ana@example.org"


def test_a_token_that_is_none_does_not_keep_the_provider_from_being_asked() -> None:
    with provided(RSA) as provider:
        sign_on = SignOn(SignOnProvider(provider.url, "san"))
        for token in ("a.b.c", "é.é.é", "..", f"{_letters(b'[' * 9_000)}.a.b"):
            assert sign_on.identity(token) is None
        assert sign_on.identity(provider.token(RSA)) == "ana@example.org"


@pytest.mark.slow
def test_people_who_sign_on_ask_as_who_they_are(
    provider: Provider, tmp_path_factory: pytest.TempPathFactory
) -> None:
    settings = ServerSettings(
        port=0,
        sign_on=SignOnProvider(provider.url, "san"),
        limits=RequestLimits(failed_sign_ins_per_minute=4),
    )
    policy = hospital_in(tmp_path_factory.mktemp("sign_on"))
    with served([policy], settings) as town, town.client("bo") as client:
        people = town.datasets[0].people
        people.add("ana", "analyst", identity="ana@example.org")

        def asked(token: str) -> tuple[int, object]:
            said = client.get("/v1/datasets", headers={"authorization": f"Bearer {token}"})
            return said.status_code, said.json().get("person", said.json().get("code"))

        good = provider.token(RSA)
        assert asked(good) == (200, "ana")
        assert asked(town.token("bo")) == (200, "bo"), "tokens of San go on beside"
        wrong = (401, "credential_wrong")
        assert asked(provider.token(RSA, email="cy@example.org")) == wrong
        assert asked(provider.token(RSA, email="ana@example.org\x00")) == wrong
        assert asked(provider.token(RSA, email="\ud800")) == wrong
        assert asked(provider.token(OTHER)) == wrong
        assert asked(provider.token(OTHER)) == (429, "sign_ins_failed")
        assert asked(good) == (200, "ana"), "whoever was believed is not shut out by others"
        people.revoke("ana")
        assert asked(good) == (429, "sign_ins_failed")
        assert not [event for event in town.events() if event["event"] == "fault"]
