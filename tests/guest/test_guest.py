# SPDX-License-Identifier: BSD-3-Clause
"""A machine of 2 × 8 cores × 4 hardware threads with a NUMA node without processors, emulated: what its kernel does."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from nodewise.base.errors import InputError, ProgramError, UnavailableError
from nodewise.base.native import native_path
from nodewise.machine.sources import load_machine
from nodewise.placement.memory import MemoryPolicy, check_memory, fast_nodes, read_memory
from nodewise.placement.policies import place
from nodewise.runner.binding import binding_environment
from nodewise.runner.local import LocalLauncher
from nodewise.runner.memory_proof import prove_memory
from nodewise.runner.numa_maps import read_numa_maps
from nodewise.runner.setting import Setting
from nodewise.search.space import Point
from nodewise.tuning.options import Options

MACHINE = load_machine(None)
TEAM = os.environ["NODEWISE_GUEST_TEAM"]
#: Touches 24 MiB and says where they are.
PROBE = "x = bytearray(b'1') * (24 << 20)\nprint(open('/proc/self/numa_maps').read())"


def test_the_machine_is_what_was_asked_for():
    assert len({c.socket for c in MACHINE.cores}) == 2
    assert len(MACHINE.cores) == 16
    assert len(MACHINE.allowed) == 64
    assert [len(c.pus) for c in MACHINE.cores] == [4] * 16
    assert [(n.os_index, len(n.pus)) for n in MACHINE.numa_nodes] == [(0, 32), (1, 32), (2, 0)]
    assert MACHINE.distances == ((10, 21, 31), (21, 10, 41), (31, 41, 10))
    assert MACHINE.limits.nodes == (0, 1, 2)


def test_fast_memory_is_found_by_its_bandwidth():
    nodes, why = fast_nodes(MACHINE)
    assert nodes == (2,), (why, MACHINE.numa_nodes)
    assert "the firmware promises" in why
    assert "preferred:fast" in Options(MACHINE, ["app"], ["memory"], {}).space.axes[0].values
    setting = Options(MACHINE, ["app"], ["memory"], {}).setting(Point({"memory": "bind:fast"}))
    assert setting.memory == MemoryPolicy("bind", (2,))


def seen(threads, env, mask):
    """The processors that each thread may use, as the kernel tells them from within a program started by the runner."""
    shown = Path("/tmp/seen")
    command = ("/bin/sh", "-c", f"{TEAM} > {shown}")
    with LocalLauncher() as launcher:
        sample = launcher.run(Setting(command, env=env, mask=mask))
    assert sample.error is None, sample.output
    found = []
    for line in shown.read_text().splitlines():
        on, _, may = line.partition(":")
        processors = tuple(map(int, may.split()))
        assert int(on) in processors
        found.append(processors)
    assert len(found) == threads
    return tuple(found)


@pytest.mark.parametrize("policy", ["compact", "scatter", "balanced"])
@pytest.mark.parametrize("threads", [1, 16, 17, 61, 64])
def test_threads_sit_where_the_policy_puts_them(policy, threads):
    placement = place(MACHINE, policy, threads)
    env, _ = binding_environment([TEAM], placement.places, os.environ)
    assert seen(threads, env, placement.mask) == placement.places


def test_threads_float_over_cores_where_places_are_cores():
    places = tuple(tuple(sorted(core.pus)) for core in MACHINE.cores)
    env, _ = binding_environment([TEAM], places, os.environ)
    assert seen(16, env, tuple(sorted(MACHINE.allowed))) == places


def test_where_sees_threads_in_their_places():
    done = subprocess.run(
        [sys.executable, "-m", "nodewise", "place", "scatter", "--threads", "4", "--", sys.executable, "-m", "nodewise", "where",
         "--memory", "bind:0", "--", TEAM],
        capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 4


def test_a_mask_that_a_cpuset_holds_back_is_refused():
    """The kernel would bind to what is left of it, without a word."""
    root = Path("/sys/fs/cgroup")
    (root / "cgroup.subtree_control").write_text("+cpuset +cpu")
    group = root / "narrow"
    group.mkdir(exist_ok=True)
    (group / "cpuset.cpus").write_text("0-7")
    (group / "cpu.max").write_text("150000 100000")
    code = (
        "import os, json\n"
        f"open('{group}/cgroup.procs', 'w').write(str(os.getpid()))\n"
        "from nodewise.machine.sources import load_machine\n"
        "from nodewise.placement.job import Job\n"
        "from nodewise.placement.resolve import Request, resolve\n"
        "from nodewise.placement.traps import find_traps\n"
        "m = load_machine(None)\n"
        "print(json.dumps([m.limits.processors, m.limits.cpu_quota]))\n"
        "request = Request(policy='compact')\n"
        "print(json.dumps([t.name for t in find_traps(m, resolve(m, Job(16), request).placement, request)]))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    limits, traps = map(json.loads, done.stdout.splitlines())
    assert limits == [list(range(8)), 1.5]
    assert traps == ["mask narrower than plan", "quota below threads"]


@pytest.mark.parametrize(
    "text",
    [
        "local",
        "bind:0",
        "bind:1",
        "bind:2",
        "preferred:2",
        "preferred:0,2",
        "interleave:0-1",
        "interleave:all",
        "bind:fast",
        "preferred:normal",
    ],
)
def test_pages_go_where_the_policy_says(text):
    policy = read_memory(MACHINE, text)
    check_memory(MACHINE, policy)
    shown = Path("/tmp/maps")
    with LocalLauncher() as launcher:
        sample = launcher.run(Setting(("/bin/sh", "-c", f'{sys.executable} -c "{PROBE}" > {shown}'), memory=policy))
    assert sample.error is None, sample.output
    proof = prove_memory(policy, read_numa_maps(shown.read_text()))
    assert proof.agrees, proof.words


def test_without_a_policy_pages_go_to_the_node_of_who_touches_them():
    second = next(n for n in MACHINE.numa_nodes if n.os_index == 1)
    shown = Path("/tmp/maps")
    with LocalLauncher() as launcher:
        launcher.run(Setting(("/bin/sh", "-c", f'{sys.executable} -c "{PROBE}" > {shown}'), mask=second.pus[:1]))
    proof = prove_memory(MemoryPolicy("bind", (1,)), read_numa_maps(shown.read_text().replace(" default ", " bind:1 ")))
    share = proof.words.partition("has it: ")[2].split(" ")[0]
    assert float(share.rstrip("%")) > 80, proof.words


def test_what_this_kernel_does_not_know_is_refused():
    """It is 6.1: it prefers several nodes, and does not weight them."""
    if not Path("/sys/kernel/mm/mempolicy/weighted_interleave").exists():
        with pytest.raises(UnavailableError, match=r"needs Linux 6\.9"):
            check_memory(MACHINE, read_memory(MACHINE, "weighted-interleave:0,1"))
    with pytest.raises(InputError, match="node 3 is not there"):
        check_memory(MACHINE, MemoryPolicy("bind", (3,)))
    with LocalLauncher() as launcher, pytest.raises(ProgramError, match="refuses the memory policy bind:5"):
        launcher.run(Setting(("/bin/true",), memory=MemoryPolicy("bind", (5,))))


def test_a_studys_arrays_are_shared_out_over_the_nodes():
    """Four threads, two on each node: each touches its own quarter first."""
    places = ",".join(f"{{{p}}}" for p in (0, 4, 32, 36))
    command = [native_path("nodewise-worker"), native_path("studies/is.so"), "--variant", "counting", "--threads", "4"]
    done = subprocess.run(
        [*map(str, command), "--pages", "class=W"], capture_output=True, text=True, check=True,
        env={**os.environ, "OMP_PLACES": places, "OMP_PROC_BIND": "close", "OMP_NUM_THREADS": "4"},
    )  # fmt: skip
    answer = json.loads(done.stdout.splitlines()[-1])
    assert answer["local"] >= 0.98 * answer["pages"]
    assert abs(answer["by_node"]["0"] - answer["by_node"]["1"]) <= 0.05 * answer["pages"]


def test_the_machine_is_reported_for_the_record():
    """So that what was seen here can be kept: with -s the description goes to the console, and from there into a file."""
    done = subprocess.run(
        [sys.executable, "-m", "nodewise", "machine", "--json"], capture_output=True, text=True, check=True
    )
    print(done.stdout)
    described = json.loads(done.stdout)
    assert [n["bandwidth_mib_s"] > 0 for n in described["numa_nodes"]] == [True] * 3
