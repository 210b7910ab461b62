# SPDX-License-Identifier: BSD-3-Clause
"""Lines and scripts of programs with hostile names, run through the real mpirun and the real srun where they are there."""

import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from nodewise.jobs.script import Kept, write_script
from nodewise.placement.job import Job
from nodewise.runner.launch import Start, launch_of
from nodewise.runner.setting import Setting
from nodewise.tuning.ranks import rank_wrapper
from tests.crossed import crossed
from tests.jobs.test_batch_forms import HOSTILE
from tests.surfaces import machine

HERE = machine(2, 1)
#: Keeps what it was given, byte by byte, in a file of its rank next to itself. Only the first rank reads the input: the others' has
#: no end under MPICH 4.0.
PROGRAM = """#!/bin/sh
rank=${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-$SLURM_PROCID}}
{ printf '%s\\0' "$@" "$PWD" "$GIVEN" "$OMP_NUM_THREADS"; [ "$rank" != 0 ] || cat; } > "$RECORDS/$rank"
"""
LAUNCHERS = ["mpirun", "mpirun.mpich", "srun"]
#: All that is hostile at once by each launcher, and each by itself.
LAUNCHED = [*((launcher, "all") for launcher in LAUNCHERS), *crossed(LAUNCHERS, [*HOSTILE])]
ALLOWED = {
    **{f"{name}_ALLOW_RUN_AS_ROOT{more}": "1" for name in ("OMPI", "PRTE") for more in ("", "_CONFIRM")},
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}


def _launcher(name: str) -> str:
    """The launcher's path, the test skipped by its name where it is not there."""
    path = shutil.which(name)
    if path is None:
        pytest.skip(f"{name} is not installed here")
    if name == "srun" and subprocess.run(["sinfo", "-h"], capture_output=True, timeout=20, check=False).returncode:
        pytest.skip("srun is installed here, and no Slurm answers")
    return path


class Case:
    """A program with a hostile name, in a directory with one, with hostile arguments, variables and input."""

    def __init__(self, root: Path, launcher: str, name: bytes):
        self.text = os.fsdecode(name)
        self.folder = root / f"dir {self.text}"
        self.records = root / f"records {self.text}"
        self.root = root
        for folder in (self.folder, self.records):
            folder.mkdir()
        program = self.folder / f"app {self.text}"
        program.write_text(PROGRAM)
        program.chmod(0o755)
        self.input = self.folder / f"in {self.text}"
        self.input.write_bytes(b"input")
        self.program = (f"./{program.name}", self.text, "", "-n")
        #: A directory where the launcher has the name that people type.
        self.path = root / "bin"
        self.path.mkdir()
        # no link: Hydra looks for its own programs next to what it was called as
        named = self.path / ("srun" if launcher == "srun" else "mpirun")
        named.write_text(f'#!/bin/sh\nexec {_launcher(launcher)} "$@"\n')
        named.chmod(0o755)
        self.start = Start(
            cwd=str(self.folder), stdin=str(self.input), env={"GIVEN": self.text, "RECORDS": str(self.records)}
        )

    @property
    def environment(self) -> dict[str, str]:
        slurm = {k: v for k, v in os.environ.items() if k in ("SLURM_CONF", "LD_LIBRARY_PATH")}
        return {"PATH": f"{self.path}:{os.environ['PATH']}", "HOME": str(self.root), **ALLOWED, **slurm}

    def check(self, words: list[str]) -> None:
        """Run a line or a script, and hold what each of two ranks was given against what was meant."""
        done = subprocess.run(
            words, cwd="/", env=self.environment, capture_output=True, timeout=60, check=False, stdin=subprocess.DEVNULL
        )
        assert done.returncode == 0, done.stderr
        given = [*self.program[1:], str(self.folder), self.text, "1", ""]
        meant = b"\0".join(map(os.fsencode, given))
        found = {path.name: path.read_bytes() for path in self.records.iterdir()}
        assert found == {"0": meant + b"input", "1": meant}
        for path in self.records.iterdir():
            path.unlink()


@pytest.mark.some(3)
@pytest.mark.parametrize(("launcher", "name"), LAUNCHED)
def test_lines_and_scripts_give_each_rank_what_was_meant(tmp_path: Path, launcher: str, name: str) -> None:
    case = Case(tmp_path, launcher, HOSTILE.get(name, b" ".join(HOSTILE.values())))
    placement = Job(1, 2).placement("compact", [[(0,)], [(1,)]])
    wrapper = rank_wrapper(HERE, placement, tmp_path / f"launch {case.text}", openmp=True)
    head = ("srun", "-n", "2") if launcher == "srun" else ("mpirun", "-n", "2")
    env = {"OMP_NUM_THREADS": "1"}
    for through, shell in (((), "dash"), (tuple(wrapper), "bash")):
        setting = Setting((*head, *through, *case.program), env=env)
        case.check([shell, "-c", launch_of(setting, case.start).line()])
        script = tmp_path / f"run {case.text}"
        write_script("sh", Kept(setting, HERE, str(case.folder), case.start), script)
        case.check([str(script)])
        if launcher == "srun":
            # what sbatch reads of its head is given on the line here
            bound = replace(setting, places=((0,), (1,)) if through else None)
            write_script("slurm", Kept(bound, HERE, str(case.folder), case.start), script)
            case.check(["salloc", "-Q", "-N1", "-n2", "--exclusive", str(script)])
