# SPDX-License-Identifier: BSD-3-Clause
"""The commands that a project keeps to be measured, in its nodewise.toml."""

from __future__ import annotations

import fnmatch
import itertools
import math
import os
import platform
import re
from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

from nodewise.base.errors import InputError
from nodewise.base.escaping import one_line
from nodewise.base.frozen import dataclass
from nodewise.base.meant import meant
from nodewise.base.toml_lines import TomlLines, read_toml
from nodewise.tuning.custom import put_in

FILE = "nodewise.toml"
_COMMANDS, _DEFAULTS = "command", "defaults"
#: What each key of a command may be, in words.
_TEXT, _TEXTS, _NUMBER, _COUNT, _TABLE = "a text", "a list of texts", "a number", "a whole number", "a table"
_COUNTS, _FLAG = "a list of whole numbers", "true or false"
_KINDS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("run", "about", "build", "setup", "prepare", "conclude", "cleanup", "cwd", "input"), (_TEXT,)),
    **dict.fromkeys(("expect", "work", "minimize", "maximize", "launcher"), (_TEXT,)),
    **dict.fromkeys(("tags", "machines"), (_TEXTS,)),
    **dict.fromkeys(("budget", "timeout"), (_TEXT, _NUMBER)),
    **dict.fromkeys(("runs", "warmup", "ranks"), (_COUNT,)),
    **dict.fromkeys(("metric", "env", "parameters"), (_TABLE,)),
    "accept-codes": (_COUNTS,),
    "ignore-failure": (_FLAG,),
}
#: The keys that a command may have.
KEYS = frozenset(_KINDS)
#: Keys that go to `nodewise.HowToRun` as they are, and by what name.
_HOW = {
    **{name: name for name in ("cwd", "expect", "work", "minimize", "maximize", "launcher", "timeout", "ranks", "env")},
    "input": "stdin",
    "metric": "metrics",
    "accept-codes": "accept_codes",
    "ignore-failure": "ignore_failure",
}
_STEPS = ("setup", "prepare", "conclude", "cleanup")
#: More commands than anybody waits for.
_MOST_CASES = 10_000
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True)
class Case:
    """One command of a suite, with one combination of its parameters: `name` is `solve` or `solve n=100`.

    `build` is a shell command that makes what it runs, `machines` are patterns of host names (none: any), `how` the keywords of
    `nodewise.HowToRun`, `steps` those shell commands around its runs that it has.
    """

    name: str
    command: str
    values: Mapping[str, str] = field(default_factory=dict)
    about: str = ""
    build: str = ""
    tags: tuple[str, ...] = ()
    machines: tuple[str, ...] = ()
    runs: int = 10
    warmup: int = 1
    budget: float | str = "60s"
    steps: Mapping[str, str] = field(default_factory=dict)
    how: Mapping[str, Any] = field(default_factory=dict)

    @property
    def table(self) -> str:
        """The table of the file that it stands in."""
        return f"{_COMMANDS}.{self.name.partition(' ')[0]}"

    @property
    def folder(self) -> str:
        """The name of the folder of its experiment."""
        return re.sub(r"[^A-Za-z0-9._=-]+", "_", self.name)

    def is_for(self, host: str) -> bool:
        """Whether it is to be measured on a machine of that name."""
        return not self.machines or any(fnmatch.fnmatch(host, pattern) for pattern in self.machines)


@dataclass(frozen=True)
class Suite:
    """The cases of a file, in their order; paths in it are seen from its folder."""

    file: Path
    cases: tuple[Case, ...]
    lines: TomlLines = field(compare=False, repr=False)

    def where(self, case: Case, *keys: str) -> str:
        """File, line and name of a key of a case, which may be one of the defaults."""
        name = ".".join((case.table, *keys))
        return self.lines.at(name, ".".join((_DEFAULTS, *keys))) if keys else self.lines.at(name)

    def chosen(self, names: Sequence[str] = (), tags: Sequence[str] = ()) -> tuple[Case, ...]:
        """Those of the commands or cases of these names, or all, that have one of the tags, where some are asked for.

        Raises InputError for a name or a tag that none has.
        """
        known = {c.name.partition(" ")[0] for c in self.cases} | {c.name for c in self.cases}
        for name in names:
            if name not in known:
                raise InputError(f"{self.file} has no command {name!r}{meant(name, known)}", f"it has: {_list(known)}")
        there = {tag for c in self.cases for tag in c.tags}
        for tag in tags:
            if tag not in there:
                raise InputError(f"no command of {self.file} has the tag {tag!r}{meant(tag, there)}", _tags(there))
        return tuple(
            c
            for c in self.cases
            if (not names or c.name in names or c.name.partition(" ")[0] in names) and (not tags or {*tags} & {*c.tags})
        )


def _list(names: set[str]) -> str:
    return ", ".join(sorted(names))


def _tags(there: set[str]) -> str:
    return f"the tags are: {_list(there)}" if there else 'tags are given by tags = ["quick"]'


def find_suite(given: Path | None = None, start: Path | None = None) -> Path:
    """The file that was given, else the nodewise.toml of this folder or of the nearest above it. Raises InputError."""
    if given is not None:
        return given / FILE if given.is_dir() else given
    here = (start or Path.cwd()).absolute()
    for folder in (here, *here.parents):
        if (folder / FILE).is_file():
            return folder / FILE
    raise InputError(
        f"there is no {FILE} in {here} or above it",
        'write one, such as:\n[command.solve]\nrun = "./solve 100"\nor name it: --file FILE',
    )


def read_suite(path: Path) -> Suite:
    """The commands of a file. Raises InputError that names file and key for what cannot be."""
    data, lines = read_toml(path)
    for name in data.keys() - {_COMMANDS, _DEFAULTS}:
        raise InputError(
            f"{lines.at(name)}: there is no such table{meant(name, (_COMMANDS, _DEFAULTS))}",
            f"commands stand in tables [{_COMMANDS}.NAME], what holds for all in [{_DEFAULTS}]",
        )
    defaults, commands = data.get(_DEFAULTS, {}), data.get(_COMMANDS, {})
    if not isinstance(commands, dict) or not commands:
        raise InputError(f"{path} names no command", f'write such as:\n[{_COMMANDS}.solve]\nrun = "./solve 100"')
    _check(lines, _DEFAULTS, defaults, all_of_them=False)
    cases: list[Case] = []
    for name, table in commands.items():
        at = f"{_COMMANDS}.{name}"
        if not _NAME.fullmatch(name):
            raise InputError(
                f"{lines.at(at)}: a name has letters, digits, dots and hyphens, and begins with one of the first two"
            )
        _check(lines, at, table)
        cases += _cases(
            path, lines, at, name, {**defaults, **table, "env": {**defaults.get("env", {}), **table.get("env", {})}}
        )
    suite = Suite(path, tuple(cases), lines)
    of_folder: dict[str, Case] = {}
    for case in cases:
        other = of_folder.setdefault(case.folder, case)
        if other is not case:
            raise InputError(
                f"{suite.where(case, 'parameters')}: the folders of {other.name!r} and {case.name!r} have one name: {case.folder}",
                "write values that differ in letters, digits, dots or hyphens",
            )
    return suite


def _check(lines: TomlLines, at: str, table: Any, all_of_them: bool = True) -> None:
    if not isinstance(table, dict):
        raise InputError(f"{lines.at(at)} is no table", f"write [{at}]")
    for key, value in table.items():
        if key not in _KINDS:
            raise InputError(
                f"{lines.at(f'{at}.{key}')}: there is no such key{meant(key, _KINDS)}", f"keys are: {_list({*_KINDS})}"
            )
        if not any(_is(value, kind) for kind in _KINDS[key]):
            raise InputError(f"{lines.at(f'{at}.{key}')}: {' or '.join(_KINDS[key])} is needed, not {value!r}")
    if all_of_them and not table.get("run"):
        raise InputError(f"{lines.at(at)} does not say what to run", 'give run = "./app 100"')


def _is(value: Any, kind: str) -> bool:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return {
        _TEXT: isinstance(value, str),
        _TEXTS: isinstance(value, list) and all(isinstance(v, str) for v in value),
        _NUMBER: number and value > 0,
        _COUNT: number and isinstance(value, int) and value >= 0,
        _FLAG: isinstance(value, bool),
        _COUNTS: isinstance(value, list) and all(_is(v, _COUNT) for v in value),
        _TABLE: isinstance(value, dict),
    }[kind]


def _cases(path: Path, lines: TomlLines, at: str, name: str, table: Mapping[str, Any]) -> list[Case]:
    parameters = {
        parameter: _values(lines, f"{at}.parameters.{parameter}", values)
        for parameter, values in table.get("parameters", {}).items()
    }
    texts = " ".join(table.get(key, "") for key in ("run", "build", *_STEPS))
    for parameter in parameters:
        if "{" + parameter + "}" not in texts:
            raise InputError(
                f"{lines.at(at)}: nothing has {{{parameter}}}", f"write {{{parameter}}} in run where its values belong"
            )
    found = []
    if (count := math.prod(map(len, parameters.values()))) > _MOST_CASES:
        raise InputError(
            f"{lines.at(f'{at}.parameters')}: {count} combinations of values, and a suite has {_MOST_CASES} at most",
            "write commands of their own for those that matter",
        )
    for combination in itertools.product(*parameters.values()):
        values = dict(zip(parameters, combination, strict=True))
        how = {_HOW[key]: value for key, value in table.items() if key in _HOW and value not in ({}, "")}
        for metric, pattern in how.get("metrics", {}).items():
            if not isinstance(pattern, str):
                raise InputError(
                    f"{lines.at(f'{at}.metric.{metric}', f'{_DEFAULTS}.metric.{metric}')}: a pattern is needed, not {pattern!r}"
                )
        how["cwd"] = os.path.normpath(path.absolute().parent / table.get("cwd", "."))
        if "stdin" in how:
            how["stdin"] = str(path.absolute().parent / how["stdin"])
        found.append(
            Case(
                name=one_line(" ".join([name, *(f"{k}={v}" for k, v in values.items())])),
                command=put_in(table["run"], values),
                values=values,
                about=table.get("about", ""),
                build=put_in(table.get("build", ""), values),
                tags=tuple(table.get("tags", ())),
                machines=tuple(table.get("machines", ())),
                steps={step: put_in(table[step], values) for step in _STEPS if table.get(step)},
                how=how,
                **{key: table[key] for key in ("runs", "warmup", "budget") if key in table},
            )
        )
    return found


def _values(lines: TomlLines, at: str, values: Any) -> list[str]:
    listed = values if isinstance(values, list) else [values]
    if not listed or any(isinstance(v, bool) or not isinstance(v, str | int | float) for v in listed):
        raise InputError(f"{lines.at(at)}: a list of texts or numbers is needed, not {values!r}")
    return [str(v) for v in listed]


def this_host() -> str:
    """The name by which `machines` knows this machine."""
    return platform.node()
