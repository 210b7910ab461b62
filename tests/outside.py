# SPDX-License-Identifier: BSD-3-Clause
"""Packages outside of nodewise, as the documents show them, and the command line with these installed."""

import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path

DOCUMENTS = Path(__file__).parent.parent / "docs"


def examples(document: str) -> dict[str, str]:
    """The files of a document, by name: blocks that begin with a comment of it."""
    blocks = re.findall(r"^    # (\w+\.py)\n((?:    .*\n|\n)+)", (DOCUMENTS / document).read_text(), re.MULTILINE)
    return {name: textwrap.dedent(text) for name, text in blocks}


def package(folder: Path, files: Mapping[str, str], group: str, attribute: str) -> Path:
    """A folder as an installed package leaves it, with an entry point of a group for each of its modules."""
    for name, text in files.items():
        (folder / name).write_text(text)
    about = folder / f"more_{attribute.lower()}s-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: more-{attribute.lower()}s\nVersion: 1.0\n")
    points = "".join(f"{Path(name).stem} = {Path(name).stem}:{attribute}\n" for name in files)
    (about / "entry_points.txt").write_text(f"[{group}]\n{points}")
    return folder


def nodewise_with(
    folder: Path, *words: str, before: Sequence[str] = (), **variables: str
) -> subprocess.CompletedProcess[str]:
    """The command line where what is in a folder is installed."""
    command = [*before, sys.executable, "-m", "nodewise", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment(folder, variables))


def environment(folder: Path, variables: Mapping[str, str]) -> dict[str, str]:
    """These variables and those of this process, less what bears on places, where what is in a folder is installed."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("OMP_", "KMP_", "GOMP_", "MP_", "FLUX_"))}
    return {**kept, **variables, "PYTHONPATH": str(folder), "COLUMNS": "120"}
