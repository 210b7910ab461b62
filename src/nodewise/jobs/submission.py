# SPDX-License-Identifier: BSD-3-Clause
"""An experiment as one job of Slurm, which goes on where it was however often it is requeued, killed or at its time limit."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypedDict

from nodewise.base.bounded_json import parse_json
from nodewise.base.errors import InputError, StoreError, UnavailableError
from nodewise.base.files import alone_in, make_directory, write_whole
from nodewise.base.frozen import dataclass
from nodewise.base.shapes import fit
from nodewise.base.words import split_words
from nodewise.runner.commands import run_whole
from nodewise.runner.launch import quoted, quoted_line

#: The files that belong to an experiment's job, in its directory: which job it is, and what it printed.
JOB, LOG = "job.json", "job.log"
#: The command that hands in any experiment.
SUBMIT = "submit"
_ASK_S = 60.0
#: Options of sbatch that are not to be given, and what is said besides.
_OWN = {
    "output": f"; the log is {LOG} in the experiment's folder",
    "array": ": --array 8%2 says it",
    "parsable": "",
    "wrap": ": the program stands behind --",
    "test-only": "",
}
#: Characters shown of what it says.
_MOST_SAID = 500
#: A command whose input is what an open file holds.
_GIVEN = 'exec "$@" </proc/self/fd/"$0"'
#: How long before its time limit a job stops measuring, in seconds: Slurm sends it as much as a minute earlier.
_BEFORE_END_S = 60
#: Stands for the number of a task in a path, quoted as every path that a shell would read otherwise.
_TASK = "{task}"
_MOST_TASKS = 100_000
#: What Slurm calls a job that will not run again.
_OVER = {
    *("BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED"),
    *("REVOKED", "TIMEOUT"),
}
#: What follows the head, of an experiment's folder or one of experiments: one nodewise at a time, asked to end by TERM so that what it measured is whole. `wait` ends early where a
#: trap ran, and a process that was not waited for is still there. No more is asked of a job that measures nothing in its time.
_TEXT = """
folder={folder}
cd {asked_in}
found() {{ find "$folder" -maxdepth 2 -name "$1" 2>/dev/null; }}
size() {{ found samples.jsonl | tr '\\n' '\\0' | xargs -0 -r cat 2>/dev/null | wc -c; }}
before=$(size)
again=
pid=
trap 'again=1; [ -z "$pid" ] || kill -TERM "$pid" 2>/dev/null' USR1
trap 'trap "" TERM; if [ -n "$pid" ]; then kill -TERM "$pid" 2>/dev/null; wait "$pid"; fi; exit 143' TERM
if [ -n "$(found question.json)" ]; then
    {resumed} &
else
    {first} &
fi
pid=$!
while wait "$pid"; code=$?; [ $code -gt 128 ] && kill -0 "$pid" 2>/dev/null; do :; done
pid=
if [ $code -le 128 ] && ! grep -qs '^ "stopped": "interrupted"' "$folder/verdict.json"; then
    exit $code
fi
if [ -z "$again" ] && [ $code -le 128 ]; then
    exit $code
fi
if [ "$(size)" -le "$before" ]; then
    echo "nothing was measured in this part of the job, so it does not go on by itself" >&2
    exit 1
fi
scontrol requeue "$SLURM_JOB_ID" || {{
    echo "the job cannot be requeued; this goes on in another one: "{by_hand} >&2
    exit 1
}}
"""


class _Stored(TypedDict):
    id: int


@dataclass(frozen=True)
class Array:
    """An experiment that is made so many times, on as many nodes; at most `at_once` at a time (None: as many as Slurm has room for)."""

    tasks: int
    at_once: int | None = None

    @property
    def option(self) -> str:
        """As sbatch takes it."""
        return f"--array=1-{self.tasks}" + (f"%{self.at_once}" if self.at_once else "")

    @property
    def told(self) -> str:
        """How many at once, in words."""
        return f"at most {self.at_once} at once" if self.at_once else "as many at once as there is room for"


def read_array(text: str) -> Array:
    """`8`, or `8%2`: eight tasks, two at a time. Raises InputError."""
    found = re.fullmatch(r"([1-9]\d{0,5})(?:%([1-9]\d{0,5}))?", text, re.ASCII)
    if found is None or int(found[1]) > _MOST_TASKS:
        raise InputError(
            f"--array {text!r} is no number of tasks", "write how many, and how many at once: --array 8, --array 8%2"
        )
    return Array(int(found[1]), int(found[2]) if found[2] else None)


def task_folder(folder: Path, task: int | str = _TASK) -> Path:
    """Where a task of an array keeps its experiment; without a number: a name for each, for `array_text`."""
    return folder / f"task-{task}"


def array_text(text: str) -> str:
    """The script of a job as each task of an array runs it: paths of `task_folder` are those of its own task."""
    # such a path stands between quotes, as the shell would read its braces
    return text.replace(_TASK, "'\"$SLURM_ARRAY_TASK_ID\"'")


def read_options(text: str) -> tuple[str, ...]:
    """Options of sbatch as they were typed in one word, by their long names: `partition=long time=4:00:00`.

    The first has a value, which distinguishes them from a program. Raises InputError for what are none.
    """
    words = tuple(split_words(text, "--submit"))
    if any(not re.fullmatch(r"[a-z][a-z-]*(=.*)?", word, re.DOTALL) for word in words) or "=" not in [*words, "="][0]:
        raise InputError(
            f"--submit {text!r} are no options of sbatch",
            "write --submit -- before the program, or its options by their long names: "
            "--submit='partition=long time=4:00:00'",
        )
    if own := [name for word in words if (name := word.partition("=")[0]) in _OWN]:
        raise InputError(f"--submit {text!r}: nodewise sets {own[0]} itself", "leave it out" + _OWN[own[0]])
    return tuple(f"--{word}" for word in words)


def job_text(
    folder: Path, name: str, asked_in: str, first: Sequence[str], resumed: Sequence[str], by_hand: str = "tune"
) -> str:
    """The script of an experiment's job: `first` begins it, in the directory `asked_in`, and `resumed` goes on with it.

    `by_hand` is the command that does so with `--resume DIR --submit`, or `SUBMIT` itself.

    It has whole nodes to itself, is asked to stop a minute before its time limit, and then is requeued: it stays one job.
    """
    directives = [
        f"--job-name=nodewise-{re.sub(r'[^A-Za-z0-9._-]+', '-', name)[:60]}",
        *("--open-mode=append", "--requeue", f"--signal=B:USR1@{_BEFORE_END_S}", "--exclusive"),
    ]
    text = _TEXT.format(
        folder=quoted(str(folder)),
        asked_in=quoted(asked_in),
        first=quoted_line(first),
        resumed=quoted_line(resumed),
        by_hand=quoted(
            f"nodewise {by_hand} --resume {quoted(str(folder))}" + (" --submit" if by_hand != SUBMIT else "")
        ),
    )
    return "\n".join(["#!/bin/sh", *(f"#SBATCH {d}" for d in directives)]) + text


def submit(folder: Path, text: str, options: Sequence[str], array: Array | None = None) -> int:
    """Hand an experiment's job to Slurm, with further options of sbatch, and return its number; `folder` is made if need be.

    Of an `array` each task has a folder in it, and its own log.

    Raises InputError where a job of that experiment is queued or runs, or sbatch refuses it, UnavailableError where
    there is no sbatch, StoreError where the job's files cannot be written.
    """
    sbatch = shutil.which("sbatch")
    if sbatch is None:
        raise UnavailableError(
            "there is no sbatch here, which hands jobs to Slurm", "submit on a node that has it (package slurm-client)"
        )
    new = [path for path in (folder, *folder.absolute().parents) if not path.exists()]
    tasks = [task_folder(folder, task) for task in range(1, 1 + (array.tasks if array is not None else 0))]
    make_directory(folder)
    try:
        with alone_in(folder, f"another nodewise is at work in {folder}", "one is enough"):
            if (before := queued(folder)) is not None:
                raise InputError(
                    f"job {before} of {folder} is queued or runs",
                    f"wait for it, or end it: scancel {before}; --submit again goes on then",
                )
            new = [*(task for task in tasks if not task.exists()), *new]
            for task in tasks:
                make_directory(task)
            job: _Stored = {"id": _handed_in(sbatch, folder, text, options, array)}
            try:
                write_whole(folder / JOB, json.dumps(job))
            except StoreError as problem:
                raise StoreError(
                    f"job {job['id']} was handed in, and its number cannot be kept: {problem.what}",
                    f"note the number: scancel {job['id']} ends it, and --submit would hand in a second one",
                ) from problem
            return job["id"]
    except InputError:
        # what was made for the job is empty
        for path in new:
            with suppress(OSError):
                path.rmdir()
        raise


def _handed_in(sbatch: str, folder: Path, text: str, options: Sequence[str], array: Array | None) -> int:
    """The number of the job that Slurm makes of a script. Raises InputError."""
    # "%" begins what sbatch fills in; the script is Slurm's alone, as there may be secrets in what was typed
    log = str(folder).replace("%", "%%") + ("/" if array is None else "/task-%a/") + LOG
    command = (sbatch, "--parsable", f"--output={log}", *([] if array is None else [array.option]), *options)
    done = _said(command, text.encode(errors="surrogateescape"))
    said = (done.stderr or done.stdout).strip()[-_MOST_SAID:]
    if done.returncode:
        end = f"signal {-done.returncode}" if done.returncode < 0 else f"exit code {done.returncode}"
        why = said or f"it ended with {end}, and said nothing"
        raise InputError(f"sbatch refuses the job: {why}", "further options of sbatch: --submit='partition=long'")
    # a site's own sbatch may say more before it
    number = re.search(r"^(?:Submitted batch job )?(\d{1,18})(?:;\S+)?\s*\Z", done.stdout, re.MULTILINE)
    if number is None:
        raise InputError(
            f"sbatch ended well, and its last line is no number of a job: {said or 'it said nothing'}",
            "see squeue --me: where the job is there, it runs, and is not remembered here",
        )
    return int(number[1])


def queued(folder: Path) -> int | None:
    """The number of the job that an experiment has in the queue, waiting or running; None where there is none.

    Raises StoreError where its file is damaged, InputError where Slurm does not answer.
    """
    path = folder / JOB
    try:
        job: _Stored = fit(parse_json(path.read_bytes()), _Stored)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as problem:
        raise StoreError(f"{path} cannot be read: {problem}", "see squeue --me; without a job, remove it") from problem
    done = _said(("squeue", "--noheader", "--jobs", str(job["id"]), "--format=%T"))
    if done.returncode and "Invalid job id" not in done.stderr:
        raise InputError(
            f"whether job {job['id']} of {folder} still runs is not known: {done.stderr.strip() or 'squeue fails'}",
            "ask again once Slurm answers",
        )
    states = done.stdout.split()
    return job["id"] if any(state not in _OVER for state in states) else None


@dataclass(frozen=True)
class _Said:
    returncode: int
    stdout: str
    stderr: str


def _said(words: Sequence[str], given: bytes = b"") -> _Said:
    """What a command of Slurm says, which is given that much input. Raises InputError where it does not end, or is not there."""
    with os.fdopen(os.memfd_create("given"), "wb") as file:
        file.write(given)
        file.flush()
        try:
            # what it leaves running may have its output open for ever
            done = run_whole(("/bin/sh", "-c", _GIVEN, str(file.fileno()), *words), _ASK_S, pass_fds=(file.fileno(),))
        except (OSError, subprocess.SubprocessError) as problem:
            why = (
                f"it took longer than {_ASK_S:.0f} s"
                if isinstance(problem, subprocess.TimeoutExpired)
                else str(problem)
            )
            raise InputError(f"{words[0]} does not answer: {why}", "see whether Slurm runs: sinfo") from problem
    return _Said(done.returncode, done.stdout, done.stderr)
