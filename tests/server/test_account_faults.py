"""An account that cannot be used: analysts are told that, and officers where it is kept."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from support.serving import COUNT, served

pytestmark = pytest.mark.usefixtures("in_this_process")


def test_analysts_are_not_told_where_the_account_is_kept_and_officers_are(policy: Path) -> None:
    with served([policy]) as town, town.client() as ana, town.client("olga", "officer") as olga:
        assert ana.post("/v1/query", json={"sql": COUNT, "epsilon": 0.1}).status_code == 200
        assert olga.get("/v1/verify").json()["sound"]
        head = policy.parent / "hospital.ledger.head"
        kept = head.read_bytes()
        head.write_bytes(kept.replace(b'"sequence":', b'"sequence":1'))
        told = ana.post("/v1/query", json={"sql": COUNT, "epsilon": 0.2})
        assert told.status_code == 503 and told.json()["kind"] == "ledger"
        assert "cannot be used at present" in told.json()["detail"]
        assert str(policy.parent) not in told.text and "record" not in told.json()["detail"]
        seen = olga.get("/v1/verify").json()
        assert seen["code"] == told.json()["code"] and "record" in seen["detail"]
        events = [event for event in town.events() if event["event"] == "account"]
        assert events and "record" in str(events[0]["detail"])
        head.write_bytes(kept)


def test_a_question_read_later_tells_no_more_of_the_account(policy: Path) -> None:
    with served([policy]) as town, town.client() as ana:
        assert ana.post("/v1/query", json={"sql": COUNT, "epsilon": 0.1}).status_code == 200
        head = policy.parent / "hospital.ledger.head"
        head.rename(head.with_name("elsewhere"))
        begun = ana.post("/v1/questions", json={"sql": COUNT, "epsilon": 0.2}).json()
        while (now := ana.get(f"/v1/questions/{begun['id']}").json())["status"] in (
            "queued",
            "running",
        ):
            pass
        assert now["status"] == "failed" and now["error"]["code"] == "ledger_head_missing"
        assert "cannot be used at present" in now["error"]["detail"]
        assert "record" not in now["error"]["detail"]
        head.with_name("elsewhere").rename(head)


def test_a_sound_account_is_found_sound_while_questions_are_asked(policy: Path) -> None:
    with served([policy]) as town, town.client() as ana, town.client("olga", "officer") as olga:
        ended = threading.Event()

        def ask() -> None:
            number = 0
            while not ended.is_set():
                number += 1
                body = {
                    "sql": f"{COUNT} WHERE age > {number % 90}",
                    "epsilon": 0.001,
                    "fresh": True,
                }
                ana.post("/v1/query", json=body)

        asking = [threading.Thread(target=ask) for _ in range(2)]
        for thread in asking:
            thread.start()
        try:
            for _ in range(25):
                told = olga.get("/v1/verify")
                assert told.status_code == 200 and told.json()["sound"], told.text
        finally:
            ended.set()
            for thread in asking:
                thread.join()
