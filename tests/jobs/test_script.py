# SPDX-License-Identifier: BSD-3-Clause
"""Launch scripts, read by real shells, and by a parser of sbatch's directives."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from nodewise.base.errors import InputError
from nodewise.jobs.forms.sh import shell_script
from nodewise.jobs.forms.slurm import slurm_script
from nodewise.jobs.script import Kept, all_forms, read_form, write_script
from nodewise.runner.launch import Start
from nodewise.runner.loaded import Loaded
from nodewise.runner.setting import Setting
from nodewise.search.space import Point
from nodewise.tuning.options import Options
from tests.surfaces import machine

HERE = machine(4, 2, live=True)
#: Starts two ranks as Open MPI does, as far as their environment goes, one after the other.
MPIRUN = (
    '#!/bin/sh\nn=$2\nshift 2\ni=0\nwhile [ $i -lt $n ]; do OMPI_COMM_WORLD_LOCAL_RANK=$i "$@"; i=$((i + 1)); done\n'
)
TELL = f"""#!{sys.executable} -IS
import json, os, sys
print(json.dumps([sys.argv[1:], os.getcwd(), {{k: v for k, v in os.environ.items() if k[0] == "X" or k[:3] == "OMP"}}, sys.stdin.read()]))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A directory with a difficult name, and programs in it."""
    path = tmp_path / 'it\'s a "dir" of $HOME'
    path.mkdir()
    for name, text in (("te'll me", TELL), ("mpirun", MPIRUN)):
        (path / name).write_text(text)
        (path / name).chmod(0o755)
    return path


def _run(path: Path, **environment: str) -> list[Any]:
    for shell in (["dash", "-n"], ["bash", "-n"]):
        subprocess.run([*shell, str(path)], check=True)
    done = subprocess.run(
        [str(path)], cwd="/", env={"PATH": "/usr/bin:/bin", **environment}, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_a_script_runs_from_anywhere_what_the_line_says(folder: Path) -> None:
    setting = Setting(("./te'll me", "$x", "a\nb"), env={"XA": "it's", "OMP_NUM_THREADS": "3"}, unset=("XGONE",))
    (folder / "in").write_text("text")
    start = Start(stdin=str(folder / "in"), env={"XB": "given"})
    inherited = {"XC": "of the shell", "XB": "older", "OMP_NUM_THREADS": "8"}
    kept = Kept(setting, HERE, str(folder), start, inherited, ["two\nlines: $(exit 3)", "#!"])
    script = folder / "launch it.sh"
    write_script("sh", kept, script)
    expected = {"XA": "it's", "OMP_NUM_THREADS": "3", "XB": "given", "XC": "of the shell"}
    assert _run(script, XGONE="1") == [[["$x", "a\nb"], str(folder), expected, "text"]]


def test_the_exit_code_and_the_process_are_the_programs(folder: Path) -> None:
    script = folder / "launch.sh"
    write_script("sh", Kept(Setting(("sh", "-c", "exit 7")), HERE, str(folder)), script)
    assert subprocess.run([str(script)], check=False).returncode == 7


def test_ranks_start_without_the_file_that_places_them(folder: Path) -> None:
    command = (str(folder / "mpirun"), "-n", "2", "./te'll me", "$x")
    options = Options(machine(4, 2), command, ["threads", "placement"], {}, folder=folder / "launch")
    setting = options.setting(Point({"threads": 2, "placement": "compact"}))
    assert setting.command[3] == "sh"
    text = shell_script(Kept(setting, HERE, str(folder)))
    Path(setting.command[4]).unlink()
    script = folder / "launch.sh"
    script.write_text(text)
    script.chmod(0o755)
    # what the ranks' own launcher is given is not read back here: `mpirun` is a script that passes all on
    places = [reported[2]["OMP_PLACES"] for reported in _run(script)]
    assert places == ["{0},{1}", "{2},{3}"]


def _directives(text: str) -> dict[str, str]:
    """What sbatch reads: the lines that begin with #SBATCH before the first command."""
    found: dict[str, str] = {}
    for line in text.splitlines()[1:]:
        if not line.startswith("#"):
            break
        if given := re.fullmatch(r"#SBATCH --([a-z-]+)(?:=(\S+))?", line):
            assert given[1] not in found
            found[given[1]] = given[2] or ""
        else:
            assert not line.startswith("#SBATCH")
    return found


@pytest.mark.parametrize(
    ("point", "cpus", "per_core", "exclusive"),
    [
        ({"threads": 4, "placement": "balanced"}, "4", "1", True),
        ({"threads": 4, "placement": "compact"}, "4", "2", True),
        ({"threads": 4, "placement": "os"}, "4", "1", False),
        ({"threads": 8, "placement": "os"}, "8", "2", False),
    ],
)
def test_slurm_is_asked_for_what_the_placement_takes(
    folder: Path, point: dict[str, Any], cpus: str, per_core: str, exclusive: bool
) -> None:
    loaded = Loaded("/bin/true", "dynamic", mapped=("/bin/true", "/usr/lib/libgomp.so.1"))
    setting = Options(HERE, ["./te'll me"], ["threads", "placement"], {}, loaded=loaded).setting(Point(point))
    text = slurm_script(Kept(setting, HERE, str(folder), about=["SBATCH --nodes=9"]))
    directives = _directives(text)
    assert directives.pop("job-name") == "te-ll-me"
    assert ("exclusive" in directives) == exclusive
    directives.pop("exclusive", None)
    assert directives == {
        "nodes": "1",
        "ntasks": "1",
        "ntasks-per-node": "1",
        "cpus-per-task": cpus,
        "threads-per-core": per_core,
    }
    assert "srun" not in text
    script = folder / "job"
    script.write_text(text)
    subprocess.run(["dash", "-n", str(script)], check=True)


#: Stands for srun: tells what it was given, and starts two ranks.
SRUN = """#!/bin/sh
while [ "${1#-}" != "$1" ]; do echo "$1" >> options; shift; done
for SLURM_LOCALID in 0 1; do export SLURM_LOCALID; "$@"; done
"""


@pytest.mark.parametrize("launcher", ["mpirun --mca btl self -n 2", "srun -n2 --mpi=pmix"])
def test_in_slurm_srun_puts_each_rank_in_its_place(folder: Path, launcher: str) -> None:
    (folder / "srun").write_text(SRUN)
    (folder / "srun").chmod(0o755)
    command = [*launcher.split(), "./te'll me", "$x"]
    # places that no one setting of OpenMP says for both
    options = Options(HERE, command, ["ranks", "threads", "placement"], {}, folder=folder / "launch")
    setting = options.setting(Point({"ranks": 2, "threads": 2, "placement": "compact"}))
    text = slurm_script(Kept(setting, HERE, str(folder)))
    directives = _directives(text)
    assert (directives["ntasks"], directives["cpus-per-task"], directives["threads-per-core"]) == ("2", "2", "2")
    assert "exclusive" in directives
    script = folder / "job"
    script.write_text(text)
    script.chmod(0o755)
    reported = _run(script, PATH=f"{folder}:/usr/bin:/bin")
    assert [t[0] for t in reported] == [["$x"], ["$x"]]
    assert all(t[2]["OMP_NUM_THREADS"] == "2" and "OMP_PLACES" in t[2] for t in reported)
    given = (folder / "options").read_text().split()
    assert "--cpu-bind=mask_cpu:0x3,0xc" in given and "--ntasks=2" in given
    assert ("--mpi=pmix" in given) == launcher.startswith("srun")
    assert ("--mca btl self" in text) == launcher.startswith("mpirun")
    # where srun has these, it refuses masks beyond them
    assert re.search(r"unset .*\bSLURM_CPUS_PER_TASK\b", text) and re.search(r"unset .*\bSRUN_CPUS_PER_TASK\b", text)


def test_ranks_that_nobody_binds_learn_how_many_processors_each_has(folder: Path) -> None:
    options = Options(HERE, ["mpirun", "-n", "2", "./app"], ["ranks"], {}, folder=folder)
    text = slurm_script(Kept(options.setting(Point({"ranks": 4})), HERE, str(folder)))
    assert _directives(text)["ntasks"] == "4"
    assert text.splitlines()[-1] == "exec srun --cpus-per-task=2 ./app"


def test_forms_of_script_are_read_from_the_option(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert read_form("sh") == ("sh", None)
    assert read_form("slurm=a b.sbatch") == ("slurm", tmp_path / "a b.sbatch")
    for bad, why in (("cobalt", "no form of script"), ("sh=", "names no file"), ("", "no form of script")):
        with pytest.raises(InputError, match=why):
            read_form(bad)
    assert set(all_forms()) == {"lsf", "pbs", "pbs-alps", "sh", "slurm"}
