# SPDX-License-Identifier: BSD-3-Clause
"""Kills any one process of pipelines at any moment, and counts what is left: `python -m tests.pipelines.kills --count 100 --seed 1`.

After each nothing may be left within seconds (processes, files in /dev/shm, sockets), and what is said is one message that names a device,
but where nodewise itself was killed, or before there was a device.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path

from nodewise.pipelines import device

#: By what channels go, and by what the processes are started.
TRANSPORTS = ("shm", "ipc", "tcp", "ofi+tcp", "ofi+shm")
STARTERS = ("", "openmpi", "mpich", "srun")
#: How long it may take until all has ended.
SECONDS = 10.0
_MARK = "PIPELINE_KILLS"
#: What a command device runs may lose: the shell goes on.
_OF_COMMANDS = {"sh", "sleep", "cat"}
_TEXT = """[pipeline]
transport = "{transport}"
[device.origin]
kind = "generator"
size = "200KB"
[device.summed]
kind = "checksum"
instances = 2
[device.packed]
kind = "compress"
[device.waits]
kind = "command"
run = "sh -c 'sleep 0.01; cat'"
[device.joined]
kind = "merge"
[device.kept]
kind = "discard"
[channel.a]
from = "origin"
to = "summed"
[channel.b]
from = "summed"
to = ["packed", "waits"]
[channel.c]
from = ["packed", "waits"]
to = "joined"
[channel.d]
from = "joined"
to = "kept"
"""
_DEVICES = re.compile(r"\b(origin|summed|packed|waits|joined|kept)\b")


@dataclass
class Counted:
    """What was killed, by what it was, and what was wrong afterwards; `longest` is how long the end took at most, in seconds."""

    kills: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)
    longest: float = 0.0

    def line(self) -> str:
        """All of it in a line."""
        kinds = ", ".join(f"{name} {count}" for name, count in self.kills.most_common())
        return f"{self.kills.total()} kills ({kinds}): {len(self.faults)} faults; all had ended within {self.longest:.1f} s"


def marked(mark: str) -> dict[int, str]:
    """The processes that carry a mark in their environment, with what each is."""
    found = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            if f"{_MARK}={mark}".encode() not in (entry / "environ").read_bytes().split(b"\0"):
                continue
            words = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
            if (entry / "stat").read_text(errors="replace").rpartition(")")[2].split()[0] != "Z":
                found[int(entry.name)] = _kind(words, (entry / "comm").read_text(errors="replace").strip())
        except OSError:
            continue
    return found


def _kind(words: list[str], name: str) -> str:
    if name == device.NAME:
        return "device"
    for word in words:
        if word.startswith("nodewise.pipelines."):
            return word.rpartition(".")[2]
    return "nodewise" if "nodewise" in words else Path(words[0]).name


_OWN = re.compile(r"nodewise-transport-(\d+)-")


def _shared(starter: str) -> set[str]:
    """What lies in /dev/shm; where no launcher started it, what is named by a pipeline's process that is gone."""
    names = {one.name for one in Path("/dev/shm").iterdir()}
    if not starter:
        # what runs beside it has files of its own there
        found = {name: _OWN.match(name) for name in names}
        return {name for name, own in found.items() if own and not Path("/proc", own[1]).exists()}
    # a runtime of OpenMP has its own there, whoever uses it
    return {name for name in names if not name.startswith(("__KMP", "nodewise-running"))}


def _open_sockets() -> set[str]:
    """The paths and names of Unix sockets of pipelines."""
    lines = Path("/proc/net/unix").read_text().splitlines()
    return {line.split()[-1] for line in lines if "nodewise-" in line.split()[-1]}


def kill_one(chance: random.Random, starter: str, transport: str, counted: Counted, cluster: object = None) -> None:
    """Start a pipeline, kill one of its processes, and see what comes of it."""
    with tempfile.TemporaryDirectory(prefix="nw-kill-") as text:
        folder = Path(text)
        (folder / "p.toml").write_text(_TEXT.format(transport=transport))
        words = [sys.executable, "-m", "nodewise", "pipeline", "--quiet", "p.toml"]
        words += ["--launcher", starter, "--ranks", "2"] if starter else []
        own = {_MARK: text, "TMPDIR": text, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        environment = {**os.environ, **own, "OMPI_MCA_rmaps_base_oversubscribe": "1"}
        if starter == "srun":
            environment |= getattr(cluster, "environment", {}) | own
            words = ["salloc", "-Q", "-N1", "-n2", "--overcommit", *words]
        before = _shared(starter)
        process = subprocess.Popen(
            words, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        try:
            time.sleep(chance.uniform(0.15, 3.0 if not starter else 5.0))
            there = {pid: kind for pid, kind in marked(text).items() if kind != "salloc"}
            if not there:
                counted.faults.append(
                    f"{starter or 'here'} {transport}: it had ended before: {process.communicate()[0]}"
                )
                return
            # what it was, first: of a kind that there are many of, one is as good as another
            kinds = {*there.values()} - _OF_COMMANDS or {"nodewise"}
            kind = chance.choice(sorted(kinds))
            victim = chance.choice([pid for pid, one in there.items() if one == kind])
            devices = [pid for pid, one in there.items() if one == "device"]
            try:
                os.kill(victim, signal.SIGKILL)
            except ProcessLookupError:
                # a command of a message, which has ended by itself
                os.kill(victim := chance.choice(devices), signal.SIGKILL)
                kind = "device"
            begin = time.monotonic()
            counted.kills[kind] += 1
            what = f"{starter or 'here'} {transport}: {kind} killed"
            try:
                said = process.communicate(timeout=SECONDS)[0]
            except subprocess.TimeoutExpired:
                counted.faults.append(f"{what}: it goes on: {marked(text)}")
                return
            while (left := marked(text)) and time.monotonic() - begin < SECONDS:
                time.sleep(0.02)
            counted.longest = max(counted.longest, time.monotonic() - begin)
            if left:
                counted.faults.append(f"{what}: left: {left}")
            if files := _shared(starter) - before:
                counted.faults.append(f"{what}: left in /dev/shm: {files}")
            if sockets := {p for p in folder.rglob("*") if p.is_socket()}:
                counted.faults.append(f"{what}: left: {sockets}")
            _judge_said(what, kind, said, bool(devices), counted)
        finally:
            for pid in marked(text):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            process.communicate()


def _judge_said(what: str, kind: str, said: str, began: bool, counted: Counted) -> None:
    # who stands above all devices is none of them
    if kind == "nodewise":
        return
    messages = [line for line in said.splitlines() if line.startswith(("error: ", "failed  "))]
    if len(messages) != 1 or "Traceback" in said:
        counted.faults.append(f"{what}: it says {len(messages)} messages: {said}")
    elif began and kind == "device" and not _DEVICES.search(messages[0]):
        counted.faults.append(f"{what}: no device is named: {messages[0]}")


def main() -> int:
    """Kill, and print the figures; 1 where something was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--starters", default=",".join(STARTERS[:3]), help="local is an empty one")
    asked = parser.parse_args()
    chance, counted = random.Random(asked.seed), Counted()
    starters = asked.starters.split(",")
    from tests.slurm_cluster import slurm_cluster

    with ExitStack() as stack:
        cluster = stack.enter_context(slurm_cluster()) if "srun" in starters else None
        for number in range(asked.count):
            faults = len(counted.faults)
            starter, transport = starters[number % len(starters)], chance.choice(TRANSPORTS)
            kill_one(chance, starter, transport, counted, cluster)
            for fault in counted.faults[faults:]:
                print(f"{number}: {fault}", flush=True)
    print(counted.line())
    return 1 if counted.faults else 0


if __name__ == "__main__":
    sys.exit(main())
