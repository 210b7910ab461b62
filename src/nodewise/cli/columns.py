# SPDX-License-Identifier: BSD-3-Clause
"""How wide the terminal is, as `shutil` has it, which loads what unpacks archives first."""

from __future__ import annotations

import os
import sys
from contextlib import suppress


def terminal_columns(otherwise: int) -> int:
    """The columns of COLUMNS or of the terminal that is written to; `otherwise` where neither says."""
    with suppress(ValueError):
        if (stated := int(os.environ.get("COLUMNS", ""))) > 0:
            return stated
    # no standard output, a closed one, or one that is no terminal
    with suppress(AttributeError, ValueError, OSError):
        if (found := os.get_terminal_size(sys.__stdout__.fileno()).columns) > 0:  # type: ignore[union-attr]
            return found
    return otherwise
