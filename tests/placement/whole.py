# SPDX-License-Identifier: BSD-3-Clause
"""What is said of placements, in full, compared with what was written down.

`NODEWISE_RECORD=1` writes down what is said now: what changes in the files `*.said` is then to be read.
"""

import difflib
import os
from collections.abc import Sequence
from pathlib import Path


def hold(name: str, said: Sequence[str]) -> None:
    """Asserts that these lines are those that were written down under the name."""
    file = Path(__file__).parent / f"{name}.said"
    if os.environ.get("NODEWISE_RECORD"):
        file.write_text("\n".join(said) + "\n")
    known = file.read_text().splitlines()
    assert list(said) == known, "\n".join(list(difflib.unified_diff(known, list(said), lineterm="", n=0))[:40])
