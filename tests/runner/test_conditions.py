# SPDX-License-Identifier: BSD-3-Clause
"""What a sample carries of its conditions, from a copy of a system that the program itself changes while it runs."""

import os
import sys
import time
from pathlib import Path

import pytest

from nodewise.runner.launcher import RunOptions
from nodewise.runner.local import LocalLauncher
from nodewise.runner.marks import find_marks
from nodewise.runner.sample import Sample
from nodewise.runner.setting import Setting

HERTZ = os.sysconf("SC_CLK_TCK")
HERE = sorted(os.sched_getaffinity(0))


def stat(busy: dict[int, float], steal: dict[int, float]) -> str:
    """A /proc/stat of four processors or two more than there are."""

    def line(name: str, b: float, s: float) -> str:
        return f"{name} {round(b * HERTZ)} 0 0 1000 7 0 0 {round(s * HERTZ)} 0 0\n"

    rest = [line(f"cpu{p}", busy.get(p, 0), steal.get(p, 0)) for p in range(max(4, HERE[-1] + 3))]
    return line("cpu ", sum(busy.values()), sum(steal.values())) + "".join(rest) + "intr 12345\n"


def run_amid(
    tmp_path: Path,
    before: dict[str, str],
    after: dict[str, str],
    mask: tuple[int, ...] | None = None,
    options: RunOptions | None = None,
) -> Sample:
    """Run a program that turns the files of `before` into those of `after`."""
    root = tmp_path / "root"
    for name, text in before.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    code = f"import time\nfor n, t in {after!r}.items(): open({str(root)!r} + '/' + n, 'w').write(t)\ntime.sleep(0.1)"
    with LocalLauncher(options, root=root) as launcher:
        sample = launcher.run(Setting(command=(sys.executable, "-c", code), mask=mask))
    assert sample.ok
    return sample


def kinds(sample: Sample) -> set[str]:
    return {m.partition(":")[0] for m in sample.marks} - {"paging"}


def test_load_and_steal_are_distinguished_by_processor(tmp_path: Path) -> None:
    first = HERE[0]
    other = next(p for p in range(4) if p != first)
    before = {"proc/stat": stat({}, {})}
    sample = run_amid(tmp_path, before, {"proc/stat": stat({first: 2, other: 5}, {other: 3})}, mask=(first,))
    assert sample.conditions["busy_s"] == 7 and sample.conditions["steal_s"] == 3
    assert sample.conditions["mask_busy_s"] == 2 and sample.conditions["mask_steal_s"] == 0
    # taken from processors that it does not use: no harm
    assert "steal" not in kinds(sample)


def test_steal_on_its_own_processor_marks_a_sample(tmp_path: Path) -> None:
    first = HERE[0]
    after = {"proc/stat": stat({first: 0.1}, {first: 1})}
    assert "steal" in kinds(run_amid(tmp_path, {"proc/stat": stat({}, {})}, after, mask=(first,)))
    assert "steal" in kinds(run_amid(tmp_path, {"proc/stat": stat({}, {})}, after))


def test_without_a_mask_what_may_be_used_is_looked_at(tmp_path: Path) -> None:
    busy = dict.fromkeys(range(HERE[-1] + 3), 1.0)
    sample = run_amid(tmp_path, {"proc/stat": stat({}, {})}, {"proc/stat": stat(busy, {})})
    assert sample.conditions["processors"] == len(HERE)
    assert sample.conditions["mask_busy_s"] == len(HERE) and sample.conditions["busy_s"] == len(busy)


def test_load_on_the_memory_of_a_run_is_reported_where_it_is_asked_for(tmp_path: Path) -> None:
    first, far = HERE[0], HERE[-1] + 1
    before, after = {"proc/stat": stat({}, {})}, {"proc/stat": stat({far: 2, far + 1: 5}, {})}
    for domain, seen in (((), None), ((far,), 2.0), ((first, far, far + 1), 7.0)):
        sample = run_amid(tmp_path, before, after, (first,), RunOptions(domain=domain))
        assert sample.conditions.get("domain_busy_s") == seen
        # a run that had to wait besides is reported to have done so
        assert ("other load" in kinds(sample)) or not seen


def test_load_on_the_memory_of_a_run_is_that_of_its_own_processors_too(tmp_path: Path) -> None:
    first, far = HERE[0], HERE[-1] + 1
    before, after = {"proc/stat": stat({}, {})}, {"proc/stat": stat({first: 3, far: 2}, {})}
    sample = run_amid(tmp_path, before, after, (first,), RunOptions(domain=(first, far)))
    assert (sample.conditions["mask_busy_s"], sample.conditions["domain_busy_s"]) == (3.0, 5.0)


def test_what_may_be_used_is_what_this_process_may_use(tmp_path: Path) -> None:
    if len(HERE) < 2:
        pytest.skip("it takes two processors to leave one")
    os.sched_setaffinity(0, HERE[:1])
    try:
        busy = dict.fromkeys(HERE, 1.0)
        conditions = run_amid(tmp_path, {"proc/stat": stat({}, {})}, {"proc/stat": stat(busy, {})}).conditions
    finally:
        os.sched_setaffinity(0, HERE)
    assert conditions["processors"] == conditions["mask_busy_s"] == 1


@pytest.mark.parametrize("number", [10, 19, 123])
def test_processors_are_numbered_by_tens(tmp_path: Path, number: int) -> None:
    def text(seconds: int) -> str:
        rest = "".join(
            f"cpu{p} {9 * seconds * HERTZ} 0 0 0 0 0 0 0\n" for p in range(300) if p not in (HERE[0], number)
        )
        own = f"cpu{HERE[0]} 0 0 0 0 0 0 0 0\ncpu{number} {seconds * HERTZ} 0 0 0 0 0 0 0\n"
        return f"cpu  0 0 0 0 0 0 0 0\n{own}{rest}"[:4000].rpartition("\n")[0] + "\n"

    options = RunOptions(domain=(number,))
    conditions = run_amid(tmp_path, {"proc/stat": text(0)}, {"proc/stat": text(2)}, (HERE[0],), options).conditions
    assert conditions["domain_busy_s"] == 2 and conditions["mask_busy_s"] == 0


def test_what_is_ready_to_run_is_counted_without_the_one_that_asks(tmp_path: Path) -> None:
    text = "2.80 1.69 1.26 {}/100 25932\n"
    sample = run_amid(tmp_path, {"proc/loadavg": text.format(1)}, {"proc/loadavg": text.format(4)})
    assert sample.conditions["ready"] == 1.5


@pytest.mark.parametrize(
    ("before", "after", "ready"),
    [
        ("0.5 0.5 0.5 1/9 1\n", "0.5 0.5 0.5 1/9 1\n", 0),
        ("0.5 0.5 0.5 0/9 1\n", "0.5 0.5 0.5 13/900 1\n", 6),
        ("0.5 0.5 0.5\n", "0.5 0.5 0.5\n", 0),
        ("", "7/9\n", 0),
    ],
)
def test_of_what_is_ready_to_run_nothing_is_guessed(tmp_path: Path, before: str, after: str, ready: float) -> None:
    conditions = run_amid(tmp_path, {"proc/loadavg": before}, {"proc/loadavg": after}).conditions
    assert conditions["ready"] == ready
    assert conditions["load_average"] == {"0": 0.5, "7": 7.0}[after[0]]


def test_a_load_that_is_no_number_is_none(tmp_path: Path) -> None:
    for text in ("pear\n", "1e31 0 0 1/2 3\n", "nan 0 0 1/2 3\n", "-1e31 0 0 1/2 3\n"):
        sample = run_amid(tmp_path, {"proc/loadavg": text}, {})
        assert sample.conditions["load_average"] == 0, text
    sample = run_amid(tmp_path, {"proc/loadavg": "1e29 0 0 1/2 3\n"}, {})
    assert sample.conditions["load_average"] == 1e29


def test_idle_time_and_waiting_for_disks_are_no_work(tmp_path: Path) -> None:
    def text(*ticks: int) -> str:
        fields = " ".join(str(t * HERTZ) for t in ticks)
        return f"cpu  {fields} 0 0\ncpu{HERE[0]} {fields} 0 0\nintr 1\n"

    # user, nice, system, idle, iowait, irq, softirq, steal
    before, after = text(*range(8)), text(1, 3, 6, 103, 204, 10, 16, 71)
    sample = run_amid(tmp_path, {"proc/stat": before}, {"proc/stat": after}, mask=(HERE[0],))
    assert sample.conditions["busy_s"] == sample.conditions["mask_busy_s"] == 1 + 2 + 4 + 5 + 10
    assert sample.conditions["steal_s"] == sample.conditions["mask_steal_s"] == 64


@pytest.mark.parametrize("text", ["cpux 1 1 1 1 1 1 1 1\n", "cpu  1 1 1\n", "", "intr 5\ncpu  1 1 1 1 1 1 1 1\n"])
def test_a_stat_that_is_none_says_nothing(tmp_path: Path, text: str) -> None:
    conditions = run_amid(tmp_path, {"proc/stat": text}, {"proc/stat": text}).conditions
    assert not {"busy_s", "steal_s", "mask_busy_s", "mask_steal_s", "domain_busy_s"} & conditions.keys()


def test_a_processor_whose_line_is_cut_off_says_nothing_of_the_mask(tmp_path: Path) -> None:
    text = f"cpu  1 1 1 1 1 1 1 1\ncpu{HERE[0]} 1 1 1\nintr 5\n"
    conditions = run_amid(tmp_path, {"proc/stat": text}, {"proc/stat": text}, mask=(HERE[0],)).conditions
    assert "busy_s" in conditions and "mask_busy_s" not in conditions


def test_where_one_of_the_mask_is_not_shown_nothing_is_said_of_the_others(tmp_path: Path) -> None:
    text = f"cpu  1 1 1 1 1 1 1 1\ncpu{HERE[0]} 1 1 1 1 1 1 1 1\nintr 5\n"
    sample = run_amid(tmp_path, {"proc/stat": text}, {"proc/stat": text}, mask=tuple(HERE))
    assert ("mask_busy_s" in sample.conditions) is (len(HERE) == 1)


def test_a_long_stat_is_read_as_far_as_each_processor_may_have_a_long_line(tmp_path: Path) -> None:
    room = 4096 + 128 * os.sysconf("SC_NPROCESSORS_CONF")
    own = f"cpu{HERE[0]} 5 0 0 0 0 0 0 0\n"
    text = "cpu  9 0 0 0 0 0 0 0\n"
    text += "cpu9000 " + "1" * (room - len(text) - len(own) - 9) + "\n"
    for more, seen in ((own, True), (" " * len(own) + own, False)):
        text_now = text + more
        conditions = run_amid(tmp_path, {"proc/stat": text_now}, {"proc/stat": text_now}, mask=(HERE[0],)).conditions
        assert ("mask_busy_s" in conditions) is seen and "busy_s" in conditions


def test_of_a_number_31_digits_are_read(tmp_path: Path) -> None:
    name = f"sys/devices/system/cpu/cpu{HERE[0]}/cpufreq/scaling_cur_freq"
    for text, hertz in (("2500000".rjust(31, "0"), 2.5e9), ("2500000".rjust(32, "0"), 2.5e8), ("7", 7e3)):
        conditions = run_amid(tmp_path, {name: text}, {}, mask=(HERE[0],)).conditions
        if "cycles" in conditions:
            pytest.skip("the cycles are counted here, so that nobody asks for the clock")
        assert conditions["frequency_hz"] == hertz


def test_no_file_stays_open_and_no_look_takes_long(tmp_path: Path) -> None:
    root = tmp_path / "root"
    for p in HERE:
        path = root / f"sys/devices/system/cpu/cpu{p}/cpufreq/scaling_cur_freq"
        path.parent.mkdir(parents=True)
        path.write_text("2000000\n")
    (root / "proc").mkdir()
    (root / "proc/loadavg").write_text("9.0 9.0 9.0 9/99 5\n")
    open_files = []
    with LocalLauncher(root=root) as launcher:
        for _ in range(4):
            began = time.monotonic()
            sample = launcher.run(Setting(command=("true",), mask=tuple(HERE)))
            assert sample.ok and sample.conditions["ready"] == 8 and time.monotonic() - began < 3
            assert launcher._runner is not None
            guard = launcher._runner.pid
            children = Path(f"/proc/{guard}/task/{guard}/children").read_text().split()
            open_files.append([sorted(Path(f"/proc/{p}/fd").iterdir()) for p in (guard, *children)])
    assert open_files[1:] == open_files[:-1]


@pytest.mark.parametrize(
    ("which", "text", "seconds"),
    [
        ("cpu", "some avg10=0.00 total=2500000\nfull avg10=0.00 total=7000000\n", 2.5),
        ("io", "some avg10=0.00 total=1\n", 1e-6),
        ("memory", "some avg10=0.00\nfull avg10=0.00 total=7000000\n", None),
        ("memory", "some avg10=0.00 total=x\n", 0.0),
        ("memory", "", None),
    ],
)
def test_pressure_is_that_of_some(tmp_path: Path, which: str, text: str, seconds: float | None) -> None:
    file = f"proc/pressure/{which}"
    before = text.replace("2500000", "0").replace("total=1\n", "total=0\n") if seconds else text
    conditions = run_amid(tmp_path, {file: before}, {file: text}).conditions
    assert conditions.get(f"pressure_{which}_s") == (None if seconds is None else pytest.approx(seconds, abs=1e-9))


def test_the_clock_is_the_mean_of_those_that_show_one(tmp_path: Path) -> None:
    def shown(*texts: str) -> dict[str, str]:
        return {
            f"sys/devices/system/cpu/cpu{p}/cpufreq/scaling_cur_freq": text
            for p, text in zip(HERE, texts, strict=False)
        }

    first = run_amid(tmp_path / "a", shown("2000000\n", "3000000\n"), {}, mask=(HERE[0],)).conditions
    if "cycles" in first:
        pytest.skip("the cycles are counted here, so that nobody asks for the clock")
    assert first["frequency_hz"] == 2e9
    if len(HERE) > 1:
        both = run_amid(tmp_path / "b", shown("2000000\n", "3000000\n"), {}, mask=tuple(HERE[:2])).conditions
        assert both["frequency_hz"] == 2.5e9
        one = run_amid(tmp_path / "c", shown("<unknown>\n", "3000000\n"), {}, mask=tuple(HERE[:2])).conditions
        assert one["frequency_hz"] == 3e9
    none = run_amid(tmp_path / "d", shown("<unknown>\n"), {}, mask=(HERE[0],)).conditions
    assert "frequency_hz" not in none


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


@pytest.mark.parametrize(
    ("groups", "files", "throttled"),
    [
        # of version 1 the line of the controller counts, wherever it is mounted
        ("4:memory:/a\n3:cpuset,cpu:/a\n0::/b\n", {"cpu/a/cpu.stat": "throttled_time {}000000000\n"}, 3),
        ("3:cpu,cpuacct:/a\n", {"cpu,cpuacct/a/cpu.stat": "throttled_time {}000000000\n"}, 3),
        ("3:cpuset:/a\n", {"cpu/a/cpu.stat": "throttled_time {}000000000\n"}, None),
        ("garbage\n1:cpu\n0::/a\n", {"a/cpu.stat": "nr_throttled 4\nthrottled_usec {}000000\n"}, 3),
        ("0::/a\n", {"a/cpu.stat": "nr_throttled {}\n"}, 0),
        ("0::/a\n", {}, None),
        ("", {"cpu.stat": "throttled_usec {}000000\n"}, None),
        # groups above count where they have a quota
        ("0::/a/b\n", {"a/b/cpu.stat": "x\n", "a/cpu.stat": "throttled_usec {}000000\n"}, 0),
        (
            "0::/a/b\n",
            {"a/b/cpu.stat": "x\n", "a/cpu.stat": "throttled_usec {}000000\n", "a/cpu.cfs_quota_us": "-1\n"},
            0,
        ),
        (
            "0::/a/b\n",
            {"a/b/cpu.stat": "x\n", "a/cpu.stat": "throttled_usec {}000000\n", "a/cpu.cfs_quota_us": "5\n"},
            3,
        ),
        ("0::/a/b\n", {"a/b/cpu.stat": "x\n", "cpu.stat": "throttled_usec {}000000\n", "cpu.max": "9 10\n"}, 3),
    ],
)
def test_throttling_is_that_of_its_own_group_and_of_those_that_limit_it(
    tmp_path: Path, groups: str, files: dict[str, str], throttled: float | None
) -> None:
    def written(seconds: int) -> dict[str, str]:
        return {f"sys/fs/cgroup/{name}": text.format(seconds) for name, text in files.items()}

    conditions = run_amid(tmp_path, {"proc/self/cgroup": groups, **written(1)}, written(4)).conditions
    assert conditions.get("throttled_s") == throttled


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


@pytest.mark.parametrize(("cores", "counted"), [(64, 64 + 2), (65, 2)])
def test_of_very_many_cores_the_packages_heat_counts(tmp_path: Path, cores: int, counted: int) -> None:
    cpu = "sys/devices/system/cpu/cpu{}"
    before: dict[str, str] = {}
    after: dict[str, str] = {}
    for p in range(cores):
        before |= {
            f"{cpu.format(p)}/topology/physical_package_id": f"{p % 2}\n",
            f"{cpu.format(p)}/topology/core_id": f"{p // 2}\n",
        }
        for kind in ("core", "package"):
            name = f"{cpu.format(p)}/thermal_throttle/{kind}_throttle_count"
            before[name], after[name] = "5\n", "6\n"
    assert run_amid(tmp_path, before, after).conditions["heat_events"] == counted


def test_without_counters_of_heat_nothing_is_said_of_it(tmp_path: Path) -> None:
    before = {"sys/devices/system/cpu/cpu0/topology/core_id": "0\n"}
    assert "heat_events" not in run_amid(tmp_path, before, {}).conditions


def test_pressure_on_memory_marks_a_sample(tmp_path: Path) -> None:
    text = "some avg10=0.00 avg60=0.00 avg300=0.00 total={}\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"
    sample = run_amid(tmp_path, {"proc/pressure/memory": text.format(0)}, {"proc/pressure/memory": text.format(500000)})
    assert sample.conditions["pressure_memory_s"] == 0.5
    assert "memory pressure" in kinds(sample)


def test_a_program_that_binds_itself_elsewhere_is_reported() -> None:
    if len(HERE) < 2:
        pytest.skip("it takes two processors to leave one")
    code = f"import os; os.sched_setaffinity(0, {{{HERE[1]}}})"
    with LocalLauncher() as launcher:
        left = launcher.run(Setting(command=(sys.executable, "-c", code), mask=(HERE[0],)))
        stayed = launcher.run(Setting(command=(sys.executable, "-c", code), mask=tuple(HERE[:2])))
        free = launcher.run(Setting(command=(sys.executable, "-c", code)))
    assert any(m.startswith(f"rebound: it bound itself to {HERE[1]},") for m in left.marks)
    assert "rebound" not in kinds(stayed) | kinds(free)


def test_time_used_off_the_mask_is_reported() -> None:
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
