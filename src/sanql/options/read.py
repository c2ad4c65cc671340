"""Reading options, from the clause in the text and from those passed with it → AnswerOptions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sanql.errors import Place, Refused
from sanql.options.table import OPTIONS, AnswerOptions, Option
from sanql.options.values import CONFIDENCE, Accuracy, flag, parse_accuracy

_BY_NAME = {option.name: option for option in OPTIONS}
_PASSED = {option.name: option for option in OPTIONS if option.flags}
_IN_CLAUSE = {option.name: option for option in OPTIONS if option.clause}
_SYNONYMS = {option.synonym: option.name for option in OPTIONS if option.synonym}
_LIMITS = ("max_groups_contributed", "max_rows_contributed", "max_values_contributed")
_GROUPS = ("null_group",)
_DISPLAY = ("other", "nonnegative", "rounded")  # what is done to noisy values only


@dataclass(frozen=True)
class ClauseOption:
    """One option of a text's clause, as typed."""

    name: str
    text: str
    quoted: bool  # whether it is one text in quotes
    place: Place


def read_options(
    in_text: Mapping[str, str], passed: Mapping[str, object] | None = None
) -> AnswerOptions:
    """Return the options of a question, given in its text or passed beside it; refuse what clashes.

    >>> read_options({"epsilon": "0.5"}, {"confidence": "0.9"}).epsilon
    Fraction(1, 2)
    """
    passed_values = {name: value for name, value in (passed or {}).items() if value is not None}
    unknown = [name for name in passed_values if name not in _PASSED]
    if unknown:
        raise _unknown(unknown[0], _PASSED)
    typed = _given_once(in_text, passed_values)
    exact = _asks_exactly(typed)
    read = {name: _BY_NAME[name].read(value) for name, value in typed.items() if name != "release"}
    _check_together(read)
    accuracy = _accuracy(typed)
    whole = read | {"confidence": _confidence(read, accuracy), "accuracy": accuracy, "exact": exact}
    return AnswerOptions(**whole)


def read_clause(clause: Iterable[ClauseOption]) -> dict[str, str]:
    """Return the options of a text's clause by name, as typed; refuse those that are not known."""
    options: dict[str, str] = {}
    for option in clause:
        typed = option.name.lower()
        name = _SYNONYMS.get(typed, typed)
        if name not in _IN_CLAUSE:
            raise _unknown(option.name, _IN_CLAUSE).at(option.place)
        if name in options:
            refused = Refused(
                "option_twice", f"the privacy option {name} is given twice", "give it once"
            )
            raise refused.at(option.place)
        _check_quoted(name, option)
        if name in _LIMITS and not option.quoted and option.text.upper() == "NULL":
            continue  # no limit of the question's own: the policy's holds
        options[name] = option.text
    return options


def _check_quoted(name: str, option: ClauseOption) -> None:
    if name == "other" and not option.quoted:
        raise Refused(
            "other_invalid",
            "the privacy option other names a row, and is not one text in quotes",
            "write, for example, other = '(other)'",
            option.place,
        )


def _unknown(name: str, known: Mapping[str, Option]) -> Refused:
    return Refused(
        "option_unknown",
        f"the privacy option {name[:60]} is not known",
        f"the options are {', '.join(known)}",
    )


def _given_once(in_text: Mapping[str, str], passed: Mapping[str, object]) -> dict[str, object]:
    """Return options given in the question or beside it; two different values are refused."""
    for name, text in in_text.items():
        if name in passed and not _is_same(text, passed[name]):
            raise Refused(
                "option_twice",
                f"{name} is {text} in the question and {str(passed[name])[:40]} beside it",
                "give it once",
            )
    return {**in_text, **passed}


def _is_same(text: str, passed: object) -> bool:
    return text.upper() == str(passed).upper() if isinstance(passed, bool) else text == str(passed)


def _asks_exactly(typed: Mapping[str, object]) -> bool:
    """Return whether an exact answer is asked for; refuse what clashes with one."""
    release, passed = typed.get("release"), flag("exact")(typed.get("exact") or False)
    if release not in (None, "exact", "noisy"):
        raise Refused(
            "release_unknown",
            f"release={str(release)[:40]!r} is not known",
            "write release='exact', or leave it out for an answer with noise",
        )
    if release == "noisy" and passed:
        raise Refused(
            "option_twice",
            "the question asks for release='noisy' and an exact answer at once",
            "give it once",
        )
    if not passed and release != "exact":
        return False
    _check_no_noise_asked(typed)
    return True


def _check_no_noise_asked(typed: Mapping[str, object]) -> None:
    """Refuse whatever is asked of noise where an answer is to have none."""
    free = ("release", "exact", "privacy_unit_column", "group_selection_strategy")
    given = [name for name, value in typed.items() if name not in free and value is not False]
    if given and given[0] in _GROUPS:
        raise Refused(
            "exact_form",
            f"{given[0]} is given with an exact answer, whose groups are those that the owner declares",
            f"leave {given[0]} out, or ask with noise",
        )
    if given and given[0] in _DISPLAY:
        raise Refused(
            "exact_form",
            f"{given[0]} is given with an exact answer, which shows every number as it is",
            f"leave {given[0]} out, or ask with noise",
        )
    if given:
        raise Refused(
            "exact_price",
            f"{given[0]} is given with an exact answer, which has no noise to choose: its "
            "guarantee is the one the owner accepts",
            f"leave {given[0]} out, or ask with noise",
        )


def _check_together(read: Mapping[str, Any]) -> None:
    """Refuse options that cannot both be met."""
    if "epsilon" in read and "accuracy" in read:
        raise Refused(
            "epsilon_and_accuracy",
            "epsilon and accuracy are both given",
            "give one: accuracy finds the least epsilon by itself",
        )
    selecting, epsilon = read.get("group_selection_epsilon"), read.get("epsilon")
    if selecting is not None and epsilon is not None and selecting >= epsilon:
        raise Refused(
            "group_selection_epsilon",
            f"group_selection_epsilon = {selecting} is not below the question's epsilon, {epsilon}, of "
            "which it is a part",
            "leave it out: San divides epsilon between keys and numbers itself",
        )
    if "rounded" in read and "accuracy" in read:
        raise Refused(
            "rounded_and_accuracy",
            "accuracy asks for narrow intervals, and rounded widens them",
            "give epsilon with rounded, or round by hand: ROUND(COUNT(*), -1)",
        )


def _accuracy(typed: Mapping[str, object]) -> Accuracy | None:
    if "accuracy" not in typed:
        return None
    return parse_accuracy(typed["accuracy"], typed.get("confidence"))


def _confidence(read: Mapping[str, Any], accuracy: Accuracy | None) -> Fraction:
    """Return the confidence of the intervals: as asked, else the accuracy's, else 0.95."""
    asked: Fraction | None = read.get("confidence")
    if asked is not None:
        return asked
    return accuracy.confidence if accuracy is not None else CONFIDENCE
