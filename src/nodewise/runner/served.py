# SPDX-License-Identifier: BSD-3-Clause
"""Servers that work for a program: processes that it did not start and that it is connected to, on this machine.

What a database does for its client is no other load, though another process does it. Whoever holds the other end of a
socket of the program's counts, with all that runs the same file above it and what that has started: a server that starts a
process for each client is found by one of them.
"""

from __future__ import annotations

import os
import socket
import struct
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from nodewise.base.errors import InputError
from nodewise.runner.proc_files import children_of, executable_of, read_stat

_TICKS = os.sysconf("SC_CLK_TCK")
#: sock_diag(7), linux/sock_diag.h, linux/unix_diag.h: a dump of all sockets of a family, each with the number of its peer.
_SOCK_DIAG, _BY_FAMILY, _REQUEST_DUMP = 4, 20, 0x301
_EVERY_STATE, _SHOW_PEER, _PEER = 0xFFFFFFFF, 0x4, 2
_HEADER, _DIAG, _ATTRIBUTE = struct.Struct("=IHHII"), struct.Struct("=BBBBIII"), struct.Struct("=HH")
_DONE, _ERROR = 3, 2
_ESTABLISHED = "01"
_NETWORKS = ("tcp", "tcp6")


def servers_of(root: int) -> set[int]:
    """The servers that a process and what it started are connected to, by the uppermost process of each; empty where none is seen."""
    tree = _tree(root)
    mine = {inode for pid in tree for inode in _sockets(pid)}
    if not mine:
        return set()
    wanted = {peer for inode, peer in [*_unix_peers(), *_network_peers()] if inode in mine} - mine
    if not wanted:
        return set()
    above = _ancestors(os.getpid())
    found = set()
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal() and (pid := int(folder.name)) not in tree and wanted & _sockets(pid):
            server = _uppermost(pid, above)
            # who started us serves everyone
            if server > 1 and server not in above:
                found.add(server)
    return found


def served_s(servers: Collection[int]) -> float:
    """The processor time that servers have used, with what they have started and what of that has ended."""
    return sum(_used(pid) for server in servers for pid in _tree(server))


def _used(pid: int) -> float:
    with suppress(OSError, ValueError, IndexError):
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
        # utime, stime, and those of children that were waited for (proc_pid_stat(5), fields 14 to 17)
        return sum(map(int, text[text.rfind(")") + 1 :].split()[11:15])) / _TICKS
    return 0.0


def _tree(root: int) -> set[int]:
    found, left = {root}, [root]
    while left:
        for child in children_of(left.pop()):
            if child not in found:
                found.add(child)
                left.append(child)
    return found


def _sockets(pid: int) -> set[int]:
    """The numbers of a process's sockets; none of one that may not be looked at."""
    found = set()
    with suppress(OSError):
        for entry in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError):
                text = str(entry.readlink())
                if text.startswith("socket:["):
                    found.add(int(text[8:-1]))
    return found


def _parent(pid: int) -> int:
    with suppress(OSError, InputError):
        return read_stat(Path(f"/proc/{pid}/stat").read_text(errors="replace")).parent
    return 0


def _ancestors(pid: int) -> set[int]:
    found = set()
    while pid > 0 and pid not in found:
        found.add(pid)
        pid = _parent(pid)
    return found


def _uppermost(pid: int, above: Collection[int]) -> int:
    """Whoever runs the same file above a process, or itself; not one of those above us, who may have started both."""
    own = executable_of(pid)
    while own and (parent := _parent(pid)) > 1 and parent not in above and executable_of(parent) == own:
        pid = parent
    return pid


def _unix_peers() -> Iterator[tuple[int, int]]:
    """Each connected Unix socket with its peer, by their numbers; none where the kernel does not say."""
    with suppress(OSError), socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _SOCK_DIAG) as asked:
        asked.settimeout(1.0)
        request = struct.pack("=BBHIIIII", socket.AF_UNIX, 0, 0, _EVERY_STATE, 0, _SHOW_PEER, 0, 0)
        asked.send(_HEADER.pack(_HEADER.size + len(request), _BY_FAMILY, _REQUEST_DUMP, 1, 0) + request)
        while True:
            data = asked.recv(1 << 16)
            while len(data) >= _HEADER.size:
                length, kind, *_ = _HEADER.unpack_from(data)
                if kind in (_DONE, _ERROR) or length < _HEADER.size:
                    return
                yield from _peer_in(data[_HEADER.size : length])
                data = data[(length + 3) & ~3 :]


def _peer_in(message: bytes) -> Iterator[tuple[int, int]]:
    if len(message) < _DIAG.size:
        return
    inode = _DIAG.unpack_from(message)[4]
    at = _DIAG.size
    while at + _ATTRIBUTE.size <= len(message):
        length, kind = _ATTRIBUTE.unpack_from(message, at)
        if length < _ATTRIBUTE.size:
            return
        if kind == _PEER and length >= _ATTRIBUTE.size + 4:
            yield inode, struct.unpack_from("=I", message, at + _ATTRIBUTE.size)[0]
        at += (length + 3) & ~3


def _network_peers() -> Iterator[tuple[int, int]]:
    """Each connected socket of TCP whose other end is on this machine, with that, by their numbers."""
    ends: dict[tuple[str, str], int] = {}
    for name in _NETWORKS:
        with suppress(OSError):
            ends |= _read_ends(Path(f"/proc/net/{name}").read_text().splitlines()[1:])
    for (local, remote), inode in ends.items():
        if (peer := ends.get((remote, local), 0)) > 0 and inode > 0:
            yield inode, peer


def _read_ends(lines: Iterable[str]) -> dict[tuple[str, str], int]:
    """By both addresses of a connection the socket's number (proc_net(5))."""
    found = {}
    for line in lines:
        words = line.split()
        if len(words) > 9 and words[3] == _ESTABLISHED and words[9].isdecimal():
            found[_plain(words[1]), _plain(words[2])] = int(words[9])
    return found


def _plain(address: str) -> str:
    """An address of IPv4 that is written as one of IPv6, as that of IPv4."""
    mapped = "0000000000000000FFFF0000"
    return address.removeprefix(mapped) if len(address) > len(mapped) + 8 else address


class Served:
    """How much processor time servers of a program use in each run, once it is seen that there are such.

    They are looked for only after a run that others seemed to disturb, while the next ones go on.
    """

    #: How long after the start of a run its connections are looked at, in seconds.
    LOOKS_S = (0.02, 0.1, 0.4)
    _MOST_RUNS = 4

    def __init__(self) -> None:
        self._servers: set[int] = set()
        self._due: list[float] = []
        self._runs = 0
        #: Whether a run seemed to be disturbed by others, so that it matters who they are.
        self.wanted = False
        self._before_s = 0.0

    def begin(self) -> None:
        """Before a run."""
        self._due = []
        if self.wanted and self._runs < self._MOST_RUNS:
            self._runs += 1
            self._due = list(self.LOOKS_S)
        self._before_s = served_s(self._servers) if self._servers else 0.0

    def next_look_s(self, passed_s: float) -> float | None:
        """In how many seconds of a run that goes on for so long its connections are to be looked at; None: no more."""
        return max(0.0, self._due[0] - passed_s) if self._due else None

    def look(self, runner: int) -> None:
        """Look at the connections of what a runner runs now."""
        if self._due:
            self._due.pop(0)
        if new := servers_of(runner) - self._servers:
            self._servers |= new
            # what it used before is not known: this run counts from here
            self._before_s += served_s(new)

    def end(self) -> float:
        """After a run: the seconds that servers used in it."""
        return max(0.0, served_s(self._servers) - self._before_s) if self._servers else 0.0
