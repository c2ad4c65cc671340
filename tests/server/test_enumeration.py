"""What is there and not yours is as if it were not there: the same bytes, and the same work."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import httpx
import pytest

from sanql.account import People
from sanql.account.people.tokens import TokenVerifier, make_token
from sanql.account.stores.memory import MemoryStore
from support.hospitals import hospital_in
from support.serving import COUNT, Served, served

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("in_this_process")]


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server of two datasets: ana may ask the first, bo both, otto owns the first."""
    folder = tmp_path_factory.mktemp("two")
    policies = [hospital_in(folder / name) for name in ("hospital", "clinic")]
    text = policies[1].read_text(encoding="utf-8").replace('name = "hospital"', 'name = "clinic"')
    policies[1] = policies[1].rename(policies[1].with_name("clinic.toml"))
    policies[1].write_text(text, encoding="utf-8")
    with served(policies) as town:
        first = town.datasets[0].people
        _, town.tokens["ana"] = first.add("ana", "analyst")
        _, town.tokens["otto"] = first.add("otto", "owner")
        yield town


def plain(reply: httpx.Response, *typed: str) -> tuple[object, ...]:
    """Return a reply less its number, its date and what was typed, which it repeats."""
    headers = sorted((k, v) for k, v in reply.headers.items() if k not in ("date", "x-request-id"))
    text = reply.text
    for each in typed:
        text = text.replace(each, "…")
    return reply.status_code, headers, text


QUESTION = {"sql": COUNT, "epsilon": 0.1}
ASKED: dict[str, dict[str, object] | None] = {
    "schema": None,
    "budget": None,
    "ledger": None,
    "verify": None,
    "history": None,
    "history/1": None,
    "certificate/1": None,
    "query": QUESTION,
    "explain": QUESTION,
    "questions": QUESTION,
    "suggest": {"table": "people", "epsilon": 0.1},
    "refresh": {},
    "ledger/erase": {"numbers": [3]},
}


@pytest.mark.parametrize("who", ["ana", "otto"])
@pytest.mark.parametrize(("route", "body"), ASKED.items(), ids=[*ASKED])
def test_a_dataset_that_is_not_yours_is_as_if_it_were_not_there(
    two: Served, who: str, route: str, body: dict[str, object] | None
) -> None:
    replies = []
    with two.client(who) as client:
        for name in ("clinic", "cliniq"):
            if body is None:
                reply = client.get(f"/v1/{route}", params={"dataset": name})
            else:
                reply = client.post(f"/v1/{route}", json=body | {"dataset": name})
            replies.append(plain(reply, name))
    assert replies[0] == replies[1] and replies[0][0] == 404


def test_nothing_that_ana_is_told_names_the_other_dataset(two: Served) -> None:
    with two.client("ana") as ana, two.client("otto") as otto:
        for client in (ana, otto):
            for line in ("datasets", "schema", "budget", "ledger", "verify", "none", "questions/x"):
                assert "clinic" not in client.get(f"/v1/{line}").text, line
            assert "clinic" not in client.get("/metrics").text
        again = otto.post("/v1/reload", json={})
        assert again.json() == {"policies": {"policy.toml": "unchanged"}}, "nor its policy's file"


def test_a_question_that_is_not_yours_is_as_if_it_were_not_there(two: Served) -> None:
    with two.client("ana") as ana, two.client("bo") as bo, two.client("otto") as otto:
        body = {"sql": COUNT, "epsilon": 0.1, "dataset": "hospital"}
        own = bo.post("/v1/questions", json=body).json()["id"]
        nobodys = f"{int(own, 16) ^ 1:032x}"
        for client in (ana, otto):
            for act in (client.get, client.delete):
                replies = [plain(act(f"/v1/questions/{each}"), each) for each in (own, nobodys)]
                assert replies[0] == replies[1] and replies[0][0] == 404
        assert bo.get(f"/v1/questions/{own}").json()["status"] != "cancelled"


def test_an_answer_on_record_that_is_not_yours_is_as_if_it_were_not_there(two: Served) -> None:
    with two.client("ana") as ana, two.client("bo") as bo:
        asked = {"sql": f"{COUNT} WHERE age > 3", "epsilon": 0.1, "dataset": "hospital"}
        assert bo.post("/v1/query", json=asked).status_code == 200
        listed = bo.get("/v1/history", params={"dataset": "hospital"}).json()["questions"]
        own, nobodys = str(listed[-1]["id"]), "987654"
        for route in ("history", "certificate"):
            assert bo.get(f"/v1/{route}/{own}", params={"dataset": "hospital"}).status_code == 200
            replies = [plain(ana.get(f"/v1/{route}/{each}"), each) for each in (own, nobodys)]
            lengths = [dict(reply[1]).pop("content-length") for reply in replies]  # type: ignore
            assert int(lengths[1]) - int(lengths[0]) == len(nobodys) - len(own)
            assert replies[0][2] == replies[1][2] and replies[0][0] == replies[1][0] == 404
        assert ana.get("/v1/history").json()["questions"] == []


def test_numbers_of_questions_cannot_be_guessed(two: Served) -> None:
    with two.client("bo") as bo:
        body = {"sql": COUNT, "epsilon": 0.1, "dataset": "hospital"}
        numbers = [bo.post("/v1/questions", json=body).json()["id"] for _ in range(10)]
    assert len({number[:8] for number in numbers}) == 10
    assert all(len(number) == 32 and int(number, 16) for number in numbers)


@pytest.mark.parametrize(
    "number",
    [
        "..",
        "%2e%2e",
        "..%2f..%2fetc%2fpasswd",
        "%00",
        "a" * 10_000,
        "'%20OR%201=1",
        "💩",
        "%ff",
        " ",
    ],
)
def test_a_number_of_a_question_is_no_path(two: Served, number: str) -> None:
    with two.client("bo") as bo:
        for act in (bo.get, bo.delete):
            reply = act(f"/v1/questions/{number}")
            assert reply.status_code in (404, 405), reply.text
            assert reply.json()["code"] in ("question_unknown", "route_unknown", "method_unknown")
            assert len(reply.text) < 1_000


def test_routes_that_are_not_there_are_not_there_for_anybody(two: Served) -> None:
    with two.client("ana") as ana, httpx.Client(base_url=two.url) as nobody:
        for target in ("/nothing", "/v1", "/v2/query", "/admin", "/v1/users", "/.git/config"):
            replies = [plain(client.get(target)) for client in (ana, nobody)]
            assert replies[0] == replies[1] and replies[0][0] == 404


class CountingVerifier(TokenVerifier):
    """A verifier that counts how often it was asked, by all of them together."""

    asked = 0

    def admits(self, token: str) -> bool:
        CountingVerifier.asked += 1
        return super().admits(token)


def test_every_token_that_is_not_good_takes_one_comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that no clock tells whether there is a token of that name, or what became of its person."""
    monkeypatch.setattr("sanql.account.people.person.TokenVerifier", CountingVerifier)
    people = People(MemoryStore(Path("town.ledger")))
    nobody = people._nobody
    people._nobody = CountingVerifier(
        nobody.salt, nobody.iterations, nobody.stored_key, nobody.server_key
    )
    _, good = people.add("ana", "analyst")
    _, expired = people.add("eve", "analyst", lasting=timedelta(seconds=-1))
    _, revoked = people.add("rob", "analyst")
    people.revoke("rob")
    _, rotated = people.add("ron", "analyst")
    people.rotate("ron")
    people.add("sid", "analyst", identity="sid@example.org")
    for token in (
        make_token(),
        good[:17] + make_token()[17:],
        expired,
        revoked,
        rotated,
        "",
        "a",
        "ana",
        "a" * 10_000,
        "é",
    ):
        before = CountingVerifier.asked
        assert people.verify(token) is None
        assert CountingVerifier.asked == before + 1, token
    assert people.verify(good) is not None
    people.close()


TABLES = ["none", "'people.parquet'", "read_csv('/etc/passwd')", "sqlite_master"]


def test_where_the_data_are_is_not_told_to_analysts(two: Served) -> None:
    folder = str(two.datasets[0].policy.path.parent.parent)
    with two.client("ana") as ana:
        asked = [QUESTION | {"sql": f"SELECT COUNT(*) FROM {name}"} for name in TABLES]
        said = [ana.post("/v1/query", json=body).text for body in asked]
        said += [ana.get(f"/v1/{route}").text for route in ("schema", "budget", "datasets")]
    assert not [text for text in said if folder in text]
