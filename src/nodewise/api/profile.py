# SPDX-License-Identifier: BSD-3-Clause
"""A profile, from what is asked to what it shows."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from nodewise.base.bounded_json import parse_json, read_bounded
from nodewise.base.errors import InputError, ProgramError
from nodewise.base.files import write_within
from nodewise.base.masking import Masks
from nodewise.base.shapes import NotNegative, Positive, ShapeError, fit
from nodewise.base.units import format_bytes, format_percent
from nodewise.machine.sources import load_machine
from nodewise.profile.lines import addr2line, places_of
from nodewise.profile.perf import (
    CHAINS,
    SAMPLE_BYTES,
    Recording,
    find_perf,
    perf_program,
    rank_words,
    ranks_text,
    script_lines,
)
from nodewise.profile.result import (
    FEWEST,
    Profiled,
    ProfileResult,
    function_shares,
    line_shares,
    spinning_share,
    thread_shares,
    waiting_shares,
)
from nodewise.profile.samples import read_samples
from nodewise.profile.target import choose_chains, processors, python_environment, traps
from nodewise.runner.find_program import find_program
from nodewise.runner.setting import Setting
from nodewise.tuning.ranks import with_ranks
from nodewise.verdicts.encoding import encode

_RECORDING = "perf.data"
_KEPT = "profile.json"
#: Rates above this cost more than a hundredth of the time, and above the other the kernel refuses.
_COSTLY_RATE, _HIGHEST_RATE = 1000, 100_000
#: A recording that may become larger is warned of before.
_LARGE = 1 << 30
_SECONDS_EXPECTED = 60.0


@dataclass(frozen=True)
class Kept:
    """What is written next to a recording, so that it can be read again."""

    command: tuple[str, ...]
    machine: str
    taken_at: str
    seconds: NotNegative
    exit_code: int
    event: str
    rate: Positive
    chains: str
    chains_why: str
    off_cpu: bool
    perf: str
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Prepared:
    """What is to be started, and what was found out before: `words` record the `command`; `why` is of its call chains."""

    command: tuple[str, ...]
    words: tuple[str, ...]
    folder: Path
    recording: Recording
    why: str
    notes: tuple[str, ...]


def prepare_profile(
    command: Sequence[str],
    folder: Path,
    *,
    rate: int = 99,
    chains: str | None = None,
    off_cpu: bool = False,
    ranks: str = "",
    most_bytes: int = 0,
    environment: Mapping[str, str] | None = None,
) -> Prepared:
    """What records a command into a folder.

    `rate` is in samples a second on each processor, `chains` one of `profile.perf.CHAINS` (None: what the program allows), `ranks` which
    ones of an MPI program are recorded (empty: all). Raises InputError, ProgramError, UnavailableError.
    """
    inherited = dict(os.environ if environment is None else environment)
    if not 1 <= rate <= _HIGHEST_RATE:
        raise InputError(f"not a rate of samples: {rate}", f"give a number from 1 to {_HIGHEST_RATE}, such as 99")
    at = with_ranks(Setting(command=tuple(command)), inherited).program_at
    if ranks and not at:
        raise InputError("--only-ranks is for a command that an MPI launcher starts", "such as: mpirun -n 8 ./app")
    program = Path(find_program(command[at:], inherited, None))
    find_program(command, inherited, None)
    perf = find_perf()
    notes = traps(program, folder, inherited, command)
    if off_cpu and not perf.waiting:
        notes.append("where threads wait is not known: the kernel's tracing files may not be read here (root may)")
    more = python_environment(program, inherited)
    chosen = choose_chains(program, {**inherited, **more})
    kind, why = (chosen.kind, chosen.why) if chains is None else (chains, "asked for")
    if kind not in CHAINS:
        raise InputError(f"no such call chains: {kind}", f"there are {', '.join(CHAINS)}")
    recording = Recording(perf, folder / _RECORDING, rate, kind, off_cpu and perf.waiting, most_bytes)
    notes += _warnings(recording)
    try:
        chosen_ranks = ranks_text(ranks) if ranks else ""
    except ValueError as problem:
        raise InputError(f"no list of ranks: {ranks} ({problem})", "such as: 0-3,8; ten thousand at most") from None
    inner = tuple(command[at:])
    words = rank_words(recording, chosen_ranks, inner) if at else recording.words(inner)
    variables = ("env", *(f"{name}={value}" for name, value in more.items())) if more else ()
    return Prepared(tuple(command), (*variables, *command[:at], *words), folder, recording, why, tuple(notes))


def _warnings(recording: Recording) -> list[str]:
    found = []
    if recording.rate > _COSTLY_RATE:
        found.append(f"{recording.rate} samples a second slow the program down noticeably; 99 are usual")
    bytes_s = recording.rate * processors() * SAMPLE_BYTES[recording.chains]
    if not recording.most_bytes and bytes_s * _SECONDS_EXPECTED > _LARGE:
        found.append(
            f"the recording may grow by {format_bytes(bytes_s)} a second: --rate takes fewer, --max-size ends it in time"
        )
    return found


def conclude_profile(prepared: Prepared, seconds: float, exit_code: int) -> Profiled:
    """What was recorded, after the program ended with that code; it is kept in the folder. Raises ProgramError where nothing was."""
    recording = prepared.recording
    kept = Kept(
        command=tuple(Masks().masked(list(prepared.command))),
        machine=load_machine().processor.model or "unknown processor",
        taken_at=datetime.now(UTC).isoformat(timespec="seconds"),
        seconds=seconds,
        exit_code=exit_code,
        event=recording.perf.event,
        rate=recording.rate,
        chains=recording.chains,
        chains_why=prepared.why,
        off_cpu=recording.off_cpu,
        perf=recording.perf.version,
        notes=prepared.notes,
    )
    profiled = _read(prepared.folder, kept, recording.perf.path, recording.most_bytes)
    write_within(prepared.folder, _KEPT, json.dumps(encode(profiled.result), indent=1) + "\n")
    return profiled


def read_profile(folder: Path) -> Profiled:
    """A profile that was kept. Raises InputError where there is none, ProgramError where the recording cannot be read."""
    path = folder / _KEPT
    try:
        data: Any = parse_json(read_bounded(path))
        names = [field.name for field in fields(Kept)]
        kept = fit({name: data[name] for name in names}, Kept)
    except (OSError, KeyError, TypeError) as problem:
        raise InputError(
            f"{folder} holds no profile: {problem}", "name the directory that nodewise profile made"
        ) from problem
    except (ShapeError, ValueError) as problem:
        raise InputError(f"{path} is damaged: {problem}", "profile again") from problem
    return _read(folder, kept, perf_program())


def _read(folder: Path, kept: Kept, perf: str, most_bytes: int = 0) -> Profiled:
    files = recordings_in(folder)
    if not files:
        raise ProgramError(
            f"nothing was recorded in {folder}", "did the program start? with ranks: are those that are named there?"
        )
    recorded = {rank: read_samples(script_lines(perf, path)) for rank, path in files.items()}
    samples = sorted((taken for one in recorded.values() for taken in one.samples), key=lambda taken: taken.time)
    work = [taken for taken in samples if taken.waited is None]
    notes = list(kept.notes)
    lost = sum(one.lost for one in recorded.values())
    if lost:
        notes.append(f"{lost} samples were lost: a lower --rate, or a faster disk for --out, keeps them")
    if len(work) < FEWEST:
        notes.append(f"{len(work)} samples bear no shares: let it run longer, or ask for more by --rate")
    size = sum(path.stat().st_size for path in files.values())
    if most_bytes and size > 0.95 * most_bytes and samples:
        begun = min(life.first for one in recorded.values() for life in one.threads.values())
        notes.append(
            f"the limit of {format_bytes(most_bytes)} was reached {samples[-1].time - begun:.1f} s after the start: what came later is missing"
        )
    if addr2line() is None:
        notes.append("there are no source lines: addr2line is missing (package binutils)")
    spinning = spinning_share(work)
    if spinning:
        notes.append(
            f"{format_percent(spinning)} of the samples are in functions that wait by spinning, going by their names: a guess"
        )
    if not kept.off_cpu:
        notes.append("waiting is summed for each thread; where it happened is shown by --off-cpu")
    result = ProfileResult(
        command=kept.command,
        machine=kept.machine,
        taken_at=kept.taken_at,
        seconds=kept.seconds,
        exit_code=kept.exit_code,
        event=next((one.event for one in recorded.values() if one.event), kept.event),
        rate=int(kept.rate),
        chains=kept.chains,
        chains_why=kept.chains_why,
        off_cpu=kept.off_cpu,
        perf=kept.perf,
        samples=len(work),
        lost=lost,
        functions=function_shares(work),
        lines=line_shares(work, places_of),
        threads=thread_shares(recorded),
        waiting=waiting_shares(samples),
        spinning=spinning,
        notes=tuple(notes),
        recordings=tuple(str(path) for path in files.values()),
    )
    return Profiled(result, recorded)


def recordings_in(folder: Path) -> dict[int | None, Path]:
    """The recordings in a folder: the one without ranks as None, else each rank's, in order."""
    if (plain := folder / _RECORDING).is_file():
        return {None: plain}
    found = {}
    for path in folder.glob(f"{_RECORDING}.*"):
        number = path.name.removeprefix(f"{_RECORDING}.")
        if number.isdigit():
            found[int(number)] = path
    return dict(sorted(found.items()))
