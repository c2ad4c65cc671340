"""Run the notebooks, each in a folder with the demo's hospital, and keep what their cells show.

`make docs` does, before it writes the site. Noise is drawn anew each time.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

from sanql.demo import make_hospital

NOTEBOOKS = Path(__file__).parents[1] / "docs" / "notebooks"


def main() -> None:
    """Run every notebook from its first cell, and write it with what its cells show."""
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        notebook = nbformat.read(path, as_version=4)
        with tempfile.TemporaryDirectory() as folder:
            make_hospital(Path(folder) / "demo")
            os.environ["XDG_DATA_HOME"] = str(Path(folder) / "registry")
            NotebookClient(
                notebook, resources={"metadata": {"path": folder}}, timeout=300
            ).execute()
            for cell in notebook.cells:
                cell.metadata.clear()  # when each was run
            text = nbformat.writes(notebook).replace(f"{folder}/", "")
        path.write_text(text + "\n", encoding="utf-8")
        print(f"{path.name}: {len(notebook.cells)} cells")


if __name__ == "__main__":
    main()
