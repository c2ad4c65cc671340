"""Which sources a policy may name."""

from __future__ import annotations

import re
from pathlib import PurePath

from sanql.policy.section import Mistake, quote
from sanql.policy.values import parse_text

SUPPORTED = "a folder of .parquet or .csv files, one such file, or a .duckdb file"
FILE_SUFFIXES = (".parquet", ".csv", ".duckdb")

# Only names that are plainly files: a folder may well be called `release-1.2`.
_OTHER_FILE_SUFFIXES = {
    *(".arrow", ".avro", ".feather", ".ipc", ".orc", ".pq"),
    *(".json", ".jsonl", ".ndjson", ".toml", ".tsv", ".txt", ".xls", ".xlsx"),
    *(".db", ".dta", ".sas7bdat", ".sav", ".sqlite", ".sqlite3"),
    *(".bz2", ".gz", ".xz", ".zip", ".zst"),
}


def parse_source(written: object) -> str:
    """Return the source as written, once its form is one that can be opened."""
    source = parse_text(written)
    scheme = re.match(r"[A-Za-z][A-Za-z0-9+.-]+:", source)
    if scheme:  # only the scheme is quoted: what follows may hold a password
        raise Mistake(f'a source "{scheme.group()}…" is not available yet', f"name {SUPPORTED}")
    if re.search(r"[*?\[\]{}]", source):
        raise Mistake(f"the source {quote(source)} is a pattern", "name the folder itself")
    suffix = PurePath(source).suffix.lower()
    if suffix in _OTHER_FILE_SUFFIXES and not source.endswith("/"):
        raise Mistake(f"a source {quote(source)} is not available yet", f"name {SUPPORTED}")
    return source
