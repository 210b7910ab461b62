# SPDX-License-Identifier: BSD-3-Clause
"""Messages over libfabric: by TCP, by its shared memory, and what is said where there is no RDMA device."""

import contextlib
import mmap
import os
import random
import shutil
import socket
import struct
import subprocess
import sys
import textwrap
import time
from fcntl import F_ADD_SEALS, F_SEAL_GROW, F_SEAL_SEAL, F_SEAL_SHRINK, fcntl
from pathlib import Path

import pytest

from nodewise.base.native import native_path
from tests.crossed import crossed
from tests.kernel_symbols import no_kernel_symbols
from tests.transport.sides import (
    MISSING,
    OK,
    REFUSED,
    TAKEN,
    TIMED_OUT,
    Side,
    called,
    fresh_address,
    fresh_name,
    kill_one_side,
    sides,
)

LIBRARY = native_path("libnodewise-transport.so")
__all__ = ["no_kernel_symbols"]
pytestmark = [
    pytest.mark.usefixtures("no_kernel_symbols"),
    pytest.mark.skipif(
        not LIBRARY.with_name("libnodewise-transport-fabric.so").is_file(),
        reason="the transport is built without libfabric",
    ),
]
SCHEMES = ["ofi+tcp", "ofi+shm"]
# libfabric takes a third of a second to begin, in each process: short tests ask for what differs from other addresses
SHORT = ["closing", "turns", "forks", "leaks", "requests", "publishing", "crossovers", "many"]
LONG = ["arguments", "timeouts", "loans", "sleeping", "interrupts", "parts", "slow_subscribers", "polling", "versions"]
KILLS = 3


@pytest.fixture(autouse=True)
def only_our_providers(monkeypatch):
    """The others would begin in each process, too, which takes its time."""
    monkeypatch.setenv("FI_PROVIDER", "tcp,ofi_rxm,shm")


@pytest.mark.parametrize(
    ("call", "scheme"),
    [*crossed(SHORT, SCHEMES), *(pytest.param(c, s, marks=pytest.mark.long) for c in LONG for s in SCHEMES)],
)
def test_what_each_call_promises(programs, call, scheme):
    rounds = {"many": 20000, "leaks": 6}.get(call, 0)
    done = called(programs, call, fresh_address(scheme), str(rounds))
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.long
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize(("call", "rounds"), [("huge", 0), ("many", 1_000_000), ("leaks", 300)])
def test_much(programs, call, rounds, scheme):
    done = called(programs, call, fresh_address(scheme), str(rounds), timeout=1200)
    assert done.returncode == 0, done.stdout + done.stderr


def all_arrive(programs, scheme, options, binds="pull"):
    name = fresh_address(scheme)
    with sides(
        programs,
        ("pull", name, options | {"bind": int(binds == "pull")}),
        ("push", name, options | {"bind": int(binds == "push")}),
    ) as (pull, push):
        assert [side.end(60).status for side in (push, pull)] == [OK, OK]


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("binds", ["push", "pull"])
def test_messages_of_all_sizes_arrive_whole_and_in_order(programs, binds, scheme):
    all_arrive(programs, scheme, {"how": "mix", "count": 2000, "seed": len(binds)}, binds)


@pytest.mark.long
@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("how", ["copy", "loan", "mix"])
@pytest.mark.parametrize("shape", [{"slots": 2, "capacity": 4096, "most": 4000, "views": 0}, {"spin": 1, "most": 2000}])
def test_messages_through_small_rings_and_without_sleep(programs, how, shape, scheme):
    all_arrive(programs, scheme, {"how": how, "count": 3000, "seed": 3, **shape})


@pytest.mark.long
@pytest.mark.parametrize("scheme", SCHEMES)
def test_messages_longer_than_the_ring(programs, scheme):
    all_arrive(programs, scheme, {"count": 20, "most": 20_000_000, "how": "copy", "capacity": 65536, "slots": 16})


@pytest.mark.long
@pytest.mark.parametrize("scheme", SCHEMES)
def test_several_push_to_one(programs, scheme):
    name, options = fresh_address(scheme), {"senders": 4, "seed": 5, "how": "mix", "most": 30000}
    pushes = [("push", name, options | {"id": i, "count": 2000}) for i in range(4)]
    with sides(programs, ("pull", name, options | {"bind": 1, "count": 8000}), *pushes) as (pull, *others):
        assert [side.end(60).status for side in others] == [OK] * 4
        assert pull.end(60).messages == 8000


@pytest.mark.parametrize("scheme", SCHEMES)
def test_who_is_killed_is_reported_within_a_second(programs, scheme):
    chance = random.Random(scheme)
    for _ in range(KILLS):
        kill_one_side(programs, chance, scheme)


@pytest.mark.long
@pytest.mark.parametrize("scheme", SCHEMES)
def test_hundreds_of_kills(programs, scheme):
    chance = random.Random(f"hundreds {scheme}")
    for _ in range(150):
        kill_one_side(programs, chance, scheme)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_others_go_on_where_one_of_them_is_killed(programs, scheme):
    transport = pytest.importorskip("nodewise_transport")
    address, chance = fresh_address(scheme), random.Random(5)
    with transport.Endpoint(address, transport.PULL, bind=True) as pull:
        with sides(programs, ("push", address, {"tolerate": 1}), ("push", address, {})) as (other, killed):
            for side in (other, killed):
                side.until("open")
                side.until("connected")
            pull.wait_peers(2, 5)
            killed.process.kill()
            with pytest.raises(transport.PeerLost) as lost:
                while True:
                    pull.receive(5)
            # where it died at work on memory of both, the other one has to come again, and may be told of first
            assert lost.value.pid in (killed.process.pid, other.process.pid)
            for _ in range(chance.randrange(500, 1000)):
                with contextlib.suppress(transport.PeerLost):
                    pull.receive(5)
            assert other.process.poll() is None
        pull.abort()


def kept_by(pid):
    return list(Path("/dev/shm").glob(f"nodewise-transport-{pid}-*"))


def test_who_is_left_removes_what_the_killed_one_had_in_shared_memory(programs):
    name = fresh_address("ofi+shm")
    # it goes on: who ends at once when it is told may end before it has removed anything, and leaves that to who comes next
    with sides(programs, ("pull", name, {"bind": 1, "tolerate": 1}), ("push", name, {"how": "copy"})) as (left, killed):
        for side in (left, killed):
            side.until("open")
            side.until("connected")
        assert kept_by(left.process.pid) and kept_by(killed.process.pid)
        killed.process.kill()
        # others remove nothing that is younger than five seconds
        deadline = time.monotonic() + 4
        while kept_by(killed.process.pid):
            assert time.monotonic() < deadline
            time.sleep(0.01)
        assert left.process.poll() is None and kept_by(left.process.pid)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_an_address_that_is_taken_is_refused_and_free_once_its_owner_has_ended(programs, scheme):
    name = fresh_address(scheme)
    with sides(programs, ("pull", name, {"bind": 1})) as (first,):
        first.until("open")
        second = Side(programs, "pull", name, bind=1).end()
        assert second.status == TAKEN
        assert f"process {first.process.pid}" in second.says or scheme == "ofi+tcp"
        first.process.kill()
        first.process.wait()
        assert Side(programs, "pull", name, bind=1, timeout=0.1).end().status == TIMED_OUT


@pytest.mark.parametrize("scheme", SCHEMES)
def test_two_that_push_do_not_fit(programs, scheme):
    name = fresh_address(scheme)
    with sides(programs, ("push", name, {"bind": 1, "timeout": 2}), ("push", name, {})) as (_, push):
        refused = push.end()
    assert refused.status == REFUSED
    assert "push" in refused.says


def test_a_machine_without_rdma_says_what_is_missing(programs):
    ended = Side(programs, "push", "ofi+verbs://127.0.0.1:7001").end()
    assert ended.status == MISSING
    assert "RDMA device" in ended.says


def test_without_libfabric_its_package_is_named(programs, tmp_path):
    shutil.copy(LIBRARY, tmp_path)
    done = subprocess.run(
        [programs / "drill", "push", "ofi+shm://x"],
        env={**os.environ, "LD_PRELOAD": str(tmp_path / LIBRARY.name)}, capture_output=True, text=True, timeout=30, check=False,
    )  # fmt: skip
    assert done.returncode == MISSING, done.stdout
    assert "libfabric1" in done.stdout


def test_handlers_of_signals_are_left_as_they_were():
    code = """
        import os
        def caught():
            line = next(line for line in open("/proc/self/status") if line.startswith("SigCgt"))
            return int(line.split()[1], 16) & (2**31 - 1)  # the C library's own are above
        before = caught()
        from nodewise_transport import PULL, Endpoint
        with Endpoint("ofi+shm://signals-%d" % os.getpid(), PULL, bind=True) as pull:
            assert pull.provider == "shm"
            assert caught() == before, (before, caught())
    """
    pytest.importorskip("nodewise_transport")
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], timeout=60, check=False)
    assert done.returncode == 0


# Where endpoints meet: a length, then greeting, provider and name of the end.
MAGIC, VERSION, PULLS, PUSHES = b"nodewise", 3, 2, 1


def card(version=VERSION, pattern=PUSHES, provider=b"tcp;ofi_rxm", name=bytes(16), capacity=4096, slots=16, whole=None):
    hello = MAGIC + struct.pack("=IiQQIIiI", version, pattern, capacity, slots, 0, 0, 0, 0)
    lengths = struct.pack("=IIIQ", len(hello), len(provider), len(name), 7)
    size = 4 + len(lengths) + len(hello) + len(provider) + len(name)
    return struct.pack("=I", size if whole is None else whole) + lengths + hello + provider + name


def knock(scheme, address, said):
    if scheme == "ofi+tcp":
        host, port = address.removeprefix("ofi+tcp://").split(":")
        other = socket.create_connection((host, int(port)), timeout=10)
    else:
        other = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        other.settimeout(10)
        other.connect(f"\0nodewise-transport/ofi+shm/{os.geteuid()}/{address.removeprefix('ofi+shm://')}")
    other.sendall(said)
    return other


@pytest.mark.parametrize("scheme", SCHEMES)
def test_garbage_where_endpoints_meet_harms_no_one_else(programs, scheme):
    chance, name = random.Random(3), fresh_address(scheme)
    refused = {
        "no endpoint": card(whole=5),
        "version 4": card(version=VERSION + 1),
        "greeting is damaged": card(capacity=2**50),
        "does not fit": card(pattern=PULLS),
        "provider": card(provider=b"psm3"),
    }
    with sides(programs, ("pull", name, {"bind": 1, "count": 1000})) as (pull,):
        pull.until("open")
        for why, said in refused.items():
            with knock(scheme, name, said) as other:
                assert why.encode() in other.recv(4096), why
        for _ in range(20):
            knock(scheme, name, chance.randbytes(chance.randrange(1, 900))).close()
        silent = [knock(scheme, name, b"") for _ in range(5)]
        with sides(programs, ("push", name, {"count": 1000})) as (push,):
            assert push.end().status == OK
        assert pull.end().status == OK
        for other in silent:
            other.close()


def test_garbage_in_place_of_an_answer_is_an_error(programs):
    with socket.create_server(("127.0.0.1", 0)) as listening:
        address = f"ofi+tcp://127.0.0.1:{listening.getsockname()[1]}"
        with sides(programs, ("push", address, {"timeout": 5})) as (push,):
            other, _ = listening.accept()
            other.send(b"220 mail.example.org ESMTP\r\n" * 20)
            ended = push.end()
            other.close()
    assert ended.status == REFUSED
    assert "no endpoint" in ended.says


def test_a_name_that_is_none_of_ours_is_never_opened(programs):
    """A peer says where its shared memory is: another file there is neither opened nor removed."""
    name = fresh_name()
    with sides(programs, ("pull", f"ofi+shm://{name}", {"bind": 1, "timeout": 1})) as (pull,):
        pull.until("open")
        for end in (b"fi_shm://../../etc/passwd\0", b"fi_shm://nodewise-transport-1/x\0", b"nodewise-transport-1-a\0"):
            with knock("ofi+shm", f"ofi+shm://{name}", card(provider=b"shm", name=end)) as other:
                assert b"damaged" in other.recv(4096)
        assert pull.end().status == TIMED_OUT


def memory(size=4096):
    fd = os.memfd_create("made-up", os.MFD_ALLOW_SEALING)
    os.ftruncate(fd, size)
    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)
    return fd


def test_memory_that_a_process_left_half_written_is_replaced(programs):
    """A word in a page tells that somebody has died at work on what libfabric has there: nobody goes in any more."""
    name = fresh_name()
    address = f"ofi+shm://{name}"
    with sides(programs, ("pull", address, {"bind": 1, "count": 1000, "tolerate": 1})) as (pull,):
        pull.until("open")
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as other:
            other.settimeout(10)
            other.connect(f"\0nodewise-transport/ofi+shm/{os.geteuid()}/{name}")
            ours = [memory(), os.eventfd(0), memory()]
            end = card(provider=b"shm", name=b"fi_shm://nodewise-transport-1-a:0:0\0")
            socket.send_fds(other, [end], ours)
            said, theirs, _, _ = socket.recv_fds(other, 4096, 3)
            assert b"fi_shm://nodewise-transport-" in said
            with mmap.mmap(theirs[2], 4096) as page:
                page[0] = 1
            assert other.recv(1) == b"", "it ends the connection, and has another end for others"
            for fd in (*ours, *theirs):
                os.close(fd)
        with sides(programs, ("push", address, {"count": 1000})) as (push,):
            assert push.end().status == OK
        assert pull.end().status == OK
    assert not kept_by(pull.process.pid)
