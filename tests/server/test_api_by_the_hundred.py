"""The whole interface as it is described: every end of every range, and hundreds of requests more.

In a file of its own, which is left out as a whole: its requests are drawn when it is collected.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from server.described import PEOPLE, ask, bounded, described, described_town
from support.serving import Served

pytestmark = [pytest.mark.soak, pytest.mark.usefixtures("in_this_process")]

API = described(every_end=True)


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with described_town(tmp_path_factory.mktemp("described")) as town:
        yield town


@pytest.mark.parametrize("who", PEOPLE)
@API.parametrize()
@bounded(200)
def test_every_answer_is_as_described_by_the_hundred(case: Any, town: Served, who: str) -> None:
    ask(case, town, who)
