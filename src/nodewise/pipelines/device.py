# SPDX-License-Identifier: BSD-3-Clause
"""The process of one instance of a device, which the one above it forks."""

from __future__ import annotations

import ctypes
import io
import os
import signal
import sys
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NoReturn

from nodewise.pipelines.message import SIZE, Head, unpack
from nodewise.pipelines.page import ASKED, Asked, Page, State, Word, mask_text
from nodewise.pipelines.work import Made, Worker, WrongError, source_of, worker_of
from nodewise_transport import PULL, PUSH, Endpoint, Event, PeerLost, TimedOut, TransportError, poll

if TYPE_CHECKING:
    from typing_extensions import Buffer

_PR_SET_PDEATHSIG, _PR_SET_NAME = 1, 15
#: By which name it is seen among other processes.
NAME = "nodewise-device"
#: How often who waits looks whether it is asked to do something else, in seconds.
_LOOK_S = 0.1
#: How long one of several that may have no room for a message is waited for, in seconds.
_SHARED_S = 0.002
#: So many bytes go in one piece, whatever the room of a channel is.
_SMALL = 8192


class _Counted:
    """The words of this instance."""

    def __init__(self, page: Page, begin: int):
        self._words, self._begin = page.words, begin

    def add(self, word: Word, amount: int) -> None:
        self._words[self._begin + word] += amount

    def set(self, word: Word, value: int) -> None:
        self._words[self._begin + word] = value


class _Output:
    """A channel that this instance sends into: each message goes to the next receiver that has room."""

    def __init__(self, page: Page, part: dict[str, Any], own: _Counted):
        self._words, self._own, self._part = page.words, own, part
        self._ends = [
            Endpoint(page.read_text(to["bound"]), PUSH, slots=part["slots"], capacity=part["capacity"])
            for to in part["receivers"]
        ]
        self._turn = 0

    def wait_peers(self) -> None:
        for end in self._ends:
            end.wait_peers()

    def send(self, head: Head, content: Buffer) -> None:
        packed, counted = head.packed(self._part["sender"]), not head.dropped
        if memoryview(content).nbytes + len(packed) > self._part["capacity"]:
            # it goes in pieces, and waits for room between them: that is when nothing is worked
            begin, worked = time.monotonic_ns(), time.thread_time_ns()
            while not self._one(self._turn, packed, content, _LOOK_S, counted):
                self._turn = (self._turn + 1) % len(self._ends)
            self._waited(max(0, time.monotonic_ns() - begin - (time.thread_time_ns() - worked)))
            return
        if self._try(packed, content, counted):
            return
        begin = time.monotonic_ns()
        several = len(self._ends) > 1
        while True:
            if several:
                poll([(end, Event.WRITABLE) for end in self._ends], _LOOK_S)
            # one that is writable may have too little room for this message, so each is waited for in turn
            if (several and self._try(packed, content, counted)) or self._one(
                self._turn, packed, content, _SHARED_S if several else _LOOK_S, counted
            ):
                break
            self._turn = (self._turn + 1) % len(self._ends)
            self._waited(time.monotonic_ns() - begin)
            begin = time.monotonic_ns()
        self._waited(time.monotonic_ns() - begin)

    def _waited(self, spent: int) -> None:
        self._words[self._part["waited"]] += spent
        self._own.add(Word.WAIT_OUT, spent)

    def _try(self, packed: bytes, content: Buffer, counted: bool) -> bool:
        ends = len(self._ends)
        return any(self._one((self._turn + i) % ends, packed, content, 0.0, counted) for i in range(ends))

    def _one(self, index: int, packed: bytes, content: Buffer, timeout: float, counted: bool) -> bool:
        size = memoryview(content).nbytes
        try:
            self._put(self._ends[index], packed, content, size + len(packed), timeout)
        except TimedOut:
            return False
        if counted:
            edge = self._part["receivers"][index]["edge"]
            self._words[edge] += 1
            self._words[edge + 1] += size
        self._turn = (index + 1) % len(self._ends)
        return True

    def _put(self, end: Endpoint, packed: bytes, content: Buffer, size: int, timeout: float) -> None:
        """Send it; whole, once there is room for it, unless it is larger than that. Raises TimedOut where there is none."""
        if _SMALL < size <= self._part["capacity"]:
            with end.loan(size, timeout) as memory:
                memory[: len(packed)] = packed
                memory[len(packed) :] = memoryview(content).cast("B")
        else:
            end.send_parts([packed, content], timeout)

    def end(self) -> None:
        """Tell every receiver that nothing more comes from here; back once all of them have all."""
        last = Head(0, 0, last=True).packed(self._part["sender"])
        for end in self._ends:
            end.send(last)
        for end in self._ends:
            end.close()


class _Input:
    """A channel that this instance receives from."""

    def __init__(self, page: Page, part: dict[str, Any]):
        self._words, self._edges = page.words, part["edges"]
        self.end = Endpoint(part["address"], PULL, bind=True, slots=part["slots"], capacity=part["capacity"])
        page.write_text(part["bound"], self.end.address)
        #: How many senders have not said that nothing more comes.
        self.left = len(self._edges)

    def received(self, sender: int, size: int) -> None:
        self._words[self._edges[sender] + 2] += 1
        self._words[self._edges[sender] + 3] += size


class _Instance:
    def __init__(self, page: Page, part: dict[str, Any]):
        self.page, self.part = page, part
        self.own = _Counted(page, part["words"])
        self._outputs: list[_Output] = []

    def asked(self) -> int:
        return int(self.page.words[ASKED])

    def draining(self) -> bool:
        return self.asked() >= Asked.DRAIN

    def run(self) -> None:
        """The whole life of the instance. Raises what goes wrong."""
        self.own.set(Word.PID, os.getpid())
        self.own.set(Word.STATE, State.INITIALIZING)
        if self.part["cpus"] is not None:
            # before threads are there and memory is touched
            os.sched_setaffinity(0, self.part["cpus"])
        # what the system made of it, which a job's limits narrow without a word
        self.page.write_text(self.part["about"], mask_text(os.sched_getaffinity(0)))
        worker = worker_of(self.part) if self.part["inputs"] else Worker()
        inputs = [_Input(self.page, one) for one in self.part["inputs"]]
        self.own.set(Word.STATE, State.BOUND)
        self._wait_for(Asked.CONNECT)
        self.own.set(Word.STATE, State.CONNECTING)
        self._outputs = [_Output(self.page, one, self.own) for one in self.part["outputs"]]
        for output in self._outputs:
            output.wait_peers()
        self.own.set(Word.STATE, State.READY)
        self._wait_for(Asked.RUN)
        self.own.set(Word.STATE, State.RUNNING)
        self.own.set(Word.BEGAN, time.monotonic_ns())
        if inputs:
            self._receive(inputs, worker)
        else:
            self._send(source_of(self.part, self.draining))
        self._send(worker.finish())
        self.own.set(Word.STATE, State.DRAINING)
        # its work is done; that others have it all is waited for
        self.own.set(Word.ENDED, time.monotonic_ns())
        for output in self._outputs:
            output.end()
        for one in inputs:
            one.end.close()
        self.own.set(Word.STATE, State.DONE)

    def _wait_for(self, asked: Asked) -> None:
        while self.asked() < asked:
            time.sleep(0.002)

    def _receive(self, inputs: list[_Input], worker: Worker) -> None:
        turn = 0
        while open_ := [one for one in inputs if one.left]:
            turn += 1
            begin = time.monotonic_ns()
            ready = self._ready(open_, turn)
            try:
                if ready is not None:
                    with ready.end.receive_loan(_LOOK_S if len(open_) == 1 else 0) as whole:
                        self.own.add(Word.WAIT_IN, time.monotonic_ns() - begin)
                        self._one(ready, whole, worker)
                    continue
            except TimedOut:
                pass
            self.own.add(Word.WAIT_IN, time.monotonic_ns() - begin)
            if self.draining():
                self.own.set(Word.STATE, State.DRAINING)

    def _ready(self, inputs: list[_Input], turn: int) -> _Input | None:
        """One that has a message, each in its turn; the only one is waited for where it is read."""
        if len(inputs) == 1:
            return inputs[0]
        events = poll([(one.end, Event.READABLE) for one in inputs], _LOOK_S)
        return next((inputs[i % len(inputs)] for i in range(turn, turn + len(inputs)) if events[i % len(inputs)]), None)

    def _one(self, source: _Input, whole: memoryview, worker: Worker) -> None:
        head, sender = unpack(whole)
        if head.last:
            source.left -= 1
            self.own.set(Word.STATE, State.DRAINING)
            return
        if head.dropped:
            self._send(worker.dropped(head))
            return
        size = len(whole) - SIZE
        self.own.add(Word.IN_MESSAGES, 1)
        self.own.add(Word.IN_BYTES, size)
        with whole[SIZE:] as content:
            self._send(worker.handle(head, content))
        self.own.set(Word.VERIFIED, worker.verified)
        source.received(sender, size)

    def _send(self, made: Iterable[Made]) -> None:
        for head, content in made:
            if head.dropped and not self.part["ordered"]:
                continue
            for output in self._outputs:
                output.send(head, content)
            if self._outputs and not head.dropped:
                self.own.add(Word.OUT_MESSAGES, 1)
                self.own.add(Word.OUT_BYTES, memoryview(content).nbytes)


def _fail(instance: _Instance, what: str, after_another: bool = False) -> None:
    part = instance.part
    instance.page.write_text(part["error"], what)
    instance.own.set(Word.AFTER_ANOTHER, int(after_another))
    instance.own.set(Word.ENDED, time.monotonic_ns())
    instance.own.set(Word.STATE, State.FAILED)


def _guarded(instance: _Instance, run: Callable[[], None]) -> int:
    try:
        run()
    except PeerLost as problem:
        _fail(instance, f"another process of the pipeline is gone: {problem}", after_another=True)
    except (WrongError, TransportError, OSError) as problem:
        _fail(instance, str(problem))
    except Exception as problem:
        import traceback

        # of a user's own function: where it failed is what he needs
        traceback.print_exc()
        _fail(instance, f"{type(problem).__name__}: {problem}")
    else:
        return 0
    return 1


def begin(part: dict[str, Any], descriptor: int, above: int) -> NoReturn:
    """Carry out a part, in a process of its own whose parent is `above`."""
    # what the terminal says is for the process above, which asks all to drain
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    system = ctypes.CDLL(None)
    system.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    system.prctl(_PR_SET_NAME, NAME.encode(), 0, 0, 0)
    if os.getppid() != above:
        os._exit(1)
    # what it prints is no answer
    os.dup2(2, 1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=os.isatty(1))
    instance = _Instance(Page(descriptor, part["size"]), part)
    code = _guarded(instance, instance.run)
    sys.stderr.flush()
    # endpoints of one that failed end with it: whoever waits for it hears so at once
    os._exit(code)
