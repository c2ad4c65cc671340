"""A server stays on one processor; its workers have all that it was given."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(
    not hasattr(os, "sched_setaffinity"), reason="processes are not kept on processors here"
)

ALONE = """
import os, threading
from sanql.kernel import processors_at_first, stay_on_one
before = os.sched_getaffinity(0)
go, seen = threading.Event(), []
thread = threading.Thread(target=lambda: (go.wait(60), seen.append(os.sched_getaffinity(0))))
thread.start()
stay_on_one()
go.set()
thread.join()
late = threading.Thread(target=lambda: seen.append(os.sched_getaffinity(0)))
late.start()
late.join()
here = os.sched_getaffinity(0)
assert len(here) == 1 and here <= before, (here, before)
assert seen == [here, here], seen
assert processors_at_first() == ",".join(map(str, sorted(before)))
"""

ASKED = """
import os, sys
from sanql import open as open_policy
from sanql.demo import make_hospital
from sanql.kernel import stay_on_one
from pathlib import Path
before = os.sched_getaffinity(0)
make_hospital(Path(sys.argv[1]))
with open_policy(Path(sys.argv[1]) / "policy.toml", analyst="ana") as san:
    stay_on_one()
    san.query("SELECT COUNT(*) FROM people", epsilon="0.1")
    workers = san.session.data.opened.workers.pids()
    assert workers
    for worker in workers:
        for thread in os.listdir(f"/proc/{worker}/task"):
            assert os.sched_getaffinity(int(thread)) == before
    assert len(os.sched_getaffinity(0)) == 1
"""


def run(code: str, *arguments: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr


def test_all_threads_stay_where_the_first_is_and_those_to_come() -> None:
    run(ALONE)


@pytest.mark.slow
def test_workers_have_every_processor_that_the_process_was_given(tmp_path: Path) -> None:
    run(ASKED, str(tmp_path / "demo"))
