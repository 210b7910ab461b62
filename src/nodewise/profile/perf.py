# SPDX-License-Identifier: BSD-3-Clause
"""Linux perf: whether it works here, how a program is recorded, and the text of what was."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from nodewise.base.errors import InputError, ProgramError, UnavailableError
from nodewise.base.frozen import dataclass
from nodewise.base.units import parse_bytes

#: Kinds of call chains: by a copy of the stack's top that is unwound afterwards, by frame pointers, or without.
CHAINS = ("dwarf", "fp", "none")
#: How much of a stack is copied unless it is said, and at most, in bytes: perf's own.
COPIED, MOST_COPIED = 8192, 65528
#: A copy is a multiple of that.
_LEAST_COPIED = 8
#: What one sample takes in the file besides the copy, in bytes, as seen of programs of some ten frames.
_SAMPLE_BYTES = {"fp": 250, "dwarf": 500, "none": 100}
_PARANOID = Path("/proc/sys/kernel/perf_event_paranoid")
#: Of what perf complains of so many characters are looked at.
_MOST_SAID = 1 << 16
#: Where in a recording it stands how long that is (struct perf_file_header: data.size).
_LENGTH = slice(48, 56)
_WAITING = "sched:sched_switch"


def read_chains(text: str) -> str:
    """The call chains that are named: `dwarf`, `dwarf,SIZE`, `fp` or `none`; a size is given in bytes, rounded down to what perf copies. Raises InputError."""
    kind, comma, size = text.partition(",")
    if kind not in CHAINS or (comma and kind != "dwarf"):
        raise InputError(f"no such call chains: {text}", f"there are {', '.join(CHAINS)} and dwarf,SIZE")
    if not comma:
        return kind
    try:
        copied = parse_bytes(size, "--call-graph dwarf")
    except InputError:
        copied = 0
    if not _LEAST_COPIED <= copied <= MOST_COPIED:
        raise InputError(
            f"no size of a stack's copy: {size or 'nothing'}",
            f"give {_LEAST_COPIED} to {MOST_COPIED} bytes, such as dwarf,32768 or dwarf,32KiB",
        )
    return f"{kind},{copied // _LEAST_COPIED * _LEAST_COPIED}"


def bytes_copied(chains: str) -> int:
    """How much of the stack each sample of such chains holds, in bytes."""
    kind, _, size = chains.partition(",")
    return int(size or COPIED) if kind == "dwarf" else 0


def chain_words(chains: str) -> list[str]:
    """The options of perf that record such chains."""
    copied = bytes_copied(chains)
    return {"none": [], "fp": ["--call-graph", "fp"]}.get(chains, ["--call-graph", f"dwarf,{copied}"])


def sample_bytes(chains: str) -> int:
    """What one sample with such chains takes in the file, in bytes."""
    return _SAMPLE_BYTES[chains.partition(",")[0]] + bytes_copied(chains)


@dataclass(frozen=True)
class Perf:
    """The program, its version, and what it can sample here: `cycles`, or without counters `cpu-clock`.

    `waiting` says whether switches can be recorded with where they happened, which needs the kernel's tracing files; it is found out
    only where that is asked for.
    """

    path: str
    version: str
    event: str
    waiting: bool


def perf_program() -> str:
    """Its path. Raises UnavailableError where it is missing."""
    path = shutil.which("perf")
    if path is None:
        raise UnavailableError(
            "profiling needs Linux perf", "Debian: apt-get install linux-perf; Ubuntu: linux-tools-generic"
        )
    return path


def find_perf(*, off_cpu: bool = True) -> Perf:
    """Linux perf, tried on `true`, with `off_cpu` for where threads wait, too. Raises UnavailableError where it is missing or not allowed."""
    path = perf_program()
    version = _said([path, "--version"]).removeprefix("perf version").strip()
    # perf itself leaves the kernel out where it may not be seen, and takes the clock where there are no counters
    event = next((e for e in ("cycles", "cpu-clock") if _samples(path, e)), "")
    if not event:
        paranoid = _PARANOID.read_text().strip() if _PARANOID.exists() else "not there"
        raise UnavailableError(
            f"perf may not sample programs here (kernel.perf_event_paranoid is {paranoid})",
            "as root: sysctl kernel.perf_event_paranoid=2; in a container: its runtime must allow perf_event_open",
        )
    # each recording reads all symbols of the kernel, which takes a second
    return Perf(path, version, event, off_cpu and _samples(path, _WAITING))


def _said(words: Sequence[str], environment: Mapping[str, str] | None = None) -> str:
    try:
        return subprocess.run(
            words, capture_output=True, text=True, errors="replace", check=False, timeout=10, env=environment
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""


def _samples(path: str, event: str) -> bool:
    """Whether that event can be recorded of a program of one's own."""
    words = [path, "record", "-q", "-o", "-", "-e", event, "--", "true"]
    try:
        done = subprocess.run(words, capture_output=True, check=False, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0 and len(done.stdout) > 0


@dataclass(frozen=True)
class Recording:
    """How a program is recorded: into which file, how often in a second, with which chains, up to how many bytes (0: no limit)."""

    perf: Perf
    into: Path
    rate: int
    chains: str
    off_cpu: bool
    most_bytes: int = 0

    def words(self, command: Sequence[str]) -> list[str]:
        """The command that records `command`; the program's exit code is its own."""
        # each switch counts, not some of them in a second
        waiting = ["-c", "1", "-e", _WAITING] if self.off_cpu else []
        limit = [f"--max-size={self.most_bytes}B"] if self.most_bytes else []
        name, _, privileges = self.perf.event.partition(":")
        # of a chain of one perf says where it lies in its file, which lines are found by, and of no chain only where it was in memory
        alone = ",call-graph=fp,max-stack=1" if self.chains == "none" else ""
        event = f"{name}/freq={self.rate}{alone}/{privileges}"
        words = [
            self.perf.path,
            "--buildid-dir",
            str(builds_beside(self.into)),
            "record",
            "-q",
            "-o",
            str(self.into),
            "-e",
            event,
        ]
        # switches say for how long a thread waited, and need no rights
        return [*words, *waiting, *chain_words(self.chains), *limit, "--switch-events", "--", *command]


def is_whole(recorded: Path) -> bool:
    """Whether perf wrote a recording to its end: how long it is stands in its head only then."""
    with recorded.open("rb") as file:
        head = file.read(_LENGTH.stop)
    return any(head[_LENGTH])


def recorded_event(perf: str, recorded: Path) -> str:
    """What a recording is of, samples or none, such as `cpu-clock`: perf takes another event than it was asked for where that is not here. Empty where it is not known."""
    said = _said([perf, "evlist", "-i", str(recorded)], _plain()).split()
    return event_name(said[0]) if said else ""


def event_name(text: str) -> str:
    """The name of an event as perf writes it: of `cpu-clock/freq=99/u:`, or `cpu-clock:uH:`, the first word."""
    return re.split("[/:]", text)[0]


def _plain() -> dict[str, str]:
    """The variables for perf: it is asked to translate nothing by the user's settings or language."""
    return {**os.environ, "LC_ALL": "C", "PERF_CONFIG": os.devnull}


#: Columns of what is read back; a chain's frames follow, one a line.
_FIELDS = "comm,pid,tid,time,event,ip,sym,dso"


def builds_beside(recorded: Path) -> Path:
    """Where perf keeps the programs and libraries of a recording, by which it is read once they were built anew; by itself it would keep them in the user's home, for ever."""
    return recorded.parent / "builds"


def script_lines(perf: str, recorded: Path) -> Iterator[str]:
    """The lines that `perf script` prints of a recording, switches among them. Raises ProgramError where it cannot be read."""
    builds = builds_beside(recorded)
    words = [
        perf,
        *(["--buildid-dir", str(builds)] if builds.is_dir() else []),
        "script",
        "-i",
        str(recorded),
        "--show-switch-events",
        "--show-task-events",
        "--show-lost-events",
        "--no-inline",
        "-F",
        _FIELDS,
    ]
    # of a damaged file it may complain at length, and would wait for a reader of that while its lines are read here
    with tempfile.TemporaryFile("w+", errors="replace") as said:
        with subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=said, env=_plain(), text=True, errors="replace"
        ) as child:
            assert child.stdout is not None
            yield from child.stdout
        said.seek(0)
        # of the settings that it is not to read perf complains, too
        lines = [line for line in said.read(_MOST_SAID).splitlines() if line.strip() and os.devnull not in line]
    if child.returncode:
        crashed = f"it ended by {signal_name(-child.returncode)}" if child.returncode < 0 else "no reason given"
        first = lines[0].removesuffix("(rerun with -v to learn more)").strip() if lines else crashed
        raise ProgramError(f"perf cannot read {recorded}: {first}", "was it ended before the recording was complete?")


def signal_name(number: int) -> str:
    """Such as SIGKILL."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
