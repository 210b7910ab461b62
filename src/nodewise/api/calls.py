# SPDX-License-Identifier: BSD-3-Clause
"""Functions as contenders: how a fresh process of this Python finds one again, and what it is to call."""

from __future__ import annotations

import functools
import importlib
import inspect
import os
import pickle
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, TypeGuard

from nodewise.api import call_worker
from nodewise.base.arguments import shown_value
from nodewise.base.errors import InputError
from nodewise.base.files import make_directory, write_whole
from nodewise.experiments.contenders import Contender, Steps, check_names
from nodewise.records.experiment import CALLS
from nodewise.runner.setting import Setting

_LONGEST_SHOWN = 60
_AT_THE_TOP = "write it with def at the top of a module; arguments go into functools.partial(function, …)"


def is_call(contender: object) -> TypeGuard[Callable[[], object]]:
    """Whether a contender is a function, and no command."""
    return callable(contender)


def contenders_of_calls(
    calls: Sequence[object],
    names: Sequence[str],
    folder: Path,
    token: str,
    resume: bool,
    *,
    setup: str | None = None,
    prepare: Sequence[str] = (),
    conclude: Sequence[str] = (),
    cleanup: str | None = None,
) -> list[Contender]:
    """A contender for each function; what its process is to call lies below the experiment's `folder`. Its time stands beside the `token`.

    Raises InputError where a command stands among them, for a function that a fresh process cannot find, and for arguments
    that cannot be handed to one.
    """
    if os.environ.get(call_worker.IMPORTING):
        raise InputError(
            "a script is asking for a comparison while one of its own functions is about to be compared",
            "put what the script does under: if __name__ == '__main__':",
        )
    if not sys.executable:
        raise InputError(
            "this Python does not know its own program, so that no fresh process can be started", "compare commands"
        )
    if not all(map(is_call, calls)):
        raise InputError(
            "commands and functions cannot be compared with each other: a command is timed with its start, a function without",
            "compare functions with functions, or write the function as a command: python -c '…'",
        )
    for option, steps in (("prepare", prepare), ("conclude", conclude)):
        if len(steps) not in (0, 1, len(calls)):
            raise InputError(
                f"{option} has {len(steps)} commands for {len(calls)} functions", "give one, or one for each"
            )
    if names and len(names) != len(calls):
        raise InputError(f"{len(names)} names for {len(calls)} functions", "give one for each")
    check_names(names)
    made = [_call(call) for call in calls]
    own = [text for _, text in made]
    found = []
    for i, (needed, text) in enumerate(made):
        path = folder / CALLS / f"{i}.pickle"
        # another experiment that is there already stays as it is, and is refused later
        if resume or not (folder / "question.json").exists():
            make_directory(path.parent)
            write_whole(path, pickle.dumps({**needed, "token": token}))
        name = names[i] if names else text if own.count(text) == 1 else f"{text} ({own[: i + 1].count(text)})"
        before, after = (s[i] if len(s) == len(calls) else s[0] if s else None for s in (prepare, conclude))
        words = (sys.executable, "-P", call_worker.__file__, str(path))
        found.append(Contender(Setting(words, name=name), text, Steps(setup, before, after, cleanup)))
    return found


def _call(call: object) -> tuple[dict[str, Any], str]:
    """What a fresh process needs to make the call, and the call in words."""
    arguments: tuple[Any, ...] = ()
    keywords: Mapping[str, Any] = {}
    function = call
    if isinstance(call, functools.partial):
        function, arguments, keywords = call.func, call.args, call.keywords
    name = str(getattr(function, "__qualname__", None) or repr(function))
    if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function):
        raise InputError(f"{name} does nothing when it is called: it makes a coroutine or a generator", "call it in a function of its own: asyncio.run(…), list(…)")  # fmt: skip
    module, file = _module_of(function, name)
    try:
        given = pickle.dumps((arguments, dict(keywords)))
    except Exception as problem:
        raise InputError(
            f"the arguments of {name} cannot be handed to a fresh process: {problem}",
            "give arguments that pickle takes, or make them inside the function",
        ) from problem
    shown = ", ".join([*map(shown_value, arguments), *(f"{k}={shown_value(v)}" for k, v in keywords.items())])
    shown = shown if len(shown) <= _LONGEST_SHOWN else shown[:_LONGEST_SHOWN] + "…"
    # what is imported from the current directory is so whatever directory the run is in; not all entries are paths
    path = [str(Path(entry).absolute()) if Path(entry).exists() else entry for entry in sys.path]
    needed = {"path": path, "argv": sys.argv, "module": module, "file": file, "function": name, "arguments": given}
    return needed, f"{name}({shown})"


def _module_of(function: object, name: str) -> tuple[str, str]:
    """The module in which a fresh process finds a function, and the file of a script; one of them is empty. Raises InputError."""
    refused = ""
    if "<lambda>" in name:
        refused = "it is a lambda"
    elif "<locals>" in name:
        refused = "it is made inside another function"
    elif getattr(function, "__self__", None) is not None and not isinstance(function.__self__, ModuleType):  # type: ignore[attr-defined]
        refused = "it is a method of an object"
    module = getattr(function, "__module__", None)
    if not refused and (not isinstance(module, str) or _found(module, name) is not function):
        refused = f"{module}.{name} is something else, or is not there"
    if refused or not isinstance(module, str):
        raise InputError(f"{name} cannot be called in a fresh process: {refused}", _AT_THE_TOP)
    if module != "__main__":
        return module, ""
    main = sys.modules["__main__"]
    spec = getattr(main, "__spec__", None)
    if spec is not None and spec.name:
        return str(spec.name), ""
    file = getattr(main, "__file__", None)
    if file is None or not Path(file).is_file():
        raise InputError(
            f"{name} cannot be called in a fresh process: it is typed into an interactive session",
            "put it into a module, and import it from there",
        )
    return "", str(Path(file).absolute())


def _found(module: str, name: str) -> object:
    try:
        return functools.reduce(getattr, name.split("."), importlib.import_module(module))
    except (ImportError, AttributeError):
        return None
