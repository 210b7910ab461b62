# SPDX-License-Identifier: BSD-3-Clause
"""What was typed but does not arrive: input redirected to nodewise itself, options that stand after the program."""

from __future__ import annotations

import fcntl
import os
import re
import shlex
import stat
import struct
import termios
from collections.abc import Sequence
from pathlib import Path

import click

from nodewise.base.errors import InputError
from nodewise.base.units import TIME_UNITS
from nodewise.cli.kinds import TIME, TIME_OR_NONE


def input_left_out(descriptor: int = 0) -> str:
    """A sentence where standard input holds something that a program run by nodewise does not get; else empty."""
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISREG(mode) and os.fstat(descriptor).st_size > 0:
            name = Path(f"/proc/self/fd/{descriptor}").readlink()
            return f"the program is not given nodewise's own input: name the file instead, --input {name}"
        if stat.S_ISFIFO(mode):
            (waiting,) = struct.unpack("i", fcntl.ioctl(descriptor, termios.FIONREAD, b"\0" * 4))
            if waiting:
                return "the program is not given what is piped into nodewise: put it into a file, --input FILE"
    except OSError:
        return ""
    return ""


def options_left_out(params: Sequence[click.Parameter], typed: Sequence[str], command: Sequence[str]) -> str:
    """A sentence where options of nodewise's own stand among a program's arguments; else empty.

    `params` are those of the command, `typed` all words, `command` the program's. Who writes -- before it means them so.
    """
    if len(command) < 2 or "--" in typed[: len(typed) - len(command)]:
        return ""
    options = {o: p for p in params if isinstance(p, click.Option) for o in p.opts if o.startswith("--")}
    found = []
    for i, word in enumerate(command[1:], 1):
        if word == "--":
            break
        option = options.get(word.partition("=")[0])
        if option is not None:
            takes = "=" not in word and not option.is_flag and option.nargs == 1 and i + 1 < len(command)
            found.append(f"{word} {command[i + 1]}" if takes else word)
    if not found:
        return ""
    given = f"{', '.join(found)} {'was' if len(found) == 1 else 'were'} handed to {command[0]}"
    return f"{given}; nodewise's options stand before the program (with -- before it this is not said)"


def is_program(word: str) -> bool:
    """Whether a word is the name of a program on PATH, or a path of one; what finds it loads three modules that unpack archives."""
    import shutil

    return shutil.which(word) is not None


def check_times(command: click.Command, words: Sequence[str]) -> None:
    """Raises InputError for a time in two words, `--budget 5 minutes`, of which the second would be taken for a program."""
    takers = {o for p in command.params if p.type in (TIME, TIME_OR_NONE) for o in p.opts}
    end = words.index("--") if "--" in words else len(words)
    for i, option in enumerate(words[:end]):
        name, sign, given = option.partition("=")
        number, unit = (given, *words[i + 1 : i + 2], "")[:2] if sign else (*words[i + 1 : i + 3], "", "")[:2]
        known = name in takers and unit.lower() in TIME_UNITS and not is_program(unit)
        if known and re.fullmatch(r"\d+\.?\d*|\.\d+", number):
            short = next(
                n for n in ("d", "h", "min", "s", "ms", "us", "ns") if TIME_UNITS[n] == TIME_UNITS[unit.lower()]
            )
            raise InputError(
                f"{name} {number} {unit}: a time is one word", f"write {number}{short}: {name} {number}{short}"
            )


def _one_dash(problem: click.NoSuchOption, words: Sequence[str]) -> str:
    """The option with two dashes that was typed with one, of which only the first letter was looked up; else empty."""
    if problem.ctx is None or len(problem.option_name) != 2:
        return ""
    known = {o for p in problem.ctx.command.get_params(problem.ctx) for o in p.opts}
    typed = (f"-{word.partition('=')[0]}" for word in words if word.startswith(problem.option_name) and len(word) > 2)
    return next((f"did you mean {option}?" for option in typed if option in known), "")


#: Options of hyperfine that `compare` has not, and what does there what they are for.
_OF_HYPERFINE = {
    ("-u", "--time-unit"): "each number has its unit, and --json all of them in seconds",
    ("--style",): "colours follow the terminal and NO_COLOR",
    ("--sort",): "rows stand as they were given, and the answer says which is the fastest",
    ("--show-output", "--output"): "what a run prints is read, and shown of one that fails",
    ("--min-benchmarking-time",): "--min-runs and --budget say how long it goes on",
}


_THREADS = ("--threads", "--num-threads", "--nthreads")
_AFTER_ITS_NAME = "the options of a program come after its name"
_GIVEN = "the number of threads is given to the program: OMP_NUM_THREADS=2 ./app"
_OF_THREADS = {
    "tune": f"{_AFTER_ITS_NAME}; the number of threads is an axis, tried from what is given as -- OMP_NUM_THREADS=2 ./app",
    "scale": "the numbers of threads are --counts 1,2,4",
    **dict.fromkeys(("run", "compare", "confirm"), _GIVEN),
}
#: By the command, none for any, and an option that other programs have, what has its place.
_ELSEWHERE = {
    ("", "--quiet"): "progress goes to standard error: 2>/dev/null leaves the answer",
    (
        "profile",
        "--budget",
    ): "a profile is of one whole run: give the program less to do, or end it early by --max-size",
    (
        "place",
        "--dialect",
    ): "--to DIALECT writes one, and each is read by an option of its own, such as --places or --slurm",
}


def stands_elsewhere(problem: click.NoSuchOption) -> str:
    """What has the place of an option that other programs have, or that is a key of a suite's file; empty of any other."""
    command, option = problem.ctx.info_name if problem.ctx is not None else None, problem.option_name
    if told := _ELSEWHERE.get(("", option)) or _ELSEWHERE.get((command or "", option)):
        return told
    if option in _THREADS and command in _OF_THREADS:
        return _OF_THREADS[command]
    if command == "compare":
        told = next((told for options, told in _OF_HYPERFINE.items() if option in options), "")
        return told and f"leave it out: {told}"
    if command == "suite":
        from nodewise.api.suite_file import KEYS

        if (key := option.removeprefix("--")) in KEYS:
            return f"it is a key of nodewise.toml, in [defaults] or of a command: {key} = …"
    return ""


def option_hint(problem: click.NoSuchOption, words: Sequence[str] = ()) -> str:
    """What to do about an option that a command has not, among the words that were typed."""
    import difflib

    if meant := _one_dash(problem, words):
        return meant
    if problem.option_name == "--from" and problem.ctx is not None and problem.ctx.info_name == "place":
        from nodewise.placement.registry import all_texts

        return (
            f"each dialect is read by an option of its own: {', '.join(text.option for text in all_texts().values())}"
        )
    near = difflib.get_close_matches(problem.option_name, _THREADS, 1, 0.8)
    command = problem.ctx.info_name if problem.ctx is not None else None
    if problem.option_name == "-=" and (word := next((w for w in words if w[:1] == "-" and w[2:3] == "="), "")):
        return value_hint(word[:2], word[3:])
    if near and command in _OF_THREADS:
        return _OF_THREADS[command]
    if command == "vec" and (flag := next((w for w in words if w.startswith(("-f", "-O", "-m", "-I", "-D"))), "")):
        return f"a compiler's options stand behind --: nodewise vec FILE -- {flag}"
    return _AFTER_ITS_NAME


def value_hint(option: str, value: str) -> str:
    """What to do about an option that takes no value and has been given one."""
    alone = f"give {option} alone"
    return f"{alone}, or --accept-codes {value}" if option in ("-i", "--ignore-failure") else alone


def argument_hint(problem: click.UsageError, words: Sequence[str]) -> str:
    """What to do about a word that a command takes no argument for, where one of its options takes it; empty of any other."""
    extra = problem.message.partition("unexpected extra argument (")[2].rstrip(")") if problem.ctx is not None else ""
    if not extra or problem.ctx is None:
        return ""
    options = {o for p in problem.ctx.command.get_params(problem.ctx) for o in p.opts}
    typed = f"{problem.ctx.command_path}{' '.join(['', *words[1 : words.index(extra)]])}" if extra in words else ""
    if typed and "--machine" in options and (extra.startswith("synthetic:") or extra.endswith((".xml", ".json"))):
        return f"a machine is named by its option: {typed} --machine {shlex.quote(extra)}"
    if typed and "-o" in options and ("/" in extra or "." in extra):
        return f"where it is written is said by -o: {typed} -o {shlex.quote(extra)}"
    return ""


def missing_hint(problem: click.UsageError) -> str:
    """What an option takes that was given without it; empty of any other problem."""
    if (
        not isinstance(problem, click.BadOptionUsage)
        or "requires an argument" not in problem.message
        or problem.ctx is None
    ):
        return ""
    options = (p for p in problem.ctx.command.get_params(problem.ctx) if problem.option_name in p.opts)
    option = next((p for p in options if isinstance(p, click.Option)), None)
    return f"write it such as {problem.option_name} {option.make_metavar(problem.ctx)}" if option is not None else ""
