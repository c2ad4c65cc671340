"""A cluster behind Spark Connect: this process has no Spark of its own, only a client of one."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import duckdb
import pytest

pytestmark = [pytest.mark.spark, pytest.mark.slow]

SECONDS_MAX = 240
POLICY = """
[dataset]
name = "town"
source = "data"
neighbours = "add-remove"
budget = {{ epsilon = 1000 }}
accounting = "pure"
failures_max = 10
failures_total_max = 100
[engine]
deadline = 120
memory = "512MB"
kind = "spark"
master = "sc://127.0.0.1:{port}"
layout = "layout"
[table.people]
privacy_unit = "person_id"
key = "number"
rows_per_unit_max = 1
column.town = {{ type = "text", domain = ["here", "there"] }}
[table.visits]
privacy_unit = {{ via = "of", references = "people.number" }}
rows_per_unit_max = 2
"""
ASK = """
import sys
import sanql
from sanql.ask import Session
with Session(sys.argv[1]) as session:
    session.data.prepare(4)
with sanql.open(sys.argv[1]) as san:
    print(dict(san.query("SELECT town, COUNT(*) FROM people GROUP BY town", epsilon=100).rows))
    print(san.query("SELECT COUNT(*) FROM visits", epsilon=100).rows)
"""


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


@pytest.fixture
def port(tmp_path: Path) -> Iterator[int]:
    """Return where a server of Spark Connect listens, with two slots of its own."""
    import pyspark

    number = free_port()
    command = [
        str(Path(pyspark.__file__).parent / "bin" / "spark-submit"), "--master", "local[2,4]",
        "--driver-memory", "1g", "--conf", f"spark.connect.grpc.binding.port={number}",
        "--conf", "spark.connect.grpc.binding.address=127.0.0.1",
        "--conf", "spark.driver.host=127.0.0.1", "--conf", "spark.driver.bindAddress=127.0.0.1",
        "--conf", "spark.ui.enabled=false",
        "--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal",
    ]  # fmt: skip
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    environment.pop("SPARK_CONF_DIR", None)
    with (tmp_path / "server.log").open("wb") as log:
        server = subprocess.Popen(
            command, stdout=log, stderr=log, env=environment, cwd=tmp_path, start_new_session=True
        )
    try:
        deadline = time.monotonic() + SECONDS_MAX
        while not listens(number):
            assert server.poll() is None and time.monotonic() < deadline
            time.sleep(0.5)
        yield number
    finally:
        server.kill()
        server.wait()


def listens(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


def test_a_layout_is_written_and_asked_through_spark_connect(port: int, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    with duckdb.connect() as connection:
        connection.execute(
            "COPY (SELECT range AS number, range + 7 AS person_id, "
            "CASE WHEN range % 3 = 0 THEN 'here' ELSE 'there' END AS town "
            f"FROM range(3000)) TO '{tmp_path}/data/people.parquet'"
        )
        connection.execute(
            f"COPY (SELECT range % 3500 AS of FROM range(7000)) TO '{tmp_path}/data/visits.parquet'"
        )
    (tmp_path / "policy.toml").write_text(POLICY.format(port=port))
    ended = subprocess.run(
        [sys.executable, "-c", ASK, str(tmp_path / "policy.toml")],
        capture_output=True, text=True, check=False, timeout=2 * SECONDS_MAX,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.splitlines() == ["{'here': 1000, 'there': 2000}", "[(6000,)]"]
