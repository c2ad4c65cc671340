"""Answers, balances and records as tables for a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from sanql.cli.asked_tables import asked_in_words, became
from sanql.cli.exact_tables import cells_in_words, verified_lines
from sanql.numbers import number_lower, show_lower, show_upper
from sanql.results import PacedBudget
from sanql.visible import visible

if TYPE_CHECKING:
    from sanql.results import Answer, Balance, Budget

FIGURES = ("integer", "real", "decimal")  # types that are lined up on the right
RENYI_SHARE = (
    "Rényi accounting keeps an eighth of each delta for its conversion (half, in ledgers of 0.1.0)"
)


def console() -> Console:
    """Return the terminal; piped output is not cut at a width nobody chose."""
    terminal = Console(highlight=False)
    return terminal if terminal.is_terminal else Console(highlight=False, width=160)


def print_answer(answer: Answer, terminal: Console | None = None) -> None:
    """Print rows with their intervals, and the price under them."""
    out = terminal or console()
    table = Table(show_edge=False, header_style="bold")
    for column in answer.content.columns:
        figure = column.name in answer.intervals or column.type.startswith(FIGURES)
        table.add_column(_safe(column.name), justify="right" if figure else "left")
    for row in answer.cells():
        table.add_row(*(_safe(cell) for cell in row))
    out.print(table)
    if not answer.rows:
        out.print("(no rows)", style="dim")
    for line in answer.footer():
        out.print(_safe(line), style="dim")


def print_rows(rows: Sequence[Mapping[str, object]]) -> None:
    """Print rows that all have the same names, which head the columns."""
    table = Table(*(_safe(name) for name in rows[0]), show_edge=False, header_style="bold")
    for row in rows:
        table.add_row(*("" if value is None else _safe(str(value)) for value in row.values()))
    console().print(table)


def print_balances(
    balances: Sequence[Balance],
    terminal: Console | None = None,
    others: Sequence[tuple[str, Budget]] = (),
    renyi: bool = False,
) -> None:
    """Print every account: budget, spent at most, left at least; then analysts without one."""
    table = Table(show_edge=False, header_style="bold")
    for heading in ("account", "budget", "spent at most", "left at least"):
        table.add_column(heading)
    for balance in balances:
        whole = _pair(balance.budget.epsilon, balance.budget.delta, show_lower)
        table.add_row(
            _safe(balance.named),
            "; ".join([whole, *balance.opened_in_words]),
            _pair(balance.spent_upper.epsilon, balance.spent_upper.delta, show_upper),
            _pair(balance.remaining_lower.epsilon, balance.remaining_lower.delta, show_lower),
        )
    for name, spent in others:
        shown = _pair(spent.epsilon, spent.delta, show_upper)
        table.add_row(_safe(f"analyst {name}"), "none of their own", shown, "as the dataset has")
    out = terminal or console()
    out.print(table)
    if renyi:
        out.print(RENYI_SHARE, style="dim")


def balances_to_dicts(
    balances: Sequence[Balance], others: Sequence[tuple[str, Budget]] = ()
) -> list[dict[str, Any]]:
    """Return accounts as plain data; every number is rounded to the safe side."""
    return [
        {
            "account": balance.account,
            "kind": balance.kind,
            "budget": _numbers(balance.budget.epsilon, balance.budget.delta, show_lower),
            "spent": _numbers(balance.spent_upper.epsilon, balance.spent_upper.delta, show_upper),
            "remaining": _numbers(
                balance.remaining_lower.epsilon, balance.remaining_lower.delta, show_lower
            ),
            "reserved": balance.reserved,
            **({} if balance.protects is None else {"protects": balance.protects}),
            **_tranches(balance),
        }
        for balance in balances
    ] + [
        {
            "account": name,
            "kind": "analyst",
            "budget": None,
            "spent": _numbers(spent.epsilon, spent.delta, show_upper),
            "remaining": None,
        }
        for name, spent in others
    ]


def _tranches(balance: Balance) -> dict[str, Any]:
    match balance.budget:
        case PacedBudget(tranche=tranche, per=per):
            opened = {"epsilon": number_lower(balance.open or Fraction(0))}
            return {"open": opened, "tranche": {"epsilon": number_lower(tranche), "per": per}}
        case _:
            return {}


def print_records(
    records: Sequence[dict[str, Any]], terminal: Console | None = None, *, wide: bool = False
) -> None:
    """Print the ledger's records, one a line; texts of questions whole where it may be `wide`."""
    table = Table(show_edge=False, header_style="bold")
    for heading in ("record", "time (UTC)", "kind", "content", "hash"):
        table.add_column(heading)
    ends = {
        record["body"].get("reservation"): record["kind"]
        for record in records
        if record["kind"] in ("spend", "void")
    }
    charges = {record["sequence"] for record in records if record["kind"] == "reserve"}
    for record in records:
        voided = record["kind"] == "void" and record["body"].get("reservation") in charges
        content = _content(record, ends.get(record["sequence"], "open"))
        if "question" in record:
            content += (
                f"; {became(record['question'])}: {asked_in_words(record['question'], wide=wide)}"
            )
        table.add_row(
            str(record["sequence"]),
            _safe(str(record["body"].get("time", ""))[:19].replace("T", " ")),
            record["kind"],
            _safe(f"{content}; the charge stays" if voided else content),
            str(record["hash"])[:12] + "…",
        )
    (terminal or console()).print(table)


def _public(body: dict[str, Any]) -> list[str]:
    """Return which tables a record calls public, in words."""
    return [f"public: {', '.join(body['public'])}"] if body.get("public") else []


def _columns(body: dict[str, Any]) -> list[str]:
    """Return which columns a record lists, in words."""
    listed = body.get("columns", {}).items()
    return [f"columns of {table}: {', '.join(names)}" for table, names in listed]


def _content(record: dict[str, Any], end: str) -> str:
    """Return a record in words; `end` is the kind of record that settled it, if any did."""
    body = record["body"]
    match record["kind"]:
        case "reserve":
            asked = f"{body['analyst']} asks {str(body['question'])[:12]}…"
            return f"{asked}: {_recorded(body['charge'])}"
        case "version":
            return f"version {body['version']} of the data: {', '.join(sorted(body['stamps']))}"
        case "exact":
            became = {"spend": "released", "void": "asked for, void"}.get(end, "asked for")
            return (
                f"{body['analyst']} has [exact.{body['name']}] {became}, "
                f"{cells_in_words(body['cells'])}: "
                f"epsilon {body['epsilon']}, delta {float(Fraction(body['delta'])):.3g} (DDP)"
            )
        case "spend" | "void":
            why = f": {body['refusal']}" if "refusal" in body else ""
            if not why and "ended_by" in body:
                why = f", ended by the {body['ended_by']}"
            if not why and "reason" in body:
                why = f": {body['reason']}"
            return f"of record {body.get('reservation')}{why}"
        case "format":
            return f"goes on in format {body['format']}"
        case "erase":
            count = len(body["reservations"])
            questions = f"{count} question{'' if count == 1 else 's'}"
            return f"what was typed with {questions} is erased, by {body['by']}"
        case "checkpoint":
            return f"the records so far add up to {body['sha256'][:12]}…"
        case "failures_reset":
            return "failures so far count no more"
        case "open":
            terms = [f"{name}: {written}" for name, written in body["terms"].items()]
            what = "a scratch account of" if "scratch" in body else "of"
            count = sum(map(len, body.get("columns", {}).values()))
            columns = [f"{count} columns"] if count else []
            return "; ".join([f"{what} {body['dataset']}", *terms, *_public(body), *columns])
        case "tables":
            units = [f"unit of {name}: {unit}" for name, unit in body["private"].items()]
            return f"declared since: {'; '.join([*units, *_public(body), *_columns(body)])}"
        case "tranche":
            return (
                f"a tranche is open for {body['period']}, one a {body['per']}, by {body['author']}"
            )
        case "rename":
            what = body["table"] if body["column"] is None else f"{body['table']}.{body['column']}"
            return f"{what} is called {body['to']}; by {body['author']}, because: {body['reason']}"
        case "limits":
            accounts = [f"{_of_kind(a)}: {_recorded(a)}" for a in body["accounts"]]
            return "; ".join([f"{body['accounting']} accounting", *accounts])
        case "approve":
            return f"{body['officer']} has signed the limits {body['limits'][:12]}…"
        case "claim":
            after = f", after {', '.join(body['after'])}" if body["after"] else ""
            closed = "; exact answers are closed" if "exact" in body else ""
            return (
                f"the data at {body['source']} belong to account {body['account']}{after}{closed}"
            )
        case "move":
            return f"the account goes on in {body['ledger']}"
        case "pin":
            return f"the head is pinned at {body['head'] or 'no second place'}"
        case "merge":
            count = len(body["charges"])
            charges = f"{count} charge{'' if count == 1 else 's'}"
            return f"{charges} of account {body['account']}, counted here"
        case "restore":
            newest = max(head["sequence"] for head in body["lost"])
            spent = "all that was allowed" if body["spent"] is None else _recorded(body["spent"])
            return (
                f"records after {body['kept']['sequence']} are missing, up to {newest} or later: {spent}"
                f" counts as spent; by {body['by']}, because: {body['reason']}"
            )
        case "retire":
            return f"the account is closed ({body['statement']}): {body['reason']}"
        case _:
            return ", ".join(sorted(body))


def _recorded(pair: dict[str, Any]) -> str:
    """Return the epsilon and delta of a record; the export has their exact fractions."""
    return _pair(Fraction(pair["epsilon"]), Fraction(pair["delta"]), show_upper)


def print_verification(found: Mapping[str, Any], terminal: Console | None = None) -> None:
    """Print that the ledger is sound, and what was recomputed, from the auditor's plain data."""
    out = terminal or console()
    out.print(f"{found['records']} records, every hash, charge and balance recomputed: sound")
    if found["scratch"]:
        out.print("  a scratch account: charges are rehearsed, nothing was ever answered")
    for account in found["accounts"]:
        spent = _pair(
            Fraction(str(account["epsilon"])), Fraction(str(account["delta"])), show_upper
        )
        charges = f"{account['charges']} charge{'' if account['charges'] == 1 else 's'}"
        out.print(_safe(f"  {_of_kind(account)}: {charges}, {spent}"))
    for line in verified_lines(found["exact"]):
        out.print(_safe(f"  {line}"))
    texts = found["texts"]
    if texts["erased"] or texts["missing"]:
        gone = f"{texts['erased']} erased, {texts['missing']} missing"
        out.print(f"  texts of questions: {texts['kept']} as they were typed, {gone}")
    for loss in found["missing"]:
        lost = f"{loss['records']} records or more after record {loss['after']} are missing"
        out.print(_safe(f"  {lost}, by the owner's word: {loss['reason']}"))


def _of_kind(account: Mapping[str, Any]) -> str:
    """Return which account is meant, and of which kind of unit where there are several."""
    whom = f" ({account['protects']})" if "protects" in account else ""
    return f"{account['kind']} {account['name']}{whom}"


def _pair(epsilon: Any, delta: Any, show: Any) -> str:
    return f"epsilon {show(epsilon)}, delta {show(delta)}"


def _numbers(epsilon: Any, delta: Any, show: Any) -> dict[str, float]:
    return {"epsilon": float(show(epsilon)), "delta": float(show(delta))}


def _safe(text: str) -> str:
    """Return text that cannot steer the terminal: control characters are shown, not sent."""
    return escape(visible(text))
