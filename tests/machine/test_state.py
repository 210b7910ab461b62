# SPDX-License-Identifier: BSD-3-Clause
"""What the system says of itself, read from made trees of /proc and /sys."""

from dataclasses import replace
from pathlib import Path

import pytest

from nodewise.machine.cgroups import read_limits, read_throttling
from nodewise.machine.model import Device
from nodewise.machine.state import named_by_driver, read_hypervisor, read_processor, read_state

GIB = 2**30


def tree(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


V2 = {
    "proc/self/mountinfo": "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
    "proc/self/cgroup": "0::/slurm/job_7\n",
    "sys/fs/cgroup/slurm/job_7/cgroup.procs": "",
}
V1 = {
    "proc/self/mountinfo": (
        "31 23 0:27 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
        "32 23 0:28 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
        "33 23 0:29 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
    ),
    "proc/self/cgroup": "3:memory:/job\n2:cpu,cpuacct:/job\n1:cpuset:/job\n",
    "sys/fs/cgroup/cpuset/job/tasks": "",
    "sys/fs/cgroup/cpu,cpuacct/job/tasks": "",
    "sys/fs/cgroup/memory/job/tasks": "",
}


def test_affinity_alone_limits(tmp_path: Path) -> None:
    limits = read_limits(tree(tmp_path, V2), [3, 9], 64 * GIB)
    assert limits.processors == (3, 9)
    assert limits.cpu_quota is None and limits.memory_bytes is None


def test_a_cpuset_of_version_2_narrows_the_affinity(tmp_path: Path) -> None:
    root = tree(tmp_path, {**V2, "sys/fs/cgroup/slurm/job_7/cpuset.cpus.effective": "4-5\n"})
    assert read_limits(root, range(64), 64 * GIB).processors == (4, 5)


def test_a_cpuset_of_version_1_narrows_the_affinity(tmp_path: Path) -> None:
    root = tree(tmp_path, {**V1, "sys/fs/cgroup/cpuset/job/cpuset.cpus": "0-1,62\n"})
    assert read_limits(root, range(1, 64), 64 * GIB).processors == (1, 62)


@pytest.mark.parametrize(
    ("files", "quota"),
    [
        ({**V2, "sys/fs/cgroup/slurm/job_7/cpu.max": "150000 100000\n"}, 1.5),
        ({**V2, "sys/fs/cgroup/slurm/job_7/cpu.max": "max 100000\n"}, None),
        (
            {
                **V2,
                "sys/fs/cgroup/slurm/job_7/cpu.max": "400000 100000\n",
                "sys/fs/cgroup/slurm/cpu.max": "200000 100000\n",
            },
            2,
        ),
        (
            {
                **V1,
                "sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us": "50000\n",
                "sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us": "100000\n",
            },
            0.5,
        ),
        (
            {
                **V1,
                "sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us": "-1\n",
                "sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us": "100000\n",
            },
            None,
        ),
    ],
)
def test_the_narrowest_quota_on_the_way_up_counts(tmp_path: Path, files: dict[str, str], quota: float | None) -> None:
    assert read_limits(tree(tmp_path, files), range(8), 64 * GIB).cpu_quota == quota


def test_memory_limits_of_both_versions(tmp_path: Path) -> None:
    two = tree(tmp_path / "2", {**V2, "sys/fs/cgroup/slurm/job_7/memory.max": f"{3 * GIB}\n"})
    one = tree(tmp_path / "1", {**V1, "sys/fs/cgroup/memory/job/memory.limit_in_bytes": "9223372036854771712\n"})
    assert read_limits(two, range(8), 64 * GIB).memory_bytes == 3 * GIB
    assert read_limits(one, range(8), 64 * GIB).memory_bytes is None


CPUINFO = "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: A  Processor @ 2.0GHz\ncpu MHz\t\t: 1234.5\nflags\t\t: fpu vme\n"


def test_clocks_governor_and_driver_are_read_where_there_are_any(tmp_path: Path) -> None:
    policy = "sys/devices/system/cpu/cpu0/cpufreq"
    files = {
        "proc/cpuinfo": CPUINFO,
        f"{policy}/scaling_cur_freq": "2100000\n",
        f"{policy}/cpuinfo_max_freq": "3500000\n",
        f"{policy}/scaling_governor": "ondemand\n",
        f"{policy}/scaling_driver": "acpi-cpufreq\n",
        "sys/devices/system/cpu/online": "0\n",
    }
    p = read_processor(tree(tmp_path, files))
    assert (p.model, p.vendor) == ("A Processor @ 2.0GHz", "GenuineIntel")
    assert (p.frequency_hz, p.max_frequency_hz) == (2.1e9, 3.5e9)
    assert (p.governor, p.driver) == ("ondemand", "acpi-cpufreq")


def test_a_virtual_machine_without_cpufreq_says_unknown(tmp_path: Path) -> None:
    p = read_processor(tree(tmp_path, {"proc/cpuinfo": CPUINFO}))
    assert p.governor is None and p.driver is None and p.max_frequency_hz is None


def test_a_hypervisor_is_seen_by_the_processors_flag(tmp_path: Path) -> None:
    assert read_hypervisor(tree(tmp_path / "bare", {"proc/cpuinfo": CPUINFO})) is None
    virtual = {"proc/cpuinfo": CPUINFO.replace("vme", "hypervisor"), "sys/class/dmi/id/sys_vendor": "QEMU\n"}
    assert "QEMU" in (read_hypervisor(tree(tmp_path / "virtual", virtual)) or "")


def test_the_mode_of_huge_pages_is_the_bracketed_one(tmp_path: Path) -> None:
    enabled = {
        "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
        "proc/meminfo": "MemTotal: 1024 kB\n",
    }
    state = read_state(tree(tmp_path, enabled), [0])
    assert state.transparent_huge_pages == "madvise"
    assert state.memory_bytes == 2**20


def test_an_empty_system_reports_nothing_and_breaks_nothing(tmp_path: Path) -> None:
    state = read_state(tmp_path, [0, 1])
    assert state.limits.processors == (0, 1)
    assert state.transparent_huge_pages is None


@pytest.mark.parametrize(
    ("cpuinfo", "flags"),
    [
        (
            "processor\t: 0\nflags\t\t: fpu avx2 fma\nvmx flags\t: vnmi\n\nprocessor\t: 1\nflags\t\t: fpu\n",
            ("avx2", "fma", "fpu"),
        ),
        ("processor\t: 0\nFeatures\t: fp asimd sve\n", ("asimd", "fp", "sve")),
        ("processor\t: 0\n", ()),
    ],
)
def test_flags_are_those_of_the_first_processor(tmp_path: Path, cpuinfo: str, flags: tuple[str, ...]) -> None:
    assert read_processor(tree(tmp_path, {"proc/cpuinfo": cpuinfo})).flags == flags


@pytest.mark.parametrize(("limit", "kept"), [(64 * GIB, None), (64 * GIB - 1, 64 * GIB - 1), (65 * GIB, None)])
def test_a_limit_of_all_the_memory_is_none(tmp_path: Path, limit: int, kept: int | None) -> None:
    root = tree(tmp_path, {**V2, "sys/fs/cgroup/slurm/job_7/memory.max": f"{limit}\n"})
    assert read_limits(root, range(8), 64 * GIB).memory_bytes == kept


def test_time_that_quotas_held_back_is_in_seconds_in_both_versions(tmp_path: Path) -> None:
    two = {**V2, "sys/fs/cgroup/slurm/job_7/cpu.stat": "nr_throttled 3\nthrottled_usec 2500000\n"}
    two["sys/fs/cgroup/slurm/cpu.stat"] = "throttled_usec 500000\n"
    one = {**V1, "sys/fs/cgroup/cpu,cpuacct/job/cpu.stat": "nr_throttled 3\nthrottled_time 2500000000\n"}
    # of the group and of those above it
    assert read_throttling(tree(tmp_path / "2", two)) == pytest.approx(3.0)
    assert read_throttling(tree(tmp_path / "1", one)) == pytest.approx(2.5)
    assert read_throttling(tree(tmp_path / "0", V2)) is None


def test_a_gpu_has_the_model_that_its_driver_gives_it(tmp_path: Path) -> None:
    told = tmp_path / "proc/driver/nvidia/gpus/0000:00:06.0/information"
    told.parent.mkdir(parents=True)
    told.write_text("Model: \t\t NVIDIA H200\nIRQ:   \t\t 41\n")
    gpu = Device("gpu0", "gpu", (0, 1), "0000:00:06.0", "10de 2335")
    assert named_by_driver(tmp_path, gpu) == replace(gpu, model="NVIDIA H200")
    # another one, one that is on no bus, and one of another kind stay as they are
    for other in (replace(gpu, bus="0000:00:07.0"), replace(gpu, bus=""), replace(gpu, kind="network")):
        assert named_by_driver(tmp_path, other) == other


def test_a_group_that_is_seen_from_outside_of_it_is_the_top_of_what_is_mounted(tmp_path: Path) -> None:
    """Within a namespace of groups the path of one beside it climbs: nothing outside of the mount is its limit."""
    files = {
        "proc/self/mountinfo": "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
        "proc/self/cgroup": "0::/../other\n",
        "sys/fs/cgroup/cpu.max": "max 100000\n",
        "sys/fs/other/cpu.max": "50000 100000\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert read_limits(tmp_path, (0, 1), 1 << 30).cpu_quota is None
