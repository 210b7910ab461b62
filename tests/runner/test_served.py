# SPDX-License-Identifier: BSD-3-Clause
"""Servers that a program is connected to: found by its sockets, counted with what they start, and no other load."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from nodewise.runner import local
from nodewise.runner.local import LocalLauncher
from nodewise.runner.marks import find_marks
from nodewise.runner.served import Served, served_s, servers_of
from nodewise.runner.setting import Setting
from nodewise.statistics.disturbance import Met, disturbance

#: Works for a tenth of a second for each client, in a process of its own for each.
SERVER = """
import os, socket, sys, time
kind, address = sys.argv[1:]
server = socket.socket(socket.AF_UNIX if kind == "unix" else socket.AF_INET6 if kind == "tcp6" else socket.AF_INET)
server.bind(address if kind == "unix" else ("::" if kind == "tcp6" else "127.0.0.1", 0))
server.listen()
print(address if kind == "unix" else server.getsockname()[1], flush=True)
while True:
    client, _ = server.accept()
    if os.fork() == 0:
        client.recv(1)
        until = time.process_time() + 0.1
        while time.process_time() < until: pass
        client.send(b"x")
        client.recv(1)
        os._exit(0)
    client.close()
    try:
        while os.waitpid(-1, os.WNOHANG)[0]: pass
    except ChildProcessError:
        pass
"""
#: Asks once, and stays for a while.
CLIENT = """
import socket, sys, time
kind, address = sys.argv[1:]
client = socket.socket(socket.AF_UNIX if kind == "unix" else socket.AF_INET)
client.connect(address if kind == "unix" else ("127.0.0.1", int(address)))
client.send(b"x"); client.recv(1)
print("answered", flush=True)
time.sleep(0.5)
"""


@pytest.fixture(params=["unix", "tcp", "tcp6"])
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], str, str]]:
    words = [sys.executable, "-c", SERVER, request.param, str(tmp_path / "socket")]
    # as a server of the system's: nobody above it is above us
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        assert process.stdout is not None
        kind = "unix" if request.param == "unix" else "tcp"
        yield process, kind, process.stdout.readline().strip()
        process.kill()


def client(kind: str, address: str) -> list[str]:
    return [sys.executable, "-c", CLIENT, kind, address]


def test_the_server_is_found_by_what_it_started_for_the_client(
    server: tuple[subprocess.Popen[str], str, str],
) -> None:
    process, kind, address = server
    with subprocess.Popen(client(kind, address), stdout=subprocess.PIPE, text=True) as asking:
        assert asking.stdout is not None and asking.stdout.readline() == "answered\n"
        # the one that started what the client is connected to, and not this Python, which started both
        assert servers_of(asking.pid) == {process.pid}
        assert served_s({process.pid}) >= 0.09
        asking.wait()


def test_what_has_ended_still_counts(server: tuple[subprocess.Popen[str], str, str]) -> None:
    process, kind, address = server
    for n in (1, 2):
        subprocess.run(client(kind, address), check=True, capture_output=True)
        deadline = time.monotonic() + 5
        while served_s({process.pid}) < 0.09 * n and time.monotonic() < deadline:
            time.sleep(0.01)
    assert 0.18 <= served_s({process.pid}) < 1


def test_it_is_looked_for_only_after_a_disturbed_run() -> None:
    served = Served()
    served.begin()
    assert served.next_look_s(0.0) is None
    served.wanted = True
    served.begin()
    assert served.next_look_s(0.0) == pytest.approx(0.02)
    served.look(os.getpid())
    assert served.next_look_s(0.05) == pytest.approx(0.05)
    assert served.end() == 0
    for _ in range(10):
        served.begin()
    assert served.next_look_s(0.0) is None


def test_a_program_without_sockets_has_no_server() -> None:
    with subprocess.Popen(["sleep", "5"]) as process:
        assert servers_of(process.pid) == set()
        process.kill()


@pytest.mark.some(2)
def test_what_it_worked_is_reported_with_the_run(server: tuple[subprocess.Popen[str], str, str]) -> None:
    _, kind, address = server
    with LocalLauncher() as launcher:
        launcher._served.wanted = True  # as after a run that others seemed to disturb
        samples = [launcher.run(Setting(tuple(client(kind, address)))) for _ in range(3)]
    assert all(s.ok for s in samples)
    assert "served_s" in samples[1].usage or "served_s" in samples[0].usage
    assert samples[2].usage["served_s"] == pytest.approx(0.1, abs=0.06)


USAGE = {"user_s": 0.4, "system_s": 0.1, "watched_s": 0.5, "waited_s": 0.4, "watched_threads": 2.0}


def test_what_a_server_does_is_no_other_load() -> None:
    conditions = {"mask_busy_s": 1.5, "processors": 2.0}
    assert find_marks(0.8, USAGE, conditions)
    assert find_marks(0.8, {**USAGE, "served_s": 1.0}, conditions) == ()
    # and what others do besides is
    assert find_marks(0.8, {**USAGE, "served_s": 0.5}, conditions)


def test_who_keeps_a_server_from_its_processor_disturbs_the_program() -> None:
    """The client waits for the server, and the server for a hog: nothing of the client's own threads shows that."""
    usage = {
        "user_s": 0.05,
        "system_s": 0.02,
        "watched_s": 0.07,
        "waited_s": 0.0,
        "watched_threads": 1.0,
        "served_s": 0.3,
    }
    hog = {"mask_busy_s": 0.72, "processors": 2.0}
    assert any(mark.startswith("other load") for mark in find_marks(0.36, usage, hog))
    alone = {"mask_busy_s": 0.38, "processors": 2.0}
    assert find_marks(0.36, usage, alone) == ()


def test_a_server_elsewhere_does_not_hide_who_left_its_processors() -> None:
    marks = find_marks(0.8, {**USAGE, "served_s": 1.0}, {"mask_busy_s": 0.2, "processors": 1.0})
    assert any(mark.startswith("outside") for mark in marks)


def test_the_verdict_says_so() -> None:
    runs = [Met(block, "a", (), 0.5, served_s=0.3) for block in range(6)]
    assert any("servers that it is connected to" in said for said in disturbance(runs).conditions)
    assert not disturbance([Met(block, "a", (), 0.5) for block in range(6)]).conditions


@pytest.mark.parametrize("mark", ["other load: it waited for processors", "paging: 3 major page faults"])
def test_servers_are_looked_for_once_others_seemed_to_disturb_a_run(mark: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "find_marks", lambda *_: (mark,))
    with LocalLauncher() as launcher:
        assert launcher.run(Setting(("true",))).marks == (mark,)
        assert launcher._served.wanted == mark.startswith("other load")
