# SPDX-License-Identifier: BSD-3-Clause
"""A guest's network: none unless it is asked for; then this system is 10.0.2.2, and names are resolved as here."""

import json
import socket
import sys
import threading
from pathlib import Path

import pytest

from nodewise.base.errors import UnavailableError
from nodewise.isolation import launcher as launching
from nodewise.isolation.guest_network import NAMES, check_user_network, name_servers
from nodewise.isolation.kind import Request, Start, kind_of
from nodewise.isolation.launcher import IsolatedLauncher
from nodewise.runner.isolation import read_isolation
from nodewise.runner.launcher import RunOptions
from nodewise.runner.setting import Setting
from tests.isolation.runtimes import GUESTS, booted, left, made_up_kernel, state_of_the_system

_LIMIT_S = 240.0
#: Asks a server, talks to itself, and says what came of it.
_PROGRAM = """
import json, pathlib, socket, sys
found = {"cards": sorted(p.name for p in pathlib.Path("/sys/class/net").iterdir())}
try:
    with socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=60) as server:
        found["said"] = server.makefile().readline()
except OSError as problem:
    found["failed"] = problem.strerror
own = socket.create_server(("127.0.0.1", 0))
with socket.create_connection(own.getsockname(), timeout=60) as one:
    other, _ = own.accept()
    other.sendall(b"to myself")
    found["itself"] = one.recv(9).decode()
found["names"] = pathlib.Path("/etc/resolv.conf").read_text() if pathlib.Path("/etc/resolv.conf").exists() else None
pathlib.Path(sys.argv[3]).write_text(json.dumps(found))
"""


@pytest.fixture
def served() -> int:
    """The port of a server on this system's own loopback that greets whoever comes."""
    server = socket.create_server(("127.0.0.1", 0))

    def greet() -> None:
        while True:
            try:
                guest, _ = server.accept()
            except OSError:
                return
            with guest:
                guest.sendall(b"greetings\n")

    threading.Thread(target=greet, daemon=True).start()
    return int(server.getsockname()[1])


@pytest.mark.long
@pytest.mark.parametrize("asked", [True, False], ids=["network=host", "none"])
@pytest.mark.parametrize("kind", GUESTS)
def test_a_guest_reaches_this_system_where_it_is_asked_for_and_nothing_else(
    kind: str, asked: bool, served: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    way = booted(kind_of(kind))
    monkeypatch.setattr(launching, "working_way", lambda *_: way)
    before = state_of_the_system()
    (tmp_path / "out").mkdir()
    (tmp_path / "program.py").write_text(_PROGRAM)
    isolation = read_isolation(f"{kind},volume={tmp_path}/out" + (",network=host" if asked else ""))
    words = (sys.executable, "-S", "-E", "program.py", "10.0.2.2", str(served), f"{tmp_path}/out/found")
    with IsolatedLauncher(RunOptions(cwd=tmp_path)) as launcher:
        sample = launcher.run(Setting(words, isolation=isolation), timeout_s=_LIMIT_S)
    assert sample.ok, sample.error
    found = json.loads((tmp_path / "out" / "found").read_text())
    assert found["itself"] == "to myself"
    if asked:
        assert found["said"] == "greetings\n" and len(found["cards"]) == 2, found
        if Path("/etc/resolv.conf").exists():
            assert found["names"] == name_servers()
    else:
        assert found["failed"] == "Network is unreachable" and found["cards"] == ["lo"] and "said" not in found
    assert left(before) == {}


def _start(kind: str, kernel: Path, runtime: str = "/usr/bin/true", *, network: bool = True) -> Start:
    made = kind_of(kind).start
    assert made is not None
    environment = {"NODEWISE_GUEST_KERNEL": str(kernel)}
    return made(Request(runtime, "emulated", network=network, environment=environment))


@pytest.mark.parametrize(
    ("kind", "card"), [("vm", "virtio-net-pci,netdev=net,romfile="), ("microvm", "virtio-net-device,netdev=net")]
)
def test_it_is_a_card_behind_qemus_own_router(kind: str, card: str, tmp_path: Path) -> None:
    kernel = made_up_kernel(tmp_path)
    start = _start(kind, kernel)
    words = list(start.words)
    assert words[words.index("-netdev") + 1] == "user,id=net,ipv6=off" and card in words
    assert "hostfwd" not in " ".join(words)
    assert start.guest is not None and start.guest["network"]["gateway"] == "10.0.2.2"
    # the card's own module after those that it needs
    assert start.initrd.index(b"modules/failover.ko\0") < start.initrd.index(b"modules/virtio_net.ko\0")
    alone = _start(kind, kernel, network=False)
    assert "-netdev" not in alone.words and alone.guest is not None and alone.guest["network"] is None
    assert b"virtio_net" not in alone.initrd


def test_a_kernel_or_a_qemu_that_has_no_such_thing_is_named(tmp_path: Path) -> None:
    with pytest.raises(UnavailableError, match="has no module virtio_net"):
        _start("vm", made_up_kernel(tmp_path, without=("virtio_net",)))
    qemu = tmp_path / "qemu"
    qemu.write_text("#!/bin/sh\nprintf 'Available netdev backend types:\\nsocket\\nhubport\\ntap\\n'\n")
    qemu.chmod(0o755)
    with pytest.raises(UnavailableError, match=r"without user-mode networking: .* socket, hubport, tap"):
        check_user_network(str(qemu))
    with pytest.raises(UnavailableError, match="without user-mode networking"):
        _start("microvm", made_up_kernel(tmp_path / "other"), str(qemu))
    # what cannot say it will say itself what is wrong
    check_user_network(str(tmp_path / "gone"))


@pytest.mark.parametrize(
    ("here", "inside"),
    [
        (None, f"nameserver {NAMES}\n"),
        ("nameserver 127.0.0.53\noptions edns0\nsearch here.example\n", f"options edns0\nsearch here.example\nnameserver {NAMES}\n"),
        ("# mine\nnameserver 192.0.2.1\nnameserver 192.0.2.2\n", "# mine\nnameserver 192.0.2.1\nnameserver 192.0.2.2\n"),
        ("nameserver 127.0.0.1\nnameserver ::1\nnameserver 192.0.2.1\n", f"nameserver {NAMES}\nnameserver 192.0.2.1\n"),
        ("nameserver 2001:db8::1\nnameserver fe80::1%eth0\nnameserver\nnameserver x\n", f"nameserver {NAMES}\n"),
    ],
)  # fmt: skip
def test_names_are_resolved_by_who_does_it_here(here: str | None, inside: str, tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    if here is not None:
        (tmp_path / "etc" / "resolv.conf").write_text(here)
    assert name_servers(tmp_path) == inside
