# SPDX-License-Identifier: BSD-3-Clause
"""What starts a command on nodes: ClusterShell, srun, mpirun or ssh, with options of the user's, and how each is told which nodes."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from nodewise.base.bounded_json import open_regular
from nodewise.base.errors import InputError, UnavailableError
from nodewise.base.frozen import dataclass
from nodewise.base.words import split_words
from nodewise.nodes.node_names import expand, fold
from nodewise.runner.commands import run_whole

#: By kind the Debian package that brings it. Another one is a line here, and a branch in `command`; the page docs/check.md lists them.
_PACKAGES = {
    "clush": "clustershell",
    "srun": "slurm-client",
    "mpirun": "openmpi-bin",
    "ssh": "openssh-client",
}
KINDS = tuple(_PACKAGES)
_MPIRUN = re.compile(r"mpi(run|exec)([.-]\w+)*")
_NAME = re.compile(r"[A-Za-z0-9_][\w.-]{0,63}")
#: How long a connection may take, in seconds.
CONNECT_S = 10
#: Linux takes no longer word; names that no range folds take ten bytes each.
_AT_ONCE = 5000
_LONGEST_HOSTFILE = 16 << 20


@dataclass(frozen=True)
class Starter:
    """A command that starts others on nodes: its kind, and its words as the user gave them."""

    kind: str
    words: tuple[str, ...]

    @property
    def alone(self) -> bool:
        """Whether it is started for each node: one ssh reaches one, and one mpirun ends with the first node that cannot be had."""
        return self.kind in ("ssh", "mpirun")

    def batches(self, nodes: Sequence[str]) -> list[tuple[str, ...]]:
        """The nodes as each start of it has them."""
        step = 1 if self.alone else _AT_ONCE
        return [tuple(nodes[i : i + step]) for i in range(0, len(nodes), step)]

    def command(self, nodes: Sequence[str], words: Sequence[str], seconds: float, fanout: int) -> list[str]:
        """What starts `words` once on each of the nodes, for so many seconds there."""
        if self.kind == "ssh":
            options = ("-n", "-o", "BatchMode=yes", "-o", f"ConnectTimeout={CONNECT_S}")
            return [*self.words, *options, *nodes, shlex.join(words)]
        if self.kind == "mpirun":
            return [*self.words, "-n", "1", "-host", nodes[0], *words]
        if self.kind == "clush":
            limits = ("-f", str(fanout), "-t", str(CONNECT_S), "-u", f"{seconds + CONNECT_S:.0f}")
            return [*self.words, "-n", *limits, "-w", fold(nodes), shlex.join(words)]
        # -K0: a node that fails ends no other; a step that waits for its last task tells how each has ended
        many = ("-N", str(len(nodes)), "-n", str(len(nodes)), "--ntasks-per-node=1", "-w", fold(nodes))
        # one that is asked by itself, as others could not be had with it, is not waited for
        soon = [f"--immediate={CONNECT_S}"] if len(nodes) == 1 else []
        return [*self.words, *many, *soon, "-l", "-K0", "--wait=0", "--cpu-bind=none", *words]

    def limit_s(self, nodes: Sequence[str], seconds: float, fanout: int) -> float:
        """How many seconds one start of it may take, where a command on a node may take `seconds`."""
        waves = -(-len(nodes) // fanout) if self.kind == "clush" else 1
        # srun may wait for nodes that others use; then they are asked one by one
        return waves * (seconds + 2 * CONNECT_S) + (30 if self.kind == "srun" else 0)


def starter_of(text: str | None, environment: Mapping[str, str]) -> Starter:
    """The starter that the user names, or else that fits: srun inside a job of Slurm, else ClusterShell, else ssh.

    Raises InputError for a command that is none of them; UnavailableError where it is not installed.
    """
    words = split_words(text, "--through") if text is not None else [_fitting(environment)]
    name = Path(words[0]).name if words else ""
    kind = "mpirun" if _MPIRUN.fullmatch(name) else name
    if kind not in KINDS:
        raise InputError(
            f"--through: not one of {', '.join(KINDS)}: {text!r}", "with options where needed: --through 'srun -p long'"
        )
    if shutil.which(words[0], path=environment.get("PATH")) is None:
        raise UnavailableError(
            f"{words[0]} is not installed", f"apt-get install {_PACKAGES[kind]}, or another --through"
        )
    return Starter(kind, tuple(words))


def _fitting(environment: Mapping[str, str]) -> str:
    path = environment.get("PATH")
    wanted = ("srun", "clush", "ssh") if "SLURM_JOB_ID" in environment else ("clush", "ssh")
    for name in wanted:
        if shutil.which(name, path=path):
            return name
    raise UnavailableError("neither clush nor ssh is installed", "apt-get install clustershell or openssh-client")


def nodes_asked(hosts: str | None, hostfile: Path | None, environment: Mapping[str, str]) -> list[str]:
    """The nodes' names, each once, in order. `@job` are those of the job of Slurm, PBS or LSF that this is part of; other names
    with an `@` are groups of ClusterShell.

    Raises InputError where there are none, or one is no name of a node; UnavailableError for a group without ClusterShell.
    """
    if (hosts is None) == (hostfile is None):
        raise InputError("--hosts and --hostfile: one of them")
    if hosts == "@job":
        hosts, hostfile = _of_job(environment)
    if hostfile is not None:
        names, where = _in_file(hostfile)
    elif "@" in (hosts or ""):
        names = _of_group(hosts or "", environment)
    else:
        names = expand(hosts or "")
    once = list(dict.fromkeys(names))
    if wrong := next((n for n in once if not _NAME.fullmatch(n)), None):
        at = f"{where.get(wrong, hostfile)}: " if hostfile is not None else ""
        raise InputError(f"{at}not a name of a node: {wrong[:80]!r}", "write nodes such as n[001-128],login1")
    if not once:
        raise InputError(f"no node is named in {repr(hosts) if hostfile is None else hostfile}")
    return once


def _of_job(environment: Mapping[str, str]) -> tuple[str | None, Path | None]:
    if environment.get("SLURM_JOB_NODELIST"):
        return environment["SLURM_JOB_NODELIST"], None
    if environment.get("PBS_NODEFILE"):
        return None, Path(environment["PBS_NODEFILE"])
    if environment.get("LSB_HOSTS", "").split():
        return ",".join(environment["LSB_HOSTS"].split()), None
    raise InputError("--hosts @job: this is part of no job of Slurm, PBS or LSF", "name the nodes: --hosts n[1-4]")


def _in_file(hostfile: Path) -> tuple[list[str], dict[str, str]]:
    """As mpirun reads them: a name on a line, then what is of no matter here; and where each stands first."""
    try:
        with open_regular(hostfile) as file:
            text = file.read(_LONGEST_HOSTFILE + 1)
    except OSError as problem:
        raise InputError(f"cannot read {hostfile}: {problem.strerror}") from problem
    except ValueError as problem:
        raise InputError(f"cannot read {hostfile}: {problem}") from problem
    if len(text) > _LONGEST_HOSTFILE:
        raise InputError(f"{hostfile}: more than {_LONGEST_HOSTFILE >> 20} MiB")
    names: list[str] = []
    where: dict[str, str] = {}
    for number, line in enumerate(text.decode("utf-8-sig", errors="replace").splitlines(), 1):
        if word := line.partition("#")[0].split():
            at = f"{hostfile}, line {number}"
            try:
                found = expand(word[0].split(":")[0])
            except InputError as problem:
                raise InputError(f"{at}: {problem.what}", problem.hint) from problem
            names += found
            where |= {n: at for n in found if n not in where}
    return names, where


def _of_group(text: str, environment: Mapping[str, str]) -> list[str]:
    if shutil.which("nodeset", path=environment.get("PATH")) is None:
        raise UnavailableError(
            f"{text!r} names a group, and ClusterShell is not installed", "apt-get install clustershell"
        )
    try:
        done = run_whole(["nodeset", "-e", "-S", "\n", "--", text], CONNECT_S, env=dict(environment))
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise UnavailableError(f"nodeset did not answer: {problem}") from problem
    if done.returncode:
        raise InputError(f"ClusterShell knows no such nodes: {text!r}: {' '.join(done.stderr.split())[:200]}")
    return done.stdout.split()


def remote_words(text: str | None, own: Sequence[str]) -> list[str]:
    """What starts nodewise on a node: as the user gives it, or as it was started here, from a folder that all nodes see.

    Raises InputError for what no shell would read.
    """
    words = split_words(text, "--remote") if text is not None else list(own)
    if not words:
        raise InputError("--remote: it names no command", "such as --remote /opt/nodewise/bin/nodewise")
    return words
