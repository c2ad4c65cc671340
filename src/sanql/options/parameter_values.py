"""Values of parameters: which there are, and what is said of those that are no constants."""

from __future__ import annotations

from typing import Any

from sanql.errors import Refused

SCALARS = ("bool", "int", "uint", "float", "str")  # of numpy, before their widths


def own_scalar(value: object) -> object:
    """Return a scalar of numpy or a moment of pandas as Python's own value; all else as it is.

    They are known by their names, so that neither library is needed; what they turn into is checked
    like any value.
    """
    kind: Any = type(value)
    scalar: Any = value
    library = kind.__module__.partition(".")[0]
    if library == "numpy" and kind.__name__.rstrip("_0123456789") in SCALARS:
        return scalar.item()
    if library == "pandas" and kind.__name__ == "Timestamp" and not scalar.nanosecond:
        return scalar.to_pydatetime()  # one with nanoseconds is no timestamp here
    return value


def parameters_invalid(parameters: object) -> Refused:
    """Return the refusal of what is neither a list of values nor values by name."""
    return Refused(
        "parameter_invalid",
        f"parameters are a list of values, or values by name, and were given as "
        f"{type(parameters).__name__}",
        "pass parameters=[40, 'Bern'] for ? and $1, or parameters={'age': 40} for $age and :age",
    )


def no_constant(name: str, value: object) -> Refused:
    """Return the refusal of a value that SQL could not have in place of a parameter."""
    return Refused(
        "parameter_invalid",
        f"the parameter {name} is {type(value).__name__}, which is no constant of SQL",
        "pass None, True or False, a number, a text, a date or a datetime",
    )


def no_decimal(name: str) -> Refused:
    """Return the refusal of a fraction that goes on forever."""
    return Refused(
        "parameter_invalid",
        f"the parameter {name} is a fraction that no decimal number equals",
        "divide in the question: $numerator / $denominator",
    )
