# SPDX-License-Identifier: BSD-3-Clause
"""Loaded: which libraries a program really loads and spends its time in: by its file, and watched while it and its children run."""

from __future__ import annotations

import contextlib
import mmap
import os
import re
import threading
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import field, replace
from pathlib import Path
from typing import Any, ClassVar

from nodewise.base.elf import Elf
from nodewise.base.errors import InputError
from nodewise.base.frozen import dataclass
from nodewise.base.secrets import parts_of_words
from nodewise.base.shapes import fit
from nodewise.runner.launcher import Launcher
from nodewise.runner.local import LocalLauncher
from nodewise.runner.proc_files import children_of, executable_of
from nodewise.runner.profile import Profile, Profiler
from nodewise.runner.program import RUNTIMES, find_on_path, inspect_program
from nodewise.runner.sample import Sample
from nodewise.runner.setting import Setting

#: Looking takes at most this share of one processor once the start is over, which by itself may cost the second number.
_MOST_COST, _AT_ONCE_S = 0.01, 0.03
#: The first looks are the first number apart, later ones further, and never more than the last: what a program loads late is seen too.
_SHORTEST_S, _GROWTH, _LONGEST_S = 0.001, 1.3, 0.05
#: Larger files are read no further for marks.
_MOST_BYTES = 1 << 28
#: Programs with a smaller share of the time are not read for marks, nor more programs than the second number.
_WORTH_READING, _MOST_PROGRAMS = 0.05, 8
#: Of command lines no more words, and of a word no more characters, are kept.
_MOST_WORDS, _LONGEST_WORD = 500, 200
_VERSION = re.compile(r"\.so\.(\d+(?:\.\d+)+)$|[-_]r?(\d+(?:\.\d+)+)(?:[-.]|\.so|$)")
#: What a program and its libraries take from an OpenMP runtime shows which of the runtime's settings can matter.
_OPENMP_IMPORT = re.compile(r"(GOMP_|__kmpc_|omp_)\w+")


def version_of(name: str) -> str:
    """The version that a library's file name gives: `3.0.2` of libx.so.3.0.2 or libx-r3.0.2.so; empty where none."""
    found = _VERSION.search(name)
    return (found[1] or found[2]) if found else ""


@dataclass(frozen=True)
class Loaded:
    """What a program loads.

    `needed` are the names of the libraries that its file names, with theirs; `mapped` the files that were mapped for
    execution by it or its children while it ran (empty where it was not watched, or ended before the first look).
    `marks` are those of the texts asked for that stand in its file or in that of a program that it starts, `openmp` what it
    and the files mapped import from an OpenMP runtime, `words` those of the command lines that were seen.
    `guarded`: the system keeps preloads and tunables from it. `profile` shows where the time went; None where it was not watched.
    """

    program: str = ""
    linkage: str = ""
    guarded: bool = False
    needed: tuple[str, ...] = ()
    mapped: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()
    openmp: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    processes: int = 0
    looks: int = 0
    profile: Profile | None = None
    #: What its JSON has besides its fields.
    computed: ClassVar[tuple[str, ...]] = ("versions",)

    @property
    def names(self) -> tuple[str, ...]:
        """The file names of all libraries, each once."""
        return tuple(dict.fromkeys([*(Path(p).name for p in self.mapped), *self.needed]))

    @property
    def watched(self) -> bool:
        """Whether the libraries of a run were seen; else only what the program's file names is known."""
        return bool(self.mapped)

    def path_of(self, name: str) -> str | None:
        """Where a mapped library of that file name lies."""
        return next((p for p in self.mapped if Path(p).name == name), None)

    @property
    def versions(self) -> Mapping[str, str]:
        """Those that file names give, by file name."""
        return {name: version for name in self.names if (version := version_of(name))}

    def to_json(self) -> dict[str, Any]:
        """All fields as plain values, and the versions that file names give."""
        return {
            "program": self.program,
            "linkage": self.linkage,
            "guarded": self.guarded,
            "needed": list(self.needed),
            "mapped": list(self.mapped),
            "marks": list(self.marks),
            "openmp": list(self.openmp),
            "words": list(self.words),
            "processes": self.processes,
            "looks": self.looks,
            "profile": None if self.profile is None else self.profile.to_json(),
            "versions": dict(self.versions),
        }


def loaded_from_json(data: Any) -> Loaded:
    """Rebuild a Loaded from `Loaded.to_json`; raises ShapeError where it is no such record."""
    loaded: Loaded = fit(data, Loaded)
    return loaded


def needs_of(command: Sequence[str], environment: Mapping[str, str], marks: Collection[str] = ()) -> Loaded:
    """What the program's file alone shows, without a run; `marks` are texts to look for in it.

    A script's file reports nothing of what its interpreter loads, nor does a file that cannot be read.
    """
    path = find_on_path(command[0], environment) if command else None
    if path is None:
        return Loaded()
    program = inspect_program(path, environment)
    loaded = Loaded(str(path), program.linkage, program.guarded, program.libraries)
    if program.kind != "elf":
        return loaded
    return replace(loaded, marks=_marks_in(str(path), marks), openmp=openmp_imports([str(path)]))


def _marks_in(path: str, marks: Collection[str]) -> tuple[str, ...]:
    """Those of the texts that stand in a file; none where it cannot be read."""
    try:
        with Path(path).open("rb") as file:
            data = file.read(_MOST_BYTES)
    except OSError:
        return ()
    return tuple(mark for mark in dict.fromkeys(marks) if mark.encode() in data)


def openmp_imports(paths: Iterable[str]) -> tuple[str, ...]:
    """The functions that files take from an OpenMP runtime, in alphabetical order; files that cannot be read have none."""
    found: set[str] = set()
    for path in paths:
        with contextlib.suppress(OSError, ValueError, InputError), ExitStack() as opened:
            file = opened.enter_context(Path(path).open("rb"))
            # only the pages that hold its tables are read
            elf = Elf(opened.enter_context(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)))
            if any(name.startswith(RUNTIMES) for name in elf.needed):
                found.update(name for name in elf.imports() if _OPENMP_IMPORT.fullmatch(name))
    return tuple(sorted(found))


def mapped_files(text: str) -> list[str]:
    """The files that a /proc/PID/maps maps for execution, each once, in its order; deleted ones by the name they had."""
    found: dict[str, None] = {}
    for line in text.splitlines():
        fields = line.split(maxsplit=5)
        if len(fields) == 6 and "x" in fields[1] and fields[5].startswith("/"):
            found[fields[5].removesuffix(" (deleted)")] = None
    return list(found)


@dataclass
class MapsWatcher:
    """Looks at the maps of all descendants of `root`, without `root` itself, in a thread, while it is entered.

    Processes that still run the same file as `root` are left out: they are its children before they become programs.
    Another user's processes cannot be looked at; what is mapped for less than a few milliseconds may be missed, and
    what is mapped only within the last 50 ms of a run.
    """

    root: int
    mapped: dict[str, None] = field(default_factory=dict)
    programs: dict[str, None] = field(default_factory=dict)
    words: dict[str, None] = field(default_factory=dict)
    pids: dict[int, str] = field(default_factory=dict)
    looks: int = 0
    cost_s: float = 0.0

    def __post_init__(self) -> None:
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="nodewise-maps", daemon=True)

    def __enter__(self) -> MapsWatcher:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def look(self) -> None:
        """Look once."""
        own = executable_of(self.root)
        waiting = children_of(self.root)
        met: set[int] = set()
        while waiting:
            pid = waiting.pop()
            if pid in met:
                continue
            met.add(pid)
            waiting += children_of(pid)
            program = executable_of(pid)
            if own and program == own:
                continue
            with contextlib.suppress(OSError):
                files = mapped_files(Path(f"/proc/{pid}/maps").read_text(errors="replace"))
                self.mapped.update(dict.fromkeys(files))
                if files and self.pids.get(pid) != program:
                    self._meet(pid, program)
        self.looks += 1

    def _meet(self, pid: int, program: str) -> None:
        """A process, or one that has become another program."""
        self.pids[pid] = program
        self.programs[program] = None
        if len(self.words) < _MOST_WORDS:
            raw = [word for word in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0") if word][:_MOST_WORDS]
            given = [word[:_LONGEST_WORD].decode(errors="replace") for word in raw]
            # one that holds a secret reports nothing of a library
            plain = (word for word, secrets in zip(given, parts_of_words(given), strict=True) if not secrets)
            self.words.update(dict.fromkeys(plain))

    def _watch(self) -> None:
        begin = time.monotonic()
        wait = _SHORTEST_S
        while not self._ended.wait(wait):
            before = time.thread_time()
            self.look()
            self.cost_s += time.thread_time() - before
            # only once something runs do looks grow apart
            wait = min(_LONGEST_S, wait * _GROWTH) if self.pids else _SHORTEST_S
            owed = (self.cost_s - _AT_ONCE_S) / _MOST_COST - (time.monotonic() - begin)
            wait = max(wait, owed)


@dataclass(frozen=True)
class Watch:
    """What is watched of a run: its maps and where its time goes."""

    maps: MapsWatcher
    profiler: Profiler

    def add_to(self, loaded: Loaded, marks: Collection[str] = ()) -> Loaded:
        """The same with what was seen; `marks` are texts to look for in programs that the first one started, too."""
        profile, tally = self.profiler.profile, self.profiler.tally
        # a run too short to be looked at has been recorded all the same
        mapped = tuple(dict.fromkeys([*self.maps.mapped, *tally.mapped]))
        programs = profile.programs or dict.fromkeys(self.maps.programs, 1.0)
        own = os.path.realpath(loaded.program) if loaded.program else ""
        others = [p for p, share in programs.items() if share >= _WORTH_READING and os.path.realpath(p) != own]
        found = (mark for p in others[:_MOST_PROGRAMS] for mark in _marks_in(p, marks))
        return replace(
            loaded,
            mapped=mapped,
            marks=tuple(dict.fromkeys([*loaded.marks, *found])),
            openmp=tuple(sorted({*loaded.openmp, *openmp_imports(mapped)})),
            words=tuple(self.maps.words),
            processes=len(self.maps.pids) or tally.processes,
            looks=self.maps.looks,
            profile=profile,
        )


@contextlib.contextmanager
def watched_launcher(launcher: Launcher) -> Iterator[Watch | None]:
    """Watch what a launcher runs meanwhile; None where its processes are not this machine's to see."""
    if not isinstance(launcher, LocalLauncher):
        yield None
        return
    with Profiler(launcher.process) as profiler, MapsWatcher(launcher.process) as maps:
        yield Watch(maps, profiler)


def run_watched(
    launcher: Launcher,
    setting: Setting,
    environment: Mapping[str, str] | None = None,
    marks: Collection[str] = (),
    timeout_s: float | None = None,
) -> tuple[Sample, Loaded]:
    """Run a setting once, and say what it loaded: tune's first run. `environment` is what the launcher's settings change.

    Where the kernel does not let it be sampled (`Loaded.profile` says so), a program that ends within about 10 ms is known by
    its file's needs only (`Loaded.watched` is false then). Raises as `Launcher.run` does.
    """
    inherited = os.environ if environment is None else environment
    loaded = needs_of(setting.command, setting.environment(inherited), marks)
    with watched_launcher(launcher) as watcher:
        sample = launcher.run(setting, timeout_s=timeout_s)
    return sample, loaded if watcher is None else watcher.add_to(loaded, marks)
