# SPDX-License-Identifier: BSD-3-Clause
"""The page: memory that all processes of a pipeline share, with what each has done; who reads it disturbs nobody.

It is words of 64 bits, each written by one process alone, and texts.
"""

from __future__ import annotations

import mmap
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
    """What an instance is doing."""

    STARTING = 0
    READY = 1
    RUNNING = 2
    DRAINING = 3
    DONE = 4
    FAILED = 5


class Word(IntEnum):
    """The words of an instance, from its first one."""

    STATE = 0
    BOUND = 1
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
    """The words and texts of a page, in memory that a descriptor names."""

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
