# SPDX-License-Identifier: BSD-3-Clause
"""Launchers and programs of different MPIs, distinguished before the first run: by real ones, and by what each says of itself."""

from __future__ import annotations

import os
import shutil
import struct
from pathlib import Path

import pytest

from nodewise.base.errors import InputError
from nodewise.runner.family import Family, families
from nodewise.runner.job import JobLauncher
from nodewise.runner.mpi import (
    Checked,
    Library,
    _mismatch,
    family_of,
    find_launcher,
    library_of,
    start_words,
)
from nodewise.runner.over_nodes import read_per_node
from nodewise.runner.setting import Setting
from nodewise.tuning.ranks import with_ranks
from tests.runner import mpis

#: What `--version` of each prints, taken from the real ones.
SAID = {
    "openmpi": "mpirun (Open MPI) 4.1.4\n\nReport bugs to http://www.open-mpi.org/community/help/\n",
    "mpich": "HYDRA build details:\n    Version:                                 4.0.2\n",
    "intelmpi": "Intel(R) MPI Library for Linux* OS, Version 2021.18.1 Build 20260626 (id: b44796a)\n",
    "srun": "slurm 22.05.8\n",
}
NOT_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def executable(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def stand_in(path: Path, family: str, does: str = "exit 0") -> Path:
    """A launcher that says of itself what the real one does, and else does what it is told here."""
    said = SAID[family]
    if path.name == "mpirun.openmpi":
        # by that name Debian's calls itself after its run-time part
        said = said.replace("mpirun (Open MPI)", "mpirun.openmpi (OpenRTE)")
    return executable(path, f"#!/bin/sh\nif [ \"$1\" = --version ]; then cat <<'END'\n{said}END\nexit 0; fi\n{does}\n")


def needing(path: Path, library: str) -> Path:
    """An ELF program that names a loader and one library, as far as its headers go."""
    loader = b"/lib64/ld-linux-x86-64.so.2\0"
    strings = b"\0" + library.encode() + b"\0" + loader
    base, dynamic_at = 0x400000, 64 + 3 * 56
    strings_at = dynamic_at + 4 * 16
    loader_at = strings_at + len(strings) - len(loader)
    size = strings_at + len(strings)
    header = b"\x7fELF\x02\x01\x01" + bytes(9)
    header += struct.pack("<HHIQQQIHHHHHH", 2, 62, 1, 0, 64, 0, 0, 64, 56, 3, 0, 0, 0)

    def segment(kind: int, at: int, length: int) -> bytes:
        return struct.pack("<IIQQQQQQ", kind, 5, at, base + at, base + at, length, length, 8)

    segments = segment(1, 0, size) + segment(2, dynamic_at, 64) + segment(3, loader_at, len(loader))
    entries = struct.pack("<QQQQQQQQ", 1, 1, 5, base + strings_at, 10, len(strings), 0, 0)
    path.write_bytes(header + segments + entries + strings)
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("name", SAID)
def test_a_launcher_is_known_by_what_it_says_of_itself(tmp_path: Path, name: str) -> None:
    stand_in(tmp_path / "mpirun", name)
    found = family_of("mpirun", {"PATH": f"{tmp_path}:{os.defpath}"})
    assert found is not None and found.name == name
    executable(tmp_path / "other" / "mpirun", "#!/bin/sh\necho my own launcher\n")
    assert family_of("mpirun", {"PATH": f"{tmp_path / 'other'}:{os.defpath}"}) is None


def test_the_words_of_each_launcher(tmp_path: Path) -> None:
    stand_in(tmp_path / "mpirun", "openmpi")
    stand_in(tmp_path / "mpiexec.hydra", "intelmpi")
    stand_in(tmp_path / "mpiexec.mpich", "mpich")
    stand_in(tmp_path / "srun", "srun")
    path = {"PATH": str(tmp_path)}
    assert start_words("openmpi", 4, 2, path) == ("mpirun", "-n", "4", "--map-by", "ppr:2:node")
    assert start_words("intelmpi", 4, 0, path) == ("mpiexec.hydra", "-n", "4")
    assert start_words("mpich", 4, 2, path) == ("mpiexec.mpich", "-n", "4", "-ppn", "2")
    assert start_words("srun", 4, 2, path) == ("srun", "-n", "4", "--nodes", "2", "--ntasks-per-node", "2")
    for name, words in (("openmpi", 2), ("mpich", 2), ("srun", 2)):
        assert read_per_node(start_words(name, 4, words, path)) == 2
    stand_in(tmp_path / "mpirun.openmpi", "openmpi")
    assert start_words("openmpi", 4, 0, path) == ("mpirun.openmpi", "-n", "4")
    with pytest.raises(InputError, match="ALPS is not here") as missing:
        find_launcher("aprun", path)
    assert "intelmpi, mpich, openmpi, srun" in str(missing.value.hint)
    with pytest.raises(InputError, match="cannot be started"):
        start_words("mpich", 2, 4, path)


@pytest.mark.parametrize(
    ("launcher", "library", "own"),
    [
        ("openmpi", "libmpich.so.12", "MPICH"),
        ("mpich", "libmpi.so.40", "Open MPI"),
        ("intelmpi", "libmpi.so.40", "Open MPI"),
    ],
)
def test_a_program_of_another_mpi_is_named_with_the_launcher_to_use(
    tmp_path: Path, launcher: str, library: str, own: str
) -> None:
    stand_in(tmp_path / "mpirun", launcher)
    right = "mpirun.openmpi" if own == "Open MPI" else "mpiexec.mpich"
    stand_in(tmp_path / right, "openmpi" if own == "Open MPI" else "mpich")
    program = needing(tmp_path / "app", library)
    environment = {"PATH": str(tmp_path), **NOT_ROOT}
    found = library_of([str(program)], environment)
    assert found is not None and (found.family, found.name) == (own, library)
    with pytest.raises(InputError, match=f"is of {own}") as wrong:
        Checked().check(["mpirun", "-n", "4", str(program), "x"], 3, 4, environment, None)
    assert wrong.value.hint == f"start it by its own: {right} -n 4 {program} x"


def test_the_probe_decides_where_names_do_not(tmp_path: Path) -> None:
    """srun starts programs of every MPI, and those that it does not speak with become ranks of their own."""
    alone = 'while [ $# -gt 1 ]; do shift; done; echo "nodewise-mpi-probe 0 1"; echo "nodewise-mpi-probe 0 1"'
    stand_in(
        tmp_path / "srun",
        "srun",
        f'[ "$1" = --mpi=list ] && printf "MPI plugin types are...\\n\\tnone\\n\\tpmi2\\n" && exit 0\n{alone}',
    )
    program = needing(tmp_path / "app", "libmpich.so.12")
    environment = {"PATH": f"{tmp_path}:{os.defpath}"}
    with pytest.raises(InputError, match="2 programs of one rank each") as wrong:
        Checked().check(["srun", "-n", "2", str(program)], 3, 2, environment, None)
    assert "--env SLURM_MPI_TYPE=pmi2" in str(wrong.value.hint) and "none, pmi2" in str(wrong.value.hint)
    stand_in(tmp_path / "right" / "srun", "srun", 'echo "nodewise-mpi-probe 0 2"')
    right = {"PATH": f"{tmp_path / 'right'}:{os.defpath}"}
    Checked().check(["srun", "-n", "2", str(program)], 3, 2, right, None)


def test_a_missing_launcher_names_those_that_are_here(tmp_path: Path) -> None:
    stand_in(tmp_path / "mpiexec.mpich", "mpich")
    with pytest.raises(InputError, match="no such launcher on PATH: mpirun") as missing:
        Checked().check(["mpirun", "-n", "2", "/bin/true"], 3, 2, {"PATH": str(tmp_path)}, None)
    assert missing.value.hint == "take one that is here: --launcher mpich"


def test_open_mpi_and_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refuses = 'echo "mpirun has detected an attempt to run as root." >&2; exit 1'
    stand_in(tmp_path / "mpirun", "openmpi", refuses)
    path = {"PATH": f"{tmp_path}:{os.defpath}"}
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    with pytest.raises(InputError, match="starts nothing for root") as wrong:
        Checked().check(["mpirun", "-n", "2", "/bin/true"], 3, 2, path, None)
    assert "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1" in str(wrong.value.hint)
    Checked().check(["mpirun", "-n", "2", "/bin/true"], 3, 2, path | NOT_ROOT, None)
    Checked().check(["mpirun", "--allow-run-as-root", "-n", "2", "/bin/true"], 4, 2, path, None)
    # a site's own script allows it
    stand_in(tmp_path / "site" / "mpirun", "openmpi")
    Checked().check(["mpirun", "-n", "2", "/bin/true"], 3, 2, {"PATH": f"{tmp_path / 'site'}:{os.defpath}"}, None)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    Checked().check(["mpirun", "-n", "2", "/bin/true"], 3, 2, path, None)


def test_too_few_slots(tmp_path: Path) -> None:
    said = "echo 'There are not enough slots available in the system to satisfy the 64' >&2; exit 1"
    stand_in(tmp_path / "mpirun", "openmpi", said)
    program = needing(tmp_path / "app", "libmpi.so.40")
    with pytest.raises(InputError, match="has too few slots for 64 ranks") as few:
        Checked().check(
            ["mpirun", "-n", "64", str(program)], 3, 64, {"PATH": f"{tmp_path}:{os.defpath}", **NOT_ROOT}, None
        )
    assert "--env OMPI_MCA_rmaps_base_oversubscribe=1" in str(few.value.hint)


def test_real_programs_under_their_own_and_another_launcher(tmp_path: Path) -> None:
    own = mpis.find("openmpi", tmp_path)
    other = mpis.find("mpich", tmp_path)
    environment = {**os.environ, **NOT_ROOT, **own.environment}
    for mpi in (own, other):
        Checked().check(list(mpi.command(2)), 3, 2, environment, None)
    for launcher, program in ((own, other), (other, own)):
        wrong = (launcher.launcher, "-n", "2", str(program.program))
        with JobLauncher(inherited=environment) as job, pytest.raises(InputError, match="2 programs of one rank each"):
            job.run(with_ranks(Setting(wrong)))
        # what it is linked with cannot be seen of a script, and of a program that is none of MPI nothing is asked
    assert library_of([shutil.which("sh") or "sh"], environment) is None


def test_what_mpi4py_takes_is_asked_of_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "app.py"
    script.write_text("from mpi4py import MPI\n")
    python = executable(tmp_path / "python3", '#!/bin/sh\necho "nodewise-mpi-probe 0 1"\n')
    stand_in(tmp_path / "mpirun", "mpich", 'shift; shift; "$@"; "$@"')
    environment = {"PATH": f"{tmp_path}:{os.defpath}"}
    command = ["mpirun", "-n", "2", str(python), str(script)]
    with pytest.raises(InputError, match="another MPI, by mpi4py"):
        Checked().check(command, 3, 2, environment, None)
    # a script is named from where the program runs
    here = library_of([str(python), "app.py"], environment, tmp_path)
    assert here is not None and here.name == "mpi4py"
    monkeypatch.chdir(tmp_path)
    assert library_of([str(python), "app.py"], environment) == here
    script.write_text("print('no ranks here')\n")
    Checked().check(command, 3, 2, environment, None)


def test_a_further_launcher_has_its_words_and_no_library_that_it_does_not_name() -> None:
    flux = Family("flux", "Flux", ("flux",), "^flux", ("--tasks-per-node={n}",), ("Open MPI",), "", subcommand=("run",))
    assert flux.words("flux", 4, 2) == ("flux", "run", "-n", "4", "--tasks-per-node=2")
    command = ["flux", "run", "-n", "2", "python3", "x.py"]
    of_mpi4py = Library("", "mpi4py", ())
    hint = str(_mismatch(command, 4, 2, flux, of_mpi4py, {}).hint)
    assert "MPI4PY_LIBMPI" not in hint and "launcher of its own" in hint
    for name, file in (("openmpi", "libmpi.so.40"), ("mpich", "libmpich.so.12"), ("intelmpi", "libmpi.so.12")):
        assert f"MPI4PY_LIBMPI={file}" in str(_mismatch(command, 4, 2, families()[name], of_mpi4py, {}).hint)


def test_each_kind_of_start_is_looked_at_once_whatever_the_number_of_ranks(tmp_path: Path) -> None:
    count = f'echo >> {tmp_path}/asked; case "$*" in *pmi2*) size=$3 ;; *) size=1 ;; esac; echo "nodewise-mpi-probe 0 $size"'
    stand_in(tmp_path / "srun", "srun", count)
    program = needing(tmp_path / "app", "libmpich.so.12")
    environment = {"PATH": f"{tmp_path}:{os.defpath}"}
    checked = Checked()
    for ranks in ("2", "4", "2"):
        checked.check(["srun", "--mpi=pmi2", "-n", ranks, str(program)], 4, int(ranks), environment, None)
    asked = len((tmp_path / "asked").read_text().splitlines())
    with pytest.raises(InputError, match="of one rank each"):
        checked.check(["srun", "--mpi=none", "-n", "2", str(program)], 4, 2, environment, None)
    assert asked == 1
