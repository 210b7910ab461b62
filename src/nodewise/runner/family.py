# SPDX-License-Identifier: BSD-3-Clause
"""Launchers of ranks: what each is called, how it is told apart from others, and whose programs it starts."""

from __future__ import annotations

import re
from collections.abc import Mapping

from nodewise.base.frozen import dataclass
from nodewise.base.registry import Registry


@dataclass(frozen=True)
class Family:
    """A launcher of ranks: `programs` are its names, `says` what `--version` of it prints.

    `each` are the words for the number of ranks on each node, `{n}`; `{nodes}` in them is that of nodes. `libraries` are the families of MPI
    libraries whose programs it can start, its own first, none where it starts those of any (the launchers of a library come before it). `package` is what brings it, empty for the system itself. `file` is the
    library of its own by the name that a program asks the loader for, `own` a pattern of all names that it had;
    `subcommand` stands before its options (`flux run`), `count` are the words for how many ranks there are in all, `{ranks}`.
    `unbound` are those by which it binds no rank, where it would by itself. `elsewhere`: it starts ranks on nodes of an allocation, not here.
    """

    name: str
    title: str
    programs: tuple[str, ...]
    says: str
    each: tuple[str, ...]
    libraries: tuple[str, ...]
    package: str
    file: str = ""
    own: str = ""
    subcommand: tuple[str, ...] = ()
    count: tuple[str, ...] = ("-n", "{ranks}")
    unbound: tuple[str, ...] = ()
    elsewhere: bool = False

    def words(self, program: str, ranks: int, per_node: int) -> tuple[str, ...]:
        """The words that start that many ranks, `per_node` on each node (0: as it deals them)."""
        numbers = {"{n}": str(per_node), "{nodes}": str(-(-ranks // max(1, per_node)))}
        each = [re.sub(r"\{n(odes)?\}", lambda m: numbers[m[0]], word) for word in self.each] if per_node else []
        count = [word.replace("{ranks}", str(ranks)) for word in self.count]
        return (program, *self.subcommand, *count, *each)


def _wrong(family: Family, others: Mapping[str, Family]) -> str | None:
    if not re.fullmatch(r"[a-z][a-z0-9-]*", family.name):
        return "its name is no word of small letters, digits and hyphens"
    if not family.programs:
        return "it has no program"
    if not any("{ranks}" in word for word in family.count):
        return "its count does not say where {ranks} stands"
    for what, pattern in (("says", family.says), ("own", family.own)):
        try:
            re.compile(pattern)
        except re.error as problem:
            return f"its {what} {pattern!r} is no pattern: {problem}"
    if family.own and not family.libraries:
        return "it names a library of its own and no family of libraries"
    return None


FAMILIES = Registry(
    Family,
    "launcher",
    "nodewise.runner.families",
    "FAMILY",
    "nodewise.launchers",
    "docs/adding-a-launcher.md",
    _wrong,
)


def families() -> dict[str, Family]:
    """The launchers by name. Raises InputError where one that a package brings cannot be had."""
    return FAMILIES.all()


def library_family(name: str) -> str:
    """The family of the MPI library of that file name (`libmpi.so.40`: Open MPI); empty for one of none."""
    return next((f.libraries[0] for f in families().values() if f.own and re.match(f.own, name)), "")


def starters_of(library: str) -> list[Family]:
    """The launchers that start programs of a family of MPI libraries, that of its own first."""
    able = [f for f in families().values() if library in f.libraries]
    # one that is of no library stands behind one that is of this
    return sorted(able, key=lambda f: (f.libraries.index(library), not f.own))
