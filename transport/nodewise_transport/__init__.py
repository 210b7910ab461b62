# SPDX-License-Identifier: BSD-3-Clause
"""Messages between threads, processes and machines: one interface, with a transport beneath it that the address names.

    with Endpoint("shm://frames", PULL, bind=True) as frames:
        frame = frames.receive(timeout=1.0)

Addresses: `shm://NAME` (processes of one user, shared memory), `inproc://NAME` (threads of one process),
`tcp://HOST:PORT` and `ipc://NAME` (by ZeroMQ), `ofi+tcp://HOST:PORT`, `ofi+verbs://HOST:PORT` and `ofi+shm://NAME` (by libfabric). Times are in seconds: None waits for ever, 0 looks once. Errors are subclasses of `TransportError`.
"""

from nodewise_transport.endpoint import (
    PUBLISH,
    PULL,
    PUSH,
    REPLY,
    REQUEST,
    SUBSCRIBE,
    Endpoint,
    Event,
    Pattern,
    poll,
)
from nodewise_transport.errors import (
    AddressTaken,
    Forked,
    Interrupted,
    InvalidCall,
    Missing,
    PeerLost,
    Refused,
    SystemProblem,
    TimedOut,
    TooSmall,
    TransportError,
)

__all__ = [
    "PUBLISH",
    "PULL",
    "PUSH",
    "REPLY",
    "REQUEST",
    "SUBSCRIBE",
    "AddressTaken",
    "Endpoint",
    "Event",
    "Forked",
    "Interrupted",
    "InvalidCall",
    "Missing",
    "Pattern",
    "PeerLost",
    "Refused",
    "SystemProblem",
    "TimedOut",
    "TooSmall",
    "TransportError",
    "poll",
]
