# SPDX-License-Identifier: BSD-3-Clause
"""A profile, from what is asked to what it shows."""

from __future__ import annotations

import errno
import json
import os
import resource
import signal
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from nodewise.api.stored_profile import KEPT, RECORDING, SPIED, Kept, read_recordings, recordings_in
from nodewise.base.errors import InputError, ProgramError, StoreError
from nodewise.base.files import no_room, store_error, write_within
from nodewise.base.frozen import dataclass
from nodewise.base.masking import Masks
from nodewise.base.units import format_bytes
from nodewise.machine.sources import load_machine
from nodewise.profile.interpreter import behind_env, find_py_spy, python_of
from nodewise.profile.perf import Recording, find_perf, is_whole, read_chains, sample_bytes, signal_name
from nodewise.profile.py_spy import EVENT, PySpy
from nodewise.profile.ranks import Ranks, folder_of_ranks, rank_words, read_ranks
from nodewise.profile.result import Profiled
from nodewise.profile.target import chains_of, processors, python_environment
from nodewise.profile.traps import traps
from nodewise.runner.find_program import find_program
from nodewise.runner.setting import Setting
from nodewise.tuning.ranks import with_ranks
from nodewise.verdicts.encoding import encode

#: Rates above this cost more than a hundredth of the time, and above the other the kernel refuses.
_COSTLY_RATE, _HIGHEST_RATE = 1000, 100_000
#: A recording that may become larger is warned of before.
_LARGE = 1 << 30
_SECONDS_EXPECTED = 60.0
#: The exit code of what SIGTERM has ended.
_ENDED = 128 + signal.SIGTERM
_SMALLER = "--max-size and a lower --rate make it smaller"


@dataclass(frozen=True)
class Prepared:
    """What is to be started, and what was found out before: `words` record the `command`; `why` is of its call chains, `lacks` what keeps perf from unwinding; `ranked` whether an MPI launcher starts it."""

    command: tuple[str, ...]
    words: tuple[str, ...]
    folder: Path
    recording: Recording | PySpy
    chains: str
    why: str
    lacks: str
    notes: tuple[str, ...]
    ranked: bool = False


class NothingRecordedError(ProgramError):
    """An MPI launcher ended by itself before any rank was recorded."""


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

    `rate` is in samples a second on each processor, `chains` as `profile.perf.read_chains` reads them (None: what the program allows), `ranks` which
    ones of an MPI program are recorded, as `profile.ranks.read_ranks` reads them (empty: all). A Python that cannot name its functions to perf is recorded by py-spy
    where that is installed, unless what only perf does is asked for. Raises InputError, ProgramError, UnavailableError.
    """
    inherited = dict(os.environ if environment is None else environment)
    check_rate(rate)
    chains = None if chains is None else read_chains(chains)
    chosen_ranks = given_ranks(ranks)
    setting = with_ranks(Setting(command=tuple(command)), inherited)
    at = setting.program_at
    if ranks and not at:
        raise InputError("--only-ranks is for a command that an MPI launcher starts", "such as: mpirun -n 8 ./app")
    inner = tuple(command[at:])
    find_program(command, inherited, None)
    inside = folder_of_ranks(command[:at])
    program = Path(inside or "", find_program(behind_env(inner) or inner, inherited, inside))
    # of links perf writes the path of what they lead to
    if any(end in str(path) for end in "\n\r" for path in (program, program.resolve())):
        raise InputError(
            f"{str(program)!r} cannot be profiled: its path holds a line break, which perf's text cannot carry",
            "give the file or its folder another name, or copy it",
        )
    # ranks may run elsewhere, and the recordings lie in one place
    into = folder.absolute()
    python = python_of(inner, inherited)
    py_spy = find_py_spy(inherited) if python is not None and not python.shows_perf else None
    installed = py_spy is not None
    if off_cpu or chains is not None or most_bytes:
        py_spy = None
    if (full := no_room(folder)) is not None:
        raise full
    notes = traps(program, folder, inherited, command, python, py_spy is not None, py_spy_installed=installed)
    if outside := chosen_ranks.outside(setting.ranks) if at else []:
        notes.append(f"there are {setting.ranks} ranks, and none of the number {', '.join(map(str, outside[:8]))}")
    more = python_environment(python, inherited)
    recording: Recording | PySpy
    lacks = ""
    if python is not None and py_spy is not None:
        version = ".".join(map(str, python.version))
        recording, kind = PySpy(py_spy, into / SPIED, rate), "py-spy"
        why = f"Python {version} names its functions to py-spy alone; those of C are left out (--call-graph dwarf shows these)"
    else:
        perf = find_perf(off_cpu=off_cpu)
        if off_cpu and not perf.waiting:
            notes.append("where threads wait is not known: the kernel's tracing files may not be read here (root may)")
        chosen = chains_of(program, {**inherited, **more}, chains)
        kind, why, lacks = chosen.kind, chosen.why, chosen.lacks
        recording = Recording(perf, into / RECORDING, rate, kind, off_cpu and perf.waiting, most_bytes)
        notes += _warnings(recording)
    words = rank_words(recording.words([]), str(recording.into), chosen_ranks, inner) if at else recording.words(inner)
    variables = ("env", *(f"{name}={value}" for name, value in more.items())) if more else ()
    return Prepared(
        tuple(command), (*variables, *command[:at], *words), folder, recording, kind, why, lacks, tuple(notes), bool(at)
    )


def check_rate(rate: int) -> None:
    """Raises InputError for what is no rate of samples."""
    if not 1 <= rate <= _HIGHEST_RATE:
        raise InputError(f"not a rate of samples: {rate}", f"give a number from 1 to {_HIGHEST_RATE}, such as 99")


def given_ranks(text: str) -> Ranks:
    """The ranks that are named. Raises InputError."""
    try:
        return read_ranks(text)
    except ValueError as problem:
        raise InputError(
            f"no list of ranks: {text} ({problem})", "such as: 0-3,8, ten thousand at most, or every:64"
        ) from None


def _warnings(recording: Recording) -> list[str]:
    found = []
    if recording.rate > _COSTLY_RATE:
        found.append(f"{recording.rate} samples a second slow the program down noticeably; 99 are usual")
    bytes_s = recording.rate * processors() * sample_bytes(recording.chains)
    if not recording.most_bytes and bytes_s * _SECONDS_EXPECTED > _LARGE:
        found.append(
            f"the recording may grow by {format_bytes(bytes_s)} a second: --rate takes fewer, --max-size ends it in time"
        )
    return found


def ended_by_size(prepared: Prepared, exit_code: int) -> bool:
    """Whether perf ended what it recorded, as the recording has become as large as it may."""
    most = prepared.recording.most_bytes if isinstance(prepared.recording, Recording) else 0
    return bool(most) and exit_code == _ENDED and _largest(prepared.folder) > 0.95 * most


def broken_off(prepared: Prepared, status: int) -> bool:
    """Whether perf, or what else records, was itself ended by the signal that the status names (negative), in the middle: it ends so, too, where the program did, but with a whole recording."""
    if status >= 0 or prepared.ranked:
        return False
    found = recordings_in(prepared.folder).values()
    return not found or not all(path.name == SPIED or is_whole(path) for path in found)


def conclude_profile(prepared: Prepared, seconds: float, status: int) -> Profiled:
    """What was recorded, after the program ended with that status (a signal's number is negative); `keep_profile` keeps it.

    Raises ProgramError where nothing was (NothingRecordedError of an MPI launcher), StoreError where there was no room for it.
    """
    exit_code = shell_code(status)
    recording = prepared.recording
    perf = recording.perf if isinstance(recording, Recording) else None
    most = recording.most_bytes if isinstance(recording, Recording) else 0
    notes = prepared.notes
    if ended_by_size(prepared, exit_code):
        notes = (
            *notes,
            f"perf ended the program when the recording had reached {format_bytes(most)}, as --max-size asks: the exit code is {exit_code}",
        )
    kept = Kept(
        command=tuple(Masks().masked(list(prepared.command))),
        machine=load_machine().processor.model or "unknown processor",
        taken_at=datetime.now(UTC).isoformat(timespec="seconds"),
        seconds=seconds,
        exit_code=exit_code,
        event=perf.event if perf is not None else EVENT,
        rate=recording.rate,
        chains=prepared.chains,
        chains_why=prepared.why,
        chains_lack=prepared.lacks,
        off_cpu=isinstance(recording, Recording) and recording.off_cpu,
        perf=perf.version if perf is not None else recording.version if isinstance(recording, PySpy) else "",
        notes=notes,
    )
    full = _cut_short(prepared)
    if full is None and broken_off(prepared, status):
        raise _set_aside(prepared, -status)
    if full is None and prepared.ranked and status > 0 and not recordings_in(prepared.folder):
        name = prepared.command[0]
        raise NothingRecordedError(
            f"nothing was recorded: {name} ended by itself with the exit code {exit_code}",
            "did it start the program? with ranks: are those that are named there?",
        )
    if full is None:
        # whoever breaks off the reading can have it read later
        write_within(prepared.folder, KEPT, json.dumps(encode(kept), indent=1) + "\n")
    try:
        profiled = read_recordings(prepared.folder, kept, most)
    except ProgramError as problem:
        if full is None:
            # nobody can read it later either
            (prepared.folder / KEPT).unlink(missing_ok=True)
            raise
        raise StoreError(f"the recording is cut short: {full.what}", f"{full.hint}; {_SMALLER}") from problem
    if full is None:
        return profiled
    short = f"the recording was cut short, what came later is missing: {full.what}"
    return replace(profiled, result=replace(profiled.result, notes=(*profiled.result.notes, short)))


def shell_code(status: int) -> int:
    """The exit code that a shell has for a status: of a signal's number 128 and that."""
    return 128 - status if status < 0 else status


def _set_aside(prepared: Prepared, number: int) -> ProgramError:
    """What is told of a recording that a signal broke off; what there is of it makes way for another."""
    name = "perf" if isinstance(prepared.recording, Recording) else "py-spy"
    kept = ""
    for path in recordings_in(prepared.folder).values():
        aside = path.with_name(f"{path.name}.broken")
        path.replace(aside)
        kept = f"; what it had written is kept as {aside}, which it cannot read"
    return ProgramError(
        f"{name} was ended by {signal_name(number)} in the middle of recording, and what it ran with it",
        f"profile again; the system ends what has too little memory so, too{kept}",
    )


def _largest(folder: Path) -> int:
    """The bytes of the largest recording in a folder."""
    return max((path.stat().st_size for path in recordings_in(folder).values()), default=0)


def _cut_short(prepared: Prepared) -> StoreError | None:
    """Why a recording had no room to end well; None where it had."""
    limit, _ = resource.getrlimit(resource.RLIMIT_FSIZE)
    for path in recordings_in(prepared.folder).values():
        if limit != resource.RLIM_INFINITY and path.stat().st_size >= limit:
            return store_error(path, OSError(errno.EFBIG, os.strerror(errno.EFBIG)))
    return no_room(prepared.folder)


def keep_profile(profiled: Profiled, folder: Path) -> None:
    """Write what a recording shows beside it. Raises StoreError."""
    write_within(folder, KEPT, json.dumps(encode(profiled.result), indent=1) + "\n")
