# SPDX-License-Identifier: BSD-3-Clause
"""Whether a provider carries anything: a ping-pong of two processes of this node by fi_pingpong, ended at a limit."""

from __future__ import annotations

import errno
import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum

from nodewise.base.frozen import dataclass
from nodewise.base.units import format_bytes, format_seconds
from nodewise.fabric.providers import Provider
from nodewise.runner.commands import run_whole, will

PROGRAM = "fi_pingpong"
#: Sizes in bytes, and how often each goes to and fro.
_SMALL, _LARGE, _TRIES = (64, 50), (1 << 20, 20), 3
#: What is slower than this and by so much slower than the fastest is good for nothing.
_USELESS_S, _USELESS_TIMES = 1e-3, 100.0
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
#: $1 is the port of the two's own agreement, the rest the program with its options. The server prints to the errors, so that what is printed is the client's.
_PAIR = """port=$1; shift
"$@" -B "$port" >&2 &
server=$!
until "$@" -P "$port" 127.0.0.1; do
    kill -0 "$server" 2>/dev/null || exit 1
    sleep 0.02
done
wait "$server"
"""


class Outcome(StrEnum):
    """What came of it. `too slow`: it carries, and is of no use; `not tried`: nobody asked, or fi_pingpong is not here."""

    WORKS = "works"
    SLOW = "too slow"
    FAILS = "fails"
    NO_END = "no end"
    NOT_TRIED = "not tried"


@dataclass(frozen=True)
class Transfer:
    """Messages of `size` bytes: half of a round trip, and what that makes in bytes a second in one direction."""

    size: int
    half_round_trip_s: float
    bytes_per_s: float


@dataclass(frozen=True)
class Proof:
    """A ping-pong over a provider between two processes of this node: by which endpoint, what came of it, and why where it did not work."""

    provider: str
    endpoint: str
    outcome: Outcome
    transfers: tuple[Transfer, ...] = ()
    reason: str = ""

    @property
    def works(self) -> bool:
        """Whether it carries, and fast enough to be of use."""
        return self.outcome is Outcome.WORKS


def prove(provider: Provider, limit_s: float, environment: Mapping[str, str]) -> Proof:
    """Send messages to and fro over a provider for at most that long. Raises OSError where fi_pingpong cannot be started."""
    if not provider.found:
        return Proof(provider.name, "", Outcome.FAILS, (), "it finds no device here")
    program = shutil.which(PROGRAM, path=environment.get("PATH"))
    if program is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), PROGRAM)
    endpoint = provider.endpoints[0]
    until = time.monotonic() + limit_s
    done: dict[int, Transfer] = {}

    def proof(outcome: Outcome, reason: str = "") -> Proof:
        return Proof(provider.name, endpoint, outcome, tuple(done.values()), reason)

    # datagrams hold what is small alone; a busy processor makes one run slow, and hardly three
    for size, rounds in (*[_SMALL] * _TRIES, *([] if endpoint == "DGRAM" else [_LARGE])):
        if size in done and done[size].half_round_trip_s < _USELESS_S:
            continue
        words = [program, "-p", provider.name, "-e", endpoint.lower(), "-m", _mode(provider)]
        # -c compares what comes with what was sent, which takes as long as sending much
        words += ["-I", str(rounds), "-S", str(size), *(["-c"] if (size, rounds) == _SMALL else [])]
        left = until - time.monotonic()
        try:
            if left <= 0:
                raise subprocess.TimeoutExpired(words, limit_s)
            ended = _pair(words, left, environment)
        except subprocess.TimeoutExpired:
            if size in done:
                continue
            if done:
                # what is small came through: slow, and no more than that
                return proof(Outcome.WORKS)
            return proof(
                Outcome.NO_END,
                f"{format_bytes(size)}, {rounds} times to and fro: not done within {format_seconds(limit_s)}",
            )
        found = parse_pingpong(ended.stdout)
        if ended.returncode or not found:
            return proof(Outcome.FAILS, why(ended.stderr) or "it ends and says nothing")
        before = done.get(size, found[-1])
        done[size] = min(before, found[-1], key=lambda one: one.half_round_trip_s)
    return proof(Outcome.WORKS)


def judged(proofs: Iterable[Proof]) -> tuple[Proof, ...]:
    """The same, with those marked that carry and are of no use beside the fastest."""
    every = tuple(proofs)
    small = [p.transfers[0].half_round_trip_s for p in every if p.works]
    fastest = min(small, default=0.0)
    return tuple(_judged(p, fastest) for p in every)


def _judged(proof: Proof, fastest: float) -> Proof:
    taken = proof.transfers[0].half_round_trip_s if proof.works else 0.0
    # where the fastest takes as long itself, there is nothing to hold it against
    if taken < _USELESS_S or (fastest < _USELESS_S and taken < fastest * _USELESS_TIMES):
        return proof
    times = "" if taken == fastest else f", {taken / fastest:.0f} times that of the fastest"
    return replace(
        proof,
        outcome=Outcome.SLOW,
        reason=f"{format_bytes(proof.transfers[0].size)} take {format_seconds(taken)}{times}",
    )


def parse_pingpong(text: str) -> tuple[Transfer, ...]:
    """The rows that fi_pingpong prints."""
    rows = re.findall(r"^(\d+)([kmg]?)\s+\S+\s+=?\S+\s+\S+\s+\S+s\s+\S+\s+(\d+\.\d+)\s", text, re.MULTILINE)
    return tuple(
        Transfer(size := int(number) * _UNITS[unit], float(us) * 1e-6, size / (float(us) * 1e-6))
        for number, unit, us in rows
        if float(us) > 0
    )


def why(errors: str) -> str:
    """The last error that fi_pingpong prints: which call of libfabric's, and what it says."""
    found = re.findall(r"^(\w+)\(\): \S+, ret=-?\d+ \((.*)\)$", errors, re.MULTILINE)
    if found:
        return f"{found[-1][0]}: {found[-1][1]}"
    lines = [line.strip() for line in errors.splitlines() if line.strip()]
    return lines[-1][:200] if lines else ""


def _mode(provider: Provider) -> str:
    """Tagged messages, which an MPI needs, where the provider has them."""
    return "tagged" if "TAGGED" in provider.capabilities and provider.endpoints[0] == "RDM" else "msg"


def _pair(words: Sequence[str], limit_s: float, environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Server and client in one group of processes, which is ended with this one, or at the limit. Raises OSError; TimeoutExpired."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    with will(":") as begun:
        return run_whole(
            ["/bin/sh", "-c", _PAIR, "sh", str(port), *words], limit_s, begun, most=1 << 16, env=dict(environment)
        )
