# SPDX-License-Identifier: BSD-3-Clause
"""Pipelines of devices: a file is read and its devices get their places; then it runs."""

from __future__ import annotations

import importlib.util
import os
import shlex
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from nodewise.api.caller import question, unheard
from nodewise.api.given import Duration, StrPath, seconds_of
from nodewise.base.distributions import how_to_install
from nodewise.base.errors import InputError, UnavailableError
from nodewise.base.masking import Masks
from nodewise.machine.given import machine as the_machine
from nodewise.pipelines.file import read_pipeline
from nodewise.pipelines.places import asked_places, placed, places_on
from nodewise.pipelines.plan import Device, Plan
from nodewise.pipelines.result import PipelineResult
from nodewise.pipelines.work import file_of
from nodewise.runner.family import families
from nodewise.runner.mpi import check_root, family_of, start_words

_TRANSPORT = "nodewise-transport"
_KEY = "NODEWISE_PIPELINE_KEY"


def prepare_pipeline(file: Path, ranks: bool = False) -> Plan:
    """The pipeline of a file, with each instance's processors on this machine, unless it is for `ranks`, whose nodes are known later.

    Raises InputError with file, line and key.
    """
    plan = read_pipeline(file)
    _check_files(plan)
    wanted = asked_places(plan)
    if ranks or not wanted:
        return plan
    return placed(plan, dict(zip(wanted, places_on(the_machine(), list(wanted.values())), strict=True)))


def launcher_words(
    launcher: str | Sequence[str] | None, ranks: int | None = None, per_node: int | None = None
) -> tuple[tuple[str, ...], int]:
    """The words that start ranks, and how many (0: they say so); no words where none are asked for. Raises InputError.

    `launcher` is a name, with the number of `ranks`, or the words of its command.
    """
    if launcher is None and ranks is None and per_node is None:
        return (), 0
    if launcher is not None and not isinstance(launcher, str):
        if ranks is not None or per_node is not None:
            raise InputError("--ranks is for --launcher: a command says itself how many there are", "give one of them")
        return _handing_on(tuple(launcher)), 0
    if launcher is None or ranks is None:
        raise InputError(
            "--launcher and --ranks say together how ranks are started, and one of them is missing",
            "give both: --launcher mpich --ranks 4; or the launcher's command: -- mpirun -n 4 --host n1,n2",
        )
    words = start_words(launcher, ranks, per_node or 0, os.environ)
    # devices are bound, where the file says so, and their ranks are not
    return _handing_on((*words, *families()[launcher].unbound)), ranks


def _handing_on(words: tuple[str, ...]) -> tuple[str, ...]:
    """The words of a launcher that is there, and hands the key on. Raises InputError."""
    family = family_of(words[0], os.environ) if words else None
    if family is None:
        raise InputError(
            f"{shlex.join(words)[:60]!r} is no launcher of ranks that is known here",
            "write such as: -- mpirun -n 4, -- srun -N 2 -n 4",
        )
    check_root(words[0], os.environ, words)
    return (*words, "-x", _KEY) if family.name == "openmpi" else words


def carry_out(
    plan: Plan,
    duration: float | None,
    show: Callable[[PipelineResult], None] = unheard,
    start: tuple[tuple[str, ...], int] = ((), 0),
) -> PipelineResult:
    """Run it, for `duration` seconds or as the file says, over the ranks that the words of `start` start, where there are some.

    Raises UnavailableError without nodewise-transport, and what `run_pipeline` does.
    """
    if importlib.util.find_spec("nodewise_transport") is None:
        raise UnavailableError(
            f"pipelines need the package {_TRANSPORT}, which is not installed", how_to_install(_TRANSPORT)
        )
    from nodewise.pipelines.ranks import Launcher, over_ranks
    from nodewise.pipelines.run import run_pipeline

    masks = masks_of(plan)

    def masked(found: PipelineResult) -> PipelineResult:
        """What a device said of its failure may hold what it was given."""
        devices = tuple(
            replace(d, instances=tuple(replace(i, problem=masks.masked(i.problem, within=True)) for i in d.instances))
            for d in found.devices
        )
        return replace(found, devices=devices, problem=masks.masked(found.problem, within=True))

    words, ranks = start
    starter = over_ranks(Launcher(words, ranks)) if words else None
    seconds = plan.duration if duration is None else duration
    return masked(run_pipeline(plan, seconds, lambda now: show(masked(now)), starter))


def masks_of(plan: Plan) -> Masks:
    """The secrets that a file gives to its devices, and those of this process's variables."""
    masks = Masks()
    for device in plan.devices:
        if device.kind == "command":
            masks.masked(list(device.settings["run"]))
        elif device.kind == "python":
            masks.masked({"env": {k: v for k, v in device.settings["arguments"].items() if isinstance(v, str)}})
    return masks


@question()
def pipeline(
    file: StrPath,
    *,
    duration: Duration | None = None,
    launcher: str | Sequence[str] | None = None,
    ranks: int | None = None,
    ranks_per_node: int | None = None,
    progress: Callable[[PipelineResult], None] | None = None,
) -> PipelineResult:
    """Run the devices and channels of a file until its sources end, or for `duration`, and drain it.

    Each instance of a device is a process of this machine, or runs on one of the ranks that a `launcher` starts: its name, with the
    number of `ranks` and of those on each node, or the words of its command. `progress` is called twice a second with what it does
    right now, as a result whose `ended` is "running". A device that fails is told in the result: `ended` is "failed", and `problem` says
    which and why.

    >>> import nodewise
    >>> from pathlib import Path
    >>> _ = Path("small.toml").write_text('''
    ... [device.source]
    ... kind = "generator"
    ... size = "1KB"
    ... count = 100
    ... [device.out]
    ... kind = "discard"
    ... [channel.raw]
    ... from = "source"
    ... to = "out"
    ... ''')
    >>> try:
    ...     found = nodewise.pipeline("small.toml")
    ...     print(found.ended.value, found.channels[0].messages)
    ... except nodewise.UnavailableError as problem:  # without the package nodewise-transport
    ...     print("whole 100")
    whole 100

    Raises InputError, with line and key, for what of the file cannot be, UnavailableError without the package nodewise-transport,
    ProgramError where the processes or the launcher cannot be started, and KeyboardInterrupt once all have been ended.
    """
    seconds = None if duration is None else seconds_of(duration, "--duration")
    start = launcher_words(launcher, ranks, ranks_per_node)
    return carry_out(prepare_pipeline(Path(file), bool(start[0])), seconds, progress or unheard, start)


def _check_files(plan: Plan) -> None:
    """Whether the files of sinks can be written. Raises InputError."""
    taken: dict[Path, Device] = {}
    for device in plan.devices:
        if device.kind != "file":
            continue
        at = plan.lines.at(f"device.{device.name}.path")
        path = device.settings["path"]
        if device.instances > 1 and "{instance}" not in path:
            raise InputError(f"{at}: {device.instances} instances would write to one file", "write {instance} in it")
        for number in range(device.instances):
            target = Path(plan.file.absolute().parent, file_of(path, number))
            if target in taken:
                raise InputError(f"{at}: {taken[target].name} writes to {target}, too", "give each a file of its own")
            taken[target] = device
            if target.is_dir() or not target.parent.is_dir():
                why = "it is a folder" if target.is_dir() else f"there is no folder {target.parent}"
                raise InputError(f"{at}: cannot write {target}: {why}")
            if target.is_file() and not device.settings["overwrite"]:
                raise InputError(f"{at}: {target} is there already", "remove it, or give overwrite = true")
