# SPDX-License-Identifier: BSD-3-Clause
"""The wire between `nodewise pipeline` and its ranks: TCP, on which each side proves that it has the key before anything is read.

What is sent is neither encrypted nor signed: it is for a network that one trusts, as the messages are.
"""

from __future__ import annotations

import fcntl
import hashlib
import hmac
import json
import secrets
import select
import socket
import struct
from collections.abc import Sequence
from typing import Any

#: By which variable ranks are handed the key; only their user reads it.
KEY = "NODEWISE_PIPELINE_KEY"
_NONCE = 32
_LENGTH = struct.Struct("<II")
#: How long the other side may take to prove itself, and the most that it may say at once.
_PROVE_S, _MOST = 20.0, 1 << 28
_SIOCGIFADDR = 0x8915


class LostError(Exception):
    """The other side is gone."""


class Wire:
    """One side of a connection: frames of JSON with bytes behind them."""

    def __init__(self, stream: socket.socket):
        self._stream = stream
        self._stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        # who is gone without a word, as a node that lost its power, is noticed within a minute
        self._stream.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in (
            ("TCP_KEEPIDLE", 20),
            ("TCP_KEEPINTVL", 10),
            ("TCP_KEEPCNT", 3),
            ("TCP_USER_TIMEOUT", 50_000),
        ):
            self._stream.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)

    def fileno(self) -> int:
        """Its descriptor, to be waited for."""
        return self._stream.fileno()

    @property
    def own_address(self) -> str:
        """The address of this side."""
        return str(self._stream.getsockname()[0])

    @property
    def peer_address(self) -> str:
        """The address of the other side."""
        return str(self._stream.getpeername()[0])

    def readable(self, seconds: float = 0.0) -> bool:
        """Whether something has come, or the other side has gone, within so many seconds."""
        return bool(select.select([self._stream], [], [], seconds)[0])

    def wait_at_most(self, seconds: float | None) -> None:
        """From now on the other side is lost that neither takes nor says anything for so many seconds (None: it is waited for)."""
        self._stream.settimeout(seconds)

    def send(self, said: dict[str, Any], data: bytes = b"") -> None:
        """Send a frame. Raises LostError."""
        text = json.dumps(said).encode()
        try:
            self._stream.sendall(_LENGTH.pack(len(text), len(data)) + text + data)
        except OSError as problem:
            raise LostError(str(problem)) from problem

    def receive(self) -> tuple[dict[str, Any], bytes]:
        """The next frame, waited for. Raises LostError, also where it is none."""
        text, data = _LENGTH.unpack(self._whole(_LENGTH.size))
        if text + data > _MOST:
            raise LostError("it says too much")
        try:
            said = json.loads(self._whole(text))
        except ValueError as problem:
            raise LostError("it says what is no JSON") from problem
        if not isinstance(said, dict):
            raise LostError("it says what is no object")
        return said, self._whole(data)

    def _whole(self, size: int) -> bytes:
        got = bytearray()
        while len(got) < size:
            try:
                part = self._stream.recv(min(1 << 20, size - len(got)))
            except OSError as problem:
                raise LostError(str(problem)) from problem
            if not part:
                raise LostError("it is gone")
            got += part
        return bytes(got)

    def close(self) -> None:
        """Close it: the other side hears so."""
        self._stream.close()


def _proof(key: bytes, who: bytes, asked: bytes, given: bytes) -> bytes:
    return hmac.new(key, who + asked + given, hashlib.sha256).digest()


def _exactly(stream: socket.socket, size: int) -> bytes:
    got = b""
    while len(got) < size:
        part = stream.recv(size - len(got))
        if not part:
            raise LostError("it is gone")
        got += part
    return got


def accepted(stream: socket.socket, key: bytes) -> Wire | None:
    """The wire to who has connected; None, and it is closed, where that one does not prove that it has the key."""
    try:
        stream.settimeout(_PROVE_S)
        asked = secrets.token_bytes(_NONCE)
        stream.sendall(asked)
        said = _exactly(stream, _NONCE + hashlib.sha256().digest_size)
        given, proof = said[:_NONCE], said[_NONCE:]
        if not hmac.compare_digest(proof, _proof(key, b"rank", asked, given)):
            raise LostError("it has another key")
        stream.sendall(_proof(key, b"above", asked, given))
        stream.settimeout(None)
        return Wire(stream)
    except (OSError, LostError):
        stream.close()
        return None


def connected(addresses: Sequence[str], port: int, key: bytes, seconds: float) -> Wire:
    """The wire to the first of the addresses at which one listens who has the key, within so many seconds each. Raises LostError."""
    problem = "no address was given"
    for address in addresses:
        try:
            stream = socket.create_connection((address, port), seconds)
        except OSError as error:
            problem = f"{address}:{port}: {error.strerror or error}"
            continue
        try:
            stream.settimeout(_PROVE_S)
            asked, given = _exactly(stream, _NONCE), secrets.token_bytes(_NONCE)
            stream.sendall(given + _proof(key, b"rank", asked, given))
            if not hmac.compare_digest(
                _exactly(stream, hashlib.sha256().digest_size), _proof(key, b"above", asked, given)
            ):
                raise LostError("another one listens there")
            stream.settimeout(None)
            return Wire(stream)
        except (OSError, LostError) as error:
            stream.close()
            problem = f"{address}:{port}: {error}"
    raise LostError(problem)


def own_addresses() -> list[str]:
    """The IPv4 addresses of this machine, one of each interface that has one; the loopback's is the last."""
    found = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asked:
        for _, name in socket.if_nameindex():
            try:
                answer = fcntl.ioctl(asked.fileno(), _SIOCGIFADDR, struct.pack("256s", name.encode()[:15]))
            except OSError:
                continue
            found.append(socket.inet_ntoa(answer[20:24]))
    return sorted(dict.fromkeys(found), key=lambda one: one.startswith("127."))
