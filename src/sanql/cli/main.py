"""The command `sanql`; each subcommand is imported when it is used, so that help is quick."""

from __future__ import annotations

import signal
import sys
from importlib import import_module
from typing import Any

import click

from sanql.interrupts import NOTHING, Terminated
from sanql.visible import visible

COMMANDS = {
    "init": ("sanql.cli.policy", "init", "Draft a policy from the schemas of data files."),
    "import": ("sanql.cli.policy", "import_", "Draft a policy from SmartNoise metadata."),
    "check": ("sanql.cli.policy", "check", "Check a policy and its source; report every fault."),
    "rehearse": (
        "sanql.cli.rehearse",
        "rehearse",
        "Try questions for the owner: true against private answers.",
    ),
    "suggest": (
        "sanql.cli.suggest",
        "suggest",
        "Suggest contribution limits for a table, privately.",
    ),
    "profile": (
        "sanql.cli.profile",
        "profile",
        "Measure once, privately, how many rows and groups units have.",
    ),
    "continual": (
        "sanql.cli.continual",
        "continual",
        "Release counts period by period, at one price.",
    ),
    "prepare": (
        "sanql.cli.prepare",
        "prepare",
        "Copy the data for quick questions about many rows.",
    ),
    "schema": ("sanql.cli.schema", "schema", "Show what can be asked about."),
    "query": ("sanql.cli.ask", "query", "Ask a question and pay for the answer."),
    "shell": ("sanql.cli.shell", "shell", "Ask one question after the other, prices first."),
    "batch": ("sanql.cli.batch", "batch", "Ask the questions of a file for one epsilon."),
    "explain": ("sanql.cli.ask", "explain", "Show the price and exactness of an answer first."),
    "history": ("sanql.cli.history", "history", "Show what you have asked, and its answers again."),
    "refresh": ("sanql.cli.account", "refresh", "Say that the data have a new version."),
    "budget": ("sanql.cli.account", "budget", "Show what is spent and what is left."),
    "ledger": ("sanql.cli.ledger", "ledger", "List, verify or export the account; erase texts."),
    "report": ("sanql.cli.report", "report", "Write what was promised, spent and learned."),
    "audit": ("sanql.cli.audit", "audit", "Attack the system through its own doors."),
    "account": (
        "sanql.cli.accounts",
        "account",
        "Show, move, merge or close the account of the data.",
    ),
    "serve": ("sanql.cli.serve", "serve", "Serve datasets to people who never touch the data."),
    "reload": ("sanql.cli.serve", "reload", "Have a server read its policies again."),
    "user": ("sanql.cli.user", "user", "Let people ask: add, list, rotate or revoke them."),
    "demo": ("sanql.cli.demo", "demo", "Make a small hospital and ask it questions."),
    "docs": ("sanql.cli.docs", "docs", "Show a page of the documentation."),
    "theory": ("sanql.cli.theory", "theory", "Compute with definitions of privacy."),
    "certify": (
        "sanql.cli.certify",
        "certify",
        "Certify exact releases under a declared adversary.",
    ),
}


class LateGroup(click.Group):
    """A group whose commands are imported when they are called."""

    def main(self, *args: Any, **extra: Any) -> Any:
        """Run a command; what was typed wrongly is quoted so that it cannot steer the terminal."""
        try:
            result = super().main(*args, **extra | {"standalone_mode": False})
        except click.ClickException as error:
            error.message = visible(error.message, lines=True)  # type: ignore[misc]
            error.show()
            sys.exit(error.exit_code)
        except click.Abort as abort:
            _say_interrupted(abort.__cause__)
            sys.exit(128 + signal.SIGINT)
        except Terminated as terminated:
            _say_interrupted(terminated)
            raise
        sys.exit(result if isinstance(result, int) else 0)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands, in the order of the flow."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a command."""
        if cmd_name not in COMMANDS:
            return None
        module, attribute, _ = COMMANDS[cmd_name]
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, words) for name, (_, _, words) in COMMANDS.items()])


def _say_interrupted(interrupt: BaseException | None) -> None:
    """Say what had been charged; an interrupt without a note came before anything could be."""
    for note in getattr(interrupt, "__notes__", [NOTHING]):
        click.echo(visible(note), err=True)
    # Python keeps in mind that an interrupt left a text that ran (as dataclasses do while they are
    # imported) until the next text has run, and would end by a signal in place of the exit code.
    eval("None")  # noqa: S307  (a constant)


@click.group(cls=LateGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name=None, version="0.1.0", prog_name="sanql")
def main() -> None:
    """SanQL: private statistics from SQL, with a proven guarantee and a durable account."""
