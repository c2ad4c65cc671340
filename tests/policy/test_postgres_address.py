"""A ledger may be a database: its address is read whole, and a password in it is never repeated."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sanql.errors import PolicyError
from sanql.policy import LedgerDatabase, load, named_place
from sanql.policy.postgres_address import is_address, parse_address
from sanql.policy.section import Mistake

PolicyText = Callable[..., str]
Write = Callable[[str], Path]
SECRET = "hunter2-Xy"


def with_ledger(policy_text: PolicyText, ledger: str, **more: str) -> str:
    keys: Mapping[str, str] = {"ledger": f'"{ledger}"', **more}
    return policy_text(keys)


def test_a_database_is_named_with_the_ledger_in_it_and_files_stay_beside_the_policy(
    policy_text: PolicyText, write: Write, tmp_path: Path
) -> None:
    policy = load(write(with_ledger(policy_text, "postgresql://sanql@db.example/ledgers")))
    database = policy.ledger_database
    assert (
        database == policy.ledger_place == LedgerDatabase("db.example", 5432, "ledgers", "clinic")
    )
    assert database.user == "sanql" and database.password_file is None
    assert policy.ledger == tmp_path / "clinic.ledger"
    assert str(database) == "postgresql://sanql@db.example:5432/ledgers?ledger=clinic"


def test_a_rehearsal_has_a_ledger_of_its_own_there(policy_text: PolicyText, write: Write) -> None:
    text = with_ledger(policy_text, "postgresql://db.example/ledgers", scratch="true")
    database = load(write(text)).ledger_database
    assert database is not None and database.ledger == "clinic.scratch"


@pytest.mark.parametrize(
    ("host", "mode"),
    [
        ("db.example", "verify-full"),
        ("10.0.0.7", "verify-full"),
        ("[2001:db8::1]", "verify-full"),
        ("localhost", "prefer"),
        ("127.0.0.1", "prefer"),
        ("[::1]", "prefer"),
    ],
)
def test_beyond_this_machine_the_certificate_must_be_the_hosts(host: str, mode: str) -> None:
    assert dict(parse_address(f"postgresql://{host}/x").tls) == {"sslmode": mode}
    chosen = parse_address(f"postgresql://{host}/x?sslmode=require").tls
    assert dict(chosen) == {"sslmode": "require"}


def test_files_of_tls_and_the_password_are_found_from_the_policys_folder(
    policy_text: PolicyText, write: Write, tmp_path: Path
) -> None:
    ledger = "postgresql://db.example/x?sslrootcert=tls/root.crt&sslcert=system"
    policy = load(write(with_ledger(policy_text, ledger, ledger_password_file='"secret"')))
    assert policy.ledger_database is not None
    assert dict(policy.ledger_database.tls) == {
        "sslmode": "verify-full",
        "sslrootcert": str(tmp_path / "tls/root.crt"),
        "sslcert": "system",
    }
    assert policy.ledger_database.password_file == tmp_path / "secret"


def test_a_password_file_is_for_a_database(policy_text: PolicyText, write: Write) -> None:
    text = with_ledger(policy_text, "clinic.ledger", ledger_password_file='"secret"')
    with pytest.raises(PolicyError, match="the ledger is a file, which has no password"):
        load(write(text))


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("postgresql:///ledgers", "names no host"),
        ("postgresql://db.example", "names no database"),
        ("postgresql://db.example/", "names no database"),
        ("postgresql://db.example:0/x", "the port of the address"),
        ("postgresql://db.example:70000/x", "cannot be read"),
        ("postgresql://one,two/x", "cannot be read"),
        ("postgresql://db.example/x?sslmode=maybe", "sslmode of the address is not known"),
        ("postgresql://db.example/x?options=-cfsync%3Doff", "a parameter that is not known"),
        ("postgresql://db.example/x?ledger=a&ledger=b", "given twice"),
        ("postgresql://db.example/x?ledger=", "parameter ledger of the address is empty"),
        ("mysql://db.example/x", 'a ledger "mysql:…" is not available'),
        ("postgresql+psycopg://db.example/x", "is not available"),
    ],
)
def test_an_address_that_cannot_be_used_is_refused_by_what_is_wrong_with_it(
    policy_text: PolicyText, write: Write, address: str, said: str
) -> None:
    with pytest.raises(PolicyError, match=said):
        load(write(with_ledger(policy_text, address)))


@pytest.mark.parametrize(
    "address",
    [
        f"postgresql://sanql:{SECRET}@db.example/ledgers",
        f"postgres://sanql:{SECRET}@db.example/ledgers",
        f"postgresql://sanql@db.example/ledgers?password={SECRET}",
        f"postgresql://:{SECRET}@db.example/ledgers",
        f"postgresql://sanql:a@{SECRET}/ledgers@db.example/x",
        f"postgresql://sanql:a/{SECRET}@db.example/ledgers",
        f"postgresql://sanql:12/{SECRET}@db.example",
        f"postgresql://sanql:12?{SECRET}@db.example/ledgers",
        f"postgresql://sanql:12#{SECRET}@db.example/ledgers",
        f"postgresql://sanql:{SECRET}",
        f"postgresql:{SECRET}@db.example/x",
        f"mysql://sanql:{SECRET}@db.example/ledgers",
        f"host=db.example user=sanql password={SECRET}",
    ],
)
def test_a_password_in_a_policy_is_refused_and_never_repeated(
    policy_text: PolicyText, write: Write, address: str
) -> None:
    with pytest.raises(PolicyError) as refused:
        load(write(with_ledger(policy_text, address)))
    said = f"{refused.value} {refused.value!r} {refused.value.to_dict()}"
    assert SECRET not in said and "hunter2" not in said


def test_whoever_wrote_a_password_is_told_where_it_belongs(
    policy_text: PolicyText, write: Write
) -> None:
    with pytest.raises(PolicyError, match=r"PGPASSWORD.*\.pgpass.*SANQL_LEDGER_PASSWORD_FILE"):
        load(write(with_ledger(policy_text, f"postgresql://sanql:{SECRET}@db.example/x")))


@given(st.text(min_size=1, max_size=12).filter(lambda text: text.isprintable()))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_refusal_of_an_address_quotes_any_password(password: str) -> None:
    """Encoded or not: what stands between the user and the host is not said again."""
    secret = f"{SECRET}{password}{SECRET}"
    try:
        found = parse_address(f"postgresql://sanql:{secret}@db.example/ledgers")
    except Mistake as mistake:
        assert SECRET not in f"{mistake.message} {mistake.remedy}"
    else:
        raise AssertionError(f"a password was accepted: {found}")


@given(
    host=st.sampled_from(["db.example", "10.1.2.3", "::1", "/run/postgresql"]),
    port=st.integers(1, 2**16 - 1),
    names=st.tuples(
        st.text("abc äß%&=?+#", min_size=1, max_size=8), st.text("abc äß%&=?+#/:@", min_size=1)
    ),
)
def test_an_address_is_read_back_as_it_is_written(
    host: str, port: int, names: tuple[str, str]
) -> None:
    place = LedgerDatabase(host, port, names[0], names[1][:40], user="sänql@x:/")
    assert is_address(str(place)) and named_place(str(place)) == place


def test_whatever_is_no_address_is_a_file(tmp_path: Path) -> None:
    assert named_place(str(tmp_path / "a.ledger")) == tmp_path / "a.ledger"
    with pytest.raises(ValueError, match="names no host"):
        named_place("postgresql:///x")


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"source": '"postgresql://host/"'}, "names no database; write postgresql://USER"),
        ({"source": '"postgresql://host/db?ledger=x"'}, "a parameter that is not known"),
        (
            {"source_password_file": '"secret"'},
            "the source is no PostgreSQL database; leave it out",
        ),
        ({"schemas": '["public"]'}, "the source is no PostgreSQL database; leave it out"),
        ({"source": f'"postgresql://u:{SECRET}@host/db"'}, "SANQL_SOURCE_PASSWORD_FILE"),
        ({"source": f'"postgresql://u:{SECRET}\\u0007@host/db"'}, "has a password in it"),
    ],
)
def test_a_source_is_read_as_strictly_as_a_ledger(
    keys: Mapping[str, str], said: str, policy_text: PolicyText, write: Write
) -> None:
    with pytest.raises(PolicyError) as caught:
        load(write(policy_text(keys)))
    assert said in str(caught.value)
    assert SECRET not in str(caught.value)
