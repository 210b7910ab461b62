# SPDX-License-Identifier: BSD-3-Clause
"""Launch scripts that profile chosen ranks of an MPI program: by srun's --multi-prog, aprun's and mpiexec's colon.

Every script writes two small ones into its folder, `plain` and `recorded`, and starts the ranks through these: so no name of a program or a folder stands in a line that
srun or a launcher reads in its own way (srun(1), MULTIPLE PROGRAM CONFIGURATION; aprun(1); the colon of mpiexec is of the MPI standard, 11.5). Each node has a folder of its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from pathlib import Path

from nodewise.base.errors import InputError
from nodewise.base.frozen import dataclass
from nodewise.jobs.forms.pbs import job_name
from nodewise.jobs.script import commented, options_left_out, own_options
from nodewise.profile.ranks import Ranks, number_text
from nodewise.runner.launch import Start, launch_of, quoted, quoted_line
from nodewise.runner.over_nodes import read_per_node
from nodewise.runner.setting import Setting
from nodewise.tuning.ranks import Ranked

#: What a recorder's words have in the place of its file.
INTO = "\0into"
_TIME = re.compile(r"\d{1,3}:[0-5]\d:[0-5]\d")
_NODES = re.compile(r"(?:-N|--nodes)[ =]?(\d+(?:-\d+)?)")
_DEPTH = re.compile(r"(?:-c|-d|--cpus-per-task|--depth|--cpus-per-pe|--cpus-per-rank)[ =]?(\d+)")
#: Options whose value is given anew for each part.
_OF_PARTS = ("-N", "--pes-per-node")


@dataclass(frozen=True)
class ProfileJob:
    """What a script is made of.

    `ranked` is the command, `ranks` those that are recorded, `record` the recorder's words with `INTO` for its file, whose name is `file`; `kept` the text
    that is written beside the recordings. `walltime` is HH:MM:SS, `folder` where results go (empty: where the job is handed in), `env` variables of every rank.
    """

    ranked: Ranked
    ranks: Ranks
    record: tuple[str, ...]
    file: str
    kept: str
    asked_in: str
    walltime: str
    folder: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    about: Sequence[str] = ()

    @property
    def per_node(self) -> int:
        """Ranks on each node, as the command's options say; 0 where they do not."""
        return read_per_node([*self.ranked.head, *self.ranked.middle])

    @property
    def depth(self) -> int:
        """Processors of each rank, as the command's options say, else as OMP_NUM_THREADS does."""
        match = _DEPTH.search(" ".join(self._options))
        threads = self.env.get("OMP_NUM_THREADS", "").partition(",")[0]
        return int(match[1]) if match else max(1, int(threads)) if threads.isdecimal() else 1

    @property
    def name(self) -> str:
        """The job's, of letters, digits, dots, underscores and hyphens."""
        return re.sub(r"[^A-Za-z0-9._-]+", "-", Path(self.ranked.program[0]).name).strip("-.") or "program"

    @property
    def _options(self) -> list[str]:
        return [*self.ranked.head[1:], *self.ranked.middle]

    def nodes(self) -> str:
        """How many nodes srun was asked for; empty where it was not."""
        match = _NODES.search(" ".join(self._options)) if Path(self.ranked.head[0]).name == "srun" else None
        return match[1] if match else ""


def profile_script(form: str, job: ProfileJob) -> str:
    """The text of a form of script. Raises InputError for a form that has no ranks, and for what is no time."""
    if form not in _FORMS:
        raise InputError(f"--script {form!r} starts no chosen ranks", f"there are {', '.join(_FORMS)}")
    if not _TIME.fullmatch(job.walltime):
        raise InputError(f"--walltime: not a time: {job.walltime!r}", "write hours, minutes and seconds: 00:30:00")
    head, submitted, number, start, about = _FORMS[form](job)
    where = quoted(job.folder) if job.folder else f'"{submitted}/nodewise-profile.{number}"'
    words = [*job.record[: job.record.index(INTO)], "$into", *job.record[job.record.index(INTO) + 1 :]]
    line = " ".join('"$into"' if word == "$into" else quoted(word) for word in words)
    inner = Start(env=dict(job.env))
    plain = launch_of(Setting(job.ranked.program), inner).body(job.asked_in)
    chosen = launch_of(Setting(("sh", "-c", f'exec {line} "$@"', "sh", *job.ranked.program)), inner).body(job.asked_in)
    own = f'{number_text()}\nn=$(uname -n)\nmkdir -p "$PWD/$n"\nexport into="$PWD/$n/{job.file}.$r"\n'
    lines = [
        "#!/bin/sh",
        *head,
        *commented([*job.about, *about]),
        "set -eu",
        f"folder={where}",
        'mkdir -p "$folder"',
        'cd "$folder"',
        f"printf '%s\\n' {quoted(job.kept)} > profile.json",
        f"printf %s {quoted(plain)} > plain",
        f"printf %s {quoted(own + chosen)} > recorded",
        *start,
        'echo "shown by: nodewise profile --read $folder" >&2',
    ]
    return "\n".join(lines) + "\n"


#: Lines of the head, the directory that a job is handed in from, its number, the lines that start the ranks, and what to say.
_Made = tuple[list[str], str, str, list[str], list[str]]


def _slurm(job: ProfileJob) -> _Made:
    ranks = job.ranked.ranks
    head = [f"#SBATCH --job-name={job.name}", f"#SBATCH --ntasks={ranks}", f"#SBATCH --time={job.walltime}"]
    head += [f"#SBATCH --cpus-per-task={job.depth}"] if job.depth > 1 else []
    head += [f"#SBATCH --nodes={job.nodes()}"] if job.nodes() else []
    head += [f"#SBATCH --ntasks-per-node={job.per_node}"] if job.per_node else []
    options = own_options(job.ranked) if Path(job.ranked.head[0]).name == "srun" else []
    parts = "".join(
        f"{first if first == last else f'{first}-{last}'} /bin/sh ./{'recorded' if chosen else 'plain'}\n"
        for first, last, chosen in job.ranks.parts(ranks)
    )
    # from Slurm 22.05 on srun does not take this from the script's head
    if job.depth > 1 and not _DEPTH.search(" ".join(options)):
        options = [f"--cpus-per-task={job.depth}", *options]
    start = [
        f"printf %s {quoted(parts)} > ranks.conf",
        quoted_line(["srun", "-n", str(ranks), *options, "--multi-prog", "ranks.conf"]),
    ]
    return head, "${SLURM_SUBMIT_DIR:-$PWD}", "${SLURM_JOB_ID:-$$}", start, options_left_out(job.ranked, "srun")


def _pbs_alps(job: ProfileJob) -> _Made:
    ranks, per, depth = job.ranked.ranks, job.per_node, job.depth
    parts = job.ranks.parts(ranks)
    about = options_left_out(job.ranked, "aprun")
    options = own_options(job.ranked) if Path(job.ranked.head[0]).name == "aprun" else []
    options = _without(options, _OF_PARTS)
    if not _DEPTH.search(" ".join(options)) and depth > 1:
        options += ["-d", str(depth)]
    words: list[str] = []
    width = 0
    for first, last, chosen in parts:
        count = last - first + 1
        # a node runs ranks of one part alone, so each part takes whole nodes
        width += -(-count // per) * per if per else count
        each = ["-N", str(min(per, count))] if per else []
        script = "recorded" if chosen else "plain"
        words += [*([":"] if words else []), "-n", str(count), *each, *options, "/bin/sh", f"./{script}"]
    if len(parts) > 1:
        about.append("Each part between colons takes nodes of its own.")
    head = [f"#PBS -N {job_name(job.name)}", "#PBS -j oe", f"#PBS -l walltime={job.walltime}"]
    head += [f"#PBS -l mppwidth={width}{f',mppnppn={per}' if per else ''},mppdepth={depth}"]
    start = ["export PMI_NO_FORK=1", quoted_line(["aprun", *words])]
    return head, "${PBS_O_WORKDIR:-$PWD}", "${PBS_JOBID:-$$}", start, about


def _mpiexec(job: ProfileJob) -> tuple[list[str], list[str]]:
    """The line that starts ranks by mpiexec, and what to say of options that it was not given."""
    words: list[str] = []
    for first, last, chosen in job.ranks.parts(job.ranked.ranks):
        script = "recorded" if chosen else "plain"
        words += [*([":"] if words else []), "-n", str(last - first + 1), "/bin/sh", f"./{script}"]
    name = Path(job.ranked.head[0]).name
    own = name not in ("srun", "aprun")
    launcher = job.ranked.head[0] if own else "mpiexec"
    options = own_options(job.ranked) if own else []
    return [quoted_line([launcher, *options, *words])], [] if own else options_left_out(job.ranked, "mpiexec")


def _pbs(job: ProfileJob) -> _Made:
    ranks, per, depth = job.ranked.ranks, job.per_node or 1, job.depth
    chunk = f"select={-(-ranks // per)}:ncpus={per * depth}:mpiprocs={per}:ompthreads={depth}"
    head = [f"#PBS -N {job_name(job.name)}", "#PBS -j oe", f"#PBS -l walltime={job.walltime}", f"#PBS -l {chunk}"]
    start, about = _mpiexec(job)
    return head, "${PBS_O_WORKDIR:-$PWD}", "${PBS_JOBID:-$$}", start, about


def _lsf(job: ProfileJob) -> _Made:
    hours, minutes, seconds = map(int, job.walltime.split(":"))
    whole = hours * 60 + minutes + (seconds > 0)
    head = [f"#BSUB -J {job.name}", f"#BSUB -o {job.name}.%J.out", f"#BSUB -n {job.ranked.ranks}"]
    head += [f"#BSUB -W {whole // 60}:{whole % 60:02}"]
    needs = ([f"span[ptile={job.per_node}]"] if job.per_node else []) + (
        [f"affinity[core({job.depth})]"] if job.depth > 1 else []
    )
    head += [f'#BSUB -R "{" ".join(needs)}"'] if needs else []
    start, about = _mpiexec(job)
    return head, "${LS_SUBCWD:-$PWD}", "${LSB_JOBID:-$$}", start, about


def _without(options: Sequence[str], names: Sequence[str]) -> list[str]:
    """The options but for those named, each with its value."""
    left: list[str] = []
    skip = False
    for word in options:
        if skip:
            skip = False
        elif word in names:
            skip = True
        elif not word.startswith(tuple(f"{name}=" for name in names)):
            left.append(word)
    return left


_FORMS: Mapping[str, Callable[[ProfileJob], _Made]] = {
    "slurm": _slurm,
    "pbs": _pbs,
    "pbs-alps": _pbs_alps,
    "lsf": _lsf,
}
