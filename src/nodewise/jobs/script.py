# SPDX-License-Identifier: BSD-3-Clause
"""Launch scripts: a setting as an executable file, for a shell or for a batch system."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path

from nodewise.base.errors import InputError
from nodewise.base.frozen import dataclass
from nodewise.base.registry import Registry
from nodewise.machine.model import Machine
from nodewise.runner.launch import Start, quoted_line
from nodewise.runner.over_nodes import nodes_of_srun
from nodewise.runner.setting import Setting
from nodewise.tuning.ranks import Ranked, read_ranked, read_wrapper


@dataclass(frozen=True)
class Kept:
    """What a script is made of: the setting, what its user said of every start, and where it was asked for.

    `inherited` are the variables of that shell that bear on a run, which another shell may not have; `about` are lines of
    plain text for the head of the script.
    """

    setting: Setting
    machine: Machine
    asked_in: str
    start: Start = field(default_factory=Start)
    inherited: Mapping[str, str] = field(default_factory=dict)
    about: Sequence[str] = ()


@dataclass(frozen=True)
class Form:
    """A form of script: what it is called on the command line and in words, how its file is, and what makes its text."""

    name: str
    title: str
    file: str
    make: Callable[[Kept], str]


def _wrong(form: Form, others: Mapping[str, Form]) -> str | None:
    if not re.fullmatch(r"[a-z][a-z0-9-]*", form.name):
        return "its name is no word of small letters, digits and hyphens"
    taken = next((o.name for o in others.values() if o.file == form.file), None)
    return f"{taken} has a file of the same name" if taken is not None else None


_FORMS: Registry[Form] = Registry(
    Form, "form of script", "nodewise.jobs.forms", "FORM", "nodewise.scripts", "CONTRIBUTING.md", _wrong
)


def all_forms() -> dict[str, Form]:
    """The forms by name. Raises InputError where one that a package brings cannot be had."""
    return _FORMS.all()


def form_of(name: str, option: str) -> Form:
    """The form of that name. Raises InputError, in which `option` is how it was asked for."""
    forms = all_forms()
    if name not in forms:
        raise InputError(f"{option} {name!r} is no form of script", f"the forms are: {', '.join(sorted(forms))}")
    return forms[name]


def read_form(text: str) -> tuple[str, Path | None]:
    """The name of a form, or one with a file: `slurm=job.sbatch`. Raises InputError."""
    name, sign, file = text.partition("=")
    if sign and not file:
        raise InputError(f"--script {text!r} names no file", "write --script sh, or a file too: --script sh=run.sh")
    return form_of(name, "--script").name, Path(file).absolute() if file else None


def write_script(name: str, kept: Kept, path: Path) -> None:
    """Write a script of a form and make it executable, where it is a file. Raises OSError."""
    path.write_text(all_forms()[name].make(kept), encoding="utf-8", errors="surrogateescape")
    if path.is_file():
        path.chmod(path.stat().st_mode | 0o111)


def commented(about: Sequence[str]) -> list[str]:
    """Comments; a text of several lines stays one."""
    return [f"# {line}" for text in about for line in text.splitlines()]


def as_inherited(kept: Kept) -> Start:
    """The start, with what the shell held at that time."""
    return replace(kept.start, env={**kept.inherited, **kept.start.env})


def self_contained(setting: Setting) -> Setting:
    """The setting, its ranks started through the text of their script and not its file, which may go."""
    ranked = read_ranked(setting.command)
    if ranked is None:
        return setting
    wrapper, program = inlined(ranked)
    return replace(setting, command=tuple(replace(ranked, program=(*wrapper, *program)).command(ranked.ranks)))


def by_mpiexec(setting: Setting) -> tuple[Setting, list[str]]:
    """The setting as `self_contained` makes it, with mpiexec where its launcher belongs to another batch system, and what to say of that."""
    ranked = read_ranked(setting.command)
    if ranked is None or Path(ranked.head[0]).name not in ("srun", "aprun"):
        return self_contained(setting), []
    wrapper, program = inlined(ranked)
    words = ("mpiexec", "-n", str(ranked.ranks), *wrapper, *program)
    return replace(setting, command=words), options_left_out(ranked, "mpiexec")


def inlined(ranked: Ranked) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The words that start a rank in its place by themselves, without a file (none: it is not placed), and those of its program."""
    file, program = read_wrapper(ranked.program)
    return (() if file is None else ("sh", "-c", file.read_text(), "sh")), program


@dataclass(frozen=True)
class Needs:
    """What a start takes: ranks, processors for each, hardware threads of a core; `bound` where numbers name processors.

    `each` is how many ranks a full one of the `nodes` has. `name` is its program's, of letters, digits, dots, underscores and hyphens.
    """

    ranks: int
    threads: int
    per_core: int
    bound: bool
    name: str
    each: int
    nodes: int

    @property
    def processors(self) -> int:
        """Of all ranks of a full node."""
        return self.each * self.threads


def needs_of(kept: Kept) -> Needs:
    """What a batch system is asked for. Processors are distinguished by number, so a setting that binds takes whole nodes."""
    setting = kept.setting
    ranked = read_ranked(setting.command)
    ranks = ranked.ranks if ranked is not None else 1
    each = min(ranks, setting.ranks_per_node or ranks)
    nodes = max(-(-ranks // each), nodes_of_srun([*ranked.head, *ranked.middle]) if ranked is not None else 1)
    threads = threads_of(setting, kept.machine, each)
    program = read_wrapper(ranked.program)[1] if ranked is not None else setting.command
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", Path(program[0]).name).strip("-") or "program"
    bound = setting.mask is not None or setting.places is not None
    return Needs(ranks, threads, _per_core(setting, kept.machine, each * threads), bound, name, each, nodes)


def threads_of(setting: Setting, machine: Machine, ranks: int) -> int:
    """How many processors a rank takes, where a node has so many of them."""
    if setting.mask is not None and ranks == 1:
        return len(setting.mask)
    if setting.places is not None:
        return max(1, len({p for place in setting.places for p in place}) // ranks)
    threads = setting.values.get("threads")
    return int(threads) if threads is not None else max(1, machine.parallelism // ranks)


def _per_core(setting: Setting, machine: Machine, threads: int) -> int:
    """How many hardware threads of a core are used."""
    used = set(setting.mask or ()) | {p for place in setting.places or () for p in place}
    if used:
        return max((len(used & set(core.pus)) for core in machine.cores), default=1) or 1
    most = max((len(core.pus) for core in machine.allowed_cores), default=1)
    return max(1, min(most, -(-threads // max(1, len(machine.allowed_cores)))))


def options_left_out(ranked: Ranked, launcher: str) -> list[str]:
    """A line on those options of a command's launcher that `launcher`, which starts its ranks here, was not given; or none."""
    if Path(ranked.head[0]).name == launcher:
        return []
    own = own_options(ranked)
    return [f"Options of {ranked.head[0]} that {launcher} was not given: {quoted_line(own)}"] if own else []


def own_options(ranked: Ranked) -> list[str]:
    """The options of a command's launcher, without the number of ranks."""
    options = [*ranked.head[1:], *ranked.middle]
    return [w for w in options if not re.fullmatch(r"-n\d*|-np|--np|--ntasks(=.*)?|-ntasks|--pes|--", w)]
