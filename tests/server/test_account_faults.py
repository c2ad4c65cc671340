"""An account that cannot be used: analysts are told that, and officers where it is kept."""

from __future__ import annotations

from pathlib import Path

from support.serving import COUNT, served


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
