# SPDX-License-Identifier: BSD-3-Clause
"""Dialect: one tool's way to express a placement, with all that nodewise has to know of it, registered by one file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, NamedTuple

from nodewise.base.frozen import dataclass

if TYPE_CHECKING:
    from nodewise.machine.model import Machine
    from nodewise.placement.job import Job
    from nodewise.placement.placement import PlaceList, Placement
    from nodewise.placement.rendering import Rendering
    from nodewise.placement.resolve import Request

#: For each thread the processors (operating-system indexes) that it may use.
Places = Sequence[tuple[int, ...]]


@dataclass(frozen=True)
class Outcome:
    """Places of the threads (operating-system indexes), and what a user should know of how they came about.

    `inner` is what an OpenMP runtime deals out to inner teams, where it was asked for a policy of theirs.
    """

    places: tuple[tuple[int, ...], ...]
    notes: tuple[str, ...] = ()
    inner: PlaceList | None = None


class Mask(NamedTuple):
    """The processors that a whole process is held to, notes, and options on memory that were given with them."""

    processors: tuple[int, ...]
    notes: list[str]
    memory: tuple[str, ...] = ()


@dataclass(frozen=True)
class Trap:
    """`name` is stable, for programs; `what` says what goes wrong; `hint` what to do about it."""

    name: str
    what: str
    hint: str

    def __str__(self) -> str:
        return f"{self.what}; {self.hint}"


@dataclass(frozen=True)
class Text:
    """A text that a user writes in a dialect: the option `--name` of `nodewise place`, with its help.

    `variable` is the environment variable that holds it, where one does, and `read` its reader, which raises InputError for
    a value that is ignored by what reads the variable. `runtimes` are the OpenMP runtimes that read it; with none, whatever
    the dialect belongs to does. A text that does not bind narrows what threads are bound to by others; one that only `counts` them
    says nothing of where they go, and stands beside a policy. `short` is a second, shorter
    spelling of the option.
    """

    name: str
    help: str
    variable: str = ""
    read: Callable[[str], object] | None = None
    runtimes: tuple[str, ...] = ()
    binds: bool = True
    counts: bool = False
    short: str = ""

    @property
    def option(self) -> str:
        """The option of the command line."""
        return "--" + self.name.replace("_", "-")


@dataclass(frozen=True)
class ThreadReader:
    """What places threads by texts. Dialects whose texts are read together, by one runtime, share one.

    `place` gives the places of a number of threads on a machine, of which a launcher or a mask may have taken a part; None
    where the texts leave them to the system. Where the request has `levels` they are those of its innermost teams. It raises InputError where a text cannot be read or is refused. `listed` is
    how many threads the texts themselves name, and `usable` how many processors they leave of those that may be used.
    """

    place: Callable[[Machine, int, Request], Outcome | None]
    listed: Callable[[Machine, Request], int | None] = lambda machine, request: None
    usable: Callable[[Machine, Request], int | None] = lambda machine, request: None


@dataclass(frozen=True)
class Silence:
    """Where the text `winner` is given, the runtimes named do not heed the `losers`."""

    winner: str
    losers: tuple[str, ...]
    runtimes: tuple[str, ...]


@dataclass(frozen=True)
class Starter:
    """How a command line starts ranks by a launcher.

    `programs` are the launcher's names there, with a subcommand where it takes one (`flux run`). `counts` are the options
    whose value is the number of ranks, `values` those that are followed by that many words. `unbound` are the variables that
    keep the launcher from binding ranks itself, by a part of the name of the file that its program leads to.
    """

    programs: tuple[str, ...]
    counts: tuple[str, ...]
    values: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    unbound: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Dialect:
    """What one file in `placement/dialects`, or a package outside, registers. It reads, or writes, or both.

    Reading, one of three: `launch` gives the ranks of a job their zones, `mask` holds a process to a set of processors,
    `threads` places threads. A launcher and a mask have one text. Threads are bound by the texts of one dialect, and of
    those that `compatible` names; a mask that `replaces` takes the place of what a launcher bound a rank to, others keep to it.

    Writing, one of two: `write_process` the places of one process's threads (`write_teams` those of nested teams: the
    places, how many threads a team of each level has, and the policies of inner teams of no known size; `write_familiar` those of the
    only process on the machine in words that people know, None where it has none for them), `write_job` the ranks of a job over nodes with
    their hosts' names. They raise NotExpressibleError with the reason. `outside`: it can name processors that the process
    may not use. `with_threads`: as a launcher it places the threads of its ranks, too.

    `check` raises InputError for texts that contradict each other, and `explain` says in sentences what they do; both are
    asked where one of the texts is given. `traps` are those of a placement that are the dialect's own, in an environment.
    `silences` become traps, and decide which variables count for `nodewise where`. `pins` are variables by which the tool binds
    processes that it starts, each with what it then does. `rank` and `local_rank` are those by which a launcher gives a
    process its number in the job and on its node; those of an `allocator` are set in all that runs within its allocation,
    so that others' go before. `starter` says how commands start ranks, which `nodewise tune` then varies and binds.
    """

    name: str
    texts: tuple[Text, ...] = ()
    launch: Callable[[Machine, str, Job], tuple[Placement, list[str]]] | None = None
    mask: Callable[[Machine, str], Mask] | None = None
    replaces: bool = False
    threads: ThreadReader | None = None
    compatible: tuple[str, ...] = ()
    write_process: Callable[[Machine, Places], Rendering] | None = None
    write_teams: Callable[[Machine, Places, tuple[int, ...], PlaceList | None], Rendering] | None = None
    write_familiar: Callable[[Machine, Places], Rendering | None] | None = None
    write_job: Callable[[Machine, Placement, Sequence[str]], Rendering] | None = None
    outside: bool = False
    with_threads: bool = False
    check: Callable[[Request], None] | None = None
    explain: Callable[[Machine, Request], list[str]] | None = None
    traps: Callable[[Machine, Placement, Request, Mapping[str, str]], list[Trap]] | None = None
    silences: tuple[Silence, ...] = ()
    pins: Mapping[str, str] = field(default_factory=dict)
    rank: tuple[str, ...] = ()
    local_rank: tuple[str, ...] = ()
    allocator: bool = False
    starter: Starter | None = None

    @property
    def writes(self) -> bool:
        """Whether a placement can be written in it."""
        return self.write_process is not None or self.write_job is not None

    def given(self, request: Request) -> tuple[Text, ...]:
        """Those of its texts that a request has."""
        return tuple(text for text in self.texts if text.name in request.texts)
