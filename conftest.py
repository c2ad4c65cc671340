"""What every test has: examples without a deadline; documents have the demo hospital in their folder.

Policies that a document shows with their file's name lie there too.
"""

from __future__ import annotations

import gc
import re
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("sanql", deadline=None)  # a busy machine is no fault
settings.register_profile("few", settings.get_profile("sanql"), max_examples=20)  # `make check`
settings.load_profile("sanql")
NAMED_FILE = re.compile(r"^```toml\n# (\w+\.toml)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
WHOLE_FILE = re.compile(rb"^pytestmark = \[?pytest\.mark\.(slow|soak)\b", re.MULTILINE)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is collected stays until the end: garbage is not looked for in it, now or later."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_unconfigure() -> None:
    """At the end all of it may go."""
    gc.unfreeze()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Files that are left out as a whole, where nothing slow or no soaking is run, are not imported."""
    if collection_path.suffix != ".py":
        return None
    marked = WHOLE_FILE.search(collection_path.read_bytes())
    left_out = marked is not None and f"not {marked[1].decode()}" in config.getoption("markexpr")
    return True if left_out else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Documents are slow: each makes a hospital and asks it."""
    for item in items:
        if item.path.suffix == ".md":
            item.add_marker(pytest.mark.slow)


@pytest.fixture(autouse=True, scope="session")
def _registry_of_their_own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Accounts that tests open are registered in a folder of theirs, not in anybody's home."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("XDG_DATA_HOME", str(tmp_path_factory.mktemp("registry")))
        environment.setattr("sanql.account.claims.registry._home", lambda: home)
        yield


@pytest.fixture(autouse=True)
def _hospital_for_documents(request: pytest.FixtureRequest) -> None:
    """Only documents have a folder made for them here: most tests need none.

    What they ask is run in this process, but for the README: workers take a second to start.
    """
    if request.node.path.suffix == ".md":
        from sanql.engines.in_process.engine import InProcessEngine
        from sanql.engines.open import ENGINE_KINDS, WORKERS
        from support.hospitals import hospital_in

        folder: Path = request.getfixturevalue("tmp_path")
        hospital_in(folder / "demo")
        for name, text in NAMED_FILE.findall(request.node.path.read_text("utf-8")):
            (folder / name).write_text(text, "utf-8")
        changed: pytest.MonkeyPatch = request.getfixturevalue("monkeypatch")
        changed.chdir(folder)
        if request.node.path.name != "README.md":
            changed.setitem(ENGINE_KINDS, WORKERS, InProcessEngine)
        if request.node.path.name == "client.md":
            request.getfixturevalue("_hospital_served")


@pytest.fixture
def _hospital_served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Serve that hospital, for the document about asking servers."""
    from support.serving import served

    with served([tmp_path / "demo" / "policy.toml"]) as server:
        monkeypatch.setenv("SANQL_SERVER", server.url)
        monkeypatch.setenv("SANQL_TOKEN", server.token("ana"))
        yield
