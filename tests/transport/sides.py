# SPDX-License-Identifier: BSD-3-Clause
"""Programs that are one side of a pair, and addresses for them."""

import os
import re
import socket
import subprocess
import time
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count

OK, TIMED_OUT, INVALID, TAKEN, REFUSED, LOST, SYSTEM, MISSING = 0, 1, 2, 3, 4, 5, 9, 10
PUSH, PULL = 1, 2
numbers = count()


@dataclass(frozen=True)
class Ended:
    status: int
    messages: int
    time: float
    says: str
    cpu: float


class Side:
    """A drill that runs: what it prints is waited for."""

    def __init__(self, programs, role, name, **options):
        words = [f"{key}={value}" for key, value in options.items()]
        address = name if "://" in name else f"shm://{name}"
        self.process = subprocess.Popen([programs / "drill", role, address, *words], stdout=subprocess.PIPE, text=True)

    def until(self, line):
        assert self.process.stdout.readline() == f"{line}\n"

    def end(self, timeout=30):
        said = self.process.communicate(timeout=timeout)[0]
        found = re.search(r"status (\d+)\nmessages (\d+)\ntime (\S+)\nsays (.*)\ncpu (\S+)\n", said)
        assert found, f"exit {self.process.returncode}: {said}"
        return Ended(int(found[1]), int(found[2]), float(found[3]), found[4], float(found[5]))


@contextmanager
def sides(programs, *wanted):
    """Drills of (role, name, options), which are no more afterwards, whatever came."""
    started = [Side(programs, role, name, **options) for role, name, options in wanted]
    try:
        yield started
    finally:
        for side in started:
            side.process.kill()
            side.process.wait()
            side.process.stdout.close()


def fresh_name():
    return f"test-{os.getpid()}-{next(numbers)}"


def fresh_address(scheme):
    if not scheme.endswith("tcp"):
        return f"{scheme}://{fresh_name()}"
    with socket.create_server(("127.0.0.1", 0)) as found:
        return f"{scheme}://127.0.0.1:{found.getsockname()[1]}"


def called(programs, *words, timeout=60):
    return subprocess.run([programs / "calls", *words], capture_output=True, text=True, timeout=timeout, check=False)


def kill_one_side(programs, chance, scheme):
    """Either side, at any moment; what arrived until then was right."""
    name = fresh_address(scheme)
    binds, killed = chance.randrange(2), chance.randrange(2)
    options = {
        "how": chance.choice(["copy", "loan", "mix"]),
        "seed": chance.randrange(1000),
        "spin": chance.choice([0, 0, 1]),
    }
    wanted = [("push", name, options | {"bind": 1 - binds}), ("pull", name, options | {"bind": binds})]
    with sides(programs, *wanted) as both:
        for side in both:
            side.until("open")
            side.until("connected")
        time.sleep(chance.uniform(0, 0.03))
        both[killed].process.kill()
        at = time.clock_gettime(time.CLOCK_MONOTONIC)
        left = both[1 - killed].end()
    assert left.status == LOST, left.says
    assert f"process {both[killed].process.pid}" in left.says
    assert left.time - at < 1
