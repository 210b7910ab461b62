# SPDX-License-Identifier: BSD-3-Clause
"""A pipeline over ranks: a launcher starts them, on one node or many; each tells what its devices do, and none outlives this process."""

from __future__ import annotations

import queue
import secrets
import shlex
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import nodewise
from nodewise.base.errors import InputError, ProgramError
from nodewise.base.frozen import dataclass
from nodewise.pipelines.crew import RankCrew, Seated
from nodewise.pipelines.hosted import Hosted, ended_by
from nodewise.pipelines.layout import Instance, layout_of, parts_of, words_of
from nodewise.pipelines.page import Page
from nodewise.pipelines.places import Asked, Cpus, asked_places, placed
from nodewise.pipelines.plan import Plan
from nodewise.pipelines.run import Started
from nodewise.pipelines.seats import Seat, dealt, joined
from nodewise.pipelines.wire import KEY, LostError, Wire, accepted, own_addresses

#: How long ranks may take to be there, since the last one came: a batch system's launcher waits for its nodes.
_THERE_S, _QUEUED_S, _QUEUES = 60.0, 300.0, ("srun", "aprun")
#: How long a launcher may leave what it connects to nodes by, once that has ended, before it is said to be stuck.
_STUCK_S, _LOOK_S, _LEAVE_S = 2.0, 0.05, 5.0
#: How long a rank that is there may take for each word of its greeting, in seconds.
_GREET_S = 10.0


@dataclass(frozen=True)
class Launcher:
    """How ranks are started: the `words` before those of their program, and how many (0: the launcher's words say so)."""

    words: tuple[str, ...]
    ranks: int = 0

    @property
    def name(self) -> str:
        """The launcher, as it is called in messages."""
        return Path(self.words[0]).name


def over_ranks(launcher: Launcher) -> Callable[[Plan, list[float]], Any]:
    """What starts a pipeline's processes by a launcher of ranks."""

    @contextmanager
    def start(plan: Plan, asked: list[float]) -> Iterator[Started]:
        wanted = asked_places(plan)
        with ExitStack() as stack:
            hosted = stack.enter_context(Hosted())
            seated = _seated(launcher, hosted, asked, stack)
            crew = RankCrew(seated, hosted, launcher.name)
            stack.callback(_leave, crew, hosted)
            yield _begun(plan, wanted, seated, crew)

    return start


def _seated(launcher: Launcher, hosted: Hosted, asked: list[float], stack: ExitStack) -> list[Seated]:
    """Start the ranks, and wait until all of them are there. Raises ProgramError."""
    key = secrets.token_bytes(32)
    listener = stack.enter_context(socket.create_server(("", 0), backlog=1024))
    came: queue.SimpleQueue[Wire] = queue.SimpleQueue()
    threading.Thread(target=_accept, args=(listener, key, came), daemon=True).start()
    # who only shuts it down wakes the thread that waits at it
    stack.callback(lambda: _shut(listener))
    words = [sys.executable, "-P", "-m", "nodewise.pipelines.rank", str(listener.getsockname()[1]), *own_addresses()]
    hosted.begin([{"command": [*launcher.words, *words], "environment": {KEY: key.hex()}}])
    found: list[Seated] = []
    wires: list[Wire] = []
    stack.callback(_close, wires)
    patience = _QUEUED_S if launcher.name in _QUEUES else _THERE_S
    last = stuck = time.monotonic()
    count = launcher.ranks
    while not count or len(found) < count:
        if asked:
            raise KeyboardInterrupt
        with suppress(queue.Empty):
            wires.append(wire := came.get(timeout=_LOOK_S))
            with suppress(LostError):
                found.append(_greeted(wire))
                count = count or found[0].size
                last = time.monotonic()
            continue
        there = f"{len(found)} of {count or 'them'}"
        if ended := hosted.ended(0.0):
            raise ProgramError(
                f"{launcher.name} {ended_by(ended[0][1])} before all of its ranks were there: {there}",
                _by_itself(launcher),
            )
        if not (left := hosted.given_up()):
            stuck = time.monotonic()
        elif time.monotonic() - stuck > _STUCK_S:
            raise ProgramError(
                f"{launcher.name} waits before all of its ranks were there ({there}), though {left}: is there a host that it cannot reach?",
                _by_itself(launcher),
            )
        if time.monotonic() - last > patience:
            raise ProgramError(
                f"{len(found)} of {count or 'the'} ranks were there, and no other one within {patience:.0f} s",
                "can the nodes reach this one by TCP, at one of its addresses: " + ", ".join(own_addresses()) + "?",
            )
    return _numbered(found)


def _by_itself(launcher: Launcher) -> str:
    return "what it printed says why; try it by itself: " + shlex.join([*launcher.words, "hostname"])


def _accept(listener: socket.socket, key: bytes, came: queue.SimpleQueue[Wire]) -> None:
    def prove(stream: socket.socket) -> None:
        if (wire := accepted(stream, key)) is not None:
            came.put(wire)

    while True:
        try:
            stream, _ = listener.accept()
        except OSError:
            return
        # one that says nothing is not to hold up the others
        threading.Thread(target=prove, args=(stream,), daemon=True).start()


def _close(wires: Sequence[Wire]) -> None:
    for wire in wires:
        wire.close()


def _shut(listener: socket.socket) -> None:
    with suppress(OSError):
        listener.shutdown(socket.SHUT_RDWR)


def _greeted(wire: Wire) -> Seated:
    """A rank that is there, and how far its clock is behind. Raises LostError, and ProgramError for another version of nodewise."""
    # one that is stopped, or whose node hangs, is not to hold up the others
    wire.wait_at_most(_GREET_S)
    said, _ = wire.receive()
    if said["version"] != nodewise.__version__:
        raise ProgramError(
            f"rank {said['rank']} on {said['host']} has nodewise {said['version']}, and this is {nodewise.__version__}",
            "install the same on all nodes",
        )
    behind = []
    for _ in range(3):
        before = time.monotonic_ns()
        wire.send({"clock": 0})
        there = int(wire.receive()[0]["clock"])
        after = time.monotonic_ns()
        behind.append((after - before, (before + after) // 2 - there))
    wire.wait_at_most(None)
    seat = Seat(int(said["rank"]), str(said["host"]), wire.peer_address, str(said["machine"]))
    return Seated(seat, wire, min(behind)[1], int(said["size"]))


def _numbered(found: Sequence[Seated]) -> list[Seated]:
    """By number; those whose launcher does not number them as they came. Each has an address at which the others reach it."""
    numbers = [one.seat.number for one in found]
    if -1 in numbers or len({*numbers}) < len(numbers):
        ordered = [replace(one, seat=replace(one.seat, number=i)) for i, one in enumerate(found)]
    else:
        ordered = sorted(found, key=lambda one: one.seat.number)
    # ranks on this node came by whatever address was tried first: others reach it by that by which they came
    mine = next((one.wire.own_address for one in ordered if one.wire.own_address != one.wire.peer_address), None)
    if mine is None:
        return ordered
    return [
        replace(one, seat=replace(one.seat, address=mine)) if one.wire.own_address == one.wire.peer_address else one
        for one in ordered
    ]


def _begun(plan: Plan, wanted: Mapping[Instance, Asked], seated: Sequence[Seated], crew: RankCrew) -> Started:
    """Deal the instances out, place them, and start them. Raises InputError, before any is started."""
    seats = dealt(plan, [one.seat for one in seated])
    plan = placed(joined(plan, seats), _places(wanted, seats, seated))
    layout = layout_of(plan)
    page = Page(-1, layout.size)
    addresses = {instance: seat.address for instance, seat in seats.items()}
    parts = dict(zip(layout.instances, parts_of(plan, layout, secrets.token_hex(6), addresses), strict=True))
    for one in seated:
        own = [instance for instance in layout.instances if seats[instance].number == one.seat.number]
        texts = [at for i in own for at in (layout.errors[i], layout.about[i])]
        texts += [at for (_, receiver), at in layout.addresses.items() if receiver in own]
        words = words_of(plan, layout, {*own})
        crew.begin(one, own, words, texts, [parts[i] for i in own], layout)
    crew.page = page
    return Started(plan, layout, page, crew, seats)


def _places(
    wanted: Mapping[Instance, Asked], seats: Mapping[Instance, Seat], seated: Sequence[Seated]
) -> dict[Instance, Cpus]:
    """The processors of instances: those of one node are placed together, by the first rank there. Raises InputError."""
    found: dict[Instance, Cpus] = {}
    done: set[tuple[str, str]] = set()
    for one in seated:
        node = (one.seat.machine, one.seat.host)
        own = [i for i in wanted if (seats[i].machine, seats[i].host) == node]
        if node in done or not own:
            continue
        done.add(node)
        one.wire.send({"places": [wanted[i].to_json() for i in own]})
        said = one.wire.receive()[0]
        if "problem" in said:
            raise InputError(said["problem"], said["hint"])
        found.update({i: None if c is None else tuple(c) for i, c in zip(own, said["cpus"], strict=True)})
    return found


def _leave(crew: RankCrew, hosted: Hosted) -> None:
    """Tell all ranks that it is over, and give the launcher a while to end by itself: it would complain of ranks that were killed."""
    crew.end()
    until = time.monotonic() + _LEAVE_S
    with suppress(ProgramError):
        while (left := until - time.monotonic()) > 0 and not crew.launcher_ended:
            crew.launcher_ended = bool(hosted.ended(min(left, _LOOK_S)))
