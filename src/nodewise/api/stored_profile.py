# SPDX-License-Identifier: BSD-3-Clause
"""A profile as it is kept: its recordings, one for each rank, and what is written beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

from nodewise.base.bounded_json import parse_json, read_bounded
from nodewise.base.errors import InputError, ProgramError
from nodewise.base.escaping import visible
from nodewise.base.frozen import dataclass
from nodewise.base.shapes import NotNegative, ShapeError, Within, fit
from nodewise.base.units import format_bytes, format_percent
from nodewise.profile import py_spy
from nodewise.profile.lines import addr2line, places_of
from nodewise.profile.openmp import openmp_shares
from nodewise.profile.perf import MOST_COPIED, bytes_copied, perf_program, read_chains, recorded_event, script_lines
from nodewise.profile.result import (
    FEWEST,
    Profiled,
    ProfileResult,
    calling_count,
    cut_share,
    function_shares,
    line_shares,
    samples_text,
    spinning_share,
    thread_shares,
    waiting_shares,
)
from nodewise.profile.samples import Recorded, Taken, read_samples

#: Files of a recording, by what made them; that of a rank has its number behind, in a folder of its node.
RECORDING, SPIED = "perf.data", "py-spy.json"
#: From this share of samples on it is said that they lack callers.
_MANY_CUT = 0.02
#: From so many processes without a sample on it is said that they are missing.
_MANY_BRIEF = 20
#: What is written beside them.
KEPT = "profile.json"


@dataclass(frozen=True)
class Kept:
    """What is written next to a recording, so that it can be read again."""

    command: tuple[str, ...]
    machine: str
    taken_at: str
    seconds: NotNegative
    exit_code: int
    event: str
    rate: Annotated[int, Within(1)]
    chains: str
    chains_why: str
    off_cpu: bool
    perf: str
    notes: tuple[str, ...]
    #: What an older version has not kept.
    chains_lack: str = ""


def read_profile(folder: Path) -> Profiled:
    """A profile that was kept. Raises InputError where there is none, ProgramError where the recording cannot be read."""
    path = folder / KEPT
    try:
        kept = fit(parse_json(read_bounded(path)), Kept)
        if kept.event != py_spy.EVENT:
            read_chains(kept.chains)
    except OSError as problem:
        if isinstance(problem, FileNotFoundError) and recordings_in(folder):
            raise InputError(
                f"{folder} holds a recording that was broken off before {KEPT} was written",
                "profile again; of a whole recording perf report shows what there is",
            ) from problem
        raise InputError(
            f"{folder} holds no profile: {KEPT}: {problem.strerror}", "name the directory that nodewise profile made"
        ) from problem
    except (ShapeError, ValueError, InputError) as problem:
        said = problem.what if isinstance(problem, InputError) else str(problem)
        raise InputError(f"{path} is damaged: {visible(said)}", "profile again") from problem
    return read_recordings(folder, kept)


def read_recordings(folder: Path, kept: Kept, most_bytes: int = 0) -> Profiled:
    """What the recordings in a folder show. Raises ProgramError where there are none, or one cannot be read."""
    files = recordings_in(folder)
    if not files:
        said = py_spy.what_it_said(folder / SPIED)
        raise ProgramError(
            f"nothing was recorded in {folder}{f': {said}' if said else ''}",
            "did the program start? with ranks: are those that are named there?",
        )
    spied = kept.event == py_spy.EVENT
    recorded = {rank: _recorded(path) for rank, path in files.items()}
    samples = sorted((taken for one in recorded.values() for taken in one.samples), key=lambda taken: taken.time)
    work = [taken for taken in samples if taken.waited is None]
    spinning = spinning_share(work)
    notes = [
        *kept.notes,
        *_missing(recorded, work, kept),
        *_cut_short(files, recorded, most_bytes),
        *_limits(kept, spinning),
    ]
    result = ProfileResult(
        command=kept.command,
        machine=kept.machine,
        taken_at=kept.taken_at,
        # a job that was handed in is not timed from outside
        seconds=kept.seconds
        or max((life.last - life.first for one in recorded.values() for life in one.threads.values()), default=0.0),
        exit_code=kept.exit_code,
        event=next((one.event for one in recorded.values() if one.event), kept.event),
        rate=kept.rate,
        chains=kept.chains,
        chains_why=kept.chains_why,
        chains_lack=kept.chains_lack,
        off_cpu=kept.off_cpu,
        perf=kept.perf,
        samples=len(work),
        lost=sum(one.lost for one in recorded.values()),
        functions=function_shares(work),
        only_calling=calling_count(work),
        lines=line_shares(work, py_spy.lines_as_recorded if spied else places_of),
        threads=thread_shares(recorded),
        waiting=waiting_shares(samples),
        openmp=openmp_shares(recorded, kept.off_cpu),
        spinning=spinning,
        # what was said when it was kept is said once
        notes=tuple(dict.fromkeys(notes)),
        recordings=tuple(str(path) for path in files.values()),
    )
    return Profiled(result, recorded)


def _missing(recorded: Mapping[int | None, Recorded], work: Sequence[Taken], kept: Kept) -> list[str]:
    """What of the program's work the samples do not hold."""
    notes = []
    lost = sum(one.lost for one in recorded.values())
    if lost:
        notes.append(
            f"{samples_text(lost)} {'were' if lost != 1 else 'was'} lost: a lower --rate, or a faster disk for --out, keeps them"
        )
    cut = 0.0 if kept.event == py_spy.EVENT or kept.chains == "none" else cut_share(work)
    if cut >= _MANY_CUT:
        notes.append(
            f"outer callers are missing of {format_percent(cut)} of the samples: {_why_cut(kept.chains, kept.chains_lack)}"
        )
    brief, many = _brief_processes(recorded, 1 / kept.rate)
    if brief >= _MANY_BRIEF:
        notes.append(
            f"{brief} of {many} processes ended before their first sample: what they did is missing; a higher --rate, such as 999, sees more of them"
        )
    if len(work) < FEWEST:
        more = "" if brief >= _MANY_BRIEF else ": let it run longer, or ask for more by --rate"
        notes.append(f"{samples_text(len(work))} bear{'s' * (len(work) == 1)} no shares{more}")
    return notes


def _cut_short(files: Mapping[int | None, Path], recorded: Mapping[int | None, Recorded], most_bytes: int) -> list[str]:
    """That recordings were ended by their limit, 0 for none."""
    # each recording has the limit, so that of a rank is full whatever those of others hold
    full = [one for rank, one in recorded.items() if most_bytes and files[rank].stat().st_size > 0.95 * most_bytes]
    ended = [one.samples[-1].time for one in full if one.samples]
    if not ended:
        return []
    begun = min(life.first for one in recorded.values() for life in one.threads.values())
    which = f" by {len(full)} of {len(files)} ranks" if len(files) > 1 else ""
    return [
        f"the limit of {format_bytes(most_bytes)} was reached{which} {min(ended) - begun:.1f} s after the start: what came later is missing"
    ]


def _limits(kept: Kept, spinning: float) -> list[str]:
    """What such a recording cannot show."""
    notes = []
    spied = kept.event == py_spy.EVENT
    if not spied and addr2line() is None:
        notes.append("there are no source lines: addr2line is missing (package binutils)")
    if spinning:
        notes.append(
            f"{format_percent(spinning)} of the samples are in functions that wait by spinning, going by their names: a guess"
        )
    if spied:
        notes.append("how long threads waited is not known: py-spy leaves these samples out")
    elif not kept.off_cpu:
        notes.append("waiting is summed for each thread; where it happened is shown by --off-cpu")
    return notes


def _brief_processes(recorded: Mapping[int | None, Recorded], interval_s: float) -> tuple[int, int]:
    """How many processes have no sample and lived for less than what lies between two, and how many there were."""
    brief = many = 0
    for one in recorded.values():
        sampled = {taken.pid for taken in one.samples if taken.waited is None}
        lives: dict[int, tuple[float, float]] = {}
        for (pid, _), life in one.threads.items():
            first, last = lives.get(pid, (life.first, life.last))
            lives[pid] = min(first, life.first), max(last, life.last)
        many += len(lives)
        # perf counts for each process anew when the next sample is due
        brief += sum(pid not in sampled and last - first < interval_s for pid, (first, last) in lives.items())
    return brief, many


def _why_cut(chains: str, lacks: str) -> str:
    """What chains of that kind lose their outer callers by, and what helps; `lacks` is what keeps perf from unwinding the program."""
    if lacks and chains != "fp":
        return f"{lacks}: compile it with -fno-omit-frame-pointer, and take --call-graph fp"
    if chains == "fp":
        other = "" if lacks else ", or try --call-graph dwarf"
        return (
            f"the program, or what is between, keeps no frame pointers: compile it with -fno-omit-frame-pointer{other}"
        )
    more = f": --call-graph dwarf,{MOST_COPIED} copies more" if bytes_copied(chains) < MOST_COPIED else ""
    return (
        f"their stacks are deeper than the {format_bytes(bytes_copied(chains))} that are copied{more}, "
        "or functions in between have no unwind tables"
    )


def _recorded(path: Path) -> Recorded:
    if path.name.startswith(SPIED):
        return py_spy.read_spied(path)
    found = read_samples(script_lines(perf_program(), path))
    # without samples nothing has said it
    found.event = found.event or recorded_event(perf_program(), path)
    return found


def recordings_in(folder: Path) -> Mapping[int | None, Path]:
    """The recordings in a folder: the one without ranks as None, else each rank's, in order, which lie in folders of their nodes."""
    for name in (RECORDING, SPIED):
        if (plain := folder / name).is_file():
            return {None: plain}
    found = {}
    for name in (RECORDING, SPIED):
        for path in (*folder.glob(f"{name}.*"), *folder.glob(f"*/{name}.*")):
            number = path.name.removeprefix(f"{name}.")
            if number.isascii() and number.isdigit() and path.is_file():
                found[int(number)] = path
    return dict(sorted(found.items()))
