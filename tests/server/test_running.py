"""A server as a process: how it starts, reads its policies again, and ends."""

from __future__ import annotations

import json
import signal
import ssl
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
import trustme

import sanql
from sanql.account import People, open_store
from sanql.audit.ledger import verify_account
from sanql.errors import AccessDenied
from sanql.policy import load
from support.commands import run, run_process
from support.serving import COUNT, serve_process, served

pytestmark = pytest.mark.slow


@pytest.fixture
def private(policy: Path) -> Path:
    """A policy whose folder nobody else can look into."""
    policy.parent.chmod(0o700)
    return policy


def token(policy: Path, name: str = "ana", role: str = "analyst") -> str:
    return run("user", "add", name, "--role", role, "-p", policy).stdout.strip()


def client(url: str, secret: str, **more: object) -> httpx.Client:
    headers = {"authorization": f"Bearer {secret}"}
    return httpx.Client(base_url=url, headers=headers, timeout=60, **more)  # type: ignore[arg-type]


def test_it_answers_and_stops_in_order_when_it_is_told_to(private: Path) -> None:
    secret = token(private)
    with serve_process(private) as server, client(server.url, secret) as ana:
        assert ana.get("/ready").json() == {"status": "ready"}
        answer = ana.post("/v1/query", json={"sql": COUNT, "epsilon": 0.1}).json()
        assert answer["charge"]["epsilon"] == 0.1
        assert server.stop() == 0
    assert '"event": "stopped"' in "".join(server.said)
    assert all(json.loads(line)["event"] for line in server.said), "a log is JSON alone"
    assert verify_account(load(private)).sound


def test_what_runs_when_it_is_stopped_is_answered_and_nothing_is_left_open(private: Path) -> None:
    secret = token(private)
    with serve_process(private) as server, ThreadPoolExecutor() as pool:

        def ask(number: int) -> int:
            with client(server.url, secret) as ana:
                body = {"sql": f"{COUNT} WHERE age > {number}", "epsilon": 0.01}
                return ana.post("/v1/query", json=body).status_code

        first = ask(200)
        asked = [pool.submit(ask, number) for number in range(12)]
        time.sleep(0.05)
        assert server.stop() == 0
        ends = []
        for each in asked:
            try:
                ends.append(each.result())
            except httpx.TransportError:  # it came too late to be listened to
                ends.append(503)
    assert first == 200 and set(ends) <= {200, 503}
    with served([private]) as again:
        ledger = again.datasets[0].session.ledger
        assert ledger.balances()[0].reserved == 0 and ledger.failures.count() == 0
        spends = sum(record.kind == "spend" for record in ledger.records())
    assert spends >= 1 + ends.count(200)


def test_policies_are_read_again_on_sighup_and_a_fault_changes_nothing(private: Path) -> None:
    secret, text = token(private), private.read_text(encoding="utf-8")

    def budget(ana: httpx.Client) -> float:
        return float(ana.get("/v1/budget").json()["accounts"][0]["budget"]["epsilon"])

    with serve_process(private) as server, client(server.url, secret) as ana:
        assert budget(ana) == 4.0
        private.write_text(text.replace("epsilon = 4.0", "epsilon = 3.0"), encoding="utf-8")
        server.process.send_signal(signal.SIGHUP)
        assert server.wait_for("reloaded")["outcome"] == "loaded"
        assert budget(ana) == 3.0
        private.write_text(text.replace("epsilon = 4.0", "epsilon = -1"), encoding="utf-8")
        server.process.send_signal(signal.SIGHUP)
        assert server.wait_for("reloaded")["outcome"].startswith("not loaded")
        assert budget(ana) == 3.0
        assert ana.post("/v1/query", json={"sql": COUNT, "epsilon": 0.1}).status_code == 200
        assert server.stop() == 0


def test_owners_have_policies_read_again_over_http(policy: Path) -> None:
    with served([policy]) as town, town.client("otto", "owner") as otto, town.client() as ana:
        assert otto.post("/v1/reload", json={}).json() == {"policies": {"policy.toml": "unchanged"}}
        text = policy.read_text(encoding="utf-8").replace("epsilon = 4.0", "epsilon = 2.0")
        policy.write_text(text, encoding="utf-8")
        assert ana.post("/v1/reload", json={}).status_code == 403
        assert otto.post("/v1/reload", json={}).json() == {"policies": {"policy.toml": "loaded"}}
        assert ana.get("/v1/budget").json()["accounts"][0]["budget"]["epsilon"] == 2.0
        token_file = policy.parent / "otto.token"
        token_file.write_text(town.token("otto"), encoding="utf-8")
        done = run("reload", "--server", town.url, "--token-file", token_file)
        assert (done.exit_code, done.stdout) == (0, "policy.toml: unchanged\n")


def test_a_policy_that_is_named_from_its_folder_is_read_again_too(
    policy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(policy.parent)
    with served([Path("policy.toml")]) as town, town.client("otto", "owner") as otto:
        assert otto.post("/v1/reload", json={}).json() == {"policies": {"policy.toml": "unchanged"}}
        text = policy.read_text(encoding="utf-8").replace("epsilon = 4.0", "epsilon = 2.0")
        policy.write_text(text, encoding="utf-8")
        assert otto.post("/v1/reload", json={}).json() == {"policies": {"policy.toml": "loaded"}}


def test_the_command_fails_where_a_policy_has_a_fault(policy: Path) -> None:
    with served([policy]) as town:
        token_file = policy.parent / "otto.token"
        token_file.write_text(town.token("otto", "owner"), encoding="utf-8")
        text = policy.read_text(encoding="utf-8").replace("epsilon = 4.0", "epsilon = -1")
        policy.write_text(text, encoding="utf-8")
        for form in ("table", "json"):
            where = ["--server", town.url, "--token-file", token_file, "--format", form]
            done = run("reload", *where)
            assert done.exit_code == 2 and "not loaded, the policy before goes on" in done.stdout


def test_several_datasets_each_with_its_own_people(tmp_path: Path, policy: Path) -> None:
    from support.hospitals import hospital_in

    other = hospital_in(tmp_path / "clinic")
    text = other.read_text(encoding="utf-8").replace('name = "hospital"', 'name = "clinic"')
    other.write_text(text, encoding="utf-8")
    with served([policy, other]) as town:
        both = town.token("ana")
        people = {each.name: each.people for each in town.datasets}
        _, only = people["clinic"].add("bo", "analyst")
        with client(town.url, both) as ana, client(town.url, only) as bo:
            body = {"sql": COUNT, "epsilon": 0.1}
            assert ana.post("/v1/query", json=body).json()["code"] == "dataset_needed"
            with pytest.raises(AccessDenied, match="--dataset NAME"):
                sanql.connect(town.url, token=both).budget()
            for name in ("hospital", "clinic"):
                said = ana.post("/v1/query", json=body | {"dataset": name}).json()
                assert said["dataset"] == name
            assert bo.post("/v1/query", json=body).json()["dataset"] == "clinic"
            foreign = bo.post("/v1/query", json=body | {"dataset": "hospital"}).json()
            nowhere = bo.post("/v1/query", json=body | {"dataset": "hospitax"}).json()
            assert foreign["code"] == nowhere["code"] == "dataset_unknown"
            assert foreign["remedy"] == nowhere["remedy"]


def test_it_listens_beyond_this_machine_only_with_a_certificate(private: Path) -> None:
    done = run_process("serve", private, "--http", "0.0.0.0:0")
    assert done.returncode == 8 and "clear text" in done.stderr


def test_over_tls_it_is_whom_its_certificate_says(private: Path, tmp_path: Path) -> None:
    authority = trustme.CA()
    issued = authority.issue_cert("localhost", "127.0.0.1")
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    certificate.write_bytes(b"".join(blob.bytes() for blob in issued.cert_chain_pems))
    key.write_bytes(issued.private_key_pem.bytes())
    key.chmod(0o600)
    context = ssl.create_default_context()
    authority.configure_trust(context)
    secret = token(private)
    with serve_process(private, "--tls", certificate, key) as server:
        assert server.url.startswith("https://")
        with client(server.url, secret, verify=context) as ana:
            assert ana.get("/v1/datasets").json()["person"] == "ana"
        with pytest.raises(httpx.ConnectError), client(server.url, secret) as stranger:
            stranger.get("/health")
        assert server.stop() == 0


def test_a_port_that_is_taken_is_named(private: Path) -> None:
    with serve_process(private, ready=False) as server:
        port = server.url.rpartition(":")[2]
        done = run_process("serve", private, "--http", f"127.0.0.1:{port}")
        assert done.returncode == 8 and f"127.0.0.1:{port} cannot be listened on" in done.stderr


def test_what_a_token_was_last_used_for_is_kept(private: Path) -> None:
    with served([private]) as town, town.client() as ana:
        assert ana.get("/v1/datasets").status_code == 200
    people = People(open_store(load(private)))
    assert people.listed()[0].last_used is not None
    people.close()


def test_the_demo_is_served_with_fresh_tokens_and_closed_to_others(tmp_path: Path) -> None:
    folder = tmp_path / "open" / "served"
    seen = []
    for _ in range(2):
        with serve_process("--demo", folder) as server:
            lines = [server.process.stderr.readline() for _ in range(5)]  # type: ignore[union-attr]
            secret = next(line.split()[-1] for line in lines if line.split()[:1] == ["ana"])
            with client(server.url, secret) as ana:
                assert ana.get("/v1/datasets").json()["person"] == "ana"
            for old in seen:
                with client(server.url, old) as former:
                    assert former.get("/v1/datasets").status_code == 401
            seen.append(secret)
            assert server.stop() == 0
            assert "leaked" not in "".join(server.said)
    assert folder.stat().st_mode & 0o077 == 0
    assert (folder / "hospital.ledger").exists()


def test_a_column_that_is_added_and_reloaded_can_be_asked_and_joins_the_record(
    policy: Path,
) -> None:
    text = policy.read_text(encoding="utf-8")
    line = next(line for line in text.splitlines() if line.startswith("age ="))
    policy.write_text(text.replace(f"{line}\n", ""), encoding="utf-8")
    body = {"sql": "SELECT SUM(age) FROM people", "epsilon": 0.2}
    with served([policy]) as town, town.client("otto", "owner") as otto, town.client() as ana:
        assert ana.post("/v1/query", json={"sql": COUNT, "epsilon": 0.1}).status_code == 200
        assert ana.post("/v1/query", json=body).json()["code"] == "column_unknown"
        policy.write_text(text, encoding="utf-8")
        assert otto.post("/v1/reload", json={}).json() == {"policies": {"policy.toml": "loaded"}}
        assert ana.post("/v1/query", json=body).status_code == 200
        records = [*town.datasets[0].session.ledger.records()]
        assert sum(record.kind == "reserve" for record in records) == 2
        joined = [record.content["columns"] for record in records if record.kind == "tables"]
        assert joined == [{"people": ["age"]}]
        assert otto.get("/v1/verify").json()["sound"]
