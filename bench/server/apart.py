"""A process that asks without a server: `python -m bench.server.apart POLICY NUMBER COUNT TURN`.

It prints when it is ready, begins when a line comes in, and prints how long each question took.
"""

from __future__ import annotations

import json
import sys
import time

from bench.server.town import names, questions


def main() -> None:
    """Ask this process's questions."""
    from sanql import open as open_policy

    policy, number, count, turn = sys.argv[1], *map(int, sys.argv[2:5])
    with open_policy(policy, analyst=names()[number]) as san:
        san.query(
            f"SELECT COUNT(*) FROM people WHERE age > {turn % 90} AND age < 99", epsilon="0.01"
        )
        print("ready", flush=True)
        sys.stdin.readline()
        taken = []
        for sql in questions(number, count, turn):
            began = time.perf_counter()
            san.query(sql, epsilon="0.01")
            taken.append(time.perf_counter() - began)
        print(json.dumps(taken), flush=True)


if __name__ == "__main__":
    main()
