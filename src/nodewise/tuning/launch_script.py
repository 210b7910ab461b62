# SPDX-License-Identifier: BSD-3-Clause
"""Launch scripts: a setting as an executable file, for a shell or for Slurm's sbatch."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from nodewise.base.errors import InputError
from nodewise.machine.model import Machine
from nodewise.placement.job import Job
from nodewise.placement.placement import Placement
from nodewise.placement.render import render
from nodewise.runner.launch import Start, launch_of, quoted_line
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


def _head(about: Sequence[str]) -> list[str]:
    """Comments; a text of several lines stays one."""
    return [f"# {line}" for text in about for line in text.splitlines()]


def _as_inherited(kept: Kept) -> Start:
    """The start, with what the shell held at that time."""
    return replace(kept.start, env={**kept.inherited, **kept.start.env})


def shell_script(kept: Kept) -> str:
    """A script for sh that becomes the program, from wherever it is started; ranks are started through a text inside it."""
    setting = kept.setting
    ranked = read_ranked(setting.command)
    if ranked is not None:
        setting = replace(setting, command=tuple(_inlined(ranked)))
    body = launch_of(setting, _as_inherited(kept)).body(kept.asked_in)
    return "\n".join(["#!/bin/sh", *_head(kept.about), "set -eu", body])


def _inlined(ranked: Ranked) -> list[str]:
    """A command whose ranks start through the text of their script and not its file, which may go."""
    file, program = read_wrapper(ranked.program)
    if file is None:
        return ranked.command(ranked.ranks)
    inlined = ("sh", "-c", file.read_text(), "sh", *program)
    return replace(ranked, program=inlined).command(ranked.ranks)


def slurm_script(kept: Kept) -> str:
    """A script for sbatch. Ranks are started by srun, in their places; a single process by the script itself.

    Processors are distinguished by number, so a setting that binds takes whole nodes of the machine that it was found on.
    """
    setting = kept.setting
    ranked = read_ranked(setting.command)
    ranks = ranked.ranks if ranked is not None else 1
    threads = _threads(setting, kept.machine, ranks)
    bound = setting.mask is not None or setting.places is not None
    directives = {
        "job-name": _job_name(ranked.program if ranked is not None else setting.command),
        "nodes": "1",
        "ntasks": str(ranks),
        "ntasks-per-node": str(ranks),
        "cpus-per-task": str(threads),
        "threads-per-core": str(_per_core(setting, kept.machine, ranks * threads)),
    }
    lines = ["#!/bin/sh", *(f"#SBATCH --{name}={value}" for name, value in directives.items())]
    lines += ["#SBATCH --exclusive"] if bound else []
    about = list(kept.about)
    if ranked is not None:
        options = [*ranked.head[1:], *ranked.middle]
        own = [w for w in options if w not in ("-n", "-np", "--np", "--ntasks", "-ntasks", "--")]
        if own and Path(ranked.head[0]).name != "srun":
            about.append(f"Options of {ranked.head[0]} that srun was not given: {quoted_line(own)}")
        setting = _by_srun(setting, ranked, kept.machine, ranks)
    body = launch_of(setting, _as_inherited(kept)).body(kept.asked_in)
    return "\n".join([*lines, *_head(about), "set -eu", body])


def _by_srun(setting: Setting, ranked: Ranked, machine: Machine, ranks: int) -> Setting:
    """The setting with srun as its launcher, which puts each rank in its places."""
    _, program = read_wrapper(ranked.program)
    own = Path(ranked.head[0]).name == "srun"
    options = [*ranked.head[1:], *ranked.middle] if own else []
    # how many ranks there are is in the script's head
    options = [w for w in options if not re.fullmatch(r"-n\d*|--ntasks(=.*)?|-ntasks|--", w)]
    env = {k: v for k, v in setting.env.items() if not k.startswith(("OMPI_MCA_hwloc", "PRTE_MCA_hwloc", "SLURM_CPU"))}
    if setting.places is None:
        # from Slurm 22.05 on srun does not take this from the script's head
        threads = _threads(setting, machine, ranks)
        return replace(setting, command=("srun", f"--cpus-per-task={threads}", *options, *program), env=env)
    each = len(setting.places) // ranks
    by_rank = [setting.places[i * each : (i + 1) * each] for i in range(ranks)]
    placement: Placement = Job(each, ranks).placement("as found", by_rank)
    rendering = render("slurm", machine, placement)
    openmp = "OMP_NUM_THREADS" in setting.env
    # a file of Slurm's own dialect would be one more to keep: its text goes along
    files = [word for name, text in rendering.files.items() if openmp for word in ("sh", "-c", text, "sh")]
    words = [w for w in rendering.words if w.removeprefix("./") not in rendering.files]
    env |= rendering.env if openmp else {}
    # where srun does, masks beyond it are refused
    unset = (*setting.unset, "SLURM_CPUS_PER_TASK", "SRUN_CPUS_PER_TASK")
    return replace(setting, command=(*words, *options, *files, *program), env=env, unset=unset)


def _threads(setting: Setting, machine: Machine, ranks: int) -> int:
    """How many processors a rank takes."""
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


def _job_name(program: Sequence[str]) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", Path(program[0]).name).strip("-") or "program"


#: The kinds of script by name, and how a file of each is called.
KINDS: dict[str, tuple[Callable[[Kept], str], str]] = {
    "sh": (shell_script, "launch.sh"),
    "slurm": (slurm_script, "launch.sbatch"),
}


def read_kind(text: str) -> tuple[str, Path | None]:
    """`sh`, `slurm`, or either with a file: `slurm=job.sbatch`. Raises InputError."""
    kind, sign, file = text.partition("=")
    if kind not in KINDS or (sign and not file):
        raise InputError(
            f"--script {text!r} is no kind of script",
            "write --script sh, --script slurm, or a file too: --script sh=run.sh",
        )
    return kind, Path(file).absolute() if file else None


def write_script(kind: str, kept: Kept, path: Path) -> None:
    """Write a script of a kind and make it executable, where it is a file. Raises OSError."""
    make, _ = KINDS[kind]
    path.write_text(make(kept), encoding="utf-8", errors="surrogateescape")
    if path.is_file():
        path.chmod(path.stat().st_mode | 0o111)
