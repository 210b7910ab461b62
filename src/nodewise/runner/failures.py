# SPDX-License-Identifier: BSD-3-Clause
"""What is wrong with a run, in words: that it could not begin, and why one that ended counts as failed."""

from __future__ import annotations

import errno
import signal
from collections.abc import Mapping
from typing import Any

from nodewise.base.errors import ProgramError
from nodewise.base.processors import format_processors
from nodewise.base.units import format_seconds
from nodewise.runner.launcher import RunOptions
from nodewise.runner.patterns import PatternError, limited
from nodewise.runner.protocol import Reported
from nodewise.runner.setting import Setting

#: What helps where the system refused a step of a start.
_MEND = {
    errno.EMFILE: "too many files are open: raise `ulimit -n`",
    errno.ENFILE: "too many files are open on this machine",
    errno.ENOMEM: "the system is short of memory",
    errno.EAGAIN: "there are too many processes: raise `ulimit -u`",
}


def start_error(setting: Setting, options: RunOptions, reply: Mapping[str, Any]) -> ProgramError:
    """Why a run could not begin, from the runner's reply (`failed_step`, `failed_errno`, `message`)."""
    step, message = reply["failed_step"], reply["message"]
    name = setting.command[0]
    if step == "standard input" and reply["failed_errno"] == errno.ETIMEDOUT:
        return ProgramError(
            f"cannot read the input {options.stdin}: it is a pipe, and nothing was written to it",
            "each run reads all of the input: put it into a file, or write to the pipe again and again",
        )
    if step == "start" and not reply["failed_errno"]:
        return ProgramError(f"{name} was killed before it began", "run again; the system may be short of memory")
    if step == "exec" and reply["failed_errno"] == 8:
        return ProgramError(
            f"{name} cannot be executed: it is no program for this machine, nor a script with a #! line",
            "start a script through its interpreter, such as: -- bash script.sh",
        )
    what = {
        "exec": f"{name} cannot be executed: {message}",
        "standard input": f"cannot read the input {options.stdin or '/dev/null'}: {message}",
        "working directory": f"cannot run in {options.cwd}: {message}",
        "affinity": f"cannot bind to processors {format_processors(setting.mask or ())}: {message}",
        "affinity read back": f"the system bound to less than processors {format_processors(setting.mask or ())}: "
        "a cpuset holds some of them back",
        "memory policy": f"the system refuses the memory policy {setting.memory}: {message}",
        "huge pages": f"the system refuses to forbid huge pages: {message}",
        "resource limit": f"cannot set the resource limits {options.limits}: {message}",
    }.get(step, f"{name} cannot be started ({step}): {message}")
    return ProgramError(what, _MEND.get(reply["failed_errno"]))


def failure_of(reply: Mapping[str, Any], reported: Reported, output: str, options: RunOptions) -> str | None:
    """Why a run counts as failed, in words; None where it does not."""
    if reply["by_terminal"]:
        return f"stopped by {signal.Signals(reply['by_terminal']).name}: it uses the terminal, which no run has"
    if reply["timed_out"]:
        return f"cut off after {format_seconds(reply['wall_s'])}"
    if reply["signal"]:
        names = {s.value: s.name for s in signal.Signals}
        return f"killed by signal {reply['signal']} ({names.get(reply['signal'], 'real-time')})"
    if reply["exit_code"] != 0 and (options.accepted is not None and reply["exit_code"] not in options.accepted):
        return f"exit code {reply['exit_code']}"
    if reported.problem:
        return reported.problem
    if reported.verified is False:
        return "wrong result: the program says verified false"
    if options.returns and reported.seconds is None:
        return "its process ended before the function returned"
    if (expected := options.expect) is None:
        return None
    try:
        found = limited(expected, lambda: expected.search(output))
    except PatternError as problem:
        return f"--expect: {problem}"
    return None if found else f"wrong result: {expected.pattern!r} is nowhere in the output"
