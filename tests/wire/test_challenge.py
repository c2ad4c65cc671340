"""A challenge is met by whoever has the token, and by nobody else."""

from __future__ import annotations

import base64
import hashlib
import hmac
from pathlib import Path

import pytest
import trustme
from hypothesis import given
from hypothesis import strategies as st

from sanql.account import People, TokenVerifier
from sanql.account.people.tokens import make_token, verifier_of
from sanql.account.stores.memory import MemoryStore
from sanql.server.wire.challenge import (
    BOUND,
    PLAIN,
    Challenge,
    ChallengeFailed,
    bound_to_certificate,
)

NONCE = "fyko+d2lbbFgONRv9qkxdawL"


def answered(
    challenge: Challenge, password: str, header: str = "n,,", bound_to: bytes = b"", **other: str
) -> bytes:
    """Do what a client does, written down here once more; return the server's proof."""
    bare = f"n=,r={NONCE}"
    first = challenge.begin(other.get("mechanism", PLAIN), f"{header}{bare}".encode()).decode()
    said = dict(part.split("=", 1) for part in first.split(","))
    salted = hashlib.pbkdf2_hmac(
        "sha256", password.encode(), base64.b64decode(said["s"]), int(said["i"])
    )
    client = hmac.digest(salted, b"Client Key", "sha256")
    channel = base64.b64encode(header.encode() + bound_to).decode()
    last = f"c={channel},r={other.get('nonce', said['r'])}"
    message = f"{bare},{first},{last}".encode()
    signature = hmac.digest(hashlib.sha256(client).digest(), message, "sha256")
    proof = base64.b64encode(bytes(a ^ b for a, b in zip(client, signature, strict=True))).decode()
    server = hmac.digest(hmac.digest(salted, b"Server Key", "sha256"), message, "sha256")
    found = challenge.end(f"{last},p={other.get('proof', proof)}".encode())
    assert found == b"v=" + base64.b64encode(server)
    return found


def test_the_example_of_rfc_7677() -> None:
    salt = base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
    salted = hashlib.pbkdf2_hmac("sha256", b"pencil", salt, 4096)
    client = hmac.digest(salted, b"Client Key", "sha256")
    verifier = TokenVerifier(
        salt, 4096, hashlib.sha256(client).digest(), hmac.digest(salted, b"Server Key", "sha256")
    )
    challenge = Challenge(verifier, nonce="%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0")
    first = challenge.begin(PLAIN, b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO")
    nonce = "rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
    assert first.decode() == f"r={nonce},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
    proof = "dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
    assert challenge.end(f"c=biws,r={nonce},p={proof}".encode()) == (
        b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="
    )


def test_whoever_has_the_token_meets_it() -> None:
    token = make_token()
    assert answered(Challenge(verifier_of(token)), token)
    assert answered(Challenge(verifier_of(token)), token, "y,,")  # which nobody misled
    header = "p=tls-server-end-point,,"
    assert answered(Challenge(verifier_of(token), b"seal"), token, header, b"seal", mechanism=BOUND)


@pytest.mark.parametrize(
    ("bound_to", "given"),
    [
        (b"", {"password": "another"}),
        (b"", {"nonce": NONCE}),
        (b"", {"proof": base64.b64encode(b"x" * 32).decode()}),
        (b"", {"proof": "AA=="}),
        (b"", {"mechanism": BOUND}),
        (b"", {"mechanism": "PLAIN"}),
        (b"", {"header": "p=tls-server-end-point,,"}),
        (b"", {"header": "n,a=otto,"}),
        (b"seal", {"header": "y,,"}),  # told by somebody in between that nothing can be bound
        (b"seal", {"header": "n,,", "mechanism": BOUND}),
        (b"seal", {"header": "p=tls-unique,,", "mechanism": BOUND, "bound_to": b"seal"}),
        (
            b"seal",
            {"header": "p=tls-server-end-point,,", "mechanism": BOUND, "bound_to": b"another"},
        ),
    ],
)
def test_nobody_else_does(bound_to: bytes, given: dict[str, str]) -> None:
    token = make_token()
    password = given.pop("password", token)
    with pytest.raises(ChallengeFailed):
        answered(Challenge(verifier_of(token), bound_to), password, **given)  # type: ignore[arg-type]


@given(st.binary(max_size=200), st.binary(max_size=200))
def test_whatever_comes_is_only_a_failure(first: bytes, last: bytes) -> None:
    challenge = Challenge(verifier_of(make_token()))
    with pytest.raises(ChallengeFailed):
        challenge.begin(PLAIN, first)
        challenge.end(last)
    challenge.begin(PLAIN, f"n,,n=,r={NONCE}".encode())
    with pytest.raises(ChallengeFailed):
        challenge.end(last)


def test_nobody_is_challenged_like_somebody_always_alike() -> None:
    store = MemoryStore(Path("people.ledger"))
    people = People(store)
    _, token = people.add("ana", "analyst")
    nobody = people.challenge_of("nobody")
    assert nobody == People(store).challenge_of("nobody")  # as on another server
    assert nobody != people.challenge_of("nobody else")
    assert len(nobody.salt) == len(people.challenge_of("ana").salt)
    assert nobody.iterations == people.challenge_of("ana").iterations
    assert answered(Challenge(people.challenge_of("ana")), token)
    people.revoke("ana")
    with pytest.raises(ChallengeFailed):
        answered(Challenge(people.challenge_of("ana")), token)


def test_what_binds_is_the_hash_of_the_certificate(tmp_path: Path) -> None:
    issued = trustme.CA().issue_cert("localhost")
    place = tmp_path / "cert.pem"
    place.write_bytes(b"".join(blob.bytes() for blob in issued.cert_chain_pems))
    import ssl

    der = ssl.PEM_cert_to_DER_cert(issued.cert_chain_pems[0].bytes().decode())
    assert bound_to_certificate(place) == hashlib.sha256(der).digest()
