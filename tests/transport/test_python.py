# SPDX-License-Identifier: BSD-3-Clause
"""nodewise_transport, the Python module of the message transport."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
from itertools import count

import pytest

transport = pytest.importorskip("nodewise_transport")
Endpoint, Event = transport.Endpoint, transport.Event
PUSH, PULL, PUBLISH, SUBSCRIBE, REQUEST, REPLY = transport.Pattern
numbers = count()
SCHEMES = ["inproc", "shm", "ipc", "tcp"]


def fresh(scheme="shm"):
    if not scheme.endswith("tcp"):
        return f"{scheme}://python-{os.getpid()}-{next(numbers)}"
    with socket.create_server(("127.0.0.1", 0)) as found:
        return f"{scheme}://127.0.0.1:{found.getsockname()[1]}"


@pytest.fixture(params=SCHEMES)
def pair(request):
    address = fresh(request.param)
    with Endpoint(address, PULL, bind=True) as pull, Endpoint(address, PUSH) as push:
        push.wait_peers(1, 5)
        yield push, pull
        push.close(5)


def test_what_is_sent_is_received(pair):
    push, pull = pair
    for message in (b"bytes", bytearray(b"array"), memoryview(b"view"), b""):
        push.send(message, timeout=5)
        assert pull.receive(timeout=5) == bytes(message)
    push.send_parts([b"head", b"", b"tail"], timeout=5)
    assert pull.receive_parts(timeout=5) == [b"head", b"", b"tail"]
    push.send(b"into")
    room = bytearray(8)
    assert pull.receive_into(room, 5) == 4
    assert room == b"into\0\0\0\0"


def test_loans_are_sent_and_given_back_in_the_end(pair):
    push, pull = pair
    with push.loan(5) as memory:
        assert not memory.readonly
        memory[:] = b"loan!"
    with pytest.raises(RuntimeError, match="changed my mind"), push.loan(5):
        raise RuntimeError("changed my mind")
    push.send(b"next")
    with pull.receive_loan(5) as view:
        assert view.readonly
        assert view == b"loan!"
    assert pull.receive(5) == b"next"
    with pytest.raises(ValueError, match="released"):
        len(view)


def test_a_loan_that_is_still_used_is_not_given_back():
    address = fresh()
    with Endpoint(address, PULL, bind=True) as pull, Endpoint(address, PUSH) as push:
        push.send(b"kept")
        kept = []
        with pytest.raises(transport.InvalidCall, match="still in use"), pull.receive_loan(5) as view:
            kept.append(view[1:])
        with pytest.raises(transport.InvalidCall, match="still in use"):
            pull.abort()
        assert kept[0] == b"ept"
        kept[0].release()
        pull.abort()
        push.abort()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_memory_outlives_the_name_of_its_endpoint():
    address = fresh()
    pull, push = Endpoint(address, PULL, bind=True), Endpoint(address, PUSH)
    push.send(b"kept")
    lent = pull.receive_loan(5)
    view = lent.__enter__()[:]
    del lent, pull
    push.abort()
    assert view == b"kept"


@pytest.mark.parametrize("scheme", ["tcp", "ofi+tcp"])
@pytest.mark.parametrize("host", ["127.0.0.1", "", "::"])
def test_who_has_a_port_is_named(scheme, host):
    both = host == "::"
    family = socket.AF_INET6 if both else socket.AF_INET
    with (
        socket.create_server((host, 0), family=family, dualstack_ipv6=both) as other,
        pytest.raises(transport.AddressTaken, match=f"by process {os.getpid()}$"),
    ):
        Endpoint(f"{scheme}://127.0.0.1:{other.getsockname()[1]}", PULL, bind=True)


def test_errors_say_what_they_are():
    address = fresh()
    with Endpoint(address, PULL, bind=True) as pull:
        with pytest.raises(TimeoutError):
            pull.receive(0)
        began = time.monotonic()
        with pytest.raises(transport.TimedOut):
            pull.receive(0.2)
        assert time.monotonic() - began >= 0.2
        with pytest.raises(transport.AddressTaken, match=str(os.getpid())):
            Endpoint(address, PULL, bind=True)
        with pytest.raises(transport.InvalidCall, match="does not send"):
            pull.send(b"x")
        for wrong in (-1, float("nan")):
            with pytest.raises(transport.InvalidCall, match="timeout"):
                pull.receive(wrong)
        with Endpoint(address, PULL) as other, pytest.raises(transport.Refused, match="does not fit"):
            other.wait_peers(1, 5)
        push = Endpoint(address, PUSH)
        push.send(bytes(100))
        with pytest.raises(transport.TooSmall):
            pull.receive_into(bytearray(10), 5)
        assert len(pull.receive(5)) == 100
        push.abort()
        with pytest.raises(transport.PeerLost) as lost:
            pull.receive(5)
        assert (lost.value.pid, lost.value.messages) == (os.getpid(), 0)
    with pytest.raises(transport.InvalidCall, match="closed"):
        pull.receive(0)
    pull.close()
    for options in ({"slots": 3}, {"slots": -1}, {"capacity": 2**70}):
        with pytest.raises(transport.InvalidCall):
            Endpoint(fresh(), PULL, **options)
    with pytest.raises(ValueError, match="tcp://HOST:PORT"):
        Endpoint("nowhere", PULL)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_publish_and_subscribe(scheme):
    address = fresh(scheme)
    with Endpoint(address, PUBLISH, bind=True) as publisher, Endpoint(address, SUBSCRIBE) as subscriber:
        subscriber.subscribe(b"weather.")
        publisher_ready = threading.Thread(target=lambda: publisher.wait_peers(1, 5))
        publisher_ready.start()
        subscriber.wait_peers(1, 5)
        subscriber.subscribe(b"x")
        publisher_ready.join()
        publisher.send(b"sport.none")
        publisher.send(b"weather.sun")
        assert subscriber.receive(5) == b"weather.sun"
        assert (publisher.left_out, subscriber.left_out) == (0, 0)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_requests_are_answered_or_their_server_is_lost(scheme):
    address = fresh(scheme)
    server = Endpoint(address, REPLY, bind=True)
    asked = threading.Event()

    def serve():
        for _ in range(3):
            server.send(server.receive(5).upper(), 5)
        server.receive(5)
        asked.set()
        server.abort()

    thread = threading.Thread(target=serve)
    thread.start()
    with Endpoint(address, REQUEST) as client:
        for word in (b"one", b"two", b"three"):
            assert client.request(word, 5) == word.upper()
        with pytest.raises(ConnectionError):
            client.request(b"four", 5)
        assert asked.is_set()
    thread.join()


def test_several_are_waited_for_at_once():
    addresses = [fresh("shm"), fresh("tcp")]
    pulls = [Endpoint(address, PULL, bind=True) for address in addresses]
    wanted = [(pull, Event.READABLE) for pull in pulls]
    assert transport.poll(wanted, 0.05) == [Event(0), Event(0)]
    with Endpoint(addresses[1], PUSH) as push:
        later = threading.Timer(0.1, push.send, [b"now"])
        later.start()
        assert transport.poll(wanted, 5) == [Event(0), Event.READABLE]
        later.join()
        assert pulls[1].receive(0) == b"now"
    for pull in pulls:
        pull.close()


@pytest.mark.parametrize("scheme", ["shm", "tcp"])
def test_an_event_loop_waits_for_it(scheme):
    address = fresh(scheme)

    async def received(pull, wanted):
        loop, found, done = asyncio.get_running_loop(), [], asyncio.Event()

        def look():
            try:
                while True:
                    found.append(pull.receive(0))
            except TimeoutError:
                if len(found) >= wanted:
                    done.set()

        loop.add_reader(pull.fileno(), look)
        await asyncio.wait_for(done.wait(), 10)
        loop.remove_reader(pull.fileno())
        return found

    with Endpoint(address, PULL, bind=True) as pull, Endpoint(address, PUSH) as push:
        sent = [str(i).encode() for i in range(200)]
        thread = threading.Thread(target=lambda: [time.sleep(0.001) or push.send(message) for message in sent])
        thread.start()
        assert asyncio.run(received(pull, 200)) == sent
        thread.join()


def test_a_wait_lets_other_threads_run_and_keeps_them_out_of_itself():
    address = fresh()
    pull, push = Endpoint(address, PULL, bind=True), Endpoint(address, PUSH)
    got = []
    waiting = threading.Thread(target=lambda: got.append(pull.receive(10)))
    waiting.start()
    time.sleep(0.1)
    with pytest.raises(transport.InvalidCall, match="another thread"):
        pull.receive(0)
    push.send(b"free")
    waiting.join(10)
    assert got == [b"free"]
    push.close()
    pull.close()


def test_a_signal_ends_a_wait():
    with Endpoint(fresh(), PULL, bind=True) as pull:
        before = signal.signal(signal.SIGUSR1, lambda *_: (_ for _ in ()).throw(KeyError("signal")))
        try:
            threading.Timer(0.2, os.kill, [os.getpid(), signal.SIGUSR1]).start()
            with pytest.raises(KeyError):
                pull.receive(10)
        finally:
            signal.signal(signal.SIGUSR1, before)
        with pytest.raises(TimeoutError):
            pull.receive(0)


def test_a_forked_child_is_told_and_harms_nothing():
    code = f"""
        import os, nodewise_transport as t
        pull = t.Endpoint({fresh("tcp")!r}, t.PULL, bind=True)
        push = t.Endpoint(pull.address, t.PUSH)
        push.wait_peers(1, 5)
        child = os.fork()
        if child == 0:
            try:
                push.send(b"x", 0)
            except t.Forked:
                os._exit(7)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        push.send(b"still there", 5)
        assert pull.receive(5) == b"still there"
        push.close(); pull.close()
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], timeout=60, check=False)
    assert done.returncode == 0


@pytest.mark.some(3)
@pytest.mark.parametrize("scheme", [*SCHEMES[1:], "ofi+tcp", "ofi+shm"])
def test_who_is_lost_is_told_where_the_next_one_at_its_address_refuses(scheme, tmp_path):
    """An end that meets a wrong one in its peer's place waits for neither."""
    address = fresh(scheme)
    script = textwrap.dedent(
        f"""
        import nodewise_transport as t, time
        pull = t.Endpoint({address!r}, t.Pattern.PULL, bind=True)
        print("open", flush=True)
        time.sleep(60)
        """
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as peer:
        assert peer.stdout.readline() == "open\n"
        with Endpoint(address, PUSH) as push:
            push.wait_peers(1, 10)
            push.send(b"never read", timeout=5)
            peer.kill()
            peer.wait()
            with Endpoint(address, PUSH, bind=True):
                time.sleep(1)
                began = time.monotonic()
                with pytest.raises(transport.PeerLost, match="1 messages"):
                    push.close(10)
                assert time.monotonic() - began < 5
