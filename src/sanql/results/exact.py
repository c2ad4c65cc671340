"""Exact answers and what is explained of them, as they are shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sanql.results.answer import Answer
from sanql.results.certificate import ExactCertificate
from sanql.results.statement import ReceivedStatement, ShownStatement
from sanql.visible import visible


@dataclass(frozen=True, repr=False)
class ExactAnswer(Answer):
    """Exact statistics with the certificate of the release they are made of."""

    certificate: ExactCertificate  # type: ignore[assignment]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return super().to_dict() | {"release": "exact"}

    @classmethod
    def _certificate_from_dict(cls, shape: Mapping[str, Any]) -> Any:
        return ExactCertificate(shape)

    def footer(self) -> list[str]:
        """Return what stands under the rows: no limits cut exact cells."""
        return [visible(self.summary())]

    def summary(self) -> str:
        """Return one line: that there is no noise, what differs from SQL, and the guarantee."""
        return "; ".join(
            [
                "exact, no noise",
                *self.as_of(),
                *self.certificate.differences,
                "a repeat of recorded cells" if self.cached else "now on record",
                self.certificate.guarantee(),
                *self.certificate.in_all(),
                "no budget is spent",
            ]
        )


@dataclass(frozen=True, repr=False)
class ExactExplanation:
    """What an exact answer would be made of and guarantee; nothing was read for it."""

    declaration: str
    cells: int
    certificate: ExactCertificate
    cached: bool
    statement: ShownStatement
    noise: str

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data, from which it can be rebuilt."""
        return {
            "release": "exact",
            "declaration": self.declaration,
            "cells": self.cells,
            "cached": self.cached,
            "certificate": self.certificate.to_dict(),
            "with_noise": self.noise,
            "sql": self.statement.sql,
            "parameters": [str(value) for value in self.statement.parameters],
            "sql_in_full": self.statement.in_full(),
        }

    @classmethod
    def from_dict(cls, shape: Mapping[str, Any]) -> ExactExplanation:
        """Return the explanation that `to_dict` wrote."""
        return cls(
            declaration=shape["declaration"],
            cells=shape["cells"],
            certificate=ExactCertificate(shape["certificate"]),
            cached=bool(shape["cached"]),
            statement=ReceivedStatement.from_dict(shape),
            noise=shape["with_noise"],
        )

    def meaning_at(self, prior: float) -> list[str]:
        """Return what somebody of the class and of this belief may come to believe."""
        return [visible(self.certificate.meaning_at(prior))]

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        recorded = "recorded already" if self.cached else "not released yet"
        cells = f"{self.cells:,} {'cell' if self.cells == 1 else 'cells'}"
        lines = "\n".join(
            [
                f"exact, no noise: from {cells}, {recorded}",
                *self.certificate.sentences(),
                *([self.noise] if self.noise else []),
            ]
        )
        return visible(lines, lines=True)
