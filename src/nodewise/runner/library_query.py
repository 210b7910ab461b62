# SPDX-License-Identifier: BSD-3-Clause
"""Library query: what a library says of itself through functions without arguments, asked in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence

#: For each question prints what the first of its functions that the library has returns, a text. `a(b)` hands b's number to
#: a, `c; a` calls c before.
_QUESTION = """
import ctypes, json, sys
library = ctypes.CDLL(sys.argv[1])
answers = {}
for key, questions in json.loads(sys.argv[2]).items():
    for question in questions:
        *before, asked = question.replace(" ", "").split(";")
        outer, _, inner = asked.rstrip(")").partition("(")
        names = [*before, outer, *([inner] if inner else [])]
        if all(hasattr(library, name) for name in names):
            for name in before:
                library[name]()
            function = library[outer]
            function.restype = ctypes.c_char_p
            text = function(library[inner]()) if inner else function()
            answers[key] = (text or b"").decode(errors="replace").strip()
            break
sys.stdout.write("\\nanswers " + json.dumps(answers))
"""
_PATIENCE_S = 10.0


def query_library(path: str, questions: Mapping[str, Sequence[str]], environment: Mapping[str, str]) -> dict[str, str]:
    """What the first function of each question returns where `environment` holds; questions without an answer are left out.

    The functions must take no arguments and return a C string, or be written as `a(b)`, where b takes none and returns the
    number that a takes; `c; a` has c called before. The library is loaded by a child process, so that one
    that crashes or starts threads does no harm here.
    """
    if not questions:
        return {}
    words = [sys.executable, "-I", "-c", _QUESTION, path, json.dumps({k: list(v) for k, v in questions.items()})]
    try:
        done = subprocess.run(
            words, capture_output=True, text=True, env=dict(environment), timeout=_PATIENCE_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return {}
    # libraries may print as they are loaded
    last = done.stdout.rpartition("\nanswers ")[2] if done.returncode == 0 else ""
    return {k: v for k, v in json.loads(last or "{}").items() if v}
