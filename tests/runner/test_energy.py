# SPDX-License-Identifier: BSD-3-Clause
"""Energy of a run, from copies of systems whose counters the program itself moves on."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from nodewise.base.errors import InputError
from nodewise.runner.launcher import RunOptions
from nodewise.runner.local import LocalLauncher
from nodewise.runner.sample import Sample
from nodewise.runner.setting import Setting
from tests.systems import write

ZONES = "sys/class/powercap"
RANGE = 262_143_328_850


def zones(**energies: tuple[str, int] | tuple[str, int, int]) -> dict[str, str]:
    """Zones as the kernel shows them: `intel_rapl__0__2=(name, microjoules, range)`."""
    files = {}
    for zone, (name, energy, *rest) in energies.items():
        folder = f"{ZONES}/{zone.replace('__', ':').replace('_', '-')}"
        files[f"{folder}/name"] = name
        files[f"{folder}/energy_uj"] = str(energy)
        files[f"{folder}/max_energy_range_uj"] = str(rest[0] if rest else RANGE)
    return files


SERVER = zones(
    intel_rapl__0=("package-0", 1_000_000),
    intel_rapl__0__0=("core", 500_000),
    intel_rapl__0__1=("dram", 70_000_000, 65_712_999_613),
    intel_rapl__1=("package-1", 2_000_000),
    intel_rapl__1__0=("dram", 80_000_000, 65_712_999_613),
    intel_rapl__2=("psys", 9_000_000),
    intel_rapl_mmio__0=("package-0", 1_000_000),
    intel_rapl_mmio__0__0=("dram", 70_000_000),
)


def run_amid(root: Path, after: dict[str, int], options: RunOptions | None = None) -> Sample:
    """Run a program that sets counters by the name of their zone."""
    files = {f"{root}/{ZONES}/{zone}/energy_uj": f"{energy}\n" for zone, energy in after.items()}
    code = f"for n, t in {files!r}.items(): open(n, 'w').write(t)"
    with LocalLauncher(options, root=root) as launcher:
        sample = launcher.run(Setting(command=(sys.executable, "-c", code)))
    assert sample.ok
    return sample


def energies(sample: Sample) -> dict[str, float]:
    return {k: v for k, v in sample.conditions.items() if k.startswith("energy_")}


def test_packages_and_memory_are_summed_and_nothing_is_counted_twice(tmp_path: Path) -> None:
    root = write(tmp_path, SERVER)
    after = {"intel-rapl:0": 6_000_000, "intel-rapl:0:0": 5_500_000, "intel-rapl:0:1": 71_000_000}
    after |= {"intel-rapl:1": 5_000_000, "intel-rapl:1:0": 80_500_000, "intel-rapl:2": 99_000_000}
    after |= {"intel-rapl-mmio:0": 6_000_000, "intel-rapl-mmio:0:0": 71_000_000}
    assert energies(run_amid(root, after)) == pytest.approx(
        {"energy_j": 9.5, "energy_package_j": 8.0, "energy_dram_j": 1.5}
    )


def test_dies_of_a_package_are_summed(tmp_path: Path) -> None:
    root = write(tmp_path, zones(intel_rapl__0=("package-0-die-0", 0), intel_rapl__1=("package-0-die-1", 0)))
    sample = run_amid(root, {"intel-rapl:0": 2_000_000, "intel-rapl:1": 3_000_000})
    assert energies(sample) == pytest.approx({"energy_j": 5.0, "energy_package_j": 5.0})


def test_the_platforms_counter_stands_in_where_there_are_no_packages(tmp_path: Path) -> None:
    root = write(tmp_path, zones(intel_rapl__0=("psys", 5)))
    assert energies(run_amid(root, {"intel-rapl:0": 4_000_005})) == {"energy_j": 4.0, "energy_psys_j": 4.0}


def test_a_counter_that_begins_again_is_followed(tmp_path: Path) -> None:
    root = write(tmp_path, zones(amd_rapl__0=("package-0", RANGE - 1_000_000)))
    assert energies(run_amid(root, {"amd-rapl:0": 500_000}))["energy_j"] == pytest.approx(1.5)


def test_without_its_range_a_counter_that_begins_again_reports_nothing(tmp_path: Path) -> None:
    root = write(tmp_path, zones(intel_rapl__0=("package-0", 7_000_000, 0)))
    assert energies(run_amid(root, {"intel-rapl:0": 1})) == {}


def test_a_counter_that_fails_meanwhile_reports_nothing(tmp_path: Path) -> None:
    root = write(tmp_path, zones(intel_rapl__0=("package-0", 7)))
    code = f"open({str(root / ZONES / 'intel-rapl:0/energy_uj')!r}, 'w').close()"
    with LocalLauncher(root=root) as launcher:
        assert energies(launcher.run(Setting(command=(sys.executable, "-c", code)))) == {}
        assert launcher.energy_missing == ""


def test_energy_is_that_of_each_run_alone(tmp_path: Path) -> None:
    root = write(tmp_path, zones(intel_rapl__0=("package-0", 0)))
    file = root / ZONES / "intel-rapl:0/energy_uj"
    code = f"n = int(open({str(file)!r}).read()); open({str(file)!r}, 'w').write(str(n + 1_000_000))"
    with LocalLauncher(root=root) as launcher:
        for _ in range(3):
            assert energies(launcher.run(Setting(command=(sys.executable, "-c", code))))["energy_j"] == 1.0


def test_where_there_is_none_it_says_so_and_runs_all_the_same(tmp_path: Path) -> None:
    with LocalLauncher(root=tmp_path) as launcher:
        assert launcher.energy_missing is None
        assert energies(launcher.run(Setting(command=("true",)))) == {}
        assert launcher.energy_missing == "/sys/class/powercap holds no energy counter (energy_uj) of a socket"


def test_links_to_nowhere_are_hidden_by_a_container(tmp_path: Path) -> None:
    (tmp_path / ZONES).mkdir(parents=True)
    (tmp_path / ZONES / "intel-rapl:0").symlink_to(tmp_path / "gone")
    with LocalLauncher(RunOptions(needed=("energy_j",)), root=tmp_path) as launcher:
        with pytest.raises(InputError, match=r"intel-rapl:0/energy_uj cannot be read") as caught:
            launcher.run(Setting(command=("true",)))
        assert "container" in (caught.value.hint or "")


def test_a_part_that_cannot_be_read_leaves_no_sum_of_the_rest(tmp_path: Path) -> None:
    root = write(tmp_path, SERVER)
    (root / ZONES / "intel-rapl:1/energy_uj").unlink()
    with LocalLauncher(root=root) as launcher:
        assert energies(launcher.run(Setting(command=("true",)))) == {}
        assert "intel-rapl:1/energy_uj" in (launcher.energy_missing or "")


def test_a_file_that_is_roots_alone_is_named_with_what_to_do(tmp_path: Path) -> None:
    root = write(tmp_path, zones(intel_rapl__0=("package-0", 0)))
    (root / ZONES / "intel-rapl:0/energy_uj").chmod(0)
    code = (
        "import sys; from pathlib import Path; from nodewise.runner.launcher import RunOptions\n"
        "from nodewise.runner.local import LocalLauncher; from nodewise.runner.setting import Setting\n"
        "options = RunOptions(needed=('energy_j',))\n"
        "LocalLauncher(options, root=Path(sys.argv[1])).run(Setting(command=('true',)))"
    )
    words = [sys.executable, "-c", code, str(root)]
    if os.getuid() == 0:
        dropping = ("setpriv", "--bounding-set=-dac_override,-dac_read_search")
        if shutil.which("setpriv") is None or subprocess.run([*dropping, "true"], check=False).returncode:
            pytest.skip("root reads every file here")
        words = [*dropping, *words]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert "/sys/class/powercap/intel-rapl:0/energy_uj may not be read" in done.stderr
    assert "run as root" in done.stderr and "chmod a+r" in done.stderr


def test_a_needed_metric_that_no_run_reports_is_named_with_those_that_are_reported(tmp_path: Path) -> None:
    with LocalLauncher(RunOptions(needed=("wall_s", "wings"))) as launcher:
        with pytest.raises(InputError, match="reports no wings") as caught:
            launcher.run(Setting(command=("true",)))
        assert "peak_bytes" in (caught.value.hint or "")
