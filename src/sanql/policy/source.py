"""Which sources a policy may name."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path, PurePath
from urllib.parse import parse_qsl, urlsplit

from sanql.policy.origin import DeltaTables, IcebergTables, ObjectStore, Origin, PassedTables
from sanql.policy.postgres_address import SourceDatabase, parse_source_address
from sanql.policy.section import Mistake, Section, quote
from sanql.policy.values import parse_column_name, parse_file, parse_text

SUPPORTED = (
    "a folder of .parquet or .csv files, one such file, a .duckdb file,"
    " postgresql://USER@HOST:PORT/DATABASE, a folder of .parquet files as s3://BUCKET/PATH,"
    " Delta tables as delta:FOLDER, or Iceberg tables as iceberg://CATALOG/NAMESPACE"
)
FILE_SUFFIXES = (".parquet", ".csv", ".duckdb")

_STORE = re.compile(r"(s3|gs|abfss?|file)://")
_CATALOGUE = re.compile(r"iceberg://([A-Za-z0-9_-]+)((?:/[^/@:?#]+)+)/?")
_STORE_PARAMETERS = ("region", "scheme", "endpoint_override")

# Only names that are plainly files: a folder may well be called `release-1.2`.
_OTHER_FILE_SUFFIXES = {
    *(".arrow", ".avro", ".feather", ".ipc", ".orc", ".pq"),
    *(".json", ".jsonl", ".ndjson", ".toml", ".tsv", ".txt", ".xls", ".xlsx"),
    *(".db", ".dta", ".sas7bdat", ".sav", ".sqlite", ".sqlite3"),
    *(".bz2", ".gz", ".xz", ".zip", ".zst"),
}


def read_source(dataset: Section, folder: Path) -> str | Origin | None:
    """Return what holds the data: a path as written, or where they come from; None where it has a fault.

    Files that a policy names are found from its folder.
    """
    source = dataset.read("source", parse_source, "name what holds the data")
    password_file = dataset.read(
        "source_password_file", parse_file, "name a file that holds the password, and nothing else"
    )
    schemas = dataset.read("schemas", _parse_schemas, 'write schemas = ["clinic", "public"]')
    if isinstance(source, SourceDatabase):
        return replace(source.from_folder(folder, password_file), schemas=schemas or ())
    if isinstance(source, DeltaTables):
        source = DeltaTables(str(folder / source.folder))
    for key in ("source_password_file", "schemas"):
        if key in dataset.content:
            dataset.fault(
                key,
                "the source is no PostgreSQL database",
                'leave it out, or write source = "postgresql://…"',
            )
    return PassedTables() if "source" not in dataset.content else source


def parse_source(written: object) -> str | Origin:
    """Return the source, once its form is one that can be opened: a path as written, or its origin."""
    if isinstance(written, str) and re.match(r"postgres(ql)?:", written):
        return parse_source_address(written)
    if isinstance(written, str) and (store := _STORE.match(written)):
        return _parse_store(written, store[1])
    source = parse_text(written)
    if source.startswith("delta:"):
        return _parse_delta(source.removeprefix("delta:"))
    if source.startswith("iceberg:"):
        return _parse_iceberg(source)
    scheme = re.match(r"[A-Za-z][A-Za-z0-9+.-]+:", source)
    if scheme:  # only the scheme is quoted: what follows may hold a password
        raise Mistake(f'a source "{scheme.group()}…" is not available yet', f"name {SUPPORTED}")
    if re.search(r"[*?\[\]{}]", source):
        raise Mistake(f"the source {quote(source)} is a pattern", "name the folder itself")
    suffix = PurePath(source).suffix.lower()
    if suffix in _OTHER_FILE_SUFFIXES and not source.endswith("/"):
        raise Mistake(f"a source {quote(source)} is not available yet", f"name {SUPPORTED}")
    return source


def _parse_store(written: str, scheme: str) -> ObjectStore:
    """Return an object store; nothing of an address that is refused is quoted but its scheme."""
    form = f"write {scheme}://{'' if scheme == 'file' else 'BUCKET'}/PATH"
    try:
        parts = urlsplit(written)
        asked = dict(
            parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
        )
    except ValueError:
        raise Mistake("the address of the source cannot be read", form) from None
    user, at, _ = parts.netloc.rpartition("@")
    if (at and not scheme.startswith("abfs")) or ":" in user:
        raise Mistake(
            f'the address "{scheme}://…" has credentials in it',
            "leave them out of the policy: they are taken from the environment",
        )
    if not set(asked) <= set(_STORE_PARAMETERS):
        raise Mistake(
            "the address has a parameter that is not known",
            f"the parameters of an address are {', '.join(_STORE_PARAMETERS)}",
        )
    named = bool(parts.netloc) != (scheme == "file")
    if not written.isprintable() or parts.fragment or not named or not parts.path.strip("/"):
        raise Mistake("the address of the source cannot be read", form)
    return ObjectStore(written)


def _parse_delta(folder: str) -> DeltaTables:
    if not folder.strip("/. ") or "://" in folder:
        raise Mistake(
            "the source delta:… names no folder", "write delta:FOLDER, with a table in each"
        )
    return DeltaTables(folder)


def _parse_iceberg(written: str) -> IcebergTables:
    """Return a namespace of a catalogue; nothing of what is refused is quoted, it may be a password."""
    found = _CATALOGUE.fullmatch(written) if written.isprintable() else None
    if found is None:
        raise Mistake(
            "the source iceberg:… names no namespace of a catalogue",
            "write iceberg://CATALOG/NAMESPACE; where the catalogue is, and what opens it, stands in"
            " pyiceberg's configuration",
        )
    return IcebergTables(found[1], tuple(found[2].strip("/").split("/")))


def _parse_schemas(written: object) -> tuple[str, ...]:
    if not isinstance(written, list) or not written:
        raise Mistake(f"expected a list of schemas, not {quote(written)}")
    schemas = tuple(map(parse_column_name, written))
    if len(set(schemas)) < len(schemas):
        raise Mistake("a schema is listed twice", "list each once, in the order to look in")
    return schemas
