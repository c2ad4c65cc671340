"""Sessions of browsers: found by their cookie, ended by time, so many and no more."""

from __future__ import annotations

from sanql.server.web.sessions import (
    IDLE_SECONDS,
    LASTING_SECONDS,
    PER_PERSON_MAX,
    SESSIONS_MAX,
    WebSessions,
)


class Clock:
    """A clock that stands still until it is moved."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


def opened(sessions: WebSessions, key: str = "town/ana") -> str:
    return sessions.open(key, {}, "", "town")


def test_a_session_is_found_by_its_cookie_alone() -> None:
    sessions = WebSessions()
    cookie = opened(sessions)
    found = sessions.find(cookie)
    assert found is not None and found.key == "town/ana"
    assert sessions.find(cookie[:-1] + ("0" if cookie[-1] != "0" else "1")) is None
    assert len({opened(sessions) for _ in range(10)}) == 10


def test_a_session_that_nobody_uses_ends() -> None:
    clock = Clock()
    sessions = WebSessions(clock)
    cookie = opened(sessions)
    clock.now += IDLE_SECONDS - 1
    assert sessions.find(cookie) is not None
    clock.now += IDLE_SECONDS
    assert sessions.find(cookie) is None


def test_a_session_ends_however_much_it_is_used() -> None:
    clock = Clock()
    sessions = WebSessions(clock)
    cookie, end = opened(sessions), clock.now + LASTING_SECONDS
    while clock.now < end - 60:
        assert sessions.find(cookie) is not None
        clock.now += 60
    clock.now = end
    assert sessions.find(cookie) is None


def test_a_session_that_was_closed_is_gone() -> None:
    sessions = WebSessions()
    cookie = opened(sessions)
    sessions.close(cookie)
    assert sessions.find(cookie) is None


def test_nobody_pushes_others_out_by_signing_in_often() -> None:
    sessions = WebSessions()
    other = opened(sessions, "town/bo")
    own = [opened(sessions) for _ in range(SESSIONS_MAX // 100)]
    kept = [cookie for cookie in own if sessions.find(cookie) is not None]
    assert kept == own[-PER_PERSON_MAX:]
    assert sessions.find(other) is not None


def test_a_form_is_of_one_cookie_and_one_server() -> None:
    sessions, another = WebSessions(), WebSessions()
    cookie, other = opened(sessions), opened(sessions)
    token = sessions.form_token(cookie)
    assert sessions.is_own_form(cookie, token)
    assert not sessions.is_own_form(other, token)
    assert not another.is_own_form(cookie, token)
    assert not sessions.is_own_form(cookie, "")


def test_what_was_typed_is_kept_of_the_latest_questions() -> None:
    sessions = WebSessions()
    for number in range(2_001):
        sessions.remember(str(number), {"sql": str(number)})
    assert sessions.typed("0") == {} and sessions.typed("2000") == {"sql": "2000"}
