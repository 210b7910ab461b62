# SPDX-License-Identifier: BSD-3-Clause
"""Where the threads of a program really ran, from what is watched to what is said of it."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from nodewise.api.caller import Notify, question, unheard
from nodewise.api.given import Command, Duration, StrPath, seconds_of, words_of
from nodewise.api.options import RunChoice, choose_run, with_variables
from nodewise.base.bounded_json import parse_json, read_bounded
from nodewise.base.errors import InputError, ProgramError
from nodewise.base.frozen import dataclass
from nodewise.base.note import Note
from nodewise.machine.model import Machine
from nodewise.machine.sources import load_machine
from nodewise.placement.memory import MemoryPolicy, check_memory, read_memory
from nodewise.runner.agreement import Agreement, agreement
from nodewise.runner.launch import quoted_line
from nodewise.runner.local import LocalLauncher
from nodewise.runner.memory_proof import prove_memory
from nodewise.runner.observe import Observation, Observer, check_interval
from nodewise.runner.proc_files import executable_of
from nodewise.runner.setting import Setting
from nodewise.verdicts.place import PlaceOutput
from nodewise.verdicts.where import WhereOutput, where_output

_LONGEST_S = 1e7
#: A plan of a machine with thousands of processors has some hundred kilobytes.
_LONGEST_PLAN = 64 << 20


@dataclass(frozen=True)
class Asked:
    """What is compared with what is seen: the places of each rank (None: what the program's own environment asks for), a policy."""

    machine: Machine
    places: Sequence[Sequence[tuple[int, ...]]] | None
    policy: MemoryPolicy | None

    def judge(self, seen: Observation) -> Agreement:
        """What was seen, compared with it."""
        agreed = agreement(self.machine, seen, None if self.places is None else [list(rank) for rank in self.places])
        if self.policy is not None:
            proofs = {p.pid: prove_memory(self.policy, p.mappings) for p in seen.working}
            agreed.findings += [f"process {pid}: {proof.words}" for pid, proof in proofs.items()]
        return agreed


def prepare_where(interval: float, plan: PlaceOutput | StrPath | None, memory: str | None) -> Asked:
    """What is to be compared with what is seen every `interval` seconds. Raises InputError for what cannot be."""
    check_interval(interval)
    machine = load_machine()
    places = None
    if isinstance(plan, PlaceOutput):
        places = _by_rank(list(plan.places or ()), list(plan.ranks))
    elif plan is not None:
        places = _planned(Path(plan))
    policy = None if memory is None else read_memory(machine, memory)
    if policy is not None:
        check_memory(machine, policy)
    return Asked(machine, places, policy)


def _planned(path: Path) -> list[list[tuple[int, ...]]]:
    """The plan that `place --json` wrote, by rank. Raises InputError where the file is not one."""
    try:
        data: Any = parse_json(read_bounded(path, _LONGEST_PLAN))
        places = [tuple(map(int, place)) for place in data["places"]]
        counts = list(map(int, data.get("ranks") or [len(places)]))
        if not all(places) or sum(counts) != len(places):
            raise ValueError
    except OSError as problem:
        raise InputError(f"cannot read {path}: {problem.strerror}") from problem
    except (ValueError, KeyError, TypeError, AttributeError) as problem:
        why = f": {problem}" if isinstance(problem, ValueError) and str(problem) else ""
        raise InputError(f"{path} is no plan{why}", "write one with: nodewise place … --json > plan.json") from problem
    return _by_rank(places, counts)


def _by_rank(places: list[tuple[int, ...]], counts: list[int]) -> list[list[tuple[int, ...]]]:
    found = []
    for count in counts or [len(places)]:
        found.append(places[:count])
        places = places[count:]
    return found


def observer_of(pid: int, seconds: float, interval: float, note: Notify = unheard) -> Observer:
    """What watches a process that runs already for so many seconds, every `interval` seconds. Raises InputError for what cannot be watched."""
    if pid < 1 or not 0 < seconds < _LONGEST_S:
        raise InputError(f"cannot watch process {pid} for {seconds:g} s", "give positive numbers")
    observer = Observer(pid, interval)
    if not os.access(f"/proc/{pid}/environ", os.R_OK):
        note(Note("note", f"process {pid} is another user's: its memory and variables cannot be read"))
    return observer


def watch_for(observer: Observer, seconds: float) -> None:
    """Watch for that many seconds, or until the process ends."""

    def ended(wait: float) -> bool:
        time.sleep(wait)
        return False

    observer.watch(ended, seconds)


def _watch_command(words: Sequence[str], interval: float, run: RunChoice) -> Observation:
    """What is seen of a program that the runner starts, which keeps what it prints. Raises ProgramError where it fails."""
    over = threading.Event()
    with LocalLauncher(run.options, run.environment) as launcher:
        observer = Observer(launcher.process, interval, passed_over=executable_of(launcher.process))
        watcher = threading.Thread(target=observer.watch, args=(over.wait,), name="nodewise-where", daemon=True)
        watcher.start()
        try:
            sample = launcher.run(Setting(tuple(words)))
        finally:
            over.set()
            watcher.join()
    if not sample.ok:
        printed = f"; it printed:\n{sample.output.rstrip()}" if sample.output.strip() else ""
        raise ProgramError(f"{quoted_line(words)}: {sample.error}{printed}")
    return observer.seen


@question()
def where(
    command: Command | None = None,
    *,
    pid: int | None = None,
    seconds: Duration = 5.0,
    interval: Duration = 0.01,
    plan: PlaceOutput | StrPath | None = None,
    memory: str | None = None,
    timeout: Duration | None = None,
    cwd: StrPath | None = None,
    stdin: StrPath | None = None,
    env: Mapping[str, str | int | float] | None = None,
    note: Callable[[Note], None] | None = None,
) -> WhereOutput:
    """Run a program, or watch a process that runs for some `seconds`, and say where each of its threads ran.

    Samples are an `interval` apart at least. `plan` is one to compare it with, what `nodewise.place` returned or the
    file that `nodewise place --json` printed; without it, what the program's own environment asks for. `memory` is a policy to hold
    its pages against, such as `"bind:0"`. `timeout`, `cwd`, `stdin` and `env` are those of `nodewise.HowToRun`.

    >>> import nodewise
    >>> seen = nodewise.where(["sh", "-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"])
    >>> len(seen.processes), [thread.name for thread in seen.processes[0].threads]
    (1, ['sh'])

    Raises ProgramError where the program fails, InputError where something given cannot be used.
    """
    if (pid is None) == (command is None):
        raise InputError("name either a command or a process", "give command or pid")
    interval = seconds_of(interval, "--interval")
    for_s = seconds_of(seconds, "--seconds")
    asked = prepare_where(interval, plan, memory)
    if pid is not None:
        observer = observer_of(pid, for_s, interval, note or unheard)
        watch_for(observer, for_s)
        seen = observer.seen
    else:
        run = choose_run(timeout=timeout, cwd=cwd, stdin=stdin, env=env)
        run, words = with_variables(run, words_of(command or ()))
        seen = _watch_command(words, interval, run)
    return where_output(seen, asked.judge(seen))
