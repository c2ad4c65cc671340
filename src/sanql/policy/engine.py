"""The `[engine]` section of a policy → how much its engine may use, and where it runs."""

from __future__ import annotations

import re
from pathlib import Path

from sanql.policy.keys import (
    DEADLINE_SECONDS_LEAST,
    DEADLINE_SECONDS_MOST,
    ENGINE_DEFAULT,
    KEYS,
    MEMORY_BYTES_LEAST,
    MEMORY_BYTES_MOST,
    WORKERS_MOST,
)
from sanql.policy.model import EngineLimits
from sanql.policy.section import Mistake, Section, quote
from sanql.policy.spark import read_spark
from sanql.policy.values import integer_between, number_between, parse_file, parse_text

_BYTES = {"MB": 10**6, "GB": 10**9, "TB": 10**12, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}


def read_engine(root: Section, folder: Path) -> EngineLimits:
    """Return what the engine may use; a file that is named is found beside the policy."""
    engine = root.section("engine", "write [engine] and its keys below it")
    if engine is None:
        return ENGINE_DEFAULT
    engine.allow(KEYS["engine"])
    memory = engine.read("memory", _parse_memory, 'write a size such as "4GB" or "512MB"')
    deadline = engine.read(
        "deadline",
        number_between(DEADLINE_SECONDS_LEAST, DEADLINE_SECONDS_MOST),
        "write a number of seconds",
    )
    workers = engine.read(
        "workers", integer_between(1, WORKERS_MOST), "write how many questions run at once"
    )
    file = engine.read(
        "encryption_key_file", parse_file, "name a file that holds the key, and nothing else"
    )
    if file is not None and "kind" in engine.content and engine.content["kind"] == "spark":
        engine.fault(
            "encryption_key_file",
            "the layout of a cluster is not encrypted",
            "keep it on encrypted disks, and leave the key out",
        )
    return EngineLimits(
        memory_bytes=ENGINE_DEFAULT.memory_bytes if memory is None else memory,
        deadline_seconds=ENGINE_DEFAULT.deadline_seconds if deadline is None else float(deadline),
        workers=ENGINE_DEFAULT.workers if workers is None else workers,
        spark=read_spark(engine),
        encryption_key_file=None if file is None else str(folder / file),
    )


def _parse_memory(written: object) -> int:
    size = re.fullmatch(r"([0-9]{1,9}) ?([MGT]i?B)", parse_text(written))
    if size is None:
        raise Mistake(f"{quote(written)} is not a size")
    memory = int(size[1]) * _BYTES[size[2]]
    if not MEMORY_BYTES_LEAST <= memory <= MEMORY_BYTES_MOST:
        raise Mistake(
            f"{quote(written)} is not between {MEMORY_BYTES_LEAST // 10**6}MB and"
            f" {MEMORY_BYTES_MOST // 10**12}TB"
        )
    return memory
