"""What the operating system keeps a worker process from doing.

Three confinements, each of them one-way: the memory it may map, the files it may reach (Landlock, a
Linux facility that needs no privilege), and its life, which ends with its parent's.
"""

from __future__ import annotations

import ctypes
import os
import resource
import select
import shutil
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

# Thread stacks, allocator arenas and the Arrow buffers of one result, beside what DuckDB counts.
_OVERHEAD_BYTES = 192 << 20
_OVERHEAD_BYTES_PER_THREAD = 48 << 20

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_RULE_PATH_BENEATH = 1
_VERSION_FLAG = 1
_PR_SET_NO_NEW_PRIVS = 38
_READ_FILE, _READ_DIR, _TRUNCATE = 1 << 2, 1 << 3, 1 << 14
_WRITE_FILE = 1 << 1
_REMOVE_AND_MAKE = 1 << 4 | 1 << 5 | 1 << 7 | 1 << 8
_FS_BITS_BY_VERSION = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}


def limit_memory(memory_bytes: int, threads: int) -> None:
    """Let this process map no more than `memory_bytes` beyond what it has now and fixed overhead.

    RLIMIT_DATA counts private writable mappings, so reserved but untouchable address space (which
    the allocators take generously) costs nothing, while every byte that could be filled does.
    """
    overhead = _OVERHEAD_BYTES + threads * _OVERHEAD_BYTES_PER_THREAD
    ceiling = _data_bytes() + memory_bytes + overhead
    resource.setrlimit(resource.RLIMIT_DATA, (ceiling, ceiling))


def _data_bytes() -> int:
    with suppress(FileNotFoundError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmData:"):
                return int(line.split()[1]) << 10
    return 256 << 20


def limit_files(readable: Sequence[Path], writable: Sequence[Path]) -> bool:
    """Deny this thread and all it starts every file, TCP port and signal but those; return success.

    False means the kernel has no Landlock: the caller must then do without.
    """
    if sys.platform != "linux":
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    version = libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _VERSION_FLAG)
    if version < 1:
        return False
    filesystem = (1 << _FS_BITS_BY_VERSION.get(version, 16)) - 1
    # Network rights came with version 4, scopes (abstract sockets, signals) with version 6.
    words = [filesystem, 0b11, 0b11][: 1 if version < 4 else 2 if version < 6 else 3]
    attributes = (ctypes.c_uint64 * len(words))(*words)
    rules = libc.syscall(
        _CREATE_RULESET, attributes, ctypes.c_size_t(ctypes.sizeof(attributes)), ctypes.c_uint32(0)
    )
    if rules < 0:
        return False
    write = filesystem & (_READ_FILE | _READ_DIR | _WRITE_FILE | _TRUNCATE | _REMOVE_AND_MAKE)
    for path in readable:
        _allow(libc, rules, path, _READ_FILE)
    for path in writable:
        _allow(libc, rules, path, write)
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    restricted = libc.syscall(_RESTRICT_SELF, rules, ctypes.c_uint32(0))
    os.close(rules)
    return bool(restricted == 0)


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _layout_ = "ms"
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


def _allow(libc: ctypes.CDLL, rules: int, path: Path, rights: int) -> None:
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    rule = _PathBeneath(rights, handle)
    refused = libc.syscall(
        _ADD_RULE, rules, _RULE_PATH_BENEATH, ctypes.byref(rule), ctypes.c_uint32(0)
    )
    os.close(handle)
    if refused:
        raise OSError(ctypes.get_errno(), "landlock_add_rule")


def die_with_parent(parent: int, requests: int, spill: Path) -> None:
    """End this process once `parent` is gone, even in the middle of a query.

    The pipe's end tells it at once. A child that the parent forked may hold the pipe open, so the
    parent's process id is looked at as well. (The kernel's parent-death signal is no use: it fires
    when the *thread* that started the worker ends.)
    """

    def watch() -> None:
        poll = select.poll()
        poll.register(requests, 0)
        while os.getppid() == parent and not poll.poll(500):
            pass
        shutil.rmtree(spill, ignore_errors=True)
        os._exit(0)

    threading.Thread(target=watch, daemon=True).start()
