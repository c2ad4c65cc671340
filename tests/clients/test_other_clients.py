"""Clients that are no Python: psql, the drivers of Java, ODBC and R; skipped loudly where missing."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from clients.conftest import Address, Seen, listed

pytestmark = [pytest.mark.slow, pytest.mark.clients]
HERE = Path(__file__).parent
BY_SEX = "SELECT sex, COUNT(*) AS n, AVG(age) AS mean FROM people WHERE age > {} GROUP BY sex"


def needed(program: str, package: str) -> str:
    found = shutil.which(program)
    if found is None:
        pytest.skip(f"{program} is not installed: apt-get install {package}")
    return found


def test_psql(there: Address, seen: Seen, run_apart: Callable[..., str]) -> None:
    psql = needed("psql", "postgresql-client")
    asked = "\n".join(
        (
            r"\dt \\ \d people \\ \l \\ \dn \\ \df",
            "SET sanql.epsilon = 0.01;",
            f"{BY_SEX.format(':least')};",
            r"SELECT COUNT(*) AS n FROM visits \gset",
            r"\echo found :n",
        )
    )
    shown = run_apart(psql, there.url, "-X", "-v", "ON_ERROR_STOP=1", "-v", "least=46", input=asked)
    assert "public | people | table" in shown and "found " in shown and "NOTICE" in shown
    version = re.search(r"[\d.]+", run_apart(psql, "--version"))
    seen("psql", version[0] if version else "", r"`\dt \d \l \dn \df`, `\gset`, variables, notices")


def test_jdbc(there: Address, seen: Seen, run_apart: Callable[..., str]) -> None:
    java = needed("java", "default-jdk")
    driver = Path("/usr/share/java/postgresql.jar")
    if not driver.exists():
        pytest.skip("the driver is not installed: apt-get install libpostgresql-jdbc-java")
    address = (
        f"jdbc:postgresql://{there.host}:{there.port}/hospital?sslmode=verify-full&sslrootcert="
    )
    printed = run_apart(
        java, "-cp", driver, HERE / "Asking.java", f"{address}{there.certificate}", there.token
    )
    found = listed(printed)
    assert found["rows"] == 3 and found["again"] is True and found["paged"] == 3
    assert found["tables"] == ["people", "visits"] and found["state"] == "0A000"
    seen("JDBC", str(found["version"]), "prepared, fetch size, metadata, refusals")


def test_odbc(there: Address, seen: Seen) -> None:
    try:
        import pyodbc
    except ImportError as reason:
        pytest.skip(f"pyodbc cannot be used ({reason}): apt-get install unixodbc odbc-postgresql")
    if "PostgreSQL Unicode" not in pyodbc.drivers():
        pytest.skip("the driver is not installed: apt-get install odbc-postgresql")
    ana = pyodbc.connect(
        f"Driver=PostgreSQL Unicode;Server={there.host};Port={there.port};Database=hospital;"
        f"Uid=ana;Pwd={there.token};SSLmode=require",
        autocommit=True,
    )
    cursor = ana.cursor()
    cursor.execute("SET sanql.epsilon = 0.01")
    rows = cursor.execute(BY_SEX.format("?"), 47).fetchall()
    assert len(rows) == 3 and isinstance(rows[0].n, int)
    assert sorted(each.table_name for each in cursor.tables(schema="public")) == [
        "people",
        "visits",
    ]
    assert "age" in [each.column_name for each in cursor.columns(table="people")]
    with pytest.raises(pyodbc.Error):
        cursor.execute("SELECT income FROM people")
    seen("ODBC (psqlODBC)", ana.getinfo(pyodbc.SQL_DRIVER_VER), "parameters, tables, columns")


def test_r(there: Address, seen: Seen, run_apart: Callable[..., str]) -> None:
    needed("Rscript", "r-base-core")
    script = f"""
    library(RPostgreSQL)
    ana <- dbConnect(PostgreSQL(), host="{there.host}", port={there.port}, user="ana",
                     password="{there.token}", dbname="hospital")
    invisible(dbGetQuery(ana, "SET sanql.epsilon = 0.01"))
    rows <- dbGetQuery(ana, "{BY_SEX.format(48)}")
    tables <- dbListTables(ana)
    cat(sprintf('{{"rows": %d, "tables": %d, "version": "%s"}}\\n', nrow(rows), length(tables),
                packageVersion("RPostgreSQL")))
    """
    try:
        found = listed(run_apart("Rscript", "-e", script))
    except AssertionError as reason:
        if "no package called" in str(reason):
            pytest.skip("RPostgreSQL is not installed: apt-get install r-cran-rpostgresql")
        raise
    assert found["rows"] == 3 and found["tables"] == 2
    seen("R (RPostgreSQL)", str(found["version"]), "data frames, tables")
