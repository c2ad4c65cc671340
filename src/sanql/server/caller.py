"""Whoever a request is from, as their credential says: never as the request says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sanql.account import Person, Role
from sanql.errors import AccessDenied
from sanql.server.datasets import Dataset


@dataclass(frozen=True)
class Caller:
    """A person, in each dataset that knows them."""

    name: str
    known_to: Mapping[str, tuple[Dataset, Person]]

    @property
    def key(self) -> str:
        """What tells them from everybody else: a name is one person's in one dataset only."""
        return next(f"{dataset}/{person.name}" for dataset, (_, person) in self.known_to.items())

    def dataset(self, wanted: str | None) -> tuple[Dataset, Person]:
        """Return the dataset that is meant; one that does not know the caller is not there for them."""
        if wanted is None and len(self.known_to) == 1:
            return next(iter(self.known_to.values()))
        if wanted is None:
            raise AccessDenied(
                "dataset_needed",
                f"you may ask several datasets: {', '.join(self.known_to)}",
                'say which: dataset=NAME in Python, --dataset NAME in a command, "dataset": "NAME" in a'
                " body, ?dataset=NAME in an address",
            )
        if wanted not in self.known_to:
            raise unknown_dataset(wanted, self.known_to)
        return self.known_to[wanted]


def check_role(person: Person, *roles: Role) -> None:
    """Refuse what is not for a person's role."""
    if person.role not in roles:
        raise AccessDenied(
            "role_needed",
            f"this is for {' and '.join(f'{role}s' for role in roles)}, and {person.name} is an"
            f" {person.role}",
            "have the data owner add somebody with that role",
        )


def unknown_dataset(wanted: str, known: Mapping[str, object]) -> AccessDenied:
    """Return the refusal of a dataset that is not there, or not for the caller."""
    return AccessDenied(
        "dataset_unknown",
        f"there is no dataset {wanted[:60]!r} that you may ask",
        f"there is: {', '.join(known)}",
    )
