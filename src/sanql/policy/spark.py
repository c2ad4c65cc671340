"""Where questions are computed: by this machine, or by the executors of a Spark cluster."""

from __future__ import annotations

import re

from sanql.policy.model import SparkCluster
from sanql.policy.section import Mistake, Section, quote
from sanql.policy.values import one_of, parse_text

_KINDS = ("local", "spark")
_KIND_REMEDY = 'write kind = "spark", or leave it out: this machine computes'
_MASTER_REMEDY = (
    'write "local[2]", "spark://HOST:PORT", "local-cluster[2,1,1024]" or "sc://HOST:PORT"'
)
_LAYOUT_REMEDY = (
    "name the folder that `sanql prepare` writes the layout into, the same one everywhere"
)
_MASTERS = re.compile(
    r"local(\[(\*|[1-9]\d{0,3})\])?|local-cluster\[[1-9]\d{0,3},[1-9]\d{0,3},[1-9]\d{0,6}\]"
    r"|spark://[\w.:,-]+|sc://[\w.:/;=-]+|k8s://[\w.:/-]+|yarn",
    re.ASCII,
)


def read_spark(engine: Section) -> SparkCluster | None:
    """Return the cluster that a policy chooses; None where it leaves questions to this machine."""
    kind = engine.read("kind", one_of(_KINDS), _KIND_REMEDY)
    if kind != "spark":
        for key in ("master", "layout"):
            if key in engine.content:
                engine.fault(
                    key, f"{key} is for the engine 'spark'", f"remove it, or {_KIND_REMEDY}"
                )
        return None
    master = engine.require("master", _parse_master, _MASTER_REMEDY)
    layout = engine.require("layout", _parse_layout, _LAYOUT_REMEDY)
    if master is None or layout is None:
        return None
    return SparkCluster(master, layout)


def _parse_master(written: object) -> str:
    if not isinstance(written, str) or not _MASTERS.fullmatch(written):
        raise Mistake(f"{quote(written)} is no master of Spark's that is known here")
    return written


def _parse_layout(written: object) -> str:
    if isinstance(written, str) and re.match(r"\w+://", written):
        raise Mistake(
            f"{quote(written)} is in an object store, and executors open files",
            "name a folder that every machine mounts at the same place",
        )
    return parse_text(written)
