# SPDX-License-Identifier: BSD-3-Clause
"""A fresh process in which one function is called once: started by its file, it imports nothing of nodewise.

Its argument is a file with what to call. It prints a line of the sample protocol with the seconds of the call alone, and with the
token of the file, by which it differs from those that the function, or a program that it starts, prints.
"""

import contextlib
import functools
import importlib
import json
import os
import pickle
import runpy
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any

#: Set while a script is read to find its function, so that it can be distinguished from a script that was started.
IMPORTING = "NODEWISE_IMPORTING"
#: A script's name for itself in a process that was not started with it; the same as that of Python's multiprocessing.
_NOT_MAIN = "__mp_main__"


def _script(file: str) -> ModuleType:
    """A script as a module. It stands for the main one, in which objects that it made are looked for."""
    module = ModuleType(_NOT_MAIN)
    os.environ[IMPORTING] = "1"
    try:
        module.__dict__.update(runpy.run_path(file, run_name=_NOT_MAIN))
    finally:
        del os.environ[IMPORTING]
    sys.modules["__main__"] = sys.modules[_NOT_MAIN] = module
    return module


def _main(path: str) -> None:
    call: dict[str, Any] = pickle.loads(Path(path).read_bytes())
    sys.path[:], sys.argv[:] = call["path"], call["argv"]
    module = _script(call["file"]) if call["file"] else importlib.import_module(call["module"])
    function: Any = functools.reduce(getattr, call["function"].split("."), module)
    arguments, keywords = pickle.loads(call["arguments"])
    # the function may close its own
    output = os.dup(1)
    begin = time.perf_counter()
    try:
        function(*arguments, **keywords)
    except SystemExit as end:
        raise SystemExit(f"the function ends its process instead of returning: sys.exit({end.code!r})") from end
    seconds = time.perf_counter() - begin
    # behind all that it has printed, wherever it has led its output
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, OSError, ValueError):
            stream.flush()
    os.write(output, ("\n" + json.dumps({"nodewise": 1, "seconds": seconds, "call": call["token"]}) + "\n").encode())


if __name__ == "__main__":
    _main(sys.argv[1])
