# SPDX-License-Identifier: BSD-3-Clause
"""A system's folders for processors whose frequency a driver sets, written by hand after Documentation/admin-guide/pm/cpufreq.rst."""

from collections.abc import Iterable
from pathlib import Path

TABLE = """   From  :    To
         :   3000000   2000000   1000000
  3000000:         0         5         2
  2000000:         4         0         1
  1000000:         3         0         0
"""


def frequency_tree(root: Path, processors: Iterable[int], counted: bool = True) -> Path:
    """The folder below which the files lie, which hold what is written to them and count nothing further."""
    for processor in processors:
        folder = root / f"sys/devices/system/cpu/cpu{processor}/cpufreq"
        (folder / "stats").mkdir(parents=True)
        values = {
            "scaling_driver": "acpi-cpufreq",
            "scaling_governor": "schedutil",
            "scaling_available_governors": "performance schedutil powersave",
            "scaling_available_frequencies": "3000000 2000000 1000000",
            "scaling_min_freq": "1000000",
            "scaling_max_freq": "3000000",
            "cpuinfo_transition_latency": "10000",
        }
        for name, value in values.items():
            (folder / name).write_text(value + "\n")
        if counted:
            (folder / "stats/time_in_state").write_text("3000000 250\n2000000 7\n1000000 1001\n")
            (folder / "stats/total_trans").write_text("15\n")
            (folder / "stats/trans_table").write_text(TABLE)
        else:
            (folder / "stats").rmdir()
    return root


def governor_file(root: Path, processor: int) -> Path:
    """Where the governor is set."""
    return root / f"sys/devices/system/cpu/cpu{processor}/cpufreq/scaling_governor"
