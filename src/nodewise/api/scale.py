# SPDX-License-Identifier: BSD-3-Clause
"""How a program scales, from what is asked to its verdict."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Unpack

from nodewise.api.caller import Notify, question, unheard
from nodewise.api.command_line import scale_line
from nodewise.api.given import Command, Duration, Processors, StrPath, seconds_of, seed_of, words_of
from nodewise.api.history import remembered
from nodewise.api.measuring import kept, launcher_for, quiet_wait, unless_interrupted
from nodewise.api.options import HowToRun, RunChoice, choose_run, with_variables
from nodewise.base.errors import InputError
from nodewise.base.frozen import dataclass
from nodewise.base.meant import meant
from nodewise.base.note import Note
from nodewise.experiments import scale as scaler
from nodewise.experiments.contenders import parse_values
from nodewise.experiments.progress import Progress
from nodewise.experiments.scale import ScaleQuestion
from nodewise.experiments.target import resolve_command
from nodewise.machine.given import machine as the_machine
from nodewise.machine.model import Machine
from nodewise.placement.traps import environment_traps
from nodewise.records.budget import Budget
from nodewise.records.experiment import read_question
from nodewise.runner.family import families
from nodewise.runner.objective import SECONDS
from nodewise.runner.over_nodes import read_per_node
from nodewise.statistics.scaling import FEWEST_COUNTS
from nodewise.statistics.sequential import FEWEST_BLOCKS
from nodewise.tuning.ranks import Ranked, read_ranked
from nodewise.verdicts.scale import ScaleVerdict, unreachable

#: Numbers of threads, ranks or nodes: as a list, or text such as `"1,2,4"` or `"1..64*2"`.
Counts = str | Sequence[int]
OVER = ("threads", "ranks", "nodes")
#: No more of anything than this.
_LARGEST = 1 << 20


@dataclass(frozen=True)
class Scaling:
    """A scaling that is ready to begin."""

    question: ScaleQuestion
    run: RunChoice

    def answer(self, progress: Callable[[Progress], None] = unheard, note: Notify = unheard) -> ScaleVerdict:
        """Measure it. Ctrl-C ends with what there is. Raises what `experiments.scale.Scaler.run` does."""
        question, run = self.question, self.run
        if question.weak and not any(f"{{{over}}}" in word for word in question.command for over in OVER):
            grows = f"nothing in the command holds the number of {question.over}, so that the work grows only where the program itself has it grow"
            note(Note("warning", f"--weak: {grows}"))
        if question.machine.live:
            for trap in environment_traps(question.environment):
                note(Note("warning", str(trap)))
        with launcher_for(run.options, question.environment, note, run.wait) as launcher:
            wait = quiet_wait(run.wait_quiet_s, question.machine.allowed, note)
            verdict = scaler.scale(question, launcher, progress, wait)
        remembered(verdict, question.out, note, verdict)
        return verdict


def prepare_scale(
    words: Sequence[str],
    run: RunChoice,
    out: Path,
    *,
    over: str | None = None,
    counts: Counts | None = None,
    weak: bool = False,
    to: Counts = (),
    by: str | None = None,
    times: float = 1.0,
    blocks: int = 10,
    budget: Duration = "10min",
    machine: Machine | StrPath | None = None,
    allow: Processors | None = None,
    seed: int = 0,
    resume: bool = False,
    asked: Sequence[str] = (),
    now: datetime | None = None,
) -> Scaling:
    """The scaling that is asked for; `asked` is the command line that asks it again, `now` the time from which `by` counts.

    Raises InputError, also where the counts cannot answer what is asked.
    """
    if run.objective != SECONDS:
        raise InputError(
            f"scaling is of times, and --{'maximize' if run.objective.maximise else 'minimize'} names another number",
            "leave it out; `nodewise tune` takes it",
        )
    if any(run.isolation):
        raise InputError(
            "isolation is not for scale, which starts programs as they are",
            "isolate the program itself: nodewise scale -- nodewise place --isolation bwrap -- ./app",
        )
    if blocks < FEWEST_BLOCKS:
        raise InputError(
            f"{blocks} block{'s' * (blocks != 1)} say{'s' * (blocks == 1)} nothing",
            f"give --blocks {FEWEST_BLOCKS} or more",
        )
    _check_times(times, by)
    run, words = with_variables(run, words)
    _check_filled(words)
    command = (*run.start, *resolve_command(words))
    ranked = read_ranked(command)
    over = over or ("ranks" if ranked is not None else "threads")
    if over not in OVER:
        raise InputError(f"--over {over} is none of {', '.join(OVER)}")
    here = the_machine(machine, allow=allow)
    per_node = _per_node(over, ranked)
    room = _room(here, over, ranked, run.environment)
    chosen = _counts(counts, "--counts") if counts is not None else _usual(over, here, ranked, per_node, room)
    _check_counts(chosen, over, room)
    wanted = _counts(to, "--to") if to else ()
    if resume:
        # the time of day of then
        until = read_question(out).get("by_epoch_s")
    else:
        until = None if by is None else _until(by, now or datetime.now())
    if problem := unreachable(over, chosen, wanted, by is not None):
        here_are = "" if room is None or room >= FEWEST_COUNTS else f"; this one has processors for {room}"
        raise InputError(problem[0], problem[1] + here_are)
    question = ScaleQuestion(
        command=command,
        machine=here,
        out=out,
        over=over,
        counts=chosen,
        weak=weak,
        per_node=per_node,
        to=wanted,
        by=by or "",
        by_epoch_s=until,
        times=float(times),
        most=blocks,
        budget=Budget(seconds_of(budget, "--budget")),
        seed=seed_of(seed),
        timeout_s=run.options.timeout_s,
        environment=run.environment,
        asked=tuple(asked),
        resume=resume,
        accept_disturbed=run.accept_disturbed,
        how=run.how,
    )
    return Scaling(question, run)


def _per_node(over: str, ranked: Ranked | None) -> int:
    """How many ranks are on a node; 0 where that is not known. Raises InputError where it is needed."""
    if over == "threads":
        return 0
    if ranked is None:
        raise InputError(
            f"scaling over {over} needs a command that starts ranks",
            "give --launcher mpich --ranks 8, the most of them; or write it: nodewise scale -- mpirun -n 8 ./app",
        )
    found = read_per_node([*ranked.head, *ranked.middle])
    if over == "nodes" and not found:
        raise InputError(
            "scaling over nodes needs to know how many ranks are on each",
            "give --launcher srun --ranks 64 --ranks-per-node 16: of one to four nodes",
        )
    return found


def _check_counts(counts: Sequence[int], over: str, room: int | None) -> None:
    """Raises InputError for counts of which nothing could be said, or that do not fit the `room`."""
    if len(counts) < 2:
        raise InputError(
            f"only {over}={','.join(map(str, counts))} would be measured, and a speedup takes two",
            f"give --counts, such as 1,2,4,8: numbers of {over}"
            + ("" if room is None else f"; {room} can run here at once"),
        )
    if room is not None and counts[-1] > room:
        raise InputError(
            f"{counts[-1]} {over} do not run at once here: there are processors for {room}",
            f"give --counts up to {room}, or measure on a larger machine: more {over} than processors say nothing of scaling",
        )


def _room(machine: Machine, over: str, ranked: Ranked | None, environment: Mapping[str, str]) -> int | None:
    """The largest count that has a processor for each thread; None where that is not known here."""
    processors = len(machine.allowed)
    if over == "threads" and ranked is None:
        return processors
    nodes = environment.get("SLURM_JOB_NUM_NODES", environment.get("SLURM_NNODES", "1"))
    if ranked is None or nodes != "1" or over == "nodes":
        return None
    # these know themselves where there are enough processors
    if any(Path(ranked.head[0]).name in family.programs for family in families().values() if family.elsewhere):
        return None
    if over == "threads":
        return max(1, processors // ranked.ranks)
    if any("host" in word or word == "-f" for word in (*ranked.head, *ranked.middle)):
        return None
    threads = environment.get("OMP_NUM_THREADS", "1")
    return max(1, processors // (int(threads) if re.fullmatch(r"[1-9]\d{0,4}", threads) else 1))


def _usual(over: str, machine: Machine, ranked: Ranked | None, per_node: int, room: int | None) -> tuple[int, ...]:
    """One, and powers of two with the numbers between them up to the most that there may be."""
    limit = room if over == "threads" and room is not None else machine.parallelism
    if ranked is not None and over != "threads":
        limit = ranked.ranks // per_node if over == "nodes" else ranked.ranks
    limit = max(1, limit)
    steps = {1, limit, *(2**k for k in range(limit.bit_length()))}
    # few powers fit on a small machine, and a law takes five numbers
    steps |= {3 * 2**k for k in range(limit.bit_length()) if limit <= 16}
    return tuple(sorted(n for n in steps if n <= limit))


def _counts(given: Counts, name: str) -> tuple[int, ...]:
    """Ascending numbers above zero. Raises InputError."""
    texts = parse_values(given) if isinstance(given, str) else [str(n) for n in given]
    numbers = []
    for text in texts:
        if not re.fullmatch(r"[1-9]\d{0,6}", text.strip()) or int(text) > _LARGEST:
            wrong = "is no whole number from 1 to"
            raise InputError(f"{name}: {text!r} {wrong} {_LARGEST}", f"write it such as {name} 1,2,4,8 or 1..64*2")
        numbers.append(int(text))
    return tuple(sorted(set(numbers)))


def _check_times(times: float, by: str | None) -> None:
    if not (math.isfinite(times) and times > 0):
        raise InputError(f"--times {times:g} is no number above zero", "a job of 1000 steps is --times 1000 of one")
    if times != 1 and by is None:
        raise InputError(
            "--times would do nothing", "it is for --by, the time of day by which so many times the command end"
        )


def _check_filled(words: Sequence[str]) -> None:
    for word in words:
        if (found := re.fullmatch(r".*\{(\w+)\}.*", word)) and found[1] not in OVER and (near := meant(found[1], OVER)):
            raise InputError(
                f"nothing fills {{{found[1]}}} in {word!r}{near}", "{threads}, {ranks} or {nodes} stands for the number"
            )


def _until(by: str, now: datetime) -> float:
    """Seconds since the epoch of a time of day (the next one, today or tomorrow), or of a date with a time. Raises InputError.

    `now` is local and without a zone, so that the system knows whether the clocks change in the night.
    """
    if clock := re.fullmatch(r"([01]?\d|2[0-3]):([0-5]\d)", by.strip()):
        found = now.replace(hour=int(clock[1]), minute=int(clock[2]), second=0, microsecond=0)
        return (found if found > now else found + timedelta(days=1)).timestamp()
    try:
        found = datetime.fromisoformat(by.strip())
    except ValueError as problem:
        raise InputError(f"--by {by!r} is no time of day", "write it as 08:00 or 2027-01-31T08:00") from problem
    if found.timestamp() <= now.timestamp():
        raise InputError(f"--by {by!r} has passed", "give a time to come")
    return found.timestamp()


@question()
def scale(
    command: Command,
    *,
    over: str | None = None,
    counts: str | Sequence[int] | None = None,
    weak: bool = False,
    to: str | Sequence[int] = (),
    by: str | None = None,
    times: float = 1.0,
    blocks: int = 10,
    budget: Duration = "10min",
    machine: Machine | StrPath | None = None,
    allow: Processors | None = None,
    seed: int = 0,
    out: StrPath | None = None,
    resume: bool = False,
    progress: Callable[[Progress], None] | None = None,
    note: Notify | None = None,
    **how: Unpack[HowToRun],
) -> ScaleVerdict:
    """Measure a program with several numbers of threads, ranks or nodes: speedup, parallel efficiency, the law they follow.

    `over` is what is varied (None: ranks where the command starts some, else threads), `counts` its numbers (None: up to what
    runs here at once, or to the ranks of the command). With `weak` the program's work grows with the number, which
    stands for `{threads}`, `{ranks}` or `{nodes}` in the command. `to` are numbers to predict the time at, up to four times the largest one
    measured; `by` is a time of day, `"08:00"`, by which a job `times` as long as the command has to end. `blocks` hold one
    run of each number, within the `budget`. A law takes five numbers. The rest is that of `nodewise.tune`.

    >>> import nodewise
    >>> try:
    ...     nodewise.scale("sleep 0.01", counts=[1], to=[8])
    ... except nodewise.InputError as problem:
    ...     print(problem.what)
    only threads=1 would be measured, and a speedup takes two

    Raises ProgramError where the program does not run with the smallest number, InputError where something given cannot be used or
    cannot answer what is asked, StoreError where the runs cannot be kept, and KeyboardInterrupt on Ctrl-C, once the programs have ended.
    """
    with kept(out, resume, "scale") as folder:
        words, run = words_of(command), choose_run(**how)
        asked: dict[str, Any] = {
            "over": over,
            "counts": counts,
            "weak": weak,
            "to": to,
            "by": by,
            "times": times,
            "blocks": blocks,
            "budget": budget,
            "machine": machine,
            "allow": allow,
            "seed": seed,
        }
        line = scale_line(words, run.how, **asked)
        scaling = prepare_scale(words, run, folder, **asked, resume=resume, asked=line)
        verdict = scaling.answer(progress or unheard, note or unheard)
        unless_interrupted(verdict.stopped, folder)
        return verdict
