# SPDX-License-Identifier: BSD-3-Clause
"""The message transport: what its calls promise, pairs of processes that are killed, and other sides that write nonsense."""

import mmap
import os
import random
import resource
import shutil
import socket
import struct
import subprocess
import sys
import time
from contextlib import contextmanager
from fcntl import F_ADD_SEALS, F_SEAL_GROW, F_SEAL_SEAL, F_SEAL_SHRINK, fcntl

import pytest

from tests.crossed import crossed
from tests.transport.sides import (
    LOST,
    OK,
    PULL,
    PUSH,
    REFUSED,
    SYSTEM,
    TAKEN,
    TIMED_OUT,
    Side,
    called,
    fresh_address,
    fresh_name,
    kill_one_side,
    sides,
)

EXPLORE = os.environ.get("NODEWISE_EXPLORE") == "1"

CALLS = [
    "arguments",
    "timeouts",
    "loans",
    "closing",
    "turns",
    "forks",
    "sleeping",
    "interrupts",
    "leaks",
    "parts",
    "publishing",
    "slow_subscribers",
    "loan_to_the_slow",
    "requests",
    "polling",
    "versions",
    "many",
]
SCHEMES = ["inproc", "shm", "ipc", "tcp"]


@pytest.mark.parametrize(("call", "scheme"), crossed(CALLS, SCHEMES))
def test_what_each_call_promises(programs, call, scheme):
    rounds = 20000 if call == "many" else 30 if scheme in ("ipc", "tcp") else 300
    done = called(programs, call, fresh_address(scheme), str(rounds))
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.long
@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_message_of_two_gibibytes(programs, scheme):
    assert called(programs, "huge", fresh_address(scheme), timeout=600).returncode == 0


@pytest.mark.long
@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_million_messages_arrive_once_and_in_order(programs, scheme):
    assert called(programs, "many", fresh_address(scheme), "1000000", timeout=600).returncode == 0


@pytest.mark.long
@pytest.mark.parametrize(("scheme", "rounds"), [("shm", 100_000), ("tcp", 20_000)])
def test_nothing_is_left_of_endpoints_that_were_opened_and_closed(programs, scheme, rounds):
    done = called(programs, "leaks", fresh_address(scheme), str(rounds), timeout=3600)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("how", "shape", "binds", "scheme"),
    crossed(
        ["copy", "loan", "mix"],
        [{}, {"slots": 2, "capacity": 4096, "most": 4000, "views": 0}, {"spin": 1, "most": 2000}],
        ["push", "pull"],
        ["shm", "ipc", "tcp"],
        together=2,
    ),
)
def test_messages_of_all_sizes_arrive_whole_and_in_order(programs, how, shape, binds, scheme):
    name, seed = fresh_address(scheme), random.Random(f"{how}{shape}{binds}").randrange(2**30)
    # so many that a small ring is gone round hundreds of times; each that finds it full costs a system call
    options = {"how": how, "count": 1000 if "slots" in shape else 3000, "seed": seed, **shape}
    with sides(
        programs,
        ("pull", name, options | {"bind": int(binds == "pull")}),
        ("push", name, options | {"bind": int(binds == "push")}),
    ) as (pull, push):
        assert [side.end().status for side in (push, pull)] == [OK, OK]


@pytest.mark.parametrize("scheme", ["shm", "ipc", "tcp"])
@pytest.mark.parametrize("most", [2_000_000, pytest.param(20_000_000, marks=pytest.mark.long)])
def test_messages_longer_than_the_ring(programs, scheme, most):
    name, options = (
        fresh_address(scheme),
        {"count": 12, "most": most, "how": "copy", "capacity": 65536, "slots": 16},
    )
    with sides(programs, ("pull", name, options | {"bind": 1}), ("push", name, options)) as (pull, push):
        assert [side.end().status for side in (push, pull)] == [OK, OK]


@pytest.mark.parametrize("scheme", ["shm", "ipc", "tcp"])
def test_several_push_to_one(programs, scheme):
    name, options = fresh_address(scheme), {"senders": 4, "seed": 5, "how": "mix", "most": 30000}
    pushes = [("push", name, options | {"id": i, "count": 2000}) for i in range(4)]
    with sides(programs, ("pull", name, options | {"bind": 1, "count": 8000}), *pushes) as (pull, *others):
        assert [side.end().status for side in others] == [OK] * 4
        assert pull.end().messages == 8000


def test_a_slow_receiver_holds_its_sender_back(programs):
    name, options = fresh_name(), {"count": 60, "most": 100, "slots": 4, "capacity": 4096}
    with sides(programs, ("pull", name, options | {"bind": 1, "pause": 0.01}), ("push", name, options)) as (pull, push):
        last = push.end(), pull.end()
    assert [side.status for side in last] == [OK, OK]
    # both slept most of the time, and the sender was no more than its slots ahead
    assert last[0].cpu < 0.4
    assert last[1].time - last[0].time < 0.3


@pytest.mark.parametrize("scheme", ["shm", "ipc", "tcp"])
def test_an_address_that_is_taken_names_who_has_it(programs, scheme):
    name = fresh_address(scheme)
    with sides(programs, ("pull", name, {"bind": 1}), ("push", name, {"count": 0, "pause": 1})) as (first, _):
        first.until("open")
        second = Side(programs, "pull", name, bind=1).end()
        assert second.status == TAKEN
        assert f"process {first.process.pid}" in second.says or scheme == "tcp"
        first.process.kill()
        first.process.wait()
        third = Side(programs, "pull", name, bind=1, timeout=0.1).end()
        assert third.status == TIMED_OUT, "the address is free once its owner has ended"


@pytest.mark.parametrize("scheme", ["shm", "ipc", "tcp"])
def test_two_that_push_do_not_fit(programs, scheme):
    name = fresh_address(scheme)
    with sides(programs, ("push", name, {"bind": 1, "timeout": 2}), ("push", name, {})) as (_, push):
        refused = push.end()
    assert refused.status == REFUSED
    assert "push" in refused.says


@pytest.mark.parametrize("scheme", ["shm", "ipc", "tcp"])
def test_who_is_killed_is_reported_within_a_second(programs, scheme):
    chance = random.Random(scheme if not EXPLORE else None)
    for _ in range(200 if EXPLORE else 17):
        kill_one_side(programs, chance, scheme)


@pytest.mark.long
@pytest.mark.parametrize("scheme", ["shm", "ipc", "tcp"])
def test_a_thousand_kills(programs, scheme):
    chance = random.Random(f"thousand {scheme}")
    for _ in range(334):
        kill_one_side(programs, chance, scheme)


@pytest.mark.some(3)
@pytest.mark.parametrize("scheme", ["shm", "ipc", "tcp"])
@pytest.mark.parametrize("killed", ["push", "pull"])
def test_a_new_peer_takes_the_place_of_one_that_was_killed_while_they_met(programs, killed, scheme):
    chance = random.Random(killed)
    roles = {"push": 0, "pull": 1}
    for _ in range(60 if EXPLORE else 6):
        name, options = fresh_address(scheme), {"count": 500, "seed": chance.randrange(1000), "tolerate": 1}
        wanted = [("push", name, options), ("pull", name, options | {"bind": 1})]
        with sides(programs, *wanted) as both:
            time.sleep(chance.uniform(0, 0.004))
            both[roles[killed]].process.kill()
            both[roles[killed]].process.wait()
            with sides(programs, wanted[roles[killed]]) as (again,):
                other = both[1 - roles[killed]]
                assert {again.end().status, other.end().status} <= {OK, LOST}


def test_a_full_file_system_of_shared_memory_is_in_nobodys_way(programs):
    """Segments have no name there, and none of its size: a container's 64 MB are no limit."""
    fill = 'mount -t tmpfs -o size=64k tmpfs /dev/shm && ! head -c 1M /dev/zero 2>&1 >/dev/shm/full 2>/dev/null && exec "$0" leaks'
    own = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--mount", "--map-root-user"]
    if (
        subprocess.run([*own, "mount", "-t", "tmpfs", "tmpfs", "/mnt"], capture_output=True, check=False).returncode
        != 0
    ):
        pytest.skip("no mount namespace here")
    assert subprocess.run([*own, "bash", "-c", fill, programs / "calls"], timeout=60, check=False).returncode == 0


@pytest.mark.parametrize(
    ("limit", "most", "options"),
    [
        (resource.RLIMIT_FSIZE, 2**20, {}),
        (resource.RLIMIT_AS, 2**28, {"capacity": 2**30}),
        (resource.RLIMIT_NOFILE, 5, {}),
    ],
)
def test_what_cannot_be_had_is_an_error_when_it_is_opened(programs, limit, most, options):
    words = [f"{key}={value}" for key, value in options.items()]
    done = subprocess.run(
        [programs / "drill", "push", f"shm://{fresh_name()}", *words],
        capture_output=True, text=True, timeout=30, check=False,
        preexec_fn=lambda: resource.setrlimit(limit, (most, most)),
    )  # fmt: skip
    assert done.returncode == SYSTEM, done.stdout
    assert "open\n" not in done.stdout


# What another side could write: the handshake, and the memory that comes with it, in Python.
MAGIC, VERSION, SEALS = b"nodewise", 3, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL
SLOTS, CAPACITY, PAGE = 16, 4096, 4096


def greeting(pattern, capacity=CAPACITY, slots=SLOTS):
    return MAGIC + struct.pack("=IiQQIIiI", VERSION, pattern, capacity, slots, 0, 0, 0, 0)


def memory(size, seals=SEALS):
    fd = os.memfd_create("made-up", os.MFD_ALLOW_SEALING)
    os.ftruncate(fd, size)
    fcntl(fd, F_ADD_SEALS, seals)
    return fd


def knock(name, uid=None):
    other = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    other.settimeout(10)
    other.connect(f"\0nodewise-transport/shm/{os.geteuid() if uid is None else uid}/{name}")
    return other


@contextmanager
def hostile_push(name, lane_bytes=PAGE + PAGE + CAPACITY, seals=SEALS, packet=None):
    """A sender that has greeted: the memory that it shares."""
    bell, event, lane = memory(PAGE), os.eventfd(0), memory(lane_bytes, seals)
    with knock(name) as other:
        socket.send_fds(other, [greeting(PUSH) if packet is None else packet], [bell, event, lane])
        answer = other.recv(4096)
        with mmap.mmap(lane, lane_bytes) as mapped:
            yield mapped, answer
    for fd in (bell, event, lane):
        os.close(fd)


def descriptor(kind, size, whole=0, lap=1):
    return (size | whole << 60 | kind << 61 | lap << 63).to_bytes(8, "little")


@pytest.mark.parametrize(
    "written",
    [
        descriptor(0, 2**31 + 1),
        descriptor(0, 2**60 - 1),
        descriptor(0, CAPACITY + 1, whole=1),
        descriptor(1, 8),
        descriptor(3, 8),
        descriptor(0, 1000) + descriptor(1, 400),
        descriptor(0, 1000) + descriptor(0, 488),
        descriptor(0, 1000) + descriptor(2, 488),
        descriptor(0, 1000) + descriptor(1, 488, whole=1),
        descriptor(0, 4096, whole=1) + descriptor(0, 4096, whole=1),
    ],
)
@pytest.mark.parametrize("how", ["copy", "loan"])
def test_a_sender_that_writes_nonsense_is_lost(programs, written, how):
    name = fresh_name()
    with sides(programs, ("pull", name, {"bind": 1, "how": how, "most": 5000, "timeout": 5})) as (pull,):
        pull.until("open")
        with hostile_push(name) as (lane, _):
            lane[PAGE : PAGE + len(written)] = written
            said = pull.process.communicate(timeout=10)[0]
    # the last one's first message is well formed, and only not the one that the drill knows
    assert "status 5\n" in said or "is not the one that was sent" in said, said


@pytest.mark.long
def test_random_bytes_in_shared_memory_end_no_receiver_by_a_signal(programs):
    chance = random.Random(11 if not EXPLORE else None)
    for _ in range(400 if EXPLORE else 40):
        name = fresh_name()
        with sides(programs, ("pull", name, {"bind": 1, "how": "mix", "timeout": 0.2})) as (pull,):
            pull.until("open")
            with hostile_push(name) as (lane, _):
                lane[:] = chance.randbytes(len(lane))
                pull.process.communicate(timeout=10)
        assert pull.process.returncode in (TIMED_OUT, LOST, 99)


@pytest.mark.parametrize("place", [0, 8, 16])
def test_a_receiver_that_says_it_took_what_was_never_sent_is_lost(programs, place):
    name = fresh_name()
    with sides(
        programs, ("push", name, {"bind": 1, "timeout": 5, "capacity": CAPACITY, "slots": SLOTS, "most": 64})
    ) as (push,):
        push.until("open")
        with knock(name) as other:
            bell, event = memory(PAGE), os.eventfd(0)
            socket.send_fds(other, [greeting(PULL, 0, 0)], [bell, event])
            os.close(bell)
            os.close(event)
            _, received, _, _ = socket.recv_fds(other, 4096, 3)
            with mmap.mmap(received[2], PAGE + PAGE + CAPACITY) as lane:
                lane[place : place + 8] = (2**40).to_bytes(8, "little")
                ended = push.end()
            for fd in received:
                os.close(fd)
    assert ended.status == LOST
    assert "never sent" in ended.says


@pytest.mark.parametrize(
    "given",
    [{"seals": F_SEAL_GROW}, {"lane_bytes": 2 * PAGE}, {"packet": greeting(PUSH, 2**50)}, {"packet": greeting(PUSH, 4096, 3)}, {"packet": greeting(7)}, {"packet": b"x" * 40}],
    ids=str,
)  # fmt: skip
def test_memory_that_could_change_or_does_not_fit_is_refused(programs, given):
    name = fresh_name()
    with sides(programs, ("pull", name, {"bind": 1, "timeout": 0.5})) as (pull,):
        pull.until("open")
        with hostile_push(name, **given) as (_, answer):
            assert answer.startswith(MAGIC)
            assert len(answer) > len(greeting(PULL)), "a reason"
        assert pull.end().status == TIMED_OUT, "it never had a peer"


def test_garbage_on_the_socket_harms_no_one_else(programs):
    chance, name = random.Random(3), fresh_name()
    with sides(programs, ("pull", name, {"bind": 1, "count": 1000})) as (pull,):
        pull.until("open")
        for _ in range(50):
            with knock(name) as other:
                other.send(chance.randbytes(chance.randrange(1, 900)))
                assert other.recv(4096).startswith(MAGIC)
        silent = [knock(name) for _ in range(20)]
        with sides(programs, ("push", name, {"count": 1000})) as (push,):
            assert push.end().status == OK
        assert pull.end().status == OK
        for other in silent:
            other.close()


def test_garbage_in_place_of_an_answer_is_an_error(programs):
    name = fresh_name()
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as listening:
        listening.bind(f"\0nodewise-transport/shm/{os.geteuid()}/{name}")
        listening.listen()
        with sides(programs, ("push", name, {"timeout": 5})) as (push,):
            other, _ = listening.accept()
            other.send(b"220 mail.example.org ESMTP")
            ended = push.end()
            other.close()
    assert ended.status == REFUSED
    assert "no endpoint" in ended.says


AS_ANOTHER = """
import socket, sys
there = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
if sys.argv[1] == "knock":
    there.connect(sys.argv[2].replace("@", chr(0)))
    print(there.recv(4096))
else:
    there.bind(sys.argv[2].replace("@", chr(0)))
    there.listen()
    print("listens", flush=True)
    sys.stdin.read()
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
def test_other_users_are_refused_on_both_sides(programs):
    name = fresh_name()
    address = f"@nodewise-transport/shm/0/{name}"
    command = [shutil.which("python3", path="/usr/bin:/bin") or sys.executable, "-c", AS_ANOTHER]
    with sides(programs, ("pull", name, {"bind": 1, "timeout": 1})) as (pull,):
        pull.until("open")
        said = subprocess.run(
            [*command, "knock", address], user=65534, capture_output=True, text=True, check=True
        ).stdout
        assert "the address is another user" in said
        assert pull.end().status == TIMED_OUT
    with subprocess.Popen(
        [*command, "listen", address], user=65534, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as squatter:
        squatter.stdout.readline()
        with sides(programs, ("push", name, {"timeout": 5})) as (push,):
            ended = push.end()
        squatter.stdin.close()
    assert ended.status == REFUSED
    assert "another user" in ended.says
