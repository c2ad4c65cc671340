"""What rows take shows in steps of time, and others are served meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sanql.ask import Session, time_steps
from sanql.ask.time_steps import STEP_SECONDS, time_in_steps
from sanql.policy import load
from sanql.san import San
from support.hospitals import hospital_in

pytestmark = pytest.mark.usefixtures("in_this_process")


class Clock:
    """A clock that goes on by what is slept, and by what is done."""

    def __init__(self) -> None:
        self.now = 1234.5678

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        assert seconds >= 0
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(time_steps, "time", made)
    return made


@pytest.mark.parametrize("taken", [0.0001, 0.0099, 0.01, 0.0101, 3.2345])
@pytest.mark.parametrize("fails", [False, True])
def test_a_block_takes_a_whole_number_of_steps_however_it_ends(
    clock: Clock, taken: float, *, fails: bool
) -> None:
    started = clock.now
    try:
        with time_in_steps():
            clock.now += taken
            if fails:
                raise ValueError
    except ValueError:
        pass
    steps = (clock.now - started) / STEP_SECONDS
    assert abs(steps - round(steps)) < 1e-6
    assert -1e-9 < clock.now - started - taken < STEP_SECONDS + 1e-9


@pytest.fixture
def session(tmp_path: Path) -> Iterator[Session]:
    hospital_in(tmp_path / "demo")
    with Session(load(tmp_path / "demo" / "policy.toml")) as opened:
        yield opened


@pytest.mark.slow
def test_the_engine_is_free_for_others_before_an_answer_is_on_record(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    free, real = [], session.ledger.spend

    def spend(*given: object) -> None:
        opened = session.data.opened
        assert opened is not None
        free.append(len(opened.workers._idle))
        real(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(session.ledger, "spend", spend)
    San(session, "ana").query("SELECT COUNT(*) FROM people", epsilon="0.1")
    assert free == [1]
