"""Draw docs/demo.svg: the demo's own output, as a terminal shows it."""

from __future__ import annotations

import io
import tempfile
from pathlib import Path

from rich.console import Console

from sanql.cli.tour import tour


def main() -> None:
    """Run the demo in a fresh folder and save what it prints."""
    out = Console(
        record=True,
        width=118,
        file=io.StringIO(),
        force_terminal=True,
        color_system="truecolor",
        highlight=False,
    )
    with tempfile.TemporaryDirectory() as folder:
        tour(Path(folder) / "demo", out)
    text = out.export_svg(title="make demo", clear=False)
    Path(__file__).with_name("demo.svg").write_text(
        text.replace(folder + "/", ""), encoding="utf-8"
    )


if __name__ == "__main__":
    main()
