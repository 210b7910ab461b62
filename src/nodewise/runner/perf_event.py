# SPDX-License-Identifier: BSD-3-Clause
"""The kernel's software clock as a sampler: where a process and all that it starts are, every so often (perf_event_open(2))."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import mmap
import os
import platform
import struct
from collections.abc import Iterator
from pathlib import Path

from nodewise.base.frozen import dataclass
from nodewise.base.processors import parse_processors

_SYSCALLS = {
    "x86_64": 298,
    "aarch64": 241,
    "riscv64": 241,
    "ppc64le": 319,
    "ppc64": 319,
    "s390x": 331,
    "loongarch64": 241,
}
_SOFTWARE, _CPU_CLOCK = 1, 0
_IP, _TID, _TIME = 1, 2, 4
_INHERIT, _NO_KERNEL, _NO_HYPERVISOR = 1 << 1, 1 << 5, 1 << 6
_MMAP, _COMM, _TASK, _SAMPLE_ID, _COMM_EXEC = 1 << 8, 1 << 9, 1 << 13, 1 << 18, 1 << 24
_ATTRIBUTES = struct.Struct("IIQQQQQIIQQQQIiQIHH")
_CLOSE_ON_EXEC = 8
#: Pages of a processor's buffer, as many as other users of perf leave: with one more for the head.
_PAGES = (32, 8, 2)
_HEAD_AT, _TAIL_AT = 1024, 1032
_LOST, _RECORDS = 2, {1: "map", 3: "exec", 7: "fork", 9: "sample"}
_MODE, _KERNEL, _EXEC = 7, 1, 1 << 13
_HEADER = struct.Struct("IHH")
_SAMPLE = struct.Struct("QIIQ")
_TAIL = struct.Struct("IIQ")
_MAP = struct.Struct("IIQQQ")
_PARANOID = Path("/proc/sys/kernel/perf_event_paranoid")


@dataclass(frozen=True, slots=True)
class Record:
    """What the kernel recorded of process `pid` at `time` (nanoseconds of its own clock).

    `kind` is `sample` (it was at `address`, in the kernel where `flag`), `map` (from `address` on lie `size` bytes of
    `name`, from `offset` in it), `exec` or `fork` (from process `parent`).
    """

    time: int
    kind: str
    pid: int
    address: int = 0
    flag: bool = False
    size: int = 0
    offset: int = 0
    name: str = ""
    parent: int = 0


class SamplerError(Exception):
    """The kernel does not let this process sample; says why."""


class Sampler:
    """Samples what a process runs and starts from now on, each processor every `period_s` of the programs' own time.

    `kernel` says whether time in the kernel is seen as well. Raises SamplerError where the kernel refuses. Records of several
    processors come out of order; those that a full buffer had no room for are counted in `lost`.
    """

    def __init__(self, pid: int, period_s: float):
        self.kernel = True
        self.lost = 0
        self._buffers: list[mmap.mmap] = []
        number = _SYSCALLS.get(platform.machine())
        if number is None:
            raise SamplerError(f"sampling is not known for {platform.machine()}")
        self._number = number
        self._libc = ctypes.CDLL(None, use_errno=True)
        try:
            for processor in _online():
                self._open(pid, processor, round(period_s * 1e9))
        except SamplerError:
            self.close()
            raise
        if not self._buffers:
            raise SamplerError("the kernel knows no processor to sample")

    def _open(self, pid: int, processor: int, period_ns: int) -> None:
        fd = self._ask(pid, processor, period_ns)
        if fd < 0 and self.kernel and ctypes.get_errno() in (errno.EACCES, errno.EPERM):
            self.kernel = False
            fd = self._ask(pid, processor, period_ns)
        if fd < 0:
            problem = ctypes.get_errno()
            if problem == errno.ENODEV and len(_online()) > 1:
                return  # it went offline meanwhile
            raise SamplerError(_refusal(problem))
        try:
            self._buffers.append(_buffer(fd))
        finally:
            # the buffer holds the event: machines have many processors, processes few files
            os.close(fd)

    def _ask(self, pid: int, processor: int, period_ns: int) -> int:
        flags = _INHERIT | _NO_HYPERVISOR | _MMAP | _COMM | _TASK | _SAMPLE_ID | _COMM_EXEC
        flags |= 0 if self.kernel else _NO_KERNEL
        sampled = _IP | _TID | _TIME
        fields = (_SOFTWARE, _ATTRIBUTES.size, _CPU_CLOCK, period_ns, sampled, 0, flags)
        attributes = _ATTRIBUTES.pack(*fields, *[0] * 12)
        return int(self._libc.syscall(self._number, attributes, pid, processor, -1, _CLOSE_ON_EXEC))

    def close(self) -> None:
        """Give everything back."""
        for buffer in self._buffers:
            buffer.close()
        self._buffers = []

    def read(self) -> list[Record]:
        """What was recorded since the last reading."""
        found: list[Record] = []
        for buffer in self._buffers:
            head = struct.unpack_from("Q", buffer, _HEAD_AT)[0]
            tail = struct.unpack_from("Q", buffer, _TAIL_AT)[0]
            if head == tail:
                continue
            size = len(buffer) - mmap.PAGESIZE
            begin, end = tail % size + mmap.PAGESIZE, head % size + mmap.PAGESIZE
            data = buffer[begin:end] if begin < end else buffer[begin:] + buffer[mmap.PAGESIZE : end]
            struct.pack_into("Q", buffer, _TAIL_AT, head)
            found += self._records(data)
        return found

    def _records(self, data: bytes) -> Iterator[Record]:
        at = 0
        while at + _HEADER.size <= len(data):
            kind, misc, size = _HEADER.unpack_from(data, at)
            if size < _HEADER.size or at + size > len(data):
                return
            body = data[at + _HEADER.size : at + size]
            at += size
            try:
                if kind == _LOST:
                    self.lost += struct.unpack_from("QQ", body)[1]
                    continue
                record = _record(_RECORDS[kind], misc, body) if kind in _RECORDS else None
            except struct.error:
                return
            if record is not None:
                yield record


def _buffer(fd: int) -> mmap.mmap:
    """The memory that an event's records are written to, as large as allowed. Raises SamplerError where there is none."""
    problem = 0
    for pages in _PAGES:
        try:
            return mmap.mmap(fd, (1 + pages) * mmap.PAGESIZE)
        except OSError as caught:
            problem = caught.errno or errno.EPERM
    raise SamplerError(f"no memory for its records ({os.strerror(problem)})")


def _record(kind: str, misc: int, body: bytes) -> Record | None:
    if kind == "sample":
        address, pid, _, time = _SAMPLE.unpack_from(body)
        return Record(time, kind, pid, address, misc & _MODE == _KERNEL)
    time = _TAIL.unpack_from(body, len(body) - _TAIL.size)[2]
    if kind == "map":
        pid, _, address, size, offset = _MAP.unpack_from(body)
        name = body[_MAP.size : -_TAIL.size].split(b"\0", 1)[0].decode(errors="surrogateescape")
        return Record(time, kind, pid, address, size=size, offset=offset, name=name)
    if kind == "exec":
        return Record(time, kind, *struct.unpack_from("I", body)) if misc & _EXEC else None
    pid, parent = struct.unpack_from("II", body)
    # a thread is no process of its own
    return Record(time, kind, pid, parent=parent) if pid != parent else None


def _online() -> tuple[int, ...]:
    try:
        return parse_processors(Path("/sys/devices/system/cpu/online").read_text().strip())
    except OSError:
        return tuple(range(os.cpu_count() or 1))


def _refusal(problem: int) -> str:
    if problem in (errno.EACCES, errno.EPERM):
        level = ""
        with contextlib.suppress(OSError):
            level = (
                f" (kernel.perf_event_paranoid is {_PARANOID.read_text().strip()}; in a container, its seccomp rules)"
            )
        return f"the system does not allow it{level}"
    if problem == errno.ENOSYS:
        return "this kernel was built without perf events"
    return os.strerror(problem)
