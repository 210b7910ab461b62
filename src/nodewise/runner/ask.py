# SPDX-License-Identifier: BSD-3-Clause
"""Ask: what a library says of itself through a function without arguments, asked in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence

#: Prints what the first of the functions that the library has returns, a text.
_QUESTION = """
import ctypes, sys
library = ctypes.CDLL(sys.argv[1])
for name in sys.argv[2:]:
    function = getattr(library, name, None)
    if function is not None:
        function.restype = ctypes.c_char_p
        sys.stdout.write((function() or b"").decode(errors="replace"))
        break
"""
_PATIENCE_S = 10.0


def ask_library(path: str, functions: Sequence[str], environment: Mapping[str, str]) -> str | None:
    """The text that the first function of these names returns, where `environment` holds; None where there is no answer.

    The functions must take no arguments and return a C string. The library is loaded by a child process, so that one
    that crashes or starts threads does no harm here.
    """
    words = [sys.executable, "-I", "-c", _QUESTION, path, *functions]
    try:
        done = subprocess.run(
            words, capture_output=True, text=True, env=dict(environment), timeout=_PATIENCE_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None if done.returncode == 0 else None
