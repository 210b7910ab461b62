# SPDX-License-Identifier: BSD-3-Clause
"""An endpoint: what sends and receives messages at an address."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from enum import IntEnum, IntFlag
from typing import TYPE_CHECKING, Self

from nodewise_transport import _core
from nodewise_transport.errors import InvalidCall

if TYPE_CHECKING:
    from typing_extensions import Buffer

_FOREVER = -1
#: So much is a wait of 146 years.
_LONGEST = 2**62
#: NWT_NO_RMA of transport.h.
_NO_RMA = 2**32 - 1


class Pattern(IntEnum):
    """What an endpoint does: they come in pairs, and one only talks to its other half."""

    PUSH = 1
    PULL = 2
    PUBLISH = 3
    SUBSCRIBE = 4
    REQUEST = 5
    REPLY = 6


class Event(IntFlag):
    """What `poll` waits for."""

    READABLE = 1
    WRITABLE = 2


PUSH, PULL = Pattern.PUSH, Pattern.PULL
PUBLISH, SUBSCRIBE = Pattern.PUBLISH, Pattern.SUBSCRIBE
REQUEST, REPLY = Pattern.REQUEST, Pattern.REPLY


def _nanoseconds(seconds: float | None) -> int:
    if seconds is None:
        return _FOREVER
    if not seconds >= 0:
        raise InvalidCall(f"a timeout is a number of seconds, at least 0, or None; not {seconds}")
    return int(min(seconds * 1e9, _LONGEST))


class Endpoint:
    """Sends or receives messages of 0 bytes to 2 GiB at `address`, as `pattern` says.

    One side binds the address, others connect to it, again and again where it is not there yet or has gone. `slots` messages and
    `capacity` bytes, powers of two, are on the way to a peer at most (0: 8192, 4 MiB). `spin` never sleeps while it waits. One that
    publishes leaves out a subscriber that has no room (`left_out` counts that), or with `wait_for_all` waits for it. Over libfabric,
    `rma_from` bytes and more are written into the other side's memory, and less is sent as a message (0: as is good for the provider;
    None: all is sent).
    It belongs to one thread at a time, and to the process that opened it. Raises InvalidCall, AddressTaken, SystemProblem, Missing.
    """

    def __init__(
        self,
        address: str,
        pattern: Pattern,
        *,
        bind: bool = False,
        spin: bool = False,
        slots: int = 0,
        capacity: int = 0,
        wait_for_all: bool = False,
        rma_from: int | None = 0,
    ) -> None:
        if not (0 <= slots < 2**32 and 0 <= capacity < 2**64):
            raise InvalidCall("slots and capacity are powers of two, or 0")
        if rma_from is not None and not 0 <= rma_from < _NO_RMA:
            raise InvalidCall("rma_from is a number of bytes below 4294967295, or None")
        self.pattern = Pattern(pattern)
        crossover = _NO_RMA if rma_from is None else rma_from
        self._core = _core.Endpoint(int(self.pattern), address, bind, spin, slots, capacity, wait_for_all, crossover)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Close it, which waits for the last confirmation; after an error, at once."""
        if kind is None:
            self.close()
        else:
            self.abort()

    def send(self, message: Buffer, timeout: float | None = None) -> None:
        """Send a copy of an object's bytes; wait for a peer with room. Raises TimedOut, PeerLost."""
        self._core.send(message, _nanoseconds(timeout))

    def send_parts(self, parts: Iterable[Buffer], timeout: float | None = None) -> None:
        """Send one message of 1 to 1024 parts."""
        self._core.send_parts(list(parts), _nanoseconds(timeout))

    def receive(self, timeout: float | None = None) -> bytes:
        """Return the next message; its parts one behind the other. Raises TimedOut, PeerLost."""
        return self._core.receive(_nanoseconds(timeout))

    def receive_parts(self, timeout: float | None = None) -> list[bytes]:
        """Return the parts of the next message."""
        whole = memoryview(self.receive(timeout))
        parts, begin = [], 0
        for size in self._core.parts():
            parts.append(bytes(whole[begin : begin + size]))
            begin += size
        return parts

    def receive_into(self, buffer: Buffer, timeout: float | None = None) -> int:
        """Copy the next message into a writable object; return its size. Raises TooSmall, and then it stays."""
        return self._core.receive_into(buffer, _nanoseconds(timeout))

    @contextmanager
    def receive_loan(self, timeout: float | None = None) -> Iterator[memoryview]:
        """Lend the next message where it lies, to be read; it is given back in the end.

        What was made of the memoryview and has its memory (a slice, an array) has to be gone by then: InvalidCall otherwise, and the
        memory stays lent.
        """
        memory = self._core.receive_loan(_nanoseconds(timeout))
        view = memoryview(memory)
        try:
            yield view
        finally:
            view.release()
            self._core.give_back(memory)

    @contextmanager
    def loan(self, size: int, timeout: float | None = None) -> Iterator[memoryview]:
        """Lend memory of the transport to write a message into, which is sent in the end; after an error it is dropped."""
        memory = self._core.loan(size, _nanoseconds(timeout))
        view = memoryview(memory)
        sends = False
        try:
            yield view
            sends = True
        finally:
            view.release()
            self._core.end_loan(memory, sends)

    def request(self, message: Buffer, timeout: float | None = None) -> bytes:
        """Send a request and return its reply; each of the two may take `timeout`. Raises PeerLost where who has it is gone."""
        self.send(message, timeout)
        return self.receive(timeout)

    def subscribe(self, prefix: Buffer = b"") -> None:
        """Receive messages that begin with these bytes, too; without any, all of them."""
        self._core.subscribe(prefix, True)

    def unsubscribe(self, prefix: Buffer = b"") -> None:
        """Take back one `subscribe`."""
        self._core.subscribe(prefix, False)

    @property
    def left_out(self) -> int:
        """Published messages that went without a subscriber which had no room: all of ours, or of those meant for us."""
        return self._core.left_out()

    @property
    def address(self) -> str:
        """Where it is, with the port that was found where that was 0."""
        return self._core.address()

    @property
    def provider(self) -> str:
        """libfabric's provider that carries the messages of `ofi+…`; empty of other addresses."""
        return self._core.provider()

    def wait_peers(self, at_least: int = 1, timeout: float | None = None) -> None:
        """Wait until so many peers are there; for one that publishes, until so many have subscribed to something."""
        self._core.wait_peers(at_least, _nanoseconds(timeout))

    def fileno(self) -> int:
        """Return a descriptor for select, epoll and event loops.

        It is readable while a call with timeout 0 may have something to do, until one has raised TimedOut.
        """
        return self._core.descriptor()

    @property
    def closed(self) -> bool:
        """Whether it is closed."""
        return self._core.closed()

    def close(self, timeout: float | None = None) -> None:
        """Return once each peer has received all that was sent to it. Raises TimedOut (it stays open), PeerLost (it is closed)."""
        if not self._core.closed():
            self._core.close(_nanoseconds(timeout))

    def abort(self) -> None:
        """End it at once; a peer that receives is told that this one is lost."""
        self._core.abort()


def poll(wanted: Sequence[tuple[Endpoint, Event]], timeout: float | None = None) -> list[Event]:
    """Wait until one of several endpoints is ready; for each, what is so. None of them is where the time is over."""
    items = [(endpoint._core, int(events)) for endpoint, events in wanted]
    return [Event(ready) for ready in _core.poll(items, _nanoseconds(timeout))]
