# SPDX-License-Identifier: BSD-3-Clause
"""Which knobs of the catalogue a program has on a machine, and with which values."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from fnmatch import fnmatchcase
from pathlib import Path

from nodewise.base.frozen import dataclass
from nodewise.machine.model import Machine
from nodewise.runner.allocators import find_preloads
from nodewise.runner.library_query import query_library
from nodewise.runner.loaded import Loaded, version_of
from nodewise.tuning.catalogue.knob import (
    ALLOCATION,
    FAULTS_AGAIN,
    Choice,
    Follower,
    Knob,
    Library,
    Setter,
    as_set_by_the_user,
)
from nodewise.tuning.catalogue.priority import LEAST_WORTH, matches, set_by_command
from nodewise.tuning.catalogue.read import load_catalogue

#: A value is left out where it may take more than this share of the memory that a program may use.
_MOST_MEMORY = 0.5
_OF_MEMORY = re.compile(r"\{(\d+)% of memory\}")


def marks_of(catalogue: Iterable[Library]) -> tuple[str, ...]:
    """The texts to look for in a program's file: what `runner.loaded.run_watched` takes as `marks`."""
    return tuple(dict.fromkeys(mark for library in catalogue for mark in library.marks))


def file_of(library: Library, loaded: Loaded) -> str | None:
    """The name of the file by which a library is known to be loaded; None where none is."""
    paths = dict.fromkeys([*loaded.mapped, *loaded.needed])
    return next((Path(p).name for p in paths if matches(p, library.files)), None)


def _is_loaded(library: Library, loaded: Loaded) -> bool:
    if file_of(library, loaded) is not None:
        return True
    if any(fnmatchcase(word, pattern) for word in loaded.words for pattern in library.words):
        return True
    if loaded.linkage != "static" and not library.marks_anywhere:
        return False
    return any(mark in loaded.marks for mark in library.marks)


def libraries_loaded(loaded: Loaded, catalogue: Iterable[Library]) -> tuple[Library, ...]:
    """Those of the catalogue that a program loads and uses."""
    found = {library.name: library for library in catalogue if _is_loaded(library, loaded)}
    return tuple(library for library in found.values() if not any(name in found for name in library.unless))


@dataclass(frozen=True)
class Answers:
    """What loaded libraries say of themselves: `chosen` by knobs' names where nothing is set, `versions` by libraries'.

    A version is a release's, or in brackets the name of the file, where that is all that is known.

    `taken` are, where the library could be asked, the values of a knob that it takes, each with the text that means it: for
    one that it does not have it takes another.
    """

    chosen: Mapping[str, str] = field(default_factory=dict)
    taken: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)


def query_libraries(
    libraries: Iterable[Library], loaded: Loaded, machine: Machine, environment: Mapping[str, str]
) -> Answers:
    """What loaded libraries would choose here by themselves, and their versions where file names do not give them.

    A library with questions is loaded in a process of its own, once and for each value that the machine's processor has;
    that takes tens of milliseconds each time.
    """
    chosen: dict[str, str] = {}
    taken: dict[str, dict[str, str]] = {}
    versions: dict[str, str] = {}
    for library in libraries:
        name = file_of(library, loaded) or ""
        path = loaded.path_of(name)
        asking = [k for k in library.knobs if k.ask]
        if version := version_of(name):
            # behind .so stands the number of the interface, which is no release's
            versions[library.name] = f"({name})" if name.endswith(f".so.{version}") else version
        if path is None or not (asking or library.ask_version):
            continue
        alone = {v: t for v, t in environment.items() if v not in {k.setter.variable for k in asking}}
        answers = query_library(path, {"": library.ask_version, **{k.name: k.ask for k in asking}}, alone)
        number = re.search(r"\d+(\.\d+)+", answers.pop("", ""))
        versions |= {library.name: number[0]} if number else {}
        chosen |= answers
        for knob in asking:
            if knob.name in answers:
                taken[knob.name] = dict(_taken(knob, path, machine, alone))
    return Answers(chosen, taken, versions)


def _taken(knob: Knob, path: str, machine: Machine, environment: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for choice in runnable(knob, machine):
        for text in (choice.text, *choice.spellings):
            answer = query_library(path, {"": knob.ask}, {**environment, **knob.setter.write(text, environment)})
            if answer.get("", "").lower() == choice.name.lower():
                yield choice.name, text
                break


def runnable(knob: Knob, machine: Machine) -> tuple[Choice, ...]:
    """The values of a knob that the machine's processor can run."""
    flags = set(machine.processor.flags)
    return tuple(c for c in knob.choices if flags.issuperset(c.needs))


def _memory(machine: Machine) -> int:
    """How many bytes a program may use here; 0 where nobody knows."""
    limit = machine.limits.memory_bytes
    return machine.memory_bytes if limit is None else min(limit, machine.memory_bytes or limit)


def _in_memory(knob: Knob, machine: Machine, peak_bytes: float) -> Knob:
    """The knob without values that may take too much memory, and with numbers in those that are shares of it."""
    memory = _memory(machine)

    def put_in(text: str) -> str:
        return _OF_MEMORY.sub(lambda m: str(memory * int(m[1]) // 100 >> 20), text)

    def fits(choice: Choice) -> bool:
        if not memory:
            return not _OF_MEMORY.search(choice.text)
        return choice.grows == 1 or peak_bytes * choice.grows <= _MOST_MEMORY * memory

    return replace(knob, choices=tuple(replace(c, text=put_in(c.text)) for c in knob.choices if fits(c)))


def _fitting(
    knob: Knob, loaded: Loaded, machine: Machine, environment: Mapping[str, str], answers: Answers
) -> Knob | None:
    """The knob with the values that make sense here; None where there is nothing to choose."""
    if knob.vendors and machine.processor.vendor not in knob.vendors:
        return None
    if loaded.guarded and knob.setter.form in ("tunable", "preload"):
        return None
    if knob.parallel == "threads" and machine.parallelism < 2:
        return None
    pages = machine.transparent_huge_pages
    if knob.huge_pages and pages is not None and pages not in knob.huge_pages:
        return None
    if knob.imports and not loaded.openmp:
        # nothing says that it is of use, nor that it is not: for whoever asks for it
        knob = replace(knob, worth=min(knob.worth, LEAST_WORTH - 1))
    elif knob.imports and not any(re.fullmatch(knob.imports, name) for name in loaded.openmp):
        return None
    taken = answers.taken.get(knob.name)
    choices = tuple(
        c if taken is None else replace(c, text=taken[c.name])
        for c in runnable(knob, machine)
        # a text that may mean something else is not for guessing
        if (not c.spellings if taken is None else c.name in taken)
    )
    own = answers.chosen.get(knob.name, "")
    fitting = as_set_by_the_user(replace(knob, choices=choices, own=own), environment)
    return fitting if len(fitting.values) > 1 else None


def knobs_for(
    loaded: Loaded,
    machine: Machine,
    environment: Mapping[str, str],
    catalogue: Sequence[Library] | None = None,
    answers: Answers | None = None,
    command: Sequence[str] = (),
    usage: Mapping[str, float] | None = None,
) -> tuple[Knob, ...]:
    """The knobs of what a program loads, those of most worth first.

    Values that the processor cannot run are left out, with `answers` (see `query_libraries`) those that the library
    takes by itself or does not have, with a run's `usage` (`Sample.usage`) those that may take too much memory; what the user
    has set is the default, and can be unset. What the words of the `command` set is left alone.
    """
    known = load_catalogue() if catalogue is None else catalogue
    peak_bytes = (usage or {}).get("peak_bytes", 0.0)
    found = [
        fitting
        for library in libraries_loaded(loaded, known)
        for knob in library.knobs
        if not set_by_command(knob, command, environment)
        and (
            fitting := _fitting(
                _in_memory(knob, machine, peak_bytes), loaded, machine, environment, answers or Answers()
            )
        )
    ]
    return tuple(sorted(found, key=lambda k: -k.worth))


def allocator_knob(
    loaded: Loaded,
    environment: Mapping[str, str],
    catalogue: Sequence[Library] | None = None,
    folders: Iterable[Path] | None = None,
) -> Knob | None:
    """The axis `allocator`: other memory allocators of this machine, by preload; None where none would be taken.

    Nothing can be preloaded into a static program, nor into one that runs under another user's rights. `folders`: look
    only there.
    """
    if loaded.guarded or loaded.linkage == "static":
        return None
    known = load_catalogue() if catalogue is None else catalogue
    allocators = {library.name: library for library in known if library.preloads}
    found = find_preloads({n: a.preloads for n, a in allocators.items()}, environment, folders)
    present = {library.name for library in libraries_loaded(loaded, allocators.values())}
    choices = tuple(
        Choice(name, str(path), meaning=allocators[name].about, source=allocators[name].source)
        for name, path in found.items()
        if name not in present
    )
    if not choices:
        return None
    stems = "|".join(re.escape(f.partition(".so")[0]) for a in allocators.values() for f in a.preloads)
    knob = Knob(
        name="allocator",
        library="allocator",
        title="memory allocator",
        setter=Setter("LD_PRELOAD", "preload", replaces=rf"(?:.*/)?(?:{stems})\.so[\d.]*"),
        choices=choices,
        meaning="which library gives out memory to the program (malloc, new)",
        helps="programs that take and give back memory often, above all in many threads, may wait less for each other",
        source=allocators[choices[0].name].source,
        usual="the program's own allocator, mostly that of the C library",
        risk="more memory may be held; a program that looks into its allocator may fail",
        worth=60,
        time=(ALLOCATION, FAULTS_AGAIN),
    )
    return as_set_by_the_user(knob, environment)


def followers_for(loaded: Loaded, catalogue: Sequence[Library] | None = None) -> tuple[Follower, ...]:
    """The variables that follow an axis, of what a program loads."""
    known = load_catalogue() if catalogue is None else catalogue
    return tuple(f for library in libraries_loaded(loaded, known) for f in library.followers)


def follow(followers: Iterable[Follower], axis: str, number: int, environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that hand an axis's number to libraries that do not read it from elsewhere.

    A library that reads OMP_NUM_THREADS where its own variable is not set gets its own only where the user has set it.
    """
    held = dict(environment)
    found: dict[str, str] = {}
    for follower in followers:
        if follower.follows != axis or (follower.reads and follower.setter.read(environment) is None):
            continue
        set_now = follower.setter.write(follower.template.replace("{n}", str(number)), held)
        found |= set_now
        held |= set_now
    return found
