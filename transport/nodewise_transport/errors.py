# SPDX-License-Identifier: BSD-3-Clause
"""What can go wrong with messages: an exception for each status of the native library."""


class TransportError(Exception):
    """What all of them are."""


class TimedOut(TransportError, TimeoutError):
    """The time was over; nothing was sent, nothing was received."""


class InvalidCall(TransportError, ValueError):
    """An argument that cannot be, or a call at the wrong time."""


class AddressTaken(TransportError, OSError):
    """Another program has the address; where it can be known, its process is named."""


class Refused(TransportError, ConnectionRefusedError):
    """The other side is another user's, of another version, or of a pattern that does not fit."""


class PeerLost(TransportError, ConnectionError):
    """A peer has died, closed with messages unread, or written nonsense; the others go on.

    `pid` is its process (0: not known), `messages` how many that were sent to it are not confirmed.
    """

    def __init__(self, what: str, pid: int = 0, messages: int = 0) -> None:
        super().__init__(what)
        self.pid = pid
        self.messages = messages


class Forked(TransportError):
    """The endpoint belongs to the process that this one was forked from."""


class Interrupted(TransportError):
    """A wait was ended from outside."""


class TooSmall(TransportError, ValueError):
    """The buffer is smaller than the message, which stays to be received."""


class SystemProblem(TransportError, OSError):
    """No memory, no descriptors, and what else the system has not."""


class Missing(TransportError, NotImplementedError):
    """This build is without what the address needs; the package that brings it is named."""


_BY_STATUS: dict[int, type[TransportError]] = {
    1: TimedOut, 2: InvalidCall, 3: AddressTaken, 4: Refused, 5: PeerLost, 6: Forked, 7: Interrupted, 8: TooSmall,
    9: SystemProblem, 10: Missing,
}  # fmt: skip


def error_for(status: int, what: str, pid: int, messages: int) -> TransportError:
    """The exception for a status of transport.h."""
    kind = _BY_STATUS.get(status, TransportError)
    return PeerLost(what, pid, messages) if kind is PeerLost else kind(what)
