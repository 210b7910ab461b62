# SPDX-License-Identifier: BSD-3-Clause
"""What each kind of device does with a message. A worker gives what is to be sent on; the memory of what came is its own only meanwhile."""

from __future__ import annotations

import importlib
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from nodewise.pipelines.message import Head, compress, decompress, digest
from nodewise.pipelines.until import until_drained

if TYPE_CHECKING:
    from typing_extensions import Buffer

Made = tuple[Head, "Buffer"]


class WrongError(Exception):
    """A message or a setting that cannot be worked with; its text says why."""


class Worker:
    """What a device does; this one hands on what comes."""

    #: How many checksums were right.
    verified = 0

    def handle(self, head: Head, content: memoryview) -> Iterable[Made]:
        """What is to be sent on for a message."""
        yield head, content

    def dropped(self, head: Head) -> Iterable[Made]:
        """What is to be sent on where a device before had nothing for a message: that it is so."""
        yield head, b""

    def finish(self) -> Iterable[Made]:
        """What is left to be sent on once all have come."""
        return ()


class Checksum(Worker):
    """Gives a checksum to messages that have none, and verifies those of others."""

    def __init__(self, algorithm: str, origins: list[str]):
        self._algorithm = algorithm
        self._origins = origins

    def handle(self, head: Head, content: memoryview) -> Iterable[Made]:
        """The same message, with its checksum. Raises WrongError where that is another one."""
        plain = decompress(content, head.codec)
        if not head.algorithm:
            yield replace(head, algorithm=self._algorithm, digest=digest(plain, self._algorithm)), content
            return
        if (found := digest(plain, head.algorithm)) != head.digest:
            raise WrongError(
                f"message {head.sequence} of {self._origins[head.origin]} is another one than was sent: "
                f"its {head.algorithm} is {found.hex()}, and was {head.digest.hex()}"
            )
        self.verified += 1
        yield head, content


class Compress(Worker):
    """Compresses what is not."""

    def __init__(self, codec: str, level: int):
        self._codec, self._level = codec, level

    def handle(self, head: Head, content: memoryview) -> Iterable[Made]:
        """The message, compressed."""
        if head.codec:
            yield head, content
        else:
            yield replace(head, codec=self._codec), compress(content, self._codec, self._level)


class Decompress(Worker):
    """Brings back what was compressed."""

    def handle(self, head: Head, content: memoryview) -> Iterable[Made]:
        """The message as it was."""
        yield replace(head, codec=""), decompress(content, head.codec)


class InSequence(Worker):
    """Hands on the messages of each source in the order in which it made them; what comes early is kept until then.

    `ways`: by source, over how many ways its messages come. One that was dropped on all of them is waited for no longer.
    """

    def __init__(self, ways: Sequence[int]) -> None:
        self._ways = ways
        self._next: dict[int, int] = {}
        self._early: dict[int, dict[int, list[Made]]] = {}
        self._dropped: dict[int, Counter[int]] = {}

    def handle(self, head: Head, content: memoryview) -> Iterable[Made]:
        """All messages whose turn it is; copies that come by another way, too, and late ones at once."""
        early = self._early.setdefault(head.origin, {})
        turn = self._next.get(head.origin, 0)
        if head.sequence > turn:
            early.setdefault(head.sequence, []).append((head, bytes(content)))
            return
        yield head, content
        if head.sequence == turn:
            self._next[head.origin] = turn + 1
            self._dropped.get(head.origin, Counter()).pop(turn, None)
            yield from self._due(head.origin)

    def dropped(self, head: Head) -> Iterable[Made]:
        """That it was, and all messages whose turn it is by that."""
        yield head, b""
        if head.sequence >= self._next.get(head.origin, 0):
            self._dropped.setdefault(head.origin, Counter())[head.sequence] += 1
            yield from self._due(head.origin)

    def _due(self, origin: int) -> Iterable[Made]:
        early, dropped = self._early.setdefault(origin, {}), self._dropped.get(origin, Counter())
        turn = self._next.get(origin, 0)
        while turn in early or dropped[turn] >= self._ways[origin]:
            yield from early.pop(turn, ())
            dropped.pop(turn, None)
            turn += 1
            self._next[origin] = turn

    def finish(self) -> Iterable[Made]:
        """What waits for one that its source did not send any more."""
        for early in self._early.values():
            for sequence in sorted(early):
                yield from early[sequence]


class Command(Worker):
    """Hands each content to a command, and on what that prints."""

    def __init__(self, words: list[str], folder: str):
        self._words, self._folder = words, folder

    def handle(self, head: Head, content: memoryview) -> Iterable[Made]:
        """The message that the command made of it. Raises WrongError where it fails."""
        # files, not pipes: what it leaves running may hold those open for ever; that is ended by the process above the devices
        with _memory(content) as given, _memory() as printed, _memory() as said:
            code = subprocess.call(self._words, stdin=given, stdout=printed, stderr=said, cwd=self._folder)
            if code != 0:
                said.seek(0)
                last = said.read().decode(errors="replace").strip().rpartition("\n")[2]
                raise WrongError(
                    f"{self._words[0]} {_ended_with(code)} for message {head.sequence}{last and f': {last}'}"
                )
            printed.seek(0)
            made = printed.read()
        yield Head(head.origin, head.sequence), made


def _memory(content: Buffer = b"") -> BinaryIO:
    """A file in memory with a content, at its beginning."""
    file = os.fdopen(os.memfd_create("nodewise-message"), "w+b")
    file.write(content)
    file.seek(0)
    return file


def _ended_with(code: int) -> str:
    if code >= 0:
        return f"ended with {code}"
    return (
        f"was ended by {signal.Signals(-code).name}" if -code in {*signal.Signals} else f"was ended by signal {-code}"
    )


class Python(Worker):
    """A user's function: of a memoryview it makes bytes, or None for nothing to send on."""

    def __init__(self, function: Callable[..., Any], arguments: dict[str, Any]):
        self._function, self._arguments = function, arguments

    def handle(self, head: Head, content: memoryview) -> Iterable[Made]:
        """What the function returned, as a message."""
        made = self._function(content, **self._arguments)
        if made is None:
            yield Head(head.origin, head.sequence, dropped=True), b""
        else:
            yield Head(head.origin, head.sequence), _bytes_like(made)


def _bytes_like(made: Any) -> memoryview:
    try:
        return memoryview(made).cast("B")
    except TypeError as problem:
        raise WrongError(f"the function returned {type(made).__name__}, and bytes are needed, or None") from problem


class ToFile(Worker):
    """Writes contents to a file, one behind the other."""

    def __init__(self, path: Path, overwrite: bool):
        self._file: BinaryIO
        try:
            self._file = path.open("wb" if overwrite or not path.is_file() else "xb", buffering=0)
        except OSError as problem:
            raise WrongError(f"cannot write {path}: {problem.strerror}") from problem

    def handle(self, head: Head, content: memoryview) -> Iterable[Made]:
        """Write it, all of it."""
        with memoryview(content) as left:
            done = 0
            while done < len(left):
                done += os.write(self._file.fileno(), left[done:])
        return ()

    def finish(self) -> Iterable[Made]:
        """Close it."""
        self._file.close()
        return ()


class Discard(Worker):
    """Drops what comes."""

    def handle(self, head: Head, content: memoryview) -> Iterable[Made]:
        """Nothing is sent on."""
        return ()


def worker_of(part: dict[str, Any]) -> Worker:
    """The worker of a device. Raises WrongError."""
    kind, settings = part["kind"], part["settings"]
    if kind == "checksum":
        return Checksum(settings["algorithm"], part["origins"])
    if kind == "compress":
        return Compress(settings["codec"], settings["level"])
    if kind == "decompress":
        return Decompress()
    if kind == "merge":
        return InSequence(part["ways"]) if settings["order"] == "sequence" else Worker()
    if kind == "command":
        return Command(settings["run"], part["folder"])
    if kind == "python":
        return Python(_function(settings["call"], part["folder"]), settings["arguments"])
    if kind == "file":
        return ToFile(Path(part["folder"], file_of(settings["path"], part["number"])), settings["overwrite"])
    return Discard()


def file_of(path: str, number: int) -> str:
    """The path of one instance's file."""
    return path.replace("{instance}", str(number))


def _function(call: str, folder: str) -> Callable[..., Any]:
    sys.path.insert(0, folder)
    module, _, name = call.partition(":")
    try:
        found = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as problem:
        raise WrongError(f"{call} cannot be had: {problem}") from problem
    if not callable(found):
        raise WrongError(f"{call} is no function")
    return found  # type: ignore[no-any-return]


def source_of(part: dict[str, Any], draining: Callable[[], bool]) -> Iterator[Made]:
    """The messages of a device that nothing leads to, until `draining`. Raises WrongError where its function gives none."""
    settings, origin = part["settings"], part["origin"]
    if part["kind"] == "python":
        contents = _function(settings["call"], part["folder"])(**settings["arguments"])
        try:
            each = iter(contents)
        except TypeError as problem:
            raise WrongError(
                f"{settings['call']} gives no messages: without a channel to it, it is called once, and yields them"
            ) from problem
        for sequence, content in enumerate(until_drained(each, draining)):
            yield Head(origin, sequence), _bytes_like(content)
        return
    count = settings["count"]
    if count is not None:
        # the instances share it
        count = count // part["instances"] + (part["number"] < count % part["instances"])
    yield from _generated(origin, settings, part["instances"], count, draining)


def _generated(
    origin: int, settings: dict[str, Any], instances: int, count: int | None, draining: Callable[[], bool]
) -> Iterator[Made]:
    size, rate = settings["size"], settings["rate"]
    begin = time.monotonic()
    until = begin + settings["duration"] if settings["duration"] is not None else None
    content = bytearray(_content(size))
    stamped = min(8, size)
    sequence = 0
    while (count is None or sequence < count) and not draining():
        if rate is not None:
            due = begin + sequence * instances / rate
            while not draining() and (left := due - time.monotonic()) > 0:
                if until is not None and time.monotonic() >= until:
                    return
                time.sleep(min(left, 0.05))
            if draining():
                return
        if until is not None and time.monotonic() >= until:
            return
        content[:stamped] = ((origin << 40) + sequence).to_bytes(8, "little")[:stamped]
        yield Head(origin, sequence), content
        sequence += 1


def _content(size: int) -> bytes:
    """Lines of numbers, which compress as measured values do: to about a half."""
    block = b"".join(b"%d.%06d\n" % (i * 7919 % 1000, i * 7907 * 7907 % 1000000) for i in range(4096))
    return (block * (size // len(block) + 1))[:size]
