# SPDX-License-Identifier: BSD-3-Clause
"""Messages between pairs of nodes: a tournament in which each node meets the others one after the other, two at a time.

Both sides know the whole list, so that nobody has to direct them. In a round a node has one partner and no other traffic of
ours: the one that is earlier in the list waits to be called, the other one calls. What is measured is TCP as programs get it
through sockets of the kernel, by Python, whose share is about 10 us a message: nodes are compared, networks are not.
"""

from __future__ import annotations

import hashlib
import hmac
import socket
import statistics
import struct
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress

from nodewise.base.frozen import dataclass
from nodewise.nodes.node_names import without_domain

#: How often a byte goes there and back, and how many bytes flow each way, how often, in a meeting.
_TURNS, _WARM_TURNS, _BLOCK, _FLOWS = 200, 20, 4 << 20, 3
#: How long a partner is waited for: nodes do not begin at once, later they are at most a meeting apart.
_FIRST_WAIT_S, _WAIT_S = 15.0, 5.0
#: More partners say little more of a node, and last.
_MOST_ROUNDS = 32
_HELLO = struct.Struct("!4sII32s")


@dataclass(frozen=True)
class Meeting:
    """What two nodes found: how many bytes a second flowed, and how many times a second a byte went there and back."""

    partner: str
    turns: float
    bytes: float


def rounds(count: int, most: int = _MOST_ROUNDS) -> Iterator[list[tuple[int, int]]]:
    """The pairs of each round, the earlier node first: every node once, and no pair twice.

    It is the circle method: one stays, the others move on by a place. With an odd number one sits out each round.
    """
    seats = list(range(count)) + ([-1] if count % 2 else [])
    for _ in range(min(most, len(seats) - 1)):
        half = len(seats) // 2
        pairs = zip(seats[:half], reversed(seats[half:]), strict=True)
        yield [(min(p), max(p)) for p in pairs if min(p) >= 0]
        seats = [seats[0], seats[-1], *seats[1:-1]]


def meet_all(own: int, nodes: Sequence[str], port: int, secret: str) -> tuple[list[Meeting], list[str]]:
    """Meet the other nodes: what came of each meeting, and with whom there was none.

    Each node listens on `port` plus its place in `nodes`, and serves only who knows the secret. Raises OSError where it cannot
    listen.
    """
    found: list[Meeting] = []
    failed: list[str] = []
    with socket.create_server(("", port + own), backlog=len(nodes)) as server:
        wait = _FIRST_WAIT_S
        for number, pairs in enumerate(rounds(len(nodes))):
            partner = next((sum(pair) - own for pair in pairs if own in pair), None)
            if partner is None:
                continue
            hello = _hello(number, own, partner, secret)
            try:
                if own < partner:
                    with _called(server, hello, _hello(number, partner, own, secret), wait) as link:
                        _answer(link)
                        turns, rate = _ask(link)
                else:
                    with _calling(nodes[partner], port + partner, hello, wait) as link:
                        _expect(link, _hello(number, partner, own, secret))
                        turns, rate = _ask(link)
                        _answer(link)
            except (OSError, EOFError):
                failed.append(nodes[partner])
                continue
            finally:
                # one that is late is waited for once, and not by all in turn
                wait = _WAIT_S
            found.append(Meeting(nodes[partner], turns, rate))
    return found, failed


def _hello(number: int, own: int, partner: int, secret: str) -> bytes:
    said = struct.pack("!4sII", b"nw1p", number, own)
    return said + hmac.digest(secret.encode(), said + struct.pack("!I", partner), hashlib.sha256)


def _called(server: socket.socket, own: bytes, wanted: bytes, wait_s: float) -> socket.socket:
    """The connection of the partner of this round; whoever else calls is turned away, and a partner that is too early calls again."""
    end = time.monotonic() + wait_s
    while True:
        server.settimeout(max(0.01, end - time.monotonic()))
        link, _ = server.accept()
        link.settimeout(_WAIT_S)
        try:
            if hmac.compare_digest(_read(link, _HELLO.size), wanted):
                link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                link.sendall(own)
                return link
        except (OSError, EOFError):
            pass
        link.close()


def _calling(host: str, port: int, hello: bytes, wait_s: float) -> socket.socket:
    end = time.monotonic() + wait_s
    while True:
        left = end - time.monotonic()
        try:
            link = socket.create_connection((host, port), timeout=max(0.05, left))
        except OSError:
            if left <= 0:
                raise
            time.sleep(0.02)
            continue
        link.settimeout(max(0.05, left) + _WAIT_S)
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        link.sendall(hello)
        with suppress(OSError, EOFError):
            if link.recv(1, socket.MSG_PEEK):
                return link
        link.close()
        if time.monotonic() > end:
            raise TimeoutError
        time.sleep(0.02)


def _expect(link: socket.socket, wanted: bytes) -> None:
    if not hmac.compare_digest(_read(link, _HELLO.size), wanted):
        raise EOFError
    link.settimeout(_WAIT_S)


def _read(link: socket.socket, count: int) -> bytes:
    data = bytearray()
    while len(data) < count:
        some = link.recv(count - len(data))
        if not some:
            raise EOFError
        data += some
    return bytes(data)


def _ask(link: socket.socket) -> tuple[float, float]:
    """Turns a second, and bytes a second: the median of each."""
    times = []
    for turn in range(_TURNS + _WARM_TURNS):
        begun = time.perf_counter()
        link.sendall(b"?")
        _read(link, 1)
        if turn >= _WARM_TURNS:
            times.append(time.perf_counter() - begun)
    block = bytes(_BLOCK)
    rates = []
    for _ in range(_FLOWS):
        begun = time.perf_counter()
        link.sendall(block)
        _read(link, 1)
        rates.append(_BLOCK / (time.perf_counter() - begun))
    return 1 / statistics.median(times), statistics.median(rates)


def _answer(link: socket.socket) -> None:
    for _ in range(_TURNS + _WARM_TURNS):
        _read(link, 1)
        link.sendall(b"!")
    for _ in range(_FLOWS):
        left = _BLOCK
        while left:
            some = len(link.recv(min(left, 1 << 18)))
            if not some:
                raise EOFError
            left -= some
        link.sendall(b"!")


def place_of(nodes: Sequence[str], *names: str) -> int | None:
    """Which of the nodes this one is: that of one of the names, with or without its domain, else the only one whose address it has."""
    short = [without_domain(n) for n in nodes]
    for name in names:
        if short.count(without_domain(name)) == 1:
            return short.index(without_domain(name))
    own = [k for k, node in enumerate(nodes) if _is_here(node)]
    return own[0] if len(own) == 1 else None


def _is_here(node: str) -> bool:
    with suppress(OSError):
        for family, kind, protocol, _, address in socket.getaddrinfo(node, 0, type=socket.SOCK_STREAM):
            with socket.socket(family, kind, protocol) as one, suppress(OSError):
                one.bind(address)
                return True
    return False
