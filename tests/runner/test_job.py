# SPDX-License-Identifier: BSD-3-Clause
"""Jobs of several ranks, by the MPIs that are here and by a launcher of our own."""

from __future__ import annotations

import os
import re
import subprocess
import time
from pathlib import Path

import pytest

from nodewise.base.errors import ProgramError
from nodewise.base.processors import parse_processors
from nodewise.machine.sources import load_machine
from nodewise.runner.job import JobLauncher
from nodewise.runner.launcher import RunOptions
from nodewise.runner.ranks import OverRanks
from nodewise.runner.sample import Sample, sample_from_json
from nodewise.runner.setting import Setting, setting_from_json
from nodewise.search.space import Point
from nodewise.tuning.options import Options
from nodewise.tuning.ranks import with_ranks
from tests.runner import mpis

#: Starts as many of its program as it is told to, each with its number, and ends as the first that failed.
MPIRUN = """#!/bin/sh
shift; n=$1; shift
i=0
while [ $i -lt $n ]; do PMI_RANK=$i "$@" & i=$((i + 1)); pids="$pids $!"; done
worst=0
for pid in $pids; do wait $pid || worst=$?; done
exit $worst
"""


@pytest.fixture(params=list(mpis.KINDS))
def mpi(request: pytest.FixtureRequest, tmp_path: Path) -> mpis.Mpi:
    return mpis.find(request.param, tmp_path)


def own_mpirun(folder: Path, program: str, ranks: int = 2) -> Setting:
    """A job of a shell script's ranks by a launcher that needs no MPI."""
    for name, text in (("mpirun", MPIRUN), ("app", "#!/bin/sh\n" + program)):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    return with_ranks(Setting((str(folder / "mpirun"), "-n", str(ranks), str(folder / "app"))))


def run(
    setting: Setting,
    options: RunOptions | None = None,
    timeout_s: float | None = None,
    env: dict[str, str] | None = None,
) -> Sample:
    with JobLauncher(options, {**os.environ, **(env or {})}) as launcher:
        return launcher.run(setting, timeout_s=timeout_s)


def processes_of(marker: str) -> list[str]:
    """The processes that have a word in their command line."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if entry.name.isdecimal() and marker in words and int(entry.name) != os.getpid():
            found.append(words)
    return found


def test_each_rank_of_a_real_mpi_reports_its_part(mpi: mpis.Mpi) -> None:
    setting = with_ranks(Setting(mpi.command(2)))
    assert (setting.ranks, setting.command[setting.program_at :]) == (2, (str(mpi.program),))
    sample = run(setting, env=dict(mpi.environment))
    assert sample.error is None
    assert [r.rank for r in sample.ranks] == [0, 1]
    assert [r.seconds for r in sample.ranks] == [1.0, 1.1]
    assert (sample.seconds, sample.source) == (1.1, "program")
    assert sample.metrics["flops"] == 200
    assert sample.metrics["size"] == 2
    assert sample.metrics["imbalance"] == pytest.approx(1.1 / 1.05 - 1)
    assert {r.host for r in sample.ranks} == {os.uname().nodename}
    for part in sample.ranks:
        assert part.cpu_s > 0 and part.peak_bytes > 1 << 20 and part.allowed


def test_one_layer_binds_the_ranks_of_a_real_mpi_and_it_is_read_back(mpi: mpis.Mpi, tmp_path: Path) -> None:
    machine = load_machine()
    if len(machine.allowed_cores) < 2:
        pytest.skip("one core: two ranks cannot be distinguished by where they are bound")
    environment = {**os.environ, **mpi.environment}
    options = Options(
        machine, mpi.command(2), ["ranks", "threads", "placement"], environment, folder=tmp_path / "launch"
    )
    setting = options.setting(Point({"ranks": 2, "threads": 1, "placement": "compact"}))
    sample = run(setting, env=dict(mpi.environment))
    assert sample.error is None and setting.places is not None
    # the places of the setting, of which the launcher took nothing away
    assert [r.allowed for r in sample.ranks] == [setting.places[0], setting.places[1]]
    assert sample.ranks[0].allowed != sample.ranks[1].allowed


@pytest.mark.parametrize("ranks", [1, 2])
def test_intel_mpi_says_the_same_places(ranks: int, tmp_path: Path) -> None:
    """By its own table, which I_MPI_DEBUG=4 prints; a single rank it would leave all processors."""
    intel, machine = mpis.find("intelmpi", tmp_path), load_machine()
    if len(machine.allowed_cores) < 2:
        pytest.skip("one core: places cannot be distinguished")
    environment = {**os.environ, **intel.environment, "I_MPI_DEBUG": "4"}
    options = Options(
        machine, intel.command(ranks), ["ranks", "threads", "placement"], environment, folder=tmp_path / "launch"
    )
    setting = options.setting(Point({"ranks": ranks, "threads": 1, "placement": "compact"}))
    printed = subprocess.run(
        setting.command, env={**environment, **setting.env}, capture_output=True, text=True, check=True, timeout=60
    ).stdout
    table = printed.partition("Pin cpu\n")[2]
    rows = re.findall(r"startup\(\): (\d+) +\d+ +\S+ +\{?([\d,-]+)\}?\s*$", table, re.MULTILINE)
    assert setting.places is not None
    assert {int(rank): tuple(parse_processors(cpus)) for rank, cpus in rows} == dict(enumerate(setting.places)), printed


@pytest.mark.some(2)
def test_a_rank_of_a_real_mpi_that_dies_is_named_and_the_others_end(mpi: mpis.Mpi) -> None:
    sample = run(with_ranks(Setting(mpi.command(2, "die"))), env=dict(mpi.environment), timeout_s=30)
    assert sample.error is not None and not sample.cut_off
    assert f"rank 1 on {os.uname().nodename} ended with 3: rank 1 is out of luck" in sample.error
    assert processes_of(str(mpi.program)) == []


@pytest.mark.some(2)
def test_a_rank_of_a_real_mpi_that_hangs_is_named_and_nothing_is_left(mpi: mpis.Mpi) -> None:
    sample = run(with_ranks(Setting(mpi.command(2, "hang"))), env=dict(mpi.environment), timeout_s=2)
    assert sample.cut_off and sample.error is not None
    assert f"rank 1 on {os.uname().nodename}" in sample.error and "had not ended" in sample.error
    assert processes_of(str(mpi.program)) == []


def test_only_who_has_not_ended_is_named(tmp_path: Path) -> None:
    setting = own_mpirun(tmp_path, "[ $PMI_RANK = 2 ] && exec sleep 1000\nexit 0\n", 3)
    sample = run(setting, timeout_s=1)
    assert sample.cut_off and sample.error is not None
    assert sample.error.endswith(f": rank 2 on {os.uname().nodename} had not ended")
    # the two that had ended are kept
    assert [r.rank for r in sample.ranks if not r.signal] == [0, 1]


def test_the_first_rank_that_failed_is_the_one_that_is_named(tmp_path: Path) -> None:
    setting = own_mpirun(tmp_path, 'sleep 0.$((3 - PMI_RANK))\necho "no $PMI_RANK" >&2\nexit $((4 + PMI_RANK))\n', 3)
    sample = run(setting)
    host = os.uname().nodename
    assert sample.error is not None
    assert f"rank 2 on {host} ended with 6: no 2; 2 more of 3 ranks failed after it" in sample.error


def test_ranks_that_never_began_make_a_run_a_failure(tmp_path: Path) -> None:
    setting = own_mpirun(tmp_path, "exit 0\n", 2)
    (tmp_path / "mpirun").write_text(MPIRUN.replace("n=$1", "n=1"))
    sample = run(setting)
    assert sample.error == "1 of 2 ranks ran to their end: 1 of 2 ranks never began: 1"


def test_over_ranks_times_the_slowest_work_the_sum_and_all_verify(tmp_path: Path) -> None:
    says = 'echo "{\\"nodewise\\": 1, \\"seconds\\": 0.$((2 + PMI_RANK)), \\"items\\": 5, \\"depth\\": $PMI_RANK, \\"verified\\": true}"\n'
    setting = own_mpirun(tmp_path, says, 3)
    sample = run(setting)
    assert (sample.seconds, sample.metrics["items"], sample.metrics["depth"]) == (0.4, 15, 2)
    assert sample.metrics["imbalance"] == pytest.approx(0.4 / 0.3 - 1)
    mean = run(setting, RunOptions(over_ranks=OverRanks("mean", {"items": "max"})))
    assert (mean.metrics["depth"], mean.metrics["items"]) == (1, 5)
    wrong = run(
        own_mpirun(
            tmp_path, says + '[ $PMI_RANK = 1 ] && echo "{\\"nodewise\\": 1, \\"verified\\": false}"\nexit 0\n', 3
        )
    )
    assert wrong.error == "wrong result: the program says verified false"


def test_one_rank_may_report_for_all(tmp_path: Path) -> None:
    only = '[ $PMI_RANK = 0 ] && echo "{\\"nodewise\\": 1, \\"seconds\\": 0.5}"\nexit 0\n'
    sample = run(own_mpirun(tmp_path, only))
    assert sample.seconds == 0.5
    # what the others took is known by the clock alone, and so all are timed by it
    assert all(0 < r.seconds == r.wall_s < 0.5 for r in sample.ranks)


def test_output_patterns_are_read_rank_by_rank(tmp_path: Path) -> None:
    import re

    setting = own_mpirun(tmp_path, 'echo "took 1.$PMI_RANK s"\n', 3)
    sample = run(setting, RunOptions(metrics={"seconds": re.compile(r"took ([\d.]+)")}))
    assert sample.seconds == 1.2 and [r.seconds for r in sample.ranks] == [1.0, 1.1, 1.2]
    missing = run(setting, RunOptions(metrics={"seconds": re.compile("never")}))
    assert missing.error is not None and "never" in missing.error


def test_output_and_input_pass_through_the_ranks(tmp_path: Path) -> None:
    (tmp_path / "in").write_text("asked\n")
    setting = own_mpirun(tmp_path, "[ $PMI_RANK = 0 ] && cat; echo out$PMI_RANK; echo err$PMI_RANK >&2\nexit 0\n", 2)
    sample = run(setting, RunOptions(stdin=tmp_path / "in", metrics={}))
    assert sample.error is None
    import re

    for text in ("out0", "out1", "err0", "err1"):
        assert run(setting, RunOptions(expect=re.compile(text))).error is None


def test_a_signal_that_ends_a_rank_is_its_launchers_to_hear(tmp_path: Path) -> None:
    setting = own_mpirun(tmp_path, "[ $PMI_RANK = 1 ] && kill -SEGV $$\nexit 0\n", 2)
    sample = run(setting)
    assert sample.error is not None and "was killed by signal 11 (SIGSEGV)" in sample.error
    assert sample.ranks[1].signal == 11


def test_ranks_are_stored_and_read_back(tmp_path: Path) -> None:
    setting = own_mpirun(tmp_path, "exit 0\n", 2)
    assert setting_from_json(setting.to_json()) == setting
    sample = run(setting)
    assert len(sample.ranks) == 2
    assert sample_from_json(sample.to_json()) == sample


def test_a_killed_wrapper_takes_its_rank_along(tmp_path: Path) -> None:
    """Some launchers end ranks by a signal that nobody can hear."""
    from nodewise.base.native import native_path

    marker = f"1{time.time_ns() % 10**7}"
    process = subprocess.Popen([str(native_path("nodewise-rank")), str(tmp_path), "PMI_RANK", "sleep", marker])
    while not processes_of(f"sleep {marker}"):
        time.sleep(0.01)
    process.kill()
    process.wait()
    end = time.monotonic() + 5
    while processes_of(f"sleep {marker}") and time.monotonic() < end:
        time.sleep(0.01)
    assert processes_of(f"sleep {marker}") == []


def test_a_program_that_is_not_there_is_said_by_its_rank(tmp_path: Path) -> None:
    setting = own_mpirun(tmp_path, "exit 0\n", 2)
    (tmp_path / "app").unlink()
    sample = run(setting)
    assert sample.error is not None and "cannot be started: No such file or directory" in sample.error


#: Starts its program as often as it is told to, after `-n`; says what is in `broken`, line by line, once each, instead of that.
SRUN = """#!/bin/sh
[ "$1" != --version ] || { echo slurm 22.05; exit; }
cd "$(dirname "$0")"
echo "$*" >> asked
if [ -s broken ]; then
    said=$(head -n 1 broken)
    sed -i 1d broken
    case $said in
    sleep*) $said ;;
    *) echo "srun: error: $said" >&2 ;;
    esac
    exit 1
fi
n=$2; shift 2
i=0
while [ $i -lt $n ]; do SLURM_PROCID=$i "$@" & i=$((i + 1)); done
wait
"""


def by_srun(folder: Path, *broken: str) -> Setting:
    for name, text in (("srun", SRUN), ("app", "#!/bin/sh\nsleep 0.01\n")):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    (folder / "broken").write_text("".join(f"{line}\n" for line in broken))
    return with_ranks(Setting((str(folder / "srun"), "-n", "2", str(folder / "app"))))


@pytest.mark.parametrize(
    "broken",
    [
        ("Task launch for StepId=3.1 failed on node n2: Communication connection failure", "Node failure on n2"),
        ("sleep 1", "Unable to create step for job 3: Job/step already completing or completed"),
    ],
)
def test_a_run_that_a_node_kept_from_beginning_is_made_again(tmp_path: Path, broken: tuple[str, ...]) -> None:
    sample = run(by_srun(tmp_path, *broken), RunOptions(cwd=tmp_path), timeout_s=0.5)
    assert sample.error is None and [rank.rank for rank in sample.ranks] == [0, 1]
    asked = (tmp_path / "asked").read_text().splitlines()
    assert len(asked) == 4 and "echo nodewise-started" in asked[1] and asked[0].split()[2:4] != asked[3].split()[2:4]
    assert not list(tmp_path.glob("nodewise-ranks-*"))


def test_what_is_said_otherwise_is_no_nodes_fault(tmp_path: Path) -> None:
    refused = "Unable to create step for job 3: More processors requested than permitted"
    sample = run(by_srun(tmp_path, refused), RunOptions(cwd=tmp_path))
    assert sample.error is not None and "exit code 1" in sample.error and not sample.ranks
    assert len((tmp_path / "asked").read_text().splitlines()) == 1


def test_a_job_that_is_over_ends_the_experiment(tmp_path: Path) -> None:
    gone = "Unable to confirm allocation for job 3: Invalid job id specified"
    with pytest.raises(ProgramError, match="starts no ranks any more: srun: error: Unable to confirm") as ended:
        run(by_srun(tmp_path, "Node failure on n2", gone), RunOptions(cwd=tmp_path))
    assert ended.value.hint is not None and "finished runs are kept" in ended.value.hint
