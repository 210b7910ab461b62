# SPDX-License-Identifier: BSD-3-Clause
"""What a sample carries of its conditions, from a copy of a system that the program itself changes while it runs."""

import os
import sys
from pathlib import Path

import pytest

from nodewise.runner.local import LocalLauncher
from nodewise.runner.marks import find_marks
from nodewise.runner.sample import Sample
from nodewise.runner.setting import Setting

HERTZ = os.sysconf("SC_CLK_TCK")
HERE = sorted(os.sched_getaffinity(0))


def stat(busy: dict[int, float], steal: dict[int, float]) -> str:
    """A /proc/stat of four processors."""

    def line(name: str, b: float, s: float) -> str:
        return f"{name} {round(b * HERTZ)} 0 0 1000 7 0 0 {round(s * HERTZ)} 0 0\n"

    rest = [line(f"cpu{p}", busy.get(p, 0), steal.get(p, 0)) for p in range(max(4, HERE[-1] + 1))]
    return line("cpu ", sum(busy.values()), sum(steal.values())) + "".join(rest) + "intr 12345\n"


def run_amid(
    tmp_path: Path, before: dict[str, str], after: dict[str, str], mask: tuple[int, ...] | None = None
) -> Sample:
    """Run a program that turns the files of `before` into those of `after`."""
    root = tmp_path / "root"
    for name, text in before.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    code = f"import time\nfor n, t in {after!r}.items(): open({str(root)!r} + '/' + n, 'w').write(t)\ntime.sleep(0.1)"
    with LocalLauncher(root=root) as launcher:
        sample = launcher.run(Setting(command=(sys.executable, "-c", code), mask=mask))
    assert sample.ok
    return sample


def kinds(sample: Sample) -> set[str]:
    return {m.partition(":")[0] for m in sample.marks} - {"paging"}


def test_load_and_steal_are_told_apart_by_processor(tmp_path: Path) -> None:
    first = HERE[0]
    other = next(p for p in range(4) if p != first)
    before = {"proc/stat": stat({}, {})}
    sample = run_amid(tmp_path, before, {"proc/stat": stat({first: 2, other: 5}, {other: 3})}, mask=(first,))
    assert sample.conditions["busy_s"] == 7 and sample.conditions["steal_s"] == 3
    assert sample.conditions["mask_busy_s"] == 2 and sample.conditions["mask_steal_s"] == 0
    # stolen from processors that it does not use: no harm
    assert kinds(sample) == {"other load"}
    assert "of it on its own processors" in sample.marks[-1] or any("of it on its own" in m for m in sample.marks)


def test_steal_on_its_own_processor_marks_a_sample(tmp_path: Path) -> None:
    first = HERE[0]
    after = {"proc/stat": stat({first: 0.1}, {first: 1})}
    assert "steal" in kinds(run_amid(tmp_path, {"proc/stat": stat({}, {})}, after, mask=(first,)))
    assert "steal" in kinds(run_amid(tmp_path, {"proc/stat": stat({}, {})}, after))


def test_without_a_mask_there_is_nothing_of_a_mask(tmp_path: Path) -> None:
    sample = run_amid(tmp_path, {"proc/stat": stat({}, {})}, {"proc/stat": stat({0: 1}, {})})
    assert "mask_busy_s" not in sample.conditions and sample.conditions["busy_s"] == 1


def test_a_short_stat_says_nothing_of_the_mask(tmp_path: Path) -> None:
    text = "cpu  10 0 0 1000 7 0 0 0 0 0\nintr 1\n"
    sample = run_amid(tmp_path, {"proc/stat": text}, {"proc/stat": text}, mask=(HERE[0],))
    assert sample.conditions["busy_s"] == 0 and "mask_busy_s" not in sample.conditions


@pytest.mark.parametrize(
    ("group", "mount", "quota"),
    [
        (
            "0::/slurm/job/step\n",
            "sys/fs/cgroup",
            {"slurm/job/cpu.max": "150000 100000\n", "slurm/cpu.max": "max 100000\n"},
        ),
        ("2:cpu,cpuacct:/slurm/job/step\n", "sys/fs/cgroup/cpu", {"slurm/job/cpu.cfs_quota_us": "150000\n"}),
    ],
)
def test_throttling_counts_where_the_quota_is(tmp_path: Path, group: str, mount: str, quota: dict[str, str]) -> None:
    def text(seconds: float) -> str:
        return (
            f"usage_usec 5\nthrottled_usec {seconds * 1e6:.0f}\n"
            if "::" in group
            else f"throttled_time {seconds * 1e9:.0f}\n"
        )

    files = {f"{mount}/{name}": t for name, t in quota.items()} | {"proc/self/cgroup": group}
    before = files | {f"{mount}/slurm{d}/cpu.stat": text(1) for d in ("", "/job", "/job/step")}
    after = {f"{mount}/slurm/cpu.stat": text(9), f"{mount}/slurm/job/cpu.stat": text(3)}
    sample = run_amid(tmp_path, before, after)
    assert sample.conditions["throttled_s"] == pytest.approx(2)
    assert "throttled" in kinds(sample)


def test_a_container_sees_its_own_group_as_the_top(tmp_path: Path) -> None:
    before = {"proc/self/cgroup": "0::/docker/abc\n", "sys/fs/cgroup/cpu.stat": "throttled_usec 0\n"}
    sample = run_amid(tmp_path, before, {"sys/fs/cgroup/cpu.stat": "throttled_usec 5000000\n"})
    assert sample.conditions["throttled_s"] == pytest.approx(5)


def test_heat_counts_once_for_each_core_and_package(tmp_path: Path) -> None:
    cpu = "sys/devices/system/cpu/cpu{}"
    before = {}
    for p in range(4):
        before |= {
            f"{cpu.format(p)}/topology/physical_package_id": "0\n",
            f"{cpu.format(p)}/topology/core_id": f"{p % 2}\n",
            f"{cpu.format(p)}/thermal_throttle/core_throttle_count": "7\n",
            f"{cpu.format(p)}/thermal_throttle/package_throttle_count": "20\n",
        }
    # the counters of a core's hardware threads, and of a package's processors, rise together
    after = {f"{cpu.format(p)}/thermal_throttle/core_throttle_count": "9\n" for p in (1, 3)}
    after |= {f"{cpu.format(p)}/thermal_throttle/package_throttle_count": "23\n" for p in range(4)}
    sample = run_amid(tmp_path, before, after)
    assert sample.conditions["heat_events"] == 2 + 3
    assert "heat" in kinds(sample)


def test_without_counters_of_heat_nothing_is_said_of_it(tmp_path: Path) -> None:
    before = {"sys/devices/system/cpu/cpu0/topology/core_id": "0\n"}
    assert "heat_events" not in run_amid(tmp_path, before, {}).conditions


def test_pressure_on_memory_marks_a_sample(tmp_path: Path) -> None:
    text = "some avg10=0.00 avg60=0.00 avg300=0.00 total={}\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"
    sample = run_amid(tmp_path, {"proc/pressure/memory": text.format(0)}, {"proc/pressure/memory": text.format(500000)})
    assert sample.conditions["pressure_memory_s"] == 0.5
    assert "memory pressure" in kinds(sample)


def test_a_program_that_binds_itself_elsewhere_is_told() -> None:
    if len(HERE) < 2:
        pytest.skip("it takes two processors to leave one")
    code = f"import os; os.sched_setaffinity(0, {{{HERE[1]}}})"
    with LocalLauncher() as launcher:
        left = launcher.run(Setting(command=(sys.executable, "-c", code), mask=(HERE[0],)))
        stayed = launcher.run(Setting(command=(sys.executable, "-c", code), mask=tuple(HERE[:2])))
        free = launcher.run(Setting(command=(sys.executable, "-c", code)))
    assert any(m.startswith(f"rebound: it bound itself to {HERE[1]},") for m in left.marks)
    assert "rebound" not in kinds(stayed) | kinds(free)


def test_time_used_off_the_mask_is_told() -> None:
    if len(HERE) < 2:
        pytest.skip("it takes two processors to leave one")
    # a child leaves, which its parent's own mask does not show
    inner = f"import os, time; os.sched_setaffinity(0, {{{HERE[1]}}})\nwhile time.process_time() < 0.6: pass"
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {inner!r}])"
    usage, conditions = {"user_s": 0.6, "system_s": 0.0}, {"busy_s": 0.6, "mask_busy_s": 0.02}
    assert any(m.startswith("outside: it ran for at least 580 ms") for m in find_marks(0.7, usage, conditions))
    with LocalLauncher() as launcher:
        sample = launcher.run(Setting(command=(sys.executable, "-c", code), mask=(HERE[0],)))
    assert sample.conditions["busy_s"] > 0.3


def test_the_clock_is_held_against_its_base() -> None:
    held = {"frequency_hz": 1.2e9, "base_frequency_hz": 2.5e9}
    assert find_marks(1.0, {}, held) == ("clock: 1.20 GHz on the average, below its base of 2.50 GHz",)
    assert find_marks(1.0, {}, {**held, "frequency_hz": 3.1e9}) == ()
    # a clock looked at after the run says nothing of it
    assert find_marks(1.0, {}, {"frequency_hz": 1.2e9}) == ()


def test_marks_begin_with_their_kind_and_nothing_is_marked_without_cause() -> None:
    assert (
        find_marks(1.0, {"user_s": 1.0}, {"busy_s": 1.01, "steal_s": 0.0, "throttled_s": 0.0, "heat_events": 0.0}) == ()
    )
    every = find_marks(
        1.0,
        {"user_s": 1.0, "major_faults": 3.0},
        {
            "busy_s": 9.0,
            "steal_s": 1.0,
            "throttled_s": 1.0,
            "heat_events": 1.0,
            "pressure_memory_s": 1.0,
            "frequency_hz": 1e9,
            "base_frequency_hz": 2e9,
        },
        (4, 5),
    )
    found = [m.partition(":")[0] for m in every]
    assert found == ["steal", "other load", "memory pressure", "throttled", "heat", "clock", "paging", "rebound"]
