"""Looks through the memory of processes for a text that whoever asks does not know.

`write FILE` writes rows with it, says so and waits; `look PID…` says which processes have it;
`read FILE…` fails where rows lack it, and `absent FILE…` where a file has its bytes.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

CHUNK = 64 << 20
ROWS = 6_000


def text() -> str:
    """Return the text, which is written down nowhere."""
    return hashlib.sha256(b"a text of every row").hexdigest()[:24]


def write(path: Path) -> None:
    """Write rows whose bytes on the disk do not show it: a hash is made of them in the driver."""
    import pyarrow as pa
    from pyarrow import parquet

    notes = [f"{text()} {number * 7919 % ROWS}" for number in range(ROWS)]
    visits = pa.array([number * 3 % 2_000_000 for number in range(ROWS)], pa.int64())
    parquet.write_table(
        pa.table({"visit": visits, "note": notes}), path, compression="gzip", write_statistics=False
    )
    assert text().encode() not in path.read_bytes()
    print("written", flush=True)
    sys.stdin.read()
    print(len(notes))


def has_it(pid: int) -> bool:
    """Return whether the memory of a process has the text somewhere."""
    wanted = text().encode()
    with Path(f"/proc/{pid}/mem").open("rb", buffering=0) as memory:
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            place, rights, *_ = line.split()
            first, last = (int(each, 16) for each in place.split("-"))
            if not rights.startswith("rw") or "[v" in line:
                continue
            before = b""
            while first < last:
                try:
                    memory.seek(first)
                    chunk = memory.read(min(CHUNK, last - first))
                except OSError:
                    break
                if wanted in before + chunk:
                    return True
                before, first = chunk[-len(wanted) :], first + max(len(chunk), 1)
    return False


def main() -> None:
    """Do what is asked."""
    asked, *given = sys.argv[1:]
    match asked:
        case "write":
            write(Path(given[0]))
        case "look":
            print(*(pid for pid in given if has_it(int(pid))))
        case "read":
            from pyarrow import parquet

            notes = [n for path in given for n in parquet.read_table(path)["note"].to_pylist()]
            assert notes and all(text() in note for note in notes)
            print("there")
        case "absent":
            assert not any(text().encode() in Path(path).read_bytes() for path in given)


if __name__ == "__main__":
    main()
