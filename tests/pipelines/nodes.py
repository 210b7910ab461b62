# SPDX-License-Identifier: BSD-3-Clause
"""Nodes for tests: namespaces of this machine with networks and host names of their own, joined by a bridge; they end with the process."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

#: The first one is where commands start; loopback interfaces are up as on any node.
NODES = ("front", "nodea", "nodeb")
_NEEDED = ("unshare", "nsenter", "ip", "setpriv")


class Nodes:
    """`pids` are the processes that hold the nodes' namespaces, `agent` what a launcher starts its daemons on a node by, as ssh would."""

    def __init__(self, pids: dict[str, int], agent: Path):
        self.pids, self.agent = pids, agent

    def on(self, node: str, *words: str) -> list[str]:
        """The words that start a command on a node."""
        return ["nsenter", "-n", "-u", "-t", str(self.pids[node]), "--", *words]


def _hold(node: str) -> subprocess.Popen[bytes]:
    script = f"hostname {node}; ip link set lo up; echo; exec sleep 100000"
    words = ["setpriv", "--pdeathsig", "KILL", "unshare", "-n", "-u", "sh", "-c", script]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def _ip(pid: int, *words: str) -> None:
    subprocess.run(["nsenter", "-n", "-t", str(pid), "ip", *words], check=True, capture_output=True)


@contextmanager
def nodes(folder: Path) -> Iterator[Nodes]:
    """Start them; the test is skipped where namespaces are not to be had."""
    if os.geteuid() != 0 or any(shutil.which(name) is None for name in _NEEDED):
        pytest.skip("namespaces need root, util-linux and iproute2")
    held = {node: _hold(node) for node in NODES}
    try:
        for process in held.values():
            assert process.stdout is not None and process.stderr is not None
            if process.stdout.readline() != b"\n":
                pytest.skip(f"no namespaces here: {process.stderr.read().decode()[:200]}")
        pids = {node: process.pid for node, process in held.items()}
        front = pids["front"]
        try:
            _ip(front, "link", "add", "br0", "type", "bridge")
            for number, node in enumerate(NODES[1:], 2):
                _ip(
                    front,
                    "link",
                    "add",
                    f"to{number}",
                    "type",
                    "veth",
                    "peer",
                    "name",
                    "eth0",
                    "netns",
                    str(pids[node]),
                )
                _ip(front, "link", "set", f"to{number}", "master", "br0", "up")
                _ip(pids[node], "addr", "add", f"10.77.0.{number}/24", "dev", "eth0")
                _ip(pids[node], "link", "set", "eth0", "up")
            _ip(front, "addr", "add", "10.77.0.1/24", "dev", "br0")
            _ip(front, "link", "set", "br0", "up")
        except subprocess.CalledProcessError as problem:
            pytest.skip(f"no bridge between namespaces here: {problem.stderr.decode()[:200]}")
        agent = folder / "agent"
        cases = "".join(f"{node}) pid={pid};; " for node, pid in pids.items())
        agent.write_text(
            "#!/bin/sh\n"
            'while [ "${1#-}" != "$1" ]; do shift; done\n'
            f'case "$1" in {cases} *) exit 255;; esac\nshift\n'
            'exec nsenter -n -u -t $pid -- sh -c "$*"\n'
        )
        agent.chmod(0o755)
        yield Nodes(pids, agent)
    finally:
        for process in held.values():
            process.kill()
            process.communicate()


def started_by(kind: str, found: Nodes, hosts: Sequence[str], each: int = 1) -> list[str]:
    """The words of a launcher that start ranks on these nodes."""
    ranks = str(len(hosts) * each)
    if kind == "openmpi":
        program = shutil.which("mpirun.openmpi") or pytest.skip("Open MPI is not here")
        listed = ",".join(f"{host}:{each}" for host in hosts)
        # daemons are reached by the bridge alone, and by number: nobody resolves these names
        return [
            *(program, "-n", ranks, "--host", listed, "--mca", "plm_rsh_agent", str(found.agent)),
            *("--mca", "oob_tcp_if_include", "10.77.0.0/24", "--mca", "btl_tcp_if_include", "10.77.0.0/24"),
        ]
    program = shutil.which("mpiexec.hydra") or pytest.skip("MPICH is not here")
    listed = ",".join(f"{host}:{each}" for host in hosts)
    return [
        *(program, "-launcher", "ssh", "-launcher-exec", str(found.agent), "-n", ranks, "-hosts", listed),
        *("-localhost", "10.77.0.1"),
    ]


def waited(until: object, seconds: float = 30.0) -> None:
    """Wait until what is called says so."""
    assert callable(until)
    end = time.monotonic() + seconds
    while not until():
        assert time.monotonic() < end
        time.sleep(0.02)
