# SPDX-License-Identifier: BSD-3-Clause
"""Memory policies and huge pages, set by the runner and reported by the kernel; a machine with several nodes shows more of them."""

import json
import os
import re
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from nodewise.base.errors import ProgramError
from nodewise.base.native import native_path
from nodewise.machine.sources import load_machine
from nodewise.placement.huge_pages import huge_page_environment
from nodewise.placement.memory import MODES, MemoryPolicy, check_memory, read_memory
from nodewise.runner.launch import launch_of
from nodewise.runner.local import LocalLauncher
from nodewise.runner.memory import huge_page_pools, interleave_weights
from nodewise.runner.memory_proof import prove_memory
from nodewise.runner.numa_maps import read_numa_maps
from nodewise.runner.setting import Setting, setting_from_json
from nodewise.search.space import Point
from nodewise.tuning.options import Options

#: Touches 16 MiB and prints what the kernel says of its memory.
PROBE = "x = bytearray(b'1') * (16 << 20)\nimport sys\nsys.stdout.write(open('/proc/self/numa_maps').read())"
MACHINE = load_machine(None)
NODES = [
    n.os_index
    for n in MACHINE.numa_nodes
    if n.size_bytes and (not MACHINE.limits.nodes or n.os_index in MACHINE.limits.nodes)
]


def run(setting):
    """What a program printed that was started by the runner itself."""
    command = [str(native_path("nodewise-runner"))]
    request = {
        "program": setting.command[0],
        "arguments": list(setting.command),
        "environment": [f"{k}={v}" for k, v in {**os.environ, **setting.env}.items()],
        "memory": None
        if setting.memory is None
        else {"mode": MODES[setting.memory.mode], "nodes": setting.memory.nodes},
        "no_huge_pages": setting.no_huge_pages,
    }
    data = json.dumps(request).encode()
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as runner:
        runner.stdin.write(struct.pack("<I", len(data)) + data)
        runner.stdin.flush()
        (length,) = struct.unpack("<I", runner.stdout.read(4))
        return json.loads(runner.stdout.read(length))


def policies():
    found = ["local", *(f"{mode}:{node}" for mode in ("bind", "preferred", "interleave") for node in NODES)]
    if len(NODES) > 1:
        found += [f"interleave:{NODES[0]},{NODES[1]}", f"preferred:{NODES[0]},{NODES[1]}"]
    if interleave_weights():
        found.append("weighted-interleave:" + ",".join(map(str, NODES)))
    return found


@pytest.mark.parametrize("text", policies())
def test_a_policy_is_set_and_the_kernel_says_so(text):
    policy = read_memory(MACHINE, text)
    check_memory(MACHINE, policy)
    reply = run(Setting((sys.executable, "-c", PROBE), memory=policy))
    assert reply.get("exit_code") == 0, reply
    mappings = read_numa_maps(reply["out"]["text"])
    proof = prove_memory(policy, mappings)
    assert proof.agrees, proof.words


def test_no_policy_is_the_systems_own():
    reply = run(Setting((sys.executable, "-c", PROBE)))
    assert {m.policy for m in read_numa_maps(reply["out"]["text"])} == {"default"}


def test_a_node_that_is_not_there_fails_before_the_program_starts():
    missing = max(NODES) + 1
    setting = Setting((sys.executable, "-c", "print('ran')"), memory=MemoryPolicy("bind", (missing,)))
    with LocalLauncher() as launcher, pytest.raises(ProgramError, match=rf"refuses the memory policy bind:{missing}"):
        launcher.run(setting)


def test_huge_pages_are_forbidden_for_one_program_only():
    show = ("grep", "THP_enabled", "/proc/self/status")
    assert run(Setting(("/bin/grep", *show[1:]), no_huge_pages=True))["out"]["text"].split() == ["THP_enabled:", "0"]
    assert run(Setting(("/bin/grep", *show[1:])))["out"]["text"].split() == ["THP_enabled:", "1"]


def test_transparent_huge_pages_come_where_they_are_asked_for():
    if MACHINE.transparent_huge_pages == "never":
        pytest.skip("the system forbids transparent huge pages")
    code = "x = bytearray(b'1') * (64 << 20)\nprint(open('/proc/self/smaps_rollup').read())"
    env = huge_page_environment("transparent", {})
    text = run(Setting((sys.executable, "-c", code), env=env))["out"]["text"]
    assert int(re.search(r"AnonHugePages:\s+(\d+) kB", text)[1]) >= 32 << 10
    text = run(Setting((sys.executable, "-c", code), env=env, no_huge_pages=True))["out"]["text"]
    assert int(re.search(r"AnonHugePages:\s+(\d+) kB", text)[1]) == 0


def test_pools_of_huge_pages_are_read(tmp_path):
    for folder, total, free in (
        ("sys/kernel/mm/hugepages/hugepages-2048kB", 10, 4),
        ("sys/devices/system/node/node1/hugepages/hugepages-1048576kB", 2, 2),
    ):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "nr_hugepages").write_text(f"{total}\n")
        (tmp_path / folder / "free_hugepages").write_text(f"{free}\n")
    found = [(p.page_bytes, p.node, p.total, p.free) for p in huge_page_pools(tmp_path)]
    assert found == [(2 << 20, None, 10, 4), (1 << 30, 1, 2, 2)]
    assert huge_page_pools(tmp_path / "none") == []
    assert all(p.free <= p.total for p in huge_page_pools())


TWO_NODES = """\
7f0000000000 {0} anon=600 dirty=600 N0={1} N1={2} kernelpagesize_kB=4
55d0c8a00000 default file=/usr/bin/cat mapped=2 N0=2 kernelpagesize_kB=4
"""


@pytest.mark.parametrize(
    ("text", "kernels", "on0", "on1", "agrees"),
    [
        ("bind:1", "bind:1", 0, 600, True),
        ("bind:1", "bind:1", 1, 599, False),
        ("bind:1", "default", 0, 600, False),
        ("preferred:1", "prefer:1", 20, 580, True),
        ("preferred:1", "prefer:1", 100, 500, False),
        ("interleave:0,1", "interleave:0-1", 300, 300, True),
        ("interleave:0,1", "interleave:0-1", 600, 0, False),
        ("weighted-interleave:0=3,1=1", "weighted interleave:0-1", 450, 150, True),
        ("weighted-interleave:0=3,1=1", "weighted interleave:0-1", 300, 300, False),
        ("preferred:0,1", "prefer (many):0-1", 600, 0, True),
    ],
)
def test_proofs_from_lines_as_a_machine_of_two_nodes_prints_them(text, kernels, on0, on1, agrees):
    machine = load_machine("synthetic:numa:2 core:1 pu:1")
    proof = prove_memory(read_memory(machine, text), read_numa_maps(TWO_NODES.format(kernels, on0, on1)))
    assert proof.agrees is agrees, proof.words


def test_nothing_seen_proves_nothing():
    proof = prove_memory(MemoryPolicy("local"), [])
    assert proof.agrees is None and "not known" in proof.words


def test_pages_that_are_there_by_another_rule_are_said_to_be_there():
    machine = load_machine("synthetic:numa:2 core:1 pu:1")
    for text, share in (("bind:1", "; 75% of 2.344 MiB is there all the same"), ("local", "")):
        proof = prove_memory(read_memory(machine, text), read_numa_maps(TWO_NODES.format("default", 150, 450)))
        assert proof.agrees is False
        assert proof.words.startswith(f"no memory has the policy {text}: the kernel calls it default{share} (node 0: ")


def test_the_memory_axis_is_there_where_memory_differs():
    assert Options(MACHINE, ["app"], ["memory"], {}).space.axes[0].values == ("default",) or len(NODES) > 1
    two = load_machine("synthetic:numa:2 core:2 pu:1")
    assert Options(two, ["app"], ["memory"], {}).space.axes[0].values == ("default", "local", "interleave:all")
    setting = Options(two, ["app"], ["memory"], {}).setting(Point({"memory": "interleave:all"}))
    assert setting.memory == MemoryPolicy("interleave", (0, 1))
    assert launch_of(setting).line() == "numactl --interleave=0-1 app"
    assert setting_from_json(json.loads(json.dumps(setting.to_json()))) == setting


def test_the_launch_line_of_a_forbidden_huge_page_works():
    setting = Setting(("grep", "THP_enabled", "/proc/self/status"), no_huge_pages=True)
    line = launch_of(setting).line().replace("nodewise", f"{sys.executable} -m nodewise", 1)
    done = subprocess.run(line, shell=True, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["THP_enabled:", "0"]


def test_a_studys_arrays_are_touched_first_by_the_threads_that_use_them():
    """On one node all pages are local; with several the threads of this test are spread over them."""
    allowed = MACHINE.allowed
    places = ",".join(f"{{{p}}}" for p in (allowed[0], allowed[-1]))
    command = [native_path("nodewise-worker"), native_path("studies/is.so"), "--variant", "counting", "--threads", "2"]
    done = subprocess.run(
        [*map(str, command), "--pages", "class=W"], capture_output=True, text=True, check=True,
        env={**os.environ, "OMP_PLACES": places, "OMP_PROC_BIND": "close", "OMP_NUM_THREADS": "2"},
    )  # fmt: skip
    answer = json.loads(done.stdout.splitlines()[-1])
    array_pages = (4 << 20) // os.sysconf("SC_PAGESIZE") + (256 << 10) // os.sysconf("SC_PAGESIZE")
    assert array_pages <= answer["pages"] <= array_pages + 4
    assert answer["local"] >= 0.98 * answer["pages"]
    assert sum(answer["by_node"].values()) == answer["pages"]
    used = {n.os_index for n in MACHINE.numa_nodes if {allowed[0], allowed[-1]} & set(n.pus)}
    assert {int(n) for n in answer["by_node"]} == used


def test_place_runs_a_program_under_a_policy():
    done = subprocess.run(
        [sys.executable, "-m", "nodewise", "place", "os", "--memory", f"bind:{NODES[0]}", "--", "head", "-1", "/proc/self/numa_maps"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert f" bind:{NODES[0]} " in done.stdout
    done = subprocess.run(
        [sys.executable, "-m", "nodewise", "where", "--memory", f"bind:{NODES[0]}", "--", "sleep", "0.5"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "no memory has the policy" in done.stderr or "Nothing ran long enough" in done.stderr
    assert Path("/proc/self/numa_maps").read_text()
