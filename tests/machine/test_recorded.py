# SPDX-License-Identifier: BSD-3-Clause
"""A machine as `./dev guest` showed it: 2 × 8 cores × 4 hardware threads, and a faster NUMA node without processors."""

import json
from pathlib import Path

from nodewise.machine.sources import load_machine
from nodewise.placement.memory import MemoryPolicy, fast_nodes, read_memory
from nodewise.report.drawings.machine import machine_svg
from nodewise.report.text.machine import machine_text
from nodewise.tuning.options import Options
from tests.started import started

GUEST = load_machine(str(Path(__file__).parent / "recorded/guest-2x8x4.json"))


def test_the_recorded_guest_is_read():
    assert (len(GUEST.cores), len(GUEST.allowed)) == (16, 64)
    assert [len(n.pus) for n in GUEST.numa_nodes] == [32, 32, 0]
    assert GUEST.distances == ((10, 21, 31), (21, 10, 41), (31, 41, 10))
    assert GUEST.limits.nodes == (0, 1, 2)


def test_version_1_called_the_socket_of_a_core_its_package(tmp_path):
    assert [c.socket for c in GUEST.cores] == 8 * [0] + 8 * [1]
    (tmp_path / "now.json").write_text(json.dumps(GUEST.to_json()))
    assert load_machine(f"{tmp_path}/now.json").cores == GUEST.cores


def test_its_fast_memory_is_known_by_its_bandwidth():
    assert [n.bandwidth_mib_s for n in GUEST.numa_nodes][2] > 4 * GUEST.numa_nodes[0].bandwidth_mib_s
    assert fast_nodes(GUEST)[0] == (2,)
    assert read_memory(GUEST, "interleave:normal") == MemoryPolicy("interleave", (0, 1))
    assert "bind:fast" in Options(GUEST, ["app"], ["memory"], {}).space.axes[0].values


def test_it_is_drawn_with_the_node_that_has_no_processors():
    assert "NUMA node 2: 342.8 MiB, no processors" in machine_text(GUEST)
    assert "Memory 2" in machine_svg(GUEST, None) and "no processors of its own" in machine_svg(GUEST, None)


def test_the_machine_command_says_which_memory_is_fast():
    file = str(Path(__file__).parent / "recorded/guest-2x8x4.json")
    printed = started("machine", "--machine", file).stdout
    assert "fast       NUMA nodes 2: the firmware promises 409600 MiB/s there, which is the most" in printed
