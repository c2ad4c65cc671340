"""How many files the system lets a server have open, of which every connection is one."""

from __future__ import annotations

import resource

_OTHER_FILES = 256  # ledger, data, pipes to workers, answers on their way out, newcomers


def connections_that_fit(wanted: int) -> int:
    """Return how many connections can be open at once, where the system lets so many files be.

    A process may raise its own limit up to a hard one. A server that runs out of files could not open its
    ledger, and nobody would be let in until somebody goes; one with fewer connections lets somebody go.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = wanted + _OTHER_FILES
    if soft != resource.RLIM_INFINITY and soft < needed:
        soft = needed if hard == resource.RLIM_INFINITY else min(hard, needed)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    if soft == resource.RLIM_INFINITY:
        return wanted
    return max(1, min(wanted, soft - _OTHER_FILES))
