# SPDX-License-Identifier: BSD-3-Clause
"""The page: memory that all processes of a pipeline share, with what each has done; who reads it disturbs nobody.

It is words of 64 bits, each written by one process alone, and texts.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterable
from enum import IntEnum

#: Words of an instance before those of its channels, and bytes of its texts.
FIXED, TEXT = 16, 1024
#: Words of an edge, which is one instance sending to another: messages and bytes sent, then received.
EDGE = 4
#: Where what is asked of all stands.
ASKED = 0
HEAD = 8


class Asked(IntEnum):
    """What is asked of all processes; a later one never goes back."""

    BIND = 0
    CONNECT = 1
    RUN = 2
    DRAIN = 3


class State(IntEnum):
    """What an instance is doing, in the order in which it does it."""

    #: Its process starts.
    STARTING = 0
    #: It is held to its processors, and its work is prepared.
    INITIALIZING = 1
    #: The channels that it receives from can be reached.
    BOUND = 2
    #: It connects to those that it sends to.
    CONNECTING = 3
    READY = 4
    RUNNING = 5
    DRAINING = 6
    DONE = 7
    FAILED = 8


class Word(IntEnum):
    """The words of an instance, from its first one."""

    STATE = 0
    #: Which process it is.
    PID = 1
    IN_MESSAGES = 2
    IN_BYTES = 3
    OUT_MESSAGES = 4
    OUT_BYTES = 5
    #: Nanoseconds without a message to work on, and without room for one.
    WAIT_IN = 6
    WAIT_OUT = 7
    BEGAN = 8
    ENDED = 9
    VERIFIED = 10
    #: 1: it failed since another one did.
    AFTER_ANOTHER = 11


class Page:
    """The words and texts of a page, in memory that a descriptor names (-1: of this process alone)."""

    def __init__(self, descriptor: int, size: int):
        self._memory = mmap.mmap(descriptor, size)
        self.words = memoryview(self._memory).cast("Q")

    def write_text(self, at: int, text: str) -> None:
        """Write a text at a byte, as much of it as there is room for."""
        data = text.encode(errors="replace")[: TEXT - 1]
        self._memory[at : at + TEXT] = data.ljust(TEXT, b"\0")

    def read_text(self, at: int) -> str:
        """The text at a byte."""
        return self._memory[at : at + TEXT].split(b"\0", 1)[0].decode(errors="replace")

    def copy(self) -> memoryview:
        """All words as they are now."""
        return memoryview(bytes(self._memory)).cast("Q")


def mask_text(processors: Iterable[int]) -> str:
    """Processors as a mask in hexadecimal digits, the shortest text that those of a large machine have."""
    return f"{sum(1 << one for one in processors):x}"


def processors_of(mask: str) -> tuple[int, ...]:
    """The processors of a mask; none where it is not known yet."""
    number = int(mask or "0", 16)
    return tuple(i for i in range(number.bit_length()) if number >> i & 1)
