"""Snapshots: data that are no files here, kept as Parquet files that San reads."""

from sanql.sources.snapshots.delta import look_at_delta, snapshot_delta
from sanql.sources.snapshots.folder import check_complete
from sanql.sources.snapshots.frames import snapshot_frames
from sanql.sources.snapshots.iceberg import look_at_iceberg, snapshot_iceberg
from sanql.sources.snapshots.manifest import Manifest, TableOrigin, read_manifest
from sanql.sources.snapshots.object_store import look_at_store, snapshot_store
from sanql.sources.snapshots.postgres import look_at_database, snapshot_database
from sanql.sources.snapshots.wanted import REFRESH, lacking

__all__ = [
    "REFRESH",
    "Manifest",
    "TableOrigin",
    "check_complete",
    "lacking",
    "look_at_database",
    "look_at_delta",
    "look_at_iceberg",
    "look_at_store",
    "read_manifest",
    "snapshot_database",
    "snapshot_delta",
    "snapshot_frames",
    "snapshot_iceberg",
    "snapshot_store",
]
