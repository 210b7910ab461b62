# SPDX-License-Identifier: BSD-3-Clause
"""Messages between two processes: by copy, by loan, as tokens, into the other's memory, and there and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nodewise.studies.contract import Knob, Library, Published, Study

from .lines import report
from .schemes import Libraries
from .sizes import message_size, rungs, window
from .versions import version_of

_LENDING = ("transport", "ring")
_OURS = ("transport", "transport-tcp", "transport-ipc", "transport-ofi-tcp", "transport-ofi-shm")
_STREAMS = ("pipe", "unix", "tcp")
_QUEUES = ("zeromq-ipc", "zeromq-tcp", "nng-ipc", "nng-tcp", "nanomsg-ipc", "nanomsg-tcp")
_MPIS = ("openmpi", "mpich", "intelmpi")
_FABRICS = ("ofi-shm", "ofi-tcp")
#: What polls for ever, and so has no part where sides may sleep.
_NEVER_SLEEP = (*_MPIS, *_FABRICS)
_MESSAGES = (*_OURS, "ring", *_STREAMS, *_QUEUES, "ucx-tag", "ucx-am", *_FABRICS, *_MPIS)
_PUTS = ("mapped", "ucx-put", "ofi-shm-write", "ofi-tcp-write", *(f"{name}-put" for name in _MPIS))
_CLASSES = {
    "copy": (*_MESSAGES, "memcpy", "untransferred"),
    "loan": (*_LENDING, "untransferred"),
    "token": _LENDING,
    "one-sided": (*_PUTS, *_MESSAGES, "memcpy"),
    "latency": (*_MESSAGES, "futex", "line"),
}
#: The step from one message's first word to the next one's (study.h).
_STEP = 0x9E3779B97F4A7C15
_WORD = 8


def reference(inputs: Mapping[str, Any], point: Mapping[str, str]) -> dict[str, Any]:
    """The sum of each message, what a token is long, or what came back: int64, one for each message."""
    import numpy as np

    first = inputs["first"].view(np.uint64)
    kind = point.get("class", "copy")
    if kind == "token":
        return {"sums": np.full(first.shape, message_size(point), np.int64)}
    if kind == "latency":
        return {"sums": (first + np.uint64(1)).view(np.int64)}
    parts, begin = [], 0
    for size, messages in rungs(point, len(first)):
        numbers = first[begin : begin + messages]
        begin += messages
        if kind == "one-sided":
            # what lies in its place at the end: the sender's source is as it was, and a signal came first
            places = (np.arange(messages, dtype=np.uint64) + np.uint64(1)) % np.uint64(window(size))
            numbers = numbers[0] + places * np.uint64(_STEP)
        parts.append(_sums(numbers, size))
    return {"sums": np.concatenate(parts).view(np.int64)}


def _sums(first: Any, size: int) -> Any:
    """Of each message of `size` bytes, its words' sum: the first one, which is given, and each next one more; the last cut off."""
    import numpy as np

    words, rest = divmod(size, _WORD)
    sums = first * np.uint64(words) + np.uint64(words * (words - 1) // 2 if words else 0)
    return sums + ((first + np.uint64(words)) & np.uint64(256**rest - 1)) if rest else sums


def select(point: Mapping[str, str]) -> tuple[str, ...]:
    """Who has part in a class; where sides may sleep, only who can."""
    chosen = _CLASSES[point.get("class", "copy")]
    spins = point.get("wait", "spin") == "spin"
    awake = ("line",) if not spins else ("futex",)
    return tuple(name for name in chosen if name not in awake and (spins or name not in _NEVER_SLEEP))


def _whole(name: str, meaning: str, default: str = "", **more: Any) -> Knob:
    return Knob(name, meaning, default, least=0, **{"most": 2**40, **more})


STUDY = Study(
    name="transport",
    title="messages between two processes: by copy, by loan, as tokens, into the other's memory, and there and back",
    knobs=(
        Knob("size", "bytes of a message (left out: 4096, and 8 of a round trip)", "", most=2**30, unless="ladder", unit=1),
        Knob("ladder", "in place of a size: small, 64 B to 4 KiB, or large, 4 KiB to 128 MiB", "", ("small", "large")),
        Knob(
            "class",
            "copy, loan of the transport's memory, token that no one looks into, one-sided, or latency",
            "copy",
            tuple(_CLASSES),
        ),
        _whole("messages", "how many; left out: as `total` says, of token 2 million, of latency 10 000 round trips", most=2**28),
        _whole("total", "bytes of all messages; left out: 128 MiB up to a size of 4 KiB, 1 GiB above", quick="16777216", unit=1),
        Knob("direction", "forward: the first place sends to the second", "forward", ("forward", "backward")),
        Knob("wait", "how a side waits", "spin", ("spin", "block")),
        _whole("most", "messages on the way, the high-water mark; left out: each contender's own", most=2**20),
        _whole("buffer", "bytes of a socket's, pipe's or ring's buffer; left out: the system's, or its own", most=2**30, unit=1),
        _whole("slots", "messages that a pool of loans holds; left out: each contender's own", most=2**20),
        _whole("batch", "bytes that the bare ring lets gather before it shows them; left out: 1024", most=2**20, unit=1),
        _whole("pause", "microseconds before each round trip, so that who answers is asleep", most=10**7),
    ),
    threads=2,
    default_variant="transport",
    plain_variant="pipe",
    rate_unit="M messages/s",
    rate_scale=1e-6,
    test_points=(
        {"size": "1", "messages": "3"},
        {"size": "4097", "messages": "333", "direction": "backward"},
        {"size": "65", "messages": "777", "wait": "block"},
        {"size": "300001", "messages": "5", "class": "loan"},
        {"size": "4096", "messages": "5003", "class": "token"},
        {"size": "65", "messages": "701", "class": "one-sided"},
        {"messages": "101", "class": "latency", "wait": "block"},
        {"ladder": "small", "total": "4200", "class": "loan"},
        {"size": "63", "messages": "5001"},
    ),
    reference=reference,
    libraries=Libraries({
        "zeromq": Library(("libzmq.so.5",), "apt-get install libzmq5", version=version_of("ZeroMQ")),
        "nng": Library(("libnng.so.1",), "apt-get install libnng1", version=version_of("nng")),
        "nanomsg": Library(("libnanomsg.so.5",), "apt-get install libnanomsg5"),
        "ucx": Library(("libucp.so.0",), "apt-get install libucx0", version=version_of("UCX")),
        "ucx-headers": Library(("ucp/api/ucp.h",), "apt-get install libucx-dev, and build the studies again"),
        "libfabric": Library(("libfabric.so.1",), "apt-get install libfabric1", version=version_of("libfabric")),
        "libfabric-headers": Library(("rdma/fabric.h",), "apt-get install libfabric-dev, and build the studies again"),
        "openmpi": Library(
            ("libmpi.so.40",),
            "apt-get install openmpi-bin libopenmpi3",
            env={"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"},
            version=version_of("MPI"),
        ),
        "mpich": Library(("libmpich.so.12",), "apt-get install mpich libmpich12", version=version_of("MPI")),
        "intelmpi": Library(("libmpi_intel.so",), "pip install impi-rt", ("lib/libmpi.so.12",), version=version_of("MPI")),
    }),
    published=(
        Published("", "remote memory access over messages of a queue, above 4 KB", "more than 10 x", "a host and a coprocessor"),
        Published("", "chunk from which remote memory access is saturated", "64 KB", "a host and a coprocessor"),
        Published("", "the same, the other way", "2 MB", "a coprocessor and its host"),
    ),
    bench=(
        *({"size": size} for size in ("64", "4096", "65536", "1048576", "16777216")),
        {"size": "2097152", "total": "1073741824"},
        {"size": "24000000"},
        *({"size": size, "class": "loan"} for size in ("4096", "1048576", "16777216")),
        {"class": "token"},
        *({"size": size, "class": "one-sided"} for size in ("64", "512", "4096", "65536", "2097152")),
        {"class": "latency"},
        {"class": "latency", "wait": "block"},
    ),
    select=select,
    report=report,
)  # fmt: skip
