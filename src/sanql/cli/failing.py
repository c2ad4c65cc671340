"""How commands fail: one line of what and one of remedy, or JSON, with an exit code by kind."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

import click

from sanql.cli.saying import say, say_json
from sanql.errors import PolicyError, Refused, SanqlError
from sanql.interrupts import noting_charges_on_interrupt

TYPED_HERE = {  # remedies that speak of Python's arguments, as options
    "parameter_missing": "--param NAME=VALUE",
    "parameter_mixed": "--param NAME=VALUE",
    "accuracy_needs_rows": "--accuracy '50 over 500 rows'",
    "accuracy_invalid": "--accuracy 50, or --accuracy '2% of 10000 at 0.99'",
}


@contextmanager
def reported(form: str) -> Iterator[None]:
    """Report what goes wrong inside, in the form asked for, and leave with its exit code."""
    try:
        with noting_charges_on_interrupt():
            yield
    except SanqlError as error:
        _report(error, form)
    except BrokenPipeError:
        raise  # nobody reads any more, which is not about a file
    except OSError as fault:
        _report(_unusable(fault), form)
    except ModuleNotFoundError as missing:
        _report(_not_installed(missing), form)


def _report(error: SanqlError, form: str) -> NoReturn:
    if form == "json":
        say_json(error.to_dict())
    else:
        say(words_of(error), err=True)
        if error.code in TYPED_HERE:
            say(f"  at the command line: {TYPED_HERE[error.code]}", err=True)
        elif isinstance(error, PolicyError) and _nothing_named():
            say("  at the command line: -p FILE for a policy, --server URL for a server", err=True)
    sys.exit(error.exit_code)


def _nothing_named() -> bool:
    """Return whether a command that could ask a server looks for a policy where none is."""
    context = click.get_current_context(silent=True)
    if context is None or "server" not in context.params:
        return False
    named = context.params.get("policy") or context.params.get("file")
    return not Path(named or "policy.toml").exists()


def words_of(error: SanqlError) -> str:
    """Return an error in words: what it is about, its code, and the remedy on a line of its own."""
    return f"{_kind(error)} [{error.code}]: {error}"


def _unusable(fault: OSError) -> SanqlError:
    """Return a file that may not be read or written as an error of the command."""
    where = f"{fault.filename}: " if isinstance(fault.filename, str) else ""
    return SanqlError(
        "file_unusable",
        f"{where}{fault.strerror or 'cannot be used'}",
        "see to the rights of the file and its folder, and to the room on the disk",
    )


def _not_installed(missing: ModuleNotFoundError) -> SanqlError:
    """Return what a command needs that is not installed, where data are read, as its error."""
    return Refused(
        "extra_missing",
        f"{missing.name} is not installed, which questions to data here need",
        "install the extra sanql[local], or ask a server: --server URL",
    )


def _kind(error: SanqlError) -> str:
    words = {
        2: "refused",
        3: "budget",
        4: "unavailable",
        5: "ledger",
        6: "ledger",
        7: "access",
        8: "server",
    }
    return "policy" if error.code == "policy_invalid" else words.get(error.exit_code, "error")
