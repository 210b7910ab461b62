# SPDX-License-Identifier: BSD-3-Clause
"""What is read of drivers, governors and counts, from folders written by hand."""

from pathlib import Path

from nodewise.machine.frequencies import read_frequency_control
from tests.machine.frequency_tree import frequency_tree


def test_all_that_the_system_says_is_read(tmp_path: Path) -> None:
    found = read_frequency_control(frequency_tree(tmp_path, [3]), 3)
    assert found is not None
    assert (found.processor, found.driver, found.governor) == (3, "acpi-cpufreq", "schedutil")
    assert found.governors == ("performance", "schedutil", "powersave")
    assert found.frequencies_khz == (3000000, 2000000, 1000000)
    assert (found.least_khz, found.most_khz, found.latency_ns) == (1000000, 3000000, 10000)
    assert found.counted and found.transitions == 15
    assert found.times_s == {"3000000": 2.5, "2000000": 0.07, "1000000": 10.01}
    assert found.changes == {
        "3000000": {"2000000": 5, "1000000": 2},
        "2000000": {"3000000": 4, "1000000": 1},
        "1000000": {"3000000": 3},
    }
    assert found.into_top == {"2000000": 4, "1000000": 3}


def test_a_kernel_that_counts_nothing_and_a_driver_without_steps(tmp_path: Path) -> None:
    root = frequency_tree(tmp_path, [0], counted=False)
    folder = root / "sys/devices/system/cpu/cpu0/cpufreq"
    for name in ("scaling_available_frequencies", "scaling_available_governors", "cpuinfo_transition_latency"):
        (folder / name).unlink()
    found = read_frequency_control(root, 0)
    assert found is not None and not found.counted
    assert (found.transitions, found.times_s, found.frequencies_khz, found.latency_ns) == (None, {}, (), None)
    assert found.governors == ("schedutil",)


def test_without_a_driver_there_is_nothing(tmp_path: Path) -> None:
    root = frequency_tree(tmp_path, [0])
    assert read_frequency_control(root, 1) is None
    (root / "sys/devices/system/cpu/cpu0/cpufreq/scaling_driver").unlink()
    assert read_frequency_control(root, 0) is None
