# SPDX-License-Identifier: BSD-3-Clause
"""Contenders: the commands to compare, as a user writes them, with parameters put in and their steps around a run."""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal, InvalidOperation

from nodewise.base.errors import InputError
from nodewise.base.escaping import one_line
from nodewise.base.frozen import dataclass
from nodewise.base.words import split_words
from nodewise.experiments.target import resolve_command
from nodewise.runner.isolation import PROCESS, Isolation
from nodewise.runner.setting import Setting
from nodewise.tuning.custom import put_in
from nodewise.tuning.ranks import with_ranks

#: What is only a word, whatever stands in it.
_QUOTED = re.compile(r"""\\.|'[^']*'|"[^"$`\\]*\"""", re.DOTALL)
#: What only a shell understands; quotes and backslashes are read as one would read them.
_SHELL_SYNTAX = re.compile(r"[|&;<>()$`*?~\[#\n]|^\s*[A-Za-z_]\w*=")
#: Words that a command may begin with and only a shell can carry out.
_SHELL_WORDS = re.compile(
    r"\s*(\.|:|!|\{|alias|case|cd|command|eval|exec|exit|export|for|if|read|set|source|trap|type|ulimit|umask|unset|until"
    r"|wait|while)(\s|$)"
)
_MOST_VALUES = 10_000


@dataclass(frozen=True)
class Steps:
    """Shell commands around the runs of one contender; None is nothing to do.

    `setup` once before its first run, `prepare` before and `conclude` after each run, `cleanup` once at the end.
    """

    setup: str | None = None
    prepare: str | None = None
    conclude: str | None = None
    cleanup: str | None = None


@dataclass(frozen=True)
class Contender:
    """One command: its `setting` (named), the `text` that its user wrote with parameters put in, `shell` where it needs one."""

    setting: Setting
    text: str
    steps: Steps = Steps()
    shell: str | None = None


def parse_values(text: str) -> tuple[str, ...]:
    """The values of a parameter: `1,2,4`, `1..8` (step 1), `1..64*2`, `0..1+0.25`; a backslash keeps a comma.

    Raises InputError where a range is none, is endless or has too many values.
    """
    span = re.fullmatch(r"\s*(-?[\d.]+)\.\.(-?[\d.]+)(?:([*+])(-?[\d.]+))?\s*", text)
    if span is None and re.match(r"\s*(-?\d[\d.]*\.\.([^/]|$)|\.\.-?\d)", text):
        raise InputError(f"not a range: {text!r}", "write it such as 1..8, 1..64*2 or 0..1+0.25")
    if span is None:
        parts = re.split(r"(?<!\\),", text)
        if len(parts) > 1 and any(p[:1] in ("'", '"') and (len(p) < 2 or p[-1] != p[0]) for p in parts):
            raise InputError(
                f"{text!r}: quotes hold no values together",
                "a comma within a value is written with a backslash: static\\,1",
            )
        return tuple(part.replace("\\,", ",") for part in re.split(r"(?<!\\),", text))
    try:
        low, high = Decimal(span[1]), Decimal(span[2])
        step = Decimal(span[4]) if span[4] else Decimal(1)
    except InvalidOperation as problem:
        raise InputError(f"not a range: {text!r}", "write it such as 1..8, 1..64*2 or 0..1+0.25") from problem
    if high < low or (step <= 1 or low <= 0 if span[3] == "*" else step <= 0):
        raise InputError(f"the range {text!r} never ends", "its step must lead from the first value to the last")
    values = []
    while low <= high:
        values.append(_plain(low))
        if len(values) > _MOST_VALUES:
            raise InputError(f"the range {text!r} has more than {_MOST_VALUES} values", "take a larger step")
        low = low * step if span[3] == "*" else low + step
    return tuple(values)


def _plain(number: Decimal) -> str:
    text = format(number, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def parse_parameters(texts: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Read several `NAME=VALUES`. Raises InputError, also where a name is given twice."""
    found: dict[str, tuple[str, ...]] = {}
    for name, values in map(parse_parameter, texts):
        if name in found:
            raise InputError(f"the parameter {name} is given twice", f"give all its values at once: -P {name}=1,2,4")
        found[name] = values
    return found


def parse_parameter(text: str) -> tuple[str, tuple[str, ...]]:
    """Read `NAME=VALUES`. Raises InputError."""
    name, sign, values = text.partition("=")
    if not sign or not re.fullmatch(r"[A-Za-z_][\w-]*", name) or not values:
        raise InputError(f"-P {text!r} is no NAME=VALUES", "write it such as -P threads=1,2,4 or -P n=1..64*2")
    return name, parse_values(values)


def command_words(text: str, shell: str | None) -> tuple[tuple[str, ...], str | None]:
    """The words to start and the shell that reads them: `shell` None picks one (`sh`) only where its syntax is used.

    `shell` "none" never takes one. Raises InputError for an empty command or one that cannot be split.
    """
    if not text.strip():
        raise InputError(
            "an empty command",
            "a variable in its place may be unset; each command is one text: nodewise compare './a 1' './b 1'",
        )
    if shell is None:
        shell = "sh" if needs_shell(text) else "none"
    shell = "sh" if shell == "default" else shell
    # a study is started by nodewise, and no shell knows it
    if shell != "none" and not text.lstrip().startswith("study:"):
        shell_words = split_words(shell)
        if not shell_words:
            raise InputError("--shell is empty", "name one, such as bash or 'bash -e', or none")
        return (*shell_words, "-c", text), shell
    return resolve_command(split_words(text)), None


def needs_shell(text: str) -> bool:
    """Whether only a shell can carry out a command."""
    return bool(_SHELL_SYNTAX.search(_QUOTED.sub("x", text))) or bool(_SHELL_WORDS.match(text))


def _steps_of(texts: Sequence[str], which: int, count: int, option: str) -> str | None:
    if len(texts) not in (0, 1, count):
        raise InputError(
            f"{option} is given {len(texts)} times for {count} commands", "give it once for all, or once for each"
        )
    return texts[which if len(texts) == count else 0] if texts else None


def check_names(names: Sequence[str]) -> None:
    """Raises InputError where one name is given twice, as no table could tell the two apart."""
    if twice := next((name for i, name in enumerate(names) if name in names[:i]), None):
        raise InputError(f"two of what is compared are named {twice!r}", "give each a name of its own")


def isolated(contenders: Sequence[Contender], kinds: Sequence[Isolation | None]) -> list[Contender]:
    """Every contender in each kind of isolation, named after it where there are several; as they are where there is none."""
    found = []
    for one in contenders:
        for kind in kinds or (None,):
            text = PROCESS if kind is None else kind.text
            name = f"{one.setting.name} ({text})" if len(kinds) > 1 else one.setting.name
            found.append(replace(one, setting=replace(one.setting, isolation=kind, name=name)))
    return found


def make_contenders(
    commands: Sequence[str],
    parameters: Mapping[str, Sequence[str]],
    *,
    names: Sequence[str] = (),
    shell: str | None = None,
    setup: str | None = None,
    prepare: Sequence[str] = (),
    conclude: Sequence[str] = (),
    cleanup: str | None = None,
    start: Sequence[str] = (),
) -> list[Contender]:
    """Every command with every combination of the parameters that it names; equal ones get a number behind their name.

    `names` are for the commands in their order, with parameters put in, or one for each combination; who has none is
    called by its text. `start` are words that start ranks of each. Where one command needs a shell all have one, since its start is a part of what is measured.
    Raises InputError where a parameter is in no command, two have one name, or `names`, `prepare` or `conclude` do not fit in number.
    """
    check_names(names)
    everything = " ".join((*commands, setup or "", cleanup or "", *prepare, *conclude))
    for name in parameters:
        if "{" + name + "}" not in everything:
            raise InputError(f"no command has {{{name}}}", f"write {{{name}}} where the value of -P {name}=… belongs")
    found: list[tuple[str, str, dict[str, str], Steps]] = []
    for i, command in enumerate(commands):
        before = _steps_of(prepare, i, len(commands), "--prepare")
        after = _steps_of(conclude, i, len(commands), "--conclude")
        texts = " ".join(t for t in (command, setup, before, after, cleanup) if t)
        mine = {n: v for n, v in parameters.items() if "{" + n + "}" in texts}
        for combination in itertools.product(*mine.values()):
            values = dict(zip(mine, combination, strict=True))
            steps = Steps(*(None if t is None else put_in(t, values) for t in (setup, before, after, cleanup)))
            text = put_in(command, values)
            found.append((text, put_in(names[i], values) if i < len(names) else text, values, steps))
    if len(names) > len(commands):
        if len(names) != len(found):
            raise InputError(
                f"{len(names)} names for {len(found)} commands",
                "give --command-name once for each command, in their order",
            )
        found = [(text, name, values, steps) for (text, _, values, steps), name in zip(found, names, strict=True)]
    if shell is None and any(needs_shell(text) for text, *_ in found):
        shell = "sh"
    contenders: list[Contender] = []
    taken: set[str] = set()
    for text, called, values, steps in found:
        given = one_line(called)
        name, number = given, 1
        while name in taken:
            number += 1
            name = f"{given} ({number})"
        taken.add(name)
        words, used = command_words(text, shell)
        setting = with_ranks(Setting(command=(*start, *words), values=values, name=name))
        contenders.append(Contender(setting, " ".join([*map(shlex.quote, start), text]), steps, used))
    return contenders
