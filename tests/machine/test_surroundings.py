# SPDX-License-Identifier: BSD-3-Clause
"""What is set on a system, and what happens on it between two looks, read from made trees of /proc and /sys."""

import os
from pathlib import Path

from nodewise.machine.surroundings import read_container, read_surroundings, read_throttled
from nodewise.machine.watch import difference, look
from tests import systems
from tests.systems import write

HERTZ = os.sysconf("SC_CLK_TCK")


def test_a_laptops_clocks_and_power_are_read(tmp_path: Path) -> None:
    s = read_surroundings(write(tmp_path, systems.laptop()))
    assert s.clocks.governors == {"powersave": tuple(range(8))}
    assert s.clocks.preferences == {"balance_power": tuple(range(8))}
    assert (s.clocks.boost, s.clocks.could, s.clocks.idle_latency_us) == (True, 4.8e9, 890)
    # the mouse's battery feeds the mouse
    assert (s.has_battery, s.discharging, s.profile) == (True, "BAT0", "low-power")
    assert s.siblings == ((0, 4), (1, 5), (2, 6), (3, 7))
    assert s.timers == ("apt-daily.timer", "fstrim.timer")
    assert s.running == {"cron": 700, "tracker-miner-f": 801}
    assert s.memory.swaps == ("/swapfile",) and s.memory.swap_used == 900000 * 1024
    assert (s.kernel.huge_pages, s.kernel.huge_page_defrag, s.kernel.same_page_merging) == ("always", "madvise", 1)


def test_a_servers_isolation_is_read(tmp_path: Path) -> None:
    s = read_surroundings(write(tmp_path, systems.server()), [0, 1, 2, 3])
    assert s.kernel.isolated == s.kernel.tickless == tuple(range(2, 16))
    assert s.processors == (0, 1, 2, 3)
    assert (s.memory.nodes, s.kernel.numa_balancing, s.clocks.boost) == (2, 1, False)


def test_a_quota_and_what_it_holds_back_are_read(tmp_path: Path) -> None:
    root = write(tmp_path, systems.job(2_000_000))
    s = read_surroundings(root)
    assert (s.limits.cpu_quota, s.container) == (1.5, "kubernetes")
    before = look(root, 10.0, s.processors)
    write(root, systems.job(2_750_000))
    assert difference(root, before, look(root, 11.0, s.processors)).quota_s == 0.75


def test_a_container_is_none_where_the_kernels_threads_are_seen(tmp_path: Path) -> None:
    files = {".dockerenv": ""}
    assert read_container(write(tmp_path / "in", files)) == ("docker", ".dockerenv: there")
    assert read_container(write(tmp_path / "out", {**files, "proc/2/comm": "kthreadd"})) is None
    group = {"proc/1/cgroup": "0::/lxc/web"}
    assert read_container(write(tmp_path / "lxc", group)) == ("lxc", "proc/1/cgroup: … lxc …")
    assert read_container(write(tmp_path / "none", {"proc/1/cgroup": "0::/"})) is None


def test_heat_is_counted_once_for_each_core_and_package(tmp_path: Path) -> None:
    files = {**systems.common(8, threads=2, nodes=2), **systems.throttle_counts(8, 3, 9)}
    found = read_throttled(write(tmp_path, files), range(8))
    assert sorted(n for n in found.values()) == [3] * 4 + [9] * 2


def test_what_is_not_there_is_not_guessed(tmp_path: Path) -> None:
    s = read_surroundings(tmp_path, [0, 1])
    assert s.processors == (0, 1)
    assert s.clocks.governors == {} and s.clocks.boost is None and s.clocks.idle_latency_us is None
    assert s.pressure is None and s.throttled == {} and s.kernel.clock_source is None and s.smt is None
    empty = look(tmp_path, 0.0, [0])
    w = difference(tmp_path, empty, look(tmp_path, 1.0, [0]))
    assert (w.busy_s, w.busiest, w.interrupts, w.quota_s, w.paged) == ({}, (), (), None, 0)


def test_damaged_files_break_nothing(tmp_path: Path) -> None:
    files = {
        f"{systems.CPU}/isolated": "two to five",
        f"{systems.CPU}/cpu0/cpufreq/scaling_max_freq": "<unsupported>",
        "proc/stat": "cpu0 1 2\ncpu1",
        "proc/interrupts": "nothing of use\n 7: 1 2",
        "proc/77/stat": "77 (half",
        "proc/pressure/cpu": "some",
        "proc/swaps": "",
    }
    root = write(tmp_path, files)
    s = read_surroundings(root, [0])
    assert s.kernel.isolated == () and s.clocks.held_to is None and s.pressure is None
    assert look(root, 0.0, [0]).processes == {}


def stat_line(
    pid: int, name: str, ticks: int, parent: int = 1, processor: int = 2, start: int = 50, flags: int = 0
) -> str:
    fields = ["R", parent, 0, 0, 0, 0, flags, 0, 0, 0, 0, ticks, 0, 0, 0, 20, 0, 1, 0, start, *[0] * 16, processor]
    return f"{pid} ({name}) {' '.join(map(str, fields))}"


INTERRUPTS = """           CPU0       CPU2
 24:         {a}          5  PCI-MSIX-0000:00:02.0   1-edge      virtio1-req.0
LOC:        {b}        900  Local timer interrupts
ERR:          0"""


def test_who_ran_and_what_interrupted_is_reported(tmp_path: Path) -> None:
    before = {
        "proc/stat": "cpu  0 0 0 0 0 0 0 0\ncpu0 0 0 0 0 0 0 0 0 0 0\ncpu2 100 0 0 0 0 0 0 7 0 0\nintr 5",
        "proc/interrupts": INTERRUPTS.format(a=10, b=100),
        "proc/vmstat": "pswpin 5\npswpout 6",
        "proc/pressure/cpu": "some avg10=1.00 avg60=0.00 avg300=0.00 total=1000000",
        "proc/10/stat": stat_line(10, "a (b) c", 1000),
        "proc/11/stat": stat_line(11, "sleeper", 70),
        "proc/12/stat": stat_line(12, "old", 900, start=3),
        "proc/20/stat": stat_line(20, "nodewise", 10),
    }
    after = {
        "proc/stat": f"cpu  0 0 0 0 0 0 0 0\ncpu0 {HERTZ} 0 0 0 0 0 0 0 0 0\ncpu2 100 0 0 0 0 0 0 {7 + HERTZ} 0 0\nintr 5",
        "proc/interrupts": INTERRUPTS.format(a=30, b=350),
        "proc/vmstat": "pswpin 5\npswpout 9",
        "proc/pressure/cpu": "some avg10=1.00 avg60=0.00 avg300=0.00 total=1500000",
        "proc/10/stat": stat_line(10, "a (b) c", 1000 + HERTZ // 2),
        "proc/10/task/10/stat": stat_line(10, "a (b) c", 5, processor=0),
        "proc/10/task/15/stat": stat_line(15, "a (b) c", 5, processor=2),
        # the number of a process that has ended, given to a new one
        "proc/12/stat": stat_line(12, "kworker/0:1", HERTZ // 4, start=90, flags=0x00200000),
        "proc/20/stat": stat_line(20, "nodewise", 10 + HERTZ),
        "proc/21/stat": stat_line(21, "nodewise-spin", HERTZ, parent=20),
    }
    root = write(tmp_path, before)
    first = look(root, 5.0, [0, 2])
    w = difference(write(root, after), first, look(root, 7.0, [0, 2]), own=20)
    assert w.seconds == 2 and w.busy_s == {0: 1.0, 2: 0.0} and w.steal_s == {0: 0.0, 2: 1.0}
    assert [(b.pid, b.name, b.cpu_s, b.processors, b.of_kernel) for b in w.busiest] == [
        (10, "a (b) c", 0.5, (0, 2), False),
        (12, "kworker/0:1", 0.25, (2,), True),
    ]
    assert [(i.line, i.name, dict(i.counts), i.device) for i in w.interrupts] == [
        ("LOC", "Local timer interrupts", {0: 250}, False),
        ("24", "virtio1-req.0", {0: 20}, True),
    ]
    assert w.pressure_s == {"cpu": 0.5} and w.paged == 3
    # all that was busy is less than what it did itself: ticks are counted on one processor or the other
    assert w.own_s == 2 and w.others_s([0, 2]) == 0 == w.unseen_s([0, 2])
    assert difference(root, first, look(root, 7.0, [0, 2])).others_s([0]) == 1.0


def test_heat_that_rises_is_seen(tmp_path: Path) -> None:
    root = write(tmp_path, systems.hot())
    first = look(root, 0.0, range(4))
    w = difference(root, first, look(write(root, systems.hot(core=9)), 1.0, range(4)))
    assert list(w.throttled.values()) == [4] * 4


def test_this_system_is_read_and_watched() -> None:
    s = read_surroundings(Path("/"), os.sched_getaffinity(0))
    assert set(s.processors) <= os.sched_getaffinity(0)
    first = look(Path("/"), 0.0, s.processors)
    end = os.times().user + 0.1
    while os.times().user < end:
        pass
    w = difference(Path("/"), first, look(Path("/"), 1.0, s.processors))
    assert any(b.pid == os.getpid() and b.cpu_s > 0.05 for b in w.busiest)
    assert not any(
        b.pid == os.getpid() for b in difference(Path("/"), first, look(Path("/"), 1.0, [0]), os.getpid()).busiest
    )


def test_what_a_guest_gives_back_is_read(tmp_path: Path) -> None:
    s = read_surroundings(write(tmp_path, systems.guest()))
    assert s.memory.reporting == ("sys/bus/virtio/devices/virtio0/features",) and s.memory.reporting_order == 9
    assert s.memory.reclaiming == {"sys/kernel/mm/damon/admin/kdamonds/0/contexts/0/schemes/1/action": "pageout"}
    write(tmp_path, {"sys/module/damon_reclaim/parameters/enabled": "Y"})
    write(tmp_path, {"sys/bus/virtio/devices/virtio0/features": "01100001" + 120 * "0"})
    s = read_surroundings(tmp_path)
    assert s.memory.reporting == () and s.memory.reclaiming["sys/module/damon_reclaim/parameters/enabled"] == "Y"


def test_autogroups_count_in_the_root_group_alone(tmp_path: Path) -> None:
    s = read_surroundings(write(tmp_path, systems.guest()))
    assert (s.kernel.autogroups, s.kernel.autogroup) == (1, "/autogroup-11 nice 0")
    for groups in ("3:cpu,cpuacct:/job\n0::/", "0::/user.slice/session-3.scope"):
        write(tmp_path, {"proc/self/cgroup": groups})
        assert read_surroundings(tmp_path).kernel.autogroup is None
    assert read_surroundings(write(tmp_path / "other", systems.server())).kernel.autogroups is None
