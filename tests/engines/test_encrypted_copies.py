"""Copies that are encrypted at rest: the same answers, and nothing on the disk says what is in them."""

from __future__ import annotations

import json
import math
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import sanql
from sanql.engines.encrypted.copy import prepare_encrypted
from sanql.errors import PolicyError, Unavailable
from sanql.kernel import Statement
from sanql.kernel.buckets import BucketProcess, LayoutKey, read_layout
from sanql.kernel.buckets.messages import OpenBuckets
from sanql.policy import load
from sanql.san import San
from sanql.sources import Stamps, locate
from support.commands import run
from support.policies import dataset
from support.samplers import SilentSampler
from support.volume import few_of

SECRET = "bXkgc2VjcmV0LCBub3QgdG8gYmUgZm91bmQgYW55d2hlcmU="
NAME = "Rumpelstilzchen"  # what nobody is to find
TABLES = """\

[table.people]
privacy_unit = "who"
key = "id"
rows_per_unit_max = 2
column.id = { type = "integer", bounds = [0, 1000000] }
column.name = { type = "text" }

[table.visits]
privacy_unit = { via = "patient", references = "people.id" }
rows_per_unit_max = 4
column.cost = { type = "decimal", bounds = [0, 100], precision = 0.1 }
column.ward = { type = "text", domain = ["w0", "w1", "w2", "w3"] }

[table.clicks]
privacy_unit = "row"
column.page = { type = "integer", bounds = [0, 90] }

[table.wards]
public = true
column.ward = { type = "text" }
column.floor = { type = "integer", bounds = [0, 3] }
"""
ENGINE = '\n[engine]\nmemory = "512MB"\n'
KEY = 'encryption_key_file = "key"\n'
QUESTIONS = [
    "SELECT COUNT(*) AS n FROM visits",
    "SELECT ward, COUNT(*) AS n, SUM(cost) AS cost, AVG(cost) AS mean FROM visits GROUP BY ward",
    "SELECT COUNT(*) AS n FROM visits WHERE cost > 40 AND ward = 'w2'",
    "SELECT COUNT(DISTINCT patient) AS n FROM visits",
    "SELECT COUNT(*) AS n FROM people JOIN visits ON people.id = visits.patient WHERE name <> 'p7'",
    "SELECT floor, COUNT(*) AS n FROM visits JOIN wards ON visits.ward = wards.ward GROUP BY floor",
    "SELECT MEDIAN(cost) AS m FROM visits",
    "SELECT COUNT(*) AS n FROM people WHERE name = 'nobody'",
    "SELECT SUM(page) AS n FROM clicks WHERE page > 3",
]
ROWS = {
    "people": f"SELECT i AS id, CASE WHEN i % 9 > 0 THEN i % {{people}} END AS who, "
    f"CASE WHEN i % 3 = 0 THEN '{NAME} \\x' || i ELSE 'p' || i % 50 END AS name",
    "visits": "SELECT (i * 17) % {rows} AS patient, (i % 900)::DECIMAL(8, 1) / 10 AS cost, "
    "'w' || i % 4 AS ward",
    "clicks": "SELECT i % 90 AS page",
    "wards": "SELECT 'w' || i % 4 AS ward, i % 4 AS floor",
}


def clinic(folder: Path, rows: int = 3_000, more: str = KEY, engine: str = ENGINE) -> Path:
    """Write the files and the policy of a clinic, and a key; return the policy."""
    for table, select in ROWS.items():
        (folder / "data" / table).mkdir(parents=True)
        for part in range(2):
            count = 4 if table == "wards" else rows
            path = folder / "data" / table / f"part{part}.parquet"
            sql = select.format(rows=rows, people=rows // 3)
            numbers = f"range({part * count // 2}, {(part + 1) * count // 2}) AS numbers(i)"
            with duckdb.connect() as made:
                made.execute(f"COPY ({sql} FROM {numbers}) TO '{path}'")
    write_key(folder, SECRET)
    text = dataset("data", epsilon=100, delta="1e-2") + TABLES + engine + more
    (folder / "policy.toml").write_text(text)
    return folder / "policy.toml"


def write_key(folder: Path, secret: str) -> None:
    (folder / "key").write_text(f"{secret}\n")
    (folder / "key").chmod(0o600)


def answers(policy: Path) -> dict[str, object]:
    with San(load(policy), sampler=SilentSampler()) as san:
        return {
            sql: sorted(map(str, san.query(sql, epsilon=1, fresh=True).rows)) for sql in QUESTIONS
        }


def copy_of(policy: Path) -> Path:
    """Return the folder of the one encrypted copy."""
    (folder,) = (policy.parent / load(policy).ledger.with_suffix(".cache")).glob("*.buckets")
    return folder


def buckets_of(policy: Path) -> int:
    return read_layout(copy_of(policy)).buckets


@pytest.mark.slow
@pytest.mark.parametrize("rows", [3_000, pytest.param(400_000, marks=pytest.mark.slow)])
def test_answers_are_those_of_a_copy_as_it_is(rows: int, tmp_path: Path) -> None:
    plain, encrypted = tmp_path / "plain", tmp_path / "encrypted"
    found = answers(clinic(encrypted, rows))
    assert (buckets_of(encrypted / "policy.toml") > 1) == (rows > 3_000)
    assert found == answers(clinic(plain, rows, more=""))


def holds(folder: Path, words: bytes) -> list[Path]:
    """Return the files below a folder in which these words are."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [path for path in files if words in path.read_bytes()]


def prepare(policy: Path, *, killed_after: int | None = None) -> int:
    """Prepare a copy by the command, its temporary files beside the policy; return how it ended."""
    script = (
        "import os, sys\nfrom pathlib import Path\nfrom sanql.ask import Session\nsaid = []\n"
        "def progress(words):\n    said.append(words)\n"
        f"    if len(said) == {killed_after}: os.kill(os.getpid(), 9)\n"
        "with Session(Path(sys.argv[1]), progress=progress) as session: session.data.prepare()\n"
    )
    (policy.parent / "tmp").mkdir(exist_ok=True)
    environment = {**os.environ, "TMPDIR": str(policy.parent / "tmp")}
    command = [sys.executable, "-c", script, str(policy)]
    return subprocess.run(command, check=False, env=environment, capture_output=True).returncode


@pytest.mark.slow
def test_nothing_on_the_disk_says_what_is_in_a_copy(tmp_path: Path) -> None:
    """Nor while it is made: whatever the moment of its death."""
    policy = clinic(tmp_path / "encrypted")
    for killed_after in (1, 2, 3, 4):
        assert prepare(policy, killed_after=killed_after) == -signal.SIGKILL
        assert {path.parts[-3] for path in holds(policy.parent, NAME.encode())} == {"data"}
    assert prepare(policy) == 0
    answers(policy)
    assert {path.parts[-3] for path in holds(policy.parent, NAME.encode())} == {"data"}
    assert holds(policy.parent, SECRET.encode()) == [policy.parent / "key"]
    for path in [copy_of(policy), *copy_of(policy).rglob("*")]:
        assert not path.stat().st_mode & 0o077, path
    plain = clinic(tmp_path / "plain", more="")
    assert prepare(plain) == 0
    assert holds(plain.parent / load(plain).ledger.with_suffix(".cache"), NAME.encode())


@pytest.mark.slow
def test_a_preparation_that_is_killed_goes_on(tmp_path: Path) -> None:
    policy = clinic(tmp_path)
    assert prepare(policy, killed_after=3) == -signal.SIGKILL
    before = {path: path.stat().st_mtime_ns for path in copy_of(policy).rglob("*.parquet")}
    assert len(before) >= 2 and not (copy_of(policy) / "manifest.json").exists()
    assert prepare(policy) == 0
    kept = [path for path, when in before.items() if path.stat().st_mtime_ns == when]
    assert len(kept) >= 1  # what public tables have; the rest is of one bucket
    assert answers(policy)
    names = {path.name for path in copy_of(policy).iterdir()}
    assert names == {"manifest.json", "salt", str(buckets_of(policy))}


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def cut_off(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-9])


def exchange(path: Path) -> None:
    other = next(p for p in path.parents[1].rglob("*.parquet") if p != path)
    shutil.copyfile(other, path)


@pytest.mark.slow
@pytest.mark.parametrize("harm", [flip, cut_off, exchange, Path.unlink])
def test_a_bad_bucket_is_never_read_and_made_anew_by_prepare(
    harm: Callable[[Path], None], tmp_path: Path
) -> None:
    policy = clinic(tmp_path)
    whole = answers(policy)
    target = random.Random(7).choice(sorted(copy_of(policy).glob("*/t1/*.parquet")))
    with San(load(policy), sampler=SilentSampler()) as san:
        san.session.data.open().workers.warm()
        harm(target)
        with pytest.raises(Unavailable):
            san.query("SELECT COUNT(*) AS n FROM visits WHERE cost > 3", epsilon=1)
    assert run("prepare", policy).exit_code == 0
    assert answers(policy) == whole


def list_a_file_twice(manifest: dict[str, Any]) -> None:
    """Have every row of a bucket counted twice."""
    (visits,) = (table for table in manifest["tables"] if table["name"] == "visits")
    visits["buckets"][0] *= 2


def leave_a_bucket_out(manifest: dict[str, Any]) -> None:
    (visits,) = (table for table in manifest["tables"] if table["name"] == "visits")
    visits["buckets"][0] = visits["buckets"][0][:0]


@pytest.mark.slow
@pytest.mark.parametrize("change", [list_a_file_twice, leave_a_bucket_out])
def test_a_manifest_that_somebody_without_the_key_has_written_is_not_believed(
    change: Callable[[dict[str, Any]], None], tmp_path: Path
) -> None:
    """Its hash is right: anybody can compute that. Red without the seal: rows counted twice."""
    policy = clinic(tmp_path)
    whole = answers(policy)
    written = copy_of(policy) / "manifest.json"
    content = json.loads(written.read_text())
    del content["sha256"]
    change(content)
    said = json.dumps(content, sort_keys=True, separators=(",", ":"))
    written.write_text(json.dumps({**content, "sha256": sha256(said.encode()).hexdigest()}))
    assert answers(policy) == whole


@pytest.mark.slow
def test_a_copy_of_older_data_under_the_name_of_the_present_is_not_read(tmp_path: Path) -> None:
    """Whole, and of the same key: as a backup has it."""
    policy = clinic(tmp_path)
    answers(policy)
    shutil.copytree(copy_of(policy), tmp_path / "kept")
    (tmp_path / "data/visits/part0.parquet").unlink()
    assert run("refresh", policy).exit_code == 0
    shutil.rmtree(copy_of(policy))
    present = answers(policy)
    target = copy_of(policy)
    shutil.rmtree(target)
    (tmp_path / "kept").rename(target)
    assert answers(policy) == present


@pytest.mark.slow
def test_another_key_is_told_to_the_owner_and_opens_nothing(tmp_path: Path) -> None:
    policy = clinic(tmp_path)
    whole = answers(policy)
    write_key(tmp_path, SECRET.swapcase())
    done = run("query", "SELECT COUNT(*) FROM visits", "--policy", policy, "--epsilon", "0.5")
    assert done.exit_code != 0 and "encrypted with another key" in done.output
    with pytest.raises(PolicyError, match="encrypted with another key"):
        answers(policy)
    write_key(tmp_path, SECRET)
    assert answers(policy) == whole


@pytest.mark.slow
@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (lambda key: key.unlink(), "cannot be read"),
        (lambda key: key.chmod(0o644), "is open to others than its owner"),
        (lambda key: key.write_text("short"), "fewer than 32 letters"),
    ],
)
def test_a_file_that_holds_no_key_is_told_to_the_owner(
    harm: Callable[[Path], None], said: str, tmp_path: Path
) -> None:
    policy = clinic(tmp_path)
    harm(tmp_path / "key")
    with pytest.raises(PolicyError, match=said) as caught:
        answers(policy)
    assert caught.value.faults[0].place == "engine.encryption_key_file"


@pytest.mark.slow
def test_a_variable_names_the_key_where_the_policy_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = clinic(tmp_path, more="")
    monkeypatch.setenv("SANQL_ENCRYPTION_KEY_FILE", str(tmp_path / "key"))
    assert answers(policy)
    assert copy_of(policy).exists()
    assert not [*copy_of(policy).parent.glob("*.duckdb")]


@pytest.mark.slow
def test_a_copy_that_is_not_encrypted_goes_when_there_is_a_key(tmp_path: Path) -> None:
    """And so does what a preparation of one had done when it was killed."""
    policy = clinic(tmp_path, more="")
    assert prepare(policy) == 0
    folder = tmp_path / "data/visits/part2.parquet"
    shutil.copyfile(tmp_path / "data/visits/part0.parquet", folder)
    assert prepare(policy, killed_after=6) == -signal.SIGKILL
    cache = load(policy).ledger.with_suffix(".cache")
    assert len(holds(cache, NAME.encode())) >= 2
    policy.write_text(policy.read_text() + KEY)
    folder.unlink()
    assert answers(policy)
    assert not holds(cache, NAME.encode())
    assert {path.suffix for path in cache.iterdir()} == {"", ".buckets"}


@pytest.mark.slow
def test_what_a_killed_preparation_left_as_it_is_goes_whatever_it_was_of(tmp_path: Path) -> None:
    """Of other data than there are, and the encrypted copy of these is there."""
    policy = clinic(tmp_path)
    answers(policy)
    left = copy_of(policy).parent / f"{'0' * 40}.building"
    left.write_text(NAME)
    assert answers(policy)
    assert not left.exists()


@pytest.mark.slow
def test_a_repeat_over_another_layout_is_free(tmp_path: Path) -> None:
    """How rows are stored is part of no digest, and no version of the data."""
    policy = clinic(tmp_path, more="")
    found = []
    for more in ("", KEY):
        policy.write_text(policy.read_text() + more)
        with San(load(policy), sampler=SilentSampler()) as san:
            rows = [san.query(sql, epsilon=1).rows for sql in QUESTIONS]
            san.query("SELECT COUNT(*) FROM wards")
            san.session.data.open()
            found.append((rows, san.balances()[0].spent_upper.epsilon))
    assert found[0] == found[1] and found[0][1] == len(QUESTIONS)
    assert copy_of(policy).exists()


@pytest.mark.slow
def test_workers_killed_while_they_read_it_cost_no_bit_and_no_epsilon(tmp_path: Path) -> None:
    """One kill for each question, at a random moment."""
    policy, instants = clinic(tmp_path, rows=60_000), random.Random(5)
    sql = "SELECT SUM(cost) AS n FROM visits"
    with San(load(policy), sampler=SilentSampler()) as san:
        exact = san.query(sql, epsilon="0.01").value
        for number in range(2, 8):
            workers = san.session.data.open().workers
            workers.warm()
            (pid, *_) = workers.pids()
            later = threading.Timer(instants.uniform(0, 0.06), kill, (pid,))
            later.start()
            assert san.query(sql, epsilon=f"0.0{number}", fresh=True).value == exact
            later.join()
        kinds = [record.kind for record in san.ledger.records()]
        assert (kinds.count("spend"), kinds.count("void")) == (7, 0)
        assert float(san.balances()[0].spent_upper.epsilon) == pytest.approx(0.28)


def kill(pid: int) -> None:
    """Kill a worker, if it is still there."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


@pytest.mark.slow
def test_what_would_lie_beside_it_as_it_is_is_refused(tmp_path: Path) -> None:
    policy = clinic(tmp_path)
    text = policy.read_text()
    with duckdb.connect(str(tmp_path / "data.duckdb")) as made:
        for table in ROWS:
            made.execute(f"CREATE TABLE {table} AS FROM '{tmp_path}/data/{table}/*.parquet'")
    policy.write_text(text.replace('source = "data"', 'source = "data.duckdb"'))
    with pytest.raises(PolicyError, match="read where it is, and not encrypted"):
        answers(policy)
    policy.write_text(text)
    done = run("check", policy, "--data")
    assert done.exit_code != 0 and "looked at in a copy that is not encrypted" in done.output


def test_with_a_key_no_snapshot_is_taken_before_it_is_refused(tmp_path: Path) -> None:
    """Rows of a frame, or of a store, lay beside the ledger as they are when the refusal was read."""
    policy = clinic(tmp_path)
    text = policy.read_text()
    with duckdb.connect() as made:
        frames = {table: made.sql(f"FROM '{tmp_path}/data/{table}/*.parquet'") for table in ROWS}
        policy.write_text(text.replace('source = "data"\n', ""))
        with pytest.raises(PolicyError, match="the snapshot of what is elsewhere is not encrypted"):
            sanql.open(policy, tables=frames)
    (tmp_path / "store").mkdir()
    store = tmp_path / "store/policy.toml"
    (tmp_path / "key").rename(tmp_path / "store/key")
    store.write_text(text.replace('source = "data"', f'source = "file://{tmp_path}/data"'))
    with pytest.raises(PolicyError, match="the snapshot of what is elsewhere is not encrypted"):
        sanql.open(store)
    assert {path.parts[-3] for path in holds(tmp_path, NAME.encode())} == {"data"}


@pytest.mark.slow
def test_a_refresh_takes_no_snapshot_beside_a_key_either(tmp_path: Path) -> None:
    """Of frames that were passed before there was a key."""
    policy = clinic(tmp_path, more="")
    policy.write_text(policy.read_text().replace('source = "data"\n', ""))
    plain = {
        "people": {"id": [1], "who": [1], "name": ["nobody"]},
        "visits": {"patient": [1], "cost": [1], "ward": ["w0"]},
        "clicks": {"page": [1]},
        "wards": {"ward": ["w0"], "floor": [1]},
    }
    with sanql.open(policy, tables=plain) as san:
        assert san.query("SELECT COUNT(*) FROM people", epsilon=1).rows
    policy.write_text(policy.read_text() + KEY)
    with sanql.open(policy) as san:
        assert san.query("SELECT COUNT(*) FROM people", epsilon=1).cached
        named = {**plain, "people": {"id": [1], "who": [1], "name": [NAME]}}
        with pytest.raises(PolicyError, match="the snapshot of what is elsewhere is not encrypted"):
            san.refresh(named)
    assert {path.parts[-3] for path in holds(tmp_path, NAME.encode())} == {"data"}


@pytest.mark.slow
def test_a_key_that_leads_to_two_rows_is_refused(tmp_path: Path) -> None:
    policy = clinic(tmp_path)
    twice = tmp_path / "data/people/part2.parquet"
    shutil.copyfile(tmp_path / "data/people/part0.parquet", twice)
    with pytest.raises(PolicyError, match="has a key twice"):
        answers(policy)


@pytest.mark.slow
def test_a_key_that_leads_to_rows_of_nobody_besides_is_as_good_as_in_a_copy_as_it_is(
    tmp_path: Path,
) -> None:
    found = []
    for name, more in (("plain", ""), ("encrypted", KEY)):
        policy = clinic(tmp_path / name, more=more)
        twice = policy.parent / "data/people/part2.parquet"
        with duckdb.connect() as made:
            rows = f"FROM '{twice.with_name('part0.parquet')}' WHERE who IS NULL"
            made.execute(f"COPY (SELECT * {rows}) TO '{twice}'")
        found.append(answers(policy))
    assert found[0] == found[1]


def test_no_two_files_have_a_key_in_common_and_no_word_of_the_secret_is_shown() -> None:
    keys = {
        LayoutKey(secret, salt).of(path)
        for secret in (SECRET, SECRET.lower())
        for salt in ("a", "b")
        for path in ("1/t0/00000.parquet", "1/t0/00001.parquet", "mark")
    }
    assert len(keys) == 12 and {len(key) for key in keys} == {32}
    opened = OpenBuckets(Path(), None, 1, 1, LayoutKey(SECRET, "a"))  # type: ignore[arg-type]
    assert SECRET not in repr(opened)


@pytest.mark.slow
@pytest.mark.parametrize("seed", few_of(range(6), 1))
def test_files_that_change_are_another_copy_and_the_one_before_goes(
    seed: int, tmp_path: Path
) -> None:
    policy = clinic(tmp_path)
    answers(policy)
    first = copy_of(policy)
    os.utime(first, (0, 0))
    (tmp_path / f"data/visits/part{seed % 2}.parquet").unlink()
    changed = load(policy)
    source = locate(changed)
    stamps = Stamps(changed.ledger)
    prepare_encrypted(changed, source, stamps.of(source), stamps)
    assert copy_of(policy) != first


@pytest.mark.slow
def test_a_question_over_an_encrypted_copy_has_nowhere_to_spill(tmp_path: Path) -> None:
    policy = clinic(tmp_path)
    answers(policy)
    folder = copy_of(policy)
    layout = read_layout(folder)
    key = LayoutKey(SECRET, layout.salt)
    process = BucketProcess(OpenBuckets(folder, layout, 512 << 20, 1, key))
    try:
        asked = Statement("SELECT current_setting('temp_directory') AS place")
        (frame,) = process.ask(asked, math.inf)
        assert pa.ipc.open_stream(frame).read_all().to_pylist() == [{"place": ""}]
    finally:
        process.discard()


@pytest.mark.slow
def test_what_does_not_fit_into_memory_is_told_to_the_owner_and_spilled_nowhere(
    tmp_path: Path,
) -> None:
    """One unit has it all, so that no number of buckets makes it less."""
    policy = clinic(tmp_path, engine=ENGINE.replace("512MB", "256MB"))
    target = tmp_path / "data/people/part2.parquet"
    long = f"repeat('{NAME} ' || i, 60)"
    with duckdb.connect() as made:
        rows = (
            f"SELECT 10000000 + i AS id, 5::BIGINT AS who, {long} AS name FROM range(400000) n(i)"
        )
        made.execute(f"COPY ({rows}) TO '{target}'")
    script = f"from sanql.ask import Session\nSession({str(policy)!r}).data.prepare()"
    (tmp_path / "tmp").mkdir()
    environment = {**os.environ, "TMPDIR": str(tmp_path / "tmp")}
    preparing = subprocess.Popen(
        [sys.executable, "-c", script], env=environment, stderr=subprocess.PIPE, text=True
    )
    found = set[str]()
    while preparing.poll() is None:
        with suppress(OSError):
            found |= {path.parts[-3] for path in holds(tmp_path, NAME.encode())}
    assert preparing.stderr is not None
    assert "could not be written to the end" in preparing.stderr.read()
    assert found == {"data"}
