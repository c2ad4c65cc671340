"""What an operator writes for a server: read exactly, and every fault is named."""

from __future__ import annotations

from dataclasses import asdict, fields
from pathlib import Path

import pytest

from sanql.errors import ServerError
from sanql.server import RequestLimits, ServerSettings, parse_address, read_settings
from sanql.server.settings import SignOnProvider, TrustedProxy


def written(folder: Path, text: str) -> ServerSettings:
    path = folder / "server.toml"
    path.write_text(text, encoding="utf-8")
    return read_settings(path, ServerSettings(port=0))


def test_everything_that_can_be_written_is_read(tmp_path: Path) -> None:
    limits = {name: 7 + number for number, name in enumerate(asdict(RequestLimits()))}
    read = written(
        tmp_path,
        'hosts = ["San.example.org", "::1"]\n[limits]\n'
        + "".join(f"{name} = {value}\n" for name, value in limits.items())
        + '[proxy]\naddresses = ["10.0.0.0/24", "::1"]\nheader = "X-Remote-User"\n'
        + '[sign_on]\nissuer = "https://login.example.org"\naudience = "san"\nclaim = "sub"\n'
        + 'keys = "https://login.example.org/keys"\n'
        + 'redirect = "https://san.example.org/signed-on"\n',
    )
    assert asdict(read.limits) == limits
    for field in fields(RequestLimits):
        assert type(getattr(read.limits, field.name)) is type(field.default)
    assert read.names >= {"san.example.org", "::1", "localhost"}
    assert read.proxy == TrustedProxy(("10.0.0.0/24", "::1"), "x-remote-user")
    assert read.sign_on == SignOnProvider(
        "https://login.example.org",
        "san",
        "sub",
        "https://login.example.org/keys",
        "https://san.example.org/signed-on",
    )


WITH_SECRET = (
    '[sign_on]\nissuer = "https://login.example.org"\naudience = "san"\n'
    'client_secret_file = "login.secret"\n'
)
WAY_BACK = 'redirect = "https://san.example.org/signed-on"\n'


def test_a_secret_is_all_that_a_file_of_ones_own_holds(tmp_path: Path) -> None:
    file = tmp_path / "login.secret"
    for text in ("hush", "hush\n", "hush\r\n"):
        file.write_bytes(text.encode())
        file.chmod(0o600)
        read = written(tmp_path, WITH_SECRET + WAY_BACK)
        assert read.sign_on is not None and read.sign_on.client_secret == "hush"
        assert "hush" not in repr(read)


@pytest.mark.parametrize(
    ("content", "mode", "text", "named"),
    [
        (b"hush", 0o640, WITH_SECRET + WAY_BACK, "is open to others than its owner"),
        (b"hush", 0o604, WITH_SECRET + WAY_BACK, "is open to others than its owner"),
        (b"", 0o600, WITH_SECRET + WAY_BACK, "is not one line with a secret"),
        (b"hush\nmore\n", 0o600, WITH_SECRET + WAY_BACK, "is not one line with a secret"),
        (b"h" * 10_001, 0o600, WITH_SECRET + WAY_BACK, "is not one line with a secret"),
        (b"\xff", 0o600, WITH_SECRET + WAY_BACK, "cannot be read"),
        (None, 0, WITH_SECRET + WAY_BACK, "cannot be read"),
        (b"hush", 0o600, WITH_SECRET, "is of no use without redirect"),
    ],
)
def test_a_secret_that_is_none_is_refused_and_not_shown(
    tmp_path: Path, content: bytes | None, mode: int, text: str, named: str
) -> None:
    if content is not None:
        (tmp_path / "login.secret").write_bytes(content)
        (tmp_path / "login.secret").chmod(mode)
    with pytest.raises(ServerError) as refused:
        written(tmp_path, text)
    assert named in refused.value.message and "hush" not in str(refused.value)


def test_what_is_not_written_stays(tmp_path: Path) -> None:
    assert written(tmp_path, "") == ServerSettings(port=0)
    assert written(tmp_path, "[limits]\nbody_bytes = 5\n").limits == RequestLimits(body_bytes=5)


PROXY = '[proxy]\naddresses = ["10.0.0.7"]\nheader = "{}"\n'
TRUSTED = '[proxy]\naddresses = [{}]\nheader = "X-User"\n'
SIGN_ON = '[sign_on]\nissuer = "{}"\naudience = "{}"\n'


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("limits = 5\n", "limits is no setting"),
        ("[limit]\n", "limit is no setting"),
        ("[limits]\nbody = 5\n", "limits.body is no limit"),
        ("[limits]\nbody_bytes = 0\n", "limits.body_bytes is no whole number"),
        ("[limits]\nbody_bytes = -1\n", "limits.body_bytes is no whole number"),
        ("[limits]\nbody_bytes = 0.5\n", "limits.body_bytes is no whole number"),
        ("[limits]\nbody_bytes = true\n", "limits.body_bytes is no whole number"),
        ('[limits]\nbody_bytes = "5"\n', "limits.body_bytes is no whole number"),
        ("[limits]\nbody_bytes = inf\n", "limits.body_bytes is no whole number"),
        ("[limits]\nbody_bytes = 10000000000\n", "limits.body_bytes is no whole number"),
        ("[limits]\nbody_bytes = 1" + "0" * 400 + "\n", "limits.body_bytes is no whole number"),
        ("[limits]\nbody_seconds = nan\n", "limits.body_seconds is no number"),
        ("[limits]\nbody_seconds = inf\n", "limits.body_seconds is no number"),
        ("[limits]\nbody_seconds = -inf\n", "limits.body_seconds is no number"),
        ("[limits]\nbody_seconds = 0.0\n", "limits.body_seconds is no number"),
        ("[limits]\nbody_seconds = 2024-01-01\n", "limits.body_seconds is no number"),
        ('hosts = "localhost"\n', "hosts is no setting"),
        ("hosts = [5]\n", "hosts is no setting"),
        ('hosts = ["san.example.org:443"]\n', "hosts has 'san.example.org:443'"),
        ('hosts = ["https://san.example.org"]\n', "hosts has 'https://san.example.org'"),
        ('hosts = ["*.example.org"]\n', "hosts has '*.example.org'"),
        ('hosts = [""]\n', "hosts has ''"),
        ("[proxy]\n", "proxy is no setting"),
        ('[proxy]\naddresses = "10.0.0.7"\nheader = "X-User"\n', "proxy is no setting"),
        (PROXY.format("X-User") + "more = 1\n", "proxy is no setting"),
        (PROXY.format(""), "proxy.header is no header"),
        (PROXY.format("X User"), "proxy.header is no header"),
        (PROXY.format("X-User:"), "proxy.header is no header"),
        (PROXY.format("X_User"), "proxy.header is no header"),
        (PROXY.format("Authorization"), "proxy.header is no header"),
        (PROXY.format("Host"), "proxy.header is no header"),
        (TRUSTED.format(""), "proxy.addresses is empty"),
        (TRUSTED.format('"proxy.example.org"'), "proxy.addresses has what is no address"),
        (TRUSTED.format('"10.0.0.7/24"'), "proxy.addresses has what is no address"),
        (TRUSTED.format("10"), "proxy.addresses has what is no address"),
        (TRUSTED.format("true"), "proxy.addresses has what is no address"),
        (TRUSTED.format('"0.0.0.0/0"'), "proxy.addresses has everybody's address"),
        (TRUSTED.format('"::1", "::/0"'), "proxy.addresses has everybody's address"),
        ('[sign_on]\nissuer = "https://a.org"\n', "sign_on is no setting"),
        (SIGN_ON.format("https://a.org", "san") + "claim = 5\n", "sign_on is no setting"),
        (SIGN_ON.format("https://a.org", "san") + 'secret = "x"\n', "sign_on is no setting"),
        (SIGN_ON.format("http://login.example.org", "san"), "sign_on.issuer is no https address"),
        (SIGN_ON.format("login.example.org", "san"), "sign_on.issuer is no https address"),
        (SIGN_ON.format("file:///etc/passwd", "san"), "sign_on.issuer is no https address"),
        (SIGN_ON.format("https://", "san"), "sign_on.issuer is no https address"),
        (SIGN_ON.format("https://[::1", "san"), "sign_on.issuer is no https address"),
        (SIGN_ON.format("https://a.org", ""), "sign_on.audience is empty"),
        (SIGN_ON.format("https://a.org", "san") + 'claim = ""\n', "sign_on.claim is empty"),
        (
            SIGN_ON.format("https://a.org", "san") + 'keys = "http://a.org/keys"\n',
            "sign_on.keys is no https address",
        ),
        ("hosts = [\n", "server.toml cannot be read as TOML"),
        ("a = " + "[" * 50_000, "server.toml cannot be read as TOML"),
    ],
)
def test_every_fault_is_named(tmp_path: Path, text: str, named: str) -> None:
    with pytest.raises(ServerError) as refused:
        written(tmp_path, text)
    assert refused.value.code == "settings_invalid"
    assert refused.value.message.startswith(named), refused.value.message
    assert refused.value.remedy


def test_a_file_that_is_not_there_or_no_text_is_named(tmp_path: Path) -> None:
    (tmp_path / "server.toml").write_bytes(b"\xff\xfe")
    for name in ("server.toml", "none.toml", "."):
        with pytest.raises(ServerError, match="cannot be read as TOML"):
            read_settings(tmp_path / name, ServerSettings(port=0))


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.7", "san.example.org"])
def test_other_machines_reach_it_only_with_a_certificate(host: str) -> None:
    with pytest.raises(ServerError) as refused:
        ServerSettings(host)
    assert refused.value.code == "tls_needed"
    assert ServerSettings(host, certificate=Path("a.pem")).host == host


@pytest.mark.parametrize(
    "typed",
    ["", "8080", ":8080", "127.0.0.1", "127.0.0.1:", "127.0.0.1:-1", "127.0.0.1:65536",
     "127.0.0.1:８０", "127.0.0.1:8080x", "[]:80", "localhost:999999999999"],
)  # fmt: skip
def test_an_address_that_is_none_is_refused(typed: str) -> None:
    with pytest.raises(ServerError) as refused:
        parse_address(typed)
    assert refused.value.code == "address_invalid"


@pytest.mark.parametrize(
    ("address", "trusted"),
    [
        ("10.0.0.7", True),
        ("::ffff:10.0.0.7", True),  # as a socket of both kinds names it
        ("10.0.1.7", False),
        ("::1", True),
        ("0:0:0:0:0:0:0:1", True),
        ("::2", False),
        ("::ffff:0:10.0.0.7", False),
        ("10.0.0.7, 1.2.3.4", False),
        ("localhost", False),
        ("", False),
    ],
)
def test_a_proxy_is_known_by_its_address(address: str, trusted: bool) -> None:
    assert TrustedProxy(("10.0.0.0/24", "::1"), "x-user").trusts(address) is trusted
